"""Tables of the cluster over time: what brokers were, where shards were, and what requests waited for their turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.books.broker_books import BrokerBooks
from groupsim.sim.config import EventTimes
from groupsim.sim.model import Broker, Close, Cluster, Distribution, Entry, Kill, Scenario, Target
from groupsim.sim.units import MS, S
from tests.support.scenarios import client, group, scenario


def _three_brokers(entry: Entry | None = None) -> Scenario:
    one = scenario(group(2, client=client()), *([entry] if entry else []), horizon_us=60 * S)
    return replace(one, cluster=Cluster(brokers=tuple(Broker(id=node) for node in range(3))))


def _states(result: Result, node: int) -> list[str]:
    rows = [row for row in result.tables.rows("brokers") if row["node"] == node]
    return [row["state"] for row in rows]


def test_a_broker_that_is_killed_is_unnoticed_until_its_session_is_over_and_leads_till_then() -> None:
    down = Distribution("constant", (15 * S,))
    kill = Entry(id="crash", at_us=20 * S, verb=Kill(target=Target("broker", "0"), down=down))
    result = simulate(_three_brokers(kill))
    rows = [row for row in result.tables.rows("brokers") if row["node"] == 0]
    kinds = ["up", "unnoticed", "down", "starting", "up"]
    assert list(dict.fromkeys(_states(result, 0)))[:4] == kinds[:4]
    assert rows[-1]["state"] == "up"
    assert (rows[1]["from_us"], rows[1]["leaders"]) == (20 * S, rows[0]["leaders"])
    assert 7 * S <= rows[1]["to_us"] - rows[1]["from_us"] <= 10.2 * S, "broker.session.timeout.ms, nine seconds"
    assert rows[2]["leaders"] == 0


def test_stretches_of_brokers_and_shards_fill_the_run_without_overlap() -> None:
    close = Entry(id="stop", at_us=20 * S, verb=Close(target=Target("broker", "coordinator/g"), grace_us=60 * S))
    result = simulate(_three_brokers(close))
    for table, key in (("brokers", "node"), ("shards", "partition")):
        for one in {row[key] for row in result.tables.rows(table)}:
            rows = [row for row in result.tables.rows(table) if row[key] == one]
            assert [row["from_us"] for row in rows] == [0, *(row["to_us"] for row in rows[:-1])]
            assert rows[-1]["to_us"] == 60 * S
    states = [row["state"] for row in result.tables.rows("shards")]
    assert states[0] == states[-1] == "active"
    assert "loading" in states


def test_every_data_partition_has_one_leader_whatever_happens() -> None:
    close = Entry(id="stop", at_us=20 * S, verb=Close(target=Target("broker", "1"), grace_us=60 * S))
    result = simulate(_three_brokers(close))
    rows = result.tables.rows("brokers")
    partitions = result.tables.rows("summary")[0]["partitions"]
    for time in (0, 19 * S, 25 * S, 59 * S):
        assert sum(row["leaders"] for row in rows if row["from_us"] <= time < row["to_us"]) == partitions


def test_brokers_that_are_left_alone_are_up_all_the_time() -> None:
    result = simulate(_three_brokers())
    rows = result.tables.rows("brokers")
    assert [(row["state"], row["from_us"], row["to_us"]) for row in rows] == [("up", 0, 60 * S)] * 3
    assert result.tables.rows("queues") == [], "nobody takes turns"


def test_neighbours_differ_and_of_an_instant_the_last_counts() -> None:
    books = BrokerBooks([0])
    for now, state, leaders in (
        (0, "up", 1),
        (5, "up", 1),
        (7, "closing", 1),
        (7, "down", 0),
        (9, "up", 1),
        (9, "down", 0),
    ):
        books.note(now, {0: state}, {0: leaders})
    assert [tuple(one) for one in books.states[0]] == [(0, "up", 1), (7, "down", 0)]


@pytest.mark.parametrize("seed", [1, 2])
def test_waits_by_stretch_are_those_of_the_whole_run(seed: int) -> None:
    often = client(heartbeat_interval_us=500 * MS, session_timeout_us=6 * S)
    one = scenario(group(12, client=often), horizon_us=45 * S)
    busy = replace(
        one, cluster=replace(one.cluster, event_times=EventTimes(heartbeat_us=40 * MS)), sample_every_us=4 * S
    )
    result = simulate(busy, seed=seed)
    (whole,) = result.tables.rows("coordinators")
    rows = result.tables.rows("queues")
    assert whole["basis"] == "queue"
    assert max(row["wait_max_us"] for row in rows) == whole["wait_max_us"] > 0
    assert all(row["wait_p50_us"] <= row["wait_p99_us"] <= row["wait_max_us"] for row in rows)
    assert all((row["from_us"] % (4 * S), row["to_us"] - row["from_us"]) == (0, 4 * S) for row in rows)
    assert np.all(np.diff([row["from_us"] for row in rows]) > 0)
    assert {row["from_us"] for row in simulate(busy, seed=seed, fidelity="message").tables.rows("queues")} == {
        row["from_us"] for row in rows
    }
