from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from groupsim.analysis.data import availability, lag, rebalances
from groupsim.sim.tables import CAUSES

S = 1_000_000
Maker = Callable[..., pd.DataFrame]


@pytest.fixture
def unread(make_table: Maker) -> pd.DataFrame:
    """Partition 0: 2-5 (two causes) and 7-8; partition 1: 4-8; both of one group."""
    rows = [(0, 2, 4, "barrier"), (0, 4, 5, "resume"), (0, 7, 8, "detection"), (1, 4, 8, "unowned")]
    return make_table("unavailability", [row("t", p, a, b) | {"cause": cause} for p, a, b, cause in rows])


@pytest.fixture
def served(make_table: Maker) -> pd.DataFrame:
    rows = [(0, 0, 2), (0, 5, 7), (0, 8, 10), (1, 1, 4), (1, 8, 10), (2, 9, 10)]
    return make_table("ownership", [row("t", p, a, b) | {"member": "g/0"} for p, a, b in rows])


def row(topic: str, partition: int, start: float, end: float) -> dict[str, object]:
    return {"group": "g", "topic": topic, "partition": partition, "from_us": int(start * S), "to_us": int(end * S)}


def test_rows_that_touch_are_one_gap(unread: pd.DataFrame) -> None:
    found = availability.gaps(unread.iloc[::-1])
    assert found[["partition", "from_us", "to_us"]].to_numpy().tolist() == [
        [0, 2 * S, 5 * S], [0, 7 * S, 8 * S], [1, 4 * S, 8 * S],
    ]  # fmt: skip


def test_partitions_add_up_to_their_causes(unread: pd.DataFrame, served: pd.DataFrame) -> None:
    found = availability.per_partition(unread, served).set_index("partition")
    assert found["unavailable_s"].tolist() == [4.0, 4.0, 0.0]
    assert found["gap_s_max"].tolist() == [3.0, 4.0, 0.0]
    assert found["gaps"].tolist() == [2, 1, 0]
    assert found.loc[0, [f"{cause}_s" for cause in CAUSES]].tolist() == [0.0, 1.0, 0.0, 2.0, 0.0, 1.0]
    assert np.allclose(found[[f"{cause}_s" for cause in CAUSES]].sum(axis=1), found["unavailable_s"])


def test_quantiles_run_over_partitions(unread: pd.DataFrame, served: pd.DataFrame) -> None:
    found = availability.quantiles(unread, served, (0.5, 0.99))
    assert found.loc["g"].tolist() == [4.0, 4.0]
    assert availability.quantiles(unread, served, (0.25,)).loc["g", "p25"] == 2.0  # of 0, 4, 4


def test_the_count_of_unread_partitions_steps_at_each_edge(unread: pd.DataFrame) -> None:
    times, counts = availability.unavailable_count(unread)
    assert (times // S).tolist() == [2, 4, 5, 7, 8]
    assert counts.sum(axis=0).tolist() == [1, 2, 1, 2, 0]
    assert counts[CAUSES.index("barrier")].tolist() == [1, 0, 0, 0, 0]


def test_a_group_stands_still_while_every_partition_it_has_is_unread(
    unread: pd.DataFrame, served: pd.DataFrame
) -> None:
    # partition 2 does not exist before 9 s: from 4 to 5 and from 7 to 8 nothing is read
    found = rebalances.stopped(unread, served)
    assert (found[["from_us", "to_us"]] // S).to_numpy().tolist() == [[4, 5], [7, 8]]


def test_nobody_stands_still_where_there_are_no_members(make_table: Maker, served: pd.DataFrame) -> None:
    unowned = [row("t", p, 2, 3) | {"cause": "unowned"} for p in (0, 1)]
    assert rebalances.stopped(make_table("unavailability", unowned), served.head(4)).empty


def test_what_comes_before_the_first_service_is_not_standing_still(small: SimpleNamespace) -> None:
    found = rebalances.stopped(small.tables["unavailability"], small.tables["ownership"])
    assert found["from_us"].min() == 62_100_000  # the last to notice the first leave: 60 s + 0.7 * 3 s
    assert len(found) == 7


def test_durations_of_rebalances(make_table: Maker) -> None:
    rows = [(0, 1, "stable"), (10, 12, "stable"), (20, 23, "empty"), (50, 60, "horizon")]
    listed = [{"group": "g", "start_us": a * S, "end_us": b * S, "ended_by": by} for a, b, by in rows]
    found = rebalances.durations(make_table("rebalances", listed)).loc["g"]
    assert (found["rebalances"], found["cut"], found["total_s"], found["mean_s"]) == (4, 1, 16.0, 4.0)
    assert (found["p50_s"], found["max_s"]) == (2.5, 10.0)
    assert found["p90_s"] == pytest.approx(7.9)  # 3 + 0.7 * (10 - 3)


def lag_table(make_table: Maker, records: list[int]) -> pd.DataFrame:
    rows = [{"group": "g", "time_us": 10 * S * i, "lag_records": n, "lag_us": n * 1000} for i, n in enumerate(records)]
    return make_table("lag", rows)


def test_lag_quantiles_run_over_time(make_table: Maker) -> None:
    found = lag.quantiles(lag_table(make_table, [0, 100, 300, 50, 10])).loc["g"]
    assert (found["records_p50"], found["records_max"], found["records_end"]) == (50.0, 300, 10)
    assert (found["s_p50"], found["s_max"]) == (0.05, 0.3)


def test_recovery_counts_from_the_fault_to_the_last_fall_below_the_threshold(make_table: Maker) -> None:
    samples = lag_table(make_table, [0, 500, 90, 500, 80, 10])
    assert lag.recovery_s(samples, 5 * S, 100)["g"] == 35.0
    assert lag.recovery_s(samples, 40 * S, 100)["g"] == 0.0


def test_lag_that_stays_high_never_recovers(make_table: Maker) -> None:
    assert math.isnan(lag.recovery_s(lag_table(make_table, [0, 500, 100]), 0, 100)["g"])


def test_empty_tables_have_no_rows(empty: SimpleNamespace) -> None:
    tables = empty.tables
    assert availability.gaps(tables["unavailability"]).empty
    assert availability.per_partition(tables["unavailability"], tables["ownership"]).empty
    assert rebalances.durations(tables["rebalances"]).empty
    assert rebalances.stopped(tables["unavailability"], tables["ownership"]).empty
    assert lag.quantiles(tables["lag"]).empty
    assert lag.recovery_s(tables["lag"], 0, 1).empty
