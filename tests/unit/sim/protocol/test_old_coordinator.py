"""The coordinator of 0.9.0.1 (kafka.coordinator.GroupCoordinator)."""

from __future__ import annotations

from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.messages import Error, JoinResponse
from tests.support.groups import GroupHarness, in_state

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


def test_the_first_member_is_alone_in_generation_1_at_once() -> None:
    """prepareRebalance: no initial delay, no member id asked for."""
    h = GroupHarness(version="0.9")
    answer = h.ask("a")
    assert isinstance(answer, JoinResponse)
    assert (answer.error, answer.generation) == (Error.NONE, 1)


def test_heartbeats_outside_stable_are_refused_whoever_sends_them_and_renew_nothing() -> None:
    """handleHeartbeat asks for the state before it asks for the member."""
    for state in (PREPARING, COMPLETING):
        h = in_state(state, version="0.9")
        h.sleep(1_000)
        h.ids["x"] = "nobody"
        assert h.heartbeat("x") is Error.REBALANCE_IN_PROGRESS
        assert h.heartbeat("b") is Error.REBALANCE_IN_PROGRESS
        assert h.group.session_due(h.ids["b"]) == 10_000_000
    assert in_state(EMPTY, version="0.9").heartbeat("a") is Error.UNKNOWN_MEMBER_ID


def test_commits_do_not_renew_the_session() -> None:
    """handleCommitOffsets has no completeAndScheduleNextHeartbeatExpiration yet."""
    h = in_state(STABLE, version="0.9")
    h.sleep(1_000)
    assert h.commit("b") is Error.NONE
    assert h.group.session_due(h.ids["b"]) == 10_000_000


def test_sync_group_renews_the_session_in_stable_too() -> None:
    """doSyncGroup, case Stable."""
    h = in_state(STABLE, version="0.9")
    h.sleep(1_000)
    h.sync("b")
    assert h.group.session_due(h.ids["b"]) == 11_000_000


def test_there_is_no_sync_timer() -> None:
    """KAFKA-12890 came with 2.8.1: a leader that only heartbeats keeps the group where it is."""
    h = GroupHarness(version="0.9")
    h.join("a", session=1_800_000)
    h.sleep(1_000_000)
    assert h.state is COMPLETING


def test_the_rebalance_timeout_drops_who_has_not_rejoined() -> None:
    """onCompleteJoin removes notYetRejoinedMembers; the largest session timeout counts, as the client sends it."""
    h = GroupHarness(version="0.9")
    h.join("a", session=100_000, rebalance=10_000)
    h.join("b", session=100_000, rebalance=10_000)
    assert h.sleep(9_999) == []
    assert h.sleep(1) == [("b", Error.NONE)]
    assert h.members == {"b"}


def test_a_group_without_members_is_gone_and_starts_at_generation_1_again() -> None:
    """onCompleteJoin: Dead, removed, and no new generation."""
    h = in_state(STABLE, version="0.9")
    h.leave("a")
    h.leave("b")
    assert (h.state, h.group.generation) == (EMPTY, 0)
    h.ids.clear()
    answer = h.ask("n")
    assert answer is not None
    assert answer.generation == 1
