"""Quiet members that learn of a rebalance while more than one request of theirs is on its way.

What others send alone travels here among commits that are on their way (`flights`); which these are is arithmetic
(`commit_rows`), and so is how far back they count (`sim.fastpath.quiet.steady_state.reach`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.config import Timing
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.fastpath.phases.commit_rows import CommitRows
from groupsim.sim.fastpath.phases.deferred import NO_COMMITS, DeferredMembers
from groupsim.sim.fastpath.phases.flights import Flights, Requests, fly
from groupsim.sim.fastpath.quiet.steady_columns import SteadyColumns
from groupsim.sim.fastpath.quiet.steady_state import reach

_BEAT, _COMMIT, _JOIN = range(3)
"""Order within an instant."""


class Joining(NamedTuple):
    """The way from the poll to the JoinGroup. Each an int64 array of shape (m,), microseconds.

    Parameters
    ----------
    committed, acknowledged : int64 arrays
        The last answer before the JoinGroup leaves the coordinator, and arrives.
    joining, arrived, joined : int64 arrays
        JoinGroup is sent, arrives, and is worked on.
    """

    committed: Column
    acknowledged: Column
    joining: Column
    arrived: Column
    joined: Column


class BusyMembers:
    """Those of some quiet members whose requests meet, as they are before they send their next heartbeat.

    Parameters
    ----------
    deferred : DeferredMembers
    slots : intp array, shape (n,)
    steady : SteadyColumns
        Of these.
    timing : Timing
    beats, numbers : int64 arrays, shape (n,)
        When each sends its next heartbeat, microseconds, and the number of that.
    commits : CommitRows
        Of those that are meant.

    Attributes
    ----------
    which : intp array, shape (m,)
        Index of those that are meant.
    learned : int64 array, shape (m,), microseconds
        When the heartbeat is answered.
    """

    def __init__(
        self, deferred: DeferredMembers, slots: Slots, steady: SteadyColumns, timing: Timing, beats: Column,
        numbers: Column, commits: CommitRows,
    ) -> None:  # fmt: skip
        which = self.which = commits.which
        self._deferred, self._steady, self._timing, self._commits = deferred, steady, timing, commits
        self._slots, self._beats, self._numbers = slots[which], beats[which], numbers[which]
        heartbeat_us = steady.heartbeats.interval[which]
        stride_us = np.maximum(steady.schedules.shortest_us, steady.commits.interval)[which]
        self._reach_us = reach(deferred.longest_us[self._slots], stride_us, heartbeat_us, timing)
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
        beats = np.where(is_near, earlier, self._beats)
        clear: NDArray[np.bool_] = self._commits.are_known(beats - self._reach_us) & self._commits.may_commit(polled)
        clear &= self._reach_us < steady.heartbeats.interval[which]
        if is_near.any():
            left = self._fly(self._requests(beats, self._numbers - is_near, beats)).left[:, -1]
            clear &= np.logical_or(~is_near, left - self._timing.service_us < now)
        if self._commits.are_awaited and which.size:
            # The answer to a commit before it would be taken for that to the one before the JoinGroup.
            answered = self._fly(self._in_order(self._requests(self._beats, self._numbers, polled), 0)).answered[:, -1]
            clear &= np.logical_or(answered < polled, answered == self.learned)
        return clear

    def join(self, there: Column) -> Joining:
        """They commit, if they do, and send JoinGroup, which takes ``there`` microseconds (m,) to the broker."""
        if not self.which.size:
            return Joining(there, there, there, there, there)
        before = self._requests(self._beats, self._numbers, self._polled)
        polled = self._polled[:, None]
        up, down = self._deferred.times.round_trips("commit", self._slots, self._steady.commits.number[self.which])
        work_us = self._timing.service_us + self._timing.append_us
        commits = (self._deferred.commits[self._slots] != NO_COMMITS)[:, None]
        commit = Requests(polled, up[:, None], down[:, None], np.full_like(polled, work_us), commits)
        if self._commits.are_awaited:
            flights = self._fly(self._in_order(_beside(before, commit), 1))
            left, answered = flights.left[:, -1], flights.answered[:, -1]
            joining = np.where(commits[:, 0], answered, self._polled)
            return Joining(left, answered, joining, joining + there, joining + there)
        nothing = np.zeros_like(polled)
        join = Requests(polled, there[:, None], nothing, nothing, np.ones_like(polled, np.bool_))
        # Nobody answers the JoinGroup.
        flights = self._fly(self._in_order(_beside(_beside(before, commit), join), 2))
        arrived, left = flights.arrived[:, -1], flights.left[:, -2]
        return Joining(left, flights.answered[:, -2], self._polled, arrived, np.maximum(arrived, left))

    def _in_order(self, requests: Requests, more: int) -> Requests:
        """Requests in order of sending; the heartbeat is the last but ``more``: a commit, and the JoinGroup."""
        ranks = np.full(requests.sent.shape, _COMMIT)
        ranks[:, -1 - more] = _BEAT
        if more > 1:
            ranks[:, -1] = _JOIN
        return requests.sorted(ranks)

    def _requests(self, beats: Column, numbers: Column, until: Column) -> Requests:
        """Commits before ``until`` that can have a part in what follows, and heartbeats, which are the last column."""
        sent, commits, is_sent = self._commits.within(beats - self._reach_us, until)
        there, back = self._latencies(commits)
        work = np.full_like(sent, self._timing.service_us + self._timing.append_us)
        up, down = self._deferred.times.round_trips("heartbeat", self._slots, numbers)
        beat: tuple[Any, ...] = (beats, up, down, np.full_like(up, self._timing.service_us), np.ones_like(up, np.bool_))
        return _beside(Requests(sent, there, back, work, is_sent), Requests(*(one[:, None] for one in beat)))

    def _latencies(self, numbers: Column) -> NDArray[np.int64]:
        """There and back of commits. Shape (2, m, k)."""
        slots = np.repeat(self._slots, numbers.shape[1])
        return self._deferred.times.round_trips("commit", slots, numbers.ravel()).reshape(2, *numbers.shape)

    def _fly(self, requests: Requests) -> Flights:
        deferred, slots = self._deferred, self._slots
        return fly(requests, (deferred.arrived[slots], deferred.left[slots], deferred.answered[slots]))


def _beside(one: Requests, other: Requests) -> Requests:
    """The columns of both."""
    columns: Any = [np.concatenate(parts, axis=1) for parts in zip(one, other, strict=True)]
    return Requests(*columns)
