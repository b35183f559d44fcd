"""Where consumers read from, what that costs and what bounds it: nearest-replica, stale-replica, catch-up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from groupsim.scenarios import load
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


def brokers(bandwidth: str | None) -> dict[str, Any]:
    given = {} if bandwidth is None else {"bandwidth": bandwidth}
    return {"cluster.brokers": [{"id": id_, **given} for id_ in range(3)]}


READS_AGAIN_S = 10.0
"""From the restart until the group reads what nobody has read: boot, discovery, an initial delay of up to 7 s, and what
had been read since the last commit, up to 5 s of production, at the pace of now."""


@pytest.mark.parametrize(("bandwidth", "sent"), [("2MiB", 6_144), ("4MiB", 12_288)])
def test_what_waits_over_what_brokers_can_send_beyond_what_is_new(bandwidth: str, sent: int) -> None:
    rows = summaries(runs("catch-up", brokers(bandwidth), seeds=SEEDS[:3]))
    needed_s = rows.lag_records_max / (sent - 2_400)
    assert (rows.recovery_s - needed_s).between(0, READS_AGAIN_S).all()
    assert (rows.losses == 0).all()


def test_consumers_alone_are_ten_times_faster() -> None:
    rows = summaries(runs("catch-up", brokers(None), seeds=SEEDS[:3]))
    assert rows.recovery_s.between(35.0, 40.0).all(), "1.46 million over 45,000 - 2,400, after READS_AGAIN_S at most"


def groups(count: int) -> dict[str, Any]:
    """The same group several times, all of them down at once."""
    document = load("catch-up").document
    names = [f"team-{number}" for number in range(count)]
    (entry,) = document["timeline"]
    return {
        "groups": dict.fromkeys(names, document["groups"]["billing"]),
        "timeline": [{**entry, "id": name, "kill": {**entry["kill"], "target": name}} for name in names],
    }


def test_two_groups_have_half_each_and_three_never_catch_up() -> None:
    for result in runs("catch-up", groups(2), seeds=SEEDS[:2]):
        rows = result.summary
        assert (rows.recovery_s - rows.lag_records_max / (3_072 - 2_400)).between(0, 12).all()
    for result in runs("catch-up", groups(3), seeds=SEEDS[:2]):
        rows = result.summary
        assert rows.recovery_s.isna().all()
        assert (rows.losses > 100_000).all()
        assert set(result.tables["delivery"].query("kind == 'loss'")["cause"]) == {"retention"}


def test_round_trips_decide_where_fetches_are_small() -> None:
    changes = {
        **brokers(None), "cluster.network.latency": "20ms",
        "groups.billing.config[max.partition.fetch.bytes]": 4_096,
    }  # fmt: skip
    rows = summaries(runs("catch-up", changes, seeds=SEEDS[:2]))
    assert rows.recovery_s.isna().all()
    changes["groups.billing.config[max.partition.fetch.bytes]"] = 8_192
    rows = summaries(runs("catch-up", changes, seeds=SEEDS[:2]))
    per_s = 6 * 4 * 8 / 0.0403
    assert (rows.recovery_s - rows.lag_records_max / (per_s - 2_400)).between(0, READS_AGAIN_S).all()
