"""Causes of unread time by code, in the order of `sim.tables.CAUSES`; what is served has none.

Finer codes tell what a partition of a group without a barrier waits for, or how brokers keep it from being read. They
count as one of the causes, so that rows of every protocol add up alike, and are its ``detail`` in the table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NOT_STARTED, SERVED, UNOWNED, DETECTION, AWAY, BARRIER, ASSIGNMENT, RESUME = -1, 0, 1, 2, 3, 4, 5, 6
REVOCATION, ASSIGNMENT_INTERVAL, HANDOVER = 7, 8, 9
"""Waiting for the donor's acknowledgement, for a target to be computed, and for the new owner's heartbeat."""
CLAIM, BACKOFF, GIVEN_UP, OVERLOOKED = 10, 11, 12, 13
"""Of who is to own it in a group of the ZooKeeper protocol: it works out and claims its part, waits for its next try,
has given up, or has settled on something else.
"""

NO_LEADER, NEW_LEADER, HIGH_WATERMARK, MIN_ISR = 14, 15, 16, 17
"""Of what its owner could read but that the brokers hold it up (`sim.protocol.controller.partition.Holdup`)."""

DETAILS = (
    *("",) * 7, "revocation", "assignment_interval", "handover", "claim", "backoff", "given_up", "overlooked",
    "no_leader", "new_leader", "high_watermark", "min_isr",
)  # fmt: skip
"""The detail of each code from 0 on."""

HELD_UP = np.array([SERVED, NO_LEADER, NEW_LEADER, HIGH_WATERMARK, MIN_ISR], np.int8)
"""By `Holdup`."""

_COARSE = np.array(
    [*range(7), BARRIER, BARRIER, ASSIGNMENT, ASSIGNMENT, BARRIER, ASSIGNMENT, ASSIGNMENT, *[DETECTION] * 4]
)


def coarse(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes of the causes that these count as. Shape of ``codes``."""
    found: NDArray[np.int64] = _COARSE[codes]
    return found
