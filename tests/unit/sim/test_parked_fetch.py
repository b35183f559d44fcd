"""The fetch that is parked at a broker: the closed form is the chain of fetches, one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim import simulate
from groupsim.sim.books.offsets.production import Production
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.client.fetching.parked_fetch import Chains, by_connection, gathering
from groupsim.sim.model import Broker, Rate, Scale, Scenario, Target, Topic
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.unit.sim.scenes import CLIENT, entry, group, scene

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


def chains(
    logs: Production, read: list[int], since: int, caught_up: int = 0, period: int = PERIOD, least: int = 1,
    size: int = 100,
) -> Chains:  # fmt: skip
    """One connection; ``size``: bytes of each record."""
    one, partitions = np.array([0]), np.array(read, np.int32)
    sizes = np.full(max(read) + 1, size)
    return Chains(
        logs, partitions, one, np.full(len(read), since), np.array([caught_up]), np.array([period]),
        gathering(logs, sizes, partitions, one, np.array([least])),
    )  # fmt: skip


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


# --- fetch.min.bytes --------------------------------------------------------------------------------------------------


@given(st.lists(rates, min_size=1, max_size=5).map(tuple), st.integers(2, 40), st.data())
def test_fetches_that_collect_follow_one_another_as_so_many_records_come(
    row: tuple[int, ...], records: int, data: st.DataObject
) -> None:
    """Each link has what the rate brings in it, to the next whole record of each partition, or is as long as it may."""
    logs = production(row)
    read = list(range(len(row)))
    at = data.draw(st.integers(3 * S, 12 * S))
    collecting = chains(logs, read, since=0, least=100 * records)
    until = int(collecting.parked_until(np.array([at]))[0])
    following = int(collecting.parked_until(np.array([until]))[0])
    assert at < until <= at + PERIOD
    came = (logs.produced(following, np.array(read, np.int32)) - logs.produced(until, np.array(read, np.int32))).sum()
    if following - until < PERIOD:
        assert abs(int(came) - records) <= len(row)
    else:
        assert int(came) <= records + len(row)


def test_a_record_that_is_enough_ends_the_fetch() -> None:
    """One a second: of 100 bytes each; what is asked for is less, as much, or unknown, since sizes are."""
    logs = production((1_000,))
    at = np.array([6_200 * MS])
    plain = chains(logs, [0], since=0, period=4 * S).parked_until(at).tolist()
    assert plain == [7 * S]
    for more in ({"least": 0}, {"least": 100}, {"least": 500, "size": 0}):
        assert chains(logs, [0], since=0, period=4 * S, **more).parked_until(at).tolist() == plain
    assert chains(logs, [0], since=0, period=4 * S, least=101).parked_until(at).tolist() == [7_070 * MS]


def test_collecting_begins_anew_with_another_rate() -> None:
    logs = production((1_000,))
    logs._catalog.rates["t"] = (4_500 * MS, Rate(per_partition_mrps=((10_000,),)))
    logs.set_rate(4_500 * MS, "t")
    found = chains(logs, [0], since=0, least=300).parked_until(np.array([5_000 * MS, 5_200 * MS]))
    assert found.tolist() == [5_100 * MS, 5_400 * MS]


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_resume_waits_for_what_is_collected(strategy: str) -> None:
    """A member leaves; both fidelities agree, and who collects for half a second resumes later."""

    def played(least: int) -> Scenario:
        client = replace(CLIENT, partition_assignment_strategy=(strategy,), fetch_min_bytes=least)
        topic = Topic(name="t", partitions=8, rate=Rate(per_partition_mrps=((10_000,) * 8,)), record_bytes=1_000)
        leave = entry(20 * S, Scale(target=Target("group", "g"), to=2))
        made = scene(group("g", 3, client=client), timeline=(leave,), topics=(topic,), horizon_us=40 * S)
        return replace(made, cluster=replace(made.cluster, brokers=(Broker(id=0),)))

    resumed = [int(simulate(played(least), seed=1).summary.unavailable_resume_s.sum() * MS) for least in (1, 100_000)]
    assert resumed[1] > 2 * resumed[0]
    assert not differences(played(100_000), seed=1, check=False)
