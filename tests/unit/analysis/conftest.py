"""Synthetic tables: a plausible eager group under a rolling restart and a kill, small and large, with exact dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from groupsim.sim.tables import SUMMARY, TABLES

S = 1_000_000
SESSION_US = 10 * S
Tables = dict[str, pd.DataFrame]


def typed(name: str, rows: Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """A table with the declared columns and dtypes; what a row leaves out is 0 or empty."""
    kinds = TABLES[name]
    listed = list(rows)
    blank = {"int64": 0, "float64": 0.0, "string": ""}
    data = {c: pd.array([row.get(c, blank[k]) for row in listed], dtype=k) for c, k in kinds.items()}
    return pd.DataFrame(data)


@dataclass
class EagerGroup:
    """Writes the tables of a range group in which everybody revokes at each rebalance."""

    partitions: int
    members: list[str]
    group: str = "billing"
    now: int = 0
    alive: list[str] = field(default_factory=list)
    owner: dict[int, str] = field(default_factory=dict)
    since: dict[int, int] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in TABLES})
    generation: int = 0
    stable_from: int = 0

    def start(self, at_us: int) -> None:
        """All join; the initial rebalance delay of 3 s, then everybody reads."""
        self.alive = list(self.members)
        self._state(0, at_us, "Empty")
        self.stable_from = at_us
        self._rebalance(at_us, dict.fromkeys(range(self.partitions), at_us), 3 * S, "join")

    def leave(self, member: str, at_us: int, entry: str = "deploy") -> None:
        """A member closes: its partitions are unread at once, the others' from their next heartbeat on."""
        self._event(at_us, entry, "rolling_restart", member)
        self.alive.remove(member)
        self._rebalance(at_us, self._revocations(at_us, at_us, member), 3 * S, "leave")

    def join(self, member: str, at_us: int) -> None:
        """A member comes (back)."""
        self.alive = [one for one in self.members if one in {*self.alive, member}]
        self._rebalance(at_us, self._revocations(at_us, at_us, ""), 3 * S, "join")

    def kill(self, member: str, at_us: int) -> None:
        """A member dies: detection for a session, then a rebalance."""
        self._event(at_us, "oom", "kill", member)
        self.alive.remove(member)
        expired = at_us + SESSION_US
        for partition in self._owned(member):
            self._gap(partition, at_us, expired, "detection")
        starts = self._revocations(expired, at_us, member)
        self._rebalance(expired, starts, 3 * S, "session expired", dict.fromkeys(self._owned(member), expired))

    def finish(self, horizon_us: int) -> Tables:
        """Close what is open and hand out the tables."""
        self._state(self.stable_from, horizon_us, "Stable")
        for partition in self.owner:
            self._serve(partition, horizon_us, "horizon")
        self._lag(horizon_us)
        tables = {name: typed(name, rows) for name, rows in self.rows.items() if name != "summary"}
        seconds = (tables["unavailability"]["to_us"] - tables["unavailability"]["from_us"]).sum() / S
        row = {
            "scenario": "rolling-deploy", "group": self.group, "seed": 1, "horizon_s": horizon_us / S,
            "members": len(self.members), "partitions": self.partitions, "rebalances": len(tables["rebalances"]),
            "unavailable_partition_s": seconds, "rscore": np.nan, "recovery_s": np.nan, "end_state": "Stable",
        }  # fmt: skip
        return tables | {"summary": typed("summary", [row])}

    def _owned(self, member: str) -> list[int]:
        return [p for p, m in self.owner.items() if m == member]

    def _revocations(self, at_us: int, gone_us: int, gone: str) -> dict[int, int]:
        """When each partition stops being read: the gone member's at once, another's at its next heartbeat."""
        beat = {m: at_us + (7 * i % 10) * 3 * S // 10 for i, m in enumerate(self.members)}
        return {p: gone_us if m == gone else beat[m] for p, m in self.owner.items()}

    def _rebalance(
        self, at_us: int, unread: dict[int, int], barrier_us: int, trigger: str, counted: dict[int, int] | None = None
    ) -> None:
        synced = at_us + barrier_us
        stable = synced + 80_000
        self._state(self.stable_from, at_us, "Stable")
        self._state(at_us, synced, "PreparingRebalance")
        self._state(synced, stable, "CompletingRebalance")
        self.generation += 1
        self.stable_from = stable
        moved = dict(zip(range(self.partitions), np.array_split(range(self.partitions), len(self.alive)), strict=False))
        for index, member in enumerate(self.alive):
            for partition in map(int, moved[index]):
                self._hand_over(partition, member, unread[partition], synced, stable + 40_000 + 9_000 * index, counted)
        self.rows["rebalances"].append(
            {"group": self.group, "start_us": at_us, "end_us": stable, "trigger": trigger, "ended_by": "stable"}
        )

    def _hand_over(
        self, partition: int, member: str, unread: int, synced: int, served: int, counted: dict[int, int] | None
    ) -> None:
        if partition in self.owner:
            self._serve(partition, unread, "revoked")
        self._gap(partition, (counted or {}).get(partition, unread), synced, "barrier")
        self._gap(partition, synced, synced + 80_000, "assignment")
        self._gap(partition, synced + 80_000, served, "resume")
        self.owner[partition], self.since[partition] = member, served

    def _serve(self, partition: int, until: int, ended_by: str) -> None:
        row = {"group": self.group, "topic": "orders", "partition": partition, "member": self.owner[partition]}
        self.rows["ownership"].append(row | {"from_us": self.since[partition], "to_us": until, "ended_by": ended_by})

    def _gap(self, partition: int, start: int, end: int, cause: str) -> None:
        row = {"group": self.group, "topic": "orders", "partition": partition, "from_us": start, "to_us": end}
        self.rows["unavailability"].append(row | {"cause": cause})

    def _state(self, start: int, end: int, state: str) -> None:
        row = {"group": self.group, "from_us": start, "to_us": end, "state": state, "generation": self.generation}
        self.rows["states"] += [row] if end > start else []

    def _event(self, at_us: int, entry: str, verb: str, member: str) -> None:
        row = {"group": self.group, "time_us": at_us, "entry": entry, "verb": verb, "target": member}
        self.rows["events"].append(row)

    def _lag(self, horizon_us: int) -> None:
        """Every 5 s: 50 records/s a partition pile up while it is unread and drain at the same rate."""
        ends = np.array([(row["from_us"], row["to_us"]) for row in self.rows["unavailability"]])
        for time in range(0, horizon_us + 1, 5 * S):
            age = time - ends[:, 0]
            pile = np.clip(np.minimum(age, 2 * (ends[:, 1] - ends[:, 0]) - age), 0, None).sum() / S * 50
            row = {"group": self.group, "time_us": time, "lag_records": int(pile), "lag_us": int(pile * 200)}
            self.rows["lag"].append(row)


def rolling_restart(
    partitions: int, members: int, horizon_s: int, restarts: int, every_s: int, kill_s: int | None = None
) -> Tables:
    """The tables of a rolling restart that begins at 60 s: one member after the other, each away for 20 s."""
    group = EagerGroup(partitions, [f"billing/{i}" for i in range(members)])
    group.start(S)
    for index in range(restarts):
        begin = (60 + index * every_s) * S
        group.leave(f"billing/{index}", begin)
        group.join(f"billing/{index}", begin + 20 * S)
    if kill_s is not None:
        group.kill(f"billing/{members - 1}", kill_s * S)
    return group.finish(horizon_s * S)


@pytest.fixture(scope="session")
def small() -> SimpleNamespace:
    """6 partitions, 3 members, all restarted, one killed."""
    return SimpleNamespace(tables=rolling_restart(6, 3, 240, 3, 40, kill_s=200), manifest={"scenario": {}})


@pytest.fixture(scope="session")
def large() -> SimpleNamespace:
    """1,000 partitions, 100 members, 4 of them restarted, one killed."""
    return SimpleNamespace(tables=rolling_restart(1000, 100, 1800, 4, 60, kill_s=900), manifest={"scenario": {}})


@pytest.fixture(scope="session")
def empty() -> SimpleNamespace:
    """Every table, no row."""
    return SimpleNamespace(tables={name: typed(name) for name in TABLES}, manifest={})


@pytest.fixture(scope="session")
def sweep() -> Callable[..., pd.DataFrame]:
    """A maker of summaries: ``sweep({"range": [9.0, 9.5], ...})`` gives each variant its longest gaps, run by run."""

    def make(gaps: Mapping[str, Iterable[float]], **others: Any) -> pd.DataFrame:
        rows = [
            {"scenario": "deploy", "variant": variant, "group": "billing", "seed": 1, "replication": r,
             "horizon_s": 600.0, "unavailable_gap_s_max": gap, "unavailable_partition_s": 40 * gap,
             "rebalances": 6, "partitions_moved": int(10 * gap), "recovery_s": np.nan, "rscore": np.nan,
             "end_state": "Stable", **others}
            for variant, values in gaps.items() for r, gap in enumerate(values)
        ]  # fmt: skip
        return typed("summary", rows)

    assert set(SUMMARY) == set(typed("summary").columns)
    return make


@pytest.fixture(scope="session")
def make_table() -> Callable[..., pd.DataFrame]:
    """``make_table("lag", [{...}, ...])``: a table with exact dtypes; what a row leaves out is 0 or empty."""
    return typed


@pytest.fixture(scope="session")
def make_restart() -> Callable[..., Tables]:
    """``make_restart(partitions, members, horizon_s, restarts, every_s, kill_s)``: tables of a rolling restart."""
    return rolling_restart
