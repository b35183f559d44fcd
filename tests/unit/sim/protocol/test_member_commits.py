"""Offset commits of the client: when they are sent, and what their answers do (ConsumerCoordinator, 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.classic.member import MemberState
from groupsim.sim.protocol.messages import Api, Error
from groupsim.sim.units import MS
from tests.unit.sim.protocol.members import MemberHarness


def test_auto_commit_goes_with_the_first_poll_after_its_interval() -> None:
    """maybeAutoCommitOffsetsAsync: counted from onJoinComplete, then from each firing."""
    h = MemberHarness(auto_commit_interval_us=2_000 * MS).stable()
    h.sleep(1_999).poll()
    assert h.sent == []
    h.sleep(1).poll()
    assert h.sent == [Api.OFFSET_COMMIT]
    assert h.member.commit_due == 4_000 * MS


@pytest.mark.parametrize("state", [MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE])
def test_nothing_is_committed_while_a_rebalance_is_under_way(state: MemberState) -> None:
    """sendOffsetCommitRequest fails locally with RebalanceInProgressException (KAFKA-8421)."""
    h = MemberHarness(cooperative=True, commits="after_batch").stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive()
    if state is MemberState.COMPLETING_REBALANCE:
        h.joined(generation=2)
    assert h.member.state is state
    before = list(h.sent)
    h.now = 60_000
    assert h.poll().sent == before


def test_nothing_is_committed_after_a_reset() -> None:
    """sendOffsetCommitRequest: UNJOINED, CommitFailedException; the partitions are lost without a commit."""
    h = MemberHarness().stable()
    h.do(h.member.on_poll_expired(0)).drive()
    assert h.sent == [Api.LEAVE_GROUP, Api.JOIN_GROUP]


@pytest.mark.parametrize("often", [{"commits": "after_batch"}, {"auto_commit_interval_us": 0}])
def test_each_poll_commits_what_the_application_processed(often: dict[str, object]) -> None:
    """commitSync after each batch, or an interval of 0: due again in the next microsecond."""
    h = MemberHarness(**often).stable()
    h.now = 10
    assert h.poll().sent == [Api.OFFSET_COMMIT]
    assert h.member.commit_due == 10 * MS + 1
    h.now = 20
    assert h.poll().sent == [Api.OFFSET_COMMIT, Api.OFFSET_COMMIT]


def _committing(**config: object) -> MemberHarness:
    """An auto-commit under way, the application busy."""
    h = MemberHarness(**config).stable()
    h.now = 5_000
    h.do(h.member.on_poll(h.now * MS))
    h.busy = True
    assert h.flying() == [Api.OFFSET_COMMIT]
    return h


@pytest.mark.parametrize("generation", [1, 0])
def test_rebalance_in_progress_requests_a_rejoin(generation: int) -> None:
    """OffsetCommitResponseHandler: whatever generation asked, no reset."""
    h = _committing().committed(Error.REBALANCE_IN_PROGRESS, generation=generation)
    assert h.member.rejoin_needed
    assert h.member.generation == 1


@pytest.mark.parametrize(("error", "member_id"), [(Error.UNKNOWN_MEMBER_ID, ""), (Error.ILLEGAL_GENERATION, "m-1")])
@pytest.mark.parametrize("generation", [1, 0])
def test_a_refused_commit_resets_unless_it_is_stale_and_a_join_is_under_way(
    error: Error, member_id: str, generation: int
) -> None:
    """OffsetCommitResponseHandler: reset if the generation is current *or* the state is not PREPARING_REBALANCE."""
    h = _committing().committed(error, generation=generation)
    assert (h.member.state, h.member.member_id) == (MemberState.UNJOINED, member_id)


def test_a_refused_stale_commit_does_not_disturb_a_join() -> None:
    """OffsetCommitResponseHandler: RebalanceInProgressException only."""
    h = _committing(cooperative=True, commits="after_batch")
    h.busy = False
    h.member.on_heartbeat_response(h.now * MS, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().committed(Error.UNKNOWN_MEMBER_ID, generation=0)
    assert h.member.state is MemberState.PREPARING_REBALANCE
    assert h.flying() == [Api.JOIN_GROUP]


def test_a_fenced_commit_is_raised_at_the_next_poll() -> None:
    """commitOffsetsAsync: asyncCommitFenced, thrown by invokeCompletedOffsetCommitCallbacks."""
    h = _committing(static=True).committed(Error.FENCED_INSTANCE_ID)
    assert h.heard == []
    h.busy = False
    assert h.drive().heard == ["raise FENCED_INSTANCE_ID"]


def test_a_fenced_commit_of_an_older_generation_is_not_fatal() -> None:
    """OffsetCommitResponseHandler: CommitFailedException or RebalanceInProgressException."""
    h = _committing(static=True).committed(Error.FENCED_INSTANCE_ID, generation=0)
    h.busy = False
    assert h.drive().heard == []
    assert h.member.generation == 1


def test_a_fenced_commit_before_joining_ends_it() -> None:
    """onJoinPrepare: the callbacks of the commit throw before anything is revoked."""
    h = MemberHarness(static=True).stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().committed(Error.FENCED_INSTANCE_ID)
    assert h.heard == ["raise FENCED_INSTANCE_ID"]


def test_a_fenced_commit_does_not_keep_a_consumer_from_closing() -> None:
    """maybeAutoCommitOffsetsSync only logs."""
    h = MemberHarness(static=True).stable()
    h.do(h.member.close(0)).committed(Error.FENCED_INSTANCE_ID)
    assert h.heard == ["revoked [0, 1]", "closed"]


@pytest.mark.parametrize("error", [Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR, Error.DISCONNECTED])
def test_a_retriable_auto_commit_is_due_again_after_the_backoff(error: Error) -> None:
    """autoCommitOffsetsAsync: nextAutoCommitTimer.updateAndReset(retryBackoffMs)."""
    h = _committing().committed(error)
    assert h.member.commit_due == 5_100 * MS
    assert (h.member.coordinator is None) is (error is not Error.COORDINATOR_LOAD_IN_PROGRESS)


@pytest.mark.parametrize("error", [Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR, Error.DISCONNECTED])
def test_a_commit_before_joining_that_fails_for_now_is_repeated_before_anything_is_given_up(error: Error) -> None:
    """onJoinPrepare: false for any retriable failure until joinPrepareTimer is over; a lost coordinator comes first."""
    h = MemberHarness().stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().committed(error)
    if error is not Error.COORDINATOR_LOAD_IN_PROGRESS:
        assert h.flying() == [Api.FIND_COORDINATOR]
        h.found()
    assert h.flying() == []
    assert h.sleep(100).flying() == [Api.OFFSET_COMMIT]
    assert "revoked [0, 1]" not in h.heard
    assert h.committed().flying() == [Api.JOIN_GROUP]
    assert h.heard[-1] == "revoked [0, 1]"


def test_a_commit_before_joining_is_not_repeated_when_its_time_is_over() -> None:
    """joinPrepareTimer: the rebalance timeout."""
    h = MemberHarness(max_poll_interval_us=1_000 * MS, heartbeat_interval_us=900 * MS).stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive()
    for _ in range(9):
        h.committed(Error.COORDINATOR_LOAD_IN_PROGRESS).sleep(100)
    h.now = 1_000
    assert h.committed(Error.COORDINATOR_LOAD_IN_PROGRESS).last(Api.JOIN_GROUP)


def test_what_a_cooperative_member_gives_up_is_committed_in_the_listener() -> None:
    """The application calls commitSync in onPartitionsRevoked, in state STABLE."""
    h = MemberHarness(cooperative=True, commits="none", commit_on_revoked=True).stable(0, 1)
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().joined(generation=2).synced(1)
    commit = h.last(Api.OFFSET_COMMIT)
    assert (commit.positions.tolist(), commit.generation) == ([0], 2)
