"""A ledger that knows every record: who read it, when, and when it was committed.

What a consumer has got to, when it stops, commits or is killed, is what its passes have really returned and processed
(`sim.books.offsets.record_reader`), and no longer its share of a flow. Between such instants, lag is drawn as the
flow from one to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.offsets.record_reader import Appetite, Passes, RecordReader, Records
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.errors import RecordBudgetExceeded
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.units import FOREVER


class ExactLedger(Ledger):
    """All offsets of one group, and its records.

    Parameters
    ----------
    catalog, partitions, slots
        Of `Ledger`.
    most : int
        Records that may be kept, each as often as it is read.

    Attributes
    ----------
    readers : list of RecordReader
        Of all incarnations.
    commits : list of (microseconds, partitions, offsets)
        What was committed when.
    losses : list of (partitions, from, to, cause)
        Ranges of offsets that were skipped: arrays of shape (n,), and why.
    """

    def __init__(self, catalog: Catalog, partitions: Partitions, slots: int, most: int) -> None:
        super().__init__(catalog, partitions, slots)
        self._most = most
        self.readers: list[RecordReader] = []
        self.commits: list[tuple[int, Positions, Offsets]] = []
        self.losses: list[tuple[Positions, Offsets, Offsets, str]] = []
        self._reader_of: dict[Holding, RecordReader] = {}
        self._kept = 0

    def _charge(self, records: int) -> None:
        self._kept += records
        if self._kept > self._most:
            raise RecordBudgetExceeded(
                f"more than {self._most:,} records are read; shorten the run, or say data: fluid"
            )

    def commit(self, positions: Positions, offset: Offsets, moment: tuple[Any, int], *, contested: bool) -> None:
        """Committed offsets; see `Ledger.commit`."""
        self.commits.append((int(moment[0]), positions, offset))
        super().commit(positions, offset, moment, contested=contested)

    def note_commit(self, now: int, positions: Positions) -> None:
        """Offsets of these have been committed, and are in the table."""
        self.commits.append((now, positions, self.offsets.offset[positions]))

    def lose(self, positions: Positions, since: Offsets, until: Offsets, cause: str) -> None:
        """Records of [since, until) are skipped."""
        some = until > since
        if some.any():
            self.losses.append((positions[some], since[some], until[some], cause))

    def unread_from(self, at: Offsets, readable: Offsets) -> Offsets:
        """From where on nobody has read: it is known which records have been."""
        return at

    # --- consumption --------------------------------------------------------------------------------------------------

    def anchor(
        self, holding: Holding, now: int, partitions: Positions, offset: Offsets, capacity: float,
        returned: Offsets | None = None,
    ) -> None:  # fmt: skip
        """Let a consumer serve ``partitions`` from ``offset`` on."""
        reader = self._reader_of.get(holding)
        if reader is None:
            reader = self._reader_of[holding] = RecordReader(self, holding.slot, self._charge)
            self.readers.append(reader)
        reader.anchor(now, partitions, offset)
        super().anchor(holding, now, partitions, offset, capacity, returned)

    def follow(self, holding: Holding, schedule: Passes, now: int, appetite: Appetite) -> None:
        """A consumer polls as ``schedule`` says from now on."""
        self._reader_of[holding].follow(schedule, now, appetite)

    def break_off(self, holding: Holding, now: int) -> None:
        """A consumer's application stands still from now on, or goes on later than it was to."""
        reader = self._reader_of.get(holding)
        if reader is not None:
            reader.break_off(now)

    def halt(self, holding: Holding, now: int) -> None:
        """Stop processing; see `Ledger.halt`."""
        self.break_off(holding, now)
        super().halt(holding, now)

    def release(
        self, holding: Holding, now: int, partitions: Positions, gone: NDArray[np.bool_], offset: Offsets
    ) -> None:
        """Take some partitions away from a consumer; see `Ledger.release`."""
        self.break_off(holding, now)
        super().release(holding, now, partitions, gone, offset)

    def positions(self, holding: Holding, now: int) -> Offsets:
        """Records processed so far (next offset), per partition of the holding. Shape (n,)."""
        if not holding.running or now <= holding.since:
            return holding.offset
        return self._reader_of[holding].positions(now)

    def whole_positions(self, holding: Holding, now: int) -> Offsets:
        """`positions`: nothing has fractions. Shape (n,)."""
        return self.positions(holding, now)

    def returned(self, holding: Holding, until: int) -> Offsets:
        """What poll() has returned before ``until`` (next offset), per partition of the holding. Shape (n,)."""
        return self._reader_of[holding].returned(until) if holding.running else holding.offset

    def first_done(self, holding: Holding, since: Mapping[int, int], until: int) -> tuple[int, int]:
        """The record that is processed first; see `RecordReader.first_done`."""
        return self._reader_of[holding].first_done(since, until) if holding.running else (-1, FOREVER)

    def processed(self, now: int) -> Offsets:
        """Processed by anybody, every partition of the group. Shape (n_partitions,)."""
        result = self.frontier.copy()
        for holding in self._reader_of:
            if holding.running:
                mine = self._holder[holding.partitions] == holding.slot
                held = holding.partitions[mine]
                result[held] = np.maximum(result[held], self.positions(holding, now)[mine])
        return result

    def deliveries(self) -> tuple[Records, NDArray[np.int64]]:
        """All that was processed, and the slot of who did. Shapes (n,)."""
        parts, slots = [], []
        for reader in self.readers:
            for _, _, records in reader.stretches:
                parts.append(records)
                slots.append((reader.slot, len(records)))
        numbers = np.array(slots, np.int64).reshape(-1, 2)
        return Records.joined(parts), np.repeat(numbers[:, 0], numbers[:, 1])

    def finish(self, now: int) -> None:
        """The horizon: what is not processed by now never is."""
        for reader in self.readers:
            reader.break_off(now)
