"""What a consumer does with its partitions: consume from a position, stop, and leave traces in the books.

One per incarnation. It keeps the group's ledger, availability and ownership rows in step, and finds out what
is read twice or never: a partition starts at the committed offset (or where auto.offset.reset says), and everything
below what somebody had processed already is a duplicate, everything skipped a loss.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.offsets.record_reader import Appetite, Passes
from groupsim.sim.books.record import LOST
from groupsim.sim.protocol.messages import Positions, within

_NONE: NDArray[np.int64] = np.empty((3, 0), np.int64)


class Consumption:
    """Partitions of one incarnation of one consumer.

    Parameters
    ----------
    books : GroupBooks
    slot : int
        Index of the consumer in the group.
    """

    def __init__(self, books: GroupBooks, slot: int) -> None:
        self._books = books
        self.slot = slot
        self.handle = -1
        self.holding = Holding(slot)
        self.appetite = Appetite(1, 1, 0.0)
        """Of the application, once that is known."""
        self._stretches = _NONE
        """Of each partition since when it is consumed, `_zombie_since` and `_read_by_others`. Shape (3, n_held)."""

    @property
    def partitions(self) -> Positions:
        """Partitions being consumed, ascending."""
        return self.holding.partitions

    @property
    def _zombie_since(self) -> NDArray[np.int64]:
        """Since when it reads what is somebody else's; -1: it does not. Shape (n_held,)."""
        row: NDArray[np.int64] = self._stretches[1]
        return row

    @property
    def _read_by_others(self) -> NDArray[np.int64]:
        """From where on somebody else reads the same; -1: nobody does. Shape (n_held,)."""
        row: NDArray[np.int64] = self._stretches[2]
        return row

    def begin(self, now: int, positions: Positions, offset: Offsets, capacity: float) -> None:
        """The first fetch of ``positions`` has been answered; they are consumed from ``offset`` on."""
        books = self._books
        books.delivery.meet_zombies(now, positions, self)
        books.delivery.account_starts(books.delivery.frontier_of(self.slot), now, positions, offset)
        if not self.holding.partitions.size:
            self._begin_anew(now, positions, offset, capacity)
            return
        held = self.holding.partitions
        merged = np.concatenate([held, positions])
        order = np.argsort(merged, kind="stable")
        at = np.concatenate([books.ledger.positions(self.holding, now), offset])[order]
        self._stretches = np.concatenate([self._stretches, _begun(now, len(positions))], axis=1)[:, order]
        self._start_serving(now, positions, merged[order], at, capacity)

    def _begin_anew(self, now: int, positions: Positions, offset: Offsets, capacity: float) -> None:
        order = np.argsort(positions)
        self.begin_stretches(now, len(positions))
        self._start_serving(now, positions, positions[order], offset[order], capacity)

    def _start_serving(self, now: int, positions: Positions, merged: Positions, at: Offsets, capacity: float) -> None:
        books = self._books
        self._count_readers(now, positions if self.holding.running else merged, 1)
        mine = books.availability.owned_by(self.handle, positions)
        books.ledger.take(self.holding, positions[mine])
        books.ledger.anchor(self.holding, now, merged, at, capacity)
        books.availability.serve(now, self.handle, positions)
        if np.count_nonzero(mine) < len(mine):
            foreign = positions[~mine]
            self.become_zombie(now, foreign)
            self.meet(now, foreign[books.availability.is_served(foreign)])

    def _count_readers(self, now: int, positions: Positions, more: int) -> None:
        readers = self._books.double_readers
        if readers is not None:
            readers.change(now, positions, more)

    def repace(self, now: int, at: Offsets, capacity: float, returned: Offsets | None = None) -> None:
        """Rates or costs have changed: go on from ``at`` (n_held,), where it is now, with another capacity."""
        if self.holding.running:
            self._let_owners_write()
            self._books.ledger.anchor(self.holding, now, self.holding.partitions, at, capacity, returned)

    def break_off(self, now: int) -> None:
        """The application stands still, or goes on later than it was to."""
        self._books.ledger.break_off(self.holding, now)

    def follow(self, schedule: Passes, now: int) -> None:
        """The application polls as ``schedule`` says from now on."""
        if self.holding.running:
            self._books.ledger.follow(self.holding, schedule, now, self.appetite)

    def processed(self, now: int) -> Offsets:
        """Processed by this consumer, every partition of the group. Shape (n_partitions,), -1: never."""
        processed = self._books.delivery.frontier_of(self.slot).copy()
        held = self.holding.partitions
        processed[held] = np.maximum(processed[held], self._books.ledger.positions(self.holding, now))
        return processed

    def skip(self, now: int, to: Offsets) -> None:
        """Go on from other offsets: those of now are out of range. Shape of ``to``: (n_held,)."""
        books, held, mine = self._books, self.holding.partitions, self._zombie_since < 0
        at, frontier = books.ledger.positions(self.holding, now), books.delivery.frontier_of(self.slot)
        begin = np.maximum(frontier[held], at)
        books.delivery.count("loss", "reset", int(np.maximum(to - begin, 0)[mine].sum()))
        books.ledger.lose(held[mine], begin[mine], to[mine], "reset")
        frontier[held[mine]] = np.maximum(frontier[held], to)[mine]
        self._read_by_others[:] = np.where(self._read_by_others >= 0, self._read_by_others + to - at, -1)
        books.ledger.anchor(self.holding, now, held, to, self.holding.capacity)

    def end(self, now: int, positions: Positions, code: int) -> None:
        """Stop consuming some partitions."""
        held = self.holding.partitions
        gone = within(held, positions)
        if not np.count_nonzero(gone):
            return
        self._let_owners_write()
        books, which = self._books, held[gone]
        if self.holding.running:
            self._count_readers(now, which, -1)
        offset = books.ledger.positions(self.holding, now)[gone]
        self._leave_traces(now, which, gone, code)
        if self in books.delivery.zombies:
            self._leave_zombie(now, which, offset, gone)
        books.availability.stop(now, self.handle, which)
        books.ledger.release(self.holding, now, which, gone, offset)
        frontier = books.delivery.frontier_of(self.slot)
        frontier[which] = np.maximum(frontier[which], offset)
        self._stretches = self._stretches[:, ~gone]
        if self in books.delivery.zombies and not (self._zombie_since >= 0).any():
            del books.delivery.zombies[self]

    def _leave_traces(self, now: int, which: Positions, gone: NDArray[np.bool_], code: int) -> None:
        self._books.record.ownership.add(which, self.slot, self.since[gone], now, code)
        self._books.delivery.ended_by[which] = code

    def _leave_zombie(self, now: int, which: Positions, offset: Offsets, gone: NDArray[np.bool_]) -> None:
        books = self._books
        zombie_owned = self._zombie_since[gone]
        books.delivery.add_zombie(zombie_owned[zombie_owned >= 0], now)
        others = self._read_by_others[gone]
        met = others >= 0
        books.delivery.count_again("zombie", which[met], np.maximum(offset - others, 0)[met])
        books.delivery.ended_by[which[zombie_owned >= 0]] = LOST

    def end_all(self, now: int, code: int) -> None:
        """Stop consuming everything."""
        self.end(now, self.holding.partitions, code)

    def close_books(self, horizon: int, code: int) -> None:
        """Write down stretches that are open at the horizon; nothing stops."""
        books, held = self._books, self.holding.partitions
        everything = np.ones(len(held), np.bool_)
        self._leave_traces(horizon, held, everything, code)
        if self in books.delivery.zombies:
            self._leave_zombie(horizon, held, books.ledger.positions(self.holding, horizon), everything)

    # --- what the books have already ----------------------------------------------------------------------------------

    @property
    def since(self) -> NDArray[np.int64]:
        """Since when each partition is consumed. Shape (n_held,), microseconds."""
        row: NDArray[np.int64] = self._stretches[0]
        return row

    def let_go(self, now: int) -> None:
        """Nothing has been consumed since ``now``."""
        self.holding.clear(now)
        self._stretches = _NONE

    def take_up(self, now: int, handle: int, partitions: Positions, offsets: Offsets) -> None:
        """These have been consumed from ``offsets`` on since ``now``."""
        self.handle = handle
        self._books.ledger.recall(self.holding, now, partitions, offsets)
        self.begin_stretches(now, len(partitions))

    def begin_stretches(self, now: int, partitions: int) -> None:
        """So many partitions are consumed from ``now`` on, as their owner."""
        self._stretches = _begun(now, partitions)

    def rewind(self, to: Offsets) -> None:
        """It stands still, and goes on from earlier offsets: what follows is processed again. Shape (n_held,)."""
        own = self._zombie_since < 0
        again = np.maximum(self.holding.offset - to, 0)[own]
        self._books.delivery.count_again("abort", self.holding.partitions[own], again)
        self.holding.offset = to

    # --- zombies ------------------------------------------------------------------------------------------------------

    def _let_owners_write(self) -> None:
        """A zombie is about to write what becomes of partitions: their owners' doings by now come first."""
        if self in self._books.delivery.zombies:
            self._books.settle(self.holding.partitions)

    def become_zombie(self, now: int, positions: Positions) -> None:
        """The coordinator has taken these away; the consumer does not know yet."""
        if not positions.size:
            return
        which = np.isin(self.holding.partitions, positions) & (self._zombie_since < 0)
        if not which.any():
            return
        self._books.delivery.zombies[self] = None
        self._zombie_since[which] = now
        self._books.delivery.ended_by[self.holding.partitions[which]] = LOST

    def meet(self, now: int, positions: Positions) -> None:
        """Somebody else starts to read these, or does already: what this consumer reads from here on is read twice."""
        common = np.isin(self.holding.partitions, positions)
        if common.any():
            at = self._books.ledger.positions(self.holding, now)[common]
            others = self._read_by_others[common]
            self._read_by_others[common] = np.where(others < 0, at, others)
            self._books.ledger.raise_frontier(now, self.holding.partitions[common], at)

    def inherit(self, now: int, positions: Positions) -> None:
        """Nobody else reads these any longer, and nobody gives them to anybody: they are this consumer's own."""
        books, held = self._books, self.holding.partitions
        mine = np.isin(held, positions) & (self._zombie_since >= 0)
        at = books.ledger.positions(self.holding, now)
        others = self._read_by_others
        twice = mine & (others >= 0)
        books.delivery.count_again("zombie", held[twice], np.maximum(at - others, 0)[twice])
        books.delivery.add_zombie(self._zombie_since[mine], now)
        self._zombie_since[mine] = self._read_by_others[mine] = -1
        if not (self._zombie_since >= 0).any():
            books.delivery.zombies.pop(self, None)
        books.ledger.take(self.holding, held[mine])
        if self.holding.running:
            books.ledger.anchor(self.holding, now, held, at, self.holding.capacity)
            books.availability.serve(now, self.handle, held[mine])

    def stand_still(self, now: int) -> None:
        """The process is frozen for long, or its application hangs: nothing is processed."""
        self._let_owners_write()
        if self.holding.running:
            self._count_readers(now, self.holding.partitions, -1)
        self._books.ledger.halt(self.holding, now)
        zombie_owned = self._zombie_since >= 0
        self._books.delivery.add_zombie(self._zombie_since[zombie_owned], now)
        self._zombie_since[zombie_owned] = now

    def go_on(self, now: int, capacity: float, returned: Offsets | None = None) -> None:
        """It moves again."""
        self._let_owners_write()
        holding = self.holding
        zombie_owned = self._zombie_since >= 0
        self._zombie_since[zombie_owned] = now
        self.become_zombie(now, holding.partitions[~self._books.availability.owned_by(self.handle, holding.partitions)])
        if holding.partitions.size and not holding.running:
            self._count_readers(now, holding.partitions, 1)
            self._books.ledger.anchor(holding, now, holding.partitions, holding.offset, capacity, returned)


def _begun(now: int, partitions: int) -> NDArray[np.int64]:
    """What there is to say of partitions that are consumed from ``now`` on, by their owner."""
    stretches = np.full((3, partitions), -1)
    stretches[0] = now
    return stretches
