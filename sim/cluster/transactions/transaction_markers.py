"""Markers on their way from coordinators of transactions to leaders, and what waits until it can be sent or written.

A marker whose partition nobody leads, or whose leader cannot be reached, is held, and sent when that is over: Kafka's
coordinator asks again and again.

Source: ``TransactionMarkerChannelManager``, ``TransactionMarkerRequestCompletionHandler``,
``KafkaApis.handleWriteTxnMarkersRequest`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import NamedTuple

from groupsim.sim.cluster.groups.coordinator import Coordinator
from groupsim.sim.cluster.topics.output_partitions import OutputPartitions
from groupsim.sim.cluster.transactions.transaction_shard import TransactionShard
from groupsim.sim.kernel.environment import Environment, Kind, message_key
from groupsim.sim.protocol.controller.partition import OFFSETS_TOPIC, Name
from groupsim.sim.protocol.transactions.messages import TopicPartition, WriteTxnMarkers
from groupsim.sim.randomness import name_hash


@cache
def answer_key(partition: TopicPartition) -> int:
    """Of the answer of a partition's leader to the coordinator."""
    return message_key(name_hash(partition[0], str(partition[1])), Kind.RESPONSE)


class _Sent(NamedTuple):
    """A marker of a group's transaction, and the broker on which its coordinator was when that was decided."""

    shard: TransactionShard
    node: int
    group: str
    markers: WriteTxnMarkers


class TransactionMarkers:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    coordinators : mapping of int to Coordinator
        Of groups, by offsets partition.
    output : OutputPartitions
    are_cut : callable
        Whether nothing gets through between two brokers.
    trip_us, append_us : int, microseconds
        Of a message between brokers, and of an append.
    """

    def __init__(
        self, env: Environment, coordinators: Mapping[int, Coordinator], output: OutputPartitions,
        are_cut: Callable[[int, int], bool], trip_us: int, append_us: int,
    ) -> None:  # fmt: skip
        self._env = env
        self._coordinators = coordinators
        self._output = output
        self._are_cut = are_cut
        self._trip_us, self._append_us = trip_us, append_us
        self._unwritten: dict[TopicPartition, list[_Sent]] = {}
        """Markers that wait for a leader, or for a link to it."""

    def send(self, shard: TransactionShard, group: str, markers: WriteTxnMarkers) -> None:
        """Every leader is told that can be reached."""
        sent, there = _Sent(shard, shard.node, group, markers), []
        for partition in markers.partitions:
            if self._reaches(sent, partition):
                there.append(partition)
            else:
                self._hold(sent, partition)
        if there:
            self._tell(sent, there)

    def _tell(self, sent: _Sent, partitions: Iterable[TopicPartition]) -> None:
        self._env.at(self._env.now + self._trip_us, sent.shard.key, self._arrive, (sent, partitions))

    def _hold(self, sent: _Sent, partition: TopicPartition) -> None:
        self._unwritten.setdefault(partition, []).append(sent)

    def _arrive(self, what: tuple[_Sent, Iterable[TopicPartition]]) -> None:
        """Leaders write a marker, each as soon as it can; the coordinator hears of it when it is replicated."""
        (shard, _, _, markers), partitions = sent, _ = what
        if markers.coordinator_epoch != shard.epoch:
            return  # whoever coordinates now has sent its own
        written = [partition for partition in partitions if self._write(sent, partition)]
        if written:
            key = max(answer_key(partition) for partition in written)
            shard.marked_at((self._env.now + self._append_us + self._trip_us, key), markers, written)

    def _write(self, sent: _Sent, partition: TopicPartition) -> bool:
        """Whether it is written: else it waits until the partition can be written to, or never is.

        A log that knows a higher epoch refuses it (INVALID_PRODUCER_EPOCH), and the coordinator sends nothing more of
        the transaction, which is never complete. That is so only where ``__transaction_state`` has lost something.
        """
        if not self._is_writable(partition):
            self._hold(sent, partition)
            return False
        if partition[0] == OFFSETS_TOPIC:
            return self._end_offsets(partition[1], sent.markers)
        return self._output.mark(partition, sent.markers, sent.group)

    def _is_writable(self, partition: TopicPartition) -> bool:
        """Whether somebody leads it, and what is written is committed."""
        if partition[0] == OFFSETS_TOPIC:
            return self._coordinators[partition[1]].is_serving
        return self._output.follows(partition)

    def _reaches(self, sent: _Sent, partition: TopicPartition) -> bool:
        """Whether the coordinator reaches who leads a partition, or led it last."""
        is_offsets = partition[0] == OFFSETS_TOPIC
        leader = self._coordinators[partition[1]].node if is_offsets else self._output.leader_of(partition)
        return leader == sent.node or not self._are_cut(sent.node, leader)

    def _end_offsets(self, number: int, markers: WriteTxnMarkers) -> bool:
        fenced, groups = self._coordinators[number].fenced, self._coordinators[number].groups
        if markers.epoch < fenced.get(markers.producer_id, markers.epoch):
            return False
        fenced[markers.producer_id] = markers.epoch
        for name in sorted(groups):
            groups[name].end_transaction(markers.producer_id, is_committed=markers.is_committed)
        return True

    # --- the cluster --------------------------------------------------------------------------------------------------

    def served(self, name: Name) -> None:
        """Markers that wait for a leader of this partition are sent again, if there is one."""
        if name in self._unwritten and self._is_writable(name):
            for sent in self._unwritten.pop(name):
                if self._reaches(sent, name):
                    self._tell(sent, (name,))
                else:
                    self._hold(sent, name)

    def rewired(self) -> None:
        """Links between brokers were cut, or are whole again."""
        for name in list(self._unwritten):
            self.served(name)
