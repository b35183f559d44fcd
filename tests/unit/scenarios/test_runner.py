"""What becomes of a run."""

from __future__ import annotations

import json
import re

import pytest

from groupsim.scenarios.sweep.outcome import Run, outcome
from groupsim.sim import Result, SimError
from tests.support import fake_simulation as fake

RUNS = [
    Run(variant=variant, scenario=fake.scenario(members=members), seed=5, replication=r, keep=r == 0)
    for variant, members in (("range", 3), ("static, a/b=1", 4))
    for r in range(3)
]


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
