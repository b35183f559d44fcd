"""A sweep's folder: begun once, taken up after any death, refused to every other sweep."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from groupsim.scenarios.files.new_folder import OccupiedFolder
from groupsim.scenarios.sweep.chunk import Chunk
from groupsim.scenarios.sweep.folder import AnotherSweep, FolderInUse, sweep_folder
from groupsim.scenarios.sweep.identity import identity_of
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


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"identity": 3, "chunk_runs": 4}', "\x00"])
def test_whose_plan_is_damaged_is_refused_in_words(tmp_path: Path, text: str) -> None:
    carried_out(sweep_of(), tmp_path / "out")
    (tmp_path / "out/sweep.json").write_text(text)
    with pytest.raises(AnotherSweep, match=r"sweep\.json is not what groupsim has written"):
        carried_out(sweep_of(), tmp_path / "out", resume=True)


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


def test_notices_every_flipped_bit_that_changes_what_is_read(tmp_path: Path) -> None:
    chunk = Chunk(variant="range", seed=5, first=0, count=2, replay="")
    folder, _ = carried_out(sweep_of(2, ("range",)), tmp_path / "out")
    file, noticed = tmp_path / "out/summary/variant=range/part-0000000.parquet", 0
    whole, content = folder.summary("range", 99), file.read_bytes()
    for at in range(0, len(content), 331):
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        if folder.damage(chunk):
            noticed += 1
        else:
            assert folder.summary("range", 99) == whole, at
    assert noticed > len(content) // 331 / 3


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
