"""Static membership at the coordinator (KIP-345, KIP-814; Kafka 4.4)."""

from __future__ import annotations

from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.messages import Error, JoinResponse
from tests.support.groups import GroupHarness

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


def _stable(append: int = 0, **request: object) -> GroupHarness:
    """Static leader s and dynamic follower d, sessions 10 s."""
    h = GroupHarness(append=append)
    h.join("s", instance="s", **request)
    h.join("d", **request)
    h.sleep(6_000)
    h.sync("d")
    h.sync("s", {"s": [0], "d": [1]}, instance="s")
    h.sleep(append)
    assert h.state is STABLE
    h.facts.clear()
    return h


def test_static_member_join_as_first_member() -> None:
    """testStaticMemberJoinAsFirstMember (4.4): no second round for an id."""
    h = GroupHarness()
    assert h.ask("s", instance="s") is None
    assert h.members == {"s"}


def test_replace_static_member_in_stable_state_succeeds() -> None:
    """testReplaceStaticMemberInStableStateSucceeds (4.4): no rebalance, answered when it is in the log."""
    h = _stable(append=50)
    old = h.ids["s"]
    assert h.ask("s", instance="s", version=9, topics=("other",)) is None
    assert h.sleep(49) == []
    assert h.sleep(1) == [("s", Error.NONE)]
    answer = h.answer("s")
    assert isinstance(answer, JoinResponse)
    assert (answer.generation, answer.leader, answer.skip_assignment) == (1, h.ids["s"], True)
    assert len(answer.members) == 2
    assert h.state is STABLE
    assert h.ids["s"] != old
    synced = h.sync("s", instance="s")
    assert synced is not None
    assert synced.assignment.tolist() == [0]


def test_static_member_rejoin_with_leader_id_and_unknown_member_id_before_v9() -> None:
    """updateStaticMemberThenRebalanceOrCompleteJoin: v5 .. v8 name the old id as leader (before KIP-814)."""
    h = _stable()
    old = h.ids["s"]
    answer = h.ask("s", instance="s", version=8)
    assert answer is not None
    assert (answer.leader, answer.member_id != old, answer.skip_assignment, answer.members) == (old, True, False, ())


def test_the_replaced_member_is_fenced() -> None:
    """testStaticMemberFenceDuplicateRejoinedFollower; ClassicGroup.validateMember (4.4)."""
    h = _stable()
    old = h.ids["s"]
    h.ask("s", instance="s")
    h.ids["s"] = old
    assert h.heartbeat("s", instance="s") is Error.FENCED_INSTANCE_ID
    assert h.commit("s", instance="s") is Error.FENCED_INSTANCE_ID
    assert h.leave("s", instance="s") is Error.FENCED_INSTANCE_ID
    answer = h.join("s", instance="s")
    assert answer is not None
    assert answer.error is Error.FENCED_INSTANCE_ID


def test_replacing_arms_the_old_session_timeout() -> None:
    """rescheduleClassicGroupMemberHeartbeat comes before updateMember (4.4)."""
    h = _stable()
    h.sleep(1_000)
    h.ask("s", instance="s", session=30_000)
    new = h.ids["s"]
    assert h.group.session_due(new) == (h.now + 10_000) * 1_000
    h.heartbeat("s", instance="s")
    assert h.group.session_due(new) == (h.now + 30_000) * 1_000


def test_static_member_rejoin_with_unknown_member_id_and_change_of_protocol_with_selected_protocol_changed() -> None:
    """testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWithSelectedProtocolChanged (4.4)."""
    h = _stable(protocols=("range", "sticky"))
    assert h.ask("s", instance="s", protocols=("sticky",)) is None
    assert h.state is PREPARING


def test_replace_static_member_in_completing_rebalance_state_triggers_rebalance() -> None:
    """GroupMetadataManagerTest.testReplaceStaticMemberInCompletingRebalanceStateTriggersRebalance (4.4)."""
    h = GroupHarness()
    h.join("s", instance="s")
    h.join("d")
    h.sleep(6_000)
    h.sync("d")
    assert h.ask("s", instance="s") is None
    assert h.state is PREPARING
    assert h.answer("d").error is Error.REBALANCE_IN_PROGRESS


def test_a_duplicate_answers_the_parked_requests_of_its_predecessor() -> None:
    """testStaticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged, ...RejoiningFollower... (4.4)."""
    h = GroupHarness()
    h.join("d")
    h.join("s", instance="s")
    h.ask("s", instance="s")
    assert [(name, response.error) for name, response in h.answers] == [("s", Error.FENCED_INSTANCE_ID)]
    h.sleep(6_000)
    h.sync("s", instance="s")
    h.answers.clear()
    h.ask("s", instance="s")
    assert [(name, response.error) for name, response in h.answers] == [("s", Error.FENCED_INSTANCE_ID)]


def test_a_replacement_counts_as_rejoined_until_it_is_in_the_log() -> None:
    """The JoinGroup is parked while the append is under way; a rebalance may answer it first (4.4)."""
    h = _stable(append=50)
    h.ask("s", instance="s")
    h.join("d", topics=("other",))
    assert h.state is COMPLETING
    assert h.answer("s").error is Error.NONE
    assert h.sleep(50) == []
    assert h.group.roster.awaiting_join == 0


def test_a_replacement_that_leaves_before_it_is_in_the_log_is_answered_once() -> None:
    """ClassicGroup.completeJoinFuture does nothing for who is answered already (4.4)."""
    h = _stable(append=50)
    h.ask("s", instance="s")
    h.ids["s"] = h.group.roster.static["s"]
    assert h.leave("s", instance="s") is Error.NONE
    assert [(name, response.error) for name, response in h.answers[-1:]] == [("s", Error.UNKNOWN_MEMBER_ID)]
    assert h.sleep(50) == []
    assert h.group.roster.awaiting_join == 0


def test_a_replaced_member_that_had_not_synced_is_still_waited_for() -> None:
    """ClassicGroup.replaceStaticMember leaves pendingSyncMembers alone, so expirePendingSync rebalances (4.4)."""
    h = GroupHarness()
    h.join("d", session=900_000, rebalance=20_000)
    h.join("s", instance="s", session=900_000, rebalance=20_000)
    h.sleep(6_000)
    h.sync("d", {"d": [0]})
    h.ask("s", instance="s", session=900_000, rebalance=20_000)
    h.sync("s", instance="s")
    h.sleep(19_999)
    assert h.state is STABLE
    h.sleep(1)
    assert (h.state, h.members) == (PREPARING, {"d", "s"})


def test_static_member_follower_fail_to_rejoin_before_rebalance_timeout() -> None:
    """testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout (4.4): it stays, and is given an assignment."""
    h = _stable(session=900_000, rebalance=20_000)
    h.join("d", session=900_000, rebalance=20_000, topics=("other",))
    assert h.sleep(20_000) == [("d", Error.NONE)]
    assert (h.members, h.state) == ({"s", "d"}, COMPLETING)
    assert h.group.roster.leader == h.ids["d"]
    answer = h.answer("d")
    assert isinstance(answer, JoinResponse)
    assert len(answer.members) == 2


def test_complete_join_phase_no_members_rejoined_extends_join_phase() -> None:
    """testCompleteJoinPhaseNoMembersRejoinedExtendsJoinPhase (4.4): armed again, no new generation."""
    h = _stable(session=900_000, rebalance=20_000)
    h.leave("d")
    h.sleep(20_000)
    assert (h.members, h.state, h.group.generation) == ({"s"}, PREPARING, 1)
    assert h.deadline == h.now + 20_000
    h.join("s", instance="s")
    assert (h.state, h.group.generation) == (COMPLETING, 2)


def test_an_absent_static_member_is_removed_when_the_sync_timer_ends() -> None:
    """expirePendingSync does not ask whether a member is static (4.4)."""
    h = _stable(session=900_000, rebalance=20_000)
    h.join("d", session=900_000, rebalance=20_000, topics=("other",))
    h.sleep(20_000)
    h.sync("d", {"d": [0]})
    h.sleep(19_999)
    assert (h.members, h.state) == ({"s", "d"}, STABLE)
    h.sleep(1)
    assert (h.members, h.state) == ({"d"}, PREPARING)


def test_static_member_join_with_unknown_instance_id_and_known_member_id() -> None:
    """GroupMetadataManagerTest.testStaticMemberJoinWithUnknownInstanceIdAndKnownMemberId (4.4)."""
    h = _stable()
    answer = h.join("s", instance="unknown")
    assert answer is not None
    assert answer.error is Error.UNKNOWN_MEMBER_ID
