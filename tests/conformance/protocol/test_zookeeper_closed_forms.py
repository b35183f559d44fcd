"""A join in a group of the ZooKeeper protocol in closed form: every request is counted, and every microsecond.

Constant latency, one server that takes no time but to write to disk, no records, no auto-commit. With ``N`` members
after the join, ``P`` partitions of ``T`` topics and ``B`` brokers, by ``ZookeeperConsumerConnector`` (Kafka 0.8.2.2):

* a watch that fires costs two reads (``exists``, ``getChildren``), and each of the others is told once;
* the newcomer opens a session, registers, reads ids twice and each topic once;
* a try reads the brokers twice (the list, and each), its own registration twice, the topics, the ids twice, all
  registrations, and its offsets; it deletes the owner nodes that it had and makes those that it gets.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.model import Rate, Scale, Start, Target, Topic
from groupsim.sim.units import MS, S
from tests.support.scenarios import BOOT_US, LATENCY_US, TIMING, at
from tests.support.zookeeper import IDEAL, asked, row_of, zookeeper_scenario

TRIP = 2 * LATENCY_US
SYNC = 3 * MS
JOIN = 20 * S
WORLDS = [(2, 4, 1, 1), (4, 12, 1, 3), (5, 5, 1, 1), (3, 7, 2, 2), (9, 4, 1, 1)]
"""Members after the join, partitions of each topic, topics, brokers; of the last, most members own nothing."""


def joined(members: int, partitions: int, topics: int, brokers: int) -> Result:
    """A group whose last member joins at 20 s; only what happens from then on counts."""
    quiet = Rate(per_partition_mrps=((0,),))
    more = tuple(Topic(name=f"t{n}", partitions=partitions, rate=quiet) for n in range(1, topics))
    newcomer = at(JOIN, Scale(target=Target("group", "g"), to=members))
    built = zookeeper_scenario(
        members - 1, newcomer, servers=replace(IDEAL, sync_us=SYNC), horizon_us=40 * S, measure_from_us=JOIN,
        partitions=partitions, more_topics=more, brokers=brokers,
    )  # fmt: skip
    spaced = replace(built.groups[0].members, start=Start(kind="every", value_us=S))
    return simulate(replace(built, groups=(replace(built.groups[0], members=spaced),)))


def share(partitions: int, members: int, index: int) -> int:
    """Partitions of one topic that the member in this place gets (range)."""
    each, more = divmod(partitions, members)
    return each + (index < more)


def reads_of_a_try(members: int, topics: int, brokers: int, gets: int) -> int:
    """What a try reads of a member that comes to own ``gets`` partitions."""
    return 2 * (1 + brokers) + 2 + topics + 2 + members + gets


@pytest.mark.parametrize(("members", "partitions", "topics", "brokers"), WORLDS)
def test_each_request_of_a_join_is_accounted_for(members: int, partitions: int, topics: int, brokers: int) -> None:
    result = joined(members, partitions, topics, brokers)
    row, found, owned = row_of(result), asked(result), topics * partitions
    tries = members * reads_of_a_try(members, topics, brokers, 0) + owned
    assert row["conflicts"] == row["failed_tries"] == row["stale_reads"] == 0
    assert row["watch_notifications"] == members - 1
    assert row["reads"] == 2 * (members - 1) + 2 + topics + tries
    assert row["writes"] == 2 + owned + owned
    assert found["createSession", "NONE"] == 1
    assert found["create", "NONE"] == 1 + owned
    assert found["delete", "NONE"] == owned
    assert found["exists", "NONE"] == members + topics
    assert found["getChildren", "NONE"] == members + 4 * members
    assert found["getData", "NONODE"] == owned, "nobody has committed anything"


@pytest.mark.parametrize(("members", "partitions", "topics", "brokers"), WORLDS)
def test_a_join_settles_when_the_last_member_has_made_its_nodes(
    members: int, partitions: int, topics: int, brokers: int
) -> None:
    result = joined(members, partitions, topics, brokers)
    rebalance = result.tables.rows("rebalances")[-1]
    registered = JOIN + BOOT_US + TIMING.connect.values[0] + 2 * (TRIP + SYNC) - LATENCY_US
    ends = []
    for index in range(members):
        gets, is_new = topics * share(partitions, members, index), index == members - 1
        had = 0 if is_new else topics * share(partitions, members - 1, index)
        first = (2 + topics) * TRIP if is_new else 2 * TRIP
        reads = reads_of_a_try(members, topics, brokers, gets) * TRIP
        ends.append(registered + LATENCY_US + first + reads + (had + gets) * (TRIP + SYNC))
    assert rebalance["start_us"] == registered
    assert rebalance["end_us"] == max(ends)
    assert rebalance["ended_by"] == "stable"


def test_a_change_of_every_topic_tells_every_member_once_for_each() -> None:
    told = []
    for topics in (1, 2, 3):
        quiet = Rate(per_partition_mrps=((0,),))
        more = tuple(Topic(name=f"t{n}", partitions=4, rate=quiet) for n in range(1, topics))
        grown = [at(JOIN + n, _grow(f"t{n}" if n else "t")) for n in range(topics)]
        built = zookeeper_scenario(4, *grown, horizon_us=40 * S, measure_from_us=JOIN, partitions=4, more_topics=more)
        told.append(row_of(simulate(built))["watch_notifications"])
    assert told == [4, 8, 12]


def _grow(topic: str) -> object:
    from groupsim.sim.model import AddPartitions

    return AddPartitions(topic=topic, to=8)
