"""The present model against everything that was recorded with a real broker; needs no Java.

A red test means that the model has moved away from Kafka, or nearer: `make oracle-report` shows how either way, and
what remains is listed in `tests.oracle.remaining` with its reason, never widened away.
"""

from __future__ import annotations

import pytest

from groupsim.scenarios import load
from groupsim.sim.model import Distribution
from tests.oracle.readme import README, with_table
from tests.oracle.remaining import REMAINING
from tests.oracle.report import REPORT, page
from tests.oracle.study import RECORDINGS, Studied, names, study, verdicts


@pytest.fixture(scope="module")
def found() -> list[Studied]:
    """Every scenario, studied once."""
    return [study(name) for name in names()]


def test_every_scenario_is_recorded_at_least_six_times(found: list[Studied]) -> None:
    assert {one.name: len(one.replays) for one in found if len(one.replays) < 6} == {}


def test_processes_start_at_once_so_that_what_is_measured_is_the_client(found: list[Studied]) -> None:
    groups = [(one.name, group) for one in found for group in load(RECORDINGS / one.name / "scenario.yaml").groups]
    assert [name for name, group in groups if group.members.boot != Distribution.constant(0)] == []


def test_replays_differ_from_recordings_only_where_it_is_known(found: list[Studied]) -> None:
    differing = {(one.name, each.repetition) for one in found for each in one.replays if each.differences}
    assert differing == {(name, number) for name, numbers in REMAINING.items() for number in numbers.repetitions}


def test_figures_over_seeds_agree(found: list[Studied]) -> None:
    differing = {(row.scenario, row.figure) for row in verdicts(found) if not row.agrees}
    assert differing == {(name, figure) for name, one in REMAINING.items() for figure in one.figures}


def test_report_and_readme_are_of_the_present_model(found: list[Studied]) -> None:
    assert REPORT.read_text(encoding="utf-8") == page(found)
    text = README.read_text(encoding="utf-8")
    assert text == with_table(text, found)
