"""Members of a consumer group that use the classic protocol."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.facts import Cause, MemberRemoved
from groupsim.sim.protocol.messages import Error, Heartbeat, LeaveGroup, MemberIdentity, SyncGroup
from groupsim.sim.units import FOREVER, S
from tests.unit.sim.protocol.mixed_groups import Mixed


def upgraded(version: str = "4.4", interval_us: int = 0, **config: object) -> Mixed:
    """Classic a had all four partitions; c of the consumer protocol has come."""
    run = Mixed(version, consumer_assignment_interval_us=interval_us, **config)
    run.classic_group(a=(0, 1, 2, 3))
    run.consumer_join("c")
    return run


def test_a_member_that_is_behind_is_called_and_gives_up_in_two_rejoins() -> None:
    run = upgraded()
    assert run.classic_beat("a", 1) is Error.REBALANCE_IN_PROGRESS
    answer = run.classic_join("a", 0, 1, 2, 3)
    assert (answer.generation, answer.protocol, answer.leader, answer.members) == (1, "range", "", ())
    assert run.member("a").state is MemberState.UNREVOKED_PARTITIONS
    kept = run.sync("a", 1).assignment.tolist()
    assert kept == [0, 1]
    assert run.classic_beat("a", 1) is Error.REBALANCE_IN_PROGRESS
    assert run.beat("c").assignment is None
    assert run.classic_join("a", *kept).generation == 2
    assert run.sync("a", 2).assignment.tolist() == kept
    assert run.classic_beat("a", 2) is Error.NONE
    assert run.beat("c").assignment.tolist() == [2, 3]


def test_a_classic_member_with_an_epoch_that_is_not_its_own_stays_classic() -> None:
    """``GMM.getOrMaybeSubscribeDynamicConsumerGroupMember`` looks at the epoch of any member."""
    run = upgraded()
    assert run.beat("a", 7, topics=("t",)).error is Error.FENCED_MEMBER_EPOCH
    assert run.consumer.roster.n_classic == 1
    assert run.consumer_join("a").error is Error.NONE
    assert run.consumer.roster.n_classic == 0


def test_an_eager_member_owns_nothing_when_it_rejoins_and_waits_for_nobody() -> None:
    run = upgraded()
    assert run.classic_join("a").generation == 2
    assert run.member("a").state is MemberState.STABLE
    assert run.sync("a", 2).assignment.tolist() == [0, 1]
    assert run.beat("c").assignment.tolist() == [2, 3]


def test_an_eager_member_drops_everything_at_each_rejoin_and_is_given_more_when_it_is_free() -> None:
    """The newcomer d has to wait for a and c, and is called again when both have given up."""
    run = Mixed(image={"t": 6}, consumer_assignment_interval_us=0)
    run.classic_group(a=(0, 1, 2, 3, 4, 5))
    run.consumer_join("c")
    run.classic_join("a")
    run.sync("a", 2)
    run.beat("c")
    run.ack("c")
    answer = run.classic_join("d", is_new=True)
    assert answer.generation == 3
    assert run.member("d").state is MemberState.UNRELEASED_PARTITIONS
    assert run.classic_beat("d", 3) is Error.NONE
    run.beat("c")
    run.ack("c")
    assert run.classic_beat("a", 2) is Error.REBALANCE_IN_PROGRESS
    run.classic_join("a")
    assert run.classic_beat("d", 3) is Error.REBALANCE_IN_PROGRESS
    run.classic_join("d")
    given = run.sync("d", 3).assignment.tolist()
    assert given == run.target_of("d")
    assert run.classic_beat("d", 3) is Error.NONE


def test_a_join_is_answered_by_the_log_and_only_then_timers_run() -> None:
    run = upgraded()
    run.classic_beat("a", 1)
    run.now += S
    outcome = run.group.on_request(run.now, run.joining("a"), "a")
    assert outcome.replies == []
    assert outcome.batch is not None
    assert [one.waiter for one in outcome.batch.replies] == ["a"]
    timers = run.consumer.core.timers
    assert timers.join_due("a") < FOREVER
    assert timers.sync_due("a") == FOREVER
    run.now += S
    run.group.on_appended(run.now, outcome.batch.number, Error.NONE)
    assert (timers.join_due("a"), timers.sync_due("a")) == (FOREVER, run.now + 60 * S)
    assert timers.session_due("a") == run.now + 10 * S


def test_a_join_that_is_not_committed_in_time_stays_written_and_arms_nothing_even_when_it_is_committed_later() -> None:
    """``OperationTimeout`` completes the event with an error: nothing is reverted, and it completes once only."""
    run = upgraded()
    run.classic_beat("a", 1)
    outcome = run.group.on_request(run.now, run.joining("a", topics=("t", "u")), "a")
    assert outcome.batch is not None
    timers, written = run.consumer.core.timers, (run.epochs_of(), run.member("a"))
    called = timers.join_due("a")
    for error in (Error.REQUEST_TIMED_OUT, Error.NONE):
        run.now += S
        assert run.group.on_appended(run.now, outcome.batch.number, error).facts == []
        assert (run.epochs_of(), run.member("a")) == written
        assert (timers.join_due("a"), timers.sync_due("a")) == (called, FOREVER)


def test_a_refused_join_changes_nothing_and_arms_nothing() -> None:
    run = upgraded()
    before = run.epochs_of(), run.member("a")
    run.is_refused = True
    assert run.classic_join("a", topics=("t", "u")) is None
    assert (run.epochs_of(), run.member("a")) == before
    assert run.consumer.core.timers.sync_due("a") == FOREVER


def test_a_sync_waits_for_the_log_though_it_writes_nothing() -> None:
    run = upgraded()
    run.classic_join("a")
    outcome = run.group.on_request(run.now, SyncGroup("a", None, 2, "range"), "a")
    assert outcome.replies == []
    assert outcome.batch is not None
    assert (outcome.batch.is_awaited, outcome.batch.records) == (True, ())
    assert run.consumer.core.timers.sync_due("a") < FOREVER
    run.take(outcome)
    assert run.consumer.core.timers.sync_due("a") == FOREVER


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (SyncGroup("x", None, 1, "range"), Error.UNKNOWN_MEMBER_ID),
        (SyncGroup("c", None, 2, "range"), Error.UNKNOWN_MEMBER_ID),
        (SyncGroup("a", "i", 1, "range"), Error.UNKNOWN_MEMBER_ID),
        (SyncGroup("a", None, 7, "range"), Error.ILLEGAL_GENERATION),
        (SyncGroup("a", None, 1, "sticky"), Error.INCONSISTENT_GROUP_PROTOCOL),
        (SyncGroup("a", None, 1, "range", protocol_type="connect"), Error.INCONSISTENT_GROUP_PROTOCOL),
        (SyncGroup("a", None, 1, "range"), Error.REBALANCE_IN_PROGRESS),
        (Heartbeat("x", None, 1), Error.UNKNOWN_MEMBER_ID),
        (Heartbeat("c", None, 2), Error.UNKNOWN_MEMBER_ID),
        (Heartbeat("a", None, 0), Error.ILLEGAL_GENERATION),
    ],
)
def test_each_request_that_is_refused_has_its_error(request_: SyncGroup | Heartbeat, error: Error) -> None:
    assert upgraded().ask("w", request_).error is error


def test_who_has_been_called_has_its_rebalance_timeout_to_join_from_the_first_call_on() -> None:
    run = upgraded()
    due = run.now + 60 * S
    for _ in range(11):
        assert run.classic_beat("a", 1) is Error.REBALANCE_IN_PROGRESS
        assert run.consumer.core.timers.join_due("a") == due
        run.sleep(5 * S)
        run.beat("c")
    run.classic_beat("a", 1)
    run.sleep(5 * S)
    assert sorted(run.consumer.roster.members) == ["c"]
    assert [one.cause for one in run.facts if isinstance(one, MemberRemoved)] == [Cause.NOT_REJOINED]


def test_who_has_joined_has_its_rebalance_timeout_to_sync() -> None:
    run = upgraded()
    run.classic_join("a")
    for _ in range(12):
        assert "a" in run.consumer.roster.members
        run.classic_beat("a", 2)
        run.sleep(5 * S)
        run.beat("c")
    assert sorted(run.consumer.roster.members) == ["c"]
    assert [one.cause for one in run.facts if isinstance(one, MemberRemoved)] == [Cause.NOT_SYNCED]


def test_its_session_is_its_own_and_not_the_groups() -> None:
    run = upgraded()
    run.sleep(10 * S)
    assert sorted(run.consumer.roster.members) == ["c"]


def test_after_a_load_everybody_has_the_groups_session_timeout() -> None:
    run = upgraded()
    run.move()
    assert {run.consumer.session_due(one) for one in "ac"} == {run.now + 45 * S}


def test_a_member_without_an_id_is_given_one_first() -> None:
    run = upgraded()
    answer = run.classic_join("d", is_new=True, knows_member_id_required=True)
    assert (answer.error, answer.member_id, answer.generation) == (Error.MEMBER_ID_REQUIRED, "d", -1)
    assert "d" not in run.consumer.roster.members
    assert run.classic_join("d").error is Error.NONE


def test_a_joiner_needs_an_assignor_that_all_classic_members_have() -> None:
    run = upgraded()
    run.strategy = "sticky"
    assert run.classic_join("d", is_new=True).error is Error.INCONSISTENT_GROUP_PROTOCOL
    run.classic_leave("a")
    assert run.classic_join("d", is_new=True).error is Error.NONE


def test_a_joiner_of_another_protocol_type_is_refused() -> None:
    answer = upgraded().classic_join("d", is_new=True, protocol_type="connect")
    assert answer.error is Error.INCONSISTENT_GROUP_PROTOCOL


def test_a_full_group_refuses_a_joiner_and_lets_members_rejoin() -> None:
    run = upgraded(consumer_max_size=2)
    assert run.classic_join("d", is_new=True).error is Error.GROUP_MAX_SIZE_REACHED
    assert run.classic_join("a").error is Error.NONE


@pytest.mark.parametrize(("version", "error"), [("4.2", Error.NONE), ("4.3", Error.INCONSISTENT_GROUP_PROTOCOL)])
def test_since_4_3_nobody_joins_by_the_classic_protocol_where_migration_is_disabled(version: str, error: Error) -> None:
    """KAFKA-20640."""
    run = upgraded(version)
    run.reconfigure(consumer_migration_policy="disabled")
    assert run.classic_join("d", is_new=True).error is error
    assert run.classic_join("a").error is error


@pytest.mark.parametrize(("version", "error"), [("4.2", Error.REBALANCE_IN_PROGRESS), ("4.3", Error.NONE)])
def test_since_4_3_members_are_not_called_before_there_is_a_target(version: str, error: Error) -> None:
    """KAFKA-20272: the epoch is bumped by a leave, and nobody has computed since."""
    run = upgraded(version)
    run.classic_join("a")
    epoch = run.member("a").member_epoch
    run.sync("a", epoch)
    run.consumer_join("d")
    run.classic_join("a")
    epoch = run.member("a").member_epoch
    run.consumer_leave("d")
    assert run.epochs_of()[0] == run.epochs_of()[1] + 1
    assert run.classic_beat("a", epoch) is error
    assert run.sync("a", epoch).error is error


def test_a_rejoin_with_the_same_subscription_writes_no_member() -> None:
    run = upgraded()
    run.classic_join("a", 0, 1)
    run.classic_join("a", 0, 1)
    assert run.written() == []
    run.classic_join("a")
    assert run.written() == ["MemberMetadata"]


def test_another_subscription_bumps_the_epoch() -> None:
    run = upgraded()
    epoch = run.epochs_of()[0]
    run.classic_join("a", topics=("t", "u"))
    assert run.epochs_of()[0] == epoch + 1


def test_a_classic_member_that_must_revoke_has_no_rebalance_timer() -> None:
    run = upgraded()
    run.classic_join("a", 0, 1, 2, 3)
    assert run.member("a").state is MemberState.UNREVOKED_PARTITIONS
    assert run.consumer.rebalance_due("a") == FOREVER


def test_a_static_classic_member_is_fenced_by_who_comes_with_its_instance_id() -> None:
    run = upgraded()
    run.classic_join("d", is_new=True, instance_id="i")
    epoch = run.epochs_of()[0]
    run.classic_join("e", is_new=True, instance_id="i")
    assert run.epochs_of()[0] == epoch
    assert run.classic_join("d", instance_id="i").error is Error.FENCED_INSTANCE_ID
    assert run.classic_join("e", instance_id="j").error is Error.UNKNOWN_MEMBER_ID
    assert run.ask("d", Heartbeat("d", "i", epoch)).error is Error.FENCED_INSTANCE_ID


def test_leavers_may_be_named_by_instance_and_of_either_protocol() -> None:
    run = upgraded()
    run.consumer_join("d", instance_id="i")
    epoch = run.epochs_of()[0]
    who = (
        MemberIdentity("", "i"), MemberIdentity("c", None), MemberIdentity("x", None), MemberIdentity("", "j"),
        MemberIdentity("c", "i"),
    )  # fmt: skip
    run.reconfigure(consumer_migration_policy="disabled")
    answer = run.ask("w", LeaveGroup(who))
    assert answer.members == (
        Error.NONE, Error.NONE, Error.UNKNOWN_MEMBER_ID, Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID
    )  # fmt: skip
    assert sorted(run.consumer.roster.members) == ["a"]
    assert run.epochs_of()[0] == epoch + 1
