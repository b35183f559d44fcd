"""Commits that quiet members have sent of late, or send before they rejoin: a row a member, in order of sending."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.fastpath.phases.flights import Matrix
from groupsim.sim.fastpath.quiet.steady_columns import SteadyColumns
from groupsim.sim.units import FOREVER


class Rows(NamedTuple):
    """Commits of many members. Each of shape (m, k); rows can have gaps.

    Parameters
    ----------
    sent : int64 array, microseconds
    numbers : int64 array
    is_sent : bool array
        Where there is no gap.
    """

    sent: Matrix
    numbers: Matrix
    is_sent: NDArray[np.bool_]


class CommitRows(Protocol):
    """Commits of some of the quiet members, as these are before they send their next heartbeat.

    Attributes
    ----------
    which : intp array, shape (m,)
        Index of those that are meant.
    are_awaited : bool
        Whether the JoinGroup waits for the commit before it to be answered.
    """

    which: Slots
    are_awaited: bool

    def within(self, since: Column, until: Column) -> Rows:
        """Those sent in [since, until), microseconds, each of shape (m,)."""
        ...

    def are_known(self, since: Column) -> NDArray[np.bool_]:
        """Whose commits from ``since`` on are all in `within`. Shape (m,)."""
        ...

    def may_commit(self, polled: Column) -> NDArray[np.bool_]:
        """Who commits at the poll at which it learns of the rebalance. Shape (m,)."""
        ...


class CommitsOfPolls:
    """Of members that commit at every poll, and whose polls are not drawn: these are counted.

    Parameters
    ----------
    steady : SteadyColumns
    which : intp array, shape (m,)
    """

    are_awaited = False

    def __init__(self, steady: SteadyColumns, which: Slots) -> None:
        commits = steady.commits
        self.which = which
        self._schedules = steady.schedules
        self._due, self._first = commits.due[which].copy(), commits.first[which]
        at_due = steady.schedules.count_before(commits.due)[which]
        self._offset = commits.number[which] - at_due
        """Number of a commit less the number of its poll."""

    def within(self, since: Column, until: Column) -> Rows:
        """Those sent in [since, until)."""
        first, last = self._count_before(since), self._count_before(until)
        first = np.maximum(first, self._first - self._offset)
        polls = last[:, None] - np.arange(max(int((last - first).max()), 0), 0, -1)
        is_sent = polls >= first[:, None]
        sent = np.where(is_sent, self._schedules.polls(polls, self.which), 0)
        return Rows(sent, np.maximum(polls + self._offset[:, None], 0), is_sent)

    def _count_before(self, times: Column) -> Column:
        everybody = np.zeros(len(self._schedules.start), np.int64)
        everybody[self.which] = times
        return self._schedules.count_before(everybody)[self.which]

    def are_known(self, since: Column) -> NDArray[np.bool_]:
        """A poll before the schedule's own beginning would have to be known too."""
        known: NDArray[np.bool_] = np.logical_or(
            self._schedules.start[self.which] <= since, self._offset <= self._first
        )
        return known

    def may_commit(self, polled: Column) -> NDArray[np.bool_]:
        """Who does not commit more often than so is due by then."""
        may: NDArray[np.bool_] = self._due <= polled
        return may


class CommitsOfIntervals:
    """Of members that commit every auto.commit.interval.ms, or never: the last two, and those to come.

    Meant are those that are not sure to have nothing else on its way, at the decision and when they send a heartbeat.

    Parameters
    ----------
    steady : SteadyColumns
    polled : int64 array, shape (n,), microseconds
        When each that has nothing else on its way learns of the rebalance at a poll.
    is_meant : bool array, shape (n,)
        Who commits so.
    now : int, microseconds
    """

    are_awaited = True

    def __init__(self, steady: SteadyColumns, polled: Column, is_meant: NDArray[np.bool_], now: int) -> None:
        commits, until = steady.commits, steady.beats + steady.heartbeats.interval
        sent, numbers = [commits.older, commits.newer], [commits.number - 2, commits.number - 1]
        due, number = np.where(is_meant, commits.due, FOREVER), commits.number.copy()
        while (due < until).any():
            poll = steady.schedules.next_poll(np.minimum(due, until))
            is_sent = poll < until
            sent.append(np.where(is_sent, poll, -FOREVER))
            numbers.append(number.copy())
            due, number = np.where(is_sent, poll + commits.interval, FOREVER), number + is_sent
        table = np.stack(sent, axis=1)
        which = self.which = np.flatnonzero(
            is_meant & ~_are_alone(steady, np.where(table < polled[:, None], table, -FOREVER), now)
        )
        self._sent, self._numbers = table[which], np.stack(numbers, axis=1)[which]
        self._has_more = self._numbers[:, 0] > commits.first[which]

    def within(self, since: Column, until: Column) -> Rows:
        """Those sent in [since, until)."""
        is_sent = (self._sent >= since[:, None]) & (self._sent < until[:, None])
        return Rows(np.where(is_sent, self._sent, 0), np.maximum(self._numbers, 0), is_sent)

    def are_known(self, since: Column) -> NDArray[np.bool_]:
        """What was sent before the last two is not known."""
        known: NDArray[np.bool_] = np.logical_or(self._sent[:, 0] < since, ~self._has_more)
        return known

    def may_commit(self, polled: Column) -> NDArray[np.bool_]:
        """Everybody: the commit before the JoinGroup is not one of these."""
        return np.ones(len(polled), np.bool_)


def _are_alone(steady: SteadyColumns, sent: Matrix, now: int) -> NDArray[np.bool_]:
    """Who is sure to have nothing on its way at ``now``, and nothing but a heartbeat from when it sends that on."""
    longest, beats = steady.round_trip_us, steady.beats
    were_answered = sent < (now - longest)[:, None]
    will_be = (now < sent) & (sent < (beats - longest)[:, None])
    are_apart: NDArray[np.bool_] = np.logical_and.reduce(np.logical_or(were_answered, will_be), axis=1)
    was_answered: NDArray[np.bool_] = beats - steady.heartbeats.interval < now - longest
    return are_apart & was_answered
