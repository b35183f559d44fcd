"""A sweep's folder: begun once, taken up after any death, refused to every other sweep."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groupsim.scenarios.files.new_folder import OccupiedFolder
from groupsim.scenarios.sweep.chunk import Chunk
from groupsim.scenarios.sweep.execution import Listener, carry_out_sweep
from groupsim.scenarios.sweep.folder import AnotherSweep, FolderInUse, SweepFolder, sweep_folder
from groupsim.scenarios.sweep.identity import identity_of
from groupsim.scenarios.sweep.replications import Replications
from groupsim.sim.output.result import Result
from tests.support import fake_simulation as fake
from tests.support.sweeps import carried_out, sizes_of, sweep_of

ROOT = Path(__file__).parents[3]


def test_is_refused_without_resume_once_begun(tmp_path: Path) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    with pytest.raises(OccupiedFolder, match="--resume"):
        carried_out(sweep_of(), tmp_path / "out")


@pytest.mark.parametrize("resume", [True, False])
def test_of_the_users_is_refused_and_left_alone(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OccupiedFolder, match="not empty"):
        carried_out(sweep_of(), tmp_path, resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_resume_begins_where_there_is_nothing(tmp_path: Path) -> None:
    assert sum(one.runs for one in carried_out(sweep_of(), tmp_path / "out", resume=True)[1]) == 6


def test_resume_repeats_nothing_that_is_done(tmp_path: Path) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    assert carried_out(sweep_of(), tmp_path / "out", resume=True)[1] == []


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (sweep_of(seed=6), "sweep.seed was 5, is 6"),
        (sweep_of(members=4), "another scenario \\(variants.range.scenario"),
        (sweep_of(variants=("range",)), "is gone"),
        (sweep_of(variants=("range", "static, a/b=1", "third")), "variants.third is new"),
    ],
)
def test_of_another_sweep_is_refused_and_what_differs_is_said(tmp_path: Path, other: object, says: str) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    with pytest.raises(AnotherSweep, match=says):
        carried_out(other, tmp_path / "out", resume=True)  # type: ignore[arg-type]


def test_of_another_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    monkeypatch.setattr("groupsim.scenarios.sweep.identity.source_digest", lambda: "another")
    with pytest.raises(AnotherSweep, match=r"the rules of the model have changed \(model\.sources"):
        carried_out(sweep_of(), tmp_path / "out", resume=True)


def test_in_which_a_sweep_runs_is_refused_to_a_second(tmp_path: Path) -> None:
    with (
        sweep_folder(tmp_path / "out", identity_of(sweep_of()), lambda: sizes_of(sweep_of(), 2), resume=False),
        pytest.raises(FolderInUse, match="another sweep is writing"),
    ):
        carried_out(sweep_of(), tmp_path / "out", resume=True)
    assert carried_out(sweep_of(), tmp_path / "other", resume=True)[1] != []


def test_is_free_again_after_its_sweep_was_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from groupsim.scenarios.sweep.folder import sweep_folder\n"
        "from groupsim.scenarios.sweep.identity import identity_of\n"
        "from tests.support.sweeps import sizes_of, sweep_of\n"
        "sweep = sweep_of()\n"
        "with sweep_folder(Path(sys.argv[1]), identity_of(sweep), lambda: sizes_of(sweep, 2), resume=False):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, tmp_path / "out"], cwd=ROOT, timeout=60)
    assert killed.returncode == -9
    assert sum(one.runs for one in carried_out(sweep_of(), tmp_path / "out", resume=True)[1]) == 6


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"identity": 3, "chunk_runs": 4}', "\x00", "[" * 100_000, "9" * 5000]
)
def test_whose_plan_is_damaged_is_refused_in_words(tmp_path: Path, text: str) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    (tmp_path / "out/sweep.json").write_text(text)
    with pytest.raises(AnotherSweep, match=r"sweep\.json is not what groupsim has written"):
        carried_out(sweep_of(), tmp_path / "out", resume=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [("chunk_runs", {}), ("chunk_runs", 0), ("chunk_runs", 1.5), ("chunk_runs", True), ("run_s", {}), ("run_s", None)],
)
def test_whose_plan_does_not_size_its_chunks_is_refused_in_words(tmp_path: Path, key: str, value: object) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    plan = json.loads((tmp_path / "out/sweep.json").read_text())
    plan[key] = value if isinstance(value, dict) else dict.fromkeys(plan[key], value)
    (tmp_path / "out/sweep.json").write_text(json.dumps(plan))
    with pytest.raises(AnotherSweep, match=r"sweep\.json is not what groupsim has written"):
        carried_out(sweep_of(), tmp_path / "out", resume=True)


def test_whose_plan_is_a_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    (tmp_path / "out/sweep.json").unlink()
    (tmp_path / "out/sweep.json").mkdir()
    with pytest.raises(OccupiedFolder, match="not empty"):
        carried_out(sweep_of(), tmp_path / "out", resume=True)


PART = "summary/variant=range/part-0000000.parquet"


@pytest.mark.parametrize("place", [PART, PART.replace("summary", "failures"), "manifest.json"])
def test_with_a_folder_in_the_place_of_a_file_is_refused_and_left_alone(tmp_path: Path, place: str) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    (tmp_path / "out" / place).unlink(missing_ok=True)
    (tmp_path / "out" / place).mkdir(parents=True)
    (tmp_path / "out" / place / "mine").touch()
    with pytest.raises(AnotherSweep, match=f"{place} is in the way of what this sweep writes: take it away"):
        carried_out(sweep_of(), tmp_path / "out", resume=True)
    assert (tmp_path / "out" / place / "mine").exists()


@pytest.mark.parametrize("place", ["summary", "failures", "runs", "summary/variant=range", "runs/0-range"])
@pytest.mark.parametrize("lead", [True, False])
def test_with_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, place: str, lead: bool) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / place, ignore_errors=True)
    (tmp_path / "out" / place).symlink_to("nowhere") if lead else (tmp_path / "out" / place).touch()
    with pytest.raises(AnotherSweep, match=f"{place} is in the way of what this sweep writes: take it away"):
        carried_out(sweep_of(), tmp_path / "out", resume=True)


@pytest.mark.parametrize("place", ["notes.txt", "lag.parquet/notes.txt"])
def test_keeps_what_users_have_put_among_tables(tmp_path: Path, place: str) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    kept = tmp_path / "out/runs/0-range"
    for damaged in (kept / "lag.parquet", kept / "summary.parquet"):
        damaged.unlink()
    notes = kept / place
    notes.parent.mkdir(exist_ok=True)
    notes.write_text("mine")
    with pytest.raises(AnotherSweep, match=f"{place.split('/')[0]} is among damaged tables"):
        carried_out(sweep_of(), tmp_path / "out", resume=True)
    assert notes.read_text() == "mine"


def _interrupted(*arguments: object, **others: object) -> Result:
    raise KeyboardInterrupt


@pytest.mark.parametrize("when", ["discard", "carry out"])
def test_is_not_whole_while_a_lost_chunk_is_carried_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    (tmp_path / "out/manifest.json").touch()
    if when == "discard":
        (tmp_path / "out" / PART).write_bytes(b"")
        monkeypatch.setattr(SweepFolder, "discard", _interrupted)
    else:
        (tmp_path / "out" / PART).unlink()
    with pytest.raises(KeyboardInterrupt):
        carried_out(sweep_of(), tmp_path / "out", _interrupted, resume=True)
    assert not (tmp_path / "out/manifest.json").exists()


def cut_in_half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut_in_half, empty, Path.unlink])
def test_with_a_damaged_file_has_its_chunk_carried_out_again_and_no_other(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    folder, _ = carried_out(sweep_of(), tmp_path / "out", fake.fail_on_second)
    before = folder.summary("range", 99), folder.failures("range", 99)
    damage(tmp_path / "out/summary/variant=range/part-0000002.parquet")
    _, done = carried_out(sweep_of(), tmp_path / "out", fake.fail_on_second, resume=True)
    assert [one.runs for one in done] == [1]
    assert (folder.summary("range", 99), folder.failures("range", 99)) == before


def flipped(content: bytes, at: int, bit: int = 0) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


def test_notices_every_flipped_bit_that_changes_what_is_read(tmp_path: Path) -> None:
    chunk = Chunk(variant="range", seed=5, first=0, count=2, replay="")
    folder, _ = carried_out(sweep_of(2, ("range",)), tmp_path / "out")
    file, noticed, tried = tmp_path / "out/summary/variant=range/part-0000000.parquet", 0, 0
    whole, content = folder.summary("range", 2), file.read_bytes()
    footer = len(content) - int.from_bytes(content[-8:-4], "little")
    for at in [*range(0, footer, 331), *range(footer, len(content), 23)]:
        file.write_bytes(flipped(content, at, at % 8))
        tried += 1
        if folder.damage(chunk):
            noticed += 1
        else:
            assert folder.summary("range", 2) == whole, at
    assert noticed > tried / 2


@pytest.mark.parametrize(("old", "new"), [(b"rebalances", b"rebalances"[:-1] + b"\xf3"), (b"lag_s_max", b"lag_s_mex")])
def test_with_a_footer_that_is_no_text_has_its_chunk_carried_out_again(tmp_path: Path, old: bytes, new: bytes) -> None:
    folder, _ = carried_out(sweep_of(), tmp_path / "out")
    whole = folder.summary("range", 3)
    file = tmp_path / "out/summary/variant=range/part-0000000.parquet"
    file.write_bytes(file.read_bytes().replace(old, new))
    _, done = carried_out(sweep_of(), tmp_path / "out", resume=True)
    assert [one.runs for one in done] == [2]
    assert folder.summary("range", 3) == whole


def test_with_a_part_of_other_values_has_its_chunk_carried_out_again(tmp_path: Path) -> None:
    folder, _ = carried_out(sweep_of(), tmp_path / "out")
    whole, file = folder.summary("range", 3), tmp_path / "out/summary/variant=range/part-0000000.parquet"
    table = pq.read_table(file, partitioning=None)
    at = table.column_names.index("rebalances")
    pq.write_table(table.set_column(at, "rebalances", pa.array([1] * len(table), pa.int64())), file)
    _, done = carried_out(sweep_of(), tmp_path / "out", resume=True)
    assert [one.runs for one in done] == [2]
    assert folder.summary("range", 3) == whole


def test_parts_have_no_statistics_that_could_be_damaged_unnoticed(tmp_path: Path) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    group = pq.read_metadata(tmp_path / "out/summary/variant=range/part-0000000.parquet").row_group(0)
    assert not any(group.column(n).is_stats_set for n in range(group.num_columns))


def test_with_a_kept_table_of_another_run_has_its_chunk_carried_out_again(tmp_path: Path) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    kept, other = (tmp_path / "out/runs" / name / "lag.parquet" for name in ("0-range", "1-static_a_b=1"))
    whole = kept.read_bytes()
    kept.write_bytes(other.read_bytes())
    assert [one.runs for one in carried_out(sweep_of(), tmp_path / "out", resume=True)[1]] == [2]
    assert kept.read_bytes() == whole


@pytest.mark.parametrize("table", ["summary", "lag", "members"])
@pytest.mark.parametrize(
    "damage", [cut_in_half, empty, Path.unlink, lambda file: file.write_bytes(flipped(file.read_bytes(), 60))]
)
def test_with_a_damaged_table_of_a_kept_run_has_its_chunk_carried_out_again(
    tmp_path: Path, table: str, damage: Callable[[Path], None]
) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    kept = tmp_path / f"out/runs/0-range/{table}.parquet"
    whole = pq.read_table(kept)
    damage(kept)
    _, done = carried_out(sweep_of(), tmp_path / "out", resume=True)
    assert [one.runs for one in done] == [2]
    assert pq.read_table(kept) == whole


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[" * 100_000, b'{"digests": {}}', b'{"digests": 3}', b"\xff", b"9" * 5000]
)
def test_with_a_damaged_manifest_of_a_kept_run_has_its_chunk_carried_out_again(tmp_path: Path, text: bytes) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    kept = tmp_path / "out/runs/0-range/manifest.json"
    kept.write_bytes(text)
    _, done = carried_out(sweep_of(), tmp_path / "out", resume=True)
    assert [one.runs for one in done] == [2]
    assert json.loads(kept.read_text())["replication"] == 0


@pytest.mark.parametrize(
    "name",
    [
        "variant=range/part-0000001.parquet",
        "variant=range/copy of part-0000000.parquet",
        "variant=third/part-0000000.parquet",
        "x.parquet",
    ],
)
def test_with_a_part_that_is_no_chunk_of_it_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    part = tmp_path / "out/summary/variant=range/part-0000000.parquet"
    stranger = tmp_path / "out/summary" / name
    stranger.parent.mkdir(exist_ok=True)
    stranger.write_bytes(part.read_bytes())
    with pytest.raises(AnotherSweep, match=f"{stranger.name} is no part of this sweep"):
        carried_out(sweep_of(), tmp_path / "out", resume=True)
    assert stranger.exists()


def test_counts_runs_that_are_wanted_and_no_more(tmp_path: Path) -> None:
    enough = Replications(at_least=2, at_most=8, metric="horizon_s", half_width=1.0)
    sweep = sweep_of(enough, ("range",))
    carried_out(sweep, tmp_path / "out")
    carried_out(sweep_of(8, ("range",)), tmp_path / "more")
    surplus = Path("summary/variant=range/part-0000006.parquet")
    (tmp_path / "out" / surplus).write_bytes((tmp_path / "more" / surplus).read_bytes())
    found = carry_out_sweep(sweep, tmp_path / "out", None, fake.simulate, resume=True, listener=Listener())
    assert found.runs == 2
    assert sorted(path.name for path in (tmp_path / "out/summary/variant=range").iterdir()) == ["part-0000000.parquet"]


def _never(*arguments: object, **others: object) -> Result:
    pytest.fail("nothing may be computed for a folder that cannot be")


def test_that_cannot_be_made_is_refused_before_any_pilot_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for place in ("file/out", "loop", "n" * 300):
        with pytest.raises(OccupiedFolder, match="cannot be made"):
            carry_out_sweep(sweep_of(), tmp_path / place, None, _never, resume=False, listener=Listener())


@pytest.mark.parametrize("resume", [True, False])
def test_may_be_where_a_symbolic_link_leads(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "disk/out")
    assert carried_out(sweep_of(), tmp_path / "link", resume=resume)[1] != []
    assert (tmp_path / "disk/out/sweep.json").exists()


def test_without_the_tables_of_a_kept_run_has_its_chunk_carried_out_again(tmp_path: Path) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    kept = tmp_path / "out/runs/1-static_a_b=1"
    (kept / "manifest.json").unlink()
    _, done = carried_out(sweep_of(), tmp_path / "out", resume=True)
    assert [one.runs for one in done] == [2]
    assert json.loads((kept / "manifest.json").read_text())["replication"] == 0


def test_chunks_stay_as_the_folder_has_them_from_its_first_day(tmp_path: Path) -> None:
    folder, _ = carried_out(sweep_of(4), tmp_path / "out", chunk=2)
    (tmp_path / "out/summary/variant=range/part-0000002.parquet").unlink()
    _, done = carried_out(sweep_of(4), tmp_path / "out", chunk=4, resume=True)
    assert [one.runs for one in done] == [2]
    assert folder.summary("range", 99)["replication"].to_pylist() == [0, 0, 1, 1, 2, 2, 3, 3]
