"""A group that goes through rebalances without a clock: for trying assignors out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from groupsim.assignors.core.interface import Assignor, Protocol, Side
from groupsim.assignors.core.snapshot import NOTHING, Assignment, GroupSnapshot, MemberSubscription, Positions, Topics
from groupsim.assignors.guarded_call import ask, blaming
from groupsim.assignors.validity import check_valid, without_owner

Make: TypeAlias = Callable[[], Assignor]
MAX_ROUNDS = 4


class GroupHistory:
    """A group that goes through rebalances: its consumers keep their assignors, and claim what they have got.

    Parameters
    ----------
    make : callable
        Makes a new assignor, for one consumer.
    snapshot : GroupSnapshot
        What the next leader will be given.
    """

    def __init__(self, make: Make, snapshot: GroupSnapshot) -> None:
        self.make = make
        self.snapshot = snapshot
        self._assignors: dict[str, Assignor] = {}
        self._generation = max((member.generation or 0 for member in snapshot.members), default=0)

    def rebalance(self) -> Assignment:
        """One rebalance, with its follow-up rounds if the assignor is cooperative."""
        for _ in range(MAX_ROUNDS):
            assignment = self._round()
            if assignment.shared or not _waits(self.make(), self.snapshot, assignment):
                break
        return assignment

    def change(self, *, members: Sequence[MemberSubscription] | None = None, topics: Topics | None = None) -> None:
        """Change the group before the next rebalance; members that stay must be taken from `snapshot`."""
        old = self.snapshot
        stay = old.members if members is None else tuple(members)
        if topics is not None:
            stay = tuple(replace(member, layout=member.layout or old.topics) for member in stay)
        self.snapshot = GroupSnapshot(topics or old.topics, stay)

    def _round(self) -> Assignment:
        consumers = [self._assignors.setdefault(each, self.make()) for each in self.snapshot.member_ids]
        leader = consumers[0] if consumers else self.make()
        assignment = ask(leader, self.snapshot)
        check_valid(self.snapshot, assignment)
        self._generation += 1
        members = []
        for member, consumer, positions in zip(self.snapshot.members, consumers, assignment.lists(), strict=True):
            with blaming(consumer.name):
                consumer.on_assignment(assignment.topics, positions, self._generation)
                data = consumer.subscription_user_data()
            owned = _owned(consumer, positions)
            members.append(
                replace(member, owned=owned, layout=assignment.topics, generation=self._generation, user_data=data)
            )
        self.snapshot = GroupSnapshot(self.snapshot.topics, tuple(members))
        return assignment


def _owned(consumer: Assignor, positions: Positions) -> Positions:
    """What a member owns when it joins again or, for the coordinator's assignor, its target."""
    if consumer.side is Side.SERVER:
        return positions
    return np.sort(positions) if Protocol.COOPERATIVE in consumer.protocols else NOTHING


def _waits(assignor: Assignor, snapshot: GroupSnapshot, assignment: Assignment) -> bool:
    """Whether somebody has revoked something and will therefore join again."""
    return Protocol.COOPERATIVE in assignor.protocols and len(without_owner(snapshot, assignment)) > 0
