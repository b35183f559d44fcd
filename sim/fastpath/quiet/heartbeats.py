"""Heartbeats of quiet members, counted without being sent (`sim.client.polling.heartbeat_thread` has the rule)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.polling.heartbeat_thread import (
    Cadence,
    after_pause,
    first_wake,
    first_wakes,
    gait,
    next_beat,
    repeats,
)
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.fastpath.quiet.poll_schedules import PollSchedules, Times
from groupsim.sim.fastpath.quiet.trains import RecentTrain, Stretch, Train
from groupsim.sim.kernel.environment import Moment


@dataclass(slots=True)
class Heartbeats:
    """Heartbeats of a quiet member (`sim.client.polling.heartbeat_thread`).

    Parameters
    ----------
    train : RecentTrain
        ``due`` is when the next should be sent; it is when the thread notices (`next_beat`).
    cadence : Cadence
    since : int, microseconds
        When the step in hand of the heartbeat thread began.
    """

    train: RecentTrain
    cadence: Cadence
    since: int

    def send(self, schedule: PollSchedule | None, before: int) -> None:
        """Send those before ``before``."""
        opens, closes = self.train.measure
        if opens <= self.train.due and before <= closes:
            self._send(schedule, before)
            return
        for limit in (opens, closes + 1, before):
            self._send(schedule, min(limit, before))

    def _send(self, schedule: PollSchedule | None, before: int) -> None:
        """Send those before ``before``: all are measured, or none."""
        while self.train.due < before:
            passes = self._passes(schedule, self.train.due, self.since)
            goes_on = self._send_each(schedule, before) if passes is None else self._send_many(passes, before)
            if not goes_on:
                return

    def next(self, schedule: PollSchedule | None) -> int:
        """When the next is sent, microseconds."""
        passes = self._passes(schedule, self.train.due, self.since)
        if passes is None:
            sent: int = next_beat(schedule, self.cadence, self.train.due, self.since)
            return sent
        begin, _, length, wait = passes
        return self.since + gait(length, wait, self.cadence)[(self.since - begin) % length][0]

    def _passes(self, schedule: PollSchedule | None, due: int, since: int) -> tuple[int, int, int, int] | None:
        """The passes that the next one follows from, if these are alike: `PollSchedule.passes_from`."""
        interval_us, _, step_us = self.cadence
        if schedule is None or due != since + interval_us:
            return None
        passes = schedule.passes_from(since if since > schedule.start else schedule.start)
        return passes if passes is not None and repeats(passes, step_us, due, since) else None

    def _send_each(self, schedule: PollSchedule | None, before: int) -> bool:
        """Send those before ``before``, up to where passes are alike."""
        sent: list[Stretch] = []
        train, cadence = self.train, self.cadence
        interval, due, since = cadence.interval_us, train.due, self.since
        if schedule is None:
            more = (before - 1 - due) // interval
            sent.append((train.number, range(due, due + more * interval + 1, interval)))
        else:
            while (beat := next_beat(schedule, cadence, due, since)) < before:
                sent.append((train.number + len(sent), range(beat, beat + 1)))
                due, since = beat + interval, beat
                if self._passes(schedule, due, since) is not None:
                    break
        if not sent:
            return False
        train.extend(sent)
        self.since = train.due - interval
        return True

    def _send_many(self, passes: tuple[int, int, int, int], before: int) -> bool:
        """Send those before ``before`` that follow from such passes.

        Once one is sent at the same place of a pass as another was, all that came between repeats.
        """
        begin, end, length, wait = passes
        train, interval = self.train, self.cadence.interval_us
        latest, limit, gaps = end - length - interval, min(before, end), gait(length, wait, self.cadence)
        until = limit - train.keep_us - length - interval
        since, number = self.since, train.number
        sent: list[Stretch] = []
        known: dict[int, tuple[int, int]] = {}
        while since <= latest:
            place = (since - begin) % length
            gap, more = gaps[place]
            beat = since + gap
            if beat >= before:
                break
            if more:
                ahead = (limit - 1 - beat) // gap
                more = more if more < ahead else ahead
            elif beat < until:
                if place in known:
                    first, before_that = known[place]
                    if (rounds := (until - since) // (since - first)) > 0:
                        since, number = since + rounds * (since - first), number + rounds * (number - before_that)
                        known.clear()
                        continue
                else:
                    known[place] = (since, number)
            since = beat + more * gap
            sent.append((number, range(beat, since + 1, gap)))
            number += more + 1
        if not sent:
            return False
        train.extend(sent)
        self.since = since
        return True

    def pass_pause(self, schedule: PollSchedule | None, start: int, end: int) -> None:
        """Everything stands still from ``start`` to ``end``; those before ``start`` are sent."""
        step_us = self.cadence.step_us
        if schedule is not None:
            self.since, _ = first_wake(schedule, self.since, step_us, start)
        self.since = after_pause(self.since, start, end, step_us)
        self.train.due = max(self.train.due, end)

    def fork(self) -> Heartbeats:
        """The same, to go on by itself."""
        return type(self)(self.train.fork(), self.cadence, self.since)


class PunctualHeartbeats(Heartbeats):
    """Those of a member whose heartbeat thread does not wait for the application (consumer protocol)."""

    def send(self, schedule: PollSchedule | None, before: int) -> None:
        """Send those before ``before``."""
        super().send(None, before)

    def next(self, schedule: PollSchedule | None) -> int:
        """When the next is sent, microseconds."""
        return self.train.due

    def pass_pause(self, schedule: PollSchedule | None, start: int, end: int) -> None:
        """What is due from ``start`` on is not sent before ``end``."""
        self.train.due = max(self.train.due, end)


def heartbeats_before(
    members: Sequence[Heartbeats], schedules: Sequence[PollSchedule], keys: Sequence[int], moment: Moment
) -> tuple[list[Train], NDArray[np.int64]]:
    """Let each send the heartbeats before ``moment``: what it has sent then, and when it sends the next.

    ``keys``: where a heartbeat stands within an instant.
    """
    beats = np.empty(len(members), np.int64)
    for index, (one, schedule, key) in enumerate(zip(members, schedules, keys, strict=True)):
        one.send(schedule, moment[0] + (key < moment[1]))
        beats[index] = one.next(schedule)
    return [one.train for one in members], beats


def waiting_since(schedules: PollSchedules, since: Times, steps_us: Times, until: Times) -> Times:
    """`PollLoop.pass_steps` of many in closed form: when the step in hand of each began, each at its own time."""
    began, _ = first_wakes(schedules, since, steps_us, until)
    return began
