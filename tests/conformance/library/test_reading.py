"""Where consumers read from, what that costs and what bounds it: nearest-replica, stale-replica."""

from __future__ import annotations

import numpy as np

from tests.conformance.library.runs import runs, summaries

SEEDS = range(1, 6)
LEADERS_ONLY = {"cluster.config[replica.selector.class]": None}


def test_reading_from_leaders_costs_hundreds_a_month() -> None:
    rows = summaries(runs("nearest-replica", LEADERS_ONLY, seeds=SEEDS))
    assert (rows.read_bytes == 12_000 * 1024 * 600).all()
    assert (rows.cross_rack_bytes / rows.read_bytes).between(0.54, 0.75).all()
    assert rows.cross_rack_cost_per_month.between(340, 480).all()
    price = rows.cross_rack_bytes / 1e9 * 0.02 * 30 * 24 * 6
    assert np.allclose(rows.cross_rack_cost_per_month, price)


def test_reading_from_the_nearest_replica_costs_what_crosses_while_a_broker_is_away() -> None:
    near, far = (summaries(runs("nearest-replica", one, seeds=SEEDS)) for one in (None, LEADERS_ONLY))
    assert rows_equal(near.read_bytes, far.read_bytes)
    assert (near.cross_rack_bytes / near.read_bytes).between(0.03, 0.045).all()
    assert near.cross_rack_cost_per_month.between(20, 30).all()
    assert (near.unavailable_gap_s_max - far.unavailable_gap_s_max).between(-0.02, 0.02).all()
    assert (near.rebalances == 0).all()


def rows_equal(one: object, other: object) -> bool:
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))


def test_whose_rack_is_served_by_others_only_reads_across_racks() -> None:
    for result in runs("nearest-replica", seeds=SEEDS):
        crossed = result.tables["members"].set_index("member")["cross_rack_bytes"]
        assert (crossed[["billing/0", "billing/1", "billing/4", "billing/5"]] == 0).all()
        share = crossed[["billing/2", "billing/3"]] / (2_000 * 1024)
        assert share.between(64, 70).all(), "a minute, six seconds until it runs, and until it is in sync"


def test_a_replica_that_hears_nothing_is_kept_to_until_metadata_are_too_old() -> None:
    rows = summaries(runs("stale-replica", seeds=SEEDS))
    assert rows.unavailable_gap_s_max.between(186.5, 187.0).all(), "300 s after the first fetch, at 6.7 s"
    shorter = summaries(runs("stale-replica", {"groups.billing.config[metadata.max.age.ms]": 30_000}, seeds=SEEDS))
    assert shorter.unavailable_gap_s_max.between(36.5, 67.0).all()
    leaders = summaries(runs("stale-replica", LEADERS_ONLY, seeds=SEEDS))
    assert leaders.unavailable_gap_s_max.between(7.0, 45.0).all()
    assert (rows.losses == 0).all()
