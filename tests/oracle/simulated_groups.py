"""What the group machines of a simulated run tell, as a recording tells it from the broker's log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.rebalances import trigger_of
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.consumer.messages import STATIC_LEAVE_EPOCH
from groupsim.sim.protocol.facts import (
    Cause,
    GroupConverted,
    GroupEpochBumped,
    MemberAdmitted,
    MemberIdGiven,
    MemberReconciled,
    MemberRemoved,
    MemberReplaced,
    StateChanged,
    TargetComputed,
)
from groupsim.sim.protocol.facts import Fact as GroupFact
from groupsim.sim.protocol.messages import Positions
from tests.oracle.trace import Fact, compact


def hear_groups(patch: pytest.MonkeyPatch, facts: list[Fact]) -> None:
    """Let every group tell ``facts`` what happens in it."""
    note, told = GroupBooks.note, _Told()

    def tapped(self: GroupBooks, news: Sequence[GroupFact]) -> None:
        note(self, news)
        for fact in news:
            translated = told.translated(self, fact)
            if translated is not None:
                facts.append({"what": translated.pop("what"), "at_us": self._env.now, "group": self.name, **translated})

    patch.setattr(GroupBooks, "note", tapped)


class _Told:
    """Facts of machines -> facts of a trace."""

    def __init__(self) -> None:
        self._successors: set[str] = set()
        self._names: dict[str, str] = {}
        self._work: dict[type[GroupFact], Callable[[GroupBooks, Any], Fact | None]] = {
            StateChanged: _transition,
            MemberIdGiven: self._given,
            MemberAdmitted: self._admitted,
            MemberRemoved: self._removed,
            MemberReplaced: self._replaced,
            GroupEpochBumped: lambda _, fact: {"what": "epoch", "epoch": fact.epoch},
            TargetComputed: lambda _, fact: {"what": "target", "epoch": fact.epoch, "assignor": fact.assignor},
            GroupConverted: lambda _, fact: {"what": "converted", "to": fact.protocol},
            MemberReconciled: self._reconciled,
        }

    def translated(self, group: GroupBooks, fact: GroupFact) -> Fact | None:
        """What a trace has of it, if anything."""
        work = self._work.get(type(fact))
        return work(group, fact) if work is not None else None

    def _given(self, _: GroupBooks, fact: MemberIdGiven) -> Fact:
        return _membership(fact.name, fact.member_id, "pending")

    def _admitted(self, _: GroupBooks, fact: MemberAdmitted) -> Fact | None:
        self._names[fact.member_id] = fact.name
        if fact.member_id in self._successors:
            return None  # Kafka's log has one line for who is replaced by whom.
        return _membership(fact.name, fact.member_id, "added")

    def _removed(self, _: GroupBooks, fact: MemberRemoved) -> Fact:
        return _membership(fact.name, fact.member_id, "left" if fact.cause is Cause.LEFT else "failed")

    def _replaced(self, _: GroupBooks, fact: MemberReplaced) -> Fact:
        self._successors.add(fact.successor)
        self._names[fact.successor] = fact.name
        return _membership(fact.name, fact.member_id, "replaced")

    def _reconciled(self, group: GroupBooks, fact: MemberReconciled) -> Fact:
        name = self._names[fact.member_id]
        if fact.epoch == STATIC_LEAVE_EPOCH:
            return _membership(name, fact.member_id, "absent")
        return {
            "what": "reconciled", "member": name, "member_id": fact.member_id, "epoch": fact.epoch,
            "state": fact.state, "assigned": _named(group, fact.assigned), "pending": _named(group, fact.pending),
        }  # fmt: skip


def _transition(group: GroupBooks, fact: StateChanged) -> Fact | None:
    """Of a classic group: a consumer group's state is never logged."""
    if not isinstance(fact.state, GroupState):
        return None
    begins = fact.state is GroupState.PREPARING_REBALANCE
    return {
        "what": "transition", "state": fact.state.value, "generation": fact.generation,
        "members": group.rebalances.members, "trigger": trigger_of(fact.reason) if begins else None,
        "reason": fact.reason,
    }  # fmt: skip


def _membership(name: str, member_id: str, change: str) -> Fact:
    return {"what": "membership", "member": name, "member_id": member_id, "change": change}


def _named(group: GroupBooks, positions: Positions) -> dict[str, list[int]]:
    numbers = group.partitions.number
    return compact((group.partitions.topic[one], int(numbers[one])) for one in positions.tolist())
