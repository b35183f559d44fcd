"""Many quiet members at once: what `SteadyState` computes for one, for all that rejoin together.

Only for a stretch in which none of them pauses. The members themselves stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.poll_schedule import PollSchedule
from groupsim.sim.fastpath.heartbeats import heartbeats_before
from groupsim.sim.fastpath.poll_schedules import PollSchedules, Times
from groupsim.sim.fastpath.steady_state import SteadyState
from groupsim.sim.fastpath.trains import Train, terms_within
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.units import FOREVER


@dataclass(slots=True)
class Trains:
    """One kind of request of each member: `Train` as columns, and when the last two were sent (`-FOREVER`: never).

    ``first`` is the number of the first since the member fell silent.
    """

    due: Times
    number: Times
    first: Times
    measured: Times
    interval: Times
    measure: tuple[int, int]
    older: Times
    newer: Times

    @classmethod
    def of(cls, trains: Sequence[Train], measure: tuple[int, int]) -> Trains:
        """Columns of these."""
        columns = [
            (one.due, one.number, one.first_number, one.measured, one.interval, *_last_two(one)) for one in trains
        ]
        due, number, first, measured, interval, older, newer = np.array(columns, np.int64).reshape(-1, 7).T.copy()
        return cls(due, number, first, measured, interval, measure, older, newer)

    def add(self, which: NDArray[np.intp], first: Times, stride: Times, count: Times) -> None:
        """`Train.add`."""
        self.measured[which] += terms_within(first, stride, count, *self.measure)
        last = first + (count - 1) * stride
        self.older[which] = np.where(count > 1, last - stride, self.newer[which])
        self.newer[which] = last
        self.number[which] += count
        self.due[which] = last + self.interval[which]

    def followed_by(self, other: Trains) -> Trains:
        """These, and then others."""
        mine, theirs = self._columns(), other._columns()
        due, number, first, measured, interval, older, newer = map(np.concatenate, zip(mine, theirs, strict=True))
        return Trains(due, number, first, measured, interval, self.measure, older, newer)

    def _columns(self) -> tuple[Times, ...]:
        return self.due, self.number, self.first, self.measured, self.interval, self.older, self.newer


def _last_two(train: Train) -> tuple[int, int]:
    newer = train.last_before(FOREVER)
    return train.last_before(newer), newer


@dataclass(slots=True)
class SteadyColumns:
    """Quiet members that consume.

    Parameters
    ----------
    heartbeats : Trains
        With those that are sent before the moment for which this is made.
    beats : int64 array, shape (n,), microseconds
        When the next is sent.
    commits : Trains
    schedules : PollSchedules
    next_start : int64 array, shape (n,), microseconds
        When the next pause begins.
    round_trip_us : int64 array, shape (n,)
        The longest time from a request to its answer.
    """

    heartbeats: Trains
    beats: Times
    commits: Trains
    schedules: PollSchedules
    next_start: Times
    round_trip_us: Times

    @classmethod
    def of(
        cls, quiets: Sequence[SteadyState], round_trips_us: Sequence[int], measure: tuple[int, int], moment: Moment
    ) -> SteadyColumns:
        """Columns of these at a moment."""
        schedules: list[PollSchedule] = [one.schedule for one in quiets if one.schedule is not None]
        sent, beats = heartbeats_before(
            [one.beating.fork() for one in quiets], schedules, [one.keys.heartbeat for one in quiets], moment
        )
        return cls(
            Trains.of(sent, measure),
            beats,
            Trains.of([one.commits for one in quiets], measure),
            PollSchedules.of(schedules),
            np.array([one.next_start for one in quiets], np.int64),
            np.array(round_trips_us, np.int64),
        )

    def followed_by(self, other: SteadyColumns) -> SteadyColumns:
        """These, and then others."""
        return SteadyColumns(
            self.heartbeats.followed_by(other.heartbeats),
            np.concatenate([self.beats, other.beats]),
            self.commits.followed_by(other.commits),
            self.schedules.followed_by(other.schedules),
            np.concatenate([self.next_start, other.next_start]),
            np.concatenate([self.round_trip_us, other.round_trip_us]),
        )

    @property
    def _all(self) -> NDArray[np.intp]:
        return np.arange(len(self.next_start))

    def reactions(self, times: Times) -> Times:
        """When each is inside poll(), from its own time on."""
        return self.schedules.reactions(times, self._all)

    def catch_up(self, polls: Times) -> None:
        """Let each send its next heartbeat, and the commits before its poll at ``polls``."""
        self.heartbeats.add(self._all, self.beats, self.heartbeats.interval, np.ones_like(self.beats))
        which = np.flatnonzero(self.commits.due < polls)
        while which.size:
            due = self.schedules.next_polls(self.commits.due[which], which)
            follows = due < polls[which]
            which, due = which[follows], due[follows]
            more, stride = self.schedules.trains(due, self.commits.interval[which], polls[which], which)
            self.commits.add(which, due, stride, more + 1)

    def go_alone(self, now: int) -> NDArray[np.bool_]:
        """Who is sure to (`Quiescence.goes_alone`), after `catch_up`; the others may."""
        longest, beats = self.round_trip_us, self.beats
        alone: NDArray[np.bool_] = beats - self.heartbeats.interval < now - longest
        for sent in (self.commits.older, self.commits.newer):
            alone &= (sent < now - longest) | ((now < sent) & (sent < beats - longest))
        return alone
