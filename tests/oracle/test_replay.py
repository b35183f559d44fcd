"""What a replay has of its recording besides the instants."""

from __future__ import annotations

import pytest

from groupsim.sim.model import Rate, Scenario
from groupsim.sim.units import MS, S
from tests.oracle import replay, simulated
from tests.oracle.profile import without_chance
from tests.oracle.replay import EARLIER_US, _assigned, _later, _written
from tests.oracle.study import played, recordings
from tests.oracle.trace import Fact

NAME = "consumer-static-duplicate"
HELD = 2
"""A repetition in which two members took up their first answers two and three passes late."""


def _clock(scenario: Scenario, facts: tuple[Fact, ...]) -> replay._Clock:
    return replay._set_clock(without_chance(scenario), facts, 1)[0]


def test_records_begin_when_they_are_told_to() -> None:
    rate = _later(Rate(times_us=(0, 7), per_partition_mrps=((1_000, 2_000), (3_000,))), EARLIER_US)
    assert rate.times_us == (0, EARLIER_US, EARLIER_US + 7)
    assert rate.per_partition_mrps == ((0, 0), (1_000, 2_000), (3_000,))


@pytest.mark.parametrize(("name", "period_us"), [("join-cooperative", 100 * MS), ("trickle-kill", S)])
def test_records_come_as_long_after_the_fault_as_recorded(name: str, period_us: int) -> None:
    """The driver was told to write at 0, and did so within 10 ms; the model's first record comes a twelfth later."""
    scenario, recording = played(name), recordings(name)[0]
    clock, (topic,) = _clock(scenario, recording.facts), scenario.topics
    fault_us = replay.faults(recording.facts)[0]["at_us"]
    first_us = _written(scenario, topic, recording.facts, clock) + period_us // 12
    assert 0 < first_us - (clock.then(fault_us) - fault_us) < 10 * MS


def test_a_first_assignment_comes_when_it_came_however_many_passes_that_took() -> None:
    scenario, recording = played(NAME), recordings(NAME)[HELD - 1]
    clock, told = replay._set_clock(without_chance(scenario), recording.facts, HELD)
    assert sum(one.holding_us > 0 for one in clock.delays.values()) == 2
    real, mine = _assigned(recording.facts), _assigned(told)
    assert {life: mine[life] - clock.then(at_us) for life, at_us in real.items()} == dict.fromkeys(real, 0)


def test_an_answer_that_is_held_is_taken_up_that_much_later() -> None:
    """Nothing else about the member changes until then."""
    scenario = without_chance(played("consumer-start-1"))
    asked = {("g/0", 0): simulated.Delay()}, {("g/0", 0): simulated.Delay(holding_us=S)}
    soon, late = (_assigned(simulated.simulated(scenario, 1, delays=delays)) for delays in asked)
    assert soon.keys() == late.keys()
    assert 0.9 * S < late["g/0", 0] - soon["g/0", 0] < 1.1 * S
