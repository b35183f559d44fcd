"""Bytes that are read, those that cross racks, and what a month of them costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from groupsim.sim import simulate
from groupsim.sim.model import Kill, Rate, Scenario, Target, Topic
from groupsim.sim.units import S
from tests.support.racks import RECORD_BYTES, far, racks
from tests.support.scenarios import at, kill


def summary(scenario: Scenario) -> Any:
    return simulate(scenario).tables.rows("summary")[0]


def members(scenario: Scenario) -> pd.DataFrame:
    return simulate(scenario).tables["members"].set_index("member")


def test_a_group_reads_what_is_produced_in_the_window() -> None:
    row = summary(replace(racks(), measure_from_us=20 * S, measure_to_us=50 * S))
    assert row["read_bytes"] == 12 * 10 * 30 * RECORD_BYTES


def test_members_read_what_they_process() -> None:
    table = members(racks(kill(30 * S, 1, down_us=5 * S)))
    assert (table["read_bytes"] == table["records"] * RECORD_BYTES).all()
    assert table["records"].sum() > 12 * 10 * 55


def test_what_leaders_in_other_racks_send_crosses_racks() -> None:
    scenario = replace(racks(is_rack_aware=False), measure_from_us=20 * S)
    assert 6 <= len(far(scenario)) <= 9
    assert summary(scenario)["cross_rack_bytes"] == len(far(scenario)) * 10 * 40 * RECORD_BYTES


def test_with_the_nearest_replica_nothing_crosses_racks() -> None:
    row = summary(racks())
    assert (row["read_bytes"] > 0, row["cross_rack_bytes"]) == (True, 0)


def test_where_no_replica_is_near_the_leader_is_read_from() -> None:
    row = summary(racks(places=("d", "b", "e")))
    assert row["cross_rack_bytes"] == pytest.approx(row["read_bytes"] * 2 / 3)


def test_records_of_different_topics_have_different_sizes() -> None:
    found = racks()
    more = Topic(name="u", partitions=3, rate=Rate(per_partition_mrps=((20_000,),)), record_bytes=7)
    (one,) = found.groups
    topics = replace(one.subscription, topics=("t", "u"))
    found = replace(found, topics=(*found.topics, more), groups=(replace(one, subscription=topics),))
    row = summary(replace(found, measure_from_us=20 * S))
    assert row["read_bytes"] == 12 * 10 * 40 * RECORD_BYTES + 3 * 20 * 40 * 7


@pytest.mark.parametrize("price", [None, 0.0, 0.02])
def test_a_month_costs_what_thirty_days_of_the_window_do(price: float | None) -> None:
    row = summary(replace(racks(is_rack_aware=False, price=price), measure_from_us=20 * S))
    if price is None:
        assert row["cross_rack_cost_per_month"] is None
    else:
        crossed_gb = len(far(racks(is_rack_aware=False))) * 10 * RECORD_BYTES * 30 * 86_400 / 1e9
        assert row["cross_rack_cost_per_month"] == pytest.approx(crossed_gb * price)


def test_without_record_sizes_nothing_is_said_of_bytes() -> None:
    found = racks(price=0.02)
    found = replace(found, topics=tuple(replace(topic, record_bytes=None) for topic in found.topics))
    row = summary(found)
    assert [row[name] for name in ("read_bytes", "cross_rack_bytes", "cross_rack_cost_per_month")] == [None] * 3
    assert members(found)["read_bytes"].isna().all()


def test_a_member_whose_rack_nobody_knows_crosses_none() -> None:
    found = racks(is_rack_aware=False)
    found = replace(found, groups=tuple(replace(one, overrides=()) for one in found.groups))
    assert summary(found)["cross_rack_bytes"] == 0


def test_members_add_up_to_their_group_while_leaders_move() -> None:
    scenario = racks(at(20 * S, Kill(target=Target("broker", "1"), down=None)))
    result = simulate(scenario)
    (row,), table = result.tables.rows("summary"), result.tables["members"]
    assert row["read_bytes"] == table["read_bytes"].sum()
    assert row["cross_rack_bytes"] == table["cross_rack_bytes"].sum()
    crossed = np.array(table.set_index("member")["cross_rack_bytes"].loc[["g/0", "g/1", "g/2"]], np.int64)
    assert (crossed[[0, 2]] == 0).all()
    assert 30 < crossed[1] / (4 * 10 * RECORD_BYTES) <= 40, (
        "seconds: its rack's replicas are gone, and were there before"
    )


def test_records_that_are_followed_one_by_one_weigh_the_same() -> None:
    flow = replace(racks(is_rack_aware=False), measure_from_us=20 * S, measure_to_us=50 * S)
    exact = summary(replace(flow, data="exact"))
    assert exact["read_bytes"] == pytest.approx(summary(flow)["read_bytes"], rel=0.02)
    assert exact["cross_rack_bytes"] == pytest.approx(exact["read_bytes"] * len(far(flow)) / 12, rel=0.02)
