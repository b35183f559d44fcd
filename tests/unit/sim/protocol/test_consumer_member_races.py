"""Answers that come late, and threads that overtake one another, in a client of the consumer protocol (Kafka 4.4)."""

from __future__ import annotations

import numpy as np
import pytest

from groupsim.sim.protocol.consumer.member.states import MemberState
from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from groupsim.sim.protocol.messages import Error, OffsetCommit, OffsetFetch
from groupsim.sim.units import MS, S
from tests.unit.sim.protocol.consumer_members import ConsumerHarness


def expired(h: ConsumerHarness) -> ConsumerHarness:
    """max.poll.interval.ms is over, and seen."""
    return h.do(h.member.on_poll_expired(h.now * MS))


def test_the_answer_to_a_periodic_commit_is_not_taken_for_that_of_the_one_before_a_reconciliation() -> None:
    """CommitRequestManager: only the commit that precedes the reconciliation is waited for."""
    h = ConsumerHarness().stable()
    h.sleep(5_000).pass_by().beaten(2, 0).pass_by()
    periodic, awaited = (one for one in h.in_flight if isinstance(one, OffsetCommit))
    assert (periodic.is_awaited, awaited.is_awaited) == (False, True)
    h.committed().pass_by()
    assert not any(one.startswith("revoked") for one in h.told)
    h.committed().pass_by()
    assert h.told[-1] == "revoked [1]"


@pytest.mark.parametrize("error", [Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE])
def test_a_commit_can_be_the_first_to_hear_that_the_coordinator_has_moved(error: Error) -> None:
    """CommitRequestManager.OffsetCommitRequestState.onResponse: markCoordinatorUnknown."""
    h = ConsumerHarness().stable().sleep(5_000).pass_by()
    h.committed(error)
    assert h.member.coordinator is None


def test_positions_are_asked_for_once_the_coordinator_is_known_again() -> None:
    """``CommitRequestManager.poll``: without a coordinator nothing is sent to it."""
    h = ConsumerHarness().joining().beaten(1, 0, 1).pass_by(2)
    h.beaten(1, error=Error.NOT_COORDINATOR).pass_by()
    assert not [body for body in h.in_flight if isinstance(body, OffsetFetch)]
    h.sleep(100).found().pass_by()
    assert [body.positions.tolist() for body in h.in_flight if isinstance(body, OffsetFetch)] == [[0, 1]]


def test_a_commit_that_nobody_has_looked_at_is_that_which_was_sent() -> None:
    h = ConsumerHarness(static=True).stable().sleep(5_000).pass_by()
    sent = h.take(OffsetCommit)
    again = h.member.commit_again(sent.positions, np.zeros(2, np.int64))
    assert (again.member_id, again.instance_id, again.generation) == (sent.member_id, "m", sent.generation)


def test_a_leave_says_that_nothing_is_owned() -> None:
    """AbstractMembershipManager.transitionToSendingLeaveGroup: the assignment is forgotten first."""
    h = expired(ConsumerHarness(commits="none").stable())
    assert (h.beat.member_epoch, h.acknowledged) == (-1, [])


def test_nobody_listens_to_the_answer_to_the_leave_of_a_late_poll() -> None:
    """It comes when the member has joined again: its epoch is that of a leave."""
    h = expired(ConsumerHarness(commits="none").stable())
    left = h.take(ConsumerGroupHeartbeat)
    h.pass_by(2)
    assert (h.member.state, h.beat.member_epoch) == (MemberState.JOINING, 0)
    late = ConsumerGroupHeartbeatResponse(Error.NONE, "id", -1, 5_000 * MS, None)
    h.do(h.member.on_response(h.now * MS, left, late))
    assert (h.member.state, h.member.membership.epoch) == (MemberState.JOINING, 0)
    assert h.member.timer.in_flight, "the join is not answered yet"


def test_an_answer_that_comes_when_the_member_has_given_up_changes_neither_epoch_nor_state() -> None:
    """AbstractMembershipManager.isNotInGroup: what was asked before does not count."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000)
    before = h.take(ConsumerGroupHeartbeat)
    expired(h)
    for error in (Error.NONE, Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH, Error.GROUP_MAX_SIZE_REACHED):
        late = ConsumerGroupHeartbeatResponse(error, "id", 7, 5_000 * MS, None)
        h.do(h.member.on_response(h.now * MS, before, late))
        assert (h.member.state, h.member.membership.epoch) == (MemberState.STALE, -1), error


def test_close_without_a_coordinator_waits_for_no_commit() -> None:
    """AsyncKafkaConsumer.close: there is nobody to commit to, nor to leave."""
    h = ConsumerHarness().stable()
    h.do(h.member.mark_coordinator_unknown(h.now * MS))
    h.do(h.member.close(h.now * MS))
    assert h.told == ["drop [0, 1]", "revoked [0, 1]", "closed"]


def test_close_while_the_loss_is_still_to_be_told_ends_outside_the_group() -> None:
    """AbstractMembershipManager.leaveGroup: a fenced member says nothing."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(error=Error.UNKNOWN_MEMBER_ID)
    assert h.member.state is MemberState.FENCED
    h.do(h.member.close(h.now * MS))
    assert (h.member.state, h.beats, h.told[-1]) == (MemberState.UNSUBSCRIBED, [], "closed")


def test_unsubscribe_before_the_first_poll_takes_subscribe_back() -> None:
    """AsyncKafkaConsumer.unsubscribe: the next poll joins nothing."""
    h = ConsumerHarness().sleep(0).found()
    h.do(h.member.unsubscribe(h.now * MS)).pass_by(3)
    assert (h.member.state, h.beats) == (MemberState.UNSUBSCRIBED, [])


def test_who_has_failed_is_no_member() -> None:
    """CommitRequestManager.onMemberEpochUpdated: whatever it still commits, it commits as nobody."""
    h = ConsumerHarness().stable(epoch=3).sleep(5_000).beaten(error=Error.GROUP_MAX_SIZE_REACHED)
    assert (h.member.state, h.member.generation) == (MemberState.FATAL, -1)


def test_positions_are_not_asked_for_again_by_who_is_no_member_any_more() -> None:
    """CommitRequestManager.OffsetFetchRequestState: STALE_MEMBER_EPOCH is repeated while there is a valid epoch."""
    h = ConsumerHarness(commits="none").joining().beaten(1, 0, 1).pass_by(2).beaten(1).pass_by()
    h.sleep(5_000).beaten(error=Error.UNKNOWN_MEMBER_ID)
    h.fetched(Error.STALE_MEMBER_EPOCH)
    assert h.member.ownership.fetch_retry_at == 0


def test_a_late_poll_is_noticed_by_who_polled_after_its_last_heartbeat() -> None:
    """ConsumerNetworkThread: a poll wakes it, and its sleep of five seconds begins anew with it."""
    h = ConsumerHarness(commits="none", max_poll_interval_us=8_000 * MS)
    h.interval_ms = 15_000
    h.stable()
    woken = h.member.timer.woken_us
    assert h.member.max_poll_noticed_at(woken + 8 * S) == woken + 10 * S
    assert h.member.max_poll_noticed_at(woken + 11 * S) == woken + 3 * S + 10 * S
