"""When the application is inside poll(): the poll loop of a consumer in closed form.

A pass through the loop is a wait inside poll() (for records, or for the fetch) followed by a batch of processing.
While the backlog is longer than a batch, passes are full: ``max.poll.records`` each. Then a batch is what was
produced during the pass before, so passes shrink (`sim.client.polling.settling`) until they settle at the length
``overhead / (1 - load)``. All lengths are known from the last change (assignment, rate, cost, a thaw) on: so the n-th
poll is arithmetic and no event.

With a random cost per record the passes are drawn (`sim.client.polling.drawn_schedule`).

Polls run on a clock that stops in pauses: a pause shifts everything after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from groupsim.sim.client.polling.pace import Load, Pace, catching_up
from groupsim.sim.client.polling.poll_events import PollEvents
from groupsim.sim.elementwise import choose, least, most, nearest, some
from groupsim.sim.units import FOREVER

NOT_INSIDE = -1
"""Instead of a time: the application is processing."""


class PollSchedule:
    """Polls from a start on: ``full_passes`` full ones, those in which it settles, then steady ones for ever.

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

    Attributes
    ----------
    events : PollEvents or None
        Of a member whose background thread hears of passes by events; of one member alone.
    """

    __slots__ = (
        "_settled",
        "_switch",
        "before",
        "events",
        "fetch_us",
        "full_passes",
        "full_us",
        "full_wait_us",
        "held_until",
        "settling",
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
        self.events: PollEvents | None = None
        self.slowdown = pace.slowdown
        self.full_us, self.full_wait_us = pace.full_us, pace.full_wait_us
        self.steady_us, self.steady_wait_us = pace.steady_us, pace.steady_wait_us
        self.full_passes, self.settling = catching_up(pace, load)
        self._note_kinds()

    @classmethod
    def of_columns(
        cls, start: Any, full_passes: Any, full_us: Any, full_wait_us: Any, steady_us: Any, steady_wait_us: Any,
        slowdown: Any, before: Any, held_until: Any, fetch_us: int = FOREVER, settling: Any = None,
    ) -> PollSchedule:  # fmt: skip
        """Polls in closed form, whose passes are known."""
        schedule = cls.__new__(cls)
        schedule.events = None
        schedule.start, schedule.before = start, before
        schedule.held_until, schedule.slowdown, schedule.fetch_us = held_until, slowdown, fetch_us
        schedule.full_us, schedule.full_wait_us = full_us, full_wait_us
        schedule.steady_us, schedule.steady_wait_us = steady_us, steady_wait_us
        schedule.full_passes, schedule.settling = full_passes, settling
        schedule._note_kinds()
        return schedule

    def _note_kinds(self) -> None:
        """When the last full pass is over, and from when on passes are alike for ever."""
        self._switch = self.start + self.full_passes * self.full_us
        self._settled = self._switch + (self.settling.span_us if self.settling is not None else 0)

    def shift(self, at: int, by_us: int) -> None:
        """The clock of the application stops at ``at`` for ``by_us``: every poll from then on is that much later.

        Whoever stood still inside poll() is still inside when the clock goes on.
        """
        held_until, upcoming = self.inside_until(at), self.next_poll(at)
        self.before = self.last_pass(at - 1)
        self.held_until = held_until + by_us if held_until != NOT_INSIDE else NOT_INSIDE
        self._go_on(upcoming, upcoming + by_us)

    def stay_away(self, at: int, by_us: int) -> None:
        """The application does something else from ``at`` on for ``by_us``: who waited inside poll() polls then."""
        if self.inside_until(at) == NOT_INSIDE:
            self.shift(at, by_us)
            return
        self.before, self.held_until = self.last_pass(at - 1), NOT_INSIDE
        self._go_on(self.next_poll(at), at + by_us)

    def use_up(self, at: int, by_us: int) -> None:
        """Something in the pass under way takes ``by_us`` from ``at`` on: the next poll waits for it, no longer."""
        held_until, upcoming = self.inside_until(at), self.next_poll(at)
        self.before = self.last_pass(at)
        self.held_until = max(held_until, at + by_us)
        self._go_on(upcoming, max(upcoming, at + by_us))

    def answer(self, at: int) -> bool:
        """Records have come: whether a poll() begins at ``at``, or waits without a backlog, and returns them.

        A pass begins there then, that has something to process.
        """
        begin, wait, _ = self.pass_at(max(at, self.start))
        waits_until = self.held_until if at < self.start else begin + wait * (wait == self.steady_wait_us)
        if at > waits_until:
            return False
        self.before, self.held_until = self.last_pass(at), at
        self._go_on(self.next_poll(at), at)
        if self.events is not None:
            self.events.refers = False  # what returns now was heard of when it began to wait
        return True

    def _go_on(self, upcoming: int, start: int) -> None:
        """Go on at ``start`` with the pass that was to begin at ``upcoming``."""
        if self.events is not None:
            self.events.go_on_from(upcoming)
        self._restart_at(upcoming)
        self.start = start
        self._note_kinds()

    def _restart_at(self, upcoming: int) -> None:
        """Forget the passes before the poll ``upcoming``."""
        switch = self._switch
        if upcoming > switch and self.settling is not None:
            self.settling = self.settling.after(upcoming - switch)
        self.full_passes -= (min(upcoming, switch) - self.start) // self.full_us

    def pass_at(self, time: Any) -> tuple[Any, Any, Any]:
        """Begin, wait and length of the pass under way at ``time`` (at least ``start``)."""
        settled, length = self._settled, self.steady_us
        if (time >= settled) is True:  # one member's, as most often
            return settled + (time - settled) // length * length, self.steady_wait_us, length
        switch, settling = self._switch, self.settling
        is_full = time < switch
        since = settled - is_full * (settled - self.start)
        length = length + is_full * (self.full_us - length)
        wait = self.steady_wait_us + is_full * (self.full_wait_us - self.steady_wait_us)
        begin = since + (time - since) // length * length
        is_settling = (time >= switch) & (time < settled)
        if settling is None or not some(is_settling):
            return begin, wait, length
        begins, waits, lengths = settling.pass_at(time - switch)
        return (
            choose(is_settling, switch + begins, begin),
            choose(is_settling, waits, wait),
            choose(is_settling, lengths, length),
        )

    @property
    def heard(self) -> PollSchedule | PollEvents:
        """The polls that the background thread hears of: each, where there are no events."""
        return self if self.events is None else self.events

    @property
    def commits(self) -> PollSchedule | PollEvents:
        """The polls at which the member commits: those that are heard, if it commits by itself."""
        return self.events if self.events is not None and self.events.carry_commits else self

    def passes_before(self, begin: int) -> Iterator[tuple[int, int, bool]]:
        """How many that are alike come before the pass at ``begin``, the wait, whether they are the settled ones."""
        yield (min(begin, self._switch) - self.start) // self.full_us, self.full_wait_us, False
        if self.settling is not None:
            yield from ((1, wait, False) for wait in self.settling.waits_before(begin - self._switch))
        yield max(begin - self._settled, 0) // self.steady_us, self.steady_wait_us, True

    def is_settled(self, time: int) -> bool:
        """Whether all passes from ``time`` on are alike."""
        return bool(time >= self._settled)

    def _end_of_kind(self, begin: Any, length: Any) -> Any:
        """Until when passes are alike from the one on that begins then and is so long; `FOREVER`: for ever."""
        switch = self._switch
        return choose(begin < switch, switch, choose(begin < self._settled, begin + length, FOREVER))

    def passes(self, begin: int, until: int, most: int) -> tuple[Any, Any, Any]:
        """Passes of one kind, from the one that begins at ``begin`` on, that begin before ``until``; ``most`` at most.

        Returns
        -------
        begins, returns, ends : int64 arrays, shape (n,), microseconds
            ``returns``: when the application leaves poll().
        """
        _, wait, length = self.pass_at(begin)
        end = min(until, self._end_of_kind(begin, length))
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
        begin, wait, _ = self.pass_at(most(time, self.start))
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
        begin, _, length = self.pass_at(at)
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

        The thread goes on with the batch in hand at ``at``, and the rest of that costs as ``slowdown`` says. Where its
        clock has stopped before ``now``, no pass of this schedule has begun since.
        """
        known = least(now, at)
        return self.next_poll_with(slowdown, at), self.last_pass(known), self.inside_until(known)

    def inside_until(self, time: Any) -> Any:
        """Until when the pass that began before ``time`` stays inside poll(); `NOT_INSIDE` if it no longer is."""
        begin, wait, _ = self.pass_at(most(time - 1, self.start))
        until = choose(time > self.start, begin + wait, self.held_until)
        return choose(until >= time, until, NOT_INSIDE)

    def reaction(self, time: Any) -> Any:
        """The first instant at or after ``time`` at which the application is inside poll()."""
        is_under_way = time > self.start
        at = self.start + is_under_way * (time - self.start)
        begin, wait, length = self.pass_at(at)
        until = self.held_until + is_under_way * (begin + wait - self.held_until)
        upcoming = begin + (begin != at) * length
        return upcoming - (time <= until) * (upcoming - time)

    def next_pass(self, time: int, spacing_us: int) -> int:
        """The first instant at or after ``time`` at which poll() begins, or looks around while it waits.

        Once the backlog is gone a poll() returns with the next record at the earliest: they come ``spacing_us`` apart.
        """
        settled = self._settled
        if time < self.start:
            begin, until, following = self.before, self.held_until, self.start
        elif time >= settled and spacing_us > self.steady_us:
            begin = settled + (time - settled) // spacing_us * spacing_us
            until = following = begin + spacing_us
        else:
            begin, wait, length = self.pass_at(time)
            until, following = begin + wait, begin + length
        every_us = max(self.fetch_us, 1)
        looks = FOREVER if begin is None else begin + -(-(time - begin) // every_us) * every_us
        return looks if looks <= until else following

    def end_of_wait(self, time: Any) -> Any:
        """When the wait inside poll() that is under way at ``time`` ends; ``time``: the application processes."""
        begin, wait, _ = self.pass_at(most(time, self.start))
        return most(time, choose(time < self.start, self.held_until, begin + wait))

    def steps_between_polls(self, time: Any, step_us: Any) -> Any:
        """How many steps of so long from ``time`` on end while the application processes the batch in hand."""
        begin, wait, length = self.pass_at(most(time, self.start))
        is_processing = (time >= self.start) & (time >= begin + wait)
        return is_processing * most((begin + length - 1 - time) // step_us, 0)

    def passes_from(self, time: int) -> tuple[int, int, int, int] | None:
        """Begin and end of the stretch around ``time`` in which all passes are alike, their length, the wait in each.

        None: they are not.
        """
        if time < self.start:
            return None
        switch, settling = self._switch, self.settling
        if time < switch:
            return self.start, switch, self.full_us, self.full_wait_us
        if settling is None or time >= switch + settling.span_us:
            return self._settled, FOREVER, self.steady_us, self.steady_wait_us
        begin, wait, length = settling.pass_at(time - switch)
        return switch + begin, switch + begin + length, length, wait

    def train(self, poll: Any, interval: Any, before: Any) -> tuple[Any, Any]:
        """Polls that act every ``interval``: how many after ``poll`` keep a constant stride, and the stride.

        ``poll`` must be a poll; each later one of the train is the first poll at or after its predecessor plus
        ``interval``. Only polls before ``before`` (microseconds) and within one kind of pass are counted.
        """
        _, _, length = self.pass_at(poll)
        end = least(before, self._end_of_kind(poll, length))
        stride = -(-interval // length) * length
        return most((end - 1 - poll) // stride, 0), stride

    @property
    def shortest_us(self) -> Any:
        """Shortest pass, microseconds."""
        is_shorter = (self.full_passes > 0) & (self.full_us < self.steady_us)
        shortest = self.steady_us - is_shorter * (self.steady_us - self.full_us)
        return shortest if self.settling is None else least(shortest, self.settling.shortest_us)

    def shortest_from(self, time: int) -> int:
        """No pass from ``time`` on is shorter, microseconds; of one member."""
        return int(self.shortest_us)

    @property
    def longest_us(self) -> Any:
        """Longest pass, microseconds."""
        is_longer = (self.full_passes > 0) & (self.full_us > self.steady_us)
        longest = self.steady_us + is_longer * (self.full_us - self.steady_us)
        return longest if self.settling is None else most(longest, self.settling.longest_us)
