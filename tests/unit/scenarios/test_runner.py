"""Runs and what becomes of them, and the folder of a sweep. Outcomes do not depend on who carries them out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scenarios.results import schema
from scenarios.runner import Outcome, Run, Simulate, carry_out, in_process, kept_folder, outcome
from sim import Result, SimError
from tests.support import fake_simulation as fake

RUNS = [
    Run(variant=variant, scenario=fake.scenario(members=members), seed=5, replication=r, keep=r == 0)
    for variant, members in (("range", 3), ("static, a/b=1", 4))
    for r in range(3)
]


def collect(folder: Path, simulate: Simulate = fake.simulate, **options: object) -> tuple[pa.Table, pa.Table]:
    usual = {"execute": in_process, "replay": lambda run: f"replay {run.replication}", "progress": lambda done: None}
    return carry_out(RUNS, simulate, folder=folder, **{**usual, **options})  # type: ignore[arg-type]


def test_outcome_is_the_summary_of_the_run() -> None:
    done = outcome(RUNS[1], fake.simulate)
    assert done.summary is not None
    assert done.summary["group"].to_pylist() == ["audit", "billing"]
    assert set(done.summary["seed"].to_pylist()) == {5}
    assert set(done.summary["replication"].to_pylist()) == {1}
    assert done.files == {}
    assert done.error == ""


def test_outcome_of_a_kept_run_has_its_result_folder() -> None:
    files = outcome(RUNS[0], fake.simulate).files
    assert {"manifest.json", "ownership.parquet", "summary.parquet"} < set(files)
    assert json.loads(files["manifest.json"])["replication"] == 0


def test_outcome_of_a_failed_run_is_its_error_in_one_line() -> None:
    done = outcome(RUNS[1], fake.fail_on_second)
    assert done.summary is None
    assert done.error.startswith("SimError: no member is left (fake_simulation.py:")
    assert "\n" not in done.error


def test_outcome_of_an_error_raised_again_tells_where_it_was_raised_first() -> None:
    def simulate(*_: object, **__: object) -> Result:
        try:
            fake.fail_on_second(fake.scenario(), seed=1, replication=1)
        except SimError as error:
            raise SimError("again") from error
        raise AssertionError

    assert re.fullmatch(r"SimError: again \(fake_simulation\.py:\d+\)", outcome(RUNS[0], simulate).error)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_outcome_is_not_for_those_who_want_to_stop(stop: type[BaseException]) -> None:
    def simulate(*_: object, **__: object) -> Result:
        raise stop

    with pytest.raises(stop):
        outcome(RUNS[0], simulate)


def test_progress_counts_the_runs(tmp_path: Path) -> None:
    told: list[int] = []
    collect(tmp_path, progress=told.append)
    assert told == [1, 2, 3, 4, 5, 6]


class TestSweep:
    def test_holds_all_summaries_in_the_order_of_the_runs(self, tmp_path: Path) -> None:
        table, _ = collect(tmp_path)
        assert table["variant"].to_pylist() == ["range"] * 6 + ["static, a/b=1"] * 6
        assert table["replication"].to_pylist() == [0, 0, 1, 1, 2, 2] * 2

    def test_does_not_depend_on_the_order_in_which_runs_end(self, tmp_path: Path) -> None:
        def backwards(
            runs: Sequence[Run], simulate: Simulate, progress: Callable[[int], None]
        ) -> Iterator[tuple[int, Outcome]]:
            return reversed(list(in_process(runs, simulate, progress)))  # type: ignore[return-value]

        forth = collect(tmp_path / "forth", fake.fail_on_second)
        back = collect(tmp_path / "back", fake.fail_on_second, execute=backwards)
        assert forth[0].equals(back[0])
        assert forth[1].equals(back[1])

    def test_holds_the_tables_of_kept_runs(self, tmp_path: Path) -> None:
        collect(tmp_path)
        kept = sorted(path.name for path in (tmp_path / "runs").iterdir())
        assert kept == ["0-range", "1-static_a_b=1"]
        assert pq.read_table(tmp_path / "runs" / "1-static_a_b=1" / "summary.parquet")["replication"][0].as_py() == 0

    def test_holds_failures_and_the_runs_around_them(self, tmp_path: Path) -> None:
        summary, failures = collect(tmp_path, fake.fail_on_second)
        assert summary["replication"].to_pylist() == [0, 0, 2, 2] * 2
        assert [(row["variant"], row["seed"], row["replication"], row["replay"]) for row in failures.to_pylist()] == [
            ("range", 5, 1, "replay 1"),
            ("static, a/b=1", 5, 1, "replay 1"),
        ]

    def test_of_failures_alone_still_has_a_summary(self, tmp_path: Path) -> None:
        def fail(*_: object, **__: object) -> Result:
            raise ValueError

        summary, failures = collect(tmp_path, fail)
        assert summary.num_rows == 0
        assert summary.schema.equals(schema("summary"))
        assert failures.num_rows == 6


def test_kept_folders_sort_in_the_order_of_the_variants() -> None:
    runs = [Run(variant=str(n), scenario=fake.scenario(), seed=1, replication=0) for n in range(11)]
    assert kept_folder(runs, "3") == "runs/03-3"
    assert kept_folder(runs, "10") == "runs/10-10"
