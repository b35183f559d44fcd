"""Members whose transactions are worked out ahead, as columns: what each is, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.polling.heartbeat_thread import Cadence
from groupsim.sim.client.polling.pace import Pace
from groupsim.sim.client.polling.settling import Batch
from groupsim.sim.model import Distribution

Column = NDArray[np.int64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns over members."""

    def of(self, rows: Rows) -> Self:
        """Those of some members."""
        return self._each(lambda name: _of(getattr(self, name), rows))

    def joined(self, others: Self) -> Self:
        """Those of these members, then those of others."""
        return self._each(lambda name: _joined(getattr(self, name), getattr(others, name)))

    def _each(self, column: Callable[[str], Any]) -> Self:
        return replace(self, **{one.name: column(one.name) for one in fields(self)})


def _of(value: Any, rows: Rows) -> Any:
    if isinstance(value, np.ndarray):
        return value[rows]
    return type(value)(*(_of(one, rows) for one in value)) if isinstance(value, tuple) else value


def _joined(value: Any, other: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.concatenate([value, other])
    if isinstance(value, tuple):
        return type(value)(*(_joined(*pair) for pair in zip(value, other, strict=True)))
    return value


class Costs(NamedTuple):
    """What records cost where that is drawn for each batch. Columns of shape (n,).

    Parameters
    ----------
    law : Distribution
    key : uint64 array
    fixed_us, record_wait_us : int64 arrays, microseconds
        Of a batch beside its records, and the wait after each.
    """

    law: Distribution
    key: NDArray[np.uint64]
    fixed_us: Column
    record_wait_us: Column


@dataclass(frozen=True, eq=False)
class Members(Columns):
    """What does not change from one transaction to the next. Columns of shape (n,); times in microseconds.

    Parameters
    ----------
    slots : intp array
    pace : Pace
        How each goes through its poll loop, whatever there is to do.
    cost_us : int64 array
        Of a record, on average.
    costs : Costs or None
        None: each record costs the same.
    cadence : Cadence
        Of heartbeat threads.
    beat_interval_us : int64 array
        From one heartbeat until the next is due.
    other_key, beat_key : uint64 arrays
        Keys of latencies, of requests of its transactions and of heartbeats.
    producer_id : int64 array
    limit_us : int64 array
        Before that its markers have to be written.
    patience_us : int64 array
        A transaction that takes longer is none of these: it times out, or more than a heartbeat is sent meanwhile.
    most : int64 array
        So many transactions until its epochs are used up.
    """

    slots: Rows
    pace: Pace
    cost_us: Column
    costs: Costs | None
    cadence: Cadence
    beat_interval_us: Column
    other_key: NDArray[np.uint64]
    beat_key: NDArray[np.uint64]
    producer_id: Column
    limit_us: Column
    patience_us: Column
    most: Column


@dataclass(frozen=True, eq=False)
class Standing(Columns):
    """How far members have come when their thread is back from a commit. Shape (n,); times in microseconds.

    Parameters
    ----------
    back_us : int64 array
        When that is.
    waiting : float64 array, records
        What poll() then returns, more than the flow has left: what came while the last batch was processed, too.
    free_us : int64 array
        When the last transaction is complete, so that another one can begin.
    batches : int64 array
        Number of the next batch, where each costs what is drawn for it.
    refers : bool array
        Whether the last pass has submitted an event (`sim.client.polling.poll_events`).
    other, beats : int64 array
        Numbers of the next request of the transaction, and of the next heartbeat.
    beat_due_us : int64 array
        When a heartbeat is due.
    waits_since_us : int64 array
        When the step in hand of the heartbeat thread began.
    renewed_us, answered_us : int64 array
        When the last heartbeat was worked on, and when its answer came.
    """

    back_us: Column
    waiting: NDArray[np.float64]
    free_us: Column
    batches: Column
    refers: NDArray[np.bool_]
    other: Column
    beats: Column
    beat_due_us: Column
    waits_since_us: Column
    renewed_us: Column
    answered_us: Column

    @property
    def is_sure(self) -> NDArray[np.bool_]:
        """Whether no heartbeat is on its way: a member can go on from there by itself."""
        return self.answered_us < self.back_us

    def put(self, rows: Rows, others: Standing) -> Standing:
        """The same, but for some members."""
        return self._each(lambda name: _put(getattr(self, name), rows, getattr(others, name)))


def _put(column: NDArray[Any], rows: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    column = column.copy()
    column[rows] = values
    return column


@dataclass(frozen=True, eq=False)
class Held:
    """Partitions that members read, of one member after the other. Shape (k,), or (n,) where it says so.

    Parameters
    ----------
    positions : int32 array
    member : intp array
        Whose it is, ascending.
    output : int64 array
        Number of the partition that is written what is made of it.
    lengths, begins : int64 arrays, shape (n,)
        How many partitions each member has, at least one, and which is the first.
    mrps : int64 array
        Milli-records that come in a second.
    rate : float64 array, shape (n,), records per microsecond
    """

    positions: NDArray[np.int32]
    member: Rows
    output: Column
    lengths: Column
    begins: Column
    mrps: Column
    rate: NDArray[np.float64]

    @classmethod
    def by(cls, positions: NDArray[np.int32], lengths: Column, output: Column, mrps: Column) -> Held:
        """Of members that have so many partitions each."""
        begins = np.cumsum(lengths) - lengths
        rate = np.add.reduceat(mrps, begins) / 1e9
        return cls(positions, np.repeat(np.arange(len(lengths)), lengths), output, lengths, begins, mrps, rate)

    @cached_property
    def pairs(self) -> tuple[Rows, Column, Rows]:
        """Of members and partitions that these write to: which pair each belongs to, and each pair's output and member.

        Shapes (k,), (p,), (p,).
        """
        most = int(self.output.max()) + 1
        pairs, which = np.unique(self.member * most + self.output, return_inverse=True)
        return which, pairs % most, pairs // most

    def part(self, row: int) -> slice:
        """Where those of one member are."""
        return slice(int(self.begins[row]), int(self.begins[row] + self.lengths[row]))

    def parts(self, rows: Rows) -> NDArray[np.bool_]:
        """Which partitions are those of some members."""
        kept = np.zeros(len(self.lengths), np.bool_)
        kept[rows] = True
        return kept[self.member]

    def of(self, rows: Rows) -> Held:
        """Those of some members."""
        parts = self.parts(rows)
        return Held.by(self.positions[parts], self.lengths[rows], self.output[parts], self.mrps[parts])

    def joined(self, others: Held) -> Held:
        """Those of these members, then those of others."""
        names = ("positions", "lengths", "output", "mrps")
        return Held.by(*(np.concatenate([getattr(self, name), getattr(others, name)]) for name in names))


@dataclass(frozen=True, eq=False)
class Cohort:
    """Members that go on together.

    Parameters
    ----------
    rows : intp array, shape (n,), ascending
        Which of all members that have been worked out ahead.
    members : Members
    held : Held
    standing : Standing
    begun : int64 array, shape (k,)
        Where they go on with their partitions.
    """

    rows: Rows
    members: Members
    held: Held
    standing: Standing
    begun: Column

    def of(self, which: Rows) -> Cohort:
        """Some of them, by index."""
        if len(which) == len(self.rows):
            return self
        begun = self.begun[self.held.parts(which)]
        return Cohort(self.rows[which], self.members.of(which), self.held.of(which), self.standing.of(which), begun)

    def joined(self, others: Cohort) -> Cohort:
        """These, then others."""
        return Cohort(
            np.concatenate([self.rows, others.rows]), self.members.joined(others.members),
            self.held.joined(others.held), self.standing.joined(others.standing),
            np.concatenate([self.begun, others.begun]),
        )  # fmt: skip

    def gone_on(self, which: Rows, standing: Standing, begun: Column) -> Cohort:
        """Some of them stand there now."""
        if len(which) == len(self.rows):
            return replace(self, standing=standing, begun=begun)
        return replace(
            self, standing=self.standing.put(which, standing), begun=_put(self.begun, self.held.parts(which), begun)
        )


def paces(several: Sequence[Pace]) -> Pace:
    """Many paces, as columns."""
    columns = {name: np.array([getattr(one, name) for one in several]) for name in Pace._fields if name != "batch"}
    batch = {name: np.array([getattr(one.batch, name) for one in several]) for name in Batch._fields}
    return Pace(**columns, batch=Batch(**batch))
