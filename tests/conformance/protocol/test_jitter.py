"""Closed forms as distributions: phases are drawn, latency has jitter."""

from __future__ import annotations

import pytest
from scipy import stats

from groupsim.sim import Result, simulate
from groupsim.sim.model import Kill, Override, Processing, Scale, Target
from groupsim.sim.units import MS, S
from tests.conformance.protocol.oracle import PREPARE, SERVICE, WAY, next_beat
from tests.support.scenarios import (
    LOOPBACK,
    STEADY,
    client,
    cooperative,
    group,
    join,
    once_within,
    rounds,
    scenario,
    served,
)


def fired_us(result: Result) -> int:
    """When the only entry of the timeline fired."""
    return int(result.tables["events"]["time_us"].iloc[0])


def test_a_killed_member_is_detected_evenly_between_session_minus_heartbeat_and_session() -> None:
    """Heartbeat 3 s, session 10 s; any member, at any phase (Kolmogorov-Smirnov over 200 kills)."""
    anybody = Kill(target=Target("group", "g", "random"))
    run = scenario(group(3, client=client()), once_within(20 * S, 23 * S, anybody), horizon_us=35 * S, latency=LOOPBACK)
    detected = []
    for seed in range(200):
        result = simulate(run, seed=seed)
        expiry = rounds(result)[1]
        assert expiry.trigger == "expiry"
        detected.append((expiry.start_us - fired_us(result)) / S)
    assert min(detected) > 6.98
    assert max(detected) < 10.06
    assert stats.kstest(detected, stats.uniform(loc=7, scale=3).cdf).pvalue > 0.01


BATCHES_US = (700 * MS, 1_300 * MS, 2_900 * MS)
"""What a batch costs each of three members, whatever its size; then they look into poll() for a millisecond."""


def _busy_join(seed: int, *, jitter: bool) -> tuple[int, int]:
    """(simulated, expected) end of the join phase when a fourth member comes at a drawn instant."""
    busy = tuple(
        Override(members=frozenset({index}), processing=Processing(per_record=_FREE, per_poll_us=cost))
        for index, cost in enumerate(BATCHES_US)
    )
    newcomer = once_within(20 * S, 23 * S, Scale(target=Target("group", "g"), to=4))
    one = group(3, client=client(session_timeout_us=30 * S), overrides=busy, processing=Processing(per_record=_FREE))
    latency = LOOPBACK if jitter else STEADY
    result = simulate(scenario(one, newcomer, horizon_us=45 * S, rate_mrps=10_000, latency=latency), seed=seed)
    first, second = rounds(result)[:2]
    told = next_beat(first.joined_us, second.start_us) + SERVICE + WAY
    return second.joined_us, max(_in_poll(result, index, told) for index in range(3)) + PREPARE + WAY


_FREE = Processing().per_record.constant(0)


def _in_poll(result: Result, index: int, told: int) -> int:
    """The first instant from ``told`` on at which the member is inside poll(): passes begin with its first fetch."""
    begin = min(from_us for _, from_us, _, _ in served(result, f"g/{index}"))
    poll_us, length = 1_000, BATCHES_US[index] + 1_000
    into = (told - begin) % length
    return told if into <= poll_us else told + length - into


@pytest.mark.parametrize("seed", range(12))
def test_the_barrier_is_the_largest_rest_of_a_batch_after_the_heartbeat_wait(seed: int) -> None:
    simulated, expected = _busy_join(seed, jitter=False)
    assert simulated == expected


def test_the_barrier_with_jitter_is_the_same_within_the_jitter() -> None:
    """But where jitter moves a heartbeat's answer to the other side of a poll: then a batch more, or less."""
    off = [abs(simulated - expected) for simulated, expected in (_busy_join(seed, jitter=True) for seed in range(40))]
    assert sum(one < 40 * MS for one in off) >= 36


def test_a_cooperative_join_takes_exactly_two_rounds_without_jitter() -> None:
    for members in (2, 3, 7):
        run = scenario(group(members, client=cooperative()), join(20 * S, members + 1), horizon_us=60 * S)
        assert [one.generations for one in rounds(simulate(run))] == [1, 1, 1]
