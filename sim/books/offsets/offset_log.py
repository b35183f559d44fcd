"""What has ever changed about a group's offsets, in the order in which it was written down.

Between two such changes of a partition its lag is a closed form (`sim.books.offsets.ledger`), so this is all that
peaks, crossings and the work of members are computed from, once, at the end (`sim.output.stretches`). For each
partition the order is that of time; for different partitions it need not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.messages import Positions

SERVE, REST, RAISE, PRODUCE, CARRY = range(5)
"""Kinds of rows; `CARRY` stands for all that was said of a partition before."""


Load: TypeAlias = tuple[Positions, NDArray[np.float64], NDArray[np.int64]]
"""Partitions of services, what they offer, and milli-records a second that come; arrays of shape (k,)."""


class Block(NamedTuple):
    """Rows of one kind: each tells something new about a partition.

    Attributes
    ----------
    kind : int
        SERVE: consumed from ``offset`` on, by a service; REST: consumed up to ``offset`` and no further; RAISE: all
        below ``offset`` needs nobody any more; PRODUCE: produced at another rate.
    partitions : int32 array, shape (k,)
        Each at most once.
    time : int, or int64 array of shape (k,)
        With ``lengths`` one for each of them.
    offset : int, or int64 array of shape (k,)
    first : int
        Index of the first row's service, or of its production.
    lengths : int64 array, or None
        Rows of each service, or of what rests at one time; None: all rows are of one. Productions have a row each.
    """

    kind: int
    partitions: Positions
    time: Any
    offset: Any
    first: int = 0
    lengths: NDArray[np.int64] | None = None


class OffsetLog:
    """The changes of one group.

    Attributes
    ----------
    blocks : list of Block
    rows : int
        Of all blocks.
    latest : (int, int) or None
        Whose service began last, and when; None if those of many did, or if more has come since.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.rows = 0
        self.latest: tuple[int, int] | None = None
        self._services: list[tuple[Any, ...]] = []
        self._served = 0
        self._loads: list[Load] = []
        self._lengths: list[tuple[Any]] = []
        self._productions: list[tuple[Any, ...]] = []
        self._produced = 0

    @classmethod
    def begun_with(
        cls, services: Sequence[NDArray[Any]], lengths: NDArray[np.int64], load: Load, productions: Sequence[Any]
    ) -> OffsetLog:
        """One in which nothing has happened yet, with services and productions that began before it."""
        log = cls()
        log._services, log._loads, log._lengths = [tuple(services)], [load], [(lengths,)]
        log._productions = [tuple(productions)]
        log._served, log._produced = len(lengths), len(productions[0])
        return log

    @classmethod
    def joined(cls, logs: Sequence[OffsetLog], begins: Sequence[int]) -> OffsetLog:
        """Those of several groups as one, in which the partitions of each have numbers from ``begins`` on."""
        if len(logs) == 1:
            return logs[0]
        joined = cls()
        for log, begin in zip(logs, begins, strict=True):
            joined.append(log, begin)
        return joined

    def append(self, log: OffsetLog, begin: int = 0) -> None:
        """Let another one follow, whose partitions have numbers from ``begin`` on."""
        first = {SERVE: self._served, PRODUCE: self._produced}
        for block in log.blocks:
            partitions = block.partitions + begin if begin else block.partitions
            self._add(block._replace(partitions=partitions, first=block.first + first.get(block.kind, 0)))
        loads = log._loads
        self._loads += [(one[0] + begin, *one[1:]) for one in loads] if begin else loads
        self._services += log._services
        self._lengths += log._lengths
        self._productions += log._productions
        self._served += log._served
        self._produced += log._produced

    def parted(self, until: int) -> tuple[OffsetLog, OffsetLog]:
        """What was before a time, with services and productions that began before it, and what was not."""
        before, after = OffsetLog(), OffsetLog()
        served, produced = zip(self._services, self._loads, self._lengths, strict=True), iter(self._productions)
        for block in self.blocks:
            begun = next(served) if block.kind == SERVE else ()
            rates = next(produced) if block.kind == PRODUCE else ()
            is_before = np.asarray(block.time) < until
            for log, which in ((before, is_before), (after, ~is_before)):
                if (found := np.count_nonzero(which)) == which.size:
                    log._take(block, begun, rates)
                elif found:
                    log._take(*_some(block, begun, rates, which))
        return before, after

    def _take(self, block: Block, begun: tuple[Any, ...], rates: tuple[Any, ...]) -> None:
        """A block of another log, with its services or productions."""
        if begun:
            services, load, (lengths,) = begun
            self._add(block._replace(first=self._served))
            self._services.append(services)
            self._loads.append(load)
            self._lengths.append((lengths,))
            self._served += np.size(lengths)
        elif rates:
            self._add(block._replace(first=self._produced))
            self._productions.append(rates)
            self._produced += len(block.partitions)
        else:
            self._add(block)

    def _add(self, block: Block) -> None:
        self.blocks.append(block)
        self.rows += len(block.partitions)

    def serve(
        self, slot: int, now: int, partitions: Positions, offset: Any, backlog: float, rate: float, capacity: float,
        load: Load,
    ) -> None:  # fmt: skip
        """One consumer serves ``partitions`` from ``offset`` on; backlog, rate, capacity and load are of all it has."""
        self._add(Block(SERVE, partitions, now, offset, self._served))
        self._services.append((slot, now, backlog, rate, capacity))
        self._loads.append(load)
        self._lengths.append((len(load[0]),))
        self._served += 1
        self.latest = (slot, now)

    def change_capacity(self, capacity: float) -> None:
        """The service that began last has another capacity than was said."""
        self._services[-1] = (*self._services[-1][:-1], capacity)

    def serve_all(
        self, slots: Any, times: Any, partitions: Positions, offset: Any, lengths: NDArray[np.int64],
        backlog: NDArray[np.float64], rate: NDArray[np.float64], capacity: NDArray[np.float64], load: Load,
    ) -> None:  # fmt: skip
        """The same of many consumers: arrays of shape (n,); partitions and offsets one consumer after the other."""
        self._add(Block(SERVE, partitions, times, offset, self._served, lengths))
        self._services.append((slots, times, backlog, rate, capacity))
        self._loads.append(load)
        self._lengths.append((lengths,))
        self._served += len(slots)
        self.latest = None

    def rest(
        self, time: Any, partitions: Positions, offset: Any, lengths: NDArray[np.int64] | None = None
    ) -> None:  # fmt: skip
        """Nobody serves these any more; they have been processed up to ``offset``."""
        self._add(Block(REST, partitions, time, offset, lengths=lengths))

    def raise_to(self, time: Any, partitions: Positions, offset: Any) -> None:
        """What is below ``offset`` needs nobody any more, whoever consumes these."""
        self._add(Block(RAISE, partitions, time, offset))

    def produce(self, time: Any, partitions: Positions, base: Any, rate: Any) -> None:
        """These are produced to with ``rate`` (milli-records a second) from ``time`` on; ``base`` are there then."""
        self.latest = None
        self._add(Block(PRODUCE, partitions, time, -1, self._produced))
        self._productions.append((time, base, rate))
        self._produced += len(partitions)

    @property
    def services_begun(self) -> int:
        """How many services there are."""
        return self._served

    def services(self) -> list[NDArray[Any]]:
        """Slot, since when, backlog, rate and capacity (records a microsecond) of each service. Shapes (n,)."""
        dtypes = (np.int64, np.int64, np.float64, np.float64, np.float64)
        return [_column(self._services, index, dtype) for index, dtype in enumerate(dtypes)]

    def loads(self) -> tuple[NDArray[np.int64], Load]:
        """How many partitions each service has, shape (n + 1,), and of which it is what; the last one is nobody's."""
        nobody: Load = np.zeros(1, np.int32), np.zeros(1), np.zeros(1, np.int64)
        partitions, offered, mrps = (np.concatenate(column) for column in zip(*self._loads, nobody, strict=True))
        return np.append(_column(self._lengths, 0, np.int64), 1), (partitions, offered, mrps)

    def productions(self) -> list[NDArray[np.int64]]:
        """Since when, milli-records then, and rate of each production. Shapes (n,)."""
        return [_column(self._productions, index, np.int64) for index in range(3)]


def _some(
    block: Block, begun: tuple[Any, ...], rates: tuple[Any, ...], which: NDArray[np.bool_]
) -> tuple[Block, tuple[Any, ...], tuple[Any, ...]]:
    """Those of some of a block's times, with its services or productions."""
    rows = which if block.lengths is None else np.repeat(which, block.lengths)
    lengths = None if block.lengths is None else block.lengths[which]
    some = block._replace(
        partitions=block.partitions[rows], time=block.time[which], offset=_of(block.offset, rows), lengths=lengths
    )
    if begun:
        services, load, _ = begun
        begun = tuple(_of(one, which) for one in services), tuple(one[rows] for one in load), (lengths,)
    return some, begun, tuple(_of(one, rows) for one in rates)


def _of(values: Any, rows: NDArray[np.bool_]) -> Any:
    return values[rows] if isinstance(values, np.ndarray) else values


def _column(parts: Sequence[tuple[Any, ...]], index: int, dtype: Any) -> NDArray[Any]:
    """One column of parts that are single values or arrays."""
    pieces: list[NDArray[Any]] = []
    singles: list[Any] = []
    for part in parts:
        value = part[index]
        if isinstance(value, np.ndarray):
            if singles:
                pieces.append(np.array(singles, dtype))
                singles = []
            pieces.append(value)
        else:
            singles.append(value)
    return np.concatenate([*pieces, np.array(singles, dtype)]).astype(dtype, copy=False)
