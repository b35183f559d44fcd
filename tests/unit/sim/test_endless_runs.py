"""A bug that makes a simulation go on for ever ends as an error: tests have a budget of events, and it holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from groupsim.sim import simulate
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.errors import EventBudgetExceeded
from groupsim.sim.model import Scenario
from tests.unit.sim.scenes import scene
from tests.unit.sim.transactional_scenes import transform

TESTS = Path(__file__).parents[2]
NOT_RUN = {"test_schema_building.py", "test_coordinator_assignors.py", "fake_simulation.py"}
BUDGET = 20_000
"""Of three seconds of virtual time, in which a client that is not faulty needs less than 2,000."""


@pytest.fixture
def _polls_without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug: whoever has polled polls again, at this instant."""
    monkeypatch.setattr(PollSchedule, "next_poll", lambda self, now: now)


CASES = pytest.mark.parametrize(
    ("scenario", "fidelity"),
    [(scene(), "message"), (transform(), "elided"), (transform(), "message")],
    ids=["reads, message", "produces, elided", "produces, message"],
)


@CASES
@pytest.mark.usefixtures("_polls_without_delay")
def test_a_run_in_which_time_stands_still_ends_with_an_error(scenario: Scenario, fidelity: str) -> None:
    faulty = replace(scenario, event_budget=BUDGET)
    with pytest.raises(EventBudgetExceeded, match=r"^more than 20,000 events by [0-2]\.\d{3} s of virtual time"):
        simulate(faulty, fidelity=fidelity)  # type: ignore[arg-type]


@CASES
def test_a_run_in_which_it_goes_on_does_not(scenario: Scenario, fidelity: str) -> None:
    short = replace(scenario, event_budget=BUDGET // 10, horizon_us=3_000_000)
    assert simulate(short, fidelity=fidelity).manifest["events"] > 20  # type: ignore[arg-type]


def _unlimited() -> Iterator[str]:
    """Where tests make a scenario that has the users' budget."""
    files = ((path, path.read_text()) for path in sorted(TESTS.rglob("*.py")) if path.name not in NOT_RUN)
    for path, text in files:
        for node in ast.walk(ast.parse(text)) if "Scenario(" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Scenario":
                named = {word.arg for word in node.keywords}
                if "event_budget" not in named:
                    yield f"{path.relative_to(TESTS)}:{node.lineno}"


def test_no_scenario_of_the_tests_has_the_budget_of_users() -> None:
    """Fifty million events are hours where each is checked."""
    assert list(_unlimited()) == []
