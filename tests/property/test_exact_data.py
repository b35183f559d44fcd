"""``data: exact``: both fidelities agree, every gap has a name, and the fluid says the same with known exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.books.record import ENDED_BY
from groupsim.sim.model import Scenario
from tests.support.fidelity import differences
from tests.support.histories import duplicates, history, lost_writes, nonmonotonic_polls
from tests.support.random_scenarios import Family, random_scenario
from tests.support.varied_scenarios import varied_scenario

pytestmark = pytest.mark.property

PLACE = ["group", "topic", "partition"]
UNCLEAN = ("killed", "lost", "failed", "cut off")
SCENARIOS: list[tuple[Family, int]] = [
    ("jitter", 1), ("jitter", 3), ("grid", 1), ("dense", 1), ("dense", 5), ("aged", 1), ("delivery", 0),
    ("delivery", 3),
]  # fmt: skip


def exactly(scenario: Scenario) -> Scenario:
    """Each record of the whole run counts."""
    return replace(scenario, data="exact", measure_from_us=0, measure_to_us=None)


def is_broadcast(scenario: Scenario) -> bool:
    return any(one.client.partition_assignment_strategy[:1] == ("broadcast",) for one in scenario.groups)


@pytest.mark.parametrize(("family", "seed"), SCENARIOS)
def test_both_fidelities_follow_records_alike(family: Family, seed: int) -> None:
    """Invariants are checked after every event: commits are never ahead of positions."""
    assert not differences(exactly(random_scenario(seed, family)), seed)


@pytest.mark.parametrize("seed", range(2))
def test_both_fidelities_follow_records_alike_whatever_the_groups_are_like(seed: int) -> None:
    assert not differences(exactly(varied_scenario(seed)), seed)


def assert_every_gap_has_a_name(result: Result) -> None:
    """Between the first and the last record of a partition that was processed, nothing is missing without a cause."""
    records = result.tables["records"]
    done = records[records["delivery"] > 0].groupby(PLACE)["offset"].agg(["min", "max"])
    never = records[records["delivery"] == 0].join(done, on=PLACE)
    gap = never[(never["min"] < never["offset"]) & (never["offset"] < never["max"])]
    assert (gap["lost"] != "").all()
    processed = records[records["delivery"] > 0]
    assert (processed["produced_us"] <= processed["fetched_us"]).all()
    assert (processed["fetched_us"] <= processed["processed_us"]).all()


def assert_members_processed_their_records(result: Result) -> None:
    """Table ``members`` counts the rows of ``records``."""
    records, members = result.tables["records"], result.tables["members"]
    processed = records[records["delivery"] > 0].groupby(["group", "member"]).size()
    counted = members.groupby(["group", "member"])["records"].sum()
    assert (counted == processed.reindex(counted.index, fill_value=0)).all()
    assert counted.sum() == processed.sum() > 0


@pytest.mark.parametrize(("family", "seed"), SCENARIOS)
def test_histories_have_what_the_books_have(family: Family, seed: int) -> None:
    scenario = exactly(random_scenario(seed, family))
    if is_broadcast(scenario):
        return
    result = simulate(scenario, seed=seed)
    assert_every_gap_has_a_name(result)
    assert_members_processed_their_records(result)
    operations = history(result)
    assert not duplicates(operations)
    assert not nonmonotonic_polls(operations)
    records = result.tables["records"]
    first = records[records["delivery"] > 0].groupby(PLACE)["offset"].min()
    named = {((row.topic, row.partition), row.offset) for row in records[records["lost"] != ""].itertuples()}
    unnamed = lost_writes(operations) - named
    assert all(offset < first.loc[("g", *place)] for place, offset in unnamed), "from before anybody began"


def ends_of(result: Result, which: Sequence[str]) -> pd.Series:
    """How often somebody stopped reading a partition in one of these ways."""
    ownership = result.tables["ownership"]
    return ownership[ownership["ended_by"].isin(which)].groupby(PLACE).size()


@pytest.mark.parametrize(
    ("family", "seed"), [one for one in SCENARIOS if one[0] != "delivery"], ids=lambda one: str(one)
)
def test_the_fluid_repeats_as_much(family: Family, seed: int) -> None:
    """Up to max.poll.records for each unclean change of a partition's owner, and up to one record for any other."""
    scenario = replace(random_scenario(seed, family), measure_from_us=0, measure_to_us=None)
    fluid, exact = simulate(scenario, seed=seed), simulate(exactly(scenario), seed=seed)
    found = [one.tables["partitions"].set_index(PLACE)["duplicates"] for one in (fluid, exact)]
    most = max(one.client.max_poll_records for one in scenario.groups)
    unclean, ends = (ends_of(fluid, which).reindex(found[0].index).fillna(0) for which in (UNCLEAN, ENDED_BY))
    assert (np.abs(found[0] - found[1]) <= most * unclean + ends).all()


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        ("jitter", 0), ("jitter", 1), ("jitter", 3), ("jitter", 4), ("grid", 0), ("grid", 1), ("aged", 1), ("aged", 5),
        ("dense", 1), ("dense", 5),
    ],
    ids=lambda one: str(one),
)  # fmt: skip
def test_members_process_as_much_in_either_way(family: Family, seed: int) -> None:
    """But for a record of each partition whenever its owner changes, and a batch of one whose end was unclean."""
    scenario = replace(random_scenario(seed, family), measure_from_us=0, measure_to_us=None)
    fluid, exact = simulate(scenario, seed=seed), simulate(exactly(scenario), seed=seed)
    records = exact.tables["records"]
    processed = records[records["delivery"] > 0].groupby("member").size()
    ownership = exact.tables["ownership"]
    members = fluid.tables["members"].groupby("member")["records"].sum()
    # A member that ends uncleanly has one batch in hand, whatever it is made of.
    unclean = ownership[ownership["ended_by"].isin(UNCLEAN)].groupby("member")["to_us"].nunique()
    changes, unclean = (one.reindex(members.index).fillna(0) for one in (ownership.groupby("member").size(), unclean))
    most = max(one.client.max_poll_records for one in scenario.groups)
    assert (np.abs(members - processed.reindex(members.index).fillna(0)) <= changes + most * unclean).all()
