"""A stand-in for ``sim.simulate``: instant, repeatable, tables of the declared form, numbers that mean nothing."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from groupsim.sim.errors import SimError
from groupsim.sim.model import Cluster, Group, Members, Scenario, Subscription, Topic
from groupsim.sim.output.result import Result, Tables
from groupsim.sim.tables import FLOAT, INT, TABLES
from groupsim.sim.units import MINUTE


def scenario(name: str = "small", groups: tuple[str, ...] = ("billing", "audit"), members: int = 3) -> Scenario:
    """A scenario with as many groups as named; ``members`` tells variants apart."""
    return Scenario(
        name=name, question="?", horizon_us=MINUTE, cluster=Cluster(), topics=(Topic(name="orders", partitions=6),),
        groups=tuple(
            Group(name=group, subscription=Subscription(topics=("orders",)), members=Members(count=members))
            for group in groups
        ),
        document={"version": 1, "question": "?", "horizon": "1min"},
    )  # fmt: skip


def simulate(
    scenario: Scenario,
    *,
    seed: int,
    replication: int,
    variant: str = "",
    after_each: object = None,
    gauge: object = None,
) -> Result:
    """Numbers that depend on all that a real run depends on, and on nothing else."""
    numbers = np.random.default_rng([seed, replication, *variant.encode(), scenario.groups[0].members.count])
    columns = {name: _columns(name, scenario, numbers) for name in TABLES}
    for table in ("zookeeper", "producers"):  # its groups have coordinators, and its records come by themselves
        columns[table] = {name: [] for name in TABLES[table]}
    groups, rscores = columns["summary"]["group"], columns["summary"]["rscore"]
    own = {"scenario": scenario.name, "variant": variant, "seed": seed, "replication": replication, "horizon_s": 60.0}
    columns["summary"] |= {name: [value] * len(groups) for name, value in {**own, "end_state": "Stable"}.items()}
    for besides in ("cross_rack_cost_per_month", "aborted_share"):  # nothing has a price, and no group produces
        columns["summary"][besides] = np.full(len(groups), np.nan)
    null = [None if group == min(groups) else rscore for group, rscore in zip(groups, rscores, strict=True)]
    columns["summary"]["rscore"] = np.array(null, dtype=object)
    tables = Tables(columns)
    manifest = {
        "scenario": scenario.name, "document": scenario.document, "seed": seed, "replication": replication,
        "events": 42, "warnings": ["one thing to know"], "versions": {"python": "3"}, "digests": tables.digests(),
    }  # fmt: skip
    return Result(tables, manifest, warnings=["one thing to know"])


def fail_on_second(
    scenario: Scenario,
    *,
    seed: int,
    replication: int,
    variant: str = "",
    after_each: object = None,
    gauge: object = None,
) -> Result:
    """Fails in replication 1, as a simulation with a bug does."""
    if replication == 1:
        raise SimError("no member\nis left")
    return simulate(scenario, seed=seed, replication=replication, variant=variant)


def tell_where(scenario: Scenario, *, seed: int, replication: int, variant: str = "") -> Result:
    """Fails with the interpreter that it runs in, and the folder that it came from."""
    raise SimError(f"{sys.executable} {Path(__file__).parents[2]} ")


def _columns(name: str, scenario: Scenario, numbers: np.random.Generator) -> dict[str, Any]:
    groups = [group.name for group in reversed(scenario.groups)]
    columns: dict[str, Any] = {"group": groups}
    for column, dtype in TABLES[name].items():
        values = numbers.integers(0, 1_000_000, len(groups))
        drawn = values if dtype == INT else values / 1_000 if dtype == FLOAT else [f"{value}é" for value in values]
        columns.setdefault(column, drawn)
    return columns


def die_on_second(scenario: Scenario, *, seed: int, replication: int, variant: str = "") -> Result:
    """Takes its process with it in replication 1, as one that needs too much memory does."""
    if replication == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return simulate(scenario, seed=seed, replication=replication, variant=variant)
