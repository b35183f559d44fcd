"""Library scenarios, run over seeds: what the tests of this folder read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from groupsim.scenarios import load
from groupsim.sim import Result, simulate
from groupsim.sim.model import Scenario
from groupsim.sim.units import S

SEEDS = range(1, 1 + int(os.environ.get("LIBRARY_SEEDS", "2")))
"""`make test-all` takes twenty."""
SEVERAL = max(SEEDS, range(1, 4), key=len)
"""Of what a mean is asked."""
TWENTY = range(1, 21)
"""Of what happens in some runs only."""
TWO = range(1, 3)
"""Of what takes seconds a run, and comes out alike whatever is drawn."""
STRATEGY = "groups.billing.config[partition.assignment.strategy]"
COOPERATIVE: Mapping[str, Any] = {STRATEGY: ["cooperative-sticky"]}
STICKY: Mapping[str, Any] = {STRATEGY: ["sticky"]}
STATIC: Mapping[str, Any] = {"groups.billing.members.static": True}

TRIPS_S = 0.1
"""What a few round trips, an assignor, an append and its followers take, the slowest of some ten members, one message
in a hundred above 5 ms: the r, a, w, o and f of the closed forms."""
STEP_S = 0.1
"""retry.backoff.ms: a heartbeat that falls due while its application processes is late by that at most."""
HEARTBEAT_S = 3.0006
"""heartbeat.interval.ms, and what a real client is late each time."""
COMMIT_S = 5.0


def runs(name: str, changes: Mapping[str, Any] | None = None, seeds: Sequence[int] = SEEDS) -> list[Result]:
    """The results of a scenario, one for each seed; kept, so that tests may share them."""
    return [_run(name, _ByText((changes or {}).items()), seed) for seed in seeds]


class _ByText(tuple[Any, ...]):
    """Changes as a key: lists do not hash, their text does."""

    def __hash__(self) -> int:
        return hash(repr(self))


@cache
def _loaded(name: str, changes: _ByText) -> Scenario:
    return load(name, set_=dict(changes))


@cache
def _run(name: str, changes: _ByText, seed: int) -> Result:
    return simulate(_loaded(name, changes), seed=seed)


def summaries(results: Sequence[Result], group: str = "billing") -> pd.DataFrame:
    """The summary rows of a group, one for each seed. Shape (seeds, columns)."""
    rows = pd.concat([result.summary for result in results], ignore_index=True)
    return rows[rows["group"] == group].reset_index(drop=True)


def fired_s(result: Result, entry: str) -> float:
    """When an entry of the timeline fired first, seconds."""
    events = result.tables["events"]
    return float(events[events["entry"] == entry]["time_us"].min()) / S


def rebalances(result: Result, after_s: float = 0.0) -> pd.DataFrame:
    """The rebalances that start at ``after_s`` or later, with ``start_s`` and ``length_s``."""
    table = result.tables["rebalances"]
    table = table[table["start_us"] >= after_s * S].reset_index(drop=True)
    return table.assign(
        start_s=table["start_us"] / S, end_s=table["end_us"] / S, length_s=(table["end_us"] - table["start_us"]) / S
    )


def rows(table: pd.DataFrame) -> list[Any]:
    """The rows of a table, with its columns as attributes."""
    return list(table.itertuples())


def first_round_s(result: Result) -> tuple[float, float]:
    """The group's first full JoinGroup (it leaves Empty), and the instant T_J at which its first round is complete."""
    states = result.tables["states"]
    join = states[states["state"] == "PreparingRebalance"].iloc[0]
    return float(join["from_us"]) / S, float(join["to_us"]) / S


def unread(result: Result, cause: str | None = None) -> pd.DataFrame:
    """Rows of ``unavailability``, of one cause or all, with ``from_s`` and ``length_s``."""
    table = result.tables["unavailability"]
    if cause is not None:
        table = table[table["cause"] == cause]
    return table.assign(from_s=table["from_us"] / S, length_s=(table["to_us"] - table["from_us"]) / S)


def errors(result: Result) -> set[str]:
    """Error codes that were answered in a run."""
    return set(result.tables["requests"]["error"])


def late_syncs(result: Result) -> int:
    """How many SyncGroups came when the next round had begun."""
    table = result.tables["requests"]
    return int(table[(table["api"] == "SyncGroup") & (table["error"] == "REBALANCE_IN_PROGRESS")]["count"].sum())


def until_next(beat_s: float, at_s: float, every_s: float) -> float:
    """Seconds from ``at_s`` to the next instant of a train that passes through ``beat_s``."""
    return (beat_s - at_s) % every_s


def near(value: float, expected: float, slack_s: float = TRIPS_S) -> bool:
    """Whether a wait is the expected one and a few round trips."""
    return expected - slack_s / 4 <= value <= expected + slack_s
