"""A rack that is gone, and offsets logs that take long to read.

rack-loss, uncompacted-offsets, offsets-partitions, frequent-commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from unittest.mock import patch

import pytest

from groupsim.scenarios import load
from groupsim.sim import simulate
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.loading import Loading, Term
from tests.conformance.library.runs import runs, summaries

SEEDS = range(1, 6)


def test_static_members_of_a_rack_come_back_to_their_partitions() -> None:
    rows = summaries(runs("rack-loss", seeds=SEEDS), "stock")
    assert (rows.rebalances == 0).all()
    assert rows.unavailable_gap_s_max.between(30.5, 31.5).all()
    assert rows.stop_the_world_s.between(6.0, 14.0).all(), "until the rack's brokers are fenced"


def test_members_that_come_back_under_other_ids_stop_their_group_until_the_session_is_over() -> None:
    results = runs("rack-loss", seeds=SEEDS)
    rows, static = summaries(results, "billing"), summaries(results, "stock")
    assert (rows.rebalances >= 1).all()
    assert rows.unavailable_gap_s_max.between(44.0, 60.0).all()
    assert (rows.stop_the_world_s - static.stop_the_world_s >= 10.0).all()


def test_away_for_longer_than_a_session_static_members_are_evicted_too() -> None:
    rows = summaries(runs("rack-loss", {"timeline[power].kill.down": "60s"}, seeds=SEEDS[:2]), "stock")
    assert (rows.rebalances >= 1).all()
    assert (rows.evictions >= 2).all()


@pytest.mark.parametrize(("size", "least_s", "most_s"), [("1GiB", 54.0, 60.0), ("2MiB", 44.0, 50.0)])
def test_nobody_sees_a_dead_consumer_while_the_offsets_log_is_read(size: str, least_s: float, most_s: float) -> None:
    rows = summaries(runs("uncompacted-offsets", {"cluster.offsets_topic.size": size}, seeds=SEEDS[:3]))
    assert rows.unavailable_gap_s_max.between(least_s, most_s).all()
    assert (rows.rebalances == 1).all()


def test_commits_are_refused_and_reading_goes_on_while_the_offsets_log_is_read() -> None:
    for result in runs("uncompacted-offsets", seeds=SEEDS[:3]):
        requests = result.tables["requests"]
        assert requests[requests.error == "COORDINATOR_LOAD_IN_PROGRESS"]["count"].sum() > 700
        rows = result.tables["unavailability"]
        rows = rows[(rows.from_us >= 129e6) & (rows.from_us < 190e6) & (rows.cause == "detection")]
        assert sum(rows.to_us - rows.from_us > 1e6) == 2, "the dead consumer's"


def waits_s(partitions: int, size: str) -> tuple[list[float], float]:
    """How long each group that moves waits for its coordinator, and how long it takes to read all logs."""
    changes: Mapping[str, Any] = {
        "cluster.config[offsets.topic.num.partitions]": partitions, "cluster.offsets_topic.size": size
    }  # fmt: skip
    waits, ends, load_group, begin = [], [0], GroupHost.load, Loading._begin

    def loaded(self: GroupHost, node: int, image: Mapping[str, int]) -> None:
        waits.append(self._env.now / 1e6 - 120.0)
        load_group(self, node, image)

    def begun(self: Loading, terms: Iterable[Term]) -> None:
        begin(self, terms)
        ends.extend(self._free_us.values())

    with patch.object(GroupHost, "load", loaded), patch.object(Loading, "_begin", begun):
        simulate(load("offsets-partitions", set_=changes), seed=1)
    return waits, max(ends) / 1e6 - 120.0


def test_the_bytes_decide_and_not_the_partitions() -> None:
    for partitions, size, least_s, most_s in (
        (50, "200MiB", 17, 20),
        (500, "20MiB", 17, 20),
        (500, "200MiB", 165, 175),
    ):
        waits, last_s = waits_s(partitions, size)
        assert least_s <= last_s <= most_s
        assert 10 <= len(waits) <= 16, "a third of the groups"
        assert max(waits) <= last_s
        assert max(waits) - min(waits) > 5, "one after the other"


AUTO = {"groups.billing.processing.commit": "auto", "groups.billing.config[enable.auto.commit]": True}


@pytest.mark.parametrize(
    ("changes", "loading_s", "stopped_s"),
    [
        ({}, (0.2, 1.1), (0.8, 2.2)),
        ({"cluster.config[log.cleaner.enable]": False}, (9.0, 12.0), (10.0, 13.0)),
        (AUTO, (0.03, 0.1), (0.0, 0.1)),
    ],
)
def test_commits_that_nobody_cleans_away_are_read_by_the_next_coordinator(
    changes: Mapping[str, Any], loading_s: tuple[float, float], stopped_s: tuple[float, float]
) -> None:
    """Of the active segment any part of 100 MiB may be full, which is a second of reading."""
    (result,) = runs("frequent-commits", changes, seeds=(1,))
    (loading_us,) = result.tables["coordinators"].loading_us
    assert loading_s[0] < loading_us / 1e6 < loading_s[1]
    assert stopped_s[0] <= summaries([result]).stop_the_world_s.item() <= stopped_s[1]
