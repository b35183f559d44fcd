"""What the log keeps of a consumer group, what a failed append undoes, and who may commit and fetch offsets."""

from __future__ import annotations

import numpy as np
import pytest

from groupsim.sim.protocol.consumer.messages import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from groupsim.sim.protocol.consumer.records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    CurrentAssignment,
    MemberMetadata,
)
from groupsim.sim.protocol.consumer.states import GroupState, MemberState
from groupsim.sim.protocol.facts import MemberReconciled, StateChanged
from groupsim.sim.protocol.messages import Error, OffsetFetch, Subscription
from groupsim.sim.units import FOREVER, MS, S
from tests.unit.sim.protocol.consumer_groups import Coordination, at


def moving() -> Coordination:
    """Member a has been asked to revoke what b waits for."""
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a")
    run.join("b")
    run.beat("a")
    return run


# --- appends that fail ------------------------------------------------------------------------------------------------


def test_a_first_join_that_cannot_be_appended_leaves_no_group() -> None:
    run = Coordination()
    run.join("a")
    run.fail_append()
    assert run.group.describe().error is Error.GROUP_ID_NOT_FOUND
    assert (run.epochs, run.group.deadline) == ((1, 1), FOREVER)
    assert run.beat("a", 2).error is Error.GROUP_ID_NOT_FOUND


def test_a_reconciliation_that_cannot_be_appended_is_undone_and_told() -> None:
    run = moving()
    outcome = run.fail_append()
    assert run.owned("a") == [0, 1, 2, 3]
    assert [fact.assigned.tolist() for fact in outcome.facts if isinstance(fact, MemberReconciled)] == [[0, 1, 2, 3]]
    assert not run.group.roster.held.are_free(at(0, 1, 2, 3)).any()


def test_what_was_built_upon_a_failed_batch_is_undone_with_it() -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a")
    first = run.records[-1].number
    run.join("b")
    run.beat("a")
    run.fail_append(first)
    assert (run.group.size, run.epochs) == (0, (1, 1))
    assert run.group.roster.held.are_free(at(0, 1, 2, 3)).all()


def test_a_batch_that_is_not_committed_in_time_is_not_undone() -> None:
    """Only who waits for it is told; the log has it, and may commit it one day."""
    run = moving()
    outcome = run.group.on_appended(run.now, run.records[-1].number, Error.REQUEST_TIMED_OUT)
    assert (outcome.facts, run.owned("a")) == ([], [0, 1])


def test_a_batch_that_the_log_has_cannot_be_undone_any_more() -> None:
    run = moving()
    number = run.records[-1].number
    run.group.on_appended(run.now, number, Error.NONE)
    assert run.group.on_appended(run.now, number, Error.NOT_ENOUGH_REPLICAS).facts == []
    assert run.owned("a") == [0, 1]


def test_a_bump_that_was_undone_is_noticed_by_the_next_heartbeat() -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a")
    run.see(t=6)
    run.beat("a")
    run.fail_append()
    assert run.epochs == (2, 2)
    run.beat("a", 2)
    assert (run.epochs, len(run.owned("a"))) == ((3, 3), 6)


def test_an_expiry_that_cannot_be_appended_is_tried_again() -> None:
    run = Coordination()
    run.join("a")
    run.sleep(45 * S)
    outcome = run.fail_append()
    assert [fact.state for fact in outcome.facts if isinstance(fact, StateChanged)] == [GroupState.STABLE]
    assert run.group.session_due("a") == run.now + 500 * MS
    run.sleep(500 * MS)
    assert run.group.size == 0


def test_timers_are_not_undone() -> None:
    run = Coordination()
    run.join("a")
    run.beat("a", LEAVE_EPOCH)
    run.fail_append()
    assert (run.group.size, run.group.session_due("a")) == (1, FOREVER)


def test_targets_are_written_of_those_only_whose_target_is_another_one_and_of_newcomers() -> None:
    run = Coordination(consumer_assignment_interval_us=0, image={"t": 2})
    for member_id in ("a", "b", "c"):
        run.join(member_id)
    assert run.outcome.batch is not None
    written = [one for one in run.outcome.batch.records if isinstance(one, ConsumerGroupTargetAssignmentMember)]
    assert [(one.member_id, one.value.tolist()) for one in written if one.value is not None] == [("c", [])]


# --- loading ----------------------------------------------------------------------------------------------------------


def test_a_new_coordinator_knows_targets_and_assignments_and_restarts_timers() -> None:
    run = moving()
    run.now += 7 * S
    old = run.group
    run.move()
    assert (old.state, old.deadline) == (GroupState.DEAD, FOREVER)
    assert (run.owned("a"), run.current("a").pending.tolist(), run.target("b")) == ([0, 1], [2, 3], [2, 3])
    assert run.group.session_due("b") == run.now + 45 * S
    assert run.group.rebalance_due("a") == run.now + 60 * S
    assert run.group.rebalance_due("b") == FOREVER


def test_a_new_coordinator_looks_at_metadata_with_the_first_heartbeat() -> None:
    run = Coordination()
    run.join("a")
    run.image = {"t": 5}
    run.move()
    run.beat("a")
    assert run.epochs[0] == 3


def test_tombstones_make_a_group_unknown() -> None:
    run = Coordination()
    run.join("a")
    run.beat("a", LEAVE_EPOCH)
    run.group.replay(ConsumerGroupTargetAssignmentMetadata(None))
    run.group.replay(ConsumerGroupMetadata(None))
    assert (run.epochs, run.group.describe().error) == ((1, 1), Error.GROUP_ID_NOT_FOUND)


def test_only_a_group_without_members_can_be_deleted() -> None:
    run = Coordination()
    run.join("a")
    assert run.take(run.group.delete()).batch is None
    run.beat("a", LEAVE_EPOCH)
    run.take(run.group.delete())
    assert run.group.describe().error is Error.GROUP_ID_NOT_FOUND
    assert run.rebuilt().describe().error is Error.GROUP_ID_NOT_FOUND
    assert run.take(run.group.delete()).batch is None
    run.fail_append()
    assert (run.group.roster.exists, run.epochs) == (True, (3, 3))


def test_a_tombstone_of_an_assignment_sets_the_epochs_to_those_of_who_leaves() -> None:
    """GroupMetadataManager.replay (4.3.1): until the member's or the group's own tombstone follows."""
    run = Coordination()
    run.join("a")
    run.group.replay(ConsumerGroupCurrentMemberAssignment("a", None))
    current = run.current("a")
    assert (current.member_epoch, current.previous_epoch, current.assigned.size) == (LEAVE_EPOCH, LEAVE_EPOCH, 0)
    run.group.replay(ConsumerGroupTargetAssignmentMetadata(None))
    assert run.epochs == (2, LEAVE_EPOCH)
    run.group.replay(ConsumerGroupMetadata(None))
    assert run.epochs == (1, 1), "the next group begins as a new one"


def test_an_old_assignment_takes_nothing_from_who_has_it_now() -> None:
    """A log that has lost what came between: what another member got later stays with it."""
    run = Coordination()
    for member_id, epoch in (("a", 5), ("b", 6)):
        current = CurrentAssignment(epoch, epoch, MemberState.STABLE, at(0), np.array([epoch], np.int32))
        run.group.replay(ConsumerGroupCurrentMemberAssignment(member_id, current))
    run.group.replay(ConsumerGroupCurrentMemberAssignment("a", None))
    assert not run.group.roster.held.are_free(at(0)).any()


# --- offsets ----------------------------------------------------------------------------------------------------------


def test_anybody_commits_to_a_group_without_members() -> None:
    run = Coordination()
    assert run.commit("", -1, 0) is Error.NONE
    run.join("a")
    assert run.commit("", -1, 0) is Error.UNKNOWN_MEMBER_ID
    assert run.commit("b", 2, 0) is Error.UNKNOWN_MEMBER_ID


def test_a_commit_of_a_group_that_does_not_exist() -> None:
    assert Coordination().commit("a", 3, 0) is Error.GROUP_ID_NOT_FOUND
    assert Coordination().commit("a", 3, 0, knows_stale_epoch=False) is Error.ILLEGAL_GENERATION


def test_members_of_this_protocol_may_not_send_the_commits_of_older_clients() -> None:
    """ConsumerGroup.validateOffsetCommit (4.3.1): OffsetCommit v9 and up, whatever the epoch."""
    run = Coordination()
    run.join("a")
    for epoch in (1, 2, 3):
        assert run.commit("a", epoch, 0, knows_stale_epoch=False) is Error.UNSUPPORTED_VERSION
    assert run.commit("b", 2, 0, knows_stale_epoch=False) is Error.UNKNOWN_MEMBER_ID


def test_a_commit_travels_with_its_batch() -> None:
    run = Coordination()
    run.join("a")
    run.commit("a", 2, 0, 1)
    assert run.outcome.batch is not None
    assert [record.positions.tolist() for record in run.outcome.batch.records] == [[0, 1]]
    assert run.commit("a", 3, 0) is Error.STALE_MEMBER_EPOCH
    assert run.outcome.batch is None


def test_an_older_epoch_counts_for_what_was_held_since_then_all_or_nothing() -> None:
    run = moving()
    assert run.commit("a", 1, 0) is Error.STALE_MEMBER_EPOCH, "before it had it"
    run.ack("a")
    assert run.current("a").member_epoch == 3
    assert run.commit("a", 2, 0, 1) is Error.NONE
    assert run.commit("a", 2, 0, 2) is Error.STALE_MEMBER_EPOCH, "2 has been given up"
    assert run.commit("a", 4, 0) is Error.STALE_MEMBER_EPOCH


def test_what_is_pending_revocation_still_counts() -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a")
    run.see(u=1)
    run.beat("a", topics=("t", "u"))
    run.join("b")
    run.beat("a")
    pending = run.current("a").pending.tolist()
    assert (run.current("a").member_epoch, pending) == (3, [2, 3])
    assert run.commit("a", 2, *pending) is Error.NONE
    assert run.commit("a", 2, 100) is Error.STALE_MEMBER_EPOCH


def test_a_static_leave_sets_the_epochs_back() -> None:
    run = moving()
    run.ack("a")
    run.join("c", instance_id="i")
    run.beat("c", STATIC_LEAVE_EPOCH, instance_id="i")
    assert (run.current("c").assigned_epochs == 0).all()


def test_a_classic_member_is_told_another_error() -> None:
    run = Coordination()
    run.join("a")
    metadata = MemberMetadata(topics=("t",), classic=ClassicMemberMetadata(9 * S, ()))
    run.group.replay(ConsumerGroupMemberMetadata("a", metadata))
    assert run.commit("a", 9, 0) is Error.ILLEGAL_GENERATION
    assert run.commit("a", 2, 0, knows_stale_epoch=False) is Error.NONE
    assert run.group.session_timeout_of("a") == 9 * S


def test_what_a_classic_member_tells_is_the_same_if_all_of_it_is() -> None:
    one, more = ("range", Subscription(("t",))), ("sticky", Subscription(("t",)))
    told = ClassicMemberMetadata(9 * S, (one, more))
    assert told == ClassicMemberMetadata(9 * S, (("range", Subscription(("t",))), more))
    others = [
        (8 * S, (one, more)),
        (9 * S, (one,)),
        (9 * S, (more, one)),
        (9 * S, (one, ("sticky", Subscription(("u",))))),
    ]
    assert all(told != ClassicMemberMetadata(*other) for other in others)


def test_fetches_go_by_what_the_log_has() -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    everything = at(0)
    assert run.group.check_fetch(OffsetFetch(everything)) is Error.NONE
    assert run.group.check_fetch(OffsetFetch(everything, None, 0)) is Error.UNKNOWN_MEMBER_ID, "an epoch is a member's"
    run.join("a")
    assert run.group.check_fetch(OffsetFetch(everything, "a", 2)) is Error.UNKNOWN_MEMBER_ID, "not committed yet"
    run.group.on_appended(run.now, run.records[-1].number, Error.NONE)
    assert run.group.check_fetch(OffsetFetch(everything, "a", 2)) is Error.NONE
    assert run.group.check_fetch(OffsetFetch(everything, "a", 1)) is Error.STALE_MEMBER_EPOCH
    run.see(t=5)
    run.beat("a")
    assert run.group.check_fetch(OffsetFetch(everything, "a", 2)) is Error.NONE, "the new epoch is not committed"
    run.group.on_appended(run.now, run.records[-1].number, Error.NONE)
    assert run.group.check_fetch(OffsetFetch(everything, "a", 2)) is Error.STALE_MEMBER_EPOCH


@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2", "4.3", "4.4"])
def test_two_members_settle_under_the_rules_of_every_version(version: str) -> None:
    run = Coordination(version)
    run.join("a")
    run.join("b")
    run.settle("a", "b")
    assert run.group.is_stable
    assert sorted(run.owned("a") + run.owned("b")) == [0, 1, 2, 3]
