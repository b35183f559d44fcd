"""What waits behind a parked fetch, and for how long, in closed form: equal to the microsecond, in both fidelities.

Measured on a Kafka 4.4.0 broker at one record a second: partitions that a cooperative survivor takes over are read
after 0.54, 0.72, 0.96 s (10, 50, 90 %), which is one wait of any length up to half a second and then a whole one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.model import Scenario
from groupsim.sim.units import MS, S
from tests.conformance.protocol.oracle import SERVICE, TRIP, WAY, parked
from tests.support.scenarios import client, close, cooperative, group, hang, join, rounds, scenario, served

Fidelity = Literal["elided", "message"]
both = pytest.mark.parametrize("fidelity", ["elided", "message"])


def taken_over(result: Result) -> tuple[int, int, int]:
    """Who closed was ``g/2``: when the survivor that got a partition of it began to read, was told, and read that."""
    lost = {partition for partition, _, _, _ in served(result, "g/2")}
    told = rounds(result)[-1].end_us + SERVICE + WAY
    found = [
        (_begun(result, name), told, begin)
        for name in ("g/0", "g/1")
        for partition, begin, _, _ in served(result, name)
        if partition in lost and begin > told
    ]
    return found[0]


def left(strategy: str, **changes: int) -> Scenario:
    make = cooperative if strategy == "cooperative" else client
    return scenario(group(3, client=make()), close(20 * S, 2), horizon_us=40 * S, **changes)


@both
def test_a_cooperative_member_waits_for_the_fetch_in_hand_and_for_the_next_one(fidelity: Fidelity) -> None:
    begun, told, read = taken_over(simulate(left("cooperative"), fidelity=fidelity))
    worked = parked(begun, told + TRIP + WAY)
    resent = parked(begun, worked + SERVICE)
    assert worked > told + TRIP + WAY
    assert resent - worked == 500 * MS + TRIP
    assert read == resent + WAY + TRIP


@both
def test_the_next_record_of_what_it_reads_already_ends_a_wait(fidelity: Fidelity) -> None:
    """Ten records a second in each of twelve partitions that take turns, four of them a member's."""
    run = left("cooperative", rate_mrps=10_000)
    begun, told, read = taken_over(simulate(run, fidelity=fidelity))
    mine = sorted(part for part, begin, _, _ in served(simulate(run), _survivor(run)) if begin == begun)
    worked = _next_record(mine, told + TRIP + WAY)
    resent = _next_record(mine, worked + SERVICE)
    assert read == resent + WAY + TRIP


def _begun(result: Result, name: str) -> int:
    """When a member read for the first time."""
    return min(begin for _, begin, _, _ in served(result, name))


def _survivor(run: Scenario) -> str:
    """Who takes a partition of ``g/2`` over."""
    result = simulate(run)
    begun, _, _ = taken_over(result)
    return next(name for name in ("g/0", "g/1") if _begun(result, name) == begun)


def _next_record(partitions: list[int], after: int) -> int:
    """In microseconds; partition i of twelve has records at tenths of a second and (i + 1) hundred-and-twentieths."""
    milli = [(11 - one) * 1000 // 12 for one in partitions]
    records = [(10_000 * after // S + head) // 1000 for head in milli]
    return min(-(-((count + 1) * 1000 - head) * S // 10_000) for count, head in zip(records, milli, strict=True))


@both
def test_an_eager_member_waits_for_the_last_fetch_of_what_it_has_given_up(fidelity: Fidelity) -> None:
    begun, told, read = taken_over(simulate(left("range"), fidelity=fidelity))
    assert read == parked(begun, told + TRIP + WAY) + SERVICE + WAY + TRIP


@both
def test_who_has_read_nothing_does_not_wait(fidelity: Fidelity) -> None:
    run = scenario(group(3, client=client()), join(20 * S, 4), horizon_us=40 * S)
    result = simulate(run, fidelity=fidelity)
    told = rounds(result)[-1].end_us + SERVICE + WAY
    assert {begin for _, begin, _, _ in served(result, "g/3")} == {told + 3 * TRIP}


@both
@pytest.mark.parametrize("brokers", [1, 3])
def test_only_the_connection_to_the_partition_s_leader_is_busy(fidelity: Fidelity, brokers: int) -> None:
    """Three partitions, one a member: with a leader each, what a survivor takes over comes from another broker."""
    run = left("cooperative", partitions=3, brokers=brokers)
    _, told, read = taken_over(simulate(run, fidelity=fidelity))
    assert (read == told + 3 * TRIP) == (brokers == 3)


@both
@pytest.mark.parametrize("wait_ms", [0, 100, 500, 2_000])
def test_fetch_max_wait_ms_bounds_a_wait(fidelity: Fidelity, wait_ms: int) -> None:
    run = left("cooperative")
    (one,) = run.groups
    run = replace(run, groups=(replace(one, client=replace(one.client, fetch_max_wait_us=wait_ms * MS)),))
    _, told, read = taken_over(simulate(run, fidelity=fidelity))
    period = wait_ms * MS + TRIP if wait_ms else 0
    assert period <= read - (told + 3 * TRIP) <= 2 * period


@both
def test_fetches_begin_anew_when_a_thread_that_hung_goes_on(fidelity: Fidelity) -> None:
    run = left("range")
    run = replace(run, timeline=(hang(12 * S, 3 * S, 0, 1), *run.timeline))
    _, told, read = taken_over(simulate(run, fidelity=fidelity))
    assert read == parked(15 * S, told + TRIP + WAY) + SERVICE + WAY + TRIP
