"""What is said to be the best possible, against trying everything."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

from groupsim.assignors import GroupSnapshot, LeaderRackAssignor, MemberSubscription, Topics, positions_of
from groupsim.assignors.evaluation.quality import minimal_moves
from tests.conformance.assignors.small_groups import all_assignments, owner_before, small_groups

pytestmark = pytest.mark.property


def merits(group: GroupSnapshot, owner: Sequence[int]) -> tuple[list[int], int, int]:
    """What leader-rack looks at, the smaller the better: counts from the largest, partitions not local, moves."""
    leaders = [racks[0] for racks in group.topics.racks or ((None,),) * len(owner)]
    readers = [group.members[at].rack if at >= 0 else None for at in owner]
    local = [here is not None and here == there for here, there in zip(readers, leaders, strict=True)]
    counts = sorted((owner.count(at) for at in range(group.n_members)), reverse=True)
    return counts, local.count(False), moves(owner_before(group), owner)


def assert_nothing_is_better(group: GroupSnapshot) -> None:
    owner = LeaderRackAssignor().assign(group).owner
    assert owner is not None
    assert merits(group, owner.tolist()) == min(merits(group, each) for each in all_assignments(group))


@given(group=small_groups(equal=True))
@settings(max_examples=150)
def test_no_assignment_is_better_than_leader_racks_with_equal_subscriptions(group: GroupSnapshot) -> None:
    assert_nothing_is_better(group)


@given(group=small_groups(equal=False))
@settings(max_examples=150)
def test_no_assignment_is_better_than_leader_racks_with_unequal_subscriptions(group: GroupSnapshot) -> None:
    """The counts, sorted, are then the smallest in the order of dictionaries, which is the most balanced."""
    assert_nothing_is_better(group)


@pytest.mark.parametrize("seed", range(12))
def test_leader_rack_is_as_good_as_a_linear_program_on_larger_groups(seed: int) -> None:
    group, leader_of, rack_of, before = larger_group(seed)
    owner = LeaderRackAssignor().assign(group).owner
    assert owner is not None
    cost = 1000 * (leader_of[:, None] != rack_of) + (before[:, None] != np.arange(group.n_members))
    assert cost[np.arange(len(owner)), owner].sum() == least_cost(cost)


def larger_group(seed: int) -> tuple[GroupSnapshot, np.ndarray, np.ndarray, np.ndarray]:
    """Hundreds of partitions on dozens of members in some racks, owned at random; and what all of that is by number."""
    draw = np.random.default_rng(seed)
    n_members, n_partitions, n_racks = draw.integers((10, 100, 2), (40, 400, 7)).tolist()
    leader_of, rack_of = draw.integers(0, n_racks, n_partitions), draw.integers(0, n_racks - 1, n_members)
    before = draw.integers(0, n_members, n_partitions)
    topics = Topics(("t",), (n_partitions,), tuple((str(rack),) for rack in leader_of))
    owned = [positions_of(np.flatnonzero(before == at)) for at in range(n_members)]
    ids = [f"m{at:02}" for at in range(n_members)]
    members = [
        MemberSubscription(name, ("t",), owned=mine, rack=str(rack))
        for name, mine, rack in zip(ids, owned, rack_of, strict=True)
    ]
    return GroupSnapshot(topics, tuple(members)), leader_of, rack_of, before


def least_cost(cost: np.ndarray) -> int:
    """The least that giving each row to a column can cost if the columns' numbers of rows differ by one at most."""
    n_rows, n_columns = cost.shape
    cell = np.arange(cost.size)
    once = coo_array((np.ones(cost.size), (cell // n_columns, cell)))
    load = coo_array((np.ones(cost.size), (cell % n_columns, cell)))
    low, high = n_rows // n_columns, -(-n_rows // n_columns)
    found = linprog(
        cost.ravel(),
        A_eq=once.tocsr(),
        b_eq=np.ones(n_rows),
        A_ub=vstack([load, -load]).tocsr(),
        b_ub=np.repeat([high, -low], n_columns),
    )
    return round(found.fun)


Case = tuple[list[int], list[int], np.ndarray]


@st.composite
def rebalances(draw: st.DrawFn, *, equal: bool) -> Case:
    """Owners before and after, and who may own what; the last two owners have left or are new."""
    n_partitions, n_owners = draw(st.integers(0, 6)), draw(st.integers(1, 4))
    row = st.lists(st.booleans(), min_size=n_partitions, max_size=n_partitions)
    rows = draw(st.lists(row, min_size=n_owners, max_size=n_owners))
    may_own = np.array(rows, dtype=bool).reshape(n_owners, n_partitions)
    may_own |= equal
    before = draw(st.lists(st.integers(-1, n_owners - 1), min_size=n_partitions, max_size=n_partitions))
    after = [draw(st.sampled_from([-1, *np.flatnonzero(column).tolist()])) for column in may_own.T]
    return before, after, may_own


def fewest_by_trying(case: Case) -> int:
    before, after, may_own = case
    takers = [[-1] if now == -1 else np.flatnonzero(may_own[:, at]).tolist() for at, now in enumerate(after)]
    same_counts = [each for each in product(*takers) if sorted(each) == sorted(after)]
    return min(moves(before, each) for each in same_counts)


def moves(before: Sequence[int], after: Sequence[int]) -> int:
    return sum(was not in (-1, now) and now != -1 for was, now in zip(before, after, strict=True))


@given(case=rebalances(equal=True))
@settings(max_examples=120)
def test_the_closed_form_of_minimal_moves_is_exact_where_all_may_own_all(case: Case) -> None:
    before, after, _ = case
    assert minimal_moves(positions_of(before), positions_of(after)) == fewest_by_trying(case)


@given(case=rebalances(equal=False))
@settings(max_examples=120)
def test_the_flow_of_minimal_moves_is_exact_for_unequal_subscriptions(case: Case) -> None:
    before, after, may_own = case
    exact = minimal_moves(positions_of(before), positions_of(after), may_own)
    assert exact == fewest_by_trying(case)
    assert exact >= minimal_moves(positions_of(before), positions_of(after))
