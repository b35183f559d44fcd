"""A cluster of one transaction coordinator and some partitions, in which everything happens at once, for tests."""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import Any

from groupsim.sim.config import TransactionConfig
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import ProduceResponse, RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.transactions.coordinator import Decision, TransactionCoordinator
from groupsim.sim.protocol.transactions.messages import (
    TV2,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    TopicPartition,
    TransactionRequest,
    WriteTxnMarkers,
)
from groupsim.sim.protocol.transactions.records import TransactionRecord
from groupsim.sim.units import S
from tests.support.turns import Turns

T0: TopicPartition = ("t0", 0)
T1: TopicPartition = ("t1", 0)


class TransactionScene:
    """Appends are committed at once, unless ``is_slow``; markers are written at once, unless ``holds_markers``."""

    def __init__(self, version: int = TV2, **config: Any) -> None:
        self.config = TransactionConfig(version=version, **config)
        self.version = version
        self.ids = count(1000)
        self.coordinator = TransactionCoordinator(self.config, lambda: next(self.ids), loaded_us=-1 * S)
        self.logs = {T0: PartitionLog(), T1: PartitionLog()}
        self.now = 0
        self.is_slow = False
        self.holds_markers = False
        self.unlogged: deque[tuple[int, TransactionRecord]] = deque()
        self.written: list[TransactionRecord] = []
        self.markers: deque[tuple[WriteTxnMarkers, TopicPartition]] = deque()
        self.replies: dict[object, Any] = {}

    # --- the cluster --------------------------------------------------------------------------------------------------

    def carry_out(self, decision: Decision) -> None:
        for reply in decision.replies:
            self.replies[reply.waiter] = reply.response
        for batch in decision.batches:
            self.unlogged.append((batch.number, batch.records[0]))
        for markers in decision.markers:
            self.markers.extend((markers, one) for one in markers.partitions)
        self.go_on()

    def go_on(self) -> None:
        turns = Turns()
        while (self.unlogged and not self.is_slow) or (self.markers and not self.holds_markers):
            turns.take()
            if self.unlogged and not self.is_slow:
                self.append()
            else:
                self.mark()

    def append(self, error: Error = Error.NONE) -> None:
        number, record = self.unlogged.popleft()
        if error is Error.NONE:
            self.written.append(record)
        self.carry_out(self.coordinator.on_appended(self.now, number, error))

    def mark(self, error: Error | None = None) -> Error:
        markers, partition = self.markers.popleft()
        if error is None:
            error = self.logs[partition].mark(self.now, markers).error if partition in self.logs else Error.NONE
            if partition in self.logs:
                self.logs[partition].advance()
        self.carry_out(self.coordinator.on_marker(self.now, markers, partition, error))
        return error

    def wait_until(self, seconds: float) -> None:
        """Let time pass, with every scan that finds something."""
        until = round(seconds * S)
        turns = Turns()
        while self.coordinator.deadline <= until:
            turns.take()
            self.now = self.coordinator.deadline
            self.carry_out(self.coordinator.on_deadline(self.now))
        self.now = until

    def reload(self, epoch: int = 1) -> None:
        """The broker dies, and another one reads the log."""
        self.unlogged.clear()
        self.markers.clear()
        successor = TransactionCoordinator(self.config, lambda: next(self.ids), -1 * S, epoch)
        for record in self.written:
            successor.replay(record)
        self.coordinator = successor
        self.carry_out(successor.on_loaded(self.now))

    # --- clients ------------------------------------------------------------------------------------------------------

    def ask(self, request: TransactionRequest) -> Any:
        waiter = object()
        self.carry_out(self.coordinator.on_request(self.now, request, waiter))
        return self.replies.get(waiter)

    def init(self, name: str = "X", *, timeout_us: int = 60 * S, producer_id: int = -1, epoch: int = -1) -> Any:
        return self.ask(InitProducerId(name, timeout_us, producer_id, epoch))

    def add(self, name: str, producer_id: int, epoch: int, partition: TopicPartition = T0) -> Error:
        request = AddPartitionsToTxn(name, producer_id, epoch, (partition,), self.version)
        return self.ask(request).error  # type: ignore[no-any-return]

    def end(self, name: str, producer_id: int, epoch: int, *, commit: bool) -> Any:
        return self.ask(EndTxn(name, producer_id, epoch, commit, self.version))

    def send(
        self, name: str, producer_id: int, epoch: int, sequence: int = 0, records: int = 1, to: TopicPartition = T0
    ) -> ProduceResponse:
        """A produce request of a transaction: its broker adds the partition first, if it opens something there."""
        log = self.logs[to]
        batch = RecordBatch(records, producer_id, epoch, sequence, True)
        needed = log.needs_verification(batch)
        if isinstance(needed, Error):
            return ProduceResponse(needed)
        if needed:
            error = self.add(name, producer_id, epoch, to)
            if error is not Error.NONE:
                # A producer is told that its epoch is old, so that it can abort and go on.
                told = Error.INVALID_PRODUCER_EPOCH if error is Error.PRODUCER_FENCED else error
                return ProduceResponse(told)
            log.verified(producer_id, self.version)
        response = log.append(self.now, batch)
        log.advance()
        return response
