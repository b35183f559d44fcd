"""Who serves which partition, and if nobody does: since when, and why.

A partition's clock starts at the latest of its creation, the group's first JoinGroup and ``measure.from``; in a group
that never serves any partition, at the latest of its creation, its first record and ``measure.from``. From then on it
is served, or unavailable for one cause, the first that holds:

``unowned``
    no member subscribed to the topic is known to the coordinator or joining;
``detection``
    the last owner is dead, frozen, stuck or cut off, and still a member for the coordinator; or brokers hold it up;
``away``
    the last owner was closed on purpose, and the coordinator keeps its place until the session ends: it is static, or
    was told to remain;
``barrier``
    PreparingRebalance (initial delay included), or waiting for a revocation and the round that it triggers; in a
    consumer group waiting for a revocation, or for a target;
``assignment``
    CompletingRebalance, or the assignment has not reached the owner; in a consumer group also waiting for the new
    owner's heartbeat;
``resume``
    listeners, offset fetch, first fetch.

Members are known here by *handle*: one for each time that the coordinator has taken a member id in, so that a restarted
pod is not mistaken for the process that died, nor a consumer that has joined again for the zombie that it was. A frozen
member keeps serving on paper until it thaws or somebody else decides: gaps under a second that pauses alone cause are
``paused_s`` and no rows, in both fidelities.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.causes import ASSIGNMENT, AWAY, BARRIER, DETECTION, NOT_STARTED, RESUME, SERVED, UNOWNED
from groupsim.sim.books.meanings import Meaning
from groupsim.sim.books.record import GroupRecord
from groupsim.sim.catalog import Partitions
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions
from groupsim.sim.units import FOREVER, S

SHORT_PAUSE_US = S
"""Shorter pauses are ``paused_s`` and no gaps, and can be elided; longer ones wake a quiet member."""
Times: TypeAlias = int | NDArray[np.int64]
Handles: TypeAlias = int | NDArray[np.int32]


def _only(value: Any, which: NDArray[np.bool_]) -> Any:
    """One value for all positions, or those of the positions that are meant."""
    return value[which] if isinstance(value, np.ndarray) else value


class Availability:
    """One group's partitions over time.

    Parameters
    ----------
    partitions : Partitions
    record : GroupRecord
        Receives rows (position, from, to, cause), ``paused_us`` and ``zombie_us``.
    measure_from, measure_to : int, microseconds
    """

    def __init__(self, partitions: Partitions, record: GroupRecord, measure_from: int, measure_to: int) -> None:
        self._partitions = partitions
        self._record = record
        self._from, self._to = measure_from, measure_to
        self._state_cause: int | None = None
        self.first_join_us = FOREVER
        self.cause: NDArray[np.int8] = np.empty(0, np.int8)
        self._since: NDArray[np.int64] = np.empty(0, np.int64)
        self._server: NDArray[np.int32] = np.empty(0, np.int32)
        self._last: NDArray[np.int32] = np.empty(0, np.int32)
        self.owner: NDArray[np.int32] = np.empty(0, np.int32)
        """Handle of the owner in the last synced assignment, -1: none."""
        self._received: NDArray[np.bool_] = np.empty(0, np.bool_)
        """Whether the owner knows of it."""
        self._waits_for: NDArray[np.int8] = np.empty(0, np.int8)
        """Cause of what nobody owns."""
        self._subscribed: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._severed: NDArray[np.int8] = np.empty(0, np.int8)
        self._by_hand: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._handles = 0
        # The last element belongs to nobody (handle -1) and stays False.
        self._impaired: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._away: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._known: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._frozen_at: NDArray[np.int64] = np.full(64, -1, np.int64)

    # --- who there is -------------------------------------------------------------------------------------------------

    def cover(self) -> None:
        """Make room for new positions; their clock starts at `begin` or, in a group that has begun, at once."""
        new = len(self._partitions) - len(self.cause)
        if new <= 0:
            return
        begun = self.first_join_us < FOREVER
        start = max(self.first_join_us, self._from) if begun else 0
        created = self._partitions.created_us[-new:]
        self.cause = np.concatenate([self.cause, np.full(new, UNOWNED if begun else NOT_STARTED, np.int8)])
        self._since = np.concatenate([self._since, np.maximum(created, start)])
        for name in ("_server", "_last", "owner"):
            setattr(self, name, np.concatenate([getattr(self, name), np.full(new, -1, np.int32)]))
        # What comes later is waited for by nobody, until somebody has heard of it.
        waits_for = BARRIER if self.first_join_us == FOREVER else DETECTION
        self._waits_for = np.concatenate([self._waits_for, np.full(new, waits_for, np.int8)])
        for name in ("_received", "_subscribed", "_severed", "_by_hand"):
            setattr(self, name, np.concatenate([old := getattr(self, name), np.zeros(new, old.dtype)]))

    def begin(self, now: int) -> None:
        """The group's first JoinGroup has arrived: the clocks start."""
        if self.first_join_us == FOREVER:
            self.first_join_us = now
            self.cause[:] = np.where(self._partitions.ends_us < FOREVER, NOT_STARTED, UNOWNED)
            self._since[:] = np.maximum(self._partitions.created_us, max(now, self._from))

    def handle(self) -> int:
        """A new member id is known to the coordinator."""
        if self._handles == len(self._known) - 1:
            for name in ("_impaired", "_away", "_known", "_frozen_at"):
                old = getattr(self, name)
                new = np.full(2 * len(old), old[-1])
                new[: self._handles] = old[: self._handles]
                setattr(self, name, new)
        self._known[self._handles] = True
        self._handles += 1
        return self._handles - 1

    def knows(self, handle: int) -> bool:
        """Whether the coordinator has not removed the member."""
        return bool(self._known[handle])

    def subscribe(self, now: int, topics: frozenset[str]) -> None:
        """Topics that members, known or joining, are subscribed to."""
        for topic in self._partitions.topics:
            self._subscribed[self._partitions.of(topic)] = topic in topics
        self.refresh(now)

    # --- what happens -------------------------------------------------------------------------------------------------

    def enter(self, now: int, meaning: Meaning) -> None:
        """The coordinator's group has changed state."""
        self._state_cause = meaning.cause
        if meaning.ends == "empty":
            self.owner = np.full(len(self.owner), -1, np.int32)
        self.refresh(now)

    def assign(self, now: int, owner: NDArray[np.int32]) -> None:
        """A synced assignment: a handle per position. What a server no longer owns, it no longer serves."""
        self.owner = owner
        self._received[:] = False
        owned = owner >= 0
        self._waits_for[owned] = BARRIER
        self._last[owned & (self._server < 0)] = owner[owned & (self._server < 0)]
        self._interrupt(now, self.taken_from(owner)[0])
        self.refresh(now)

    def give(self, now: int, handle: int, positions: Positions) -> None:
        """One member's part of the assignment has changed: these are its own now, beside what it keeps."""
        positions = positions[self.owner[positions] != handle]
        self.owner[positions] = handle
        self._received[positions] = False
        self._last[positions[self._server[positions] < 0]] = handle
        self._interrupt(now, positions[(self._server[positions] >= 0) & (self._server[positions] != handle)])
        self.refresh(now, positions)

    def take(self, now: int, positions: Positions, waits_for: NDArray[np.int8]) -> None:
        """Nobody owns these now, and each waits for something. Shapes (n,)."""
        self.owner[positions] = -1
        self._waits_for[positions] = waits_for
        self.refresh(now, positions)

    def taken_from(self, owner: NDArray[np.int32]) -> tuple[Positions, NDArray[np.int32]]:
        """Partitions that an assignment gives to somebody else than their server, and the handles of those servers."""
        taken = np.flatnonzero((self._server >= 0) & (self._server != owner) & (owner >= 0)).astype(np.int32)
        return taken, self._server[taken]

    def own(self, now: int, handle: int, positions: Positions) -> None:
        """Partitions that were taken by hand: owned and received at once."""
        self._by_hand[positions] = True
        self.owner[positions] = handle
        self._received[positions] = True
        self.refresh(now, positions)

    def disown(self, now: int, handle: int) -> None:
        """Who had taken partitions by hand is gone, and nobody has to find that out."""
        self.owner[self.owner == handle] = -1
        self.forget(now, handle)

    def receive(self, now: Times, handle: Handles, positions: Positions) -> None:
        """The assignment has reached its owner; or each position's owner, at its own time."""
        self._received[positions] |= self.owner[positions] == handle
        self.refresh(now, positions)

    def serve(self, now: Times, handle: Handles, positions: Positions) -> None:
        """The first fetch response after the assignment; or each position's, at its own time."""
        which = (self.owner[positions] == handle) & (self._server[positions] != handle) & self._known[handle]
        mine, server = positions[which], _only(handle, which)
        self._set(_only(now, which), mine, np.zeros(len(mine), np.int8))
        self._server[mine] = self._last[mine] = server

    def stop(self, now: Times, handle: Handles, positions: Positions) -> None:
        """The member itself stops serving: it revokes, loses, closes, dies; or each position's, at its own time."""
        which = self._server[positions] == handle
        self._interrupt(_only(now, which), positions[which])

    def impair(self, now: int, handle: int, impaired: bool) -> None:
        """The member is dead, stuck, cut off, or frozen for good; or it is back."""
        self._impaired[handle] = impaired
        self.refresh(now, np.flatnonzero(self._last == handle).astype(np.int32))

    def leave_place(self, now: int, handle: int) -> None:
        """The member was closed on purpose, which the coordinator need not know: its place is kept."""
        self._away[handle] = True
        self.refresh(now, np.flatnonzero(self._last == handle).astype(np.int32))

    def succeed(self, now: int, old: int, new: int) -> None:
        """A static instance has come back under a new member id: what the old handle owned, the new one owns."""
        self.owner = np.where(self.owner == old, new, self.owner).astype(np.int32)
        self._received[self.owner == new] = False
        self.refresh(now, np.flatnonzero(self.owner == new).astype(np.int32))

    def is_served(self, positions: Positions) -> NDArray[np.bool_]:
        """Whether the owner of each is reading it. Shape (n,)."""
        return np.greater_equal(self._server[positions], 0)

    def serving(self, handle: int, positions: Positions) -> int:
        """How many of these partitions the member serves."""
        return int(np.count_nonzero(self._server[positions] == handle)) if handle >= 0 else 0

    def forget(self, now: int, handle: int) -> None:
        """The coordinator has removed the member."""
        if self._known[handle]:
            self._known[handle] = False
            self._interrupt(now, np.flatnonzero(self._server == handle).astype(np.int32))
            self.refresh(now, np.flatnonzero(self._last == handle).astype(np.int32))

    def owned_by(self, handle: int, positions: Positions) -> NDArray[np.bool_]:
        """Which of these partitions the coordinator has given to this member, if it still knows it. Shape (n,)."""
        mine: NDArray[np.bool_] = (self.owner[positions] == handle) & self._known[handle]
        return mine

    def suspend_service(self, now: int, handle: int, positions: Positions) -> None:
        """The member hangs: it serves nothing until `serve` is called again."""
        self._impaired[handle] = True
        self.stop(now, handle, positions)

    def sever(self, positions: Positions, cause: int | NDArray[np.int8]) -> None:
        """What keeps the owner from reading these though it is well, or `SERVED`: one cause for all, or for each."""
        self._severed[positions] = cause

    # --- pauses -------------------------------------------------------------------------------------------------------

    def freeze(self, now: int, handle: int) -> None:
        """The member's process stands still from now on."""
        self._frozen_at[handle] = now

    def thaw(self, now: int, handle: int, positions: Positions) -> None:
        """It goes on: a short pause is counted, a long one has been a gap."""
        frozen_at, self._frozen_at[handle] = int(self._frozen_at[handle]), -1
        self._impaired[handle] = False
        if frozen_at < 0:
            return
        serving = positions[self._server[positions] == handle]
        if now - frozen_at < SHORT_PAUSE_US:
            self.pause(len(serving), frozen_at, now)
        elif serving.size:
            self._record.unavailability.add(serving, frozen_at, now, DETECTION)
            self._since[serving] = now

    def pause(self, partitions: int, begin: int, end: int) -> None:
        """A pause under a second while serving ``partitions`` partitions."""
        self._record.paused_us += partitions * max(0, min(end, self._to) - max(begin, self._from))

    # --- causes -------------------------------------------------------------------------------------------------------

    def _interrupt(self, now: Times, positions: Positions) -> None:
        """End service, back-dated to the beginning of a freeze that is under way."""
        if not positions.size:
            return
        frozen_at = self._frozen_at[self._server[positions]]
        self._server[positions] = -1
        frozen = frozen_at >= 0
        causes = self._causes(positions)
        if frozen.any():
            self._since[positions] = np.where(frozen, frozen_at, now)
            self.cause[positions] = np.where(frozen, DETECTION, causes)
            self._set(now, positions, causes)
        else:
            self._since[positions] = now
            self.cause[positions] = causes

    def refresh(self, now: Times, positions: Positions | None = None) -> None:
        """Find the cause anew for partitions that nobody serves."""
        if self.first_join_us == FOREVER:
            return
        if positions is None:
            idle = np.flatnonzero(self._server < 0).astype(np.int32)
        else:
            which = self._server[positions] < 0
            idle, now = positions[which], _only(now, which)
        if idle.size:
            self._set(now, idle, self._causes(idle))

    def _causes(self, positions: Positions) -> NDArray[np.int8]:
        last, owner = self._last[positions], self.owner[positions]
        if self._state_cause is not None:
            result = np.full(len(positions), self._state_cause, np.int8)
        else:
            owned = np.where(self._received[positions], RESUME, ASSIGNMENT)
            result = np.where(owner < 0, self._waits_for[positions], owned).astype(np.int8)
        severed, known = self._severed[positions], self._known[last]
        result = np.where(known & (severed > SERVED), severed, result)
        result[self._impaired[last] & known] = DETECTION
        result[self._away[last] & known] = AWAY
        result[~self._subscribed[positions] | (self._by_hand[positions] & (owner < 0))] = UNOWNED
        result[self._partitions.are_gone(positions)] = NOT_STARTED
        return result

    def _set(self, now: Times, positions: Positions, causes: NDArray[np.int8]) -> None:
        if not np.count_nonzero(changed := causes != self.cause[positions]):
            return
        which, now = positions[changed], _only(now, changed)
        old, since = self.cause[which], self._since[which]
        rows = (old > SERVED) & (since < now)
        self._record.unavailability.add(which[rows], since[rows], _only(now, rows), old[rows])
        self.cause[which] = causes[changed]
        self._since[which] = np.maximum(now, since)

    def finish(self, horizon: int) -> None:
        """Cut everything at the horizon: frozen members have been silent since they froze."""
        for handle in np.flatnonzero((self._frozen_at >= 0) & (self._frozen_at <= horizon - SHORT_PAUSE_US)):
            self._impaired[handle] = True
            self._interrupt(horizon, np.flatnonzero(self._server == handle).astype(np.int32))
        everything = np.arange(len(self.cause), dtype=np.int32)
        open_ = everything[self.cause > SERVED]
        rows = open_[self._since[open_] < horizon]
        self._record.unavailability.add(rows, self._since[rows], horizon, self.cause[rows])


class BroadcastAvailability(Availability):
    """A group in which every member gets every partition: one is served while anybody serves it.

    There is no owner to be wrong about, so nobody is ever a zombie of another; and while one member pauses the others
    read on, so pauses are no gaps.
    """

    def __init__(self, partitions: Partitions, record: GroupRecord, measure_from: int, measure_to: int) -> None:
        super().__init__(partitions, record, measure_from, measure_to)
        self._servers: dict[int, Positions] = {}

    def serve(self, now: Times, handle: Handles, positions: Positions) -> None:
        """One more member serves these."""
        assert isinstance(handle, int)  # members of a broadcast group go one by one
        if self._known[handle]:
            self._servers[handle] = np.union1d(self._servers.get(handle, positions), positions).astype(np.int32)
            idle = positions[self._server[positions] < 0]
            self._set(now, idle, np.zeros(len(idle), np.int8))
            self._server[idle] = handle
            self._last[idle] = handle

    def stop(self, now: Times, handle: Handles, positions: Positions) -> None:
        """One member less serves these; what it reads from other brokers it reads on."""
        assert isinstance(now, int)
        assert isinstance(handle, int)
        self._servers[handle] = np.setdiff1d(self._servers.get(handle, NO_PARTITIONS), positions)
        self._hand_over(now, positions[self._server[positions] == handle])

    def forget(self, now: int, handle: int) -> None:
        """The coordinator has removed the member."""
        self._servers.pop(handle, None)
        self._hand_over(now, np.flatnonzero(self._server == handle).astype(np.int32))
        super().forget(now, handle)

    def _hand_over(self, now: int, orphans: Positions) -> None:
        """Somebody else who serves the same takes the place of a member that stops."""
        for other in sorted(self._servers):
            taken = np.intersect1d(orphans, self._servers[other])
            self._server[taken] = other
            self._last[taken] = other
            orphans = np.setdiff1d(orphans, taken).astype(np.int32)
        self._interrupt(now, orphans)

    def taken_from(self, owner: NDArray[np.int32]) -> tuple[Positions, NDArray[np.int32]]:
        """Nothing can be taken from anybody."""
        return NO_PARTITIONS, NO_PARTITIONS

    def owned_by(self, handle: int, positions: Positions) -> NDArray[np.bool_]:
        """Everything belongs to every member."""
        return np.full(len(positions), self._known[handle])

    def serving(self, handle: int, positions: Positions) -> int:
        """Pauses of one member are no gaps."""
        return 0

    def thaw(self, now: int, handle: int, positions: Positions) -> None:
        """The member goes on; nobody missed it."""
        self._frozen_at[handle] = -1
        self._impaired[handle] = False
