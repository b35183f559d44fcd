"""The present model against everything that was recorded with a real broker; needs no Java.

A red test means that the model has moved away from Kafka, or nearer: `make oracle-report` shows how either way, and
what remains is listed in `tests.oracle.remaining` with its reason, never widened away.
"""

from __future__ import annotations

import pytest

from groupsim.scenarios import load
from groupsim.sim.model import Distribution
from tests.oracle.equivalence import REPETITIONS, SHOWN, judged
from tests.oracle.readme import README, with_table
from tests.oracle.remaining import REMAINING, UNSETTLED
from tests.oracle.report import REPORT, page, verdicts
from tests.oracle.study import RECORDINGS, Studied, names, recorded, recordings, study


@pytest.fixture(scope="module")
def found() -> list[Studied]:
    """Every scenario, studied once."""
    return [study(name) for name in names()]


def test_every_scenario_is_recorded_at_least_six_times_but_for_some_that_take_long() -> None:
    few = {name: len(recordings(name)) for name in recorded() if len(recordings(name)) < 6}
    assert few == {"aged-even": 3, "aged-idle": 3, "aged-uneven": 3}


def test_processes_start_at_once_so_that_what_is_measured_is_the_client(found: list[Studied]) -> None:
    groups = [(one.name, group) for one in found for group in load(RECORDINGS / one.name / "scenario.yaml").groups]
    assert [name for name, group in groups if group.members.boot != Distribution.constant(0)] == []


def test_replays_differ_from_recordings_only_where_it_is_known(found: list[Studied]) -> None:
    differing = {(one.name, each.repetition) for one in found for each in one.replays if each.differences}
    assert differing == {(name, number) for name, numbers in REMAINING.items() for number in numbers.repetitions}


def test_what_is_not_shown_to_agree_is_known(found: list[Studied]) -> None:
    decided = [each for one in found for each in one.verdicts if each.kind != "count" or each.n >= REPETITIONS]
    open_ = {(each.scenario, each.figure): each.verdict for each in decided}
    assert {key: verdict for key, verdict in open_.items() if verdict != SHOWN} == {
        (name, figure): one.verdict for one in UNSETTLED for name, figures in one.figures.items() for figure in figures
    }


def test_every_figure_that_is_shown_would_not_be_with_a_bias(found: list[Studied]) -> None:
    """A second on what timers decide, 50 ms on what the network takes: nothing would be shown to agree any more.

    Of 50 s, which the upgrade of an assignor takes, 2 % are a second: its phases are among these, it is not.
    """
    bias = {"timer": 1.0, "network": 0.05}
    verdicts = [each for one in found for each in one.verdicts if each.kind in bias and each.recorded < 40]
    shown = [each for each in verdicts if each.verdict == SHOWN]
    assert len(shown) > 250
    biased = {
        (each.scenario, each.figure, sign): judged(
            (each.low or 0.0) + sign * bias[each.kind], (each.high or 0.0) + sign * bias[each.kind], each.bound
        )
        for each in shown
        for sign in (-1, 1)
    }
    assert {key for key, verdict in biased.items() if verdict == SHOWN} == set()


def test_no_figure_is_listed_twice() -> None:
    listed = [(name, figure) for one in UNSETTLED for name, figures in one.figures.items() for figure in figures]
    assert len(set(listed)) == len(listed)


def test_the_verdicts_of_the_report_are_of_the_present_model(found: list[Studied]) -> None:
    assert REPORT.read_text(encoding="utf-8").startswith(verdicts(found))


@pytest.mark.slow
def test_report_and_readme_are_of_the_present_model(found: list[Studied]) -> None:
    assert REPORT.read_text(encoding="utf-8") == page(found)
    text = README.read_text(encoding="utf-8")
    assert text == with_table(text, found)
