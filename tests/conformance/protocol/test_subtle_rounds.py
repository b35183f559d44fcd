"""Behaviours that naive simulators get wrong, 21 to 36: merged rounds, commits, callbacks, retries."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from groupsim.sim import simulate
from groupsim.sim.client.coordination.lookup import Lookup
from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.model import AddPartitions, Cut, Distribution, Override, Processing, SlowHost, Start, Target
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.effects import Send
from groupsim.sim.protocol.messages import Error, Heartbeat, JoinGroup, OffsetCommit, Subscription, SyncGroup
from groupsim.sim.units import MS, S
from tests.conformance.protocol.oracle import (
    APPEND,
    PREPARE,
    SERVICE,
    TRIP,
    WAY,
    D,
    H,
    assignor,
    beats_from,
    first_full_join,
    stable,
)
from tests.conformance.protocol.wire import Wire
from tests.support.scenarios import (
    BOOT_US,
    TIMING,
    at,
    client,
    close,
    delivered,
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
JOINED = FIRST + 2 * D
IN_TURN = Start(kind="every", value_us=100 * MS)
"""Member 0 comes first, and leads."""


def test_21_one_rebalance_absorbs_many_events() -> None:
    """Three joins, a leave and an expiry while one member stands still: one rebalance, one generation."""
    patient = Override(members=frozenset({0}), client=client(session_timeout_us=60 * S))
    run = scenario(
        group(4, client=client(), overrides=(patient,)), kill(17 * S, 3), pause(19 * S, 20 * S, 0), join(20 * S, 4),
        join(22 * S, 5), close(21 * S, 2), horizon_us=60 * S,
    )  # fmt: skip
    result = simulate(run)
    _, merged = rounds(result)
    assert merged.generations == 1
    row = result.tables["rebalances"].iloc[1]
    assert (row.members_before, row.members_after, row.members_in, row.members_out) == (4, 5, 3, 2)
    assert result.summary[["joins", "leaves", "evictions"]].iloc[0].tolist() == [7, 1, 1]


def test_21_an_event_while_completing_aborts_the_round_and_costs_its_generation(wire: Wire) -> None:
    """The assignor takes five seconds; a newcomer arrives meanwhile."""
    slow = at(3 * S, SlowHost(target=member(0), factor=20_000.0, duration=Distribution.constant(6 * S)))
    run = scenario(group(2, client=client(), start=IN_TURN), slow, join(8 * S, 3), horizon_us=40 * S)
    result = simulate(run, fidelity="message")
    (round_,) = rounds(result)
    assert round_.generations == 2
    assert [one[1] for one in states(result)] == [
        "PreparingRebalance", "CompletingRebalance", "PreparingRebalance", "CompletingRebalance", "Stable"
    ]  # fmt: skip
    assert requests(result, "SyncGroup", "REBALANCE_IN_PROGRESS") >= 1


def test_22_the_generation_is_bumped_at_join_completion_and_again_when_empty() -> None:
    result = simulate(scenario(group(2, client=client()), close(20 * S, 0, 1), join(40 * S, 1), horizon_us=60 * S))
    closed = states(result)[3:]
    assert states(result)[:3] == [
        (FIRST, "PreparingRebalance", 0), (JOINED, "CompletingRebalance", 1),
        (stable(JOINED, assignor(2)), "Stable", 1),
    ]  # fmt: skip
    assert [one[1:] for one in closed if one[1] == "Empty"] == [("Empty", 2)]
    assert [one[1:] for one in closed[-3:]] == [
        ("PreparingRebalance", 2), ("CompletingRebalance", 3), ("Stable", 3)
    ]  # fmt: skip


def test_23_stable_is_entered_when_the_append_commits() -> None:
    quick = simulate(scenario(group(2, client=client()), horizon_us=20 * S))
    slow = simulate(scenario(group(2, client=client()), horizon_us=20 * S, timing=replace(TIMING, append_us=200 * MS)))
    assert rounds(slow)[0].joined_us == rounds(quick)[0].joined_us == JOINED
    assert rounds(slow)[0].end_us - rounds(quick)[0].end_us == 200 * MS - APPEND


def test_25_leave_waits_behind_a_parked_join(wire: Wire) -> None:
    """A member closes while it is parked: one connection, one request at a time."""
    config = client(session_timeout_us=60 * S)
    run = scenario(
        group(2, client=config), pause(19 * S, 12 * S, 1), join(20 * S, 3), close(28 * S, 0), horizon_us=60 * S
    )
    result = simulate(run, fidelity="message")
    (leave,) = wire.sent("LeaveGroup", "g/0")
    joined = next(time for time, state, _ in states(result) if state == "CompletingRebalance" and time > 20 * S)
    assert leave.sent_us < 28 * S + 100 * MS
    assert leave.at_us == joined + SERVICE


def test_25_sync_gives_up_after_request_timeout_and_the_dead_leader_holds_everybody_for_its_session(wire: Wire) -> None:
    """The leader dies between its join response and its SyncGroup."""
    config = client(session_timeout_us=45 * S)
    slow = at(3 * S, SlowHost(target=member(0), factor=20_000.0, duration=Distribution.constant(6 * S)))
    run = scenario(group(3, client=config, start=IN_TURN), slow, kill(8 * S, 0), horizon_us=100 * S)
    result = simulate(run, fidelity="message")
    joined = states(result)[1][0]
    synced = [one for one in wire.sent("SyncGroup") if one.at_us < 10 * S]
    assert {one.member for one in synced} == {"g/1", "g/2"}
    again = wire.sent("JoinGroup", after=10 * S)
    assert min(one.at_us for one in again) > max(one.sent_us for one in synced) + 30 * S
    assert min(one.at_us for one in again) < joined + 31 * S
    assert (joined + 45 * S, "CompletingRebalance") in [one[:2] for one in states(result)]


def test_25_join_is_limited_by_max_poll_interval_and_five_seconds(wire: Wire) -> None:
    """Parked behind a member that stands still, and cut off from the answer."""
    config = client(session_timeout_us=100 * S, connection_setup_timeout_us=S, max_poll_interval_us=40 * S)
    cut = at(30 * S, Cut(between=(member(0), Target("broker", "0")), duration=Distribution.constant(5 * S)))
    run = scenario(group(2, client=config), pause(19 * S, 70 * S, 1), join(20 * S, 3), cut, horizon_us=120 * S)
    simulate(run, fidelity="message")
    parked = wire.sent("JoinGroup", "g/0", after=20 * S)[0]
    lookups = [one.sent_us for one in wire.sent("FindCoordinator", "g/0", after=20 * S)]
    assert lookups[0] == parked.sent_us + 45 * S


def test_28_a_commit_is_a_heartbeat() -> None:
    """Heartbeats every 9 s, commits every second: the session of a killed member counts from its last commit."""
    config = client(
        enable_auto_commit=True, auto_commit_interval_us=S, heartbeat_interval_us=9 * S, session_timeout_us=10 * S
    )
    result = simulate(scenario(group(2, client=config), kill(24_900 * MS, 1), horizon_us=60 * S, rate_mrps=1000))
    expiry = rounds(result)[1]
    assert expiry.trigger == "expiry"
    assert 33_500 * MS < expiry.start_us <= 34_900 * MS + WAY


def test_28_a_commit_of_the_old_generation_is_accepted_while_preparing(wire: Wire) -> None:
    config = client(enable_auto_commit=True, session_timeout_us=60 * S)
    run = scenario(group(2, client=config), pause(19 * S, 8 * S, 1), join(20 * S, 3), horizon_us=60 * S, rate_mrps=1000)
    result = simulate(run, fidelity="message")
    held = rounds(result)[1]
    inside = [one for one in wire.answered("OffsetCommit") if held.start_us < one.at_us < held.joined_us]
    assert inside
    assert {one.error for one in inside} == {"NONE"}


def test_28_a_commit_while_completing_is_refused() -> None:
    """No client of this kind sends one: it knows the generation only while it refuses to commit. Hence the bare
    machine.
    """
    machine = ClassicGroup("g", CoordinatorConfig(initial_rebalance_delay_us=0))
    request = JoinGroup("", "i", 10 * S, 10 * S, (("range", Subscription(("t",))),), fresh_id="m")
    machine.on_request(0, request, object())
    machine.on_deadline(0)
    assert machine.state.value == "CompletingRebalance"
    nothing = Subscription(()).owned
    commit = OffsetCommit("m", "i", 1, nothing, nothing.astype("int64"))
    (refused,) = machine.on_request(1, commit, object()).replies
    assert refused.response.error is Error.REBALANCE_IN_PROGRESS
    (beaten,) = machine.on_request(1, Heartbeat("m", "i", 1), object()).replies
    assert beaten.response.error is Error.NONE
    synced = machine.on_request(1, SyncGroup("m", "i", 1, "range", {}), object()).batch
    assert synced is not None
    machine.on_appended(1, synced.number, Error.NONE)
    accepted = machine.on_request(2, commit, object()).batch
    assert accepted is not None
    assert [one.response.error for one in accepted.replies] == [Error.NONE]


def test_29_a_long_callback_counts_against_max_poll_interval_and_not_against_the_session(wire: Wire) -> None:
    long = Processing(on_assigned_us=15 * S)
    safe = simulate(
        scenario(group(2, client=client(session_timeout_us=6 * S), processing=long), horizon_us=60 * S),
        fidelity="message",
    )
    assert len(rounds(safe)) == 1
    wire.clear()
    strict = client(session_timeout_us=30 * S, max_poll_interval_us=8 * S)
    simulate(scenario(group(1, client=strict, processing=long), horizon_us=20 * S), fidelity="message")
    (leave,) = wire.sent("LeaveGroup")
    assigned = FIRST + D + TRIP + assignor(1) + APPEND + SERVICE + WAY
    assert leave.sent_us == assigned + 8 * S


def test_30_partitions_are_revoked_once_however_often_the_join_fails(wire: Wire) -> None:
    """A second newcomer aborts the round: SyncGroup fails, the member joins again without revoking again."""
    slow = at(12 * S, SlowHost(target=member(0), factor=20_000.0, duration=Distribution.constant(30 * S)))
    config = client(session_timeout_us=60 * S)
    run = scenario(group(2, client=config, start=IN_TURN), slow, join(14 * S, 3), join(16 * S, 4), horizon_us=60 * S)
    result = simulate(run, fidelity="message")
    assert requests(result, "SyncGroup", "REBALANCE_IN_PROGRESS") >= 1
    assert len(wire.sent("JoinGroup", "g/1", after=12 * S)) == 2
    assert len(wire.listened("g/1", "revoked")) == 1
    assert wire.listened("g/1", "lost") == []


def test_30_a_reset_turns_the_next_revocation_into_a_loss(wire: Wire) -> None:
    run = scenario(group(2, client=client(session_timeout_us=6 * S)), pause(20 * S, 20 * S, 1), horizon_us=60 * S)
    simulate(run, fidelity="message")
    assert len(wire.listened("g/1", "lost")) == 1
    assert wire.listened("g/1", "revoked") == []


def test_31_heartbeats_of_a_member_that_does_not_rejoin_keep_it_in(wire: Wire) -> None:
    """It hangs for three sessions through a rebalance: only its own max.poll.interval.ms would remove it."""
    config = client(session_timeout_us=6 * S, max_poll_interval_us=60 * S)
    run = scenario(group(2, client=config), hang(20 * S, 20 * S, 1), join(21 * S, 3), horizon_us=60 * S)
    result = simulate(run, fidelity="message")
    refused = wire.answered("Heartbeat", "g/1", error="REBALANCE_IN_PROGRESS")
    assert len(refused) >= 5
    assert result.summary["evictions"].tolist() == [0]
    assert 40 * S <= rounds(result)[1].joined_us <= 40 * S + 200 * MS
    assert len(wire.sent("FindCoordinator", "g/1")) == 1


def test_31_it_is_bounded_by_the_rebalance_timeout(wire: Wire) -> None:
    config = client(session_timeout_us=6 * S, max_poll_interval_us=10 * S)
    run = scenario(group(2, client=config), hang(20 * S, 20 * S, 1), join(21 * S, 3), horizon_us=60 * S)
    result = simulate(run, fidelity="message")
    (leave,) = wire.sent("LeaveGroup")
    assert rounds(result)[1].joined_us == leave.at_us
    assert leave.at_us <= 30 * S + WAY


def _waits(monkeypatch: pytest.MonkeyPatch, poll_timeout_us: int) -> list[int]:
    """Between lookups of 20 s in which nothing answers: each fails after the connection's set-up time of 10 ms."""
    config = client(connection_setup_timeout_us=10 * MS, request_timeout_us=100 * MS, session_timeout_us=30 * S)
    cut = Cut(between=(member(0), Target("broker", "0")), duration=Distribution.constant(20 * S))
    starts: list[int] = []
    asking = group(1, client=config, processing=Processing(poll_timeout_us=poll_timeout_us))
    ask = Lookup.ask

    def noted(self: Lookup, now: int, effect: Send) -> None:
        starts.append(now)
        ask(self, now, effect)

    monkeypatch.setattr(Lookup, "ask", noted)
    simulate(scenario(asking, at(20 * S, cut), horizon_us=50 * S))
    return [b - a - 10 * MS for a, b in pairwise(one for one in starts if 20 * S < one < 39 * S)]


def test_32_discovery_backs_off_exponentially_with_jitter_while_a_poll_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = _waits(monkeypatch, 60 * S)
    for number, wait in enumerate(waits):
        base = min(100 * MS << number, 1000 * MS)
        assert 0.8 * base <= wait <= min(1.2 * base, 1000 * MS)
    assert len(set(waits[:4])) == 4


def test_32_the_next_poll_looks_at_once_and_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polls of 100 ms are over before a backoff is, or with it."""
    waits = _waits(monkeypatch, 100 * MS)
    assert len(waits) > 150
    assert max(waits) <= 100 * MS


def test_32_failed_joins_that_need_no_waiting_are_retried_at_once(wire: Wire) -> None:
    simulate(scenario(group(2, client=client()), horizon_us=20 * S), fidelity="message")
    for name in ("g/0", "g/1"):
        told = wire.answered("JoinGroup", name, error="MEMBER_ID_REQUIRED")[0].at_us
        assert wire.sent("JoinGroup", name)[1].sent_us == told + SERVICE + WAY


def test_34_records_of_new_partitions_before_their_discovery_are_lost_with_latest() -> None:
    """The leader learns of four new partitions 9.2 s after they exist; 10 records a second are in each by then.

    Nothing is committed: what comes into the others while nobody reads them is lost too.
    """
    grow = at(21_500 * MS, AddPartitions(topic="t", to=16))
    lost, expected = {}, 0
    for policy in ("latest", "earliest"):
        config = client(metadata_max_age_us=10 * S, auto_offset_reset=policy, fetch_max_wait_us=0)
        result = simulate(scenario(group(2, client=config), grow, horizon_us=60 * S, rate_mrps=10_000))
        lost[policy] = delivered(result, "loss")
        growth = rounds(result)[1]
        assert growth.start_us == BOOT_US + 30 * S + 3 * TRIP + PREPARE + WAY
        until = growth.end_us + SERVICE + WAY + TRIP + WAY
        stops = (growth.start_us - PREPARE - WAY, growth.joined_us - PREPARE - WAY)
        by_leader = {part for part, _, end, _ in served(result, growth.reason.split()[1]) if end == stops[0]}
        expected = sum(_written(number, 16, until - 21_500 * MS) for number in range(12, 16))
        for number in range(12):
            stopped = stops[0] if number in by_leader else stops[1]
            expected += _written(number, 12, until) - _written(number, 12, stopped)
    assert lost == {"latest": expected, "earliest": 0}


def _written(number: int, alike: int, age_us: int) -> int:
    """Records of a partition that has existed for so long among ``alike``: ten a second, in turn."""
    return int(10 * age_us / S + (alike - 1 - number) / alike)


def test_36_expiry_uses_the_members_own_session() -> None:
    config = client(session_timeout_us=40 * S)
    short = Override(members=frozenset({1}), client=client(session_timeout_us=8 * S))
    last_beat = beats_from(JOINED) + ((20 * S - beats_from(JOINED)) // H) * H
    for victim, session in ((1, 8 * S), (0, 40 * S)):
        result = simulate(
            scenario(group(2, client=config, overrides=(short,)), kill(20 * S, victim), horizon_us=80 * S)
        )
        assert rounds(result)[1].start_us == last_beat + session
