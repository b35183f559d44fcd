"""Where somebody begins to read: at an offset that is kept somewhere, or where ``auto.offset.reset`` says."""

from __future__ import annotations

import numpy as np

from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.messages import Positions


def known_offsets(client: Incarnation, positions: Positions, committed: Offsets) -> Offsets:
    """What is committed; or where the application seeks to that keeps its offsets itself, with its results."""
    if client.processing.commit != "outside":
        return committed
    own = client.books.delivery.frontier_of(client.consumer.slot)[positions]
    return np.where(own >= 0, own, committed)


def where_to_begin(config: ClientConfig, ledger: Ledger, now: int | Offsets, positions: Positions) -> Offsets:
    """Where somebody begins to read who has no offset (``AutoOffsetResetStrategy``, Kafka 4.4).

    The log's end, its start, or the first record that is no older than a duration (KIP-1106): the end if there is none.

    Parameters
    ----------
    config : ClientConfig
    ledger : Ledger
    now : int, or int64 array of shape (n,), microseconds
        When the brokers are asked.
    positions : int32 array, shape (n,)
    """
    start = ledger.log_start[positions]
    if config.auto_offset_reset == "earliest":
        return start
    if config.auto_offset_reset == "latest":
        return ledger.produced(now, positions)
    return np.maximum(ledger.produced_by(now - config.reset_duration_us - 1, positions), start)
