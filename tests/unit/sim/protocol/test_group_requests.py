"""Every request in every state of a group: in Kafka's own test names where there are any."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.facts import MemberIdGiven, MemberRemoved, MemberSeen, StateChanged
from groupsim.sim.protocol.messages import Error, SyncResponse
from tests.support.groups import GroupHarness, in_state

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


@pytest.mark.parametrize("state", [EMPTY, PREPARING, COMPLETING, STABLE])
def test_a_new_dynamic_member_is_given_an_id_and_starts_no_rebalance(state: GroupState) -> None:
    """GroupMetadataManager.classicGroupJoinNewDynamicMember, KIP-394 (4.4)."""
    h = in_state(state)
    answer = h.ask("n")
    assert answer is not None
    assert answer.error is Error.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("n-")
    assert h.state is state
    assert "n" not in h.members


@pytest.mark.parametrize("state", [EMPTY, PREPARING, COMPLETING, STABLE])
@pytest.mark.parametrize("version", [3, 9])
def test_a_full_join_prepares_a_rebalance(state: GroupState, version: int) -> None:
    """addMemberThenRebalanceOrCompleteJoin: the second join of KIP-394, or the only one before it (4.4)."""
    h = in_state(state)
    assert (h.ask if version < 4 else h.join)("n", version=version) is None
    assert h.state is PREPARING
    assert "n" in h.members


@pytest.mark.parametrize("member", ["a", "b"])
@pytest.mark.parametrize(
    ("state", "error"), [(EMPTY, Error.UNKNOWN_MEMBER_ID), (PREPARING, None), (COMPLETING, Error.NONE)]
)
def test_an_existing_member_with_the_same_metadata(member: str, state: GroupState, error: Error | None) -> None:
    """classicGroupJoinExistingMember; testJoinGroupExistingMemberInEmptyState (4.4)."""
    h = in_state(state)
    answer = h.join(member)
    assert (answer.error if answer is not None else None) is error
    assert h.state is state
    if answer is not None and error is Error.NONE:
        assert answer.generation == 2
        assert len(answer.members) == (3 if member == "a" else 0)


def test_join_group_from_unchanged_follower_does_not_rebalance() -> None:
    """GroupMetadataManagerTest.testJoinGroupFromUnchangedFollowerDoesNotRebalance (4.4); the session is not renewed."""
    h = in_state(STABLE)
    due = h.group.session_due(h.ids["b"])
    h.sleep(1_000)
    answer = h.join("b")
    assert answer is not None
    assert (answer.error, answer.generation, answer.leader, answer.members) == (Error.NONE, 1, h.ids["a"], ())
    assert h.group.session_due(h.ids["b"]) == due
    assert h.state is STABLE


def test_join_group_from_unchanged_leader_should_rebalance() -> None:
    """GroupMetadataManagerTest.testJoinGroupFromUnchangedLeaderShouldRebalance (4.4)."""
    h = in_state(STABLE)
    assert h.join("a") is None
    assert h.state is PREPARING


@pytest.mark.parametrize("state", [COMPLETING, STABLE])
@pytest.mark.parametrize("member", ["a", "b"])
def test_join_group_existing_member_updated_metadata_triggers_rebalance(state: GroupState, member: str) -> None:
    """GroupMetadataManagerTest.testJoinGroupExistingMemberUpdatedMetadataTriggersRebalance (4.4)."""
    h = in_state(state)
    assert h.join(member, topics=("t", "u")) is None
    assert h.state is PREPARING


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (EMPTY, Error.UNKNOWN_MEMBER_ID),
        (PREPARING, Error.REBALANCE_IN_PROGRESS),
        (COMPLETING, None),
        (STABLE, Error.NONE),
    ],
)
def test_sync_group_by_state(state: GroupState, error: Error | None) -> None:
    """GroupMetadataManager.classicGroupSyncToClassicGroup (4.4)."""
    h = in_state(state)
    answer = h.sync("b")
    assert (answer.error if answer is not None else None) is error
    if error is Error.NONE:
        assert answer is not None
        assert answer.assignment.tolist() == [1]


@pytest.mark.parametrize(
    ("state", "error", "renews"),
    [
        (EMPTY, Error.UNKNOWN_MEMBER_ID, False),
        (PREPARING, Error.REBALANCE_IN_PROGRESS, True),
        (COMPLETING, Error.NONE, True),
        (STABLE, Error.NONE, True),
        (DEAD, Error.COORDINATOR_NOT_AVAILABLE, False),
    ],
)
def test_heartbeat_by_state(state: GroupState, error: Error, renews: bool) -> None:
    """testHeartbeatEmptyGroup, ...DuringPreparingRebalance, ...DuringCompletingRebalance, testValidHeartbeat (4.4)."""
    h = in_state(state)
    h.sleep(1_000)
    before = h.group.session_due(h.ids["b"])
    assert h.heartbeat("b") is error
    assert (h.group.session_due(h.ids["b"]) == (h.now + 10_000) * 1_000) is renews
    assert (h.group.session_due(h.ids["b"]) == before) is not renews


@pytest.mark.parametrize(
    ("state", "error", "renews"),
    [
        (EMPTY, Error.UNKNOWN_MEMBER_ID, False),
        (PREPARING, Error.NONE, True),
        (COMPLETING, Error.REBALANCE_IN_PROGRESS, False),
        (STABLE, Error.NONE, True),
        (DEAD, Error.COORDINATOR_NOT_AVAILABLE, False),
    ],
)
def test_offset_commit_by_state(state: GroupState, error: Error, renews: bool) -> None:
    """ClassicGroup.validateOffsetCommit (4.4); a commit is worth a heartbeat where it is accepted."""
    h = in_state(state)
    h.sleep(1_000)
    assert h.commit("b") is error
    assert (h.group.session_due(h.ids["b"]) == (h.now + 10_000) * 1_000) is renews


@pytest.mark.parametrize(
    ("state", "member", "error"),
    [
        (EMPTY, None, Error.NONE),
        (EMPTY, "a", Error.NONE),
        (STABLE, None, Error.UNKNOWN_MEMBER_ID),
        (STABLE, "a", Error.ILLEGAL_GENERATION),
    ],
)
def test_a_commit_without_a_generation_needs_an_empty_group(
    state: GroupState, member: str | None, error: Error
) -> None:
    """ClassicGroup.validateOffsetCommit, its second and third gate (4.4)."""
    assert in_state(state).commit(member, generation=-1) is error


@pytest.mark.parametrize("request_", ["heartbeat", "commit", "sync"])
def test_an_older_generation_is_illegal(request_: str) -> None:
    """testHeartbeatIllegalGeneration, testSyncGroupFromIllegalGeneration (4.4); the session is not renewed."""
    h = in_state(STABLE)
    h.sleep(1_000)
    answer = getattr(h, request_)("b", generation=0)
    assert (answer.error if isinstance(answer, SyncResponse) else answer) is Error.ILLEGAL_GENERATION
    assert h.group.session_due(h.ids["b"]) == (h.now + 9_000) * 1_000


@pytest.mark.parametrize("request_", ["heartbeat", "commit", "sync", "leave"])
@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_an_unknown_member_is_told_so(request_: str, state: GroupState) -> None:
    """ClassicGroup.validateMember (4.4)."""
    h = in_state(state)
    h.ids["x"] = "nobody"
    answer = getattr(h, request_)("x")
    assert (answer.error if isinstance(answer, SyncResponse) else answer) is Error.UNKNOWN_MEMBER_ID


def test_in_preparing_rebalance_heartbeats_of_the_old_generation_are_valid() -> None:
    """The generation changes at join completion, not before (completeClassicGroupJoin, 4.4)."""
    h = in_state(PREPARING)
    assert h.heartbeat("b", generation=1) is Error.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("state", "error", "after"),
    [
        (EMPTY, Error.UNKNOWN_MEMBER_ID, EMPTY),
        (PREPARING, Error.NONE, PREPARING),
        (COMPLETING, Error.NONE, PREPARING),
        (STABLE, Error.NONE, PREPARING),
        (DEAD, Error.COORDINATOR_NOT_AVAILABLE, DEAD),
    ],
)
def test_leave_group_by_state(state: GroupState, error: Error, after: GroupState) -> None:
    """testValidLeaveGroup, testLeaveGroupUnknownMemberIdExistingGroup, testLeaveDeadGroup (4.4)."""
    h = in_state(state)
    assert h.leave("b") is error
    assert h.state is after


def test_the_last_who_has_not_rejoined_leaves_and_completes_the_join_phase() -> None:
    """GroupMetadataManager.maybeCompleteJoinPhase (4.4)."""
    h = in_state(PREPARING)
    h.join("a")
    h.leave("b")
    assert h.state is COMPLETING
    assert h.members == {"a", "c"}


def test_leaving_answers_a_parked_join_and_never_a_parked_sync() -> None:
    """GroupMetadataManager.removeMemberAndUpdateClassicGroup: the member is gone before syncs are flushed (4.4)."""
    h = in_state(PREPARING)
    h.leave("c")
    assert [(name, response.error) for name, response in h.answers[-1:]] == [("c", Error.UNKNOWN_MEMBER_ID)]
    h = in_state(COMPLETING)
    h.sync("b")
    h.sync("c")
    h.leave("b")
    assert [(name, response.error) for name, response in h.answers] == [("c", Error.REBALANCE_IN_PROGRESS)]


def test_pending_members_leave_group() -> None:
    """GroupMetadataManagerTest.testPendingMembersLeaveGroup (4.4): a success, and in Stable a useless rebalance."""
    h = in_state(STABLE)
    h.ask("p")
    assert h.leave("p") is Error.NONE
    assert h.state is PREPARING
    assert not h.group.roster.pending
    assert [type(fact) for fact in h.facts] == [MemberSeen, MemberIdGiven, MemberRemoved, StateChanged]


def test_a_pending_members_leave_completes_the_join_phase() -> None:
    """GroupMetadataManager.maybeCompleteJoinPhase: nobody is waited for any more (4.4)."""
    h = in_state(STABLE)
    h.ask("p")
    h.join("a")
    h.join("b")
    assert h.state is PREPARING
    h.leave("p")
    assert h.state is COMPLETING


def test_join_group_completion_when_pending_member_joins() -> None:
    """GroupMetadataManagerTest.testJoinGroupCompletionWhenPendingMemberJoins (4.4)."""
    h = in_state(STABLE)
    h.ask("p")
    h.join("a")
    h.join("b")
    assert h.state is PREPARING
    h.join("p")
    assert h.state is COMPLETING
    assert h.members == {"a", "b", "p"}


def test_sync_group_follower_after_leader_and_leader_after_follower() -> None:
    """testSyncGroupFollowerAfterLeader, testSyncGroupLeaderAfterFollower (4.4): Stable comes with the append."""
    h = GroupHarness(append=50)
    for name in "ab":
        h.join(name)
    h.sleep(6_000)
    h.sync("b")
    assert h.sync("a", {"a": [0], "b": [1, 2]}) is None
    assert h.sleep(49) == []
    assert h.state is COMPLETING
    assert sorted(h.sleep(1)) == [("a", Error.NONE), ("b", Error.NONE)]
    assert h.state is STABLE
    assert [h.answer(name).assignment.tolist() for name in "ab"] == [[0], [1, 2]]  # type: ignore[union-attr]


def test_an_append_that_the_group_has_moved_on_from_changes_nothing() -> None:
    """classicGroupSyncToClassicGroup: still CompletingRebalance and the same generation, or nothing (4.4)."""
    h = GroupHarness(append=50)
    h.join("a")
    h.sleep(3_000)
    h.sync("a", {"a": [0]})
    h.join("b")
    assert h.state is PREPARING
    assert [(name, response.error) for name, response in h.answers[-1:]] == [("a", Error.REBALANCE_IN_PROGRESS)]
    h.join("a")
    assert (h.state, h.group.generation) == (COMPLETING, 2)
    h.sleep(50)
    assert h.state is COMPLETING


def test_sync_group_empty_assignment() -> None:
    """GroupMetadataManagerTest.testSyncGroupEmptyAssignment (4.4): whom the leader leaves out has nothing."""
    h = GroupHarness()
    h.join("a")
    h.sleep(3_000)
    answer = h.sync("a")
    assert answer is not None
    assert answer.assignment.size == 0
    assert h.state is STABLE


def test_sync_group_returns_an_error_when_protocol_name_is_inconsistent() -> None:
    """GroupMetadataManagerTest.testSyncGroupReturnsAnErrorWhenProtocolNameIsInconsistent (KIP-559, 4.4)."""
    h = in_state(COMPLETING)
    answer = h.sync("b", protocol="sticky")
    assert answer is not None
    assert answer.error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert h.sync("b", protocol="range") is None
