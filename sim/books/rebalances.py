"""The books of a group's rebalances: phases, who came and went, what moved, how balanced it became.

A rebalance of a classic group runs from leaving Stable (or Empty) until Stable again, or Empty; one of a consumer group
from a bump of the group epoch until everybody has exactly its target, which is Stable too. Generations, or epochs, in
between are counted in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from groupsim.assignors.evaluation.quality import minimal_moves, moved_mask
from groupsim.sim.books.meanings import Meaning
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.books.record import GroupRecord, Rebalance
from groupsim.sim.protocol.facts import StateChanged
from groupsim.sim.protocol.messages import Positions

if TYPE_CHECKING:
    from collections.abc import Sequence

_TRIGGERS = (
    ("Adding new member", "join"),
    ("LeaveGroup", "leave"),
    ("heartbeat expiration", "expiry"),
    ("pending sync", "sync timeout"),
    ("Leader", "leader rejoined"),
    ("Updating metadata", "member rejoined"),
    ("tatic member", "static member"),
    (" joins", "join"),
    (": left", "leave"),
    (": expired", "expiry"),
    (": not revoked", "revocation timeout"),
    ("subscribes to", "subscription"),
    ("most votes", "assignor vote"),
    ("regular expression", "metadata"),
    ("metadata of", "metadata"),
)
"""What a reason contains, and what it is called here: as ``GroupMetadataManager`` logs it or, of a consumer group, as
its machine tells it.
"""
_GONE = ("leave", "expiry", "revocation timeout")
_KICKED = ("expiry", "sync timeout", "revocation timeout")


def trigger_of(reason: str) -> str:
    """What a reason of the coordinator's is called in the tables."""
    return next((name for text, name in _TRIGGERS if text in reason), "other")


class RebalanceLog:
    """Writes one `Rebalance` after the other into a group's record.

    Parameters
    ----------
    record : GroupRecord
    ledger : Ledger
        For the rates of what moves.
    measure : (int, int), microseconds
    is_broadcast : bool
        Moves are then undefined.

    Attributes
    ----------
    members : int
        How many there are by now.
    moved : int64 array, shape (n_partitions,)
        How often each has moved, in rebalances that begin within ``measure``.
    """

    def __init__(self, record: GroupRecord, ledger: Ledger, measure: tuple[int, int], *, is_broadcast: bool) -> None:
        self._record = record
        self._ledger = ledger
        self._measure = measure
        self._is_broadcast = is_broadcast
        self._open: Rebalance | None = None
        self._phase: str | None = None
        self._entered_us = 0
        self.members = self._members_entering = 0
        self._last_owner: NDArray[np.int32] = np.empty(0, np.int32)
        self.moved: NDArray[np.int64] = np.empty(0, np.int64)

    def cover(self, partitions: int) -> None:
        """Make room for new positions: nobody has owned them."""
        new = partitions - len(self._last_owner)
        self._last_owner = np.concatenate([self._last_owner, np.full(new, -1, np.int32)])
        self.moved = np.concatenate([self.moved, np.zeros(new, np.int64)])

    def enter(self, now: int, fact: StateChanged, meaning: Meaning) -> None:
        """The group is in another state: a rebalance may begin or end with it."""
        self._leave_phase(now)
        self._phase = meaning.phase
        if meaning.begins:
            self.begin(now, fact.reason, fact.generation)
        if meaning.ends is not None:
            self._end(now, meaning.ends, fact.generation)
        self._members_entering = self.members

    def _leave_phase(self, now: int) -> None:
        """So much was spent in the phase until now."""
        if self._open is not None:
            if self._phase == "preparing":
                self._open.preparing_us += now - self._entered_us
            else:
                self._open.completing_us += now - self._entered_us
        self._entered_us = now

    def begin(self, now: int, reason: str, generation: int) -> None:
        """A rebalance of ``generation`` begins, unless one is under way already.

        Who has come or gone since the group entered its state is part of the rebalance.
        """
        if self._open is not None:
            return
        self._entered_us = now
        trigger, lost = trigger_of(reason), self._members_entering - self.members
        went = max(lost, int(trigger in _GONE))
        self._open = Rebalance(
            now, reason, trigger, generation, members_before=self._members_entering,
            members_in=int(trigger == "join"), members_out=went, kicked=went if trigger in _KICKED else 0,
        )  # fmt: skip
        self._record.rebalances.append(self._open)

    def came(self) -> None:
        """A member was admitted."""
        self.members += 1
        if self._open is not None:
            self._open.members_in += 1

    def went(self, *, kicked: bool, is_pending: bool) -> None:
        """A member left, or was removed; ``is_pending``: it had not joined yet."""
        self.members -= not is_pending
        if self._open is not None:
            self._open.members_out += 1
            self._open.kicked += kicked

    def report(self, now: int, *, is_reported: bool) -> None:
        """Whether every member has reported the group epoch by now."""
        if self._open is not None and is_reported != (self._open.reported_us is not None):
            self._open.reported_us = now if is_reported else None

    def finish(self, horizon: int, generation: int) -> None:
        """The horizon cuts a rebalance that is under way."""
        self._leave_phase(horizon)
        self._end(horizon, "horizon", generation)

    def _end(self, now: int, ended_by: str, generation: int) -> None:
        if self._open is not None:
            self._open.end_us, self._open.ended_by = now, ended_by
            self._open.generation_to, self._open.members_after = generation, self.members
            self._open = None

    # --- what an assignment changes -----------------------------------------------------------------------------------

    def count_moves(self, owner: NDArray[np.int32]) -> None:
        """An assignment was synced: ``owner`` is a consumer's slot per position, -1 for nobody.

        The last named owner counts, though it died before it served; there and back is two.
        """
        rebalance, before = self._open, self._last_owner
        if rebalance is None or self._is_broadcast:
            return
        changed = moved_mask(before, owner)
        rebalance.moved += int(np.count_nonzero(changed))
        if self._measure[0] <= rebalance.start_us <= self._measure[1]:
            self.moved += changed
        rebalance.moved_min += minimal_moves(before, owner)
        rebalance.moved_mrps += int(self._ledger.sent_mrps[changed].sum())
        self._last_owner = np.where(owner >= 0, owner, before)

    def measure_balance(self, assignments: Sequence[Positions], *, measured: bool) -> None:
        """Partitions and rates of the members, one array of positions each."""
        rebalance = self._open
        if rebalance is None or not assignments:
            return
        counts = np.array([len(positions) for positions in assignments])
        of_member = np.repeat(np.arange(len(counts)), counts)
        mrps = np.bincount(of_member, self._ledger.sent_mrps[np.concatenate(assignments)], minlength=len(counts))
        rates = mrps / 1e3
        rebalance.imbalance_partitions = int(counts.max() - counts.min())
        rebalance.stdev_partitions = float(counts.std())
        rebalance.imbalance_rate = float(rates.max() - rates.min())
        rebalance.stdev_rate = float(rates.std())
        if measured:
            self._record.imbalance_max = max(self._record.imbalance_max, rebalance.imbalance_partitions)
