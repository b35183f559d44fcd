"""Heartbeats, coordinator lookup and leaving, as the heartbeat thread does them (AbstractCoordinator, 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.config import ClientBehaviour
from groupsim.sim.protocol.classic.member import MemberState
from groupsim.sim.protocol.messages import Api, Error
from groupsim.sim.units import FOREVER, MS
from tests.unit.sim.protocol.members import MemberHarness


def test_the_first_heartbeat_goes_out_one_interval_after_the_join_response() -> None:
    """HeartbeatThread.enable resets all timers at the join response: a generation beats in phase."""
    h = MemberHarness().drive().sleep(500).found().sleep(700).joined()
    h.sent.clear()
    h.sleep(2_999)
    assert h.sent == []
    assert h.sleep(1).sent == [Api.HEARTBEAT]
    assert h.sleep(3_000).sent == [Api.HEARTBEAT, Api.HEARTBEAT]


def test_before_2_7_there_is_none_before_the_sync_response() -> None:
    """KAFKA-10122."""
    h = MemberHarness(behaviour=ClientBehaviour(heartbeat_in_completing=False)).drive().found().joined()
    h.sent.clear()
    assert h.sleep(10_000).sent == []
    h.synced(0)
    h.sent.clear()
    assert h.sleep(2_999).sent == []
    assert h.sleep(1).sent == [Api.HEARTBEAT]


def test_none_is_sent_between_join_request_and_response() -> None:
    """HeartbeatThread.run: disabled while PREPARING_REBALANCE."""
    h = MemberHarness(commits="none").stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().sleep(100_000)
    assert h.sent == [Api.JOIN_GROUP]


@pytest.mark.parametrize("error", [Error.NONE, Error.REBALANCE_IN_PROGRESS])
def test_success_renews_the_session(error: Error) -> None:
    """HeartbeatResponseHandler: REBALANCE_IN_PROGRESS is a success too."""
    h = MemberHarness().stable()
    h.busy = True
    h.sleep(3_000).sleep(500).beaten(error)
    assert h.member.session_due == 48_500 * MS
    assert h.member.rejoin_needed is (error is Error.REBALANCE_IN_PROGRESS)


def test_rebalance_in_progress_is_acted_on_at_the_next_poll() -> None:
    """requestRejoin only sets a flag."""
    h = MemberHarness(commits="none").stable()
    h.busy = True
    h.sleep(3_000).beaten(Error.REBALANCE_IN_PROGRESS)
    assert h.flying() == []
    h.busy = False
    assert h.drive().flying() == [Api.JOIN_GROUP]
    assert h.last(Api.JOIN_GROUP).reason == "group is already rebalancing"


def test_rebalance_in_progress_is_ignored_unless_stable() -> None:
    """HeartbeatResponseHandler: "Ignoring heartbeat response during {} state"."""
    h = MemberHarness().drive().found().joined()
    h.sleep(3_000).beaten(Error.REBALANCE_IN_PROGRESS)
    assert h.member.state is MemberState.COMPLETING_REBALANCE
    h.synced(0)
    assert h.flying() == [Api.OFFSET_FETCH]


@pytest.mark.parametrize(("error", "member_id"), [(Error.UNKNOWN_MEMBER_ID, ""), (Error.ILLEGAL_GENERATION, "m-1")])
def test_a_refused_current_generation_is_lost_at_the_next_poll(error: Error, member_id: str) -> None:
    """resetStateOnResponseError: the id is kept if the generation is illegal; a zombie until poll()."""
    h = MemberHarness().stable()
    h.busy = True
    h.sleep(3_000).beaten(error)
    assert h.heard == []
    assert h.member.deadline == FOREVER
    h.busy = False
    assert h.drive().heard == ["lost [0, 1]"]
    assert h.last(Api.JOIN_GROUP).member_id == member_id


@pytest.mark.parametrize("error", [Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID])
def test_a_refused_older_generation_is_a_success(error: Error) -> None:
    """HeartbeatResponseHandler: "Attempt to heartbeat with stale generation failed, ignoring the error"."""
    h = MemberHarness().stable()
    h.sleep(3_000).beaten(error, generation=0)
    assert (h.heard, h.member.generation, h.member.session_due) == ([], 1, 48_000 * MS)


def test_a_fenced_heartbeat_is_raised_at_the_next_poll() -> None:
    """HeartbeatThread: failed.set, raised by maybeThrowAny in pollHeartbeat."""
    h = MemberHarness(static=True).stable()
    h.busy = True
    h.sleep(3_000).beaten(Error.FENCED_INSTANCE_ID)
    assert h.heard == []
    h.busy = False
    assert h.drive().heard == ["raise FENCED_INSTANCE_ID"]


@pytest.mark.parametrize("generation", [1, 0])
def test_a_lost_coordinator_is_marked_whatever_generation_asked(generation: int) -> None:
    """HeartbeatResponseHandler: markCoordinatorUnknown; state and assignment stay."""
    h = MemberHarness().stable()
    h.busy = True
    h.sleep(3_000).beaten(Error.NOT_COORDINATOR, generation=generation)
    assert h.heard == ["disconnect"]
    assert (h.member.state, h.member.owned.tolist()) == (MemberState.STABLE, [0, 1])
    h.sleep(0)
    assert h.flying() == [Api.FIND_COORDINATOR]


def test_an_unexpected_error_is_retried_with_exponential_backoff() -> None:
    """Heartbeat.failHeartbeat: ExponentialBackoff of the failures so far."""
    h = MemberHarness().stable().sleep(3_000)
    h.sent.clear()
    for wait in (100, 200, 400, 800, 1_000, 1_000):
        h.beaten(Error.UNKNOWN_SERVER_ERROR)
        assert h.sleep(wait - 1).sent == []
        assert h.sleep(1).sent == [Api.HEARTBEAT]
        h.sent.clear()


def test_session_timeout_of_the_client_marks_the_coordinator_unknown() -> None:
    """HeartbeatThread.run: sessionTimeoutExpired; nothing is given up."""
    h = MemberHarness(session_timeout_us=10_000 * MS).stable()
    h.busy = True
    h.sleep(9_999)
    assert h.heard == []
    h.sleep(1)
    assert h.heard == ["disconnect"]
    assert h.member.owned.tolist() == [0, 1]


def test_a_found_coordinator_restarts_the_session_timer() -> None:
    """FindCoordinatorResponseHandler: heartbeat.resetSessionTimeout."""
    h = MemberHarness(session_timeout_us=10_000 * MS).stable()
    h.sleep(10_100).found()
    assert h.member.session_due == 20_100 * MS


def test_a_coordinator_that_was_silent_for_a_session_is_looked_up_a_backoff_later() -> None:
    """HeartbeatThread.run: an answer that comes while the old connection closes is of no use."""
    h = MemberHarness(session_timeout_us=10_000 * MS).stable()
    h.sleep(10_099)
    assert Api.FIND_COORDINATOR not in h.flying()
    h.sleep(1)
    assert Api.FIND_COORDINATOR in h.flying()


def test_lookups_back_off_exponentially() -> None:
    """ensureCoordinatorReady: retry.backoff.ms doubling to retry.backoff.max.ms (KIP-580)."""
    h = MemberHarness().drive()
    for wait in (100, 200, 400, 800, 1_000, 1_000):
        h.found(None).sleep(wait - 1)
        assert h.flying() == []
        h.sleep(1)
        assert h.flying() == [Api.FIND_COORDINATOR]


def test_lookups_back_off_constantly_before_3_7() -> None:
    """KIP-580."""
    h = MemberHarness(behaviour=ClientBehaviour(exponential_backoff=False)).drive()
    for _ in range(3):
        h.found(None).sleep(99)
        assert h.flying() == []
        h.sleep(1)
        assert h.flying() == [Api.FIND_COORDINATOR]


@pytest.mark.parametrize(("permille", "first", "last"), [(800, 80, 800), (1_200, 120, 1_000)])
def test_backoff_is_jittered_below_its_maximum(permille: int, first: int, last: int) -> None:
    """ExponentialBackoff.backoff: the term is capped, then jittered, then capped."""
    h = MemberHarness()
    h.member.backoff.jitter = lambda number: permille
    assert (h.member.backoff.after(0), h.member.backoff.after(30)) == (first * MS, last * MS)


def test_backoff_is_constant_if_its_maximum_is_no_larger() -> None:
    """ExponentialBackoff: initialInterval = min(maxInterval, initialInterval), no jitter."""
    h = MemberHarness(retry_backoff_us=500 * MS, retry_backoff_max_us=300 * MS)
    h.member.backoff.jitter = lambda number: 800
    assert (h.member.backoff.after(0), h.member.backoff.after(5)) == (300 * MS, 300 * MS)


def test_a_second_answer_to_a_lookup_is_ignored() -> None:
    """One outstanding FindCoordinator, shared by both threads."""
    h = MemberHarness().drive().found(1)
    h.do(h.member.on_coordinator(0, 2))
    assert h.member.coordinator == 1


class TestLeaving:
    """AbstractCoordinator.maybeLeaveGroup, handlePollTimeoutExpiry; ConsumerCoordinator.onLeavePrepare."""

    def test_poll_timeout_leaves_and_loses_the_partitions_at_the_next_poll(self) -> None:
        h = MemberHarness().stable()
        h.busy = True
        h.do(h.member.on_poll_expired(0))
        assert (h.sent, h.heard) == ([Api.LEAVE_GROUP], [])
        h.busy = False
        assert h.drive().heard == ["lost [0, 1]"]
        assert h.last(Api.JOIN_GROUP).member_id == ""

    def test_poll_timeout_of_a_static_member_says_nothing_to_the_coordinator(self) -> None:
        h = MemberHarness(static=True).stable()
        h.busy = True
        h.do(h.member.on_poll_expired(0)).sleep(100_000)
        assert h.sent == []
        h.busy = False
        assert h.drive().heard == ["lost [0, 1]"]

    def test_poll_timeout_while_the_sync_is_parked_waits_for_its_answer(self) -> None:
        """LeaveGroup stands behind the SyncGroup on the connection, and so does the next JoinGroup."""
        h = MemberHarness().drive().found().joined()
        h.do(h.member.on_poll_expired(0)).drive()
        assert h.flying() == [Api.SYNC_GROUP, Api.LEAVE_GROUP]
        assert h.synced(error=Error.REBALANCE_IN_PROGRESS).flying() == [Api.LEAVE_GROUP, Api.JOIN_GROUP]
        assert h.last(Api.JOIN_GROUP).member_id == ""

    def test_close_commits_revokes_and_leaves(self) -> None:
        h = MemberHarness().stable()
        h.do(h.member.close(0))
        assert (h.sent, h.heard) == ([Api.OFFSET_COMMIT], [])
        h.committed()
        assert h.heard == ["revoked [0, 1]", "closed"]
        assert h.sent == [Api.OFFSET_COMMIT, Api.LEAVE_GROUP]

    def test_close_of_a_static_member_does_not_leave(self) -> None:
        h = MemberHarness(static=True, commits="none").stable()
        h.do(h.member.close(0))
        assert (h.sent, h.heard) == ([], ["revoked [0, 1]", "closed"])

    def test_close_after_a_reset_loses_the_partitions(self) -> None:
        h = MemberHarness().stable()
        h.do(h.member.on_poll_expired(0)).do(h.member.close(0))
        assert h.heard == ["lost [0, 1]", "closed"]

    def test_close_during_a_rebalance_loses_the_partitions_and_leaves(self) -> None:
        h = MemberHarness(cooperative=True, commits="none").stable()
        h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
        h.drive().do(h.member.close(0))
        assert h.heard == ["lost [0, 1]", "closed"]
        assert h.sent == [Api.JOIN_GROUP, Api.LEAVE_GROUP]

    def test_unsubscribe_does_not_commit(self) -> None:
        """ClassicKafkaConsumer.unsubscribe: onLeavePrepare and maybeLeaveGroup only."""
        h = MemberHarness().stable()
        h.do(h.member.unsubscribe(0))
        assert h.sent == [Api.LEAVE_GROUP]
        assert h.heard == ["revoked [0, 1]", "closed"]

    def test_a_pending_id_is_left_too(self) -> None:
        """memberState is PREPARING_REBALANCE and the id is known."""
        h = MemberHarness().drive().found()
        h.busy = True
        h.joined(Error.MEMBER_ID_REQUIRED, member_id="m-7")
        h.do(h.member.close(0))
        assert [one.member_id for one in h.last(Api.LEAVE_GROUP).members] == ["m-7"]

    def test_nobody_leaves_without_a_coordinator(self) -> None:
        h = MemberHarness(commits="none").stable()
        h.do(h.member.mark_coordinator_unknown(0)).do(h.member.close(0))
        assert h.sent == []


@pytest.mark.parametrize(("over_ms", "seen_ms"), [(0, 500), (499, 500), (500, 1_000), (5_000, 5_500)])
def test_librdkafka_looks_for_a_late_poll_twice_a_second_since_its_assignment(over_ms: int, seen_ms: int) -> None:
    """rd_kafka_cgrp_start_max_poll_interval_timer; what is over by less than a millisecond is not over."""
    h = MemberHarness(behaviour=ClientBehaviour(looks_at_polls=True)).sleep(130).stable()
    assigned = h.member.ownership.assigned_us
    assert assigned == h.now * MS
    assert h.member.max_poll_noticed_at(assigned + over_ms * MS) == assigned + seen_ms * MS
    h.member.on_poll_expired(assigned)
    h.drive().joined()
    assert h.member.max_poll_noticed_at(assigned + over_ms * MS) == FOREVER
