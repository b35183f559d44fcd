"""A few runs that must go on giving what they give: digests of every table, and the summary for people to read.

A change of behaviour shows here first. If it is meant, ``--update-golden`` writes the new values; the difference of the
CSV files belongs into the description of the change.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import (
    AddPartitions,
    Cluster,
    Distribution,
    Entry,
    GcPause,
    Group,
    Kill,
    Members,
    Processing,
    Rate,
    RollingRestart,
    Scenario,
    Start,
    Subscription,
    Target,
    Topic,
)
from groupsim.sim.units import MINUTE, MS, S
from tests.support.scenarios import EVENTS_MAX

RUNS = Path(__file__).parent / "runs"
DOWN = Distribution("lognormal", (5 * S, 10 * S))


def scenario(name: str, strategy: str, *timeline: Entry, static: bool = False) -> Scenario:
    """Five members, two topics, everything drawn."""
    client = ClientConfig(
        partition_assignment_strategy=(strategy,), session_timeout_us=10 * S, metadata_max_age_us=30 * S
    )
    members = Members(count=5, static=static, start=Start(kind="within", value_us=3 * S))
    return Scenario(
        name=name, question="?", horizon_us=5 * MINUTE, cluster=Cluster(), recovery_lag_records=500,
        event_budget=EVENTS_MAX,
        topics=(
            Topic(name="orders", partitions=12, rate=Rate(per_partition_mrps=((20_000, 5_000),))),
            Topic(name="returns", partitions=4, rate=Rate(per_partition_mrps=((1_000,),))),
        ),
        groups=(
            Group(
                name="billing", subscription=Subscription(topics=("orders", "returns")), members=members, client=client,
                processing=Processing(per_poll_us=200 * MS),
            ),
        ),
        timeline=timeline,
    )  # fmt: skip


BILLING = Target("group", "billing")
KILL = Entry(id="crash", at_us=MINUTE, verb=Kill(target=replace(BILLING, pick="random"), down=DOWN))
DEPLOY = Entry(id="deploy", at_us=MINUTE, verb=RollingRestart(target=BILLING, down=DOWN))
PAUSES = Entry(
    id="gc", every=Distribution("exponential", (20 * S,)), per_member=True,
    verb=GcPause(target=BILLING, duration=Distribution("lognormal", (300 * MS, 12 * S))),
)  # fmt: skip
GROWTH = Entry(id="growth", at_us=2 * MINUTE, verb=AddPartitions(topic="orders", to=16))

SCENARIOS = (
    scenario("calm-range", "range"),
    scenario("kill-range", "range", KILL),
    scenario("deploy-range", "range", DEPLOY),
    scenario("deploy-static", "range", DEPLOY, static=True),
    scenario("deploy-cooperative", "cooperative-sticky", DEPLOY),
    scenario("pauses-sticky", "sticky", PAUSES, GROWTH),
    scenario("kill-broadcast", "broadcast", KILL),
)


def summary_text(result: Result) -> str:
    """The summary turned on its side: a line a column, so that a difference names what has changed."""
    row = result.summary.iloc[0]
    return "column,value\n" + "".join(f"{column},{row[column]}\n" for column in result.summary.columns)


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: one.name)
def test_a_run_gives_what_it_gave(one: Scenario, update_golden: bool) -> None:
    result = simulate(one, seed=1)
    found = {
        RUNS / f"{one.name}.csv": summary_text(result),
        RUNS / f"{one.name}.json": json.dumps(result.manifest["digests"], indent=2) + "\n",
    }
    if update_golden:
        RUNS.mkdir(exist_ok=True)
        for path, text in found.items():
            path.write_text(text, encoding="utf-8")
    for path, text in found.items():
        assert text == path.read_text(encoding="utf-8"), f"{path.name}: meant? then --update-golden"
