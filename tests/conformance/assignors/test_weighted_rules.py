"""weighted against its rules written down plainly, and against what they are good for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.assignors import GroupSnapshot, MemberSubscription, Topics, WeightedAssignor, positions_of
from tests.conformance.assignors.small_groups import owner_before, small_groups

pytestmark = pytest.mark.property

groups_with_loads = small_groups(equal=False, loads=True) | small_groups(equal=True, loads=True)


class PlainRules:
    """The rules with fractions and searches through everything."""

    def __init__(self, group: GroupSnapshot) -> None:
        self.group = group
        rates = group.topics.rates
        self.rates = rates if rates is not None and any(rates) else (1,) * group.topics.n_partitions
        self.heaviest_first = sorted(range(len(self.rates)), key=lambda position: (-self.rates[position], position))

    def load(self, owner: list[int], member: int) -> Fraction:
        carried = sum(rate for rate, at in zip(self.rates, owner, strict=True) if at == member)
        return Fraction(carried, self.group.members[member].capacity or 1)

    def rank(self, owner: list[int], member: int) -> tuple[Fraction, Fraction]:
        return self.load(owner, member), Fraction(owner.count(member), self.group.members[member].capacity or 1)

    def largest(self, owner: list[int]) -> Fraction:
        return max(self.load(owner, member) for member in range(self.group.n_members))

    def takers(self, position: int) -> list[int]:
        name = self.group.topics.names[self.group.topics.topic_of[position]]
        subscribers = [at for at, member in enumerate(self.group.members) if name in member.topics]
        return sorted(subscribers, key=lambda at: self.group.member_ids[at])

    def given(self, owner: list[int], position: int) -> list[int]:
        """The same with a partition at whom it then burdens least."""
        trials = [[*owner[:position], taker, *owner[position + 1 :]] for taker in self.takers(position)]
        return min(trials, key=lambda trial: self.rank(trial, trial[position]))

    def filled(self, owner: list[int]) -> list[int]:
        """The same with what nobody has given out longest first."""
        for position in self.heaviest_first:
            if owner[position] == -1 and self.takers(position):
                owner = self.given(owner, position)
        return owner

    def greedy(self) -> Fraction:
        """The largest load of the longest-first greedy that starts from nothing."""
        return self.largest(self.filled([-1] * len(self.rates)))

    def answer(self) -> list[int]:
        """What gets along without exchanges."""
        best = owner = self.filled(owner_before(self.group))
        while (relieved := self.relieved(owner)) is not None:
            owner = relieved
            best = owner if self.largest(owner) < self.largest(best) else best
        return best

    def relieved(self, owner: list[int]) -> list[int] | None:
        """The same with the heaviest partition moved away from whoever has most that leaves the taker below that."""
        by_name = sorted(range(self.group.n_members), key=lambda at: self.group.member_ids[at])
        donor = max(by_name, key=lambda at: self.rank(owner, at))
        for position in self.heaviest_first:
            if owner[position] == donor and self.rates[position] > 0:
                trial = self.given(owner, position)
                if self.load(trial, trial[position]) < self.load(owner, donor):
                    return trial
        return None


def owners(group: GroupSnapshot) -> list[int]:
    owner = WeightedAssignor().assign(group).owner
    assert owner is not None
    return owner.tolist()


@given(group=groups_with_loads)
@settings(max_examples=200)
def test_weighted_follows_its_rules_where_the_greedy_does_no_better(group: GroupSnapshot) -> None:
    rules = PlainRules(group)
    if rules.largest(rules.answer()) <= rules.greedy():
        assert owners(group) == rules.answer()


@given(group=groups_with_loads)
@settings(max_examples=300)
def test_the_largest_load_is_never_above_that_of_the_greedy_that_starts_from_nothing(group: GroupSnapshot) -> None:
    rules = PlainRules(group)
    assert rules.largest(owners(group)) <= rules.greedy()


@given(seed=st.integers(0, 10**6), equal=st.booleans())
@settings(max_examples=100)
def test_in_larger_groups_too_neither_is_the_load_above_it_nor_does_anything_move_for_nothing(
    seed: int, equal: bool
) -> None:
    lots = Random(seed)
    counts, n_members = {"a": lots.randint(1, 20), "b": lots.randint(1, 20)}, lots.randint(2, 6)
    known = Topics.of(counts)
    topics = replace(known, rates=tuple(lots.randint(1, 99) for _ in range(known.n_partitions)))
    owner = np.array([lots.randrange(n_members) for _ in range(known.n_partitions)])
    read = [known.names if equal else lots.choice([("a",), ("b",), known.names]) for _ in range(n_members)]
    capacities = [lots.randint(1, 3) for _ in range(n_members)]
    group = GroupSnapshot(
        topics,
        tuple(
            MemberSubscription(f"m{at}", read[at], positions_of(np.flatnonzero(owner == at)), capacity=capacities[at])
            for at in range(n_members)
        ),
    )
    rules, before, after = PlainRules(group), owner_before(group), owners(group)
    assert rules.largest(after) <= rules.greedy()
    left = [now if was == -1 else was for was, now in zip(before, after, strict=True)]
    assert left == after or rules.largest(after) < rules.largest(left)


@given(group=groups_with_loads)
@settings(max_examples=200)
def test_no_single_move_would_lower_the_largest_load(group: GroupSnapshot) -> None:
    rules, owner = PlainRules(group), owners(group)
    for position, at in enumerate(owner):
        for taker in rules.takers(position) if at >= 0 else ():
            moved = [*owner[:position], taker, *owner[position + 1 :]]
            assert rules.largest(moved) >= rules.largest(owner)


@given(group=groups_with_loads)
@settings(max_examples=200)
def test_what_is_owned_moves_only_if_that_lowers_the_largest_load(group: GroupSnapshot) -> None:
    rules, before, owner = PlainRules(group), owner_before(group), owners(group)
    left = [now if was == -1 else was for was, now in zip(before, owner, strict=True)]
    if left != owner:
        assert rules.largest(owner) < rules.largest(left)


@given(group=groups_with_loads)
@settings(max_examples=200)
def test_nothing_moves_when_nothing_has_changed(group: GroupSnapshot) -> None:
    owner = np.array(owners(group))
    members = [replace(member, owned=np.flatnonzero(owner == at)) for at, member in enumerate(group.members)]
    assert owners(GroupSnapshot(group.topics, tuple(members))) == owner.tolist()
