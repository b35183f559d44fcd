"""What a transactional producer sends: batches of what was processed and is not sent yet, with their sequences."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.sim.catalog import Partitions
from groupsim.sim.protocol.producer.batches import Origin, Produce, RecordBatch, sequence_after
from groupsim.sim.protocol.transactions.messages import TopicPartition


class TransactionOutput:
    """Of one producer.

    Parameters
    ----------
    topic : str
    partitions : int
        Of that topic: a record goes to the one with the number of its input partition, modulo this.
    transactional_id : str
    timeout_us : int, microseconds
        ``request.timeout.ms``.
    inputs : Partitions
        What its group reads, by position.

    Attributes
    ----------
    sent : dict of int to int
        Input partition -> up to where its output is sent.
    producer_id, epoch : int
        -1: none yet.
    """

    def __init__(
        self, topic: str, partitions: int, transactional_id: str, timeout_us: int, inputs: Partitions
    ) -> None:  # fmt: skip
        self.topic, self.partitions = topic, partitions
        self._inputs = inputs
        self._id, self._timeout_us = transactional_id, timeout_us
        self.sent: dict[int, int] = {}
        self.producer_id = self.epoch = -1
        self._sequences: dict[TopicPartition, int] = {}

    def adopt(self, producer_id: int, epoch: int) -> None:
        """Sequences begin anew with each epoch."""
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences = {}
        self.producer_id, self.epoch = producer_id, epoch

    def take(self, to: Mapping[int, int]) -> Produce | None:
        """Batches of what is not sent yet, up to ``to``, which are sent now; None: there is nothing."""
        origins = tuple(
            Origin(position, self.sent[position], offset)
            for position, offset in sorted(to.items())
            if offset > self.sent.get(position, offset)
        )
        if not origins or self.producer_id < 0:
            return None
        sources: dict[TopicPartition, list[Origin]] = {}
        for one in origins:
            where = (self.topic, int(self._inputs.number[one.position]) % self.partitions)
            sources.setdefault(where, []).append(one)
            self.sent[one.position] = one.last
        return Produce(
            self._id, tuple(self._batch(where, sources[where]) for where in sorted(sources)), self._timeout_us
        )

    def _batch(
        self, where: TopicPartition, origins: list[Origin]
    ) -> tuple[TopicPartition, RecordBatch, tuple[Origin, ...]]:
        first, records = self._sequences.get(where, 0), sum(one.last - one.first for one in origins)
        self._sequences[where] = sequence_after(first, records)
        return where, RecordBatch(records, self.producer_id, self.epoch, first, True), tuple(origins)
