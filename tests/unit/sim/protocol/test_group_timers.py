"""Each of the coordinator's timers: just before, exactly at, and what it does not touch (Kafka 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.facts import Cause, MemberRemoved, StateChanged
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import MS
from tests.support.groups import GroupHarness, in_state

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


def test_classic_group_member_session_timeout() -> None:
    """GroupMetadataManagerTest.testClassicGroupMemberSessionTimeout (4.4)."""
    h = GroupHarness().stable("a", "b")
    h.sleep(5_000)
    h.heartbeat("a")
    h.sleep(4_999)
    assert h.members == {"a", "b"}
    h.sleep(1)
    assert (h.members, h.state) == ({"a"}, PREPARING)


def test_classic_group_member_heartbeat_maintains_session() -> None:
    """GroupMetadataManagerTest.testClassicGroupMemberHeartbeatMaintainsSession (4.4)."""
    h = GroupHarness().stable("a")
    for _ in range(3):
        h.sleep(9_999)
        assert h.heartbeat("a") is Error.NONE
    h.sleep(9_999)
    assert h.state is STABLE
    h.sleep(1)
    assert h.state is EMPTY


def test_heartbeat_expiration_should_remove_pending_member() -> None:
    """testHeartbeatExpirationShouldRemovePendingMember (4.4): its own session timeout, no rebalance."""
    h = GroupHarness().stable("a")
    h.ask("p", session=7_000)
    h.sleep(6_999)
    assert list(h.group.roster.pending) == [h.ids["p"]]
    h.sleep(1)
    assert not h.group.roster.pending
    assert h.state is STABLE


def test_join_group_completion_when_pending_member_times_out() -> None:
    """GroupMetadataManagerTest.testJoinGroupCompletionWhenPendingMemberTimesOut (4.4)."""
    h = GroupHarness().stable("a", "b")
    h.ask("p", session=7_000)
    h.join("a")
    h.join("b")
    assert h.sleep(6_999) == []
    assert sorted(h.sleep(1)) == [("a", Error.NONE), ("b", Error.NONE)]


def test_new_member_join_expiration() -> None:
    """testNewMemberJoinExpiration (4.4): a new member expires after five minutes even though it is parked."""
    h = GroupHarness().stable("a", rebalance=600_000)
    h.join("n", session=6_000)
    for _ in range(59):
        h.sleep(5_000)
        h.heartbeat("a")
    assert h.sleep(4_999) == []
    assert h.members == {"a", "n"}
    assert h.sleep(1) == [("n", Error.UNKNOWN_MEMBER_ID)]
    assert (h.members, h.state) == ({"a"}, PREPARING)


def test_the_five_minutes_replace_the_session_of_the_pending_id() -> None:
    """addMemberThenRebalanceOrCompleteJoin arms the same key anew (4.4)."""
    h = GroupHarness().stable("a", session=100_000, rebalance=600_000)
    h.join("n", session=6_000)
    assert h.group.session_due(h.ids["n"]) == (h.now + 300_000) * 1_000


def test_new_member_failure_after_join_group_completion() -> None:
    """testNewMemberFailureAfterJoinGroupCompletion (4.4): once it has joined, its own session timeout counts."""
    h = GroupHarness()
    h.join("a")
    h.sleep(3_000)
    h.sleep(9_999)
    assert h.state is COMPLETING
    h.sleep(1)
    assert h.state is EMPTY


def test_a_parked_member_outlives_its_session_and_has_no_timer_until_it_is_answered() -> None:
    """ClassicGroupMember.hasSatisfiedHeartbeat; completeClassicGroupJoin re-arms (4.4)."""
    h = GroupHarness().stable("a", "b", rebalance=60_000)
    h.join("a")
    for _ in range(6):
        h.sleep(5_000)
        h.heartbeat("b")
    assert h.members == {"a", "b"}
    assert h.group.session_due(h.ids["a"]) > 10**15
    h.join("b")
    assert h.state is COMPLETING
    assert h.group.session_due(h.ids["a"]) == (h.now + 10_000) * 1_000


def test_a_member_parked_in_sync_outlives_its_session_and_is_renewed_by_the_answer() -> None:
    """GroupMetadataManager.propagateAssignment (4.4)."""
    h = in_state(COMPLETING)
    h.sync("b")
    for _ in range(4):
        h.sleep(5_000)
        h.heartbeat("a")
        h.heartbeat("c")
    h.sync("a", {"b": [1]})
    assert h.answer("b").error is Error.NONE
    assert h.group.session_due(h.ids["b"]) == (h.now + 10_000) * 1_000


def test_a_rebalance_answers_parked_syncs_and_renews_their_sessions() -> None:
    """GroupMetadataManager.prepareRebalance, resetAndPropagateAssignmentWithError (4.4)."""
    h = in_state(COMPLETING)
    h.sync("b")
    h.sleep(9_000)
    h.leave("c")
    assert h.answer("b").error is Error.REBALANCE_IN_PROGRESS
    assert h.group.session_due(h.ids["b"]) == (h.now + 10_000) * 1_000
    assert h.group.session_due(h.ids["a"]) == (h.now + 1_000) * 1_000


@pytest.mark.parametrize("request_", ["join", "sync"])
def test_join_and_sync_requests_do_not_renew_the_session(request_: str) -> None:
    """classicGroupJoinExistingMember, classicGroupSyncToClassicGroup: no rescheduling (4.4)."""
    h = GroupHarness().stable("a", "b")
    due = h.group.session_due(h.ids["b"])
    h.sleep(1_000)
    getattr(h, request_)("b")
    assert h.group.session_due(h.ids["b"]) == due


def test_session_expiry_of_the_last_who_has_not_rejoined_completes_the_join_phase() -> None:
    """removeMemberAndUpdateClassicGroup (4.4)."""
    h = GroupHarness().stable("a", "b")
    h.join("a")
    assert h.sleep(9_999) == []
    assert h.sleep(1) == [("a", Error.NONE)]
    assert h.members == {"a"}


def test_timers_that_are_seen_late_go_by_deadline() -> None:
    """testStaticMemberRejoinWithLeaderIdAndKnownMemberId (4.4): b's session ended before the join timer."""
    h = GroupHarness().stable("a", "b")
    h.join("a", rebalance=20_000)
    late = (h.now + 60_000) * MS
    h.take(h.group.on_deadline(late))
    assert (h.members, h.state) == ({"a"}, COMPLETING)
    assert [type(fact) for fact in h.facts] == [StateChanged, MemberRemoved, StateChanged]
    assert h.facts[1] == MemberRemoved(h.ids["b"], "b", Cause.EXPIRED)


def test_a_session_that_another_expiry_renews_at_the_same_instant_does_not_expire() -> None:
    """A replaced timer never runs even if it is due already (CoordinatorTimerImpl, 4.4)."""
    h = GroupHarness().stable("a", "b")
    h.join("b", topics=("other",))
    assert h.group.session_due(h.ids["a"]) == h.group.session_due(h.ids["b"])
    assert h.sleep(10_000) == [("b", Error.NONE)]
    assert (h.members, h.state) == ({"b"}, COMPLETING)


def test_complete_join_remove_not_yet_rejoined_dynamic_members() -> None:
    """testCompleteJoinRemoveNotYetRejoinedDynamicMembers (4.4): they learn of it at their next request."""
    h = GroupHarness().stable("a", "b", session=100_000, rebalance=20_000)
    h.join("a", session=100_000, rebalance=20_000)
    assert h.sleep(19_999) == []
    assert h.sleep(1) == [("a", Error.NONE)]
    assert (h.members, h.state, h.group.generation) == ({"a"}, COMPLETING, 2)
    assert h.heartbeat("b") is Error.UNKNOWN_MEMBER_ID


def test_the_join_timer_is_the_largest_rebalance_timeout_when_it_is_armed() -> None:
    """ClassicGroup.rebalanceTimeoutMs, evaluated once in prepareRebalance (4.4)."""
    h = GroupHarness().stable("a", "b", session=900_000, rebalance=20_000)
    h.join("c", session=900_000, rebalance=30_000)
    h.sleep(10_000)
    h.join("d", session=900_000, rebalance=600_000)
    assert h.deadline == h.now + 20_000
    assert sorted(h.sleep(20_000)) == [("c", Error.NONE), ("d", Error.NONE)]


def test_a_timer_driven_completion_ignores_pending_members() -> None:
    """completeClassicGroupJoin neither kicks nor waits for pending ids (4.4)."""
    h = GroupHarness().stable("a", session=100_000, rebalance=20_000)
    h.ask("p", session=100_000)
    h.join("a", session=100_000, rebalance=20_000)
    assert h.sleep(19_999) == []
    assert h.sleep(1) == [("a", Error.NONE)]
    assert len(h.group.roster.pending) == 1


@pytest.mark.parametrize("late", ["a", "b"])
def test_rebalance_times_out_when_sync_request_is_not_received(late: str) -> None:
    """testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromFollowers, ...FromLeaders (KAFKA-12890, 4.4)."""
    h = GroupHarness()
    for name in "ab":
        h.join(name, session=900_000, rebalance=20_000)
    h.sleep(6_000)
    other = "b" if late == "a" else "a"
    h.sync(other, {"a": [0]} if other == "a" else None)
    h.sleep(19_999)
    assert h.state is (COMPLETING if late == "a" else STABLE)
    h.sleep(1)
    assert (h.members, h.state) == ({other}, PREPARING)
    assert h.heartbeat(late) is Error.UNKNOWN_MEMBER_ID


def test_rebalance_does_not_time_out_when_all_sync_are_received() -> None:
    """GroupMetadataManagerTest.testRebalanceDoesNotTimeOutWhenAllSyncAreReceived (4.4)."""
    h = GroupHarness().stable("a", "b", session=900_000, rebalance=20_000)
    h.sleep(20_000)
    assert (h.members, h.state) == ({"a", "b"}, STABLE)


def test_second_member_partially_join_and_timeout() -> None:
    """GroupMetadataManagerTest.testSecondMemberPartiallyJoinAndTimeout (4.4): the group does not notice."""
    h = GroupHarness().stable("a")
    h.ask("p", session=6_000)
    for _ in range(4):
        h.sleep(5_000)
        assert h.heartbeat("a") is Error.NONE
    assert (h.members, h.state, h.group.generation) == ({"a"}, STABLE, 1)


def test_a_group_that_is_empty_for_offsets_retention_is_forgotten_at_the_next_check() -> None:
    """KIP-211: ``OffsetMetadataManager.cleanupExpiredOffsets``, ``OffsetExpirationConditionImpl`` (4.4)."""
    h = GroupHarness(retention=20_000, check=7_000).stable("a")
    h.commit("a")
    h.leave("a")
    assert h.state is EMPTY
    left, generation = h.now, h.group.generation
    due = -(-(left + 20_000) // 7_000) * 7_000
    h.sleep(due - left - 1)
    assert (h.group.generation, h.forgotten) == (generation, 0)
    h.sleep(1)
    assert (h.group.generation, h.forgotten) == (0, 1)


def test_a_group_that_is_joined_in_time_is_not_forgotten() -> None:
    h = GroupHarness(retention=20_000, check=7_000).stable("a")
    h.commit("a")
    h.leave("a")
    h.sleep(10_000)
    h.stable("b")
    h.sleep(5_000)
    h.heartbeat("b")
    h.sleep(9_000)
    h.heartbeat("b")
    h.sleep(9_000)
    assert (h.group.generation > 1, h.forgotten) == (True, 0)
