"""Within which bounds a member may be quiet: what it does by itself must neither overtake nor starve one another."""

from __future__ import annotations

from collections.abc import Callable

from groupsim.sim.client.client import Client
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.fastpath.quiet.steady_state import commits_apart, densest, heartbeats_apart, longest_round_trip
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.randomness import mean_of


class Bounds:
    """Bounds of one client.

    Parameters
    ----------
    client : Client
    session_us : callable
        How long its session is, microseconds.

    Attributes
    ----------
    round_trip_us : int
        The longest time from a request to its answer.
    step_us : int
        By how much a heartbeat can be late.
    """

    def __init__(self, client: Client, session_us: Callable[[], int]) -> None:
        self._client = client
        self._session_us = session_us
        self._machine = client.machine
        self._pauses = client.consumer.pauses
        self.round_trip_us = longest_round_trip(client.path, client.world.timing)
        self.step_us = client.poll_loop.cadence.step_us if isinstance(client.machine, ClassicMember) else 0

    @property
    def beats_apart(self) -> bool:
        """Whether elision is exact for its heartbeats (`heartbeats_apart`)."""
        is_background = self._client.config.behaviour.background_heartbeat
        heartbeat_us = self._machine.heartbeat_interval_us
        return is_background and heartbeats_apart(heartbeat_us, self._session_us(), self.step_us, self.round_trip_us)

    def may_poll_like(self, schedule: PollSchedule | None) -> bool:
        """Whether the member can be quiet with these polls (None: without any)."""
        if schedule is None or not self.beats_apart:
            return self.beats_apart
        timing, heartbeat_us = self._client.world.timing, self._machine.heartbeat_interval_us
        apart = commits_apart(self.stride(schedule, self._client.env.now), heartbeat_us, timing)
        return bool(apart) and self.polls_in_time(schedule.longest_us)

    def may_poll_always(self) -> bool:
        """Whether the member can be quiet with what it consumes now, however much of it there is to do."""
        client, timing = self._client, self._client.world.timing
        processing, slowdown = client.processing, client.consumer.slowdown()
        if processing.per_record.kind != "constant" or not self.beats_apart:
            return False
        timeout = processing.poll_timeout_us
        cost = mean_of(processing.per_record) * slowdown + processing.record_wait_us
        fixed = timing.poll_us + processing.per_poll_us * slowdown + processing.batch_wait_us
        stride = max(int(min(fixed + cost, timeout)), self._machine.commit_interval_us)
        apart = self._machine.commits == "none" or commits_apart(stride, self._machine.heartbeat_interval_us, timing)
        longest = int(max(fixed + client.config.max_poll_records * cost, timeout)) + 1
        return bool(apart) and self.polls_in_time(longest)

    def stride(self, schedule: PollSchedule | None, since: int) -> int:
        """The least time between two commits from ``since`` on, microseconds."""
        machine = self._machine
        if schedule is None or machine.commits == "none":
            return self._session_us()
        commit_us: int = machine.commit_interval_us
        return max(schedule.shortest_from(since), commit_us)

    def longest_unheard(self, longest: int) -> int:
        """The longest time between two passes that count for max.poll.interval.ms; ``longest``: of one pass."""
        return 2 * longest if self._client.poll_loop.has_events else longest

    def polls_in_time(self, longest: int) -> bool:
        """Whether no pass, stretched by the short pauses that can fall into it, can exceed max.poll.interval.ms."""
        longest, most = self.longest_unheard(longest), int(self._machine.config.max_poll_interval_us)
        return 2 * longest + self._stretch(longest) < most

    def _stretch(self, longest: int) -> int:
        return densest(self._pauses, self._client.suspension.next_pause, longest)

    def end_of_pass_is_in_time(self, schedule: PollSchedule | None) -> bool:
        """Whether the pass in hand, which a long pause may have stretched, ends within max.poll.interval.ms."""
        now = self._client.env.now
        if schedule is None:
            return True
        last: int | None = schedule.heard.last_pass(now)
        if last is None:
            return True
        longest, in_hand = self.longest_unheard(int(schedule.longest_us)), int(schedule.heard.next_poll(now)) - last
        # One that no long pause has stretched is covered by `polls_in_time`.
        return in_hand <= longest or in_hand + self._stretch(longest) < self._machine.config.max_poll_interval_us
