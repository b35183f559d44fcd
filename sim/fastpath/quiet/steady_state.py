"""Quiet members: heartbeats and commits that are arithmetic, exactly.

A member whose group is Stable, whose own client is settled and which nothing disturbs has a future that depends on its
own draws and pauses alone. Its heartbeats, polls and commits then change nothing but its last renewal, its committed
offsets and the order of its connection, and all three can be computed when somebody asks. Its requests form trains of
constant stride, so which were sent within any interval is arithmetic, and what is on its way at a moment depends only
on those sent within a bounded time before it (`reach`). Whatever does not fit these bounds (`heartbeats_apart`,
`commits_apart`) stays loud: slow, never wrong.

`catch_up` brings a quiet member to a *moment* (instant and key): what would have happened before it has happened,
what would be on its way is handed back to become real messages.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from groupsim.sim.books.availability import SHORT_PAUSE_US
from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.config import Timing
from groupsim.sim.fastpath.quiet.heartbeats import Heartbeats
from groupsim.sim.fastpath.quiet.trains import RecentTrain
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.kernel.network import Path
from groupsim.sim.spans import merged
from groupsim.sim.units import FOREVER

_LEAST_STRIDE_US = 4


@dataclass(slots=True)
class Beat:
    """A heartbeat or commit of a quiet member, and where it has got to.

    All times in microseconds: sent, arrived at the broker, worked on, answer left, answer arrived.
    """

    sent: int
    kind: str
    number: int
    arrived: int = 0
    worked: int = 0
    left: int = 0
    answered: int = 0


class Keys(NamedTuple):
    """Where the events of a member would stand within an instant (`sim.kernel.environment`)."""

    heartbeat: int
    poll: int
    pause: int
    thaw: int
    request: int


@dataclass(slots=True)
class SteadyState:
    """State of a quiet member.

    Parameters
    ----------
    beating : Heartbeats
    commits : RecentTrain
        ``commits.due`` is when a commit may be sent; it goes with the first poll from then on.
    pauses : sequence of (start, end)
        Every pause that is known of, ascending and disjoint; ``next_pause`` is the first that has not begun.
    sudden : frozenset of int
        Starts of those that a story has brought: they had begun when the next event of that instant came.
    reach_us : int, microseconds
        `reach` of its requests.
    """

    beating: Heartbeats
    commits: RecentTrain
    schedule: PollSchedule | None
    pauses: Sequence[tuple[int, int]]
    next_pause: int
    reach_us: int
    keys: Keys
    paused: list[tuple[int, int]] = field(default_factory=list)
    frozen: tuple[int, int] | None = None
    sudden: frozenset[int] = frozenset()

    @property
    def heartbeats(self) -> RecentTrain:
        """Its heartbeats."""
        return self.beating.train

    @property
    def last_sent(self) -> int:
        """When it has sent the last request, microseconds; `-FOREVER`: it has sent none."""
        return max(self.heartbeats.newer, self.commits.newer)

    def catch_up(self, moment: Moment) -> None:
        """Let everything happen that stands before ``moment``; no more once a pause was met that goes beyond it."""
        if self.frozen is not None:
            return
        while self.next_pause < len(self.pauses):
            start, end = self.pauses[self.next_pause]
            if (start, 0 if start in self.sudden else self.keys.pause) >= moment:
                break
            self._advance((start, self.keys.pause))
            self.next_pause += 1
            if (end, self.keys.thaw) >= moment:
                self.frozen = (start, end)
                return
            self.paused.append((start, end))
            self.beating.pass_pause(self.schedule, start, end)
            if self.schedule is not None:
                self.schedule.shift(start, end - start)
        self._advance(moment)

    def _advance(self, moment: Moment) -> None:
        """Heartbeats and commits before ``moment``, with no pause in between."""
        self.beating.send(self.schedule, moment[0] + (self.keys.heartbeat < moment[1]))
        schedule, commits = self.schedule, self.commits
        before = moment[0] + (self.keys.poll < moment[1])
        if schedule is None or commits.due >= before:
            return
        polls = schedule.commits
        if commits.interval == 1 and isinstance(polls, DrawnPollSchedule):
            commits.add_each(polls.polls(commits.due, before))  # each poll commits
        else:
            commits.send_at_polls(polls, before)

    def is_frozen_at(self, moment: Moment) -> bool:
        """Whether a pause is under way at ``moment``; those that are over are behind it from now on."""
        if self.next_start <= moment[0]:
            self.catch_up(moment)
        return self.frozen is not None

    def fork(self) -> SteadyState:
        """The same, to be caught up by itself as long as no pause begins."""
        return SteadyState(
            self.beating.fork(), self.commits.fork(), self.schedule, self.pauses, self.next_pause, self.reach_us,
            self.keys, list(self.paused), self.frozen, self.sudden,
        )  # fmt: skip

    @property
    def next_start(self) -> int:
        """When the next pause begins that is known of, microseconds."""
        return self.pauses[self.next_pause][0] if self.next_pause < len(self.pauses) else FOREVER

    def beats(self, path: Path, timing: Timing, order: tuple[int, int, int], since: int) -> list[Beat]:
        """Requests in order of sending, with everything that the connection made of them.

        Exact are all that were sent at ``since`` or later, and the last of either kind before that; others that are
        there had a part in it.

        Parameters
        ----------
        order : tuple of int
            Arrival of the last request, departure and arrival of the last answer before all of these, microseconds.
        since : int, microseconds
        """
        ends = [since, self.heartbeats.last_before(since), self.commits.last_before(since)]
        spans = merged((end - self.reach_us, FOREVER if end == since else end) for end in ends)
        return self._carried(spans, path, timing, order)

    def worked_at(self, path: Path, timing: Timing, order: tuple[int, int, int], sent: int) -> int:
        """When the heartbeat that has been sent at ``sent`` is worked on, microseconds; ``order`` as of `beats`."""
        carried = self._carried([(sent - self.reach_us, sent)], path, timing, order)
        return next(beat.worked for beat in carried if beat.sent == sent and beat.kind == "heartbeat")

    def _carried(
        self, spans: Sequence[tuple[int, int]], path: Path, timing: Timing, order: tuple[int, int, int]
    ) -> list[Beat]:
        """Requests sent within disjoint spans, in order of sending, with what the connection made of them."""
        merged: list[Beat] = []
        for low, high in spans:
            merged += [Beat(sent, "heartbeat", number) for sent, number in self.heartbeats.sent_within(low, high)]
            merged += [Beat(sent, "commit", number) for sent, number in self.commits.sent_within(low, high)]
        merged.sort(key=lambda beat: (beat.sent, beat.kind == "commit"))
        up, free, down = order
        for beat in merged:
            arrived = beat.sent + path.latency(beat.kind, 2 * beat.number)
            beat.arrived = up = arrived if arrived > up else up + 1
            beat.worked = up if up > free else free
            free = beat.left = beat.worked + timing.service_us + (timing.append_us if beat.kind == "commit" else 0)
            answered = free + path.latency(beat.kind, 2 * beat.number + 1)
            beat.answered = down = answered if answered > down else down + 1
        return merged

    def travels_alone(self, sent: int) -> bool:
        """Whether no other request has a part in when the heartbeat sent at ``sent`` is worked on.

        That is the last one, or one to come before which no pause comes.
        """
        since = sent - self.reach_us
        return (
            self.heartbeats.interval > self.reach_us
            and self.commits.due > sent
            and self.commits.last_before(sent + 1) < since
        )

    def read_at(self, answered: int) -> int:
        """When an answer is read: a pause keeps it waiting."""
        for start, end in [*self.paused, *([self.frozen] if self.frozen is not None else [])]:
            if start <= answered < end:
                return end
        return answered

    def overlaps(self, start: int, end: int) -> bool:
        """Whether a pause that is known of touches [start, end]."""
        before = bisect_right(self.pauses, (end, FOREVER))  # disjoint: if any does, the last that has begun by then
        return before > 0 and self.pauses[before - 1][1] >= start


def heartbeats_apart(heartbeat_us: int, session_us: int, step_us: int, round_trip_us: int) -> bool:
    """Whether elision is exact for heartbeats: H > 2 X and H + step + pause + X < session, X the longest round trip."""
    latest = heartbeat_us + step_us + SHORT_PAUSE_US + round_trip_us
    return heartbeat_us > 2 * round_trip_us and latest < session_us


def commits_apart(stride_us: Any, heartbeat_us: Any, timing: Timing) -> Any:
    """Whether elision is exact for commits: the broker works for a connection for 90 % of the time at most.

    Of one member, with the least time between two commits; or of many, as columns.
    """
    work = (timing.service_us + timing.append_us) * heartbeat_us + timing.service_us * stride_us
    return (10 * work <= 9 * stride_us * heartbeat_us) & (stride_us >= _LEAST_STRIDE_US)


def reach(longest_us: Any, stride_us: Any, heartbeat_us: Any, timing: Timing) -> Any:
    """How long before a request those were sent that can have a part in when it is answered, microseconds.

    Let D be the longest latency, c and v the work on a commit and on a heartbeat, and r = c / stride + v / H < 1. With
    strides of 4 and more, at most (s_k - s_i) / 2 + 1 requests follow request i up to request k.

    * Arrivals: a_k = max over i <= k of s_i + L_i + (k - i). So a_k <= s_k + D + 1, and the i that decides was sent at
      most 2 D earlier.
    * Work: the broker works on one after the other, f_k = max over i <= k of a_i + c_i + ... + c_k. The i that decides
      has a_k - a_i <= r (s_k - s_i) + c + v, and a_k - a_i >= s_k - s_i - D: it was sent at most (D + c + v) / (1 - r)
      earlier. And f_k <= s_k + F with F = D + 1 + c + v.
    * Answers: d_k = max over i <= k of f_i + L'_i + (k - i). So d_k <= s_k + F + D + 1 (`longest_round_trip`), and the
      i that decides was sent at most 2 (F + D) earlier.

    Of one member, or of many, as columns, for which `commits_apart` holds. It is the sum of the three.
    """
    commit, heartbeat = timing.service_us + timing.append_us, timing.service_us
    spare = stride_us * heartbeat_us - commit * heartbeat_us - heartbeat * stride_us
    busy = (longest_us + commit + heartbeat) * (stride_us * heartbeat_us) // spare + 1
    return 2 * (2 * longest_us + 1 + commit + heartbeat) + busy + 2 * longest_us


def longest_round_trip(path: Path, timing: Timing) -> int:
    """The longest time from a request to its answer, microseconds (`reach` has the proof)."""
    return 2 * path.longest_us + 2 * timing.service_us + timing.append_us + 2


def densest(pauses: Sequence[tuple[int, int]], first: int, longest_us: int) -> int:
    """The most that short pauses can add to one pass: pauses less than a pass apart are summed up.

    Parameters
    ----------
    pauses : sequence of (start, end)
    first : int
        Index of the first that counts.
    longest_us : int, microseconds
        The longest pass.
    """
    worst = total = 0
    last_end = -FOREVER
    for start, end in pauses[first:]:
        if end - start >= SHORT_PAUSE_US:
            total, last_end = 0, -FOREVER
            continue
        total = total + end - start if start - last_end < longest_us else end - start
        last_end = end
        worst = max(worst, total)
    return worst
