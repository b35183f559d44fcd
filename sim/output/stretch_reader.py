"""Reads stretches off the log of a group's offsets, some of its rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.offset_log import CARRY, PRODUCE, RAISE, SERVE, Block, OffsetLog
from groupsim.sim.books.offsets.portions import portions
from groupsim.sim.books.offsets.sorting import order_of
from groupsim.sim.output.stretches import Integers, Motion, Stretches

_ROWS = 1 << 16
"""Rows of the log that are worked on at once."""


class Reader:
    """Reads stretches off a log, some of its rows at a time.

    Parameters
    ----------
    log : OffsetLog
    motion : Motion
    partitions : int
    last : int, microseconds
        The last instant.
    before : Stretches, optional
        How each of the first partitions was before the log begins, from then on.

    Attributes
    ----------
    after : Stretches
        How each partition is after the last instant, from then on; known when all has been read.
    """

    def __init__(
        self, log: OffsetLog, motion: Motion, partitions: int, last: int, before: Stretches | None = None
    ) -> None:
        self._log = log
        self._motion = motion
        self._partitions = partitions
        self._last = last
        known = 0 if before is None else len(before)
        more = Stretches(
            np.arange(known, partitions), np.full(partitions - known, -1), np.zeros(partitions - known, np.int64),
            *np.full((6, partitions - known), -1),
        )  # fmt: skip
        self._before = self.after = Stretches.joined([more] if before is None else [before, more])
        if before is not None:
            self._before.place[:] = motion.levels.places(self._before.service, self._before.partition)

    def __iter__(self) -> Iterator[Stretches]:
        """Every stretch in which the group has begun, in no particular order."""
        if not self._partitions:
            return
        carried = Stretches(*(getattr(self._before, field.name).copy() for field in fields(Stretches)))
        everything, last = np.arange(self._partitions, dtype=np.int32), self._last + 1
        closing = Block(RAISE, everything, last, -1)
        blocks = [*self._log.blocks, closing]
        ends = np.cumsum([len(block.partitions) for block in blocks])
        for first, end in portions(ends, _ROWS):
            states = self._states(carried, blocks[first:end])
            is_last = np.append(states.partition[1:] != states.partition[:-1], True)
            latest = states[is_last]
            for field in fields(Stretches):
                getattr(carried, field.name)[latest.partition] = getattr(latest, field.name)
            states.end[:-1] = states.begin[1:]
            begun = (states.floor >= 0) & ~is_last & (states.begin < states.end) & (states.begin < last)
            yield states[begun].cut(0, last)
        self.after = carried

    def _states(self, carried: Stretches, blocks: Sequence[Block]) -> Stretches:
        """How each partition is after each row, by partition, each from its row's time on; the first is as before."""
        kind, partition, time, offset, reference, rank = _columns(blocks)
        is_told = np.zeros(self._partitions, np.bool_)
        is_told[partition] = True
        known = carried[is_told]
        first, length = len(known), len(known) + len(kind)
        kinds = np.concatenate([np.full(first, CARRY, np.int8), kind])
        order = order_of(np.concatenate([known.partition, partition]))
        kinds = kinds[order]
        rows = np.arange(length)
        serving = order[np.maximum.accumulate(np.where((kinds != PRODUCE) & (kinds != RAISE), rows, 0))]
        producing = order[np.maximum.accumulate(np.where((kinds == PRODUCE) | (kinds == CARRY), rows, 0))]
        begin = np.concatenate([known.begin, time])[order]
        raised = np.concatenate([known.floor, np.where(kind == PRODUCE, -1, offset)])[order]
        begun = np.flatnonzero(kind == SERVE)
        service, place, offered = np.full(len(kind), -1), np.full(len(kind), -1), np.zeros(len(kind), np.int64)
        service[begun] = reference[begun]
        place[begun] = places = self._motion.places(reference[begun], partition[begun], rank[begun])
        offered[begun] = self._motion.offered(places)
        return Stretches(
            np.concatenate([known.partition, partition])[order], begin, begin.copy(), _highest(raised, kinds == CARRY),
            np.concatenate([known.service, service])[serving], np.concatenate([known.offset, offset])[serving],
            np.concatenate([known.offered, offered])[serving], np.concatenate([known.production, reference])[producing],
            np.concatenate([known.place, place])[serving],
        )  # fmt: skip


def _columns(blocks: Sequence[Block]) -> tuple[NDArray[np.int8], Integers, Integers, Integers, Integers, Integers]:
    """Kind, partition, time, offset, reference and rank in that of all rows of some blocks. Shapes (n,)."""
    lengths = [len(block.partitions) for block in blocks]
    kind = np.repeat(np.array([block.kind for block in blocks], np.int8), lengths)
    partition = np.concatenate([block.partitions for block in blocks])
    time, offset = np.empty(len(kind), np.int64), np.empty(len(kind), np.int64)
    reference = np.repeat(np.array([block.first for block in blocks]), lengths)
    rank = np.empty(len(kind), np.int64)
    end = 0
    for block, length in zip(blocks, lengths, strict=True):
        begin, end = end, end + length
        offset[begin:end], rank[begin:end] = block.offset, np.arange(length)
        if block.lengths is None:
            time[begin:end] = block.time
            if block.kind == PRODUCE:
                reference[begin:end] += np.arange(length)
        else:
            time[begin:end] = np.repeat(block.time, block.lengths)
            reference[begin:end] += np.repeat(np.arange(len(block.lengths)), block.lengths)
            rank[begin:end] -= np.repeat(np.cumsum(block.lengths) - block.lengths, block.lengths)
    return kind, partition, time, offset, reference, rank


def _highest(values: Integers, begins: NDArray[np.bool_]) -> Integers:
    """The highest value so far, beginning anew where ``begins``. Shape of ``values``."""
    span = int(values.max(initial=0)) + 2
    shift = np.cumsum(begins) * span
    highest: Integers = np.maximum.accumulate(values + shift) - shift
    return highest
