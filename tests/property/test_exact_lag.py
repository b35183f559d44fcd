"""How often the lag is sampled changes no figure, and after a gap the oldest record is as old as the gap says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.sim import Result, simulate
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.model import Kill, Restart, Scenario
from groupsim.sim.output import tables
from groupsim.sim.output.lag_figures import LagFigures, figures_of
from groupsim.sim.units import MS, S
from tests.support.random_scenarios import HORIZON_US, Family, random_scenario
from tests.support.varied_scenarios import varied_scenario
from tests.unit.sim.scenes import CLIENT, constant, entry, group, lasting, member, scene

pytestmark = pytest.mark.property

SAMPLES_US = (10 * S, S, 250 * MS)
FAMILIES: tuple[Family, ...] = ("jitter", "grid", "dense", "crowd", "aged")


def assert_samples_change_nothing(scenario: Scenario, seed: int) -> None:
    """All tables but the samples themselves are equal, and no sample is above the peak."""
    scenario = replace(scenario, recovery_lag_records=scenario.recovery_lag_records or 30)
    results = [simulate(replace(scenario, sample_every_us=every), seed=seed) for every in SAMPLES_US]
    digests = [{name: one for name, one in each.manifest["digests"].items() if name != "lag"} for each in results]
    assert digests[0] == digests[1] == digests[2]
    finest = results[-1].tables["lag"].groupby("group")[["lag_records", "lag_us"]].max()
    summary = results[-1].summary.set_index("group")
    whole = scenario.measure_from_us == 0 and scenario.measure_to_us is None
    for name, row in finest.iterrows() if whole else ():
        assert row["lag_records"] <= summary.loc[name, "lag_records_max"]
        assert row["lag_us"] / S <= summary.loc[name, "lag_s_max"]


@pytest.mark.parametrize("family", FAMILIES)
def test_samples_change_no_figure(family: Family) -> None:
    for seed in range(1 if family == "crowd" else 4):
        assert_samples_change_nothing(random_scenario(seed, family), seed)


def test_samples_change_no_figure_whatever_the_groups_are_like() -> None:
    for seed in range(6):
        assert_samples_change_nothing(varied_scenario(seed), seed)


# --- the log and the ledger -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_the_log_of_offsets_has_the_lag_of_every_sample(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the ledger said while the run went on, zombies, resets and deleted records included."""
    ledgers: list[Ledger] = []

    def seen(found: Sequence[Ledger], *told: Any) -> Iterator[LagFigures]:
        ledgers.extend(found)
        return figures_of(found, *told)

    monkeypatch.setattr(tables, "figures_of", seen)
    for seed in range(1 if family == "crowd" else 5):
        ledgers.clear()
        scenario = replace(random_scenario(seed, family), sample_every_us=3_333_333)
        lag = simulate(scenario, seed=seed).tables["lag"]
        names = sorted(one.name for one in scenario.groups)
        for name, ledger in zip(names, ledgers, strict=True):
            for row in lag[lag["group"] == name].itertuples():
                now = next(figures_of([ledger], scenario.horizon_us, (row.time_us, row.time_us)))
                assert (now.records_max, now.age_us) == (row.lag_records, row.lag_us), (family, seed, row)


# --- gaps and ages ----------------------------------------------------------------------------------------------------


def longest_gap(result: Result) -> tuple[int, int]:
    """Beginning and end of the longest gap that followed service."""
    rows = result.tables["unavailability"]
    rows = rows[rows["from_us"] > 5 * S].sort_values(["partition", "from_us"])
    begins = (rows["partition"] != rows["partition"].shift()) | (rows["from_us"] != rows["to_us"].shift())
    gaps = rows.groupby(begins.cumsum()).agg(begin=("from_us", "min"), end=("to_us", "max"))
    one = gaps.loc[(gaps["end"] - gaps["begin"]).idxmax()]
    return int(one["begin"]), int(one["end"])


@settings(max_examples=15)
@given(
    st.sampled_from(["kill", "restart"]), st.integers(8 * S, 20 * S), st.integers(1, 6 * S),
    st.sampled_from([500, 1_000, 7_000, 10_000, 333_000]), st.sampled_from(["range", "cooperative-sticky", "sticky"]),
)  # fmt: skip
def test_at_a_gap_s_end_the_oldest_record_is_the_first_of_the_gap(
    verb: str, at_us: int, down_us: int, rate_mrps: int, strategy: str
) -> None:
    """Its age is the gap's end minus its time stamp: at least the gap less the spacing of records."""
    happens = Kill if verb == "kill" else Restart
    fault = entry(at_us, happens(target=member(0), down=lasting(down_us)))
    people = group(count=3, client=replace(CLIENT, partition_assignment_strategy=(strategy,)))
    one = scene(people, timeline=(fault,), rate=constant(rate_mrps), partitions=3, horizon_us=40 * S)
    first = simulate(one, check=True)
    begin, end = longest_gap(first)
    spacing = -(-1_000 * S // rate_mrps)
    seen = simulate(replace(one, sample_every_us=end)).tables["lag"]
    (age,) = seen.loc[seen["time_us"] == end, "lag_us"]
    # Three partitions take turns: each has a third of a record more to begin with than the next.
    numbers = np.arange(1, 40 * rate_mrps // 1_000 + 1) * 1_000
    stamps = [-(-(numbers - (2 - number) * 1000 // 3) * S // rate_mrps) for number in range(3)]
    waiting = [end - int(one[(one > begin) & (one <= end)].min(initial=end)) for one in stamps]
    assert age in waiting
    assert end - begin - spacing <= age <= end - begin
    assert pd.Series(first.summary["lag_s_max"]).item() * S >= age


def test_a_gap_of_nobody_s_records_is_cut_by_retention() -> None:
    """What is deleted is no longer unprocessed: the oldest record is what retention leaves."""
    killed = entry(10 * S, Kill(target=member(0)))
    one = scene(timeline=(killed,), horizon_us=HORIZON_US)
    aged = replace(
        one,
        topics=tuple(replace(topic, retention_us=20 * S) for topic in one.topics),
        cluster=replace(one.cluster, log_retention_check_us=10 * S),
    )
    row, kept = simulate(aged).summary.iloc[0], simulate(one).summary.iloc[0]
    assert kept["lag_s_max"] == (HORIZON_US - 10 * S - 25 * MS) / S
    # Checks at 30, 40, 50 s and so on: just before one the oldest record is 30 s old, less a record's spacing.
    assert 29 < row["lag_s_max"] < 30
