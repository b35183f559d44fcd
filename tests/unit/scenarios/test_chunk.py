"""A chunk leaves the same files whoever carries it out, and however often."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from groupsim.scenarios.sweep.chunk import FAILURES, SUMMARY, Chunk, carry_out
from groupsim.sim import Result
from tests.support import fake_simulation as fake

CHUNK = Chunk(variant="static, a/b=1", seed=5, first=0, count=3, replay="groupsim run x --seed 5", kept="runs/1-static")
SUMMARY_FILE = "summary/variant=static, a%2Fb=1/part-0000000.parquet"


def rows(file: Path) -> list[dict[str, object]]:
    return list(pq.ParquetFile(file).read().to_pylist())


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_holds_the_rows_of_its_runs_in_a_folder_named_after_the_variant(tmp_path: Path) -> None:
    done = carry_out(CHUNK, fake.scenario(), fake.simulate, tmp_path)
    found = rows(tmp_path / SUMMARY_FILE)
    assert [(row["replication"], row["group"]) for row in found] == [
        (r, g) for r in range(3) for g in ("audit", "billing")
    ]
    assert list(found[0]) == SUMMARY.names
    assert done.runs == 3
    assert done.begin_s <= done.end_s


def test_keeps_the_tables_of_the_first_run(tmp_path: Path) -> None:
    carry_out(CHUNK, fake.scenario(), fake.simulate, tmp_path)
    assert json.loads((tmp_path / "runs/1-static/manifest.json").read_text())["replication"] == 0


def test_later_chunks_keep_none(tmp_path: Path) -> None:
    later = Chunk(variant="range", seed=5, first=3, count=2, replay="")
    carry_out(later, fake.scenario(), fake.simulate, tmp_path)
    assert list(files(tmp_path)) == ["summary/variant=range/part-0000003.parquet"]


def test_failures_stand_beside_the_runs_around_them_with_the_line_that_repeats_them(tmp_path: Path) -> None:
    carry_out(CHUNK, fake.scenario(), fake.fail_on_second, tmp_path)
    assert {row["replication"] for row in rows(tmp_path / SUMMARY_FILE)} == {0, 2}
    (failure,) = rows(tmp_path / SUMMARY_FILE.replace("summary", "failures"))
    assert list(failure) == FAILURES.names
    assert (failure["seed"], failure["replication"]) == (5, 1)
    assert failure["replay"] == "groupsim run x --seed 5 --replication 1"
    assert str(failure["error"]).startswith("SimError: no member is left")


def test_of_failures_alone_still_says_that_it_is_done(tmp_path: Path) -> None:
    def fail(*_: object, **__: object) -> Result:
        raise ValueError

    carry_out(CHUNK, fake.scenario(), fail, tmp_path)
    assert rows(tmp_path / SUMMARY_FILE) == []
    assert len(rows(tmp_path / SUMMARY_FILE.replace("summary", "failures"))) == 3


def test_twice_is_the_same_as_once(tmp_path: Path) -> None:
    carry_out(CHUNK, fake.scenario(), fake.fail_on_second, tmp_path)
    once = files(tmp_path)
    carry_out(CHUNK, fake.scenario(), fake.fail_on_second, tmp_path)
    assert files(tmp_path) == once


@pytest.mark.parametrize("at", [0, 1, 2])
def test_that_dies_leaves_nothing_that_a_reader_takes_for_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """It dies at its first, second or third file: tables of the kept run, failures, summary."""
    renamed = 0

    def dying(method: str) -> None:
        own = getattr(Path, method)

        def rename(self: Path, target: Path) -> Path:
            nonlocal renamed
            renamed += 1
            if renamed > at:
                raise OSError(28, "No space left on device")
            return own(self, target)  # type: ignore[no-any-return]

        monkeypatch.setattr(Path, method, rename)

    dying("rename")
    dying("replace")
    with pytest.raises(OSError, match="No space"):
        carry_out(CHUNK, fake.scenario(), fake.fail_on_second, tmp_path)
    assert not (tmp_path / SUMMARY_FILE).exists()
    assert [name for name in files(tmp_path) if ".partial" in name] == []
    monkeypatch.undo()
    carry_out(CHUNK, fake.scenario(), fake.fail_on_second, tmp_path)
    carry_out(CHUNK, fake.scenario(), fake.fail_on_second, tmp_path / "undisturbed")
    undisturbed = files(tmp_path / "undisturbed")
    assert {name: files(tmp_path)[name] for name in undisturbed} == undisturbed
