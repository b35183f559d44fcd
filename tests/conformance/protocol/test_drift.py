"""How heartbeats drift apart, against what was measured on a broker 4.4.0: four members, 20 ms a record, 60 % load.

Measured on a quiet machine: periods of 3.0036 s, beats 0.13 to 0.16 s apart six minutes after the last rebalance; idle
members have a period of 3.0006 s. What the thirty steps of a period are late together is taken from these periods
(`Timing.wait_late_us`); the spread is not.
"""

from __future__ import annotations

from statistics import mean, median

import pytest

from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.heartbeat_thread import Cadence, next_beat
from groupsim.sim.client.polling.pace import Load, pace
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.config import ClientConfig, Timing
from groupsim.sim.model import Distribution, Processing
from groupsim.sim.randomness import Draw, hash64
from groupsim.sim.units import MS, S

CADENCE = Cadence.of(ClientConfig(), Timing())
AGE_US = 360 * S
CONSTANT = Distribution.constant(20 * MS)
AS_SLEEPS = Distribution("lognormal", (20 * MS, 22 * MS))


def polls(cost: Distribution, per_second: float, start: int, key: int) -> PollSchedule:
    load = Load(per_second / 1e6, 0.0)
    paced = pace(Processing(per_record=cost), 500, Timing().poll_us, load, 1.0)
    if cost.kind == "constant":
        return PollSchedule(start, paced, load, start)
    return DrawnPollSchedule(start, paced, load, start, cost=Draw(key, cost), first=0, fixed_us=0)


def last_beat(schedule: PollSchedule, joined: int) -> tuple[int, int]:
    """The last before the age is over, and how many there were."""
    beat, number = joined, 0
    while (upcoming := next_beat(schedule, CADENCE, beat + CADENCE.interval_us, beat)) < AGE_US:
        beat, number = upcoming, number + 1
    return beat, number


def group(cost: Distribution, seed: int, rates: tuple[float, ...] = (30, 30, 30, 30)) -> tuple[float, float]:
    """Spread of the beats of four members that joined within 4 ms, and their mean period, seconds."""
    late, periods = [], []
    for index, rate in enumerate(rates):
        key = hash64(seed, index)
        joined = key % (4 * MS)
        beat, number = last_beat(polls(cost, rate, joined + 5 * MS + key % (15 * MS), key), joined)
        late.append(beat - number * CADENCE.interval_us)
        periods.append((beat - joined) / number / S)
    return (max(late) - min(late)) / S, mean(periods)


def test_periods_are_as_long_as_those_that_were_measured() -> None:
    periods = [group(AS_SLEEPS, seed)[1] for seed in range(12)]
    assert mean(periods) == pytest.approx(3.0036, abs=0.0005)
    idle = PollSchedule(0, pace(Processing(), 500, Timing().poll_us, Load(0.0, 0.0), 1.0), Load(0.0, 0.0))
    beat, number = last_beat(idle, 0)
    assert beat / number == 3_000_600


def test_beats_are_a_tenth_of_a_second_apart_after_six_minutes_as_was_measured() -> None:
    spreads = [group(AS_SLEEPS, seed)[0] for seed in range(12)]
    assert 0.05 < median(spreads) < 0.16
    assert median(group(CONSTANT, seed)[0] for seed in range(12)) < 0.01


def test_members_of_different_loads_drift_apart_whatever_their_batches_cost() -> None:
    spreads = [group(CONSTANT, seed, (25, 30, 35, 40))[0] for seed in range(12)]
    assert min(spreads) > 0.03
