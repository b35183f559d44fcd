"""Answers without records that wait for what others have written: a shard's batch is open, or not committed yet.

Source: ``CoordinatorRuntime.CoordinatorContext.append`` and ``DeferredEventQueue`` (Kafka 4.4): an event that writes
nothing is complete with the open batch, or with the last record written before it; one that throws is complete at once.
"""

from __future__ import annotations

from typing import Any

from groupsim.sim.cluster.groups.group_protocols import CONSUMER_ONLY
from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat
from groupsim.sim.protocol.interface import Outcome, Reply
from groupsim.sim.protocol.messages import Error, Heartbeat, LeaveGroup, OffsetCommit, TxnOffsetCommit


class OpenBatch:
    """What one group has to do with its shard's batch.

    Commits do not count, nor do heartbeats that at most report an epoch: nobody may be looking at who sends them, and
    nothing hangs on when these are answered. Nor do groups whose members are classic ones throughout.

    Parameters
    ----------
    watermark : Watermark
        Of the shard.
    protocols : frozenset of str
        That the group's members use.
    """

    def __init__(self, watermark: Watermark, protocols: frozenset[str]) -> None:
        self._watermark = watermark
        self._is_consumer = protocols == CONSUMER_ONLY
        self._counts = "consumer" in protocols

    def is_met_by(self, now: int, request: object, machine: Any) -> bool:
        """Whether a request counts that ``machine`` is about to work on."""
        if not self._counts or isinstance(request, (OffsetCommit, TxnOffsetCommit)):
            return False
        return not (self._is_consumer and machine.outlook.concerns_nobody(now, request))

    def add(self, now: int, outcome: Outcome) -> list[Reply]:
        """Take in what a request that counts has led to: answers, withdrawn from it, that wait until `committed_us`."""
        mark = self._watermark
        if outcome.batch is None:
            return withdraw(outcome) if mark.committed_us > now else []
        if outcome.batch.records and not mark.is_stalled:
            mark.committed_us = max(mark.committed_us, mark.passes(now + outcome.charged_us))
        return []

    @property
    def committed_us(self) -> int:
        """When all is committed that has been added so far, microseconds."""
        return self._watermark.committed_us


def withdraw(outcome: Outcome) -> list[Reply]:
    """Take the answers out of an outcome that wait for the log."""
    waiting = [reply for reply in outcome.replies if _waits_for_log(reply)]
    if waiting:
        outcome.replies = [reply for reply in outcome.replies if not _waits_for_log(reply)]
    return waiting


def _waits_for_log(reply: Reply) -> bool:
    """Whether an answer comes of a write operation that writes nothing; errors that are thrown are answered at once."""
    assert isinstance(reply.waiter, Exchange)
    is_write = isinstance(reply.waiter.body, (Heartbeat, LeaveGroup, ConsumerGroupHeartbeat))
    return is_write and reply.response.error in (Error.NONE, Error.REBALANCE_IN_PROGRESS)
