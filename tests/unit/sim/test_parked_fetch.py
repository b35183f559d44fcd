"""The fetch that is parked at a broker: the closed form is the chain of fetches, one after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.books.production import Production
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.client.parked_fetch import Chains, by_connection
from groupsim.sim.model import Rate, Topic
from groupsim.sim.units import MS, S

PERIOD = 501_300
rates = st.sampled_from([0, 100, 333, 1_000, 2_000, 7_000])


def production(row: tuple[int, ...]) -> Production:
    """One topic with as many partitions as rates, from 0 on."""
    catalog = Catalog((Topic(name="t", partitions=len(row), rate=Rate(per_partition_mrps=(row,))),), (0, 1))
    places = Partitions(catalog)
    places.cover(("t",))
    made = Production(catalog, places)
    made.cover(0)
    return made


def chains(logs: Production, read: list[int], since: int, caught_up: int = 0, period: int = PERIOD) -> Chains:
    """One connection."""
    one = np.array([0])
    return Chains(
        logs, np.array(read, np.int32), one, np.full(len(read), since), np.array([caught_up]), np.array([period])
    )


def next_record(logs: Production, read: list[int], after: int, limit: int) -> int:
    """The first instant at which more is in the log than at ``after``, by bisection."""
    positions = np.array(read, np.int32)
    before = logs.produced(after, positions)
    low, high = after, limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if (logs.produced(middle, positions) > before).any() else (middle, high)
    return high


@given(st.lists(rates, min_size=1, max_size=5).map(tuple), st.data())
def test_a_request_waits_for_the_fetch_that_has_been_sent_when_the_one_before_was_answered(
    row: tuple[int, ...], data: st.DataObject
) -> None:
    logs = production(row)
    read = sorted(data.draw(st.sets(st.integers(0, len(row) - 1), min_size=1)))
    since, at = data.draw(st.integers(0, 3 * S)), data.draw(st.integers(3 * S, 12 * S))
    answered = since
    while answered <= at:
        answered = next_record(logs, read, answered, answered + PERIOD)
    assert chains(logs, read, since).parked_until(np.array([at])).tolist() == [answered]


def test_nothing_is_parked_while_there_is_a_backlog_and_the_chain_begins_when_it_is_gone() -> None:
    idle = chains(production((0,)), [0], since=S, caught_up=5 * S)
    assert [int(idle.parked_until(np.array([at]))[0]) for at in (2 * S, 5 * S, 6 * S)] == [
        2 * S, 5 * S + PERIOD, 5 * S + 2 * PERIOD,
    ]  # fmt: skip


def test_nothing_is_parked_without_fetch_max_wait_ms() -> None:
    assert chains(production((1_000,)), [0], since=0, period=0).parked_until(np.array([7 * S])).tolist() == [7 * S]


def test_the_last_record_counts_though_the_rate_has_changed_since() -> None:
    logs = production((1_000,))
    logs._catalog.rates["t"] = (4_500 * MS, Rate(per_partition_mrps=((0,),)))
    logs.set_rate(4_500 * MS, "t")
    assert chains(logs, [0], since=0).parked_until(np.array([6 * S])).tolist() == [4 * S + 4 * PERIOD]


def test_connections_are_those_of_one_member_to_one_broker() -> None:
    members, brokers = np.array([1, 0, 1, 0, 1]), np.array([2, 7, 2, 7, 3], np.int32)
    order, begins = by_connection(members, brokers)
    assert members[order].tolist() == [0, 0, 1, 1, 1]
    assert brokers[order].tolist() == [7, 7, 2, 2, 3]
    assert begins.tolist() == [0, 2, 4]
