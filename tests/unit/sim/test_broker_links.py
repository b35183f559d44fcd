"""Brokers that are cut off from one another, racks that are lost, and what administrators ask of a cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.model import (
    Broker,
    Close,
    Cut,
    Distribution,
    ElectLeaders,
    Entry,
    Kill,
    Override,
    Reassign,
    Restart,
    Scenario,
    StartMembers,
    Target,
)
from groupsim.sim.units import MS, S
from tests.support.dying_logs import AUTO, QUIET, RATE, broker, truncated, world
from tests.support.fidelity import differences
from tests.support.scenarios import at, member

FETCH_BACKOFF_US = 1 * S
"""``replica.fetch.backoff.ms``."""
SHORT = replace(QUIET, replica_lag_time_max_us=6 * S, session_timeout_us=3 * S, heartbeat_interval_us=S)


def five(*timeline: Entry, **topic: object) -> Scenario:
    """Five brokers; the one partition is on brokers 3 and 4, which are no controllers, from 10 s on."""
    move = at(10 * S, Reassign(topic="t", partitions=(0,), replicas=(3, 4)))
    made = world(move, *timeline, config=SHORT, **topic)
    brokers = tuple(Broker(id=id_, rack="xy"[id_ > 2]) for id_ in range(5))
    return replace(made, cluster=replace(made.cluster, brokers=brokers))


def cut(one: str, other: str, length_us: int) -> Cut:
    return Cut(between=(broker(one), broker(other)), duration=Distribution.constant(length_us))


def numbers(first: int, last: int) -> Target:
    return Target("broker", f"{first}-{last}", indices=tuple(range(first, last + 1)))


def unread_us(result: Result, after_us: int) -> int:
    """The longest time that a partition is unread, of those that begin after ``after_us``."""
    rows = result.tables["unavailability"]
    rows = rows[rows.from_us >= after_us]
    return int((rows.to_us - rows.from_us).max()) if len(rows) else 0


# --- cuts -------------------------------------------------------------------------------------------------------------


def test_a_follower_that_does_not_fetch_holds_up_readers_until_it_is_out_of_the_isr() -> None:
    made = five(at(30 * S, cut("3", "4", 40 * S)))
    assert 6 * S <= unread_us(simulate(made), 30 * S) <= 9 * S + 500 * MS
    assert not differences(made, seed=1, check=False)


def test_who_is_elected_drops_a_follower_that_it_does_not_reach() -> None:
    """Their link has been cut for longer than replica.lag.time.max.ms, which counts from the election."""
    third = at(20 * S, Reassign(topic="t", partitions=(0,), replicas=(2, 3, 4)))
    leads = at(25 * S, ElectLeaders(election="preferred"))
    made = five(third, leads, at(30 * S, cut("3", "4", 80 * S)), at(50 * S, Close(target=broker("2"))))
    assert 6 * S <= unread_us(simulate(made), 30 * S) <= 9 * S + 500 * MS
    assert not differences(made, seed=1, check=False)


def test_a_follower_that_fetches_again_in_time_stays_in_the_isr() -> None:
    result = simulate(five(at(30 * S, cut("3", "4", 4 * S)), at(50 * S, Kill(target=broker("3")))))
    assert 4 * S <= unread_us(result, 30 * S) <= 4 * S + 500 * MS
    rows = result.tables["unavailability"]
    assert rows.to_us.max() < 60 * S, "the other one leads"


def test_a_leader_that_the_controller_does_not_hear_is_fenced_and_leads_no_more() -> None:
    isolated = Cut(between=(broker("3"), numbers(0, 2)), duration=Distribution.constant(40 * S))
    made = five(at(30 * S, isolated), at(30 * S, cut("3", "4", 40 * S)))
    result = simulate(made)
    assert 2 * S <= unread_us(result, 30 * S) <= 5 * S
    assert truncated(result) == 0
    assert not differences(made, seed=1, check=False)


def test_what_a_leader_takes_that_is_cut_off_is_lost_unless_producers_wait_for_all() -> None:
    isolated = Cut(between=(broker("3"), numbers(0, 2)), duration=Distribution.constant(40 * S))
    result = simulate(five(at(30 * S, isolated), at(30 * S, cut("3", "4", 40 * S)), acks="1"))
    assert 2 * RATE <= truncated(result) <= 5 * RATE


def test_a_broker_that_was_fenced_and_is_heard_again_follows_and_leads_again() -> None:
    isolated = Cut(between=(broker("3"), numbers(0, 2)), duration=Distribution.constant(10 * S))
    elect = at(60 * S, ElectLeaders(topics=("t",)))
    result = simulate(five(at(30 * S, isolated), elect, at(70 * S, Kill(target=broker("3")))))
    assert unread_us(result, 69 * S) > 2 * S, "it led"


def test_an_active_controller_that_is_cut_off_is_replaced() -> None:
    alone = Cut(between=(broker("controller"), broker("all")), duration=Distribution.constant(60 * S))
    made = five(at(30 * S, alone), at(45 * S, Kill(target=broker("3"))))
    assert unread_us(simulate(made), 44 * S) <= 6 * S


# --- racks ------------------------------------------------------------------------------------------------------------


def test_a_rack_is_its_brokers_and_its_members() -> None:
    rack = Target("rack", "y")
    made = five(at(30 * S, Kill(target=rack)), at(60 * S, StartMembers(target=rack)), partitions=3)
    overrides = (Override(members=frozenset({2}), rack="y"),)
    made = replace(made, groups=(replace(made.groups[0], overrides=overrides),))
    events = simulate(made).tables["events"]
    assert set(events[events.time_us == 30 * S].target) == {"broker:3", "broker:4", "g/2"}
    assert set(events[events.time_us == 60 * S].target) == {"broker:3", "broker:4", "g/2"}
    assert not differences(made, seed=1, check=False)


# --- administrators ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("throttle", "least_s", "most_s"), [(100 << 20, 0, 1), (1 << 20, 9, 12)])
def test_a_partition_moves_when_its_log_is_copied(throttle: int, least_s: int, most_s: int) -> None:
    move = Reassign(topic="t", partitions=(0,), replicas=(0, 1), throttle_bytes_per_s=throttle)
    result = simulate(five(at(10 * S + 1, move)))
    rows = result.tables["unavailability"]
    moves = rows[(rows.from_us > 10 * S) & (rows.cause == "resume")]
    assert least_s <= (moves.from_us.max() / 1e6 - 10) <= most_s + 1.2
    assert unread_us(result, 10 * S) < FETCH_BACKOFF_US + 500 * MS, "who follows before there is a leader tries again"


@pytest.mark.parametrize(("throttle", "is_over"), [(1 << 20, True), (1 << 16, False)])
def test_recovery_counts_from_when_a_log_is_copied(throttle: int, is_over: bool) -> None:
    """Ten megabytes: in ten seconds, or not before the run ends."""
    move = Reassign(topic="t", partitions=(0,), replicas=(0, 1), throttle_bytes_per_s=throttle)
    made = replace(five(at(10 * S + 1, move)), recovery_lag_records=1_000_000)
    recovery_s = simulate(made).tables.rows("summary")[0]["recovery_s"]
    assert recovery_s == (0 if is_over else None)


def test_the_preferred_leader_leads_when_somebody_asks() -> None:
    down = at(30 * S, Restart(target=broker("3"), down=Distribution.constant(S)))
    leader_us, follower_us = (
        unread_us(simulate(five(down, at(60 * S, asked), at(80 * S, Close(target=broker("3"))))), 79 * S)
        for asked in (ElectLeaders(), ElectLeaders(topics=("u",)))
    )
    assert leader_us > 2 * follower_us > 0, "who follows holds up its leaders until they have heard that it leaves"


def test_an_unclean_election_that_is_asked_for_loses_what_its_leader_lacks() -> None:
    verbs = [(30, Kill(target=broker("4"))), (50, Kill(target=broker("3"))), (55, StartMembers(target=broker("4")))]
    made = five(*(at(second * S, verb) for second, verb in verbs))
    assert unread_us(simulate(made), 49 * S) == 70 * S
    asked = at(80 * S, ElectLeaders(election="unclean"))
    result = simulate(replace(made, timeline=(*made.timeline, asked)))
    assert 30 * S <= unread_us(result, 49 * S) <= 31 * S


def test_members_that_do_not_reach_who_leads_now_are_cut_off_from_it() -> None:
    apart = Cut(between=(member(0, 1, 2), broker("4")), duration=Distribution.constant(9 * S))
    isolated = Cut(between=(broker("3"), numbers(0, 2)), duration=Distribution.constant(9 * S))
    made = five(at(30 * S, apart), at(30 * S, isolated))
    patient = replace(made.groups[0], client=replace(AUTO, session_timeout_us=45 * S))
    made = replace(made, groups=(patient,))
    rows = simulate(made).tables["unavailability"]
    rows = rows[rows.from_us >= 30 * S]
    assert set(rows.cause) == {"detection"}, "not resume, though somebody leads"
    assert (rows.to_us - rows.from_us).sum() > 6 * S
    assert not differences(made, seed=1, check=False)


def test_controllers_without_a_majority_are_a_warning_that_names_them() -> None:
    """Once each time that they lose it; brokers that are no controllers may die."""
    made = five(
        *(at(second * S, Kill(target=broker(node))) for second, node in ((20, "3"), (30, "0"), (40, "2"), (50, "1")))
    )
    (told,) = simulate(made).warnings
    assert told.startswith("controllers at 40.000 s: of brokers 0, 1, 2, the controllers here, no majority is up")
    back = [at(60 * S, StartMembers(target=broker("0"))), at(61 * S, StartMembers(target=broker("2")))]
    twice = simulate(replace(made, timeline=(*made.timeline, *back, at(110 * S, Kill(target=broker("0"))))))
    assert [one.partition(":")[0] for one in twice.warnings] == ["controllers at 40.000 s", "controllers at 110.000 s"]
    apart = Cut(between=(broker("0"), numbers(1, 2)), duration=Distribution.constant(9 * S))
    assert not simulate(five(at(30 * S, apart))).warnings
