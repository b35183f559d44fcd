"""uniform: who keeps what, who gets one more, and what is evened out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors import UniformAssignor, positions_of
from groupsim.assignors.server.member_balancer import MemberBalancer, least_loaded
from groupsim.assignors.server.target_records import needs_record, written_targets
from tests.unit.assignors.building import labels
from tests.unit.assignors.server.specs import assigned, spec


def test_a_group_without_members_gets_nothing() -> None:
    assert UniformAssignor().assign_group(spec({"t": 1}, {})).n_members == 0


def test_extras_of_a_first_assignment_go_to_the_last_members() -> None:
    members = dict.fromkeys("abcd", ("t", ""))
    assert [len(each.split()) for each in assigned(UniformAssignor(), spec({"t": 6}, members)).values()] == [1, 1, 2, 2]


def test_who_has_an_extra_keeps_it() -> None:
    members = {"a": ("t", "t-0 t-1"), "b": ("t", "t-2"), "c": ("t", "t-3 t-4")}
    assert assigned(UniformAssignor(), spec({"t": 5}, members)) == {"a": "t-0 t-1", "b": "t-2", "c": "t-3 t-4"}


def test_an_extra_that_is_left_over_goes_to_the_last_that_has_room() -> None:
    """b gives up what is one too many: two of the three extras stay where they are, the third goes to d, not to c."""
    members = {"a": ("t", "t-0 t-1"), "b": ("t", "t-2 t-3 t-4"), "c": ("t", "t-5"), "d": ("t", "t-6")}
    told = assigned(UniformAssignor(), spec({"t": 7}, members))
    assert told == {"a": "t-0 t-1", "b": "t-2 t-3", "c": "t-5", "d": "t-4 t-6"}


@pytest.mark.parametrize(("target", "kept"), [("t-0 t-16", "t-0"), ("t-16 t-0", "t-16"), ("t-1 t-16", "t-16")])
def test_a_target_is_cut_where_its_hash_table_ends(target: str, kept: str) -> None:
    """0 and 16 share a bucket, in the order of the record; 1 comes after both."""
    members = {"a": ("t", target), **dict.fromkeys("bcdefghijklmnopqr", ("t", ""))}
    assert assigned(UniformAssignor(), spec({"t": 17}, members))["a"] == kept
    assert assigned(UniformAssignor(java_order=False), spec({"t": 17}, members))["a"] == min(target.split(), key=number)


def number(label: str) -> int:
    return int(label.rpartition("-")[2])


def test_partitions_of_topics_nobody_names_any_more_are_dropped() -> None:
    members = {"a": ("t", "t-0 u-0"), "b": ("t", "u-1")}
    assert assigned(UniformAssignor(), spec({"t": 2, "u": 2}, members)) == {"a": "t-0", "b": "t-1"}


@pytest.mark.parametrize("names", ["", "unknown"])
def test_without_known_topics_all_targets_are_emptied(names: str) -> None:
    members = {"a": (names, "t-0"), "b": (names, "")}
    assert assigned(UniformAssignor(), spec({"t": 1}, members)) == {"a": "", "b": ""}


def test_with_unequal_subscriptions_crowded_topics_come_first() -> None:
    """u has more partitions for a subscriber than t; a has its fill when t is given away."""
    members = {"a": ("t u", ""), "b": ("t", "")}
    told = assigned(UniformAssignor(), spec({"t": 3, "u": 2}, members))
    assert told == {"a": "u-0 u-1", "b": "t-0 t-1 t-2"}


def test_with_unequal_subscriptions_the_highest_numbers_move() -> None:
    members = {"a": ("t", "t-0 t-1 t-2 t-3"), "b": ("t u", ""), "c": ("u", "")}
    assert assigned(UniformAssignor(), spec({"t": 4, "u": 1}, members)) == {"a": "t-0 t-1", "b": "t-2 t-3", "c": "u-0"}


def test_a_long_chain_of_subscriptions_is_not_evened_out_in_one_go() -> None:
    """All topics are gone through sixteen times at most; the next assignment goes on where this one stopped."""
    counts = {f"t{at:02}": 41 - 3 * at for at in range(12)}
    topics = ["t00", *(f"t{at:02} t{at - 1:02}" for at in range(1, 12))]
    members = {
        f"m{at:02}": (names, " ".join(f"t{at:02}-{number}" for number in range(count)))
        for at, (names, count) in enumerate(zip(topics, counts.values(), strict=True))
    }
    first = UniformAssignor().assign_group(spec(counts, members))
    assert first.counts.tolist()[:8] == [32, 31, 30, 29, 27, 26, 26, 23]
    again = spec(counts, {name: (members[name][0], told) for name, told in zip(members, labels(first), strict=True)})
    assert UniformAssignor().assign_group(again).counts.tolist()[:8] == [31, 30, 30, 29, 28, 27, 26, 23]


@given(
    loads=st.lists(st.integers(0, 9), min_size=1, max_size=8),
    count=st.integers(1, 60),
    others=st.lists(st.integers(0, 9), max_size=3),
)
def test_the_least_loaded_get_the_next_ones(loads: list[int], count: int, others: list[int]) -> None:
    """One by one, as the balancer does it."""
    subscribers = np.arange(len(others), len(others) + len(loads), dtype=np.int32)
    size = np.array(others + loads)
    ranked = sorted(subscribers.tolist(), key=lambda member: (size[member], member))
    balancer = MemberBalancer([int(size[member]) for member in ranked], [[] for _ in ranked])
    expected = []
    for _ in range(count):
        taker = balancer._least()
        balancer.loads[taker] += 1
        expected.append(ranked[taker])
    assert least_loaded(subscribers, size, count).tolist() == expected


def test_records_are_written_where_sets_differ_and_keep_their_order_elsewhere() -> None:
    members = {"a": ("t", "t-1 t-0"), "b": ("t", "t-3 t-2 t-4"), "c": ("t", "")}
    group = spec({"t": 6}, members)
    assignment = UniformAssignor().assign_group(group)
    assert needs_record(group, assignment).tolist() == [False, True, True]
    assert labels(written_targets(group, assignment)) == ["t-1 t-0", "t-2 t-3", "t-4 t-5"]


def test_a_target_with_a_topic_that_is_gone_needs_a_record() -> None:
    group = spec({"t": 1}, {"a": ("t", "t-0")})
    group.gone[:] = 1
    assert needs_record(group, group.target).tolist() == [True]
    assert positions_of([0]).tolist() == UniformAssignor().assign_group(group).list_of(0).tolist()
