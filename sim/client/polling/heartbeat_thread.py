"""When the heartbeat thread wakes: the rule that lets heartbeats of busy members drift apart, in closed form.

The thread waits in steps of ``retry.backoff.ms`` and sends a heartbeat when it wakes and one is due; a pass through
poll() wakes it if one is (``AbstractCoordinator.HeartbeatThread.run``, ``pollHeartbeat``, Kafka 4.4). While the
application waits inside poll(), it holds the network client's lock (``ConsumerNetworkClient.poll``), which the thread
needs at every wake: a step that ends then ends with the wait, and the next one counts from there. So

* a heartbeat that falls due while the application is inside poll() goes out on time: the wait for records ends there;
* one that falls due while it processes goes out at the thread's next step, or at the next poll, whichever is first.

How late that is follows from the polls alone. Every heartbeat begins a new step, so that the next one depends on when
the last was sent, and on nothing before it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.config import ClientConfig, Timing
from groupsim.sim.elementwise import choose, least, most, some
from groupsim.sim.units import FOREVER

Times = NDArray[np.int64]
_KEPT = 1 << 16


class Cadence(NamedTuple):
    """How often the heartbeat thread of a client acts, microseconds; of many, as columns of shape (n,).

    Parameters
    ----------
    interval_us : int
        From one heartbeat to the next, if that is on time.
    late_us : int
        Part of it: by how much it exceeds heartbeat.interval.ms.
    step_us : int
        The longest wait of the thread; `FOREVER`: until it is woken (``wait(0)``).
    """

    interval_us: Any
    late_us: Any
    step_us: Any

    @classmethod
    def of(cls, config: ClientConfig, timing: Timing) -> Cadence:
        """Of one client."""
        step_us = config.retry_backoff_us + timing.wait_late_us if config.retry_backoff_us else FOREVER
        return cls(config.heartbeat_interval_us + timing.heartbeat_late_us, timing.heartbeat_late_us, step_us)


def next_beat(schedule: Any, cadence: Cadence, due: Any, since: Any) -> Any:
    """When the heartbeat that is due at ``due`` is sent; the step in hand began at ``since``; microseconds.

    Of one member, or of many in closed form, as columns of shape (n,), with columns as their ``cadence`` too.
    ``schedule`` None: the application waits inside poll() all the time.
    """
    if schedule is None:
        return due
    ready = due - cadence.late_us
    inside = schedule.reaction(ready)
    if not some(inside > due):
        return due
    find = first_wakes if isinstance(due, np.ndarray) else first_wake
    _, wake = find(schedule, since, cadence.step_us, ready)
    return choose(inside <= due, due, most(due, least(inside, wake)))


def repeats(passes: Any, step_us: Any, due: Any, since: Any) -> Any:
    """Whether a heartbeat follows from passes that are alike (`PollSchedule.passes_from`); of one member, or of many.

    Before the first pass nothing may happen to the step in hand, which began at ``since``, nor may it seem to be inside
    the pass before.
    """
    begin, end, length, wait = passes
    return (since > begin - step_us) & (since > begin - (length - wait)) & (due + length <= end)


class Gait(dict[int, tuple[int, int]]):
    """Heartbeats of a member whose passes are all alike: when one follows the last, by where in a pass that was.

    Of one that was sent so long after a pass began: how long after it the next follows, and how many more follow so
    after that, at least. Worked out when asked for.

    Parameters
    ----------
    length, wait : int, microseconds
        Of a pass, and of the wait inside poll() at its beginning.
    cadence : Cadence
    """

    def __init__(self, length: int, wait: int, cadence: Cadence) -> None:
        super().__init__()
        self._length, self._wait, self._cadence = length, wait, cadence
        interval, late_us, step_us = cadence
        ahead = interval - late_us
        self._steps = -(-ahead // step_us)
        """Of the thread, to the next heartbeat that is sent at one of them."""
        self._gap = gap = self._steps * step_us
        self._early = early = max(gap - ahead, 1) - 1
        """By how much such a heartbeat is ready before that."""
        self._goes_by_steps = gap >= interval and early + wait + 1 < length

    def __missing__(self, place: int) -> tuple[int, int]:
        if len(self) >= _KEPT:
            self.clear()
        found = self[place] = self._by_steps(place) or self._alone(place)
        return found

    def _by_steps(self, place: int) -> tuple[int, int] | None:
        """The next, if it is sent at a step of the thread, and no step before that ends inside poll().

        Then the steps go on as if nothing had been sent, and so do the heartbeats: until a step ends inside poll(), or
        the application is there when one is ready, or comes back before the step ends.
        """
        if not self._goes_by_steps:
            return None
        wait, gap, early, (interval, late_us, step_us) = self._wait, self._gap, self._early, self._cadence
        count = self._first(place + step_us, step_us, wait) // self._steps
        if count:
            count = min(count, self._first(place + interval - late_us + early, gap, early + wait + 1))
        return (gap, count - 1) if count else None

    def _alone(self, place: int) -> tuple[int, int]:
        """The next, whatever happens on the way."""
        length, (interval, late_us, step_us) = self._length, self._cadence
        ahead = interval - late_us
        ready = (place + ahead) % length
        if ready <= self._wait:
            return interval, self._on_time(ready)
        wake = _wake(length, self._wait, step_us, place, ahead)[1] if step_us < FOREVER else FOREVER
        return max(interval, min(ahead + length - ready, wake)), 0

    def _on_time(self, ready: int) -> int:
        """How many more are ready inside poll(), one after the other."""
        busy = self._length - 1 - self._wait
        if busy <= 0:
            return FOREVER
        return self._first(ready + self._cadence.interval_us - self._wait - 1, self._cadence.interval_us, busy)

    def _first(self, place: int, stride: int, width: int) -> int:
        """The least n >= 0 for which ``n * stride`` after ``place`` is within ``width`` after a pass began."""
        length = self._length
        place %= length
        if place < width:
            return 0
        return first_within(stride % length, length, length - place, length - place + width - 1) if width else FOREVER


@lru_cache(1024)
def gait(length: int, wait: int, cadence: Cadence) -> Gait:
    """The one of these passes: members that pace their polls alike share it."""
    return Gait(length, wait, cadence)


def first_within(stride: int, modulus: int, low: int, high: int) -> int:
    """The least n >= 0 with n * stride in [low, high] modulo ``modulus``; `FOREVER`: none.

    0 <= low <= high < modulus, 0 <= stride < modulus. By Euclid's steps: what is left of the modulus takes the place of
    the stride, and either is at most half of the one before.
    """
    if low == 0:
        return 0
    if stride == 0:
        return FOREVER
    if 2 * stride > modulus:
        return first_within(modulus - stride, modulus, modulus - high, modulus - low)
    first = -(-low // stride)
    if first * stride <= high:
        return first
    turns = first_within(modulus % stride, stride, -high % stride, -low % stride)
    return FOREVER if turns >= FOREVER else -(-(low + turns * modulus) // stride)


def first_wake(schedule: PollSchedule, since: int, step_us: int, time: int) -> tuple[int, int]:
    """The first wake at or after ``time``, and when the wait began that it ends; since ``since`` nothing woke it."""
    if step_us >= FOREVER:
        return since, FOREVER
    start = schedule.start
    while since < start:
        wake = schedule.end_of_wait(since + step_us)
        if wake >= time:
            return since, wake
        since = wake
    if isinstance(schedule, DrawnPollSchedule):
        return _wake_by_pass(schedule, since, step_us, max(time, since + 1))
    return _wake_by_stretch(schedule, since, step_us, time)


def first_wakes(schedule: Any, since: Times, step_us: Times, time: Times) -> tuple[Times, Times]:
    """`first_wake` of many, whose passes are in closed form."""
    begun = since
    while True:
        ahead = most((time - begun - 1) // step_us, 0)
        begun = begun + least(schedule.steps_between_polls(begun, step_us), ahead) * step_us
        wake = schedule.end_of_wait(begun + step_us)
        is_early = wake < time
        if not is_early.any():
            return begun, wake
        begun = np.where(is_early, wake, begun)


def _wake_by_stretch(schedule: PollSchedule, since: int, step_us: int, time: int) -> tuple[int, int]:
    """`first_wake` where passes are in closed form: from one stretch of passes that are alike to the next."""
    begin, end, length, wait = _stretch_at(schedule, since)
    while True:
        ahead = (time if time < end - step_us else end - step_us) - since
        if ahead > 0:
            begun, after = _wake(length, wait, step_us, (since - begin) % length, ahead)
            if since + after >= time:
                return since + begun, since + after
            since += after
        # The next step ends in another stretch, or at ``time`` at the earliest.
        over = since + step_us
        if over >= end:
            begin, end, length, wait = _stretch_at(schedule, over)
        place = (over - begin) % length
        wake = over + wait - place if place < wait else over
        if wake >= time:
            return since, wake
        since = wake
        if since >= end:
            begin, end, length, wait = _stretch_at(schedule, since)


def _stretch_at(schedule: PollSchedule, time: int) -> tuple[int, int, int, int]:
    """`PollSchedule.passes_from`, of polls in closed form that have begun by then."""
    passes = schedule.passes_from(time)
    assert passes is not None
    return passes


def _wake_by_pass(schedule: DrawnPollSchedule, since: int, step_us: int, time: int) -> tuple[int, int]:
    """`first_wake`, whatever the passes are, one after the other."""
    wake = since - (since - time) // step_us * step_us
    for begin, left in schedule.waits(since, time + step_us):
        if begin > wake:
            break
        ends = since + step_us if begin <= since else begin + (since - begin) % step_us
        if ends < left:
            if left >= time:
                return ends - step_us, left
            since = left
            wake = since - (since - time) // step_us * step_us
    return wake - step_us, wake


def _wake(length: int, wait: int, step_us: int, place: int, ahead: int) -> tuple[int, int]:
    """`first_wake` among passes of one length, ``ahead`` after a wake at ``place``: from that wake on."""
    begun = 0
    while True:
        if place >= wait and (steps := (length - 1 - place) // step_us) > 0:
            # These end before the next poll begins.
            needed = -(-(ahead - begun) // step_us)
            if needed <= steps:
                return begun + (needed - 1) * step_us, begun + needed * step_us
            begun, place = begun + steps * step_us, place + steps * step_us
        wake, place = begun + step_us, (place + step_us) % length
        if place < wait:
            wake, place = wake + wait - place, wait
        if wake >= ahead:
            return begun, wake
        begun = wake


def after_pause(since: int, start: int, end: int, step_us: int) -> int:
    """When the step in hand began, if everything stood still meanwhile: one that was over by ``end`` ends there."""
    return end - step_us if start <= since + step_us < end else since


def after_wait(since: Any, end: Any, step_us: Any) -> Any:
    """When the step in hand began, after a wait inside poll() until ``end``; of many, as columns."""
    return choose(since + step_us <= end, end, since)
