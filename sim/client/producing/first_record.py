"""Which record of a batch is processed first, and when: its output opens the transaction of that batch.

A flow has no order: of what is there the record that has waited longest is first, and takes what a record takes. Where
each record is followed (``data: exact``) it is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from groupsim.sim.books.offsets.exact_ledger import ExactLedger
from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.units import FOREVER


class FirstRecord(NamedTuple):
    """The first record of a batch.

    Parameters
    ----------
    position : int
        Its partition; -1: there is none.
    is_done : bool
        Whether it has been processed by now, if this is asked when it was due.
    due_us : int, microseconds
        When it is processed; `FOREVER`: there is none.
    """

    position: int
    is_done: bool
    due_us: int


NOTHING = FirstRecord(-1, False, FOREVER)


def first_of_flow(ledger: Ledger, now: int, begun: Mapping[int, int], returns_us: int, cost_us: int) -> FirstRecord:
    """Of partitions that have records from ``begun`` on: that of the record which has waited longest.

    ``returns_us``: when poll() returns what is there; one that waits returns with the record.
    """
    positions = np.array(sorted(begun), np.intp)
    born = now - ledger.age(now, positions, np.array([begun[one] for one in sorted(begun)], np.int64))
    first = int(born.argmin())
    there_us = int(born[first])
    return FirstRecord(int(positions[first]), there_us < now, max(returns_us, there_us) + cost_us)


def first_of_records(
    ledger: ExactLedger, holding: Holding, now: int, begun: Mapping[int, int], done: Mapping[int, int], until: int
) -> FirstRecord:
    """The record that is processed first of those from ``begun`` on that poll() returns by ``until``.

    ``done``: up to where partitions have been processed by now.
    """
    processed = [one for one in sorted(begun) if done.get(one, -1) > begun[one]]
    if processed:
        return FirstRecord(processed[0], True, now + 1)
    position, done_us = ledger.first_done(holding, begun, until)
    return FirstRecord(position, False, done_us)
