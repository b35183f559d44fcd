"""How fast a member goes through its poll loop: what passes take, and how it catches up with what it has to do."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

from groupsim.sim.client.polling.settling import Batch, settle
from groupsim.sim.elementwise import choose, least, most, nearest, whole
from groupsim.sim.model import Processing
from groupsim.sim.randomness import mean_of

ENDLESS = 1_000_000_000
"""Full passes of a member that cannot keep up."""


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

    def after(self, span_us: Any, capacity: Any) -> Load:
        """What is left after a stretch of processing as quickly as it can."""
        return Load(self.rate, most(self.backlog - span_us * (capacity - self.rate), 0.0))


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
    batch : Batch
        What passes in between take.
    """

    full_us: Any
    full_wait_us: Any
    full_records: Any
    steady_us: Any
    steady_wait_us: Any
    steady_records: Any
    capacity: Any
    slowdown: Any
    batch: Batch = Batch()


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
    batch = Batch(fixed, cost, fetched, poll_us)
    longest, wait = batch.lasts(most_records)
    is_idle, spare = rate * timeout < 1, 1 - rate * cost
    # Idle members and those that cannot keep up have no such length; what they divide by does not matter.
    needed = most(most(fixed / choose(spare > 0, spare, 1.0), fixed + cost), 1 / choose(rate > 0, rate, 1.0))
    length = most(nearest(choose(spare <= 0, longest, least(longest, needed))), 1)
    busy = nearest(each + rate * length * cost)
    steady_wait = least(choose(length < longest, most(length - busy, 0), wait), length)
    steady = choose(is_idle, timeout, length)
    return Pace(
        longest,
        wait,
        most_records,
        steady,
        choose(is_idle, timeout, steady_wait),
        rate * steady,
        most_records / longest,
        slowdown,
        batch,
    )


def per_batch_us(processing: Processing, records_us: Any, slowdown: Any) -> Any:
    """What a batch costs beside its records, which take ``records_us`` if it is full, microseconds.

    Who waits for a commit by a clock of its own waits after one batch of many: each has its share of that.
    """
    own, every_us = processing.per_poll_us * slowdown, processing.commit_every_us
    batch_us = most(own + records_us, 1)
    return own + processing.batch_wait_us * (batch_us / most(batch_us, every_us) if every_us else 1)


def catching_up(pace: Pace, load: Load) -> tuple[Any, Any]:
    """Full passes while there is more than a batch to do (`ENDLESS`: the member cannot keep up), and those that follow.

    The second is what `sim.client.polling.settling.settle` gives.
    """
    rate, backlog = load.rate, load.backlog
    spare, excess = (pace.capacity - rate) * pace.full_us, backlog - pace.full_records
    needed = whole(least(most(excess, 0.0) / choose(spare > 0, spare, 1.0), float(ENDLESS))) + (excess >= 0)
    full = choose(spare <= 0, ENDLESS, least(needed, ENDLESS))
    # What is produced comes in parts of records; where nothing comes, one record that waits takes a pass of its own.
    is_behind = backlog > choose(rate > 0, most(pace.steady_records, 1.0), 0.0)
    left = choose(full > 0, backlog - full * spare, backlog)
    is_on = choose(full > 0, left >= pace.steady_records + 1, is_behind) & (spare > 0) & (full < ENDLESS)
    return full, settle(pace.batch, rate, left, pace.steady_records, is_on)
