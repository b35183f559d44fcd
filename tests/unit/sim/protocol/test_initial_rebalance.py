"""Empty to the first generation: initial-rebalance delay, its windows and its cap."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.messages import Error
from tests.support.groups import GroupHarness


def _arrivals(h: GroupHarness, arrivals: list[int], rebalance: int) -> None:
    for at in arrivals:
        h.sleep(at - h.now)
        h.join(f"m{at}", rebalance=rebalance)


def test_delay_initial_rebalance_by_group_initial_rebalance_delay_on_empty_group() -> None:
    """GroupMetadataManagerTest.testDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup (4.4)."""
    h = GroupHarness(delay=3_000)
    h.join("a")
    assert h.deadline == 3_000
    assert h.sleep(2_999) == []
    assert (h.state, h.group.generation) == (GroupState.PREPARING_REBALANCE, 0)
    assert h.sleep(1) == [("a", Error.NONE)]
    assert (h.state, h.group.generation) == (GroupState.COMPLETING_REBALANCE, 1)


def test_reset_rebalance_delay_when_new_member_joins_group_during_initial_rebalance() -> None:
    """GroupMetadataManagerTest.testResetRebalanceDelayWhenNewMemberJoinsGroupDuringInitialRebalance (4.4)."""
    h = GroupHarness(delay=3_000)
    h.join("a")
    h.sleep(2_999)
    h.join("b")
    assert h.sleep(3_000) == []
    assert sorted(h.sleep(1)) == [("a", Error.NONE), ("b", Error.NONE)]


@pytest.mark.parametrize(
    ("delay", "rebalance", "arrivals", "end"),
    [
        (3_000, 300_000, [0], 3_000),
        (3_000, 300_000, [0, 1_000], 6_000),
        (3_000, 300_000, [0, 1_000, 3_500, 7_000], 12_000),
        (3_000, 7_500, [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000], 7_500),
        (3_000, 2_000, [0, 1_000], 3_000),
    ],
)
def test_windows_are_extended_by_arrivals_up_to_the_first_joiners_rebalance_timeout(
    delay: int, rebalance: int, arrivals: list[int], end: int
) -> None:
    """GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule (4.4); testDelayRebalanceUptoRebalanceTimeout."""
    h = GroupHarness(delay=delay)
    _arrivals(h, arrivals, rebalance)
    h.sleep(end - 1 - h.now)
    assert h.state is GroupState.PREPARING_REBALANCE
    assert len(h.sleep(1)) == len(arrivals)
    assert h.state is GroupState.COMPLETING_REBALANCE


def test_who_comes_after_the_last_window_starts_a_second_round() -> None:
    """The timer of the initial rebalance is gone by then (tryCompleteInitialRebalanceElseSchedule)."""
    h = GroupHarness(delay=3_000)
    _arrivals(h, [0, 1_000, 3_500, 7_000, 13_000], 300_000)
    assert (h.state, h.group.generation) == (GroupState.PREPARING_REBALANCE, 1)


def test_a_rejoin_of_a_known_member_does_not_extend_the_window() -> None:
    """Only addMemberThenRebalanceOrCompleteJoin sets newMemberAdded (4.4)."""
    h = GroupHarness(delay=3_000)
    h.join("a")
    h.sleep(1_000)
    h.join("a")
    assert h.sleep(2_000) == [("a", Error.NONE)]


def test_an_arrival_that_the_cap_cut_off_extends_the_next_initial_rebalance() -> None:
    """newMemberAdded stays set when the cap ends the wait (tryCompleteInitialRebalanceElseSchedule, 4.4)."""
    h = GroupHarness(delay=3_000)
    _arrivals(h, [0, 1_000, 3_500], 4_000)
    assert len(h.sleep(500)) == 3
    for name in list(h.ids):
        h.leave(name)
    assert h.state is GroupState.EMPTY
    h.join("late")
    assert h.sleep(3_000) == []
    assert h.sleep(3_000) == [("late", Error.NONE)]


def test_without_a_delay_the_group_completes_at_the_same_instant() -> None:
    """group.initial.rebalance.delay.ms=0: the timer is armed and fires at once (prepareRebalance, 4.4)."""
    h = GroupHarness(delay=0)
    h.join("a")
    assert h.deadline == 0
    assert h.sleep(0) == [("a", Error.NONE)]


def test_leaving_does_not_complete_an_initial_rebalance() -> None:
    """GroupMetadataManager.maybeCompleteJoinPhase: not while the previous state is Empty (4.4)."""
    h = GroupHarness(delay=3_000)
    h.join("a")
    h.join("b")
    assert h.leave("b") is Error.NONE
    assert h.state is GroupState.PREPARING_REBALANCE
    h.leave("a")
    assert h.state is GroupState.PREPARING_REBALANCE
    h.sleep(6_000)
    assert (h.state, h.group.generation) == (GroupState.EMPTY, 1)


def test_expiry_of_a_pending_member_completes_an_initial_rebalance() -> None:
    """GroupMetadataManager.removePendingMemberAndUpdateClassicGroup, unlike maybeCompleteJoinPhase (4.4)."""
    h = GroupHarness(delay=30_000)
    h.join("a", session=50_000)
    h.ask("p", session=6_000)
    assert h.sleep(5_999) == []
    assert h.sleep(1) == [("a", Error.NONE)]


def test_expiry_of_a_pending_member_completes_an_initial_rebalance_without_members() -> None:
    """hasAllMembersJoined holds for nobody; completeClassicGroupJoin then empties the group (4.4)."""
    h = GroupHarness(delay=30_000)
    h.join("a")
    h.ask("p", session=6_000)
    h.leave("a")
    h.sleep(6_000)
    assert (h.state, h.group.generation) == (GroupState.EMPTY, 1)


def test_a_group_that_was_emptied_is_delayed_again() -> None:
    """Every Empty -> PreparingRebalance is initial (prepareRebalance, 4.4)."""
    h = GroupHarness(delay=3_000).stable("a")
    h.leave("a")
    assert (h.state, h.group.generation) == (GroupState.EMPTY, 2)
    h.ids.clear()
    h.join("b")
    assert h.deadline == h.now + 3_000
    h.sleep(3_000)
    assert h.group.generation == 3


def test_an_arrival_in_a_later_rebalance_does_not_extend_the_next_initial_one() -> None:
    """newMemberAdded is set only while the previous state is Empty (addMemberThenRebalanceOrCompleteJoin, 4.4)."""
    h = GroupHarness(delay=3_000).stable("a")
    h.ask("b", version=3)
    h.ask("c", version=3)
    assert h.state is GroupState.PREPARING_REBALANCE
    for member in list(h.group.roster):
        h.ids[member.name] = member.member_id
        h.leave(member.name)
    assert h.state is GroupState.EMPTY
    h.ids.clear()
    h.join("d")
    assert h.sleep(3_000) == [("d", Error.NONE)]


def test_expiry_of_a_new_member_completes_an_initial_rebalance() -> None:
    """GroupMetadataManager.removeMemberAndUpdateClassicGroup does not ask for the previous state (4.4)."""
    h = GroupHarness(delay=400_000)
    h.join("a")
    h.sleep(100_000)
    h.join("b")
    assert h.sleep(199_999) == []
    assert h.sleep(1) == [("a", Error.UNKNOWN_MEMBER_ID), ("b", Error.NONE)]
