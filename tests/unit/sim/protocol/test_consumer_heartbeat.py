"""Heartbeats of a consumer group: who is refused, what bumps the epoch, what is answered and what is written."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.sim.config import GroupConfig
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.messages import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, ConsumerGroupHeartbeat
from groupsim.sim.protocol.consumer.states import GroupState, MemberState
from groupsim.sim.protocol.facts import (
    Cause,
    GroupEpochBumped,
    MemberAdmitted,
    MemberRemoved,
    MemberReplaced,
    MemberSeen,
    StateChanged,
    TargetComputed,
)
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import FOREVER, S
from tests.unit.sim.protocol.consumer_groups import Coordination, at

JOIN: dict[str, Any] = {"topics": ("t",), "rebalance_timeout_us": S, "owned": at()}


@pytest.mark.parametrize(
    "fields",
    [
        {"member_id": " "}, {"instance_id": ""}, {"rack": ""}, {"rebalance_timeout_us": None}, {"owned": None},
        {"owned": at(1)}, {"topics": None}, {"member_epoch": -3}, {"member_epoch": STATIC_LEAVE_EPOCH},
    ],
)  # fmt: skip
def test_requests_that_no_group_would_take(fields: dict[str, Any]) -> None:
    run = Coordination()
    request = ConsumerGroupHeartbeat(**{"member_id": "a", "member_epoch": 0, **JOIN, **fields})
    assert run.request(request).error is Error.INVALID_REQUEST
    assert (run.group.size, run.group.deadline) == (0, FOREVER)


def test_a_join_with_a_pattern_and_no_names_is_taken() -> None:
    assert Coordination().join("a", topics=None, pattern="t").error is Error.NONE


def test_only_assignors_that_the_broker_offers_can_be_named() -> None:
    run = Coordination(consumer_assignors=("range",))
    assert run.join("a", server_assignor="uniform").error is Error.UNSUPPORTED_ASSIGNOR
    assert run.join("a", server_assignor="range").error is Error.NONE


def test_what_the_first_join_writes_in_which_order() -> None:
    run = Coordination()
    run.join("a")
    assert run.written() == [
        "MemberMetadata", "Metadata", "TargetAssignmentMember", "TargetAssignmentMetadata", "CurrentMemberAssignment",
    ]  # fmt: skip
    kinds = [type(fact) for fact in run.outcome.facts]
    assert kinds[:4] == [MemberAdmitted, MemberSeen, GroupEpochBumped, TargetComputed]
    assert kinds[-1] is StateChanged


@pytest.mark.parametrize("epoch", [1, LEAVE_EPOCH])
def test_a_group_that_does_not_exist(epoch: int) -> None:
    assert Coordination().beat("a", epoch).error is Error.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [1, LEAVE_EPOCH])
def test_a_member_that_is_not_known(epoch: int) -> None:
    run = Coordination()
    run.join("a")
    assert run.beat("b", epoch).error is Error.UNKNOWN_MEMBER_ID


def test_an_older_epoch_is_taken_only_if_the_answer_may_have_been_lost() -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a")
    run.join("b")
    run.beat("a")
    assert run.current("a").previous_epoch == 2
    run.ack("a")
    assert (run.current("a").member_epoch, run.current("a").previous_epoch) == (3, 2)
    assert run.beat("a", 1, owned=run.owned("a")).error is Error.FENCED_MEMBER_EPOCH
    assert run.beat("a", 2).error is Error.FENCED_MEMBER_EPOCH, "without what it owns"
    assert run.beat("a", 2, owned=(0, 1, 2, 3)).error is Error.FENCED_MEMBER_EPOCH, "more than it may own"
    assert run.beat("a", 2, owned=run.owned("a")).error is Error.NONE
    assert run.beat("a", 4).error is Error.FENCED_MEMBER_EPOCH


def test_who_has_left_for_a_while_cannot_go_on_as_if_its_last_answer_had_been_lost() -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a", instance_id="i")
    run.see(t=5)
    run.beat("a", instance_id="i")
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    previous = run.current("a").previous_epoch
    assert previous == 2
    assert run.beat("a", previous, owned=(0,), instance_id="i").error is Error.FENCED_MEMBER_EPOCH


def test_a_known_member_that_joins_again_keeps_what_it_has() -> None:
    run = Coordination()
    run.join("a")
    before = run.current("a")
    answer = run.join("a")
    assert (answer.member_epoch, answer.assignment.tolist()) == (before.member_epoch, [0, 1, 2, 3])
    assert run.current("a") is before


def test_the_assignment_is_told_to_who_asks_everything_or_has_another_one() -> None:
    run = Coordination()
    run.join("a")
    full = {"rebalance_timeout_us": S, "owned": (0, 1, 2, 3)}
    assert run.beat("a").assignment is None
    assert run.beat("a", **full).assignment is None
    assert run.beat("a", topics=("t",), rebalance_timeout_us=S).assignment is None
    assert run.beat("a", topics=("t",), **full).assignment.tolist() == [0, 1, 2, 3]


def test_a_quiet_heartbeat_writes_nothing_and_is_answered_at_once() -> None:
    run = Coordination()
    run.join("a")
    answer = run.beat("a")
    assert (run.outcome.batch, run.outcome.facts) == (None, [])
    assert (answer.member_epoch, answer.heartbeat_interval_us) == (2, 5 * S)


@pytest.mark.parametrize(
    ("change", "bumps"),
    [
        ({"topics": ("t", "u")}, True), ({"topics": ("t",)}, False), ({"rack": "r"}, False),
        ({"rebalance_timeout_us": 2 * S}, False), ({"server_assignor": "uniform"}, False),
        ({"server_assignor": "range"}, True), ({"pattern": "u"}, False), ({"pattern": ""}, False),
    ],
)  # fmt: skip
def test_what_bumps_the_group_epoch(change: dict[str, Any], bumps: bool) -> None:
    run = Coordination(image={"t": 2, "u": 2})
    run.join("a")
    run.beat("a", **change)
    assert run.epochs[0] == 2 + bumps
    assert any(isinstance(fact, GroupEpochBumped) for fact in run.outcome.facts) == bumps


def test_what_is_given_up_at_last_is_in_order_with_what_was_given_up_before() -> None:
    """``updateCurrentAssignment``: it subscribes to nothing any more while it still gives up the upper half."""
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a")
    run.join("b")
    run.beat("a")
    assert (run.owned("a"), run.current("a").pending.tolist()) == ([0, 1], [2, 3])
    run.beat("a", topics=("none",))
    assert (run.owned("a"), run.current("a").pending.tolist()) == ([], [0, 1, 2, 3])


def test_a_full_group_takes_nobody_else() -> None:
    run = Coordination(consumer_max_size=1)
    run.join("a", instance_id="i")
    assert run.join("b").error is Error.GROUP_MAX_SIZE_REACHED
    assert run.beat("b", 3).error is Error.GROUP_MAX_SIZE_REACHED
    assert run.beat("a", instance_id="i").error is Error.NONE


@pytest.mark.parametrize(("version", "error"), [("4.3", Error.GROUP_MAX_SIZE_REACHED), ("4.4", Error.NONE)])
def test_a_static_member_comes_back_into_a_full_group(version: str, error: Error) -> None:
    run = Coordination(version, consumer_max_size=1)
    run.join("a", instance_id="i")
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    assert run.join("a-2", instance_id="i").error is error


# --- leaving, and time ------------------------------------------------------------------------------------------------


def test_a_leave_frees_partitions_at_once() -> None:
    run = Coordination()
    run.join("a")
    answer = run.beat("a", LEAVE_EPOCH)
    assert (answer.member_epoch, answer.heartbeat_interval_us) == (LEAVE_EPOCH, 0)
    assert run.written()[:4] == [
        "CurrentMemberAssignment", "TargetAssignmentMember", "MemberMetadata", "Metadata",
    ]  # fmt: skip
    assert (run.group.state, run.group.deadline) == (GroupState.EMPTY, FOREVER)
    assert run.group.roster.held.are_free(at(0, 1, 2, 3)).all()
    assert [fact.cause for fact in run.facts if isinstance(fact, MemberRemoved)] == [Cause.LEFT]


@pytest.mark.parametrize(("version", "assignment"), [("4.3", []), ("4.4", [0, 1, 2, 3])])
def test_the_first_member_of_an_emptied_group(version: str, assignment: list[int]) -> None:
    run = Coordination(version)
    run.join("a")
    run.beat("a", LEAVE_EPOCH)
    assert run.join("b").assignment.tolist() == assignment


def test_a_session_ends_a_member_as_if_it_had_left() -> None:
    run = Coordination()
    run.join("a")
    run.sleep(45 * S - 1)
    assert run.group.size == 1
    run.sleep(1)
    assert (run.group.size, run.epochs[0]) == (0, 3)
    assert [fact.cause for fact in run.facts if isinstance(fact, MemberRemoved)] == [Cause.EXPIRED]


def test_a_suspended_member_has_no_session_timer_until_it_is_resumed() -> None:
    run = Coordination()
    run.join("a")
    renewed = run.now
    run.group.suspend("a")
    assert run.group.deadline == FOREVER
    run.group.resume("a", renewed)
    assert run.group.deadline == run.group.session_due("a") == renewed + run.group.session_timeout_of("a")


def test_an_acknowledgement_ends_the_rebalance_timer() -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a")
    run.join("b")
    run.beat("a")
    assert run.group.rebalance_due("a") == run.now + 60 * S
    run.ack("a")
    assert run.group.rebalance_due("a") == FOREVER


# --- what is set for one group ----------------------------------------------------------------------------------------


def test_what_is_set_for_the_group_counts_within_the_brokers_bounds() -> None:
    own = GroupConfig(consumer_session_timeout_us=50 * S, consumer_heartbeat_interval_us=S)
    run = Coordination(group_config=own)
    assert run.join("a").heartbeat_interval_us == 5 * S
    assert run.group.session_due("a") == run.now + 50 * S
    run.group.on_group_config(run.now, GroupConfig(consumer_session_timeout_us=99 * S))
    run.beat("a")
    assert run.group.session_due("a") == run.now + 60 * S


def test_the_assignment_interval_of_one_group() -> None:
    run = Coordination(group_config=GroupConfig(consumer_assignment_interval_us=0))
    run.join("a")
    run.join("b")
    assert run.epochs == (3, 3)


@pytest.mark.parametrize(("version", "epochs"), [("4.2", (2, 2)), ("4.3", (3, 2))])
def test_before_4_3_there_is_no_interval(version: str, epochs: tuple[int, int]) -> None:
    run = Coordination(version)
    run.join("a")
    run.join("b")
    assert run.epochs == epochs


# --- static members ---------------------------------------------------------------------------------------------------


def test_a_static_member_comes_back_with_everything_and_bumps_nothing() -> None:
    run = Coordination()
    run.join("a", instance_id="i", name="m")
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    answer = run.join("a-2", instance_id="i", name="m")
    assert (answer.member_epoch, answer.assignment.tolist()) == (2, [0, 1, 2, 3])
    assert run.epochs == (2, 2)
    assert list(run.group.roster.members) == ["a-2"]
    assert MemberReplaced("a", "m", "a-2") in run.outcome.facts
    assert run.outcome.batch is not None
    run.group.on_appended(run.now, run.outcome.batch.number, Error.NONE)
    assert (run.group.session_due("a"), run.group.session_due("a-2")) == (FOREVER, run.now + 45 * S)


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_static_member_that_is_away_has_no_revocation_to_acknowledge_unless_the_log_refuses_it(
    is_refused: bool,
) -> None:
    """``GMM.consumerGroupStaticMemberGroupLeave`` leaves timers alone; that of another epoch comes to nothing."""
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a", instance_id="i", rebalance_timeout_us=20 * S)
    run.join("b")
    run.beat("a", instance_id="i")
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    if is_refused:
        run.fail_append()
    run.sleep(20 * S)
    assert list(run.group.roster.members) == (["b"] if is_refused else ["a", "b"])


def test_another_subscription_of_a_returning_static_member_bumps() -> None:
    run = Coordination(image={"t": 2, "u": 2}, consumer_assignment_interval_us=0)
    run.join("a", instance_id="i")
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    run.join("a-2", instance_id="i", topics=("u",))
    assert (run.epochs, run.owned("a-2")) == ((3, 3), [100, 101])


def test_who_was_replaced_is_fenced() -> None:
    run = Coordination()
    run.join("a", instance_id="i")
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    run.join("a-2", instance_id="i")
    assert run.beat("a", 2, instance_id="i").error is Error.FENCED_INSTANCE_ID
    assert run.beat("a", LEAVE_EPOCH, instance_id="i").error is Error.FENCED_INSTANCE_ID
    assert run.beat("b", 2, instance_id="j").error is Error.UNKNOWN_MEMBER_ID


def test_a_replacement_that_the_log_refuses_leaves_the_old_member_and_its_timer() -> None:
    """``GMM.replaceMember`` cancels no timer, in case the change is reverted."""
    run = Coordination()
    run.join("a", instance_id="i")
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    run.now += 5 * S
    due = run.group.session_due("a")
    run.join("a-2", instance_id="i")
    run.fail_append()
    assert (list(run.group.roster.members), run.group.session_due("a")) == (["a"], due)
    run.sleep(40 * S)
    assert run.group.size == 0


def test_a_replacement_that_is_refused_leaves_the_old_member_and_its_timer() -> None:
    run = Coordination()
    run.join("a", instance_id="i")
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    due = run.group.session_due("a")
    assert run.join("a-2", instance_id="i", pattern="(").error is Error.INVALID_REGULAR_EXPRESSION
    assert list(run.group.roster.members) == ["a"]
    assert run.group.session_due("a") == due


def test_a_machine_says_what_it_is() -> None:
    run = Coordination()
    assert run.group.describe().error is Error.GROUP_ID_NOT_FOUND
    run.join("a", name="m")
    told = run.group.describe()
    assert (told.state, told.generation, told.members[0].assignment.tolist()) == ("Stable", 2, [0, 1, 2, 3])
    assert (run.group.is_stable, run.group.leader, run.group.generation) == (True, None, 2)
    assert isinstance(run.group, ConsumerGroup)
    assert run.current("a").state is MemberState.STABLE


def test_reports_of_an_epoch_compute_no_target() -> None:
    """They came before the work that waits now (members that nobody looks at)."""
    group = Coordination()
    group.join("a")
    group.settle("a")
    group.join("b")
    group.join("c")
    waiting = group.epochs
    assert waiting[0] > waiting[1]
    group.sleep(5 * S)
    group.take(group.group.advance(group.now, ["a"]))
    assert group.epochs == waiting
    group.beat("a")
    assert group.epochs == (waiting[0], waiting[0])
