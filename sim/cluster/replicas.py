"""What brokers that die or are cut off do not have, and what is gone when one of them leads.

Data partitions lose records (`sim.books.truncation`), offsets partitions what groups have written down, partitions of
``__transaction_state`` what their coordinators have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.coordinator import Coordinator
from groupsim.sim.cluster.interface import Audience
from groupsim.sim.cluster.transactions.transaction_shard import TransactionShard
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.partition import INTERNAL_TOPICS, NO_LEADER, OFFSETS_TOPIC, Name
from groupsim.sim.protocol.controller.replica_logs import Acks, Gap, ReplicaLogs
from groupsim.sim.protocol.controller.replication import ReplicationControl
from groupsim.sim.randomness import Streams

_COORDINATORS_ACKS: Final[Acks] = "all"
_PERMILLE: Final = 1000


class Replicas:
    """All replicas of a cluster.

    Parameters
    ----------
    env : Environment
    streams : Streams
    cluster : Cluster
    catalog : Catalog
    coordinators : mapping of int to Coordinator
    of_transactions : mapping of Name to TransactionShard
    control : ReplicationControl
    audience : Audience
    is_asked_for : bool
        An administrator asks some time for any leader of ``__consumer_offsets``.
    """

    def __init__(
        self, env: Environment, streams: Streams, cluster: Cluster, catalog: Catalog,
        coordinators: Mapping[int, Coordinator], of_transactions: Mapping[Name, TransactionShard],
        control: ReplicationControl, audience: Audience, *, is_asked_for: bool,
    ) -> None:  # fmt: skip
        self._env = env
        self._streams = streams
        self._latency = cluster.network.latency
        self._catalog = catalog
        self._coordinators, self._of_transactions = coordinators, of_transactions
        self._control = control
        self._audience = audience
        self._is_asked_for = is_asked_for
        self._logs = ReplicaLogs()
        self._led: dict[Name, int] = {}
        """Who led each partition that has ever changed its leader, or led it last."""
        self._unanswered: dict[int, tuple[int, int]] = {}
        """Broker that has died -> for how long its followers had not fetched then, and how long a request takes."""

    def go_down(self, node: int, number: int) -> None:
        """A broker's process ends, for the ``number``-th time."""
        key = self._streams.key("replication", node, number)
        there, back = (self._streams.draw(self._latency, "replication", node, number)(way) for way in (0, 1))
        self._unanswered[node] = (there + back) * (key % _PERMILLE) // _PERMILLE, there
        self.fall_behind(node, [name for name, state in self._control.partitions.items() if node in state.replicas])

    def fall_behind(self, node: int, names: Iterable[Name]) -> None:
        """A broker follows nobody in these from now on."""
        for name in names:
            state = self._control.partitions[name]
            self._led.setdefault(name, state.leader)
            self._logs.fall_behind(name, node, self._env.now)
            coordinator = self._coordinator(name)
            if coordinator is not None and (state.is_unclean or self._is_asked_for):
                self._audience.disturb(coordinator.groups)
                coordinator.fall_behind(node)
            if name in self._of_transactions:
                self._of_transactions[name].fall_behind(node)

    def _coordinator(self, name: Name) -> Coordinator | None:
        return self._coordinators.get(name[1]) if name[0] == OFFSETS_TOPIC else None

    def catch_up(self, node: int, names: Iterable[Name]) -> None:
        """A broker has what the leaders of these have, where it is in sync."""
        for name in names:
            if node in self._control.partitions[name].isr and self._logs.is_behind(name, node):
                self._catch_up(name, node)

    def isolate(self, node: int, since_us: int, names: Iterable[Name]) -> None:
        """A broker that runs is about to be fenced: nobody has followed it in what it leads since ``since_us``."""
        self._unanswered[node] = self._env.now - since_us, 0
        for name in names:
            self._led.setdefault(name, node)
            self._logs.fall_behind(name, node, self._env.now)
            self._logs.observe(self._env.now, name, self._control.partitions[name], (node,))

    def _catch_up(self, name: Name, node: int) -> None:
        self._logs.catch_up(name, node)
        coordinator = self._coordinator(name)
        if coordinator is not None:
            coordinator.catch_up(node)
        if name in self._of_transactions:
            self._of_transactions[name].catch_up(node)

    def observe(self, name: Name, silent: Collection[int]) -> None:
        """A leader or a high watermark may have changed; ``silent``: who is in sync and does not follow."""
        self._logs.observe(self._env.now, name, self._control.partitions[name], silent)

    def elect(self, names: Iterable[Name]) -> list[Name]:
        """Somebody else may lead these: what it lacks is gone; those that somebody else leads."""
        gaps: dict[Name, Gap] = {}
        new: list[Name] = []
        for name in names:
            state = self._control.partitions[name]
            former = self._led.get(name, NO_LEADER)
            if state.leader == NO_LEADER:
                continue
            if state.leader != former:
                new.append(name)
            self._led[name] = state.leader
            if state.leader == former and not self._logs.is_behind(name, former):
                continue
            if name[0] not in INTERNAL_TOPICS:
                self._cut(name, state.leader, former, is_unclean=state.has_lost)
            if name in self._of_transactions:
                self._audience.transactions_lost(name, state.leader)
            gap = self._gap(name, state.leader, former, has_lost=state.has_lost)
            coordinator = self._coordinator(name)
            if gap is not None and coordinator is not None:
                coordinator.cut_back(state.leader)
            elif gap is not None:
                gaps[name] = gap
            self._catch_up(name, state.leader)
        if gaps:
            self._audience.records_lost(gaps)
        return new

    def _cut(self, name: Name, leader: int, former: int, *, is_unclean: bool) -> None:
        """What the leader lacks of the former one's log, whoever has been told what of it."""
        unanswered_us = self._unanswered.get(former, (0, 0))[0] if leader != former else 0
        lacks = self._logs.elect(name, leader, "1", unanswered_us, has_lost=is_unclean)
        if lacks is not None:
            self._audience.log_cut(name, lacks.from_us, is_unclean=is_unclean)

    def _gap(self, name: Name, leader: int, former: int, *, has_lost: bool) -> Gap | None:
        acks = self._catalog.specs[name[0]].acks if name[0] not in INTERNAL_TOPICS else _COORDINATORS_ACKS
        unanswered_us, trip_us = self._unanswered.get(former, (0, 0))
        if acks == "0":
            unanswered_us += trip_us  # what was on its way when the leader died
        return self._logs.elect(name, leader, acks, unanswered_us if leader != former else 0, has_lost=has_lost)
