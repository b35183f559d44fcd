"""What happened to brokers and coordinators, ready to be drawn, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from groupsim.analysis.data.availability import S
from groupsim.analysis.data.load import Source, table
from groupsim.analysis.errors import MissingTable


@dataclass(frozen=True, slots=True)
class ClusterHistory:
    """A cluster over time.

    Parameters
    ----------
    brokers : tuple of int
        Their ids, in order.
    states : DataFrame with row (position in ``brokers``), from_s, to_s, state, leaders
    shards : int
        Coordinators that have groups.
    absent : DataFrame with from_s, to_s, state
        When one of them was being loaded, or nowhere.
    waits : DataFrame with from_s, to_s, p99_s, max_s
        What requests waited for their turn, where that was measured; of all coordinators the longest.
    """

    brokers: tuple[int, ...]
    states: pd.DataFrame
    shards: int
    absent: pd.DataFrame
    waits: pd.DataFrame

    @property
    def is_calm(self) -> bool:
        """Nothing has happened to brokers and coordinators."""
        return self.absent.empty and self.waits.empty and self.are_brokers_up

    @property
    def moves_s(self) -> list[float]:
        """When leaders moved from one broker to another while all concerned were up: nobody stopped or started."""
        rows = self.states.sort_values(["row", "from_s"], kind="stable")
        former = rows.groupby("row")[["state", "leaders"]].shift()
        changed = rows[former["state"].notna()].assign(
            is_move=(rows["state"] == "up") & (former["state"] == "up") & (rows["leaders"] != former["leaders"])
        )
        told = changed.groupby("from_s")["is_move"].all()
        return [float(time) for time in told.index[told]]

    @property
    def are_brokers_up(self) -> bool:
        """All of them, all the time."""
        return bool((self.states["state"] == "up").all())


def cluster_history(source: Source) -> ClusterHistory | None:
    """The history of the cluster; None where nothing has happened to it, or the result does not say."""
    try:
        brokers, shards, queues = (table(source, name) for name in ("brokers", "shards", "queues"))
    except MissingTable:
        return None
    nodes = tuple(sorted(int(node) for node in brokers["node"].unique()))
    found = ClusterHistory(
        brokers=nodes,
        states=_seconds(brokers).assign(row=brokers["node"].map({node: row for row, node in enumerate(nodes)})),
        shards=int(shards["partition"].nunique()),
        absent=_seconds(shards[shards["state"] != "active"])[["from_s", "to_s", "state"]],
        waits=_waits(queues),
    )
    return None if found.is_calm else found


def _waits(queues: pd.DataFrame) -> pd.DataFrame:
    worst = queues.groupby(["from_us", "to_us"], as_index=False)[["wait_p99_us", "wait_max_us"]].max()
    worst = worst.assign(p99_s=worst["wait_p99_us"] / S, max_s=worst["wait_max_us"] / S)
    return _seconds(worst)[["from_s", "to_s", "p99_s", "max_s"]]


def _seconds(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(from_s=frame["from_us"] / S, to_s=frame["to_us"] / S)
