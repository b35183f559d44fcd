"""From an assignment to its acknowledgement (AbstractMembershipManager.maybeReconcile, Kafka 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.config import ClientBehaviour
from groupsim.sim.protocol.consumer.member.states import MemberState
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import MS
from tests.unit.sim.protocol.consumer_members import ConsumerHarness


def rarely_committing(**config: int) -> ConsumerHarness:
    """A member with auto-commit whose periodic commits stay out of the way."""
    return ConsumerHarness(auto_commit_interval_us=3_600_000 * MS, **config)


def told_in_each_pass(h: ConsumerHarness, passes: int) -> list[list[str]]:
    """What the application is told in each of some passes."""
    pages = []
    for _ in range(passes):
        h.told.clear()
        h.pass_by()
        pages.append(list(h.told))
    return pages


def test_with_auto_commit_each_step_takes_a_pass() -> None:
    """Commit, onPartitionsRevoked, onPartitionsAssigned, and with it the acknowledgement."""
    h = rarely_committing().stable().sleep(2_000).sleep(3_000).beaten(2, 1, 2)
    (begun,) = told_in_each_pass(h, 1)
    assert begun == ["commit [0, 1] 2", "drop [0]"]
    h.committed()
    assert told_in_each_pass(h, 2) == [["revoked [0]"], ["adopt [1, 2] [2]", "assigned [2]"]]
    assert h.acknowledged == [1, 2]


def test_what_is_given_up_is_not_read_while_the_commit_is_under_way() -> None:
    """markPendingRevocationToPauseFetching comes before the commit (4.0)."""
    h = rarely_committing().stable().sleep(5_000).beaten(2, 1).pass_by()
    assert h.told == ["commit [0, 1] 2", "drop [0]"]
    assert told_in_each_pass(h, 3) == [[], [], []]
    assert h.member.owned.tolist() == [0, 1]


def test_additions_without_auto_commit_begin_in_the_background() -> None:
    """AbstractMembershipManager.poll: maybeReconcile(false); the assignment itself is taken over inside poll (4.3)."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(2, 0, 1, 2)
    assert h.member.reconciliation.running is not None
    assert told_in_each_pass(h, 1) == [["adopt [0, 1, 2] [2]", "assigned [2]"]]
    assert h.acknowledged == [0, 1, 2]


def test_a_revocation_without_auto_commit_begins_inside_poll() -> None:
    """4.3: only positions that the application has seen are safe."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(2, 1)
    assert h.member.reconciliation.running is None
    assert told_in_each_pass(h, 3) == [["drop [0]"], ["revoked [0]"], ["adopt [1] []", "assigned []"]]


def test_before_4_3_a_revocation_without_auto_commit_began_in_the_background() -> None:
    """4.0: only auto-commit waited for poll."""
    behaviour = ClientBehaviour(revokes_in_poll=False)
    h = ConsumerHarness(commits="none", behaviour=behaviour).stable().sleep(5_000).beaten(2, 1)
    assert h.told == ["drop [0]"]
    assert told_in_each_pass(h, 2) == [["revoked [0]"], ["adopt [1] []", "assigned []"]]


def test_before_4_2_positions_were_asked_for_when_the_listeners_of_a_pass_had_run() -> None:
    """``updateAssignmentMetadataIfNeeded``, after ``processBackgroundEvents`` (4.0, 4.1); since, with the next pass."""
    for asks_first in (True, False):
        behaviour = ClientBehaviour(positions_before_listeners=asks_first)
        h = ConsumerHarness(commits="none", behaviour=behaviour).stable().sleep(5_000).beaten(2, 0, 1, 2)
        assert told_in_each_pass(h, 1) == [["adopt [0, 1, 2] [2]", "assigned [2]"]]
        assert h.member.ownership.is_fetching == (not asks_first)
        h.pass_by()
        assert h.member.ownership.is_fetching


def test_one_at_a_time_and_the_newer_target_follows() -> None:
    """reconciliationInProgress; it is looked at when the acknowledgement is out."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(2, 1, 2).pass_by()
    h.sleep(5_000).beaten(3, 2)
    assert h.told == ["drop [0]"]
    assert told_in_each_pass(h, 2) == [["revoked [0]"], ["adopt [1, 2] [2]", "assigned [2]"]]
    assert h.acknowledged == [1, 2]
    assert h.member.state is MemberState.RECONCILING
    assert told_in_each_pass(h, 3) == [["drop [1]"], ["revoked [1]"], ["adopt [2] []", "assigned []"]]


@pytest.mark.parametrize("error", [Error.STALE_MEMBER_EPOCH, Error.COORDINATOR_LOAD_IN_PROGRESS])
def test_the_commit_before_it_is_repeated_with_the_epoch_of_then(error: Error) -> None:
    """autoCommitSyncBeforeRebalanceWithRetries, after a backoff."""
    h = rarely_committing().stable().sleep(5_000).beaten(2, 1).pass_by().committed(error)
    h.told.clear()
    h.sleep(99)
    assert h.told == []
    h.sleep(1)
    assert h.told == ["commit [0, 1] 2"]
    h.committed()
    assert told_in_each_pass(h, 1) == [["revoked [0]"]]


@pytest.mark.parametrize("error", [Error.UNKNOWN_MEMBER_ID, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.FENCED_INSTANCE_ID])
def test_what_cannot_succeed_is_not_repeated_and_holds_nothing_up(error: Error) -> None:
    """The revocation proceeds."""
    h = rarely_committing().stable().sleep(5_000).beaten(2, 1).pass_by().committed(error)
    assert told_in_each_pass(h, 1) == [["revoked [0]"]]


def test_the_commit_before_it_is_given_up_after_the_rebalance_timeout() -> None:
    """getDeadlineMsForTimeout(rebalanceTimeoutMs)."""
    h = rarely_committing(max_poll_interval_us=1_000 * MS).stable().sleep(5_000).beaten(2, 1).pass_by()
    h.committed(Error.COORDINATOR_LOAD_IN_PROGRESS).sleep(100).committed(Error.COORDINATOR_LOAD_IN_PROGRESS)
    assert told_in_each_pass(h, 1) == [[]]
    h.sleep(1_000).committed(Error.COORDINATOR_LOAD_IN_PROGRESS)
    assert told_in_each_pass(h, 1) == [["revoked [0]"]]


def test_fenced_during_the_commit_it_ends_there() -> None:
    """maybeAbortReconciliation: after the present step; the partitions are lost, all of them."""
    h = rarely_committing().stable().sleep(5_000).beaten(2, 1).pass_by()
    h.sleep(5_000).beaten(error=Error.UNKNOWN_MEMBER_ID)
    h.told.clear()
    h.pass_by()
    assert h.told == ["forget [0, 1]", "lost [0, 1]"]
    h.committed(Error.UNKNOWN_MEMBER_ID)
    assert h.member.reconciliation.running is None
    assert told_in_each_pass(h, 2) == [[], []]


def test_after_joining_anew_the_old_one_is_not_taken_for_the_new_one() -> None:
    """rejoinedWhileReconciliationInProgress: the member may be RECONCILING again."""
    h = rarely_committing().stable().sleep(5_000).beaten(2, 1).pass_by()
    h.sleep(5_000).beaten(error=Error.UNKNOWN_MEMBER_ID).pass_by()
    h.beaten(4, 3)
    h.told.clear()
    h.committed(Error.UNKNOWN_MEMBER_ID)
    assert told_in_each_pass(h, 2) == [[], ["adopt [3] [3]", "assigned [3]"]]


def test_new_partitions_ask_for_positions_in_the_pass_after() -> None:
    """enablePartitionsAwaitingCallback, then the next AsyncPollEvent."""
    h = ConsumerHarness(commits="none").joining().beaten(1, 0, 1).pass_by()
    assert h.member.uninitialised.tolist() == [0, 1]
    h.beaten(1)
    assert h.in_flight == []
    h.pass_by()
    (fetch,) = h.in_flight
    assert (fetch.member_id, fetch.member_epoch) == ("id", 1)


@pytest.mark.parametrize("error", [Error.STALE_MEMBER_EPOCH, Error.COORDINATOR_LOAD_IN_PROGRESS])
def test_positions_are_asked_for_again_without_a_poll(error: Error) -> None:
    """CommitRequestManager.fetchOffsets retries by itself, with the epoch of then."""
    h = ConsumerHarness(commits="none").joining().beaten(1, 0, 1).pass_by().beaten(1).pass_by().fetched(error)
    assert h.in_flight == []
    h.sleep(100)
    (fetch,) = h.in_flight
    assert fetch.positions.tolist() == [0, 1]


def test_the_application_that_commits_in_its_listener_commits_what_it_has_read() -> None:
    """commitSync in onPartitionsRevoked; reading has ended before, so the positions are the same."""
    h = ConsumerHarness(commits="none", on_revoked=True).stable().sleep(5_000).beaten(2, 1).pass_by()
    assert h.told == ["commit [0] 2", "drop [0]"]


def test_a_periodic_commit_that_is_due_follows_in_the_next_pass() -> None:
    """updateTimerAndMaybeCommit knows nothing of the reconciliation, but that a commit is under way."""
    h = ConsumerHarness().stable().sleep(5_000).beaten(2, 1).pass_by()
    assert h.told == ["commit [0, 1] 2", "drop [0]"]
    assert told_in_each_pass(h.committed(), 1) == [["commit [0, 1] 2", "revoked [0]"]]


def test_auto_commits_begin_anew_with_an_assignment() -> None:
    """signalReconciliationCompleting: resetAutoCommitTimer."""
    h = ConsumerHarness(auto_commit_interval_us=6_000 * MS).stable()
    h.sleep(5_000).beaten(2, 0, 1, 2).pass_by().committed().pass_by()
    h.told.clear()
    h.sleep(5_999).pass_by()
    assert h.told == []
    h.sleep(1).pass_by()
    assert h.told == ["commit [0, 1, 2] 2"]


def test_what_is_given_up_before_it_has_a_position_never_gets_one() -> None:
    """The committed offsets that were asked for come when partition 0 is on its way out: it is not read again."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(2, 0, 1, 2).pass_by()
    assert h.member.uninitialised.tolist() == [2]
    h.sleep(5_000).beaten(3, 0, 1).pass_by()
    assert h.told[-1] == "drop [2]"
    assert not h.member.uninitialised.size


def test_a_member_has_said_all_until_its_subscription_is_another_one() -> None:
    """HeartbeatState: the next heartbeat says what has changed."""
    h = ConsumerHarness(commits="none").stable()
    assert h.member.has_said_all
    h.member.subscribe(("t", "u"), None)
    assert not h.member.has_said_all
    h.sleep(5_000)
    assert h.member.has_said_all
