"""Lag in records and seconds, recovery, and the form and window of the summary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from groupsim.sim import Result
from groupsim.sim.model import GcPause, Kill, Rate, SetRate, Stuck
from groupsim.sim.tables import FLOAT, INT, SORTED_BY, SUMMARY, TABLES, TEXT
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import (
    CLIENT,
    FIDELITIES,
    constant,
    entry,
    group,
    lasting,
    member,
    rows,
    scene,
    simulate,
    summary,
    with_start,
)

both = pytest.mark.parametrize("fidelity", FIDELITIES)
GONE = entry(20 * S, Kill(target=member(0)))


def lag_at(result: Result, second: int) -> tuple[int, int]:
    (one,) = rows(result, "lag", time_us=second * S)
    return one["lag_records"], one["lag_us"]


@both
def test_lag_is_what_nobody_has_processed_and_how_old_the_oldest_of_it_is(fidelity: str) -> None:
    """Ten a second in each of four partitions in turn, read until 20 s: the next record is born at 20.025 s."""
    result = simulate(scene(timeline=(GONE,), sample_every_us=S), fidelity)
    assert lag_at(result, 19) == (0, 0)
    for second in (21, 25, 40, 59):
        assert lag_at(result, second) == (4 * 10 * (second - 20), (second - 20) * S - 25 * MS)
    row = summary(result)
    assert (row["lag_records_max"], row["lag_records_end"], row["lag_s_max"]) == (4 * 400, 4 * 400, 39.975)


@both
@pytest.mark.parametrize("rate", [0, 1_000, 1_000_000])
def test_a_change_of_rate_makes_old_records_no_younger(fidelity: str, rate: int) -> None:
    changed = entry(30 * S, SetRate(topic="t", rate=constant(rate)))
    result = simulate(scene(timeline=(GONE, changed), sample_every_us=S), fidelity)
    assert lag_at(result, 29) == (4 * 90, 8_975 * MS)
    assert lag_at(result, 40) == (4 * (100 + rate // 100), 19_975 * MS)
    assert lag_at(result, 59)[1] == 38_975 * MS


def test_steps_of_a_rate_make_old_records_no_younger() -> None:
    steps = Rate(times_us=(0, 25 * S, 30 * S), per_partition_mrps=((10_000,), (0,), (1_000, 2_000)))
    result = simulate(scene(timeline=(GONE,), rate=steps, sample_every_us=S))
    # partitions beyond the row get its mean, 1.5 a second
    assert lag_at(result, 40) == (4 * 50 + 10 + 20 + 15 + 15, 19_975 * MS)


def test_the_oldest_record_of_all_partitions_counts() -> None:
    rates = Rate(per_partition_mrps=((1_000, 10_000, 100_000),))
    result = simulate(scene(timeline=(GONE,), partitions=3, rate=rates, sample_every_us=S))
    assert lag_at(result, 30) == (10 + 100 + 1_000, 10 * S - 10 * MS)


def test_a_hang_ends_in_a_backlog_that_is_worked_off() -> None:
    hung = entry(20 * S, Stuck(target=member(0), duration=lasting(5 * S)))
    result = simulate(scene(timeline=(hung,), sample_every_us=S))
    assert lag_at(result, 24) == (4 * 40, 3_975 * MS)
    assert lag_at(result, 26) == (0, 0)


def test_recovery_is_from_the_fault_s_end_until_the_lag_stays_small() -> None:
    paused = entry(20 * S, GcPause(target=member(0), duration=lasting(5 * S)))
    result = simulate(scene(timeline=(paused,), sample_every_us=S, recovery_lag_records=10))
    assert 0 <= summary(result)["recovery_s"] <= 1


@pytest.mark.parametrize("limit", [None, 10])
def test_recovery_is_null_if_nobody_asks_or_it_never_comes(limit: int | None) -> None:
    result = simulate(scene(timeline=(GONE,), sample_every_us=S, recovery_lag_records=limit))
    assert np.isnan(summary(result)["recovery_s"])


# --- the window -------------------------------------------------------------------------------------------------------


def test_rebalances_moves_and_lag_count_within_the_window() -> None:
    joining = group(count=2, start=with_start(20 * S)["start"])
    whole = simulate(scene(joining, timeline=(entry(40 * S, Kill(target=member(1))),), sample_every_us=S))
    assert summary(whole)["rebalances"] == 3
    assert summary(whole)["partitions_moved"] == 4
    part = simulate(
        scene(
            joining, timeline=(entry(40 * S, Kill(target=member(1))),), sample_every_us=S,
            measure_from_us=10 * S, measure_to_us=45 * S,
        )
    )  # fmt: skip
    assert summary(part)["rebalances"] == 1
    assert summary(part)["partitions_moved"] == 2
    assert summary(part)["lag_records_end"] == lag_at(whole, 45)[0]
    assert summary(part)["lag_records_max"] < summary(whole)["lag_records_max"]
    for table in ("rebalances", "states", "ownership", "members", "lag"):
        pd.testing.assert_frame_equal(part.tables[table], whole.tables[table])  # what happened is not what counts


def test_a_rebalance_is_counted_to_the_window_s_end() -> None:
    result = simulate(scene(initial_delay_us=30 * S, horizon_us=10 * S, measure_to_us=4 * S))
    (only,) = rows(result, "rebalances")
    assert summary(result)["rebalance_s_total"] == (4 * S - only["start_us"]) / S


@pytest.mark.parametrize("column", ["duplicates", "joins", "evictions", "requests"])
def test_counts_are_of_the_window_too(column: str) -> None:
    back = entry(20 * S, Kill(target=member(0), down=lasting(15 * S)))
    whole = simulate(scene(timeline=(back,)))
    later = simulate(scene(timeline=(back,), measure_from_us=50 * S))
    assert summary(later)[column] < summary(whole)[column]


# --- form -------------------------------------------------------------------------------------------------------------

DTYPES = {INT: ("int64", "Int64"), FLOAT: ("float64",), TEXT: ("string",)}


EMPTY = ("zookeeper", "records", "latency", "transactions", "output", "producers", "queues")
"""Tables of other protocols, of exact runs, of groups that produce, and of shards whose requests take their turn."""


@both
def test_tables_have_their_columns_in_order_and_their_types(fidelity: str) -> None:
    result = simulate(scene(group(count=2), group("other"), timeline=(GONE,)), fidelity)
    assert list(result.tables) == list(TABLES)
    for name, declared in TABLES.items():
        table = result.tables[name]
        assert list(table.columns) == list(declared)
        assert len(table) or name in EMPTY, "there is none"
        for column, dtype in declared.items():
            assert str(table[column].dtype) in DTYPES[dtype], (name, column)
        ordered = table.sort_values(list(SORTED_BY[name]), kind="stable", ignore_index=True)
        pd.testing.assert_frame_equal(table, ordered)


def test_empty_tables_have_their_columns_and_types_too() -> None:
    empty = scene(group(start=with_start(S)["start"]), horizon_us=MS)
    result = simulate(replace(empty, topics=tuple(replace(topic, record_bytes=1) for topic in empty.topics)))
    for name, declared in TABLES.items():
        table = result.tables[name]
        assert {column: str(table[column].dtype) for column in declared} == {
            column: DTYPES[dtype][0] for column, dtype in declared.items()
        }


def test_nulls_of_one_group_do_not_depend_on_the_order_of_groups() -> None:
    broadcast = replace(CLIENT, partition_assignment_strategy=("broadcast",))
    first = simulate(scene(group("a", client=broadcast), group("b"), horizon_us=S)).summary
    last = simulate(scene(group("a"), group("b", client=broadcast), horizon_us=S)).summary
    assert first["partitions_moved"].isna().tolist() == [True, False]
    assert last["partitions_moved"].isna().tolist() == [False, True]


def test_the_summary_names_its_run() -> None:
    row = summary(simulate(scene(horizon_us=S), seed=7))
    assert [row[column] for column in list(SUMMARY)[:6]] == ["scene", "", "g", 7, 0, 1.0]
