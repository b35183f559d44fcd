"""Freezes and hangs of one client.

A freeze (a GC pause) stops every thread: answers and what is due wait for its end, and the application's work is that
much later. A hang keeps only the application thread away, and so does a rebalance listener. A pause under a second is
no unavailability.
"""

from __future__ import annotations

from bisect import bisect_left

from groupsim.sim.books.availability import SHORT_PAUSE_US
from groupsim.sim.client.coordination.commits import Commits
from groupsim.sim.client.coordination.requests import Requests
from groupsim.sim.client.fetching.fetcher import Fetcher
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.units import FOREVER


class Suspension:
    """Whether one client stands still, and what that does to it.

    Parameters
    ----------
    client : Incarnation
    poll_loop, fetcher, requests, commits
        Of that client.

    Attributes
    ----------
    next_pause : int
        Index of the first of the consumer's pauses that has not begun.
    """

    def __init__(
        self, client: Incarnation, poll_loop: PollLoop, fetcher: Fetcher, requests: Requests, commits: Commits
    ) -> None:
        consumer = client.consumer
        self._client = client
        self._poll_loop = poll_loop
        self._fetcher = fetcher
        self._requests = requests
        self._commits = commits
        self._env = client.env
        self._availability = client.books.availability
        self._consumption = client.consumption
        self._pauses = consumer.pauses
        self._thaw_key = process_key(consumer.entity, Kind.THAW)
        self._unstuck_key = process_key(consumer.entity, Kind.FAULT)
        self.next_pause = bisect_left(consumer.pauses, (client.opened_us, 0))

    # --- pauses that are known beforehand -----------------------------------------------------------------------------

    def arm_pause(self, least_us: int = 0) -> None:
        """Let the next pause be an event, of those that are at least so long (shorter ones are elided)."""
        due = FOREVER
        for start, end in self._pauses[self.next_pause :]:
            if end - start >= least_us:
                due = start
                break
        self._client.alarms.pause.set(due)

    @property
    def next_start(self) -> int:
        """When the next pause begins that is known of, microseconds (loud members)."""
        return self._pauses[self.next_pause][0] if self.next_pause < len(self._pauses) else FOREVER

    def on_pause(self, now: int) -> None:
        """A pause begins."""
        self._client.elision.wake()
        if self.next_pause < len(self._pauses) and self._pauses[self.next_pause][0] == now:
            end = self._pauses[self.next_pause][1]
            self.next_pause += 1
            self._freeze(now, end)
        self.arm_pause()

    # --- freezes ------------------------------------------------------------------------------------------------------

    def freeze(self, until: int) -> None:
        """The process stands still from now on: a pause that nobody knew of."""
        now, elision = self._env.now, self._client.elision
        if until <= now or elision.absorb(now, until):
            return
        elision.wake()
        self._freeze(now, until)

    def _freeze(self, now: int, until: int) -> None:
        if self._client.frozen is not None:
            start, until = self._client.frozen[0], max(self._client.frozen[1], until)
            self._client.frozen = (start, until)
        else:
            start = now
            if until - now >= SHORT_PAUSE_US:
                self._commits.finish_records(now)
            if self._consumption.handle >= 0:
                self._availability.freeze(now, self._consumption.handle)
            self._poll_loop.suspend_job()
            self._begin(now, until)
        if until - start >= SHORT_PAUSE_US:
            self._consumption.stand_still(now)

    def _begin(self, start: int, end: int) -> None:
        self._client.frozen = (start, end)
        self._client.alarms.disarm_member()  # nobody would look; whoever goes on arms them again
        self._consumption.break_off(start)
        self._env.at(end, self._thaw_key, self._thaw)

    def resume_freeze(self, start: int, end: int) -> None:
        """The member was woken during a pause that was elided so far."""
        self._availability.freeze(start, self._consumption.handle)
        self._begin(start, end)

    def _thaw(self, _: object) -> None:
        """The end of a freeze, unless another has made it longer."""
        client, now = self._client, self._env.now
        if client.frozen is None or client.is_over:
            return
        start, end = client.frozen
        if end > now:
            self._env.at(end, self._thaw_key, self._thaw)
            return
        client.frozen = None
        self._go_on(now, start)
        # Before what may let the member go quiet, which then watches long pauses only.
        self.arm_pause()
        late, client.late = client.late, []
        for action in late:
            action()
        self._requests.read_waiting(now)
        client.drive(now)

    def _go_on(self, now: int, start: int) -> None:
        client, consumption, length = self._client, self._consumption, now - start
        client.life.paused_us += length
        self._poll_loop.shift(start, length)
        if consumption.handle >= 0:
            self._availability.thaw(now, consumption.handle, consumption.partitions)
        if self._poll_loop.stuck_until > now:
            self._env.at(self._poll_loop.stuck_until, self._unstuck_key, self._unhang)
            return
        if length >= SHORT_PAUSE_US:
            self._fetcher.repace(now)
        self._fetcher.recover(now)

    def finish(self, horizon: int) -> None:
        """The horizon cuts a freeze that is under way."""
        if self._client.frozen is None:
            return
        length, consumption = horizon - self._client.frozen[0], self._consumption
        self._client.life.paused_us += length
        if length < SHORT_PAUSE_US and consumption.handle >= 0:
            self._availability.thaw(horizon, consumption.handle, consumption.partitions)

    # --- hangs --------------------------------------------------------------------------------------------------------

    def hang(self, length: int) -> None:
        """The processing thread hangs for a while; the heartbeat thread lives."""
        client, consumption, now = self._client, self._consumption, self._env.now
        client.elision.wake()
        self._commits.finish_records(now)
        self._poll_loop.hang(now, length)
        self._stand_still(now, length)
        if consumption.handle >= 0:
            self._availability.suspend_service(now, consumption.handle, consumption.partitions)
        client.drive(now)

    def listen(self, length: int) -> None:
        """The application thread is inside a rebalance listener: what the member keeps is read when it returns."""
        consumption, now = self._consumption, self._env.now
        if consumption.partitions.size:
            self._poll_loop.listen(now, length)
            self._stand_still(now, length)
            self._availability.stop(now, consumption.handle, consumption.partitions)

    def _stand_still(self, now: int, length: int) -> None:
        self._consumption.stand_still(now)
        self._env.at(now + length, self._unstuck_key, self._unhang)

    def _unhang(self, _: object) -> None:
        """The end of a hang, unless another has made it longer or everything is frozen."""
        client, consumption, now = self._client, self._consumption, self._env.now
        if client.is_over or self._poll_loop.stuck_until > now or self._client.frozen is not None:
            return
        client.elision.wake()
        self._poll_loop.pass_steps(now)
        if consumption.handle >= 0:
            self._availability.impair(now, consumption.handle, False)
            self._availability.serve(now, consumption.handle, consumption.partitions)
        self._fetcher.repace(now)
        self._fetcher.recover(now)
        client.drive(now)
