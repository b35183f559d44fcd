"""Where the application thread is: inside poll(), processing, at a job, or hanging.

Its polls are a closed form (`sim.client.poll_schedule`). A job is a stretch of time with an end that somebody waits
for: a rebalance listener, or the assignor of the leader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.poll_schedule import PollSchedule
from groupsim.sim.kernel.environment import Kind, Occurrence, deadline_key
from groupsim.sim.units import FOREVER


@dataclass(slots=True)
class Job:
    """What keeps the application thread away from poll(). Times in microseconds."""

    since: int
    due: int
    done: Callable[[int], None]
    holds_monitor: bool
    occurrence: Occurrence


class PollLoop:
    """The application thread of one client.

    Parameters
    ----------
    client : Incarnation

    Attributes
    ----------
    schedule : PollSchedule or None
        Its polls, while it has partitions; without any it waits inside poll() all the time.
    stuck_until : int, microseconds
        End of the last hang.
    """

    def __init__(self, client: Incarnation) -> None:
        self._client = client
        self._machine = client.machine
        self._is_loud = client.world.is_loud
        self._work_key = deadline_key(client.consumer.entity, Kind.FETCH)
        self._poll_key = deadline_key(client.consumer.entity, Kind.POLL)
        self.schedule: PollSchedule | None = None
        self.stuck_until = 0
        self._stuck_since = 0
        self._job: Job | None = None

    @property
    def known_schedule(self) -> PollSchedule:
        """The polls of a member that consumes."""
        assert self.schedule is not None
        return self.schedule

    def reaction(self, now: int) -> int:
        """The first instant at which the application is inside poll(), microseconds; `FOREVER` while a job runs."""
        if self._job is not None or self._client.frozen is not None:
            return FOREVER
        at = now if now > self.stuck_until else self.stuck_until
        return at if self.schedule is None else self.schedule.reaction(at)

    def goes_on_at(self, now: int) -> int:
        """When the thread goes on with its batch, on its own clock: that stops in a freeze, and a hang comes first."""
        frozen = self._client.frozen
        return max(frozen[0] if frozen is not None else now, self.stuck_until)

    def upcoming(self, now: int) -> int:
        """The first instant whose poll is still to come: what happens at the very instant of a poll can precede it."""
        return now + (self._client.env.key >= self._poll_key)

    def next_poll(self, now: int) -> int:
        """When the application must be looked at again."""
        if self._job is not None:
            return FOREVER
        machine, client, schedule = self._machine, self._client, self.schedule
        due, ownership = FOREVER, machine.ownership
        waiting = client.inbox or client.command is not None
        if waiting or (machine.needs_application and machine.coordinator is not None):
            due = self.reaction(now + 1)
        if schedule is not None:
            upcoming = self.upcoming(now)
            if self._is_loud:
                due = min(due, schedule.next_poll(upcoming))
            elif ownership.commit_due < FOREVER and ownership.owned.size and not machine.is_joining:
                due = min(due, schedule.next_poll(max(ownership.commit_due, upcoming)))
        return due

    def max_poll_due(self, now: int) -> int:
        """max.poll.interval.ms after the last pass inside poll(), if the next one would be too late."""
        machine = self._machine
        if not machine.membership.heartbeats_enabled or machine.lookup.node is None:
            # The heartbeat thread looks for the coordinator first (``HeartbeatThread.run``).
            return FOREVER
        if self._job is not None:
            return self._job.since + machine.config.max_poll_interval_us
        upcoming = self.reaction(now)
        if upcoming == now:
            return FOREVER
        due = self._last_pass(now) + machine.config.max_poll_interval_us
        return due if due < upcoming else FOREVER

    def _last_pass(self, now: int) -> int:
        at = min(now, self._stuck_since) if now < self.stuck_until else now
        if self.schedule is None:
            return at
        last: int | None = self.schedule.last_pass(at)
        return last if last is not None else now

    # --- jobs ---------------------------------------------------------------------------------------------------------

    @property
    def is_at_work(self) -> bool:
        """Whether a job runs."""
        return self._job is not None

    @property
    def holds_monitor(self) -> bool:
        """The leader's assignor runs under the monitor that the heartbeat thread needs."""
        return self._job is not None and self._job.holds_monitor

    def work(self, now: int, duration: int, done: Callable[[int], None], *, holds_monitor: bool = False) -> None:
        """Keep the application thread busy, then call ``done``."""
        due = now + duration
        occurrence = self._client.env.at(due, self._work_key, self._worked)
        self._job = Job(now, due, done, holds_monitor, occurrence)

    def _worked(self, _: Any) -> None:
        job, now = self._job, self._client.env.now
        if job is None:
            return
        self._job = None
        job.done(now)
        self._client.drive(now)

    def suspend_job(self) -> None:
        """The clock of the application stops: the job does not end when it was to."""
        if self._job is not None:
            self._job.occurrence.drop()

    def drop_job(self) -> None:
        """Nobody waits for the end of the job any more."""
        self.suspend_job()
        self._job = None

    # --- standing still -----------------------------------------------------------------------------------------------

    def shift(self, start: int, length: int) -> None:
        """The application's clock has stood still: all its work is that much later."""
        if self.schedule is not None:
            self.schedule.shift(start, length)
        if self.stuck_until > start:
            self.stuck_until += length
        job = self._job
        if job is not None:
            job.due += length
            job.occurrence = self._client.env.at(job.due, self._work_key, self._worked)

    def hang(self, now: int, length: int) -> None:
        """The thread is away for a while, whatever it was about to do."""
        if self.stuck_until <= now:
            self._stuck_since = now
        self.stuck_until = max(self.stuck_until, now + length)
        if self.schedule is not None:
            self.schedule.shift(now, length)
