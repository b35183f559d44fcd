"""weighted by small examples."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.assignors import InvalidSnapshot, MemberSubscription, Topics, WeightedAssignor
from groupsim.assignors.evaluation.group_history import GroupHistory
from tests.unit.assignors.building import assigned, equal_group, group, labels, positions


def rated(*rates: int) -> Topics:
    """One topic with a partition for each rate."""
    return Topics(("t",), (len(rates),), rates=rates)


def worker(member_id: str, topics: Topics, owned: str = "", capacity: int | None = None) -> MemberSubscription:
    return MemberSubscription(member_id, topics.names, positions(topics, owned), capacity=capacity)


def test_the_longest_comes_first_and_goes_to_whom_it_burdens_least() -> None:
    """Greedily 7, 6, 5, 4, 3: 7 + 4 is 11 at m1, and then 6 + 5 at m2, who also has 11, and 3 by name."""
    topics = rated(3, 4, 5, 6, 7)
    snapshot = group(topics, worker("m1", topics), worker("m2", topics))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "t-0 t-1 t-4", "m2": "t-2 t-3"}


def test_a_member_of_twice_the_capacity_carries_twice_the_load() -> None:
    topics = rated(*[1] * 6)
    snapshot = group(topics, worker("m1", topics, capacity=1), worker("m2", topics, capacity=2))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "t-1 t-4", "m2": "t-0 t-2 t-3 t-5"}


def test_a_partition_moves_if_that_lowers_the_largest_load() -> None:
    topics = rated(5, 2, 1, 1)
    snapshot = group(topics, worker("m1", topics, "t-0 t-1"), worker("m2", topics, "t-2 t-3"))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "t-0", "m2": "t-1 t-2 t-3"}


def test_nothing_moves_if_the_largest_load_stays() -> None:
    """m1 cannot be relieved of its 9, so m2 keeps six partitions though m3 has none."""
    topics = rated(9, 1, 1, 1, 1, 1, 1)
    busy = worker("m2", topics, "t-1 t-2 t-3 t-4 t-5 t-6")
    snapshot = group(topics, worker("m1", topics, "t-0"), busy, worker("m3", topics))
    assert assigned(WeightedAssignor(), snapshot)["m3"] == ""


def test_what_one_of_the_most_loaded_gave_goes_back_if_another_cannot_give() -> None:
    """m1 could give one of its two, but m2, who carries as much, cannot."""
    topics = rated(2, 2, 4)
    snapshot = group(topics, worker("m1", topics, "t-0 t-1"), worker("m2", topics, "t-2"), worker("m3", topics))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "t-0 t-1", "m2": "t-2", "m3": ""}


def test_a_newcomer_relieves_everybody_if_that_lowers_the_largest_load() -> None:
    living = GroupHistory(WeightedAssignor, equal_group({"t": 6}, "m1", "m2"))
    assert labels(living.rebalance()) == ["t-0 t-2 t-4", "t-1 t-3 t-5"]
    living.change(members=[*living.snapshot.members, MemberSubscription("m3", ("t",))])
    assert labels(living.rebalance()) == ["t-2 t-4", "t-3 t-5", "t-0 t-1"]


def test_partitions_are_swapped_where_no_single_move_helps_and_the_greedy_does_better() -> None:
    """Moving one of m1's partitions would leave m2 with 9 at least, more than m1 has; 4 for 3 makes both 7."""
    topics = rated(4, 4, 3, 3)
    snapshot = group(topics, worker("m1", topics, "t-0 t-1"), worker("m2", topics, "t-2 t-3"))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "t-1 t-3", "m2": "t-0 t-2"}


def test_where_no_swap_suffices_equal_members_get_the_greedys_shares_with_much_staying() -> None:
    """Moving one 7 makes 19 and 16, and no swap 18 or less; the greedy comes to 9, 5, 4 and 7, 7, 3 from nothing."""
    topics = rated(7, 3, 7, 4, 5, 9)
    snapshot = group(topics, worker("m1", topics, "t-0 t-1 t-2 t-3 t-4"), worker("m2", topics, "t-5"))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "t-0 t-1 t-2", "m2": "t-3 t-4 t-5"}


def test_partitions_without_load_are_spread_by_number() -> None:
    topics = rated(0, 0, 0, 0, 8)
    snapshot = group(topics, worker("m1", topics), worker("m2", topics))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "t-4", "m2": "t-0 t-1 t-2 t-3"}


def test_rates_that_are_all_zero_count_as_none() -> None:
    topics = rated(0, 0, 0, 0)
    snapshot = group(topics, worker("m1", topics, "t-0 t-1 t-2 t-3"), worker("m2", topics))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "t-2 t-3", "m2": "t-0 t-1"}


def test_members_get_what_they_subscribe_to() -> None:
    topics = Topics(("a", "b"), (2, 2), rates=(9, 9, 1, 1))
    members = [MemberSubscription("m1", ("a", "b")), MemberSubscription("m2", ("b",))]
    assert assigned(WeightedAssignor(), group(topics, *members)) == {"m1": "a-0 a-1", "m2": "b-0 b-1"}


def test_loads_are_compared_exactly() -> None:
    """As floating point numbers, both members would be equally loaded."""
    topics = rated(10**20, 10**20, 1, 1)
    snapshot = group(topics, worker("m1", topics, "t-0 t-2 t-3"), worker("m2", topics, "t-1"))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "t-0 t-3", "m2": "t-1 t-2"}


def test_members_of_different_subscriptions_are_ranked_by_name_where_loads_are_equal() -> None:
    topics = Topics(("a", "b"), (1, 1), rates=(9, 1))
    subscriptions = {"m1": ("a", "b"), "m2": ("b",), "m3": ("a", "b")}
    snapshot = group(topics, *(MemberSubscription(name, names) for name, names in subscriptions.items()))
    assert assigned(WeightedAssignor(), snapshot) == {"m1": "a-0", "m2": "b-0", "m3": ""}


@pytest.mark.parametrize(
    ("capacities", "reason"),
    [
        ((1, None), "'m2' has no capacity"),
        ((None, 2), "'m1' has no capacity"),
        ((1, 0), "the capacity of 'm2' is not positive: 0"),
        ((-5, 1), "the capacity of 'm1' is not positive: -5"),
    ],
)
def test_capacities_that_make_no_sense_are_refused(capacities: tuple[int | None, int | None], reason: str) -> None:
    members = [worker(name, rated(1), capacity=each) for name, each in zip(("m1", "m2"), capacities, strict=True)]
    with pytest.raises(InvalidSnapshot, match=reason):
        WeightedAssignor().assign(group(rated(1), *members))


def test_nobody_and_nothing_are_fine() -> None:
    assert assigned(WeightedAssignor(), equal_group({})) == {}
    assert assigned(WeightedAssignor(), equal_group({"t": 2})) == {}
    assert assigned(WeightedAssignor(), equal_group({"t": 0}, "m1")) == {"m1": ""}
    grown = replace(worker("m1", rated(1)), topics=())
    assert assigned(WeightedAssignor(), group(rated(1), grown)) == {"m1": ""}
