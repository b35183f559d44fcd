"""Who is let in, who leads, and what the members agree on."""

from __future__ import annotations

import numpy as np
import pytest

from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.facts import Cause, MemberAdmitted, MemberRemoved, MemberSeen
from groupsim.sim.protocol.messages import Error, Subscription
from tests.support.groups import GroupHarness, in_state

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_join_group_inconsistent_group_protocol(state: GroupState) -> None:
    """GroupMetadataManagerTest.testJoinGroupInconsistentGroupProtocol (4.4): no id is handed out."""
    h = in_state(state)
    answer = h.ask("n", protocols=("sticky",))
    assert answer is not None
    assert answer.error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert not h.group.roster.pending
    known = h.join("b", protocols=("sticky",))
    assert known is not None
    assert known.error is Error.INCONSISTENT_GROUP_PROTOCOL


def test_join_group_with_empty_group_protocol() -> None:
    """GroupMetadataManagerTest.testJoinGroupWithEmptyGroupProtocol (4.4)."""
    answer = GroupHarness().ask("a", protocols=())
    assert answer is not None
    assert answer.error is Error.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("session", [5_999, 1_800_001])
def test_session_timeouts_outside_the_brokers_bounds_are_refused(session: int) -> None:
    """GroupCoordinatorService.joinGroup: group.min.session.timeout.ms, group.max.session.timeout.ms (4.4)."""
    answer = GroupHarness().ask("a", session=session)
    assert answer is not None
    assert answer.error is Error.INVALID_SESSION_TIMEOUT


def test_same_bytes_compares_user_data_with_arrays() -> None:
    """ClassicGroupMember.matches compares bytes; assignors put objects with arrays there."""
    one, same, other = (Subscription(("t",), user_data=(np.array([1, 2]), at)) for at in (1, 1, 2))
    assert one.same_bytes(same)
    assert not one.same_bytes(other)
    assert not one.same_bytes(Subscription(("t",), user_data=(np.array([1, 3]), 1)))
    assert not one.same_bytes(Subscription(("t",), generation=3, user_data=one.user_data))


@pytest.mark.parametrize(
    ("lists", "selected"),
    [
        ([("range", "sticky"), ("sticky", "range"), ("sticky", "range")], "sticky"),
        ([("range", "sticky"), ("sticky", "range")], "sticky"),
        ([("range", "roundrobin"), ("roundrobin", "range")], "range"),
        ([("roundrobin", "cooperative-sticky"), ("cooperative-sticky", "roundrobin")], "roundrobin"),
        ([("sticky", "range"), ("sticky", "range"), ("range",)], "range"),
        ([("range", "mine"), ("mine", "range")], "mine"),
        ([("balanced", "range"), ("range", "balanced")], "range"),
        ([("a", "q"), ("q", "a")], "a"),
        ([("q", "a"), ("a", "q")], "q"),
    ],
)
def test_the_assignor_is_voted_for(lists: list[tuple[str, ...]], selected: str) -> None:
    """ClassicGroup.selectProtocol, candidateProtocols; ties in the order of a Java HashMap (4.4).

    "a" and "q" are in the same bucket: there the first vote comes first.
    """
    h = GroupHarness()
    for at, protocols in enumerate(lists):
        h.join(f"m{at}", protocols=protocols)
    h.sleep(6_000)
    assert h.group.protocol == selected


def test_leadership_is_sticky_and_passes_on_when_the_leader_is_gone() -> None:
    """ClassicGroup.add, remove, maybeElectNewJoinedLeader (4.4)."""
    h = in_state(STABLE)
    h.join("c")
    h.join("b")
    h.join("a")
    assert h.group.roster.leader == h.ids["a"]
    h.leave("a")
    assert h.group.roster.leader in (h.ids["b"], h.ids["c"])


def test_join_group_should_receive_error_if_group_over_max_size() -> None:
    """GroupMetadataManagerTest.testJoinGroupShouldReceiveErrorIfGroupOverMaxSize (KIP-389, 4.4)."""
    h = GroupHarness(max_size=2).stable("a", "b")
    answer = h.join("c")
    assert answer is not None
    assert answer.error is Error.GROUP_MAX_SIZE_REACHED
    assert h.state is STABLE
    assert h.heartbeat("b") is Error.NONE


def test_last_joining_members_are_kicked_out_when_rejoining_group_with_max_size() -> None:
    """GroupMetadataManagerTest.testLastJoiningMembersAreKickedOutWhenRejoiningGroupWithMaxSize (4.4)."""
    h = GroupHarness(max_size=2).stable("a", "b")
    h.join("a")
    h.facts.clear()
    assert h.ask("c", version=3) is None
    answer = h.join("b")
    assert answer is not None
    assert answer.error is Error.GROUP_MAX_SIZE_REACHED
    assert h.members == {"a", "c"}
    removed = MemberRemoved(h.ids["b"], "b", Cause.NOT_REJOINED)
    assert h.facts == [MemberSeen("c-8", ("t",)), MemberAdmitted("c-8", "c"), removed]
    assert h.state is PREPARING


def test_a_pending_member_that_is_too_many_is_forgotten() -> None:
    """ClassicGroup.remove takes a pending id out as well (4.4)."""
    h = GroupHarness(max_size=3).stable("a", "b")
    h.ask("p")
    h.ask("c", version=3)
    h.join("a")
    h.join("b")
    answer = h.join("p")
    assert answer is not None
    assert answer.error is Error.GROUP_MAX_SIZE_REACHED
    assert not h.group.roster.pending
