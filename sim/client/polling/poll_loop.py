"""Where the application thread is: inside poll(), processing, at a job, or hanging.

Its polls are a closed form (`sim.client.polling.poll_schedule`). A job is a stretch of time with an end that somebody
waits for: a rebalance listener, or the assignor of the leader.

A member that is paced acts in passes: at the beginning of each poll(), and whenever that has waited for
retry.backoff.ms (``AsyncKafkaConsumer.pollForFetches``, Kafka 4.4). Without partitions, passes follow one another all
the time. The first pass after a heartbeat may be followed by another one sooner: its wait is at most what the
background thread allowed when it beat (`ConsumerMember.longest_wait_us`), and whoever joins does not wait at all from
the first pass after the coordinator is known until its heartbeat is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.heartbeat_thread import Cadence, after_pause, after_wait, first_wake
from groupsim.sim.client.polling.job import Job
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.protocol.interface import MemberMachine
from groupsim.sim.units import FOREVER


class PollLoop:
    """The application thread of one client.

    Parameters
    ----------
    client : Incarnation

    Attributes
    ----------
    schedule : PollSchedule or None
        Its polls, while it has partitions; without any it waits inside poll() all the time. Changed by `go_by`.
    cadence : Cadence
        Of the heartbeat thread, which needs to know where the application is.
    stuck_until : int, microseconds
        End of the last hang; before its first pass if there was none.
    held_us : int, microseconds
        Since when the thread does something between two polls of which nobody knows the end; -1: it does not.
    has_news : bool
        Whether records have come in a jump that no poll() has returned.
    has_events : bool
        Whether its schedules have `PollEvents`: some polls are not heard of.
    """

    def __init__(self, client: Incarnation) -> None:
        self._client = client
        self._machine: MemberMachine[Any, Any] = client.machine
        self._is_loud = client.world.is_loud or client.looks_at_each_poll
        timeout_us, backoff_us = client.processing.poll_timeout_us, client.config.retry_backoff_us
        self._is_paced = client.machine.is_paced
        self.has_events = self._is_paced and client.config.behaviour.refers_to_poll_event
        machine = client.machine
        # Whose heartbeat thread waits for the application; members of the consumer protocol have none.
        self._beating = machine if isinstance(machine, ClassicMember) else None
        self._pass_us = max(min(timeout_us, backoff_us) + client.world.timing.poll_us, 1)
        self._passed_us = client.opened_us - self._pass_us
        self._again_us = 0
        """A pass out of turn, if it is still to come."""
        self._hurried_us, self._unheard_us = FOREVER, -1
        self._work_key = deadline_key(client.consumer.entity, Kind.FETCH)
        self._poll_key = deadline_key(client.consumer.entity, Kind.POLL)
        self.cadence = Cadence.of(client.config, client.world.timing)
        self.schedule: PollSchedule | None = None
        self.has_news = False
        self.stuck_until, self._stuck_since = self._passed_us, 0
        self._job: Job | None = None
        self.held_us = -1
        self._asked: tuple[Any, ...] = ()
        self._beat_us = 0
        """When the heartbeat thread acts next, as worked out for what is in ``_asked``."""

    def be_loud(self) -> None:
        """Each poll is an event from now on."""
        self._is_loud = True

    @property
    def known_schedule(self) -> PollSchedule:
        """The polls of a member that consumes."""
        assert self.schedule is not None
        return self.schedule

    def reaction(self, now: int) -> int:
        """The first instant at which the application is inside poll(), microseconds; `FOREVER` while a job runs."""
        if self._job is not None or self._client.frozen is not None or self.held_us >= 0:
            return FOREVER
        at = now if now > self.stuck_until else self.stuck_until
        return at if self.schedule is None else self.schedule.reaction(at)

    # --- passes -------------------------------------------------------------------------------------------------------

    @property
    def interrupted_us(self) -> int:
        """How long a wait inside poll() lasts at most before poll() looks around, microseconds."""
        return self._pass_us if self._is_paced else self._client.config.fetch_max_wait_us

    def next_pass(self, time: int) -> int:
        """The first instant at or after ``time`` at which the machine may act for the application, microseconds."""
        if not self._is_paced:
            return self.reaction(time)
        if self._job is not None or self._client.frozen is not None or self.held_us >= 0:
            return FOREVER
        return self._pass_from(time)

    def coming_pass(self, time: int) -> int:
        """The same as it looks now, whatever the application is at: the job under way ends when it is due to."""
        return self._pass_from(max(time, self._job.due) if self._job is not None else time)

    def _pass_from(self, time: int, *, awaits_records: bool = True) -> int:
        at = max(time, self.stuck_until, self._passed_us + 1)
        if self.schedule is not None:
            return int(self.schedule.next_pass(at, self._spacing_us() if awaits_records else 0))
        since = max(self._passed_us, self.stuck_until)
        if at <= self._machine.heard_us and since + (at - since) // self._pass_us * self._pass_us >= self._hurried_us:
            return at
        upcoming = since + -(-(at - since) // self._pass_us) * self._pass_us
        return min(upcoming, self._again_us) if at <= self._again_us else upcoming

    def _spacing_us(self) -> int:
        """Between two records of what is read, on average."""
        rate = self._client.books.ledger.rate_of(self._client.consumption.partitions)
        return round(1 / rate) if rate else 0

    def may_commit(self, now: int) -> bool:
        """Whether the machine may commit now: a wait inside poll() ends when that is due (``maximumTimeToWait``)."""
        return not self._is_paced or self._pass_from(now, awaits_records=False) == now

    def may_pass(self, now: int) -> bool:
        """Whether the machine may act for the application now, which is inside poll()."""
        return not self._is_paced or self.next_pass(now) == now

    def hurry(self, now: int) -> None:
        """The coordinator is known: a pass from now on does not wait until the heartbeat that follows is answered.

        ``AbstractHeartbeatRequestManager.maximumTimeToWait``: nothing, while a member has to beat at once, or does not
        know the interval.
        """
        self._hurried_us = now

    def passed(self, now: int) -> bool:
        """The machine acts for the application; whether the background hears (`polling.poll_events`)."""
        events = self.schedule.events if self.schedule is not None else None
        is_heard = events is None or events.is_submitted_at(now)
        self._unheard_us = -1 if is_heard else now
        since = max(self._passed_us, self.stuck_until)
        is_in_turn = self.schedule is not None or not (now - since) % self._pass_us
        self._again_us, self._hurried_us = 0, FOREVER
        if is_in_turn:
            self._passed_us = now
        if is_in_turn and self._is_paced and self.schedule is None:
            wait_us = self._machine.longest_wait_us(now, self._pass_us) + self._client.world.timing.poll_us
            self._again_us = now + wait_us if wait_us < self._pass_us else 0
        return is_heard

    def note_passes(self, now: int) -> None:
        """Passes up to now at which nobody looked: of a schedule that is about to end, or to change."""
        until = self.upcoming(now) - 1
        if self.schedule is not None and until >= self.schedule.start:
            self._passed_us = max(self._passed_us, self.schedule.last_pass(until))

    def begin_anew(self, now: int) -> None:
        """Nothing is read any more: passes follow one another from here, whatever came before."""
        self._passed_us, self._again_us, self._hurried_us = now, 0, FOREVER

    def goes_on_at(self, now: int) -> int:
        """When the thread goes on with its batch, on its own clock: that stops in a freeze, and a hang comes first."""
        frozen = self._client.frozen
        if self.held_us >= 0:
            return self.held_us
        return max(frozen[0] if frozen is not None else now, self.stuck_until)

    def upcoming(self, now: int) -> int:
        """The first instant whose poll is still to come: what happens at the very instant of a poll can precede it."""
        return now + (self._client.env.key >= self._poll_key)

    def next_poll(self, now: int) -> int:
        """When the application must be looked at again."""
        if self._job is not None or self.held_us >= 0:
            return FOREVER
        machine, client, schedule = self._machine, self._client, self.schedule
        due, upcoming = FOREVER, self.upcoming(now)
        if client.inbox or client.command is not None:
            due = self.reaction(now + 1)
        elif machine.is_worth_a_poll:
            # A wait that records have just ended looks around, too, if it has not by now.
            due = self.next_pass(upcoming)
        if schedule is not None:
            if self._is_loud or self.has_news:
                due = min(due, schedule.next_poll(upcoming))
            elif (commit_due := machine.next_commit_us) < FOREVER:
                due = min(due, schedule.commits.next_poll(max(commit_due, upcoming)))
        return due

    def max_poll_due(self, now: int) -> int:
        """When somebody sees that max.poll.interval.ms is over since the last pass, if the next one comes too late."""
        interval_us, noticed_at = self._machine.config.max_poll_interval_us, self._machine.max_poll_noticed_at
        if self._job is not None:
            return noticed_at(self._job.since + interval_us)
        if self.held_us >= 0:
            return noticed_at(self._last_heard(self.held_us) + interval_us)
        upcoming = self._next_heard(now)
        if upcoming == now:
            return FOREVER
        due = self._last_heard(now) + interval_us
        noticed = noticed_at(due) if due < upcoming else FOREVER
        return noticed if noticed < upcoming else FOREVER

    def _next_heard(self, now: int) -> int:
        at = self.reaction(now)
        return int(self.schedule.heard.reaction(at)) if self.schedule is not None and at < FOREVER else at

    def _last_heard(self, now: int) -> int:
        at = min(now, self._stuck_since) if now < self.stuck_until else now
        if self.schedule is None:
            return at
        last: int | None = self.schedule.heard.last_pass(at)
        return last if last is not None else now

    def answer(self, now: int) -> bool:
        """Records have come to what is read: whether a poll() begins now, or waits for some, and returns them."""
        away = self._job is not None or self.is_held or self._client.frozen is not None or self.stuck_until > now
        if self.schedule is None or away:
            return False
        self.pass_steps(now)
        return self.schedule.answer(now)

    # --- the heartbeat thread -----------------------------------------------------------------------------------------

    def go_by(self, now: int, schedule: PollSchedule | None) -> None:
        """Poll as ``schedule`` says from ``now`` on; None: wait inside poll()."""
        self.pass_steps(now)
        if self.schedule is None and self._beating is not None:
            self._beating.waiting_since = after_wait(self._beating.waiting_since, now, self.cadence.step_us)
        self.schedule = schedule
        if schedule is None and self._unheard_us == now:
            # What woke the wait has come before it: poll() looks around again at once.
            self._again_us = now + self._client.world.timing.poll_us

    def pass_steps(self, until: int) -> None:
        """Something is about to change: the heartbeat thread has waited in steps as it was so far."""
        member = self._beating
        if self.schedule is not None and member is not None and member.heartbeats_enabled:
            member.waiting_since = self._first_wake(member.waiting_since, until)[0]

    def thread_due(self, now: int) -> int:
        """When time alone makes the member act, microseconds: by a thread of its own, or with the next poll."""
        member = self._beating
        if member is not None and member.config.behaviour.background_heartbeat:
            beat_due, others_due = member.deadlines
            return min(others_due, self._beat(member, beat_due, now))
        due = self._machine.deadline
        return due if member is None or due >= FOREVER else self.reaction(max(due, now))

    def _beat(self, member: ClassicMember, due: int, now: int) -> int:
        """When the heartbeat thread acts on the heartbeat that is due at ``due``, from ``now`` on, microseconds."""
        if due >= FOREVER:
            return FOREVER
        since, schedule, job = member.waiting_since, self.schedule, self._job
        passes = (schedule.start, schedule.held_until) if schedule is not None else None
        asked = due, since, schedule, passes, job, job and job.due, self.held_us, self.stuck_until, self._client.frozen
        if asked != self._asked:
            ready = due - self.cadence.late_us
            inside = self.reaction(ready)
            beat = inside if inside <= due else min(inside, self._first_wake(since, ready)[1])
            self._asked, self._beat_us = asked, max(due, beat)
        return max(self._beat_us, now)

    def _first_wake(self, since: int, time: int) -> tuple[int, int]:
        """`first_wake`, also while a job or a hang keeps the application from poll()."""
        step_us, schedule = self.cadence.step_us, self.schedule
        is_away = self._job is not None or self.is_held or since < self.stuck_until
        if step_us >= FOREVER or (schedule is not None and not is_away):
            return first_wake(schedule, since, step_us, time) if schedule is not None else (since, FOREVER)
        while (wake := self._end_of_wait(since + step_us)) < time:
            since = wake
        return since, wake

    def _end_of_wait(self, time: int) -> int:
        job, schedule = self._job, self.schedule
        if schedule is None or self.is_held or time < self.stuck_until or (job is not None and time <= job.due):
            return time
        return int(schedule.end_of_wait(time))

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
        self.pass_steps(now)
        due = now + duration
        occurrence = self._client.env.at(due, self._work_key, self._worked)
        self._job = Job(now, due, done, holds_monitor, occurrence)

    def _worked(self, _: Any) -> None:
        job, now = self._job, self._client.env.now
        if job is None:
            return
        self.pass_steps(now)
        self._job = None
        # A wait that the job has used up is over; what is left of it follows.
        is_over = now - job.since >= self._client.processing.poll_timeout_us
        self._passed_us, self._again_us = now - self._pass_us if is_over else now, 0
        job.done(now)
        self._client.drive(now)

    def prolong(self, now: int, length: int) -> None:
        """The poll() under way lasts that much longer: so do all that follow begin later."""
        self.pass_steps(now)
        self._shift(now, length)

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
        self.note_passes(start)
        self.pass_steps(start)
        member = self._beating
        if member is not None:
            member.waiting_since = after_pause(member.waiting_since, start, start + length, self.cadence.step_us)
        self._shift(start, length)
        if self.stuck_until > start:
            self.stuck_until += length
        if self.held_us >= 0:
            self.held_us += length
        self.shift_passes(start, length)
        if (job := self._job) is not None:
            job.due += length
            job.occurrence = self._client.env.at(job.due, self._work_key, self._worked)

    def shift_passes(self, start: int, length: int) -> None:
        """Passes of a wait inside poll() are that much later, and none comes before the clock goes on."""
        self._passed_us, self._again_us = min(self._passed_us + length, start + length - 1), 0

    @property
    def is_held(self) -> bool:
        """Whether the thread is away until somebody says that it is back."""
        return self.held_us >= 0

    def hold(self, now: int) -> None:
        """The thread is not inside poll() from now on, until `release`."""
        self.pass_steps(now)
        self.held_us = now

    def release(self, now: int) -> None:
        """It is back: the poll that was due when it was held is now."""
        self.pass_steps(now)
        since, self.held_us = self.held_us, -1
        if now > since:
            self._shift(since, now - since)
        self.shift_passes(since, now - since)

    def hang(self, now: int, length: int) -> None:
        """The thread is away for a while, whatever it was about to do."""
        self._stay_away(now, length)
        self._shift(now, length, leaves_poll=True)

    def _shift(self, at: int, length: int, *, leaves_poll: bool = False) -> None:
        """Every poll from ``at`` on is that much later, and so is the rest of the batch in hand."""
        if (schedule := self.schedule) is not None:
            self._client.consumption.break_off(at)
            (schedule.stay_away if leaves_poll else schedule.shift)(at, length)
            self._client.consumption.follow(schedule, at + length)

    def listen(self, now: int, length: int) -> None:
        """The thread is inside a listener, and so inside poll(), whose wait goes on meanwhile."""
        self._stay_away(now, length)
        if self.schedule is not None:
            self._client.consumption.break_off(now)
            self.schedule.use_up(now, length)
            self._client.consumption.follow(self.schedule, now)

    def _stay_away(self, now: int, length: int) -> None:
        self.pass_steps(now)
        if self.stuck_until <= now:
            self._stuck_since = now
        self.stuck_until = max(self.stuck_until, now + length)
