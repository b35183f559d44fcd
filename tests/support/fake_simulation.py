"""A stand-in for ``sim.simulate``: instant, repeatable, tables of the declared form, numbers that mean nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sim.errors import SimError
from sim.model import Cluster, Group, Members, Scenario, Subscription, Topic
from sim.tables import FLOAT, INT, TABLES
from sim.units import MINUTE


@dataclass
class FakeResult:
    """What ``sim.simulate`` hands out."""

    tables: dict[str, pd.DataFrame]
    manifest: dict[str, Any]
    warnings: list[str] = field(default_factory=list)

    @property
    def summary(self) -> pd.DataFrame:
        return self.tables["summary"]


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


def simulate(scenario: Scenario, *, seed: int, replication: int, variant: str = "") -> FakeResult:
    """Numbers that depend on all that a real run depends on, and on nothing else."""
    numbers = np.random.default_rng([seed, replication, *variant.encode(), scenario.groups[0].members.count])
    tables = {name: _table(name, scenario, numbers) for name in TABLES}
    own = {"scenario": scenario.name, "variant": variant, "seed": seed, "replication": replication}
    tables["summary"] = tables["summary"].assign(**own).astype(dict(TABLES["summary"]))
    tables["summary"]["rscore"] = [None, *tables["summary"]["rscore"][1:]]
    manifest = {"scenario": dict(scenario.document), "seed": seed, "replication": replication, "events": 42}
    return FakeResult(tables, manifest, warnings=["one thing to know"])


def fail_on_second(scenario: Scenario, *, seed: int, replication: int, variant: str = "") -> FakeResult:
    """Fails in replication 1, as a simulation with a bug does."""
    if replication == 1:
        raise SimError("no member\nis left")
    return simulate(scenario, seed=seed, replication=replication, variant=variant)


def tell_where(scenario: Scenario, *, seed: int, replication: int, variant: str = "") -> FakeResult:
    """Fails with the interpreter that it runs in, and the folder that it came from."""
    raise SimError(f"{sys.executable} {Path(__file__).parents[2]} ")


def _table(name: str, scenario: Scenario, numbers: np.random.Generator) -> pd.DataFrame:
    groups = [group.name for group in reversed(scenario.groups)]
    columns = {}
    for column, dtype in TABLES[name].items():
        values = numbers.integers(0, 1_000_000, len(groups))
        columns[column] = values if dtype == INT else values / 1_000 if dtype == FLOAT else [f"{v}é" for v in values]
    return pd.DataFrame({**columns, **({"group": groups} if "group" in columns else {})}).astype(dict(TABLES[name]))
