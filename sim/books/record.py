"""Typed columns, one append per fact; sorted and turned into tables once, at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Rows:
    """Rows of integers, appended in blocks that are put together once, at the end.

    Parameters
    ----------
    width : int
        Number of columns.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._lengths: list[int] = []
        self._columns: list[list[Any]] = [[] for _ in range(width)]
        self._least: dict[int, tuple[int, int | None]] = {}
        """Of a column: how many blocks have been looked at, and the smallest value in them."""

    def add(self, first: NDArray[np.integer[Any]], *others: Any) -> None:
        """Append a block: ``first`` has one value per row, each other column as many or a single one."""
        if first.size:
            self._lengths.append(len(first))
            self._columns[0].append(first)
            for column, values in zip(self._columns[1:], others, strict=True):
                column.append(values)

    def least(self, column: int) -> int | None:
        """The smallest value of a column; None if there are no rows."""
        seen, least = self._least.get(column, (0, None))
        news = [int(np.min(values)) for values in self._columns[column][seen:]]
        least = min(news if least is None else [least, *news], default=None)
        self._least[column] = (seen + len(news), least)
        return least

    def array(self) -> NDArray[np.int64]:
        """All rows. Shape (n, width); each column is contiguous, as there can be millions of rows."""
        columns = np.empty((self._width, sum(self._lengths)), np.int64)
        for column, blocks in zip(columns, self._columns, strict=True):
            begin = 0
            for length, values in zip(self._lengths, blocks, strict=True):
                column[begin : begin + length] = values
                begin += length
        return columns.T


@dataclass(slots=True)
class Rebalance:
    """A rebalance under way, or over."""

    start_us: int
    reason: str
    trigger: str
    generation_from: int
    members_before: int
    end_us: int = -1
    ended_by: str = "horizon"
    reported_us: int | None = None
    generation_to: int = 0
    members_after: int = 0
    members_in: int = 0
    members_out: int = 0
    kicked: int = 0
    preparing_us: int = 0
    completing_us: int = 0
    moved: int = 0
    moved_min: int = 0
    moved_mrps: int = 0
    imbalance_partitions: int = 0
    stdev_partitions: float = 0.0
    imbalance_rate: float = 0.0
    stdev_rate: float = 0.0


@dataclass(slots=True)
class Life:
    """One incarnation of a member."""

    member: str
    incarnation: int
    started_us: int
    member_id: str = ""
    stable_us: int = -1
    ended_us: int = -1
    ended_by: str = "horizon"
    rejoins: int = 0
    evicted: int = 0
    """So often the coordinator has removed it by a timer, whether it still lived or not."""
    paused_us: int = 0
    rack: str = ""
    client_rack: str = ""
    """``client.rack``; ``rack`` is where it is."""


@dataclass(slots=True)
class GroupRecord:
    """Everything that is written down about one group.

    Unavailability rows: (position, from, to, cause). Ownership rows: (position, slot, from, to, ended_by code).
    Lag rows: (time, records, age of the oldest).
    """

    unavailability: Rows = field(default_factory=lambda: Rows(4))
    ownership: Rows = field(default_factory=lambda: Rows(5))
    lag: Rows = field(default_factory=lambda: Rows(3))
    states: list[tuple[int, str, int]] = field(default_factory=list)
    rebalances: list[Rebalance] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    latest: dict[str, Life] = field(default_factory=dict)
    """By name, of those members that have ever lived."""
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    delivery: Counter[tuple[str, str]] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    paused_us: int = 0
    zombie_us: int = 0
    generations: int = 0
    imbalance_max: int = 0
    zookeeper_busy: list[float] = field(default_factory=list)
    """Share of its time that each ZooKeeper server has worked, of all groups; empty without ZooKeeper."""
    events: list[tuple[int, str, str, str]] = field(default_factory=list)

    def begin(self, life: Life) -> None:
        """An incarnation of a member opens."""
        self.lives.append(life)
        self.latest[life.member] = life

    def add_delivery(self, kind: str, cause: str, records: int) -> None:
        """So many records more were read twice (``duplicate``) or never (``loss``)."""
        if records:
            self.delivery[kind, cause] += records


ENDED_BY = ("revoked", "lost", "killed", "closed", "horizon", "failed", "cut off", "topic deleted")
"""Why somebody stopped reading, by code."""
REVOKED, LOST, KILLED, CLOSED, HORIZON, FAILED, CUT, GONE = range(8)
EXPIRED, OUT_OF_RANGE, DELETED = -2, -3, -4
"""Instead of such a code: the committed offset has expired since, what follows it was deleted, or it was itself."""
