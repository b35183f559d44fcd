"""When the application is inside poll(): the poll loop of a consumer in closed form.

A pass through the loop is a wait inside poll() (for records, or for the fetch) followed by a batch of processing. While
the backlog is longer than a batch, passes are full: ``max.poll.records`` each. Once the member has caught up, a batch
is what was produced during the pass before, so passes settle at the length ``overhead / (1 - load)``. Both lengths are
constants from the last change (assignment, rate, cost, a thaw) on: so the n-th poll is arithmetic and no event.

With a random cost per record the passes are drawn (`sim.client.drawn_schedule`).

Polls run on a clock that stops in pauses: a pause shifts everything after it.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from groupsim.sim.elementwise import choose, least, most, nearest, whole
from groupsim.sim.model import Processing
from groupsim.sim.randomness import mean_of
from groupsim.sim.units import FOREVER

ENDLESS = 1_000_000_000
"""Full passes of a member that cannot keep up."""
NOT_INSIDE = -1
"""Instead of a time: the application is processing."""


class Load(NamedTuple):
    """What a member has to do, as its application sees it; of many members, as columns of shape (n,).

    Parameters
    ----------
    rate : float, records per microsecond
        Production of all partitions it owns.
    backlog : float, records
        Not yet processed at the start.
    """

    rate: Any
    backlog: Any


class Pace(NamedTuple):
    """Lengths of passes in microseconds, and the capacity that follows from them; of many, as columns of shape (n,).

    Parameters
    ----------
    full_us, steady_us : int
        Length of a pass while there is a backlog, and after that.
    full_wait_us, steady_wait_us : int
        The part of it spent inside poll().
    full_records, steady_records : float
        Records a pass.
    capacity : float, records per microsecond
        With passes as full as they can be, however little there is to do now.
    slowdown : float
        Factor on everything the application does that all this was worked out with.
    """

    full_us: Any
    full_wait_us: Any
    full_records: Any
    steady_us: Any
    steady_wait_us: Any
    steady_records: Any
    capacity: Any
    slowdown: Any


def pace(
    processing: Processing, most_records: Any, poll_us: int, load: Load, slowdown: Any, fetched: float = inf
) -> Pace:
    """How a member paces its polls; or many that process alike, each as if it were alone.

    Parameters
    ----------
    processing : Processing
    most_records : int, or int64 array of shape (n,)
        What one poll() can return: ``max.poll.records``, or what the fetches hold if that is less.
    poll_us : int, microseconds
        Cost of a pass through poll() itself.
    load : Load
    slowdown : float, or float64 array of shape (n,)
        Factor on everything the application does.
    fetched : float, records per microsecond
        No more can be fetched: a pass waits inside poll() until its records are there.
    """
    rate, timeout = load.rate, processing.poll_timeout_us
    cost = mean_of(processing.per_record) * slowdown + processing.record_wait_us
    each = per_batch_us(processing, most_records * cost, slowdown)
    fixed = poll_us + each
    busiest = most(nearest(fixed + most_records * cost), 1)
    longest = most(busiest, nearest(most_records / fetched))
    fewest = least(most_records, most(nearest(load.backlog), 1))
    records = choose(rate * longest >= most_records, most_records, fewest)
    busy = most(nearest(fixed + records * cost), 1)
    full = most(busy, nearest(records / fetched))
    is_idle, spare = rate * timeout < 1, 1 - rate * cost
    # Idle members and those that cannot keep up have no such length; what they divide by does not matter.
    needed = most(most(fixed / choose(spare > 0, spare, 1.0), fixed + cost), 1 / choose(rate > 0, rate, 1.0))
    length = most(nearest(choose(spare <= 0, longest, least(longest, needed))), 1)
    batch = nearest(each + rate * length * cost)
    wait = least(choose(length < longest, most(length - batch, 0), poll_us + longest - busiest), length)
    steady = choose(is_idle, timeout, length)
    return Pace(
        full,
        poll_us + full - busy,
        records,
        steady,
        choose(is_idle, timeout, wait),
        rate * steady,
        most_records / longest,
        slowdown,
    )


def per_batch_us(processing: Processing, records_us: Any, slowdown: Any) -> Any:
    """What a batch costs beside its records, which take ``records_us`` if it is full, microseconds.

    Who waits for a commit by a clock of its own waits after one batch of many: each has its share of that.
    """
    own, every_us = processing.per_poll_us * slowdown, processing.commit_every_us
    batch_us = most(own + records_us, 1)
    return own + processing.batch_wait_us * (batch_us / most(batch_us, every_us) if every_us else 1)


class PollSchedule:
    """Polls from a start on: ``full_passes`` full ones, then steady ones for ever.

    Of one member, or of many, whose times are columns of one shape, as are all answers then. What is said of one time
    is written without branches for that.

    Parameters
    ----------
    start : int, microseconds
        The first poll.
    pace : Pace
    load : Load
    before : int or None, microseconds
        The last pass through poll()'s own loop before that (`last_pass`), if there was one.
    held_until : int, microseconds
        The pass before that is inside poll() until then, if it still is.
    fetch_us : int, microseconds
        So often a wait inside poll() is interrupted: by the answer to a fetch (``fetch.max.wait.ms``), or to look
        around (`PollLoop.interrupted_us`).
    """

    __slots__ = (
        "before",
        "fetch_us",
        "full_passes",
        "full_us",
        "full_wait_us",
        "held_until",
        "slowdown",
        "start",
        "steady_us",
        "steady_wait_us",
    )

    def __init__(
        self, start: Any, pace: Pace, load: Load, before: Any = None, held_until: Any = NOT_INSIDE,
        fetch_us: int = FOREVER,
    ) -> None:  # fmt: skip
        self.start = start
        self.before = before
        self.held_until = held_until
        self.fetch_us = fetch_us
        self.slowdown = pace.slowdown
        self.full_us, self.full_wait_us = pace.full_us, pace.full_wait_us
        self.steady_us, self.steady_wait_us = pace.steady_us, pace.steady_wait_us
        self.full_passes = full_passes(pace, load)

    @classmethod
    def of_columns(
        cls, start: Any, full_passes: Any, full_us: Any, full_wait_us: Any, steady_us: Any, steady_wait_us: Any,
        slowdown: Any, before: Any, held_until: Any, fetch_us: int = FOREVER,
    ) -> PollSchedule:  # fmt: skip
        """Polls in closed form, whose passes are known."""
        schedule = cls.__new__(cls)
        schedule.start, schedule.before = start, before
        schedule.held_until, schedule.slowdown, schedule.fetch_us = held_until, slowdown, fetch_us
        schedule.full_us, schedule.full_wait_us = full_us, full_wait_us
        schedule.steady_us, schedule.steady_wait_us = steady_us, steady_wait_us
        schedule.full_passes = full_passes
        return schedule

    def shift(self, at: int, by_us: int) -> None:
        """The clock of the application stops at ``at`` for ``by_us``: every poll from then on is that much later.

        Whoever stood still inside poll() is still inside when the clock goes on.
        """
        held_until, upcoming = self.inside_until(at), self.next_poll(at)
        self.before = self.last_pass(at - 1)
        self.held_until = held_until + by_us if held_until != NOT_INSIDE else NOT_INSIDE
        self._restart_at(upcoming)
        self.start = upcoming + by_us

    def use_up(self, at: int, by_us: int) -> None:
        """Something in the pass under way takes ``by_us`` from ``at`` on: the next poll waits for it, no longer."""
        held_until, upcoming = self.inside_until(at), self.next_poll(at)
        self.before = self.last_pass(at)
        self.held_until = max(held_until, at + by_us)
        self._restart_at(upcoming)
        self.start = max(upcoming, at + by_us)

    def answer(self, at: int) -> None:
        """Records come at ``at``: a poll() that waits for some, without a backlog, returns with them.

        So a pass begins there that has something to process.
        """
        begin, wait, _ = self._pass_at(max(at, self.start))
        if self.start <= at <= begin + wait and wait == self.steady_wait_us:
            self.before, self.held_until = self.last_pass(at), at
            self._restart_at(self.next_poll(at))
            self.start = at

    def _restart_at(self, upcoming: int) -> None:
        """Forget the passes before the poll ``upcoming``."""
        switch = self.start + self.full_passes * self.full_us
        self.full_passes -= (min(upcoming, switch) - self.start) // self.full_us

    def _pass_at(self, time: Any) -> tuple[Any, Any, Any]:
        """Begin, wait and length of the pass under way at ``time`` (at least ``start``)."""
        switch = self.start + self.full_passes * self.full_us
        is_full = time < switch
        since = switch - is_full * (switch - self.start)
        length = self.steady_us + is_full * (self.full_us - self.steady_us)
        wait = self.steady_wait_us + is_full * (self.full_wait_us - self.steady_wait_us)
        return since + (time - since) // length * length, wait, length

    def passes(self, begin: int, until: int, most: int) -> tuple[Any, Any, Any]:
        """Passes of one kind, from the one that begins at ``begin`` on, that begin before ``until``; ``most`` at most.

        Returns
        -------
        begins, returns, ends : int64 arrays, shape (n,), microseconds
            ``returns``: when the application leaves poll().
        """
        _, wait, length = self._pass_at(begin)
        switch = self.start + self.full_passes * self.full_us
        end = min(until, switch) if begin < switch else until
        begins = begin + length * np.arange(min(-(-(end - begin) // length), most))
        return begins, begins + wait, begins + length

    def costs(self, begins: Any, usual_us: float) -> Any:
        """What a record costs in passes that begin then, shape (n,); ``usual_us``: on average, undisturbed."""
        return np.full(len(begins), round(usual_us * self.slowdown), np.int64)

    def last_pass(self, time: Any) -> Any:
        """When the last pass through poll()'s own loop began, at or before ``time``; None if there was none yet.

        While poll() waits, the answer to each fetch, ``fetch.max.wait.ms`` after the last, begins another pass, and
        each tells the heartbeat thread that the application lives (``ConsumerCoordinator.poll``, ``pollHeartbeat``,
        from ``ClassicKafkaConsumer.poll``, Kafka 4.4).
        """
        begin, wait, _ = self._pass_at(most(time, self.start))
        is_later = time >= self.start
        inside = choose(is_later, begin + wait, self.held_until)
        begin = choose(is_later, begin, self.before)
        if begin is None:
            return None
        every_us = max(self.fetch_us, 1)  # fetch.max.wait.ms=0: answers come all the time
        return begin + (inside > begin) * ((least(time, inside) - begin) // every_us * every_us)

    def next_poll(self, time: Any) -> Any:
        """The first poll at or after ``time``."""
        at = self.start + (time > self.start) * (time - self.start)
        begin, _, length = self._pass_at(at)
        return begin + (begin != at) * length

    def next_poll_with(self, slowdown: float, time: Any) -> Any:
        """The first poll at or after ``time`` if the rest of the batch in hand costs as ``slowdown`` says."""
        upcoming = self.next_poll(time)
        if slowdown == self.slowdown:
            return upcoming
        since = most(time, self.inside_until(time))
        return since + nearest((upcoming - since) * slowdown / self.slowdown)

    def hand_over(self, now: Any, slowdown: float, at: Any) -> tuple[Any, Any, Any]:
        """What a schedule that replaces this one at ``now`` begins with: start, ``before`` and ``held_until``.

        The thread goes on with the batch in hand at ``at``, and the rest of that costs as ``slowdown`` says.
        """
        return self.next_poll_with(slowdown, at), self.last_pass(now), self.inside_until(now)

    def inside_until(self, time: Any) -> Any:
        """Until when the pass that began before ``time`` stays inside poll(); `NOT_INSIDE` if it no longer is."""
        begin, wait, _ = self._pass_at(most(time - 1, self.start))
        until = choose(time > self.start, begin + wait, self.held_until)
        return choose(until >= time, until, NOT_INSIDE)

    def reaction(self, time: Any) -> Any:
        """The first instant at or after ``time`` at which the application is inside poll()."""
        is_under_way = time > self.start
        at = self.start + is_under_way * (time - self.start)
        begin, wait, length = self._pass_at(at)
        until = self.held_until + is_under_way * (begin + wait - self.held_until)
        upcoming = begin + (begin != at) * length
        return upcoming - (time <= until) * (upcoming - time)

    def next_pass(self, time: int, spacing_us: int) -> int:
        """The first instant at or after ``time`` at which poll() begins, or looks around while it waits.

        Once the backlog is gone a poll() returns with the next record at the earliest: they come ``spacing_us`` apart.
        """
        switch = self.start + self.full_passes * self.full_us
        if time < self.start:
            begin, until, following = self.before, self.held_until, self.start
        elif time >= switch and spacing_us > self.steady_us:
            begin = switch + (time - switch) // spacing_us * spacing_us
            until = following = begin + spacing_us
        else:
            begin, wait, length = self._pass_at(time)
            until, following = begin + wait, begin + length
        every_us = max(self.fetch_us, 1)
        looks = FOREVER if begin is None else begin + -(-(time - begin) // every_us) * every_us
        return looks if looks <= until else following

    def end_of_wait(self, time: int) -> int:
        """When the wait inside poll() that is under way at ``time`` ends; ``time``: the application processes."""
        if time < self.start:
            return max(time, int(self.held_until))
        begin, wait, _ = self._pass_at(time)
        return max(time, int(begin + wait))

    def passes_from(self, time: int) -> tuple[int, int, int, int] | None:
        """Begin and end of the stretch around ``time`` in which all passes are alike, their length, the wait in each.

        None: they are not.
        """
        switch = self.start + self.full_passes * self.full_us
        if time < self.start:
            return None
        if time < switch:
            return self.start, switch, self.full_us, self.full_wait_us
        return switch, FOREVER, self.steady_us, self.steady_wait_us

    def train(self, poll: Any, interval: Any, before: Any) -> tuple[Any, Any]:
        """Polls that act every ``interval``: how many after ``poll`` keep a constant stride, and the stride.

        ``poll`` must be a poll; each later one of the train is the first poll at or after its predecessor plus
        ``interval``. Only polls before ``before`` (microseconds) and within one kind of pass are counted.
        """
        switch = self.start + self.full_passes * self.full_us
        is_full = poll < switch
        length = self.steady_us + is_full * (self.full_us - self.steady_us)
        end = before - (is_full & (switch < before)) * (before - switch)
        stride = -(-interval // length) * length
        return most((end - 1 - poll) // stride, 0), stride

    @property
    def shortest_us(self) -> Any:
        """Shortest pass, microseconds."""
        is_shorter = (self.full_passes > 0) & (self.full_us < self.steady_us)
        return self.steady_us - is_shorter * (self.steady_us - self.full_us)

    def shortest_from(self, time: int) -> int:
        """No pass from ``time`` on is shorter, microseconds; of one member."""
        return int(self.shortest_us)

    @property
    def longest_us(self) -> Any:
        """Longest pass, microseconds."""
        is_longer = (self.full_passes > 0) & (self.full_us > self.steady_us)
        return self.steady_us + is_longer * (self.full_us - self.steady_us)


def full_passes(pace: Pace, load: Load) -> Any:
    """Full passes until the backlog is gone; `ENDLESS` if the member cannot keep up."""
    spare, backlog = pace.capacity - load.rate, load.backlog
    needed = whole(least(backlog / choose(spare > 0, spare, 1.0) / pace.full_us, float(ENDLESS))) + 1
    # What is produced comes in parts of records; where nothing comes, one record that waits takes a pass of its own.
    has_caught_up = backlog <= choose(load.rate > 0, most(pace.steady_records, 1.0), 0.0)
    return choose(spare <= 0, ENDLESS, choose(has_caught_up, 0, least(needed, ENDLESS)))
