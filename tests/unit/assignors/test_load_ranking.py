"""The ranking of members by load: many loads at once go where they would have gone one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors.own.load_ranking import LoadRanking


def ranking(loads: list[int], capacities: list[int]) -> LoadRanking:
    return LoadRanking(loads, capacities, [0] * len(loads), sign=1)


@given(
    begun=st.lists(st.integers(0, 20), min_size=1, max_size=6),
    given_loads=st.one_of(
        st.tuples(st.integers(1, 25), st.integers(0, 30)).map(lambda equal: [equal[0]] * equal[1]),
        st.lists(st.integers(1, 9), max_size=30),
    ),
    capacity=st.lists(st.integers(1, 3), min_size=6, max_size=6),
    are_alike=st.booleans(),
)
def test_loads_at_once_go_where_they_go_one_by_one(
    begun: list[int], given_loads: list[int], capacity: list[int], are_alike: bool
) -> None:
    capacities = [1] * len(begun) if are_alike else capacity[: len(begun)]
    together, apart = list(begun), list(begun)
    at_once, one_by_one = ranking(together, capacities), ranking(apart, capacities)
    takers = [one_by_one.burden(one_by_one.heaps, load) for load in given_loads]
    assert at_once.burden_alike(given_loads) == takers
    assert together == apart
    assert at_once.burden(at_once.heaps, 1) == one_by_one.burden(one_by_one.heaps, 1)
