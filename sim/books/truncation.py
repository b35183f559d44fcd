"""Records that were in a log and are in none any more, because somebody leads who never had them.

A consumer whose position is beyond the end of the new leader's log goes back to that end and reads on from there
(``SubscriptionState.maybeCompleteValidation``, KIP-320), so it meets nothing of what is gone; with
``auto.offset.reset: none`` poll() throws instead (``LogTruncationException``). Here offsets keep
counting what was produced, and what is gone counts as read: of a group that is not up to date the oldest records that
wait take the place of those that are gone, so how many wait is exact, and how old they are is not, until it has caught
up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.protocol.controller.replica_logs import Gap
from groupsim.sim.protocol.messages import Positions


@dataclass(frozen=True, slots=True, eq=False)
class Truncation:
    """What is gone of some partitions. Arrays of shape (n,).

    Parameters
    ----------
    positions : int32 array
    records : int64 array
        How many.
    end : int64 array
        The log's end then.
    readable : int64 array
        Where the high watermark was: nobody can have read what was beyond it.
    """

    positions: Positions
    records: Offsets
    end: Offsets
    readable: Offsets

    def has_been_read(self, at: Offsets) -> NDArray[np.bool_]:
        """Whether somebody who has got to ``at`` in each has read some of what is gone. Shape (n,)."""
        has_read: NDArray[np.bool_] = np.minimum(at, self.readable) > self.end - self.records
        return has_read

    def skipped(self, at: Offsets) -> Offsets:
        """How far somebody gets ahead who has got to ``at`` in each: not beyond the end. Shape (n,)."""
        skipped: Offsets = np.minimum(self.records, np.maximum(self.end - at, 0))
        return skipped

    def skipped_from(self, index: int, at: int) -> int:
        """How far somebody gets ahead who has got to ``at`` in the ``index``-th of them."""
        return min(int(self.records[index]), max(int(self.end[index]) - at, 0))


def truncation(books: GroupBooks, positions: Positions, gaps: Sequence[Gap]) -> Truncation:
    """What was produced to partitions in these stretches of time, one for each."""
    times = np.array(gaps, np.int64).T
    begin, end, readable = (books.ledger.produced_by(time, positions) for time in times)
    return Truncation(positions, end - begin, end, readable)


def take_back(books: GroupBooks, now: int, gone: Truncation) -> None:
    """Count what nobody had read; positions and committed offsets get past it."""
    ledger, delivery = books.ledger, books.delivery
    offsets, positions = ledger.committed[gone.positions], gone.positions
    ledger.offsets.shift(positions, np.where(offsets >= 0, gone.skipped(offsets), 0))
    at = ledger.processed(now)[positions]
    _tell_transactions(books, gone, offsets, at)
    if books.is_broadcast:
        for own in [delivery.frontier_of(slot) for slot, _ in books.handles.readings()]:
            _count_missed(books, gone, own[positions])
            own[positions] += np.where(own[positions] >= 0, gone.skipped(own[positions]), 0)
    else:
        _count_missed(books, gone, at)
    begun = at >= 0
    ledger.raise_frontier(now, positions[begun], (at + gone.skipped(at))[begun])


def _tell_transactions(books: GroupBooks, gone: Truncation, committed: Offsets, at: Offsets) -> None:
    """Of what is gone no output is made: between what is committed and what is processed, if a transaction is open."""
    ends = np.maximum(committed + gone.skipped(committed), at + gone.skipped(at))
    for position, first, last in zip(gone.positions.tolist(), committed.tolist(), ends.tolist(), strict=True):
        books.transactions.truncated(position, max(first, 0), last)


def _count_missed(books: GroupBooks, gone: Truncation, at: Offsets) -> None:
    """What somebody who has got to ``at`` (-1: has not begun) never reads is lost."""
    missed = np.where(at >= 0, gone.skipped(books.ledger.unread_from(at, gone.readable)), 0)
    books.delivery.count("loss", "truncated log", int(missed.sum()))
    if not books.is_broadcast:
        books.ledger.lose(gone.positions, at, at + missed, "truncated log")
