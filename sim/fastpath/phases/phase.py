"""Phases: what many members do at about the same time, computed for all of them at once.

A rebalance takes every member through the same few steps, and between two decisions of the coordinator nothing that one
member does is seen by another: its heartbeat and its JoinGroup while the group prepares, its SyncGroup while the leader
assigns, its offsets and its first fetch once the group is stable. So each of these stretches is planned as one vector
computation when it begins, and carried out at once for all, when it is over or when somebody looks.

Carried out are the books: what others can see. The members' own objects learn of it when somebody looks at them
(`sim.fastpath.phases.deferred`).

A member that is disturbed in the middle (a pause, a kill, another rebalance) leaves its phase: what it has done since
the phase began is then carried out as the events that it would have been (`Environment.replay`), by the code that moves
every other member. A phase therefore knows no rule of the protocol, only times.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.fastpath.phases.deferred import DeferredMembers
from groupsim.sim.kernel.environment import Environment, Moment, Occurrence
from groupsim.sim.protocol.messages import Positions

_NOBODY: Slots = np.empty(0, np.intp)


class CohortPhase(ABC):
    """Members of one group on their way through the same steps.

    Parameters
    ----------
    env : Environment
    group : GroupHost
    deferred : DeferredMembers

    Attributes
    ----------
    since : (microseconds, key)
        When it began.
    """

    NUMBER: int
    """Its number in `DeferredMembers.phase`."""

    def __init__(self, env: Environment, group: GroupHost, deferred: DeferredMembers) -> None:
        self._env = env
        self._group = group
        self._deferred = deferred
        self._slots = _NOBODY
        self._ends: Column = np.empty(0, np.int64)
        self._keys: Column = np.empty(0, np.int64)
        self._occurrence: Occurrence | None = None
        self.since: Moment = (0, 0)
        self._added: dict[int, Moment] = {}
        """Since when those are in it who have come later."""

    def begin(self, slots: Slots, ends: Column, keys: Column, since: Moment | None = None) -> None:
        """Let members go through the steps as planned; each is through at its moment.

        ``since``: they have been on the way since that moment; by default since this one.
        """
        self.since = self._env.moment if since is None else since
        self._slots, self._ends, self._keys = slots, ends, keys
        self._added.clear()
        self._deferred.phase[slots] = self.NUMBER
        self._await_end()

    def add(self, slot: int, end: int, key: int) -> None:
        """One member more goes through the steps, from this moment on."""
        self._added[slot] = self._env.moment
        self._slots = np.append(self._slots, slot)
        self._ends, self._keys = np.append(self._ends, end), np.append(self._keys, key)
        self._deferred.phase[slot] = self.NUMBER
        self._await_end()

    @property
    def is_under_way(self) -> bool:
        """Whether anybody is on the way."""
        return self._slots.size > 0

    def _await_end(self) -> None:
        """Carry everything out when it is over, at once if that has passed; who is through, when one of them pauses."""
        if self._occurrence is not None:
            self._occurrence.drop()
            self._occurrence = None
        if not self.is_under_way:
            return
        self._group.has_phases = True
        next_pause = int(self._deferred.next_start[self._slots].min())
        moment = min(self._over(self._slots, self._ends, self._keys), (next_pause, 0))
        if moment < self._env.moment:
            self._finish(None)
        else:
            self._occurrence = self._env.at(*moment, self._finish)

    def _over(self, slots: Slots, ends: Column, keys: Column) -> Moment:
        """When a phase of these members is over: with its last member's end."""
        last = ends.max()
        return int(last), int(keys[ends == last].max())

    def _finish(self, _: object) -> None:
        self._occurrence = None
        if self._env.moment < self._over(self._slots, self._ends, self._keys):
            self.settle_done()
        else:
            slots, _, _ = self._take(np.ones(len(self._slots), np.bool_))
            self._carry_out(slots)
        self._deferred.barrier.watch()

    def _take(self, which: NDArray[np.bool_]) -> tuple[Slots, Column, Column]:
        """Members that are no longer in the phase, and their ends."""
        taken = self._slots[which], self._ends[which], self._keys[which]
        stay = ~which
        self._slots, self._ends, self._keys = self._slots[stay], self._ends[stay], self._keys[stay]
        self._deferred.phase[taken[0]] = 0
        return taken

    def settle(self) -> None:
        """Somebody is about to look, or to decide: everything that has happened before this moment has happened."""
        if self.is_under_way:
            self.settle_some(np.ones(len(self._slots), np.bool_))

    def _end(self, slots: Slots, ends: Column, keys: Column) -> None:
        """These are no longer on the way: carried out, or replayed."""
        is_done = self._precede(ends, keys)
        if is_done.any():
            self._carry_out(slots[is_done])
        rest = np.flatnonzero(~is_done)
        for index in rest[np.lexsort((keys[rest], ends[rest]))].tolist():
            self._replay(int(slots[index]))

    def settle_done(self) -> None:
        """Those who are through are through; nothing that is decided now touches the others."""
        if self.is_under_way:
            self.settle_some(np.zeros(len(self._slots), np.bool_))

    def settle_some(self, which: NDArray[np.bool_]) -> None:
        """`settle`, for those who are through and for those of the others that are meant; the rest stays."""
        if not self.is_under_way:
            return
        slots, ends, keys = self._take(np.logical_or(which, self._precede(self._ends, self._keys)))
        self._await_end()
        self._end(slots, ends, keys)

    def settle_readers_of(self, positions: Positions) -> None:
        """`settle_some` for those who read any of these, or are about to."""
        if self.is_under_way:
            self.settle_some(self._read(positions))

    def _read(self, positions: Positions) -> NDArray[np.bool_]:
        """Who of those on the way may read some of these before it is through."""
        return np.ones(len(self._slots), np.bool_)

    def _precede(self, ends: Column, keys: Column) -> NDArray[np.bool_]:
        """Whether moments are in the past."""
        now, key = self._env.moment
        past: NDArray[np.bool_] = (ends < now) | ((ends == now) & (keys < key))
        return past

    def release(self, slot: int) -> None:
        """One member is disturbed: it goes on by itself."""
        slots, ends, keys = self._take(self._slots == slot)
        if self._precede(ends, keys).all():
            self._carry_out(slots)
        else:
            self._replay(slot)
        self._await_end()
        self._deferred.barrier.watch()

    def _replay(self, slot: int) -> None:
        self._deferred.elided[slot].look()
        self._env.replay(self._added.get(slot, self.since), lambda: self._start(slot))

    @abstractmethod
    def _carry_out(self, slots: Slots) -> None:
        """These members are through: put it into the books."""

    @abstractmethod
    def _start(self, slot: int) -> None:
        """Take the first step of the phase as an event of the member's own."""
