"""One transaction of each of many members: from the commit before it to its own.

Times follow from latencies by number, as of requests that are sent one by one
(`sim.client.producing.transaction_loop`, `sim.cluster.transactions.transactions`): a pass through the poll loop whose
first record is sent as soon as it is processed, the rest of the batch, its offsets, EndTxn; then markers are written,
and the coordinator notes that it is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.fastpath.transactions.beats import Beats, Pass, beat_in_pass, beat_on_time, beat_while_away
from groupsim.sim.fastpath.transactions.chain import Chain, Surface
from groupsim.sim.fastpath.transactions.columns import Column, Held, Members, Standing
from groupsim.sim.fastpath.transactions.passes import Passes
from groupsim.sim.kernel.network import NO_WAITS, round_trips_alike

_REQUESTS = 4
"""Of a transaction at most: its first record, the rest, offsets, the end."""
_PASSES = 64
"""Who has nothing to process in so many passes takes its steps as events."""


@dataclass(frozen=True, eq=False)
class Batch:
    """What is processed from one commit to the next. Columns of shape (n,), or of partitions, (k,); in microseconds.

    Parameters
    ----------
    passes : sequence of Pass
        Up to the poll() at which something has been processed.
    batches : int64 array, shape (n,)
    refers : bool array, shape (n,)
        `Standing`, after them.
    backlog : float64 array, shape (n,)
        Records that the flow has left when the thread is back.
    offered : float64 array, shape (k,)
    begun, target : int64 arrays, shape (k,)
        Which input it is made of.
    is_whole : bool array, shape (n,)
        Whether it is all that there is by its end, and something: what is said here holds of these.
    is_early : bool array, shape (n,)
        Whether a first record is sent before the batch is done.
    first : intp array, shape (n,)
        Index of that one's partition.
    due_us : int64 array, shape (n,)
        When it is.
    """

    passes: Sequence[Pass]
    batches: Column
    refers: NDArray[np.bool_]
    backlog: NDArray[np.float64]
    offered: NDArray[np.float64]
    begun: Column
    target: Column
    is_whole: NDArray[np.bool_]
    is_early: NDArray[np.bool_]
    first: NDArray[np.intp]
    due_us: Column

    @property
    def polls_us(self) -> Column:
        """When it is done. Shape (n,)."""
        return self.passes[-1].until_us

    @property
    def rest(self) -> Column:
        """How many records are sent when it is done. Shape (k,)."""
        rest = self.target - self.begun
        rest[self.first[self.is_early]] -= 1
        return rest


class Commit(NamedTuple):
    """How a batch is committed. Columns of shape (n,) where nothing else is said; in microseconds.

    Parameters
    ----------
    sent_us : int64 array, shape (4, n)
        When each request is sent; -1: it is not.
    written_us : int64 array, shape (2, n)
        When the first record and the rest are in their logs.
    asks : bool array
        Whether the coordinator is asked about partitions of the rest.
    noted_us, ended_us, marked_us, free_us : int64 arrays
        When offsets are written, when it is asked to end, when markers are written, and when that is noted.
    back_us : int64 array
        When the thread is back.
    """

    sent_us: Column
    written_us: Column
    asks: NDArray[np.bool_]
    noted_us: Column
    ended_us: Column
    marked_us: Column
    free_us: Column
    back_us: Column


@dataclass(frozen=True, eq=False)
class Cycle:
    """A transaction of each of some members.

    Parameters
    ----------
    is_told : bool array, shape (n,)
        Whether it is as it is said here; else its member takes its steps as events.
    batch : Batch
    commit : Commit
    beats : sequence of Beats
    after : Standing
    """

    is_told: NDArray[np.bool_]
    batch: Batch
    commit: Commit
    beats: Sequence[Beats]
    after: Standing


class CycleLaw:
    """Of one group.

    Parameters
    ----------
    ledger : Ledger
    surface : Surface
    """

    def __init__(self, ledger: Ledger, surface: Surface) -> None:
        self._ledger = ledger
        self._surface = surface

    def cycle(self, members: Members, held: Held, standing: Standing, begun: Column) -> Cycle:
        """The next transaction of each, from ``begun`` on, shape (k,)."""
        batch = self._batch(members, held, standing, begun)
        numbers = standing.other + np.arange(_REQUESTS)[:, None]
        trips = round_trips_alike(self._surface.law, members.other_key, numbers, NO_WAITS)
        chain = Chain(self._surface, trips, standing.free_us)
        commit = self._commit(held, batch, chain)
        is_told = batch.is_whole & chain.is_short & (commit.back_us - standing.back_us < members.patience_us)
        is_told &= np.maximum(commit.free_us, commit.back_us) < members.limit_us
        beaten, beats = self._beats(members, standing, batch, commit)
        waiting = self._waiting(held, batch, commit.back_us)
        after = replace(
            beaten, back_us=commit.back_us, waiting=waiting, free_us=commit.free_us, batches=batch.batches,
            refers=batch.refers, other=standing.other + chain.sent,
        )  # fmt: skip
        return Cycle(is_told, batch, commit, beats, after)

    # --- the batch ----------------------------------------------------------------------------------------------------

    def _batch(self, members: Members, held: Held, standing: Standing, begun: Column) -> Batch:
        back_us, pace = standing.back_us, members.pace
        waiting = self._ledger.produced(back_us[held.member], held.positions) - begun
        offered = np.maximum(waiting, 0).astype(np.float64)
        backlog = np.add.reduceat(offered, held.begins)
        law = Passes(members, held, standing)
        is_plain = law.are_plain & (held.rate > 0)
        passes, target = self._passes(held, begun, law, is_plain)
        elapsed = passes[-1].until_us - back_us
        keeps_up = pace.capacity * elapsed >= backlog + held.rate * elapsed
        is_whole = is_plain & keeps_up & (np.add.reduceat(target - begun, held.begins) > 0)
        first, born_us = self._oldest(held, begun, target > begun)
        due_us = np.maximum(passes[-1].begin_us + self._surface.poll_us, born_us) + members.cost_us
        is_early = due_us < passes[-1].until_us
        batches, refers = law.batches(passes), standing.refers
        if self._surface.is_punctual:
            refers = law.refers(refers, passes, self._surface.poll_us)
        return Batch(passes, batches, refers, backlog, offered, begun, target, is_whole, is_early, first, due_us)

    def _passes(self, held: Held, begun: Column, law: Passes, is_told: NDArray[np.bool_]) -> tuple[list[Pass], Column]:
        """Passes up to the poll() at which something has been processed, and up to where that is, shape (k,)."""
        begin, passes, is_on = law.begin_us, list[Pass](), np.ones(len(held.lengths), np.bool_)
        while True:
            wait_us, length = law.of_number(len(passes), begin)
            leaves, until = begin + wait_us, begin + length
            if passes:
                leaves = np.where(is_on, leaves, passes[-1].leaves_us)
                until = np.where(is_on, until, passes[-1].until_us)
            target = np.maximum(self._ledger.produced(until[held.member], held.positions), begun)
            goes_on = is_told & (np.add.reduceat(target - begun, held.begins) == 0)
            passes.append(Pass(is_on, goes_on, begin, leaves, until))
            if not np.count_nonzero(goes_on) or len(passes) == _PASSES:
                return passes, target
            is_on, begin = goes_on, np.where(goes_on, until, begin)

    def _waiting(self, held: Held, batch: Batch, back_us: Column) -> NDArray[np.float64]:
        """What has come since the last poll() returned. Shape (n,)."""
        returned = self._ledger.produced(batch.passes[-1].leaves_us[held.member], held.positions)
        there = self._ledger.produced(back_us[held.member], held.positions)
        waiting = there - np.maximum(returned, batch.begun)
        return np.add.reduceat(np.maximum(waiting, 0), held.begins).astype(np.float64)

    def _oldest(self, held: Held, begun: Column, is_there: NDArray[np.bool_]) -> tuple[NDArray[np.intp], Column]:
        """The partition of each whose next record has waited longest, of those that have one, and since when."""
        born = -self._ledger.age(0, held.positions.astype(np.intp), begun)
        bits = int(held.lengths.max()).bit_length()
        place = np.arange(len(begun)) - held.begins[held.member]
        packed = np.where(is_there, (born << bits) + place, np.iinfo(np.int64).max)
        least = np.minimum.reduceat(packed, held.begins)
        return held.begins + (least & ((1 << bits) - 1)) % held.lengths, least >> bits

    # --- its commit ---------------------------------------------------------------------------------------------------

    def _commit(self, held: Held, batch: Batch, chain: Chain) -> Commit:
        is_early, rest, polls_us = batch.is_early, batch.rest, batch.polls_us
        first_us, acknowledged_us = chain.produce(batch.due_us, is_early, is_early)
        begins_us = np.where(is_early, np.maximum(polls_us, acknowledged_us), polls_us)
        is_with_first = is_early[held.member] & (held.output == held.output[batch.first][held.member])
        asks = np.logical_or.reduceat((rest > 0) & ~is_with_first, held.begins)
        has_rest = np.add.reduceat(rest, held.begins) > 0
        rest_us, acknowledged_us = chain.produce(begins_us, has_rest, asks)
        commits_us = np.where(has_rest, acknowledged_us, begins_us)
        noted_us, ends_us = chain.commit(commits_us)
        ended_us, decided_us, back_us = chain.end(ends_us)
        trip_us, append_us = self._surface.trip_us, self._surface.append_us
        return Commit(
            np.stack([np.where(is_early, batch.due_us, -1), np.where(has_rest, begins_us, -1), commits_us, ends_us]),
            np.stack([first_us, rest_us]), asks, noted_us, ended_us, decided_us + trip_us,
            decided_us + 2 * (trip_us + append_us), back_us,
        )  # fmt: skip

    # --- heartbeats meanwhile -----------------------------------------------------------------------------------------

    def _beats(
        self, members: Members, standing: Standing, batch: Batch, commit: Commit
    ) -> tuple[Standing, Sequence[Beats]]:
        if self._surface.is_punctual:
            after, found = beat_on_time(members, standing, commit.back_us)
            return self._answered(members, standing, after, [found]), [found]
        after, beats = standing, list[Beats]()
        for one in batch.passes:
            after, found = beat_in_pass(members, after, one)
            beats.append(found)
        after, found = beat_while_away(members, after, batch.polls_us, commit.back_us)
        return self._answered(members, standing, after, [*beats, found]), [*beats, found]

    def _answered(self, members: Members, before: Standing, after: Standing, beats: Sequence[Beats]) -> Standing:
        """Heartbeats have come to the coordinator, and are answered."""
        number, renewed, answered = before.beats, after.renewed_us, after.answered_us
        for one in beats:
            if np.count_nonzero(one.is_sent):
                up, down = round_trips_alike(self._surface.law, members.beat_key, number, self._surface.beat_waits)
                renewed = np.where(one.is_sent, one.sent_us + up, renewed)
                answered = np.where(one.is_sent, one.sent_us + up + self._surface.service_us + down, answered)
                number = number + one.is_sent
        return replace(after, renewed_us=renewed, answered_us=answered)
