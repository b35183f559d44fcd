"""Leaders of the partitions of output topics: they append, wait for those in sync, and answer.

A broker whose request names partitions of several leaders stands for all of them; that each leads is asked of the
catalog. What is appended while a high watermark stands still is answered, and seen by readers, when it follows again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from groupsim.sim.books.producing.output_history import NOTHING_WRITTEN, Column, OutputHistory
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.topics.output_log import OutputLog
from groupsim.sim.cluster.topics.output_readers import OutputReaders
from groupsim.sim.kernel.environment import Environment, Kind, Occurrence, deadline_key
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.controller.replication import ReplicationControl
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import Produce
from groupsim.sim.protocol.transactions.messages import TopicPartition, WriteTxnMarkers
from groupsim.sim.randomness import name_hash

Answer = Callable[[Exchange, Error, int], None]
"""Given a request, its answer, and after how long that goes out, microseconds."""


@dataclass(eq=False, slots=True)
class _Waiting:
    exchange: Exchange
    ends: dict[TopicPartition, int]
    timer: Occurrence
    is_lost: bool = False
    """Another broker leads one of the partitions, and lacks what was brought for it."""


class OutputPartitions:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    catalog : Catalog
    groups : mapping of str to GroupHost
    brokers : mapping of int to Broker
    version : int
        Level of transaction.version.
    append_us : int, microseconds
        From an append until the high watermark has passed it.
    answer : callable
    readers : OutputReaders

    Attributes
    ----------
    control : ReplicationControl or None
        Who is in sync; None: everybody, since nothing happens to brokers.
    logs : dict of (topic, number) to OutputLog
        Partitions that have been written to.
    tellers : list of callable
        Of those who tell what has been written late: before which time each has told all, microseconds.
    """

    def __init__(
        self, env: Environment, catalog: Catalog, groups: Mapping[str, GroupHost], brokers: Mapping[int, Broker],
        version: int, append_us: int, answer: Answer, readers: OutputReaders,
    ) -> None:  # fmt: skip
        self._env = env
        self._catalog, self._groups, self._brokers = catalog, groups, brokers
        self._version, self._append_us, self._answer, self._readers = version, append_us, answer, readers
        self.control: ReplicationControl | None = None
        self.logs: dict[TopicPartition, OutputLog] = {}
        self.tellers: list[Callable[[], int]] = []
        self._history = OutputHistory(lambda: min([env.now, *(told_us() for told_us in self.tellers)]))
        self._waiting: list[_Waiting] = []
        self._key = deadline_key(name_hash("output partitions"), Kind.TIMER)

    def of(self, partition: TopicPartition, group: str) -> OutputLog:
        """A partition's log; the first that writes to it is its group."""
        if partition not in self.logs:
            books, note = self._groups[group].books.transactions, partial(self._history.note, partition)
            log = self.logs[partition] = OutputLog(group, books, self._version, note)
            if partition[0] in self._readers.arrivals:
                log.show = partial(self._readers.show, partition)
                log.hide = partial(self._readers.hide, partition)
        return self.logs[partition]

    # --- who leads ----------------------------------------------------------------------------------------------------

    def refusal(self, exchange: Exchange) -> Error:
        """Why a request is not worked on by whom it has reached; NONE: it is."""
        body: Produce = exchange.body
        leaders = [self.leader_of(partition) for partition, _, _ in body.batches]
        if leaders[0] != exchange.connection.node or not all(self._brokers[node].is_up for node in leaders):
            return Error.NOT_LEADER_OR_FOLLOWER
        is_enough = all(self._accepts(partition) for partition, _, _ in body.batches)
        return Error.NONE if is_enough else Error.NOT_ENOUGH_REPLICAS

    def _accepts(self, partition: TopicPartition) -> bool:
        return self.control is None or self.control.partitions[partition].accepts

    def leader_of(self, partition: TopicPartition) -> int:
        """Who leads it, or led it last."""
        return self._catalog.leader_of(*partition)

    def follows(self, partition: TopicPartition) -> bool:
        """Whether somebody leads it, and what is appended is committed."""
        return partition not in self._catalog.unreadable

    # --- data and markers ---------------------------------------------------------------------------------------------

    def append(self, exchange: Exchange) -> None:
        """Append what a request brings; it is answered when all in sync have that."""
        body: Produce = exchange.body
        ends: dict[TopicPartition, int] = {}
        for partition, batch, origins in body.batches:
            log = self.logs[partition]
            error, ends[partition] = log.append(self._env.now, batch, body.transactional_id, origins)
            if self.follows(partition):
                log.commit(self._env.moment)
            if error is not Error.NONE:
                self._answer(exchange, error, 0)
                return
        if self._are_committed(ends):
            self._answer(exchange, Error.NONE, self._append_us)
        else:
            timer = self._env.at(self._env.now + body.timeout_us, self._key, self._time_out, exchange)
            self._waiting.append(_Waiting(exchange, ends, timer))

    def _time_out(self, exchange: Exchange) -> None:
        self._waiting = [one for one in self._waiting if one.exchange is not exchange]
        self._answer(exchange, Error.REQUEST_TIMED_OUT, 0)

    def _are_committed(self, ends: Mapping[TopicPartition, int]) -> bool:
        return all(end <= self.logs[partition].log.high_watermark for partition, end in ends.items())

    def mark(self, partition: TopicPartition, markers: WriteTxnMarkers, group: str) -> bool:
        """Whether a leader writes a marker of a group's transaction, even if nothing came of that to the partition."""
        log = self.of(partition, group)
        is_written = log.mark(self._env.now, markers)
        log.commit(self._env.moment)
        return is_written

    def pass_over(
        self, topic: str, group: str, numbers: Column, time: Column, key: Column, producer_id: Column, records: Column
    ) -> None:  # fmt: skip
        """A group's members have written batches and markers that nobody has looked at. Shapes (n,)."""
        there = np.flatnonzero(np.bincount(numbers)).tolist()
        for number in there:
            self.of((topic, number), group)
        place = np.zeros(there[-1] + 1, np.int64)
        place[there] = [self._history.place_of((topic, number)) for number in there]
        self._history.note_all(place[numbers], time, key, producer_id, records)

    def settle(self) -> None:
        """All is told before the time that each of ``tellers`` says."""
        self._history.settle()

    # --- the cluster --------------------------------------------------------------------------------------------------

    def cut(self, partition: TopicPartition, after_us: int, *, is_unclean: bool) -> dict[str, int]:
        """Somebody leads who lacks what was written after that; who waits for some of it will be told so.

        How many records are gone that readers of each isolation level have been shown; none where nobody reads.
        """
        if partition not in self.logs:
            return {}
        log = self.logs[partition]
        if log.cut(after_us, is_unclean=is_unclean):
            self._history.begin_anew(partition, self._env.now)
            log.show_again(self._env.moment)
        for one in self._waiting:
            one.is_lost |= one.ends.get(partition, 0) > log.log.end
        return self._readers.hidden()

    def changed(self, partitions: Iterable[TopicPartition]) -> None:
        """Others lead these, or their high watermarks follow again; a former leader answers that it is none."""
        for partition in partitions:
            if partition in self.logs and self.follows(partition):
                self.logs[partition].commit(self._env.moment)
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            is_refused = one.is_lost or self.refusal(one.exchange) is Error.NOT_LEADER_OR_FOLLOWER
            if not is_refused and not self._are_committed(one.ends):
                self._waiting.append(one)
                continue
            one.timer.drop()
            self._answer(one.exchange, Error.NOT_LEADER_OR_FOLLOWER if is_refused else Error.NONE, 0)

    def finish(self, horizon: int) -> None:
        """The horizon: write down what partitions have come to."""
        figures = self._history.figures(horizon)
        for (topic, number), log in sorted(self.logs.items()):
            output = self._groups[log.group].books.transactions.output
            output.append((topic, number, *figures.get((topic, number), NOTHING_WRITTEN)))
