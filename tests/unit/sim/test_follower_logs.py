"""Readers of a follower see records when its leader has told it the high watermark."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.books.offsets.production import Production
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.client.fetching.follower_logs import FollowerLogs
from groupsim.sim.client.fetching.parked_fetch import Chains
from groupsim.sim.model import Broker, Cluster, Distribution, Link, Network, Rate, Topic
from groupsim.sim.units import FOREVER, MS, S
from tests.support.scenarios import client, group, scenario

WAY = 3 * MS
SLOW = 10 * MS
"""One way to the broker in rack c."""
WAIT = 500 * MS


def cluster(links: tuple[Link, ...] = ()) -> Cluster:
    brokers = tuple(Broker(id=index, rack=rack) for index, rack in enumerate("abc"))
    network = Network(latency=Distribution.constant(WAY), links=links)
    plain = scenario(group(1, client=client()), horizon_us=S, rate_mrps=0).cluster
    return replace(plain, brokers=brokers, network=network)


class Read:
    """One topic that broker 0 leads, a partition for each rate, and a client in a rack: ``b`` is broker 1's."""

    def __init__(
        self, row: tuple[int, ...], placed: tuple[int, ...] = (0, 1), links: tuple[Link, ...] = (), rack: str = "b"
    ) -> None:
        topic = Topic(name="t", partitions=len(row), rate=Rate(per_partition_mrps=(row,)))
        catalog = Catalog((topic,), (0, 1, 2), dict(enumerate("abc")), is_rack_aware=True)
        for number in range(len(row)):
            catalog.placed["t", number] = placed
            catalog.moved["t", number] = 0
        places = Partitions(catalog)
        places.cover(("t",))
        self.production = Production(catalog, places)
        self.production.cover(0)
        self.logs = FollowerLogs(cluster(links), self.production, places, rack)

    def around(self, at: int, position: int = 0) -> list[int]:
        found = self.logs.around(np.array([at]), np.array([position], np.int32))
        return [int(times[0]) for times in found]


def test_a_record_that_nothing_follows_is_seen_when_the_next_fetch_of_the_follower_times_out() -> None:
    read = Read((1_000,))  # at 1 s, 2 s, ...
    first, second = (time + 2 * WAY + WAIT + WAY for time in (1 * S, 2 * S))
    assert read.around(1_500 * MS) == [0, first] == [0, 1_509 * MS]
    assert read.around(first - 1) == [0, first]
    assert read.around(first) == [first, second]


def test_whatever_the_follower_copies_from_that_leader_brings_the_high_watermark() -> None:
    read = Read((1_000, 1_000))  # at 1 s, 2 s, ... and half a second before
    assert read.around(1_200 * MS, 1) == [0, 1_500 * MS + WAY]
    assert read.around(1_503 * MS, 1) == [1_503 * MS, 2_503 * MS]


def test_the_high_watermark_waits_for_the_slowest_replica() -> None:
    link = Link(between=("broker:0", "broker:2"), latency=Distribution.constant(SLOW))
    near, far = Read((100_000,)), Read((100_000,), (0, 1, 2), (link,))  # every 10 ms
    assert near.around(1_012 * MS) == [1_003 * MS, 1_013 * MS]
    assert far.around(1_032 * MS) == [1_023 * MS, 1_033 * MS]


@pytest.mark.parametrize("rack", ["a", "c"])
def test_who_reads_from_the_leader_sees_records_at_once(rack: str) -> None:
    read = Read((1_000,), rack=rack)
    assert read.around(1_200 * MS) == [1 * S, 2 * S]


def test_nothing_comes_where_nothing_is_produced() -> None:
    assert Read((0,)).around(3 * S) == [0, FOREVER]


@given(st.lists(st.sampled_from([0, 333, 1_000, 7_000]), min_size=1, max_size=4).map(tuple), st.integers(0, 8 * S))
def test_each_record_is_seen_once_in_order_and_never_before_the_follower_can_know(
    row: tuple[int, ...], at: int
) -> None:
    read = Read(row)
    last, following = read.around(at)
    assert last <= at < following
    if following < FOREVER:
        assert read.around(following - 1)[1] == following
        assert read.around(following)[0] == following
        produced = read.production.around(np.array([following - 9 * MS]), np.zeros(1, np.int32))[0][0]
        assert 9 * MS <= following - produced <= WAIT + 9 * MS


def test_a_fetch_that_is_parked_at_a_follower_is_answered_when_the_follower_shows_the_record() -> None:
    read, one = Read((1_000,)), np.array([0])
    chains = Chains(read.logs, np.array([0], np.int32), one, np.array([0]), np.array([0]), np.array([10 * S]), None)
    assert chains.parked_until(np.array([1_200 * MS])).tolist() == [1_509 * MS]
    assert chains.parked_until(np.array([1_600 * MS])).tolist() == [2_509 * MS]
