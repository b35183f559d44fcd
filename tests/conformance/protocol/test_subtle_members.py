"""Behaviours that naive simulators get wrong, 10 to 20: leaders, commits, zombies, static members, returns."""

from __future__ import annotations

from dataclasses import replace

from groupsim.sim import Result, simulate
from groupsim.sim.config import ClientBehaviour
from groupsim.sim.model import (
    AddPartitions,
    Cut,
    Distribution,
    Processing,
    Start,
    Subscribe,
    Subscription,
    Target,
    Topic,
)
from groupsim.sim.units import MS, S
from tests.conformance.protocol.oracle import (
    APPEND,
    PREPARE,
    SERVICE,
    WAY,
    D,
    H,
    beats_from,
    first_full_join,
    next_beat,
    refreshed,
    rejoined,
)
from tests.conformance.protocol.wire import Wire
from tests.support.scenarios import (
    BOOT_US,
    at,
    client,
    close,
    cooperative,
    delivered,
    group,
    hang,
    join,
    kill,
    member,
    pause,
    rounds,
    scenario,
    served,
    states,
)

FIRST = first_full_join(BOOT_US)
JOINED = FIRST + 2 * D
IN_TURN = Start(kind="every", value_us=100 * MS)
"""Member 0 comes first, and leads."""


def test_10_the_leader_stays_through_generations(wire: Wire) -> None:
    run = scenario(group(3, client=client()), join(20 * S, 4), join(30 * S, 5), close(40 * S, 3), horizon_us=60 * S)
    simulate(run, fidelity="message")
    answers = [one.body for one in wire.answered("JoinGroup", error="NONE")]
    assert {one.generation for one in answers} == {1, 2, 3, 4}
    assert len({one.leader for one in answers}) == 1


def _retried_join(wire: Wire, behaviour: ClientBehaviour) -> Result:
    """A follower is cut off between its JoinGroup's answer and its SyncGroup's: it gives up the latter and joins
    again.
    """
    slow = Distribution.constant(100 * MS)
    config = client(
        request_timeout_us=2 * S, connection_setup_timeout_us=S, behaviour=behaviour, session_timeout_us=30 * S
    )
    done = 700 * MS + 5 * 100 * MS + 2 * SERVICE + 1_500 + 2 * PREPARE + 2 * D
    cut = Cut(between=(member(1), Target("broker", "0")), duration=Distribution.constant(3 * S))
    run = scenario(group(2, client=config, start=IN_TURN), at(done + 150 * MS, cut), horizon_us=40 * S, latency=slow)
    return simulate(run, fidelity="message")


def test_10_a_follower_whose_subscription_is_unchanged_gets_the_current_generation(wire: Wire) -> None:
    result = _retried_join(wire, ClientBehaviour(generation_in_subscription=False))
    assert len(wire.answered("JoinGroup", "g/1", error="NONE")) == 2
    assert [one[2] for one in states(result)] == [0, 1, 1]


def test_10_a_followers_subscription_has_almost_always_changed(wire: Wire) -> None:
    result = _retried_join(wire, ClientBehaviour())
    assert [one.trigger for one in rounds(result)] == ["join", "member rejoined"]
    assert states(result)[-1][2] == 2


def test_10_the_leaders_rejoin_always_rebalances() -> None:
    """An old client's leader, with nothing new to say but the same bytes, after a topic that it does not read has
    grown.
    """
    behaviour = ClientBehaviour(generation_in_subscription=False)
    config = client(behaviour=behaviour, metadata_max_age_us=10 * S)
    grow = at(15 * S, AddPartitions(topic="t", to=13))
    result = simulate(scenario(group(2, client=config), grow, horizon_us=40 * S))
    assert [one.trigger for one in rounds(result)] == ["join", "leader rejoined"]


def test_11_only_the_leader_reacts_to_new_partitions() -> None:
    """Members refresh their metadata 10 s apart from their own start on: 0.7 s, 2.2 s and 3.7 s."""
    turns = Start(kind="every", value_us=1500 * MS)
    config = client(metadata_max_age_us=10 * S)
    grow = at(21_500 * MS, AddPartitions(topic="t", to=16))
    result = simulate(scenario(group(3, client=config, start=turns), grow, horizon_us=50 * S))
    _, growth = rounds(result)
    begun, answered = min(begin for _, begin, _, _ in served(result, "g/0")), BOOT_US
    for _ in range(3):  # Each counts from the answer before.
        answered = refreshed(begun, answered + 10 * S)
    assert growth.reason.startswith("Leader g/0 re-joining")
    assert growth.start_us == answered + PREPARE + WAY


def _third_joins(strategy: str, processing: Processing, *, auto_commit: bool) -> Result:
    config = client(partition_assignment_strategy=(strategy,), enable_auto_commit=auto_commit)
    run = scenario(
        group(2, client=config, processing=processing), join(20 * S, 3), hang(21 * S, 6 * S, 1), horizon_us=45 * S,
        rate_mrps=10_000,
    )  # fmt: skip
    return simulate(run)


def test_12_eager_reads_again_from_the_committed_offset_what_it_keeps() -> None:
    nothing = Processing(commit="none")
    eager = _third_joins("range", nothing, auto_commit=False)
    before = rounds(eager)[1].start_us / 1e6
    assert delivered(eager, "duplicate") > 0.9 * 12 * 10 * before, "all twelve partitions begin again"
    kept = _third_joins("cooperative-sticky", nothing, auto_commit=False)
    assert 0.9 * 4 * 10 * before < delivered(kept, "duplicate") < 5 * 10 * 30, "only the four that move"


def test_13_auto_commit_runs_only_inside_poll(wire: Wire) -> None:
    config = client(enable_auto_commit=True, session_timeout_us=30 * S)
    run = scenario(group(1, client=config), hang(20 * S, 20 * S, 0), horizon_us=60 * S, rate_mrps=1000)
    simulate(run, fidelity="message")
    during = [one for one in wire.sent("OffsetCommit", after=20 * S + 200 * MS) if one.at_us < 40 * S]
    assert during == []
    assert len([one for one in wire.sent("Heartbeat", after=20 * S) if one.at_us < 40 * S]) in (6, 7)
    assert len([one for one in wire.sent("OffsetCommit") if 10 * S < one.at_us < 20 * S]) == 2


def test_13_auto_commit_is_skipped_while_a_join_is_unfinished(wire: Wire) -> None:
    """A cooperative member is parked for 15 s and goes on polling: it commits before it joins, and not again."""
    config = cooperative(enable_auto_commit=True, session_timeout_us=60 * S)
    run = scenario(
        group(2, client=config), pause(19 * S, 20 * S, 1), join(20 * S, 3), horizon_us=60 * S, rate_mrps=1000
    )
    simulate(run, fidelity="message")
    parked = wire.sent("JoinGroup", "g/0", after=20 * S)[0]
    freed = wire.answered("JoinGroup", "g/0", after=20 * S)[0].at_us
    assert freed - parked.at_us > 10 * S
    commits = wire.sent("OffsetCommit", "g/0", after=20 * S)
    assert commits[0].at_us < parked.at_us
    assert not [one for one in commits if parked.at_us <= one.at_us < freed]


def test_14_cooperative_with_auto_commit_still_repeats_what_moves() -> None:
    """The last commit precedes the second round: what was read while parked is read again by the new owner."""
    eager = _third_joins("range", Processing(), auto_commit=True)
    assert delivered(eager, "duplicate") == 0
    kept = _third_joins("cooperative-sticky", Processing(), auto_commit=True)
    assert delivered(kept, "duplicate") > 0


def test_15_an_expired_session_on_the_client_revokes_nothing(wire: Wire) -> None:
    """Cut off from the coordinator's broker alone, a member goes on with the partitions of the other one."""
    config = client(session_timeout_us=10 * S, connection_setup_timeout_us=S)
    run = scenario(group(2, client=config), horizon_us=60 * S, brokers=2)
    simulate(run, fidelity="message")
    coordinator = next(one for one in wire.sent("FindCoordinator"))
    assert coordinator is not None
    node = next(one.body.node for one in wire.answered("FindCoordinator"))
    wire.clear()
    cut = at(20 * S, Cut(between=(member(0), Target("broker", str(node))), duration=Distribution.constant(20 * S)))
    result = simulate(replace(run, timeline=(cut,)), fidelity="message")
    removed = next(one for one in rounds(result) if one.trigger == "expiry").start_us
    last_beat = beats_from(JOINED) + ((20 * S - beats_from(JOINED)) // H) * H
    assert removed == last_beat + 10 * S
    zombie = [one for one in served(result, "g/0") if one[1] < removed < one[2]]
    assert zombie
    assert min(end for _, _, end, _ in zombie) >= 40 * S
    assert wire.listened("g/0", "lost")[0][0] >= 40 * S
    assert wire.listened("g/0", "revoked") == []


def test_16_max_poll_interval_is_enforced_by_the_client(wire: Wire) -> None:
    config = client(max_poll_interval_us=5 * S, session_timeout_us=30 * S)
    result = simulate(scenario(group(2, client=config), hang(20 * S, 20 * S, 0), horizon_us=60 * S), fidelity="message")
    (leave,) = wire.sent("LeaveGroup")
    assert 25 * S - 100 * MS <= leave.at_us - WAY <= 25 * S
    assert "poll timeout" in leave.body.members[0].reason
    assert rounds(result)[1].start_us == leave.at_us


def test_16_the_broker_does_not_know_max_poll_interval(wire: Wire) -> None:
    """A process that stands still for longer than max.poll.interval.ms, and shorter than its session, stays a
    member.
    """
    config = client(max_poll_interval_us=5 * S, session_timeout_us=30 * S)
    result = simulate(
        scenario(group(2, client=config), pause(20 * S, 20 * S, 0), horizon_us=39 * S), fidelity="message"
    )
    assert len(rounds(result)) == 1
    assert wire.sent("LeaveGroup") == []


def test_17_static_members_never_leave_and_own_partitions_while_absent(wire: Wire) -> None:
    """One closes; the rebalance that a newcomer starts waits for it until the join timer, and keeps it."""
    config = client(session_timeout_us=60 * S, max_poll_interval_us=10 * S)
    run = scenario(group(3, client=config, static=True), join(20 * S, 4), close(20_300 * MS, 2), horizon_us=100 * S)
    result = simulate(run, fidelity="message")
    assert wire.sent("LeaveGroup") == []
    held = rounds(result)[1]
    assert held.joined_us == held.start_us + 10 * S
    sizes = result.tables["rebalances"]["members_after"].tolist()
    assert sizes[:2] == [3, 4]
    leaders = next(one.body.assignments for one in wire.sent("SyncGroup", after=held.joined_us) if one.body.assignments)
    assert [len(one) for one in leaders.values()] == [3, 3, 3, 3]
    gone = rounds(result)[2]
    assert (gone.trigger, gone.start_us) == ("sync timeout", held.joined_us + 10 * S)


def test_17_an_absent_static_member_is_removed_by_its_session() -> None:
    config = client(session_timeout_us=10 * S)
    result = simulate(scenario(group(2, client=config, static=True), close(20 * S, 1), horizon_us=60 * S))
    joined = first_full_join(BOOT_US, static=True) + 2 * D
    last_beat = beats_from(joined) + ((20 * S - beats_from(joined)) // H) * H
    expiry = rounds(result)[1]
    assert (expiry.trigger, expiry.start_us) == ("expiry", last_beat + 10 * S)


def test_17_a_static_poll_timeout_sends_no_leave(wire: Wire) -> None:
    config = client(session_timeout_us=10 * S, max_poll_interval_us=5 * S)
    result = simulate(
        scenario(group(2, client=config, static=True), hang(20 * S, 30 * S, 1), horizon_us=60 * S), fidelity="message"
    )
    assert wire.sent("LeaveGroup") == []
    last = [one for one in wire.sent("Heartbeat", "g/1") if one.at_us < 45 * S][-1]
    assert 21 * S < last.at_us < 25 * S + WAY
    assert rounds(result)[1].start_us == last.at_us + 10 * S


def test_18_a_static_member_is_back_for_the_price_of_one_append(wire: Wire) -> None:
    result = simulate(
        scenario(group(2, client=client(), static=True), kill(20 * S, 1, down_us=2 * S), horizon_us=40 * S),
        fidelity="message",
    )
    assert len(rounds(result)) == 1
    assert states(result)[-1][2] == 1
    (back,) = wire.sent("JoinGroup", "g/1", after=20 * S)
    (answer,) = wire.answered("JoinGroup", "g/1", after=20 * S)
    assert back.at_us == first_full_join(22 * S + BOOT_US, static=True)
    assert answer.at_us == back.at_us + APPEND
    assert answer.body.generation == 1


def test_18_a_changed_subscription_is_not_noticed_on_that_path(wire: Wire) -> None:
    """It subscribes to another topic while it hangs, and is killed: the process that comes back asks for that topic."""
    other = Topic(name="u", partitions=4)
    ask = at(20_500 * MS, Subscribe(target=member(1), subscription=Subscription(topics=("t", "u"))))
    run = scenario(
        group(2, client=client(), static=True), hang(20 * S, 10 * S, 1), ask, kill(21 * S, 1, down_us=2 * S),
        horizon_us=40 * S, more_topics=(other,),
    )  # fmt: skip
    result = simulate(run, fidelity="message")
    (back,) = wire.sent("JoinGroup", "g/1", after=20 * S)
    assert back.body.protocols[0][1].topics == ("t", "u")
    assert len(rounds(result)) == 1


def test_19_kicked_members_learn_it_from_unknown_member_id_and_come_back_as_new(wire: Wire) -> None:
    config = client(session_timeout_us=100 * S, max_poll_interval_us=10 * S)
    result = simulate(
        scenario(group(2, client=config), pause(19 * S, 40 * S, 1), join(20 * S, 3), horizon_us=90 * S),
        fidelity="message",
    )
    old_id = wire.sent("SyncGroup", "g/1")[0].body.member_id
    held, again = rounds(result)[1:]
    assert held.joined_us == held.start_us + 10 * S
    assert [one for one in wire.answers if one.member == "g/1" and 20 * S < one.at_us < 59 * S] == []
    told = next(one for one in wire.answers if one.member == "g/1" and one.at_us >= 59 * S)
    assert told.error == "UNKNOWN_MEMBER_ID"
    assert again.trigger == "join"
    assert wire.sent("SyncGroup", "g/1", after=59 * S)[0].body.member_id != old_id
    assert wire.listened("g/1", "lost")


def test_20_a_restarted_process_waits_for_its_own_dead_id() -> None:
    result = simulate(scenario(group(2, client=client()), kill(20 * S, 1, down_us=1 * S), horizon_us=60 * S))
    last_beat = beats_from(JOINED) + ((20 * S - beats_from(JOINED)) // H) * H
    round_ = rounds(result)[1]
    assert round_.start_us == first_full_join(21 * S + BOOT_US)
    assert round_.joined_us == last_beat + 10 * S
    assert len(rounds(result)) == 2
    assert rejoined(next_beat(JOINED, round_.start_us)) < round_.joined_us
