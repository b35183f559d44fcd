"""Heartbeats that many quiet members have sent since a rebalance, as columns: what `Heartbeats` works out for one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.polling.heartbeat_thread import Cadence, gait, next_beat, repeats
from groupsim.sim.fastpath.quiet.poll_schedules import PollSchedules, Times
from groupsim.sim.fastpath.quiet.trains import Train


class Sent(NamedTuple):
    """Heartbeats one after the other, of many members; int64 arrays of shape (n,).

    Parameters
    ----------
    first : microseconds
        When the first is sent.
    stride : microseconds
        From one to the next.
    beats : int
        How many; 0: the first is not sent in time.
    """

    first: Times
    stride: Times
    beats: Times


def send_before(
    schedules: PollSchedules, cadences: Sequence[Cadence], cadence_of: NDArray[np.intp], train: Train, since: Times,
    before: Times,
) -> Times:  # fmt: skip
    """Let each send those before ``before`` (microseconds); when it sends the next.

    Parameters
    ----------
    schedules : PollSchedules
        In closed form, of n members.
    cadences : sequence of Cadence
    cadence_of : intp array, shape (n,)
        Which of these is whose.
    train : Train
        Columns of shape (n,): ``due`` is when the thread notices that the next should be sent.
    since : int64 array, shape (n,), microseconds
        When the step in hand of each heartbeat thread began.
    """
    assert not schedules.is_drawn.any()
    upcoming, since = np.empty(len(since), np.int64), since.copy()
    table, which = np.array(cadences, np.int64), np.arange(len(since))
    while which.size:
        whose = cadence_of[which]
        sent = _next(
            schedules.some(which), cadences, whose, Cadence(*table[whose].T), train.due[which], since[which],
            before[which],
        )  # fmt: skip
        upcoming[which] = sent.first
        is_sent = sent.beats > 0
        which, going = which[is_sent], Sent(*(column[is_sent] for column in sent))
        since[which] = going.first + (going.beats - 1) * going.stride
        _add(train, which, going)
    return upcoming


def _add(train: Train, which: NDArray[np.intp], sent: Sent) -> None:
    """These have sent those."""
    first, stride, count = np.zeros_like(train.due), np.ones_like(train.due), np.zeros_like(train.due)
    first[which], stride[which], count[which] = sent
    train.add(first, stride, count)


def _next(
    schedules: PollSchedules, kinds: Sequence[Cadence], kind_of: NDArray[np.intp], cadence: Cadence, due: Times,
    since: Times, before: Times,
) -> Sent:  # fmt: skip
    """Those that follow: as many as follow alike where passes are, one elsewhere."""
    passes = begin, end, length, wait = schedules.passes_from(np.maximum(since, schedules.start))
    follows = (due == since + cadence.interval_us) & repeats(passes, cadence.step_us, due, since)
    first, stride, count = np.empty_like(due), cadence.interval_us.copy(), np.ones_like(due)
    alike, alone = np.flatnonzero(follows), np.flatnonzero(~follows)
    gaps, more = _gaits(kinds, kind_of[alike], length[alike], wait[alike], (since - begin)[alike])
    first[alike], stride[alike] = since[alike] + gaps, gaps
    ahead = (np.minimum(before, end)[alike] - 1 - first[alike]) // gaps
    count[alike] += np.minimum(more, np.maximum(ahead, 0))
    if alone.size:
        own = Cadence(*(column[alone] for column in cadence))
        first[alone] = next_beat(schedules.some(alone), own, due[alone], since[alone])
    return Sent(first, stride, count * (first < before))


def _gaits(
    kinds: Sequence[Cadence], kind_of: NDArray[np.intp], length: Times, wait: Times, elapsed: Times
) -> tuple[Times, Times]:
    """How long after the last the next follows, and how many more follow so (`Gait`). Shapes (m,)."""
    alike = list(zip(kind_of.tolist(), length.tolist(), wait.tolist(), strict=True))
    gaits = {one: gait(one[1], one[2], kinds[one[0]]) for one in set(alike)}
    places = (elapsed % length).tolist()
    found = [gaits[one][place] for one, place in zip(alike, places, strict=True)]
    gaps, more = np.fromiter(chain.from_iterable(found), np.int64, 2 * len(found)).reshape(-1, 2).T
    return gaps, more
