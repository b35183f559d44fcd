"""Heartbeats of a thread whose application goes on from transaction to transaction (`polling.heartbeat_thread`).

Between two commits the application goes through passes of its poll loop: it waits inside poll(), and processes what
that returns, if there is any. Then it is away until its commit is answered. One heartbeat at most is sent in each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.fastpath.transactions.columns import Column, Members, Standing


class Beats(NamedTuple):
    """Heartbeats of some members: which send one, and when. Shapes (n,)."""

    is_sent: NDArray[np.bool_]
    sent_us: Column


class Pass(NamedTuple):
    """A pass through the poll loop of some members; columns of shape (n,), in microseconds.

    Parameters
    ----------
    is_on, goes_on : bool arrays
        Who goes through it, and who through another one after it.
    begin_us, leaves_us, until_us : int64 arrays
        When it begins, when the application leaves poll(), and when the next poll() begins.
    """

    is_on: NDArray[np.bool_]
    goes_on: NDArray[np.bool_]
    begin_us: Column
    leaves_us: Column
    until_us: Column


def beat_in_pass(members: Members, standing: Standing, one: Pass) -> tuple[Standing, Beats]:
    """Up to the poll() after it; that finds a heartbeat sent."""
    is_on, goes_on, begin, leaves, until = one
    due, step_us = standing.beat_due_us, members.cadence.step_us
    ready = due - members.cadence.late_us
    since, wake = _steps(standing.waits_since_us, step_us, np.minimum(ready, until), begin, leaves)
    inside = np.where(ready <= leaves, np.maximum(ready, begin), np.maximum(ready, until))
    sent = np.maximum(np.where(inside <= due, due, np.maximum(due, np.minimum(inside, wake))), begin)
    beats = Beats((sent <= until) & is_on, sent)
    # A step that has ended inside poll() ends with the wait, be that the beginning of the next pass.
    since, _ = _steps(np.where(beats.is_sent, sent, since), step_us, until, begin, leaves, goes_on)
    return _after(members, standing, beats, np.where(is_on, since, standing.waits_since_us)), beats


def beat_while_away(members: Members, standing: Standing, polls_us: Column, back_us: Column) -> tuple[Standing, Beats]:
    """While the application commits: the thread beats at its steps, or when that is due."""
    due, step_us = standing.beat_due_us, members.cadence.step_us
    ready = np.maximum(due - members.cadence.late_us, polls_us)
    since, wake = _steps(standing.waits_since_us, step_us, np.minimum(ready, back_us), back_us, back_us)
    sent = np.maximum(np.maximum(due, wake), polls_us)
    beats = Beats(sent < back_us, sent)
    since, _ = _steps(np.where(beats.is_sent, sent, since), step_us, back_us, back_us, back_us)
    return _after(members, standing, beats, since), beats


def beat_on_time(members: Members, standing: Standing, back_us: Column) -> tuple[Standing, Beats]:
    """Up to the end of a commit, by a thread that waits for nobody."""
    sent = np.maximum(standing.beat_due_us, standing.back_us)
    beats = Beats(sent < back_us, sent)
    return _after(members, standing, beats, standing.waits_since_us), beats


def _steps(
    since: Column, step_us: Column, until: Column, begin: Column, leaves: Column,
    goes_on: NDArray[np.bool_] | bool = False,
) -> tuple[Column, Column]:  # fmt: skip
    """When the step in hand began, and the first wake at or after ``until``; a wake inside poll() comes as that ends.

    The application is inside poll() from ``begin`` until it ``leaves``. With ``goes_on`` each step that ends before
    ``until`` is over, though the wake waits for the end of poll().
    """
    while True:
        over = since + step_us
        wake = np.where((over >= begin) & (over < leaves), leaves, over)
        is_early = np.where(goes_on, over < until, wake < until)
        if not np.count_nonzero(is_early):
            return since, wake
        since = np.where(is_early, wake, since)


def _after(members: Members, standing: Standing, beats: Beats, since: Column) -> Standing:
    if not np.count_nonzero(beats.is_sent):
        return replace(standing, waits_since_us=since)
    due = np.where(beats.is_sent, beats.sent_us + members.beat_interval_us, standing.beat_due_us)
    return replace(standing, waits_since_us=since, beat_due_us=due, beats=standing.beats + beats.is_sent)
