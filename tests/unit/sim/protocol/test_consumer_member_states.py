"""Each state of a member of the consumer protocol, what brings it in, and what follows (MemberState, Kafka 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.consumer.member.states import MemberState
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import MS, S
from tests.unit.sim.protocol.consumer_members import ConsumerHarness, positions


def test_unsubscribed_until_the_first_poll() -> None:
    """AbstractMembershipManager.onConsumerPoll: subscribe() alone joins nothing."""
    h = ConsumerHarness().sleep(0).found().sleep(10_000)
    assert h.member.state is MemberState.UNSUBSCRIBED
    assert h.beats == []
    assert h.pass_by().member.state is MemberState.JOINING
    assert h.beat.member_epoch == 0


def test_stable_with_positions_gains_nothing_by_a_poll() -> None:
    h = ConsumerHarness().joining()
    h.beaten(1, 0, 1).pass_by(2).beaten(1)
    assert h.member.needs_application, "for positions"
    h.pass_by().fetched()
    assert not h.member.needs_application


def test_assigned_by_hand_commits_an_interval_later() -> None:
    """KafkaConsumer.assign: commits by the clock need no membership."""
    h = ConsumerHarness().sleep(1_000).found()
    h.member.assign(h.now * MS, positions(3))
    assert h.member.next_commit_us == 6 * S


@pytest.mark.parametrize(("at_us", "left_us"), [(5 * S - 1, 1), (5 * S, 5 * S), (5 * S + 1, 5 * S - 1)])
def test_without_partitions_passes_restart_the_commit_timer_when_it_is_due(at_us: int, left_us: int) -> None:
    """CommitRequestManager.maybeAutoCommitAsync: passes were at 5.4 s and every 200 ms before."""
    ownership = ConsumerHarness().member.ownership
    ownership.restart_commits(0)
    assert ownership.until_commit_us(at_us, 5 * S + 400 * MS, 200 * MS) == left_us


def test_joining_waits_for_the_coordinator_and_not_for_another_poll() -> None:
    """AbstractHeartbeatRequestManager.poll: without a coordinator nothing is sent."""
    h = ConsumerHarness().pass_by().sleep(0)
    assert h.beats == []
    assert h.found().beat.member_epoch == 0


def test_an_empty_first_assignment_is_reconciled_and_acknowledged() -> None:
    """LocalAssignment: no assignment yet is not the same as an empty one."""
    h = ConsumerHarness().joining().beaten(2, empty=True)
    assert h.member.state is MemberState.RECONCILING
    h.pass_by(2)
    assert h.told == ["adopt [] []", "assigned []"]
    assert h.acknowledged == []
    assert h.member.state is MemberState.STABLE


def test_an_answer_without_assignment_leaves_joining_as_it_is() -> None:
    """ConsumerMembershipManager.onHeartbeatSuccess."""
    assert ConsumerHarness().joining().beaten(2).member.state is MemberState.JOINING


def test_acknowledging_ends_as_the_heartbeat_is_built() -> None:
    """AbstractMembershipManager.onHeartbeatRequestGenerated."""
    h = ConsumerHarness().joining().beaten(2, 0, 1).pass_by(2)
    assert h.acknowledged == [0, 1]
    assert h.member.state is MemberState.STABLE


def test_acknowledging_with_a_newer_assignment_waiting_goes_on_to_reconciling() -> None:
    """The same: the target has moved on during the reconciliation."""
    h = ConsumerHarness(commits="none").stable()
    h.sleep(5_000).beaten(2, 0, 1, 2)
    h.slow_listener = True
    h.pass_by()
    h.sleep(5_000).beaten(3, 0, 1, 2, 3)
    h.listened()
    assert h.acknowledged == [0, 1, 2]
    assert h.member.state is MemberState.RECONCILING


def test_reconciling_goes_back_to_stable_when_the_coordinator_takes_it_back_before_it_began() -> None:
    """AbstractMembershipManager.processAssignmentReceived: the same number and partitions are nothing new."""
    h = ConsumerHarness().joining().beaten(1, 0, 1).pass_by(2).beaten(1)
    h.sleep(5_000).beaten(1, 0, 1)
    assert h.member.state is MemberState.STABLE
    assert h.beats == []


def test_an_assignment_that_comes_back_is_acknowledged_without_listeners() -> None:
    """AbstractMembershipManager.maybeReconcile: only the local number has changed."""
    h = ConsumerHarness().stable()
    h.sleep(5_000).beaten(2, 0).sleep(5_000).beaten(3, 0, 1)
    assert h.told == []
    assert h.acknowledged == [0, 1]
    assert h.member.state is MemberState.STABLE


@pytest.mark.parametrize("error", [Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID])
def test_fenced_loses_the_partitions_then_joins_with_the_same_id(error: Error) -> None:
    """AbstractMembershipManager.transitionToFenced: lost, not revoked; no commit; epoch 0; at once."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(error=error)
    assert h.member.state is MemberState.FENCED
    assert h.sleep(60_000).beats == []
    h.pass_by()
    assert h.told == ["forget [0, 1]", "lost [0, 1]"]
    assert h.member.state is MemberState.JOINING
    assert (h.beat.member_id, h.beat.member_epoch) == ("id", 0)
    assert h.member.owned.size == 0


def test_fenced_with_auto_commit_still_commits_what_it_has_lost_but_as_nobody() -> None:
    """CommitRequestManager.updateTimerAndMaybeCommit comes before the listener; without an epoch there is no id."""
    h = ConsumerHarness().stable().sleep(5_000).beaten(error=Error.UNKNOWN_MEMBER_ID).pass_by()
    assert h.told == ["commit [0, 1] -1", "forget [0, 1]", "lost [0, 1]"]


def test_fenced_without_partitions_joins_without_a_poll() -> None:
    """Nothing is called that has nothing to say (invokeOnPartitionsLostCallback)."""
    h = ConsumerHarness().joining().beaten(1, empty=True).pass_by(2).beaten(1).sleep(5_000)
    assert h.beaten(error=Error.UNKNOWN_MEMBER_ID).beat.member_epoch == 0


def test_fenced_while_preparing_to_leave_is_out_without_a_word() -> None:
    """AbstractMembershipManager.transitionToFenced, first case."""
    h = ConsumerHarness().stable().sleep(5_000)
    h.slow_listener = True
    h.do(h.member.unsubscribe(h.now))
    assert h.member.state is MemberState.PREPARE_LEAVING
    h.beaten(error=Error.UNKNOWN_MEMBER_ID)
    assert h.member.state is MemberState.UNSUBSCRIBED
    h.listened()
    assert h.beats == []
    assert h.told[-1] == "closed"


def test_prepare_leaving_keeps_beating_and_ignores_assignments() -> None:
    """MemberState.canHandleNewAssignment."""
    h = ConsumerHarness().stable()
    h.slow_listener = True
    h.do(h.member.unsubscribe(h.now))
    h.sleep(5_000).beaten(2, 0, 1, 2)
    assert h.member.state is MemberState.PREPARE_LEAVING
    h.listened()
    assert h.beat.member_epoch == -1
    assert h.member.state is MemberState.UNSUBSCRIBED


@pytest.mark.parametrize(
    ("static", "operation", "epoch"),
    [
        (False, CloseOperation.DEFAULT, -1),
        (True, CloseOperation.DEFAULT, -2),
        (True, CloseOperation.LEAVE_GROUP, -1),
        (True, CloseOperation.REMAIN_IN_GROUP, -2),
        (False, CloseOperation.LEAVE_GROUP, -1),
    ],
)
def test_leaving_says_how(static: bool, operation: CloseOperation, epoch: int) -> None:
    """KIP-1092; the application waits for the answer, whatever it is."""
    h = ConsumerHarness(static=static, commits="none").stable()
    h.do(h.member.close(h.now, operation))
    assert h.told == ["drop [0, 1]", "revoked [0, 1]"]
    assert h.beat.member_epoch == epoch
    h.beaten(error=Error.GROUP_ID_NOT_FOUND)
    assert h.told[-1] == "closed"


def test_a_dynamic_member_may_remain_in_the_group() -> None:
    """KIP-1092: nothing is sent; the session is left to run out."""
    h = ConsumerHarness(commits="none").stable()
    h.do(h.member.close(h.now, CloseOperation.REMAIN_IN_GROUP))
    assert h.beats == []
    assert h.told[-1] == "closed"


def test_leaving_is_sent_even_while_another_heartbeat_is_in_flight() -> None:
    """AbstractHeartbeatRequestManager.poll, case 1."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000)
    h.do(h.member.close(h.now))
    assert [one.member_epoch for one in h.beats] == [1, -1]


def test_leaving_without_a_coordinator_gives_up() -> None:
    """AbstractMembershipManager.onHeartbeatRequestSkipped."""
    h = ConsumerHarness(commits="none").stable()
    h.do(h.member.mark_coordinator_unknown(h.now))
    h.do(h.member.close(h.now))
    assert h.told[-1] == "closed"
    assert h.member.state is MemberState.UNSUBSCRIBED


def test_close_commits_first_and_goes_on_whatever_the_answer() -> None:
    """AsyncKafkaConsumer.close: commit, listeners, leave."""
    h = ConsumerHarness().stable()
    h.do(h.member.close(h.now))
    assert h.told == ["commit [0, 1] 1", "drop [0, 1]"]
    h.committed(Error.STALE_MEMBER_EPOCH)
    assert h.told[2:] == ["drop [0, 1]", "revoked [0, 1]"]
    assert h.beat.member_epoch == -1


def test_unsubscribe_does_not_commit_and_the_member_can_come_back() -> None:
    """AbstractMembershipManager.leaveGroup; the id stays for the life of the process."""
    h = ConsumerHarness().stable()
    h.do(h.member.unsubscribe(h.now))
    h.beaten(-1)
    assert h.told == ["drop [0, 1]", "revoked [0, 1]", "closed"]
    h.member.subscribe(("u",), None)
    assert h.pass_by().beat.topics == ("u",)
    assert h.beat.member_id == "id"


@pytest.mark.parametrize(("static", "epoch"), [(False, -1), (True, -2)])
def test_stale_leaves_and_joins_again_with_the_next_poll(static: bool, epoch: int) -> None:
    """AbstractMembershipManager.transitionToStale; nobody waits for the answer to that leave."""
    h = ConsumerHarness(static=static, commits="none").stable().sleep(4_000)
    h.do(h.member.on_poll_expired(h.now))
    assert h.beat.member_epoch == epoch
    assert h.member.state is MemberState.STALE
    assert h.sleep(60_000).beaten(epoch).told == []
    assert h.member.state is MemberState.STALE
    h.pass_by()
    assert h.told == ["forget [0, 1]", "lost [0, 1]"]
    assert h.beat.member_epoch == 0
    assert h.beat.rebalance_timeout_us is not None


@pytest.mark.parametrize(
    "error",
    [
        Error.UNRELEASED_INSTANCE_ID, Error.FENCED_INSTANCE_ID, Error.INVALID_REQUEST, Error.GROUP_MAX_SIZE_REACHED,
        Error.UNSUPPORTED_ASSIGNOR, Error.UNSUPPORTED_VERSION, Error.INVALID_REGULAR_EXPRESSION,
        Error.GROUP_ID_NOT_FOUND, Error.UNKNOWN_SERVER_ERROR,
    ],
)  # fmt: skip
def test_fatal_is_the_end(error: Error) -> None:
    """AbstractHeartbeatRequestManager.handleFatalFailure: no more heartbeats; lost; poll() raises."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(error=error)
    assert h.member.state is MemberState.FATAL
    assert h.sleep(60_000).beats == []
    h.pass_by()
    assert h.told == ["forget [0, 1]", "lost [0, 1]", f"raise {error.value}"]


def test_fatal_at_the_first_heartbeat_raises_at_the_next_poll() -> None:
    """A static member whose instance id is not released yet (KIP-848)."""
    h = ConsumerHarness(static=True).joining().beaten(error=Error.UNRELEASED_INSTANCE_ID)
    assert h.told == []
    assert h.pass_by().told == ["raise UNRELEASED_INSTANCE_ID"]
