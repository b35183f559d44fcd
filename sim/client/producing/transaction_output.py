"""What a transactional producer sends: batches of what was processed and is not sent yet, with their sequences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
        self._gaps: dict[int, list[tuple[int, int]]] = {}
        """Input partition -> offsets beyond ``sent`` of which there are no records any more."""

    def adopt(self, producer_id: int, epoch: int) -> None:
        """Sequences begin anew with each epoch."""
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences = {}
        self.producer_id, self.epoch = producer_id, epoch

    def begin_at(self, begun: Mapping[int, int]) -> None:
        """Nothing beyond ``begun`` is sent."""
        self.sent, self._gaps = dict(begun), {}

    def skip(self, position: int, at: int, to: int) -> None:
        """There are no records of [at, to) any more, and what is processed goes on behind them."""
        if position in self.sent and self.sent[position] < at:
            self._gaps.setdefault(position, []).append((at, to))
        elif position in self.sent:
            self.sent[position] = max(to, self.sent[position])

    def _unsent(self, position: int, to: int) -> Iterator[Origin]:
        """What is processed up to ``to`` and not sent yet, which then is."""
        first = self.sent.get(position, to)
        for at, end in self._gaps.pop(position, ()):
            yield Origin(position, first, at)
            first = end
        yield Origin(position, first, to)

    def take(self, to: Mapping[int, int]) -> Produce | None:
        """Batches of what is not sent yet, up to ``to``, which are sent now; None: there is nothing."""
        if self.producer_id < 0:
            return None
        unsent = (one for position, offset in sorted(to.items()) for one in self._unsent(position, offset))
        origins = tuple(one for one in unsent if one.last > one.first)
        if not origins:
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


def partitions_of(body: Produce) -> set[TopicPartition]:
    """All that a request writes to."""
    return {partition for partition, _, _ in body.batches}
