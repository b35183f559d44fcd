"""How fast a client goes through its poll loop: passes and capacity, from what it reads and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import numpy as np

from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.client.fetching.data_connections import DataConnections
from groupsim.sim.client.fetching.fetch_bounds import UNBOUNDED, FetchBounds
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.pace import Load, Pace, pace, per_batch_us
from groupsim.sim.client.polling.poll_events import PollEvents
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.client.polling.poll_schedule import NOT_INSIDE, PollSchedule
from groupsim.sim.randomness import Draw, mean_of


class Pacing:
    """That of one client.

    Parameters
    ----------
    client : Incarnation
    poll_loop : PollLoop
    connections : DataConnections

    Attributes
    ----------
    bounds : FetchBounds
    batches : int
        How many were processed before the schedule that follows, where each costs what is drawn for it.
    refers : bool
        `PollEvents.refers` of the schedule that follows.
    """

    def __init__(self, client: Incarnation, poll_loop: PollLoop, connections: DataConnections) -> None:
        self._client = client
        self._poll_loop = poll_loop
        self._ledger = client.books.ledger
        self.bounds = FetchBounds(client, connections)
        self._returned: Mapping[int, int] = {}
        """Up to where poll() has returned records, by partition, when the last batch was done."""
        self._returned_before: Mapping[int, int] = {}
        """The same of the batch before that one."""
        self._late_us = -1
        """When the poll() comes, or has come, that was due then."""
        self.batches = 0
        self.refers = False

    # --- polls that come later than they were due ---------------------------------------------------------------------

    def note_batch(self, now: int, begun: Mapping[int, int]) -> None:
        """A batch that went on from ``begun``, by partition, is done; the poll() that is due now comes later.

        A flow has processed what has come by now. A poll() returns what is there when it returns; the rest is of the
        batch that follows, and takes its time then.
        """
        schedule, held = self._poll_loop.schedule, self._client.consumption.partitions
        last = schedule.last_pass(now - 1) if schedule is not None else None
        self._returned_before, self._returned = self._returned, {}
        if schedule is not None and last is not None:
            there = self._ledger.produced_by(min(schedule.end_of_wait(last), now), held)
            ends = zip(held.tolist(), there.tolist(), strict=True)
            self._returned = {one: max(offset, begun.get(one, 0)) for one, offset in ends}

    def take_back(self) -> None:
        """The batch that is done will be returned once more."""
        self._returned = self._returned_before

    def poll_late(self, now: int) -> None:
        """The poll() that was due when the last batch was done is now."""
        self._late_us = now

    def waiting(self, now: int, at: Offsets) -> Load:
        """What that poll() finds, if the flow has processed up to ``at``. Shape (n_held,)."""
        held = self._client.consumption.partitions.tolist()
        returned = [self._returned.get(one, offset) for one, offset in zip(held, at.tolist(), strict=True)]
        return self._load(now, np.minimum(at, np.array(returned, np.int64)))

    # --- pace ---------------------------------------------------------------------------------------------------------

    def load(self, now: int, at: Offsets) -> Load:
        """What there is to do of what is consumed, from offsets ``at`` on. Shape (n_held,)."""
        return self.waiting(now, at) if now == self._late_us else self._load(now, at)

    def _load(self, now: int, at: Offsets) -> Load:
        held = self._client.consumption.partitions
        return Load(self._ledger.rate_of(held), float(np.maximum(self._ledger.produced(now, held) - at, 0).sum()))

    def pace(self, partitions: int, load: Load) -> Pace:
        """How the member paces its polls with so many partitions."""
        client, timing, bounds = self._client, self._client.world.timing, self.bounds
        each = bounds.records_per_fetch() if bounds.are_felt else timing.records_per_fetch
        fetched = bounds.rate(client.consumption.partitions) if bounds.are_felt else UNBOUNDED
        most = min(client.config.max_poll_records, partitions * each)
        return pace(client.processing, most, timing.poll_us, load, client.consumer.slowdown(), fetched)

    def hand_over(self, now: int, slowdown: float) -> tuple[int, int | None, int]:
        """What the next schedule begins with: its start, ``before`` and ``held_until`` of `PollSchedule`."""
        old = self._poll_loop.schedule
        if old is None:
            self.refers = False
            return now, now, NOT_INSIDE
        at = self._poll_loop.goes_on_at(now)
        if old.events is not None:
            self.refers = old.events.refers_before(old.next_poll(at))
        if isinstance(old, DrawnPollSchedule):
            self.batches = old.number_at(old.next_poll(at))
        start, before, held_until = old.hand_over(now, slowdown, at)
        return start, before, held_until

    def new_schedule(
        self, start: int, paced: Pace, load: Load, before: int | None, held_until: int = NOT_INSIDE
    ) -> PollSchedule:
        """Polls from ``start`` on."""
        schedule = self._polls(start, paced, load, before, held_until)
        if self._poll_loop.has_events:
            schedule.events = PollEvents(
                schedule, self._client.world.timing.poll_us, 1 / load.rate if load.rate else inf,
                refers=self.refers, carry_commits=self._client.machine.commits == "auto",
            )  # fmt: skip
        return schedule

    def _polls(self, start: int, paced: Pace, load: Load, before: int | None, held_until: int) -> PollSchedule:
        processing, fetch_us = self._client.processing, self._poll_loop.interrupted_us
        if processing.per_record.kind == "constant":
            return PollSchedule(start, paced, load, before, held_until, fetch_us)
        return DrawnPollSchedule(
            start, paced, load, before, held_until, fetch_us, cost=self.record_cost, first=self.batches,
            fixed_us=self.fixed_us(paced), record_wait_us=processing.record_wait_us,
        )  # fmt: skip

    @property
    def record_cost(self) -> Draw:
        """What a record of each batch costs, by the number of the batch."""
        client = self._client
        return Draw(client.world.streams.key("per-record", client.label), client.processing.per_record)

    def fixed_us(self, paced: Pace) -> int:
        """What a batch costs beside its records, microseconds."""
        processing = self._client.processing
        mean_us = mean_of(processing.per_record) * paced.slowdown + processing.record_wait_us
        fixed_us: int = round(per_batch_us(processing, paced.full_records * mean_us, paced.slowdown))
        return fixed_us
