"""What poll() returns to an application that reads what comes in jumps, one batch after the other.

What comes in jumps (`sim.arrivals`) cannot be a flow: a poll() returns what is there, ``max.poll.records`` at most, and
what comes while that is processed waits for the next one (``FetchCollector.collectFetch``, Kafka 4.4). So the books
have each batch by itself, processed from its poll() to the next. Beside partitions that are produced to at a rate, the
flow of these is cut at the polls that find something new, and that is all.
"""

from __future__ import annotations

import numpy as np

from groupsim.sim.books.offsets.production import NOWHERE, Offsets
from groupsim.sim.books.offsets.whole_records import equal_shares
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.pace import Pace
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions


class Batches:
    """Those of one client.

    Parameters
    ----------
    client : Incarnation
    poll_loop : PollLoop
    """

    def __init__(self, client: Incarnation, poll_loop: PollLoop) -> None:
        self._poll_loop = poll_loop
        self._consumption = client.consumption
        self._ledger = client.books.ledger
        self._partitions = client.books.partitions
        self._arrivals = client.world.catalog.arrivals
        self._in_hand: tuple[Positions, Offsets] = NO_PARTITIONS, NOWHERE
        """What the last poll() has returned: up to which offsets."""

    @property
    def _are_needed(self) -> bool:
        return not self._arrivals.keys().isdisjoint(self._partitions.topics)

    def offsets(self, now: int) -> Offsets:
        """Where the application goes on. Shape (n_held,).

        If something waits, a poll() that waits for that is over.
        """
        holding, ledger = self._consumption.holding, self._ledger
        at = ledger.positions(holding, now)
        if self._are_needed and (ledger.produced(now, holding.partitions) > at).any() and self._poll_loop.answer(now):
            return ledger.whole_positions(holding, now)
        return at

    def begin(self, now: int, at: Offsets, paced: Pace, schedule: PollSchedule) -> tuple[float, Offsets | None]:
        """How fast the application processes what it has in hand, and how much that is of each; None: it is a flow.

        Parameters
        ----------
        at : int64 array, shape (n_held,)
        paced : Pace
        schedule : PollSchedule
            By which it polls from ``now`` on.

        Returns
        -------
        capacity : float, records per microsecond
        returned : int64 array, shape (n_held,), or None
        """
        held, since = self._consumption.partitions, self._poll_loop.goes_on_at(now)
        is_polling = schedule.start == since
        if not self._are_needed or self._ledger.rate_of(held):
            self._poll_loop.has_news &= not is_polling
            return paced.capacity, None
        waiting = np.maximum(self._ledger.produced(now, held) - at, 0)
        if is_polling:
            returned = self._returned(now, at, waiting, int(paced.full_records))
            self._in_hand = held, at + returned
        else:
            returned = self._left_in_hand(at)
        records, length = int(returned.sum()), schedule.next_poll(since + 1) - since
        self._poll_loop.has_news = records < int(waiting.sum())
        # Done when the next poll begins, whatever rounding makes of the quotient.
        return (records / max(length - 1, 1) if records else paced.capacity), returned

    def _returned(self, now: int, at: Offsets, waiting: Offsets, most: int) -> Offsets:
        """How many records of each partition a poll() returns, if so many wait. Shape (n_held,).

        Of each the same, and what is left over of those that have waited longest.
        """
        returned = equal_shares(waiting, most)
        left = min(most, int(waiting.sum())) - int(returned.sum())
        if left:
            others = np.flatnonzero(waiting > returned)
            held = self._consumption.partitions[others].astype(np.intp)
            oldest = np.argsort(-self._ledger.age(now, held, at[others] + returned[others]), kind="stable")
            returned[others[oldest[:left]]] += 1
        return returned

    def _left_in_hand(self, at: Offsets) -> Offsets:
        """What is to do of the batch in hand, while others may have come and gone. Shape (n_held,)."""
        partitions, ends = self._in_hand
        known = dict(zip(partitions.tolist(), ends.tolist(), strict=True))
        held = self._consumption.partitions.tolist()
        return np.array([max(known.get(one, 0) - offset, 0) for one, offset in zip(held, at.tolist(), strict=True)])
