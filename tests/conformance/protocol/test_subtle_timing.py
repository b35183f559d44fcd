"""Behaviours that naive simulators get wrong, 1 to 9: who learns when, and what starts which timer.

Each test is named after one of the thirty-six behaviours and drives whole clients and a coordinator through the
network. Left out until brokers fail and queue: 24 (heartbeats behind other groups' appends), 26 and 27 (failover), 33
(expiry queued behind requests), 35 (expiry of offsets).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import Distribution, Entry, Override, SlowHost, Start
from groupsim.sim.units import MS, S
from tests.conformance.protocol.oracle import (
    APPEND,
    PREPARE,
    SERVICE,
    WAY,
    D,
    H,
    assignor,
    beats_from,
    first_full_join,
    next_beat,
    rejoined,
    stable,
)
from tests.conformance.protocol.wire import Wire
from tests.support.scenarios import (
    BOOT_US,
    at,
    client,
    close,
    cooperative,
    group,
    hang,
    join,
    kill,
    member,
    pause,
    requests,
    rounds,
    scenario,
    served,
    states,
)

FIRST = first_full_join(BOOT_US)
"""First full JoinGroup of members that start at 0."""
POLL_TIMEOUT = 100 * MS
JOINED = FIRST + 2 * D
"""End of the join phase of two or more of them."""


def test_01_rebalances_are_pulled_not_pushed() -> None:
    result = simulate(scenario(group(2, client=client()), join(20 * S, 3), horizon_us=40 * S))
    scale_out = rounds(result)[1]
    t0 = first_full_join(20 * S + BOOT_US)
    beat = next_beat(JOINED, t0)
    assert beat - t0 > 1 * S, "the scenario must leave the members waiting for their heartbeat"
    assert scale_out.start_us == t0
    assert scale_out.joined_us == rejoined(beat)


def test_01_a_rebalance_is_acted_on_at_the_next_poll() -> None:
    result = simulate(scenario(group(2, client=client()), join(20 * S, 3), hang(21 * S, 5 * S, 1), horizon_us=40 * S))
    in_time = 26 * S + PREPARE + WAY
    assert in_time <= rounds(result)[1].joined_us <= in_time + POLL_TIMEOUT


@pytest.mark.parametrize("stand_still", [hang, pause])
def test_01_a_thread_that_stood_still_inside_poll_goes_on_inside_poll(stand_still: Callable[..., Entry]) -> None:
    result = simulate(
        scenario(group(2, client=client()), join(20 * S, 3), stand_still(21 * S, 5 * S, 1), horizon_us=40 * S)
    )
    beat = beats_from(JOINED) + 4 * H
    assert 21 * S < beat < 26 * S
    way_back = 0 if stand_still is hang else SERVICE + 2 * WAY
    assert rounds(result)[1].joined_us == 26 * S + way_back + PREPARE + WAY


def test_02_heartbeats_fall_into_phase_after_every_rebalance(wire: Wire) -> None:
    run = scenario(group(3, client=client()), join(20 * S + 777 * MS, 4), horizon_us=40 * S)
    result = simulate(run, fidelity="message")
    for number, size in ((0, 3), (1, 4)):
        joined = rounds(result)[number].joined_us
        beats = [one for one in wire.sent("Heartbeat", after=joined) if one.at_us < joined + 2 * H]
        assert [one.at_us for one in beats] == [beats_from(joined)] * size
        assert {one.member for one in beats} == {f"g/{index}" for index in range(size)}


def test_03_initial_delay_is_windowed_and_all_joined_does_not_end_it() -> None:
    alone = rounds(simulate(scenario(group(1, client=client()), horizon_us=20 * S)))[0]
    assert (alone.start_us, alone.joined_us) == (FIRST, FIRST + D)
    both = rounds(simulate(scenario(group(2, client=client()), horizon_us=20 * S)))[0]
    assert (both.start_us, both.joined_us) == (FIRST, FIRST + 2 * D)


def test_03_initial_delay_applies_to_every_empty_group() -> None:
    result = simulate(scenario(group(2, client=client()), close(20 * S, 0, 1), join(30 * S, 2), horizon_us=50 * S))
    again = rounds(result)[-1]
    t0 = first_full_join(30 * S + BOOT_US)
    assert (again.start_us, again.joined_us) == (t0, t0 + 2 * D)


def test_04_the_first_member_joins_twice_and_the_second_request_opens_the_window(wire: Wire) -> None:
    result = simulate(scenario(group(1, client=client()), horizon_us=20 * S))
    first, second = wire.sent("JoinGroup")
    assert (first.body.member_id, second.body.member_id != "") == ("", True)
    assert wire.answered("JoinGroup")[0].error == "MEMBER_ID_REQUIRED"
    assert rounds(result)[0].start_us == second.at_us == first.at_us + SERVICE + WAY + PREPARE + WAY


def test_04_a_static_member_joins_once() -> None:
    result = simulate(scenario(group(1, client=client(), static=True), horizon_us=20 * S))
    assert requests(result, "JoinGroup", "MEMBER_ID_REQUIRED") == 0
    assert rounds(result)[0].start_us == first_full_join(BOOT_US, static=True) == FIRST - SERVICE - 2 * WAY - PREPARE


SLOW = Distribution.constant(200 * MS)
"""One-way latency of a newcomer whose requests are to be caught on the wire."""


def test_05_member_id_required_starts_no_rebalance(wire: Wire) -> None:
    run = scenario(group(2, client=client()), join(20 * S, 3), kill(21_402 * MS, 2), horizon_us=60 * S, latency=SLOW)
    result = simulate(run)
    assert requests(result, "JoinGroup", "MEMBER_ID_REQUIRED") == 3
    assert [one.trigger for one in rounds(result)] == ["join"]


def test_05_a_pending_id_blocks_early_completion_until_its_session_ends(wire: Wire) -> None:
    """The newcomer dies between its two JoinGroups; then a member leaves."""
    run = scenario(
        group(3, client=client()), join(20 * S, 4), kill(21_402 * MS, 3), close(23 * S, 2), horizon_us=60 * S,
        latency=SLOW,
    )  # fmt: skip
    result = simulate(run)
    pending_since = wire.answered("JoinGroup", "g/3", error="MEMBER_ID_REQUIRED")[0].at_us
    leave = rounds(result)[1]
    rejoins = [one.at_us for one in wire.sent("JoinGroup", after=leave.start_us)]
    assert len(rejoins) == 2
    assert max(rejoins) < leave.joined_us == pending_since + 10 * S


def test_05_leaving_as_a_pending_id_rebalances(wire: Wire) -> None:
    """A pause holds the newcomer between its two JoinGroups while it is told to close."""
    run = scenario(
        group(2, client=client()), join(20 * S, 3), pause(21_402 * MS, 2 * S, 2), close(22 * S, 2), horizon_us=60 * S,
        latency=SLOW,
    )  # fmt: skip
    result = simulate(run)
    assert len(wire.sent("JoinGroup", "g/2")) == 1
    (leave,) = wire.sent("LeaveGroup", "g/2")
    useless = rounds(result)[1]
    assert (useless.start_us, useless.trigger) == (leave.at_us, "leave")


def test_06_join_timer_is_the_largest_rebalance_timeout_and_frozen_when_armed() -> None:
    """Member 1 stands still with a session that outlives every timer; the latecomer's timeout is longer than the
    armed one.
    """
    lasting = {"session_timeout_us": 100 * S}
    run = scenario(
        group(
            2,
            client=client(**lasting, max_poll_interval_us=10 * S),
            overrides=(
                Override(members=frozenset({1}), client=client(**lasting, max_poll_interval_us=15 * S)),
                Override(members=frozenset({3}), client=client(**lasting, max_poll_interval_us=60 * S)),
            ),
        ),
        pause(19 * S, 70 * S, 1), join(20 * S, 3), join(25 * S, 4), horizon_us=80 * S,
    )  # fmt: skip
    result = simulate(run)
    round_ = rounds(result)[1]
    assert round_.start_us == first_full_join(20 * S + BOOT_US)
    assert round_.joined_us == round_.start_us + 15 * S
    assert result.tables["rebalances"]["members_kicked"].tolist() == [0, 1]


def test_07_parked_members_are_exempt_and_their_session_restarts_at_join_completion(wire: Wire) -> None:
    """Member 0 is parked for longer than its session, dies while parked, and is missed one session after completion."""
    one = Override(members=frozenset({0}), client=client(session_timeout_us=6 * S))
    run = scenario(
        group(2, client=client(session_timeout_us=60 * S), overrides=(one,)),
        pause(19 * S, 20 * S, 1), join(20 * S, 3), kill(35 * S, 0), horizon_us=80 * S,
    )  # fmt: skip
    result = simulate(run, fidelity="message")
    parked = wire.sent("JoinGroup", "g/0", after=20 * S)[0].at_us
    held = rounds(result)[1]
    assert held.joined_us - parked > 6 * S
    assert held.generations >= 1
    expiry = next(one for one in states(result) if one[0] > held.joined_us and one[1] == "PreparingRebalance")
    assert expiry[0] == held.joined_us + 6 * S


def test_07_a_new_member_has_five_minutes_even_while_parked(wire: Wire) -> None:
    run = scenario(group(1, client=client(max_poll_interval_us=1000 * S)), horizon_us=320 * S, delay_us=400 * S)
    simulate(run)
    (removed,) = wire.answered("JoinGroup", error="UNKNOWN_MEMBER_ID")
    assert removed.at_us == FIRST + 300 * S


def test_08_records_processed_past_the_session_while_joining_cost_the_membership(wire: Wire) -> None:
    """A cooperative member hangs after its JoinGroup: neither heartbeats nor max.poll.interval.ms help."""
    config = cooperative(session_timeout_us=6 * S, max_poll_interval_us=20 * S)
    patient = cooperative(session_timeout_us=60 * S, max_poll_interval_us=100 * S)
    run = scenario(
        group(2, client=config, overrides=(Override(members=frozenset({1}), client=patient),)),
        pause(19 * S, 10 * S, 1), join(20 * S, 3), hang(27 * S, 30 * S, 0), horizon_us=80 * S, rate_mrps=1000,
    )  # fmt: skip
    result = simulate(run)
    joined = rounds(result)[1].joined_us
    assert 29 * S < joined < 30 * S
    assert (joined + 6 * S, "CompletingRebalance") in [one[:2] for one in states(result)]
    assert result.summary["evictions"].tolist() == [1]
    assert [one for one in wire.sent("Heartbeat", "g/0", after=26 * S) if one.at_us < 57 * S] == []
    assert wire.sent("LeaveGroup") == []


def test_08_partitions_are_consumed_while_the_member_is_parked() -> None:
    config = cooperative(session_timeout_us=60 * S)
    run = scenario(group(2, client=config), pause(19 * S, 10 * S, 1), join(20 * S, 3), horizon_us=60 * S)
    result = simulate(run)
    joined = rounds(result)[1].joined_us
    kept = [one for one in served(result, "g/0") if one[1] < joined <= one[2]]
    assert len(kept) == 6


IN_TURN = Start(kind="every", value_us=100 * MS)
"""Member 0 comes first, and leads."""


def test_09_a_busy_leader_stalls_everyone(wire: Wire) -> None:
    """The leader hangs while it is parked: the join response has to wait for its application."""
    config = client(session_timeout_us=60 * S)
    run = scenario(
        group(3, client=config, start=IN_TURN), pause(19 * S, 8 * S, 2), join(20 * S, 4), hang(26 * S, 7 * S, 0),
        horizon_us=60 * S,
    )  # fmt: skip
    result = simulate(run)
    assert wire.answered("JoinGroup", error="NONE")[0].body.leader == wire.sent("SyncGroup", "g/0")[0].body.member_id
    round_ = rounds(result)[1]
    assert 27 * S < round_.joined_us < 28 * S
    assert round_.end_us == 33 * S + assignor(4) + WAY + 1_000


def test_09_a_slow_assignor_suspends_the_leaders_heartbeats(wire: Wire) -> None:
    slow = at(5 * S, SlowHost(target=member(0), factor=40_000.0, duration=Distribution.constant(100 * S)))
    run = scenario(group(2, client=client(session_timeout_us=60 * S), start=IN_TURN), slow, horizon_us=40 * S)
    result = simulate(run, fidelity="message")
    round_ = rounds(result)[0]
    assert round_.end_us == stable(round_.joined_us, assignor(2) * 40_000)
    assert round_.end_us - round_.joined_us > 3 * H
    leaders = [one.sent_us for one in wire.sent("Heartbeat", "g/0")]
    assert leaders[0] >= round_.end_us - WAY - APPEND, "the heartbeat thread waits for the monitor"
    followers = [one for one in wire.sent("Heartbeat", "g/1") if one.at_us < round_.end_us]
    assert followers == [], "sent in time, but behind the follower's parked SyncGroup"
