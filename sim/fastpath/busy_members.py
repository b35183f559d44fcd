"""Members that commit at every poll, and learn of a rebalance: their requests share the connection with commits.

What others send alone travels here among commits that are on their way (`sim.fastpath.flights`); which these are is
arithmetic (`sim.fastpath.steady_state.reach`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.services import Slots
from groupsim.sim.config import Timing
from groupsim.sim.fastpath.columns import Column
from groupsim.sim.fastpath.deferred import AFTER_BATCH, DeferredMembers
from groupsim.sim.fastpath.flights import Flights, Matrix, Requests, fly
from groupsim.sim.fastpath.steady_columns import SteadyColumns
from groupsim.sim.fastpath.steady_state import reach

_BEAT, _COMMIT, _JOIN = range(3)
"""Order within an instant."""


class BusyMembers:
    """Those of some quiet members that commit at every poll, as they are before they send their next heartbeat.

    Parameters
    ----------
    deferred : DeferredMembers
    slots : intp array, shape (n,)
    steady : SteadyColumns
        Of these.
    timing : Timing
    beats, numbers : int64 arrays, shape (n,)
        When each sends its next heartbeat, microseconds, and the number of that.

    Attributes
    ----------
    which : intp array, shape (m,)
        Index of those that are meant.
    others : intp array
        Index of those whose passes are drawn: they go alone.
    learned : int64 array, shape (m,), microseconds
        When the heartbeat is answered.
    """

    def __init__(
        self, deferred: DeferredMembers, slots: Slots, steady: SteadyColumns, timing: Timing, beats: Column,
        numbers: Column,
    ) -> None:  # fmt: skip
        schedules = steady.schedules
        commit = deferred.commits[slots] == AFTER_BATCH
        self.which = np.flatnonzero(commit & ~schedules.is_drawn)
        self.others = np.flatnonzero(commit & schedules.is_drawn)
        self._deferred, self._steady, self._timing = deferred, steady, timing
        which, commits = self.which, steady.commits
        self._slots, self._beats, self._numbers = slots[which], beats[which], numbers[which]
        self._due = commits.due[which].copy()
        heartbeat_us, stride_us = steady.heartbeats.interval[which], schedules.shortest_us[which]
        self._reach_us = reach(deferred.longest_us[self._slots], stride_us, heartbeat_us, timing)
        at_due = schedules.count_before(commits.due)[which]
        self._offset = commits.number[which] - at_due
        """Number of a commit less the number of its poll."""
        self._first = commits.first[which]
        self._polled = self._beats
        self.learned: Column = self._beats
        if which.size:
            self.learned = self._fly(self._requests(self._beats, self._numbers, self._beats)).answered[:, -1]

    def follow(self, now: int, polled: Column) -> NDArray[np.bool_]:
        """They rejoin at these polls, shape (m,); who can go on with the others from ``now``, microseconds, on."""
        which, steady = self.which, self._steady
        self._polled = polled
        earlier = steady.heartbeats.older[which]
        # A heartbeat that is on its way tells of the rebalance too.
        is_near = earlier >= now - steady.round_trip_us[which]
        oldest = np.where(is_near, earlier, self._beats) - self._reach_us
        # A poll before the schedule's own beginning would have to be known too.
        is_known = np.logical_or(steady.schedules.start[which] <= oldest, self._offset <= self._first)
        clear: NDArray[np.bool_] = is_known & (self._due <= polled)
        clear &= self._reach_us < steady.heartbeats.interval[which]
        if is_near.any():
            beats = np.where(is_near, earlier, self._beats)
            left = self._fly(self._requests(beats, self._numbers - is_near, beats)).left[:, -1]
            clear &= np.logical_or(~is_near, left - self._timing.service_us < now)
        return clear

    def join(self, there: Column) -> tuple[Column, Column, Column, Column]:
        """They commit and send JoinGroup, which takes ``there`` microseconds (m,) to the broker and is no answer's.

        Returns
        -------
        arrived, worked : int64 arrays, shape (m,), microseconds
            The JoinGroup.
        left, answered : int64 arrays, shape (m,), microseconds
            The answer to the commit.
        """
        if not self.which.size:
            return there, there, there, there
        before = self._requests(self._beats, self._numbers, self._polled)
        polled = self._polled[:, None]
        up, down = self._deferred.times.round_trips("commit", self._slots, self._steady.commits.number[self.which])
        work_us = self._timing.service_us + self._timing.append_us
        commit = (polled, up[:, None], down[:, None], np.full_like(polled, work_us), np.ones_like(polled, np.bool_))
        nothing = np.zeros_like(polled)
        join = (polled, there[:, None], nothing, nothing, commit[-1])
        ranks = np.full((len(polled), before.sent.shape[1] + 2), _COMMIT)
        ranks[:, -3], ranks[:, -1] = _BEAT, _JOIN
        columns = (np.concatenate(parts, axis=1) for parts in zip(before, commit, join, strict=True))
        flights = self._fly(Requests(*columns).sorted(ranks))
        arrived, left = flights.arrived[:, -1], flights.left[:, -2]
        return arrived, np.maximum(arrived, left), left, flights.answered[:, -2]

    def _requests(self, beats: Column, numbers: Column, until: Column) -> Requests:
        """Heartbeats, which are the last column, and commits before ``until`` that can have a part in what follows."""
        schedules, which = self._steady.schedules, self.which
        everybody = np.zeros(len(schedules.start), np.int64)
        last, first = everybody.copy(), everybody
        last[which], first[which] = until, beats - self._reach_us
        last, first = schedules.count_before(last)[which], schedules.count_before(first)[which]
        first = np.maximum(first, self._first - self._offset)
        polls = last[:, None] - np.arange(max(int((last - first).max()), 0), 0, -1)
        is_sent = polls >= first[:, None]
        sent = np.where(is_sent, schedules.polls(polls, which), 0)
        there, back = self._latencies(np.maximum(polls + self._offset[:, None], 0))
        work = np.full_like(sent, self._timing.service_us + self._timing.append_us)
        up, down = self._deferred.times.round_trips("heartbeat", self._slots, numbers)
        beat = (beats, up, down, np.full_like(up, self._timing.service_us), np.ones_like(up, np.bool_))
        columns = zip((sent, there, back, work, is_sent), beat, strict=True)
        return Requests(*(np.concatenate([commits, one[:, None]], axis=1) for commits, one in columns))

    def _latencies(self, numbers: Matrix) -> NDArray[np.int64]:
        """There and back of commits. Shape (2, m, k)."""
        slots = np.repeat(self._slots, numbers.shape[1])
        return self._deferred.times.round_trips("commit", slots, numbers.ravel()).reshape(2, *numbers.shape)

    def _fly(self, requests: Requests) -> Flights:
        deferred, slots = self._deferred, self._slots
        return fly(requests, (deferred.arrived[slots], deferred.left[slots], deferred.answered[slots]))
