"""random and broadcast, which Kafka does not have."""

from __future__ import annotations

from collections import Counter

import numpy as np

from groupsim.assignors import BroadcastAssignor, MemberSubscription, RandomAssignor, Topics
from tests.unit.assignors.building import assigned, equal_group, group


def test_equal_seeds_draw_equally_and_others_do_not() -> None:
    snapshot = equal_group({"t": 40}, "a", "b", "c")
    assert assigned(RandomAssignor(seed=1), snapshot) == assigned(RandomAssignor(seed=1), snapshot)
    assert assigned(RandomAssignor(seed=1), snapshot) != assigned(RandomAssignor(seed=2), snapshot)


def test_every_generation_draws_anew() -> None:
    topics = Topics.of({"t": 40})
    first = group(topics, *(MemberSubscription(each, ("t",), generation=1) for each in "abc"))
    second = group(topics, *(MemberSubscription(each, ("t",), generation=2) for each in "abc"))
    assert assigned(RandomAssignor(), first) != assigned(RandomAssignor(), second)


def test_a_draw_does_not_depend_on_other_topics() -> None:
    alone, among_others = equal_group({"t": 30}, "a", "b"), equal_group({"s": 7, "t": 30}, "a", "b")
    of_t = [each for each in assigned(RandomAssignor(), among_others)["a"].split() if each.startswith("t")]
    assert of_t == assigned(RandomAssignor(), alone)["a"].split()


def test_draws_are_even_and_uneven_enough() -> None:
    counts = RandomAssignor().assign(equal_group({"t": 10_000}, *map(str, range(10)))).counts
    assert 900 < counts.min() < counts.max() < 1100
    assert len(Counter(counts.tolist())) > 3


def test_broadcast_gives_everything_to_everybody() -> None:
    snapshot = group(
        Topics.of({"t": 2, "u": 1}), MemberSubscription("a", ("t", "u")), MemberSubscription("b", ("u", "unknown"))
    )
    assert assigned(BroadcastAssignor(), snapshot) == {"a": "t-0 t-1 u-0", "b": "u-0"}
    assert BroadcastAssignor().assign(snapshot).owner is None


def test_broadcast_to_many_members_costs_no_more_than_the_topics() -> None:
    assignment = BroadcastAssignor().assign(equal_group({"t": 100_000}, *map(str, range(10_000))))
    assert len(assignment.flat) == 100_000
    assert int(assignment.counts.sum()) == 10**9
    assert assignment.shared
    assert np.array_equal(assignment.list_of(9_999), np.arange(100_000))
