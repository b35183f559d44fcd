"""Commits of partitions that do not exist any more: their broker refuses these itself, and passes on the rest.

Who commits hears UNKNOWN_TOPIC_OR_PARTITION if the coordinator finds nothing else to object to. Source:
``KafkaApis.handleOffsetCommitRequest`` (Kafka 4.4). A client that still has the topic's id hears UNKNOWN_TOPIC_ID
instead, until its metadata have come: it does the same about it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from groupsim.sim.catalog import Partitions
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.interface import Reply
from groupsim.sim.protocol.messages import Acknowledgement, Error, OffsetCommit

REFUSED = Acknowledgement(Error.UNKNOWN_TOPIC_OR_PARTITION)


def known_part(partitions: Partitions, exchange: Exchange) -> Any:
    """What is passed on of a request; None: nothing is left of it."""
    body = exchange.body
    if not isinstance(body, OffsetCommit):
        return body
    is_gone = partitions.are_gone(body.positions)
    if not is_gone.any():
        return body
    exchange.is_cut_short = True
    kept = np.flatnonzero(~is_gone)
    return replace(body, positions=body.positions[kept], offsets=body.offsets[kept]) if kept.size else None


def told(reply: Reply) -> Reply:
    """The answer to who has asked, with what its broker has refused of that."""
    exchange = reply.waiter
    assert isinstance(exchange, Exchange)
    is_refused = exchange.is_cut_short and reply.response.error is Error.NONE
    return Reply(exchange, REFUSED) if is_refused else reply
