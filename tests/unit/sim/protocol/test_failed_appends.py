"""Appends that fail while the group goes on: who is answered, and what is put back (GroupMetadataManager, 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.messages import Error, JoinResponse
from groupsim.sim.units import MS
from tests.support.groups import GroupHarness

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


def _replaced(name: str = "s", version: int = 9) -> tuple[GroupHarness, str, int]:
    """Static leader s and static follower f; ``name`` has come back, under an id whose append is open: its old id."""
    h = GroupHarness(append=50)
    for one in ("s", "f"):
        h.join(one, instance=one)
    h.sleep(6_000)
    h.sync("f", instance="f")
    h.sync("s", {"s": [0], "f": [1]}, instance="s")
    h.sleep(50)
    h.answers.clear()
    old = h.ids[name]
    assert h.ask(name, instance=name, session=30_000, version=version) is None
    assert h.state is STABLE
    h.ids[name] = h.group.roster.static[name]
    return h, old, h.last_batch


def _appended(h: GroupHarness, batch: int, error: Error = Error.NONE) -> list[tuple[str, Error]]:
    """The append ends: who is answered what."""
    h.answers.clear()
    h.take(h.group.on_appended(h.now * MS, batch, error))
    return [(name, answer.error) for name, answer in h.answers]


@pytest.mark.parametrize("name", ["s", "f"])
def test_a_replacement_that_fails_names_the_leader_that_there_was(name: str) -> None:
    """updateStaticMemberThenRebalanceOrCompleteJoin keeps ``currentLeader`` from before the new id."""
    h, old, batch = _replaced(name)
    leader = old if name == "s" else h.ids["s"]
    assert _appended(h, batch, Error.MESSAGE_TOO_LARGE) == [(name, Error.UNKNOWN_SERVER_ERROR)]
    answer = h.answer(name)
    assert isinstance(answer, JoinResponse)
    assert (answer.leader, answer.member_id, answer.members, answer.protocol_type) == (leader, "", (), "consumer")
    assert (h.group.roster.static[name], h.group.roster.leader) == (old, leader)


def test_it_is_put_back_though_a_rebalance_has_begun() -> None:
    """The group waits for the old member then, which is not parked."""
    h, old, batch = _replaced("f")
    h.ask("d", version=3)
    assert (h.state, h.group.roster.awaiting_join) == (PREPARING, 2)
    assert _appended(h, batch, Error.NOT_ENOUGH_REPLICAS) == [("f", Error.COORDINATOR_NOT_AVAILABLE)]
    assert (h.group.roster.static["f"], h.group.roster.awaiting_join, h.state) == (old, 1, PREPARING)
    assert h.group.session_due(old) == (h.now + 10_000) * MS


def test_the_join_that_replaced_it_is_refused_and_a_later_one_is_forgotten() -> None:
    """``responseFuture`` is completed, not ``awaitingJoinFuture``: the new member's second JoinGroup is lost."""
    h, old, batch = _replaced("f")
    h.ask("f", h.ids["f"], instance="f", topics=("other",))
    parked = h.group.roster.get(h.ids["f"])
    assert parked is not None
    second = parked.join_waiter
    h.answers.clear()
    replies = h.group.on_appended(h.now * MS, batch, Error.MESSAGE_TOO_LARGE).replies
    assert [(reply.response.error, reply.waiter == second) for reply in replies] == [
        (Error.UNKNOWN_SERVER_ERROR, False)
    ]
    assert h.group.roster.get(old) is not None
    assert h.group.roster.awaiting_join == 0


def test_a_later_join_is_what_a_good_append_answers() -> None:
    """``completeJoinFuture``: whatever the new member has parked by now."""
    h, _, batch = _replaced("f")
    h.ask("f", h.ids["f"], instance="f", topics=("other",))
    parked = h.group.roster.get(h.ids["f"])
    assert parked is not None
    second = parked.join_waiter
    replies = h.group.on_appended(h.now * MS, batch, Error.NONE).replies
    assert [(reply.response.error, reply.waiter == second) for reply in replies] == [(Error.NONE, True)]
    assert h.group.roster.awaiting_join == 0


def test_a_leader_is_not_told_of_a_generation_that_ends() -> None:
    """``currentClassicGroupMembers`` throws while PreparingRebalance: its join stays parked."""
    h, _, batch = _replaced("s")
    h.ask("d", version=3)
    assert _appended(h, batch) == []
    assert h.group.roster.awaiting_join == 2


def test_a_leader_before_v9_is_told_who_led_and_nothing_of_the_others() -> None:
    h, old, batch = _replaced("s", version=8)
    h.ask("d", version=3)
    assert _appended(h, batch) == [("s", Error.NONE)]
    answer = h.answer("s")
    assert isinstance(answer, JoinResponse)
    assert (answer.leader, answer.members) == (old, ())


def test_who_made_a_group_that_cannot_be_logged_is_refused_once_and_still_counts_as_joined() -> None:
    """classicGroupJoinToClassicGroup: the future is completed, the member stays, and nobody waits for it."""
    h = GroupHarness(append=50)
    h.ask("a", version=3)
    batch = h.last_batch
    assert _appended(h, batch, Error.NOT_LEADER_OR_FOLLOWER) == [("a", Error.NOT_COORDINATOR)]
    assert h.group.roster.awaiting_join == 1
    assert h.sleep(3_000) == []
    assert h.state is COMPLETING
