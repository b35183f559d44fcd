"""Processed and committed records of a group, as vectors over its partitions.

Nothing here advances by events. A position is a closed form from the last change: a member that serves its partitions
since ``t0`` has processed ``min(offered, capacity * elapsed)`` records, of each of its partitions the same, up to
what that offers: backlog at ``t0`` plus what was produced since (`levels`). Both fidelities evaluate the same formula
from the same anchors, so both get the same whole records. Pauses under a second move no anchor.

What comes in a jump (`sim.arrivals`) a service does not see: its application processes what poll() has returned, and
the next one gets the rest, with another anchor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.books.offsets.lag_samples import LagSamples
from groupsim.sim.books.offsets.levels import Floats, ends_in_sight
from groupsim.sim.books.offsets.offset_log import OffsetLog
from groupsim.sim.books.offsets.production import NOWHERE, Offsets, Production
from groupsim.sim.books.offsets.services import Services, Slots
from groupsim.sim.books.offsets.whole_records import whole_records
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.protocol.offsets.table import OffsetTable


class Ledger(Production):
    """All offsets of one group.

    Parameters
    ----------
    catalog : Catalog
    partitions : Partitions
    slots : int
        Number of consumers the group can have.
    """

    def __init__(self, catalog: Catalog, partitions: Partitions, slots: int) -> None:
        super().__init__(catalog, partitions)
        self.log = OffsetLog()
        self.offsets = OffsetTable()
        self._committed_at: Offsets = np.empty((0, 2), np.int64)
        """Time and key of the commit that holds, where several members commit the same partitions."""
        self._frontier: Offsets = NOWHERE
        self._holder: NDArray[np.int32] = np.empty(0, np.int32)
        self._offset: Offsets = NOWHERE
        self._offered: Floats = np.empty(0)
        self._mrps: Offsets = NOWHERE
        self.services = Services(slots)
        self.samples = LagSamples(self.lags, partitions)

    @property
    def committed(self) -> Offsets:
        """Committed offsets, -1: there is none. Shape (n_partitions,)."""
        return self.offsets.offset

    @property
    def frontier(self) -> Offsets:
        """Processed by anybody, or deleted; -1 where nobody ever started. To be read, or changed as of now."""
        self.samples.settle()
        return self._frontier

    def cover(self, now: int) -> None:
        """Make room for partitions that have got positions since the last call."""
        self.samples.settle()
        super().cover(now)
        new = len(self._partitions) - len(self.committed)
        if new <= 0:
            return
        self._log_production(np.arange(len(self.committed), len(self._partitions), dtype=np.int32))
        self.offsets.cover(len(self._partitions))
        self._committed_at = np.concatenate([self._committed_at, np.full((new, 2), -1, np.int64)])
        self._frontier = np.concatenate([self._frontier, np.full(new, -1, np.int64)])
        self._holder = np.concatenate([self._holder, np.full(new, -1, np.int32)])
        self._offset, self._mrps = np.pad(self._offset, (0, new)), np.pad(self._mrps, (0, new))
        self._offered = np.pad(self._offered, (0, new))

    def set_rate(self, now: int, topic: str) -> Positions:
        """Take over another rate; the partitions whose rate changes."""
        self.samples.settle()
        steps = len(self._steps[topic])
        changed = super().set_rate(now, topic)
        if len(self._steps[topic]) > steps:
            self._log_production(self._partitions.of(topic))
        return changed

    def arrive(self, topic: str) -> Positions:
        """Take over what has come; who reads it sees it with the next anchor."""
        self.samples.settle()
        changed = super().arrive(topic)
        self._log_production(changed)
        return changed

    def _log_production(self, positions: Positions) -> None:
        self.log.produce(
            self._segment_us[positions], positions, self._segment_base[positions], self.rate_mrps[positions]
        )

    def commit(self, positions: Positions, offset: Offsets, moment: tuple[Any, int], *, contested: bool) -> None:
        """Committed offsets; where several members commit the same, the latest moment holds, whoever tells it first.

        Parameters
        ----------
        positions : int32 array, shape (n,)
        offset : int64 array, shape (n,)
        moment : (microseconds, key)
            When the coordinator worked on it; the time can be one for each, unless contested.
        contested : bool
            Whether several members commit the same partitions (broadcast).
        """
        if contested:
            time, key = self._committed_at[positions].T
            later = (moment[0] > time) | ((moment[0] == time) & (moment[1] >= key))
            positions, offset = positions[later], offset[later]
            self._committed_at[positions] = moment
        self.offsets.commit(positions, offset, moment[0])

    # --- consumption --------------------------------------------------------------------------------------------------

    def take(self, holding: Holding, positions: Positions) -> None:
        """The group's position in these is from now on this consumer's, whoever else still reads them."""
        self.samples.settle()
        self._holder[positions] = holding.slot

    def holders(self, positions: Positions) -> NDArray[np.int32]:
        """Slots of those whose position in each of these is the group's; -1: nobody's is. Shape (n,)."""
        return self._holder[positions]

    def anchor(
        self, holding: Holding, now: int, partitions: Positions, offset: Offsets, capacity: float,
        returned: Offsets | None = None,
    ) -> None:  # fmt: skip
        """Let a consumer serve ``partitions`` from ``offset`` on with ``capacity`` records per microsecond.

        ``returned``: how many records of each it has to process, where it is known what poll() returns; None: all.
        """
        self.samples.settle()
        slot = holding.slot
        if returned is None and self._has_just_begun(holding, now, partitions, offset):
            holding.change_capacity(capacity)
            self.services.change_capacity(slot, capacity)
            self.log.change_capacity(capacity)
            return
        waiting = np.maximum(self.produced(now, partitions) - offset, 0) if returned is None else returned
        offered, milli = waiting.astype(np.float64), self.rate_mrps[partitions]
        holding.partitions, holding.offset, holding.since = partitions, offset, now
        holding.share(offered, milli)
        holding.backlog, holding.total_rate = float(offered.sum()), int(milli.sum()) / 1e9
        holding.capacity, holding.running = capacity, True
        load = partitions, offered, milli
        self.services.begin(holding, load)
        holder = self._holder[partitions]
        free = (holder == slot) | (holder < 0)
        its: Any = slice(None) if np.count_nonzero(free) == len(free) else free
        mine = partitions[its]
        self._holder[mine] = slot
        self._offset[mine], self._offered[mine], self._mrps[mine] = offset[its], offered[its], milli[its]
        self.log.serve(slot, now, mine, offset[its], holding.backlog, holding.total_rate, capacity, load)
        if len(mine) < len(partitions):
            self.log.raise_to(now, partitions[~free], self._frontier[partitions[~free]])

    def _has_just_begun(self, holding: Holding, now: int, partitions: Positions, offset: Offsets) -> bool:
        """Whether it serves the same from there on since this instant, and nobody has begun to serve after it."""
        is_same = holding.running and partitions is holding.partitions and offset is holding.offset
        if not (is_same and holding.since == now and self.log.latest == (holding.slot, now)):
            return False
        return len(partitions) == len(known := holding.mrps) and (self.rate_mrps[partitions] == known).all().item()

    def follow(self, holding: Holding, schedule: Any, now: int, appetite: Any) -> None:
        """A consumer polls as ``schedule`` says from now on: a flow does not ask when."""

    def break_off(self, holding: Holding, now: int) -> None:
        """A consumer's application stands still, or goes on later than it was to: a flow does not stop for less."""

    def lose(self, positions: Positions, since: Offsets, until: Offsets, cause: str) -> None:
        """Records of [since, until) are skipped: a flow counts them, and that is done elsewhere."""

    def unread_from(self, at: Offsets, readable: Offsets) -> Offsets:
        """From where on nobody has read who has got to ``at``: a flow has got beyond the high watermark, too."""
        return np.minimum(at, readable)

    def finish(self, now: int) -> None:
        """The horizon."""

    def halt(self, holding: Holding, now: int) -> None:
        """Stop processing (frozen for long, stuck): positions stay where they are, and so does whose they are."""
        if holding.running:
            self.samples.settle()
            holding.offset = self.whole_positions(holding, now)
            mine = self._settle(holding.slot, now, holding.partitions, holding.offset)
            holding.since, holding.running = now, False
            self._offset[holding.partitions[mine]] = holding.offset[mine]
            self.services.halt(holding.slot, now)

    def release(
        self, holding: Holding, now: int, partitions: Positions, gone: NDArray[np.bool_], offset: Offsets
    ) -> None:
        """Take some partitions away from a consumer; it goes on with the rest.

        Parameters
        ----------
        partitions : int32 array, shape (k,)
        gone : bool array, shape (n,)
            The same, as a mask over the holding.
        offset : int64 array, shape (k,)
            Where it has got to in them.
        """
        self.samples.settle()
        self._holder[partitions[self._settle(holding.slot, now, partitions, offset)]] = -1
        keep = ~gone
        if not keep.any():
            holding.clear(now)
            return
        positions = self.positions(holding, now)
        if holding.running:
            self.anchor(holding, now, holding.partitions[keep], positions[keep], holding.capacity)
        else:
            holding.partitions, holding.offset = holding.partitions[keep], positions[keep]
            holding.since = now

    def _settle(
        self, slot: int | Slots, time: int | Offsets, partitions: Positions, positions: Offsets
    ) -> NDArray[np.bool_]:
        """Whoever serves these has got to ``positions`` and rests; which of them count as its own. Shape (k,)."""
        self._frontier[partitions] = np.maximum(self._frontier[partitions], positions)
        mine: NDArray[np.bool_] = self._holder[partitions] == slot
        if np.count_nonzero(mine) == len(mine):
            self.log.rest(time, partitions, positions)
            return mine
        times = np.broadcast_to(time, partitions.shape)
        self.log.rest(times[mine], partitions[mine], positions[mine])
        self.log.raise_to(times[~mine], partitions[~mine], positions[~mine])
        return mine

    def raise_frontier(self, now: int, partitions: Positions, positions: Offsets) -> None:
        """What is below ``positions`` needs nobody any more: somebody else has processed it, or it is gone."""
        self.samples.settle()
        self._frontier[partitions] = np.maximum(self._frontier[partitions], positions)
        self.log.raise_to(now, partitions, self._frontier[partitions])

    def positions(self, holding: Holding, now: int) -> Offsets:
        """Records processed so far (next offset), per partition of the holding. Shape (n,)."""
        if not holding.running or now <= holding.since:
            return holding.offset
        elapsed, there = now - holding.since, self._in_sight(now, holding)
        if not holding.is_behind(elapsed):
            return there
        worked = np.minimum(holding.offset + int(holding.level(elapsed)), there)
        at: Offsets = np.where(elapsed >= holding.shares.caught_up, there, worked)
        return at

    def _in_sight(self, now: int, holding: Holding) -> Offsets:
        """Ends of what a service can have processed: what was there when it began, and what a rate has brought since.

        Shape (n,).
        """
        if not holding.total_rate:  # what there is, is what was there
            return holding.offset + holding.offered.astype(np.int64)
        produced = self.produced(now, holding.partitions)
        return ends_in_sight(produced, holding.mrps, holding.offset, holding.offered)

    def whole_positions(self, holding: Holding, now: int) -> Offsets:
        """`positions` of a consumer that is between two batches: its fractions of records make whole ones together.

        The partitions that lack least of their next record get them. Shape (n,).
        """
        at, elapsed = self.positions(holding, now), now - holding.since
        if not holding.running or elapsed <= 0 or not holding.is_behind(elapsed):
            return at
        worked = np.minimum(holding.offered + holding.mrps / 1e9 * elapsed, holding.level(elapsed))
        has_more = self._in_sight(now, holding) > at
        return at + whole_records(worked - (at - holding.offset), has_more)

    # --- many consumers at once ---------------------------------------------------------------------------------------

    def stop_at(self, slots: Slots, times: Offsets | int) -> None:
        """Consumers are known to stop at these times (`FOREVER`: not known), whenever that is put into the books."""
        self.samples.settle()
        self.services.until[slots] = times

    def returned(self, holding: Holding, until: int) -> Offsets:
        """What is processed by the poll at ``until`` has been returned before. Shape (n,)."""
        return self.positions(holding, until)

    def positions_of(
        self, slots: Slots, partitions: Positions, lengths: Sequence[int], at: Offsets
    ) -> tuple[Offsets, NDArray[np.intp]]:
        """`positions` of running consumers that hold what they consume, each at its own time.

        Parameters
        ----------
        slots : intp array, shape (n,)
        partitions : int32 array, shape (k,)
            Of one consumer after the other, ``lengths`` of them.
        at : int64 array, shape (n,), microseconds

        Returns
        -------
        offsets : int64 array, shape (k,)
        which : intp array, shape (k,)
            Index of the consumer.
        """
        which = np.repeat(np.arange(len(slots)), lengths)
        services, begun = self.services, self._offset[partitions]
        elapsed = np.maximum(at - services.since[slots], 0).astype(np.float64)
        offsets = np.maximum(self.produced(at[which], partitions), begun)
        late = np.flatnonzero(services.are_behind(slots, elapsed)[which])
        if late.size:
            who, past = slots[which[late]], elapsed[which[late]]
            offsets[late] = services.worked(who, partitions[late], past, begun[late], offsets[late])
        return np.where((elapsed > 0)[which], offsets, begun), which

    def release_all(self, slots: Slots, times: Offsets, partitions: Positions, at: Offsets) -> None:
        """Take everything away from some consumers, which have got to ``at`` in it; `Holding.clear` must follow.

        Parameters
        ----------
        slots : intp array, shape (k,)
            Who consumed each of the partitions.
        times : int64 array, shape (k,), microseconds
            Until when.
        partitions, at : arrays, shape (k,)
        """
        self.samples.settle()
        self._holder[partitions[self._settle(slots, times, partitions, at)]] = -1

    def anchor_all(
        self, slots: Slots, times: Offsets, partitions: Positions, offset: Offsets, lengths: NDArray[np.int64],
        capacity: Floats,
    ) -> None:  # fmt: skip
        """`take` and `anchor` for consumers without partitions, each from its own time on; `recall` must follow.

        Parameters
        ----------
        slots : intp array, shape (n,)
        times : int64 array, shape (n,), microseconds
        partitions, offset : arrays, shape (k,)
            Of one consumer after the other, ``lengths`` of them, ascending.
        """
        self.samples.settle()
        offered = np.maximum(self.produced(np.repeat(times, lengths), partitions) - offset, 0).astype(np.float64)
        milli = self.rate_mrps[partitions]
        self._holder[partitions] = np.repeat(slots, lengths)
        self._offset[partitions], self._offered[partitions], self._mrps[partitions] = offset, offered, milli
        load = partitions, offered, milli
        backlog, total = self.services.begin_all(slots, times, load, lengths, capacity)
        self.log.serve_all(slots, times, partitions, offset, lengths, backlog, total, capacity, load)

    def recall(self, holding: Holding, now: int, partitions: Positions, offset: Offsets) -> None:
        """What a consumer consumes since ``now``, as `anchor_all` has written it down."""
        holding.partitions, holding.offset, holding.since, holding.running = partitions, offset, now, True
        holding.share(self._offered[partitions], self._mrps[partitions])
        holding.backlog, holding.total_rate, holding.capacity = self.services.of(holding.slot)

    def recall_all(self, holding: Holding, now: int) -> None:
        """`recall`, of a consumer that went on with what it had."""
        self.recall(holding, now, holding.partitions, self._offset[holding.partitions])

    # --- lag ----------------------------------------------------------------------------------------------------------

    def processed(self, now: int) -> Offsets:
        """Processed by anybody, every partition of the group. Shape (n_partitions,)."""
        at: Offsets = self._processed_at(np.array([now]))[0]
        return at

    def _processed_at(self, times: Offsets) -> Offsets:
        """`processed` at some times. Shape (k, n_partitions)."""
        holder, now = self._holder, times[:, None]
        held = np.flatnonzero(holder >= 0)
        result = np.repeat(self._frontier[None, :], len(times), axis=0)
        if held.size:
            slot, services = holder[held], self.services
            until = np.minimum(services.until[slot], now)
            elapsed = (until - services.since[slot]).astype(np.float64)
            produced = self.produced(until, held.astype(np.int32))
            at = ends_in_sight(produced, self._mrps[held], self._offset[held], self._offered[held])
            row, late = np.nonzero(services.are_behind(slot, elapsed))
            if late.size:
                past, begun = elapsed[row, late], self._offset[held[late]]
                at[row, late] = services.worked(slot[late], held[late], past, begun, at[row, late])
            result[:, held] = np.maximum(result[:, held], at)
        self.samples.put_foretold(times, result)
        return result

    def lags(self, times: Offsets) -> tuple[Offsets, Offsets]:
        """Records not processed by anybody at some times, and ages of the oldest of them, microseconds. Shapes (k,)."""
        everything = np.arange(len(self._frontier), dtype=np.int32)
        produced, processed = self.produced(times[:, None], everything), self._processed_at(times)
        lag = np.where(processed >= 0, np.maximum(produced - processed, 0), 0)
        ages = np.zeros(len(times), np.int64)
        row, late = np.nonzero(lag)
        if late.size:
            rows, begins = np.unique(row, return_index=True)
            ages[rows] = np.maximum.reduceat(self.age(times[row], late, (produced - lag)[row, late]), begins)
        return lag.sum(axis=1), ages
