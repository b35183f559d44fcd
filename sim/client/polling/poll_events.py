"""Which passes through poll() the background thread hears of (``AsyncPollEvent``; consumer protocol, Kafka 4.2 to 4.4).

poll() submits an event unless it still refers to the one before. One that is complete is forgotten at the beginning of
a pass if the fetch buffer is empty; if the buffer holds records, it is forgotten when the listeners of the pass have
run, and none is submitted (``AsyncKafkaConsumer.checkInflightPoll``, ``maybeClearPreviousInflightPoll``). So where each
poll() finds records waiting, every second one does no more than run listeners: nothing is committed, no
reconciliation begins, and max.poll.interval.ms goes on. Seen with 4.4: with batches of 2 s each, auto-commits every
8 s, not 6, and with max.poll.interval.ms 3 s the member leaves.

Records wait for a poll() that need not wait for them: of a backlog, of what has come while a batch was processed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol


class Polls(Protocol):
    """The poll schedule of one member (`sim.client.polling.poll_schedule.PollSchedule`)."""

    start: Any
    steady_us: Any

    def pass_at(self, time: int) -> tuple[int, int, int]:
        """Begin, wait and length of the pass under way at ``time``."""
        ...

    def passes_before(self, begin: int) -> Iterator[tuple[int, int, bool]]:
        """How many that are alike come before the pass at ``begin``, the wait, whether they are the settled ones."""
        ...

    def is_settled(self, time: int) -> bool:
        """Whether all passes from ``time`` on are alike."""
        ...

    def next_poll(self, time: int) -> Any:
        """The first poll at or after ``time``."""
        ...

    def last_pass(self, time: int) -> Any:
        """When the last pass began, at or before ``time``."""
        ...

    def train(self, poll: int, interval: int, before: int) -> tuple[int, int]:
        """How many polls after ``poll`` that act every ``interval`` keep a constant stride, and the stride."""
        ...


def are_found(wait_us: Any, poll_us: int, steady_us: Any, spacing_us: Any, *, is_settled: Any) -> Any:
    """Whether records wait for a poll(), of one member or of many, as columns of shape (n,).

    Parameters
    ----------
    wait_us, poll_us : int, microseconds
        Its wait for records, and what it takes without one.
    steady_us : int, microseconds
        A pass of a member that has worked off its backlog.
    spacing_us : float
        Between two records.
    is_settled : bool
        Whether the poll is that of such a pass.
    """
    is_fed = is_settled <= (steady_us >= spacing_us)
    return is_fed & (wait_us <= poll_us + 1)  # lengths are rounded


class PollEvents:
    """Events of one member's poll schedule; times are microseconds.

    Parameters
    ----------
    polls : PollSchedule
    poll_us : int
        Of a pass through poll() itself: who waits longer waits for records.
    spacing_us : float
        Between two records: who has worked off the backlog finds none if a pass is shorter than that.
    refers : bool
        Whether the pass before the first poll has submitted an event.
    carry_commits : bool
        Whether offsets are committed with them (``enable.auto.commit``), and not by the application.
    """

    def __init__(self, polls: Polls, poll_us: int, spacing_us: float, *, refers: bool, carry_commits: bool) -> None:
        self._polls = polls
        self._poll_us = poll_us
        self._spacing_us = spacing_us
        self.refers = refers
        self.carry_commits = carry_commits

    def is_submitted_at(self, time: int) -> bool:
        """Whether the pass at ``time`` submits one: looking around in a wait, with an empty buffer, always does."""
        if time < self._polls.start:
            return True
        begin, _, _ = self._polls.pass_at(time)
        return time > begin or not (self._finds_records(begin) and self.refers_before(begin))

    def refers_before(self, begin: int) -> bool:
        """Whether the pass before the poll at ``begin`` has submitted an event."""
        refers, polls = self.refers, self._polls
        for count, wait, is_settled in polls.passes_before(begin):
            if count:
                refers = refers ^ bool(count & 1) if self._are_found(wait, is_settled=is_settled) else True
        return refers

    def _finds_records(self, begin: int) -> bool:
        _, wait, _ = self._polls.pass_at(begin)
        return self._are_found(wait, is_settled=self._polls.is_settled(begin))

    def _are_found(self, wait: int, *, is_settled: bool) -> bool:
        found: bool = are_found(wait, self._poll_us, self._polls.steady_us, self._spacing_us, is_settled=is_settled)
        return found

    def go_on_from(self, upcoming: int) -> None:
        """The passes before the poll at ``upcoming``, which becomes the first, are about to be forgotten."""
        self.refers = self.refers_before(upcoming)

    # --- as a schedule of its own -------------------------------------------------------------------------------------

    def next_poll(self, time: int) -> int:
        """The first poll at or after ``time`` that submits one."""
        poll: int = self._polls.next_poll(time)
        if not self.is_submitted_at(poll):
            poll = self._polls.next_poll(poll + 1)
        return poll

    def reaction(self, time: int) -> int:
        """``time``, at which the application is inside poll(), if that pass is heard; else the next poll that is."""
        begin, _, _ = self._polls.pass_at(max(time, self._polls.start))
        is_heard = time < self._polls.start or self.is_submitted_at(begin)
        return time if is_heard else self.next_poll(time + 1)

    def last_pass(self, time: int) -> int | None:
        """When the last was submitted, at or before ``time``; None: it is not known."""
        last: int | None = self._polls.last_pass(time)
        if last is not None and not self.is_submitted_at(last):
            last = self._polls.last_pass(last - 1)
        return last

    def train(self, poll: int, interval: int, before: int) -> tuple[int, int]:
        """`PollSchedule.train` of the polls that submit one: where records wait, every second poll."""
        _, _, length = self._polls.pass_at(poll)
        if not self._finds_records(poll):
            return self._polls.train(poll, interval, before)
        return self._polls.train(poll, -(-interval // (2 * length)) * 2 * length, before)
