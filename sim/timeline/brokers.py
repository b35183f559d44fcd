"""Lifecycle of brokers: each function is what one firing of an entry does whose target is a broker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from simpy.events import ProcessGenerator

from groupsim.sim.cluster.controller import Controller
from groupsim.sim.cluster.groups.coordinator import Coordinator
from groupsim.sim.cluster.interface import Shard
from groupsim.sim.cluster.loading import Loading
from groupsim.sim.cluster.partitions import ClusterPartitions
from groupsim.sim.cluster.replicas import Replicas
from groupsim.sim.cluster.shard.log_bytes import GroupBytes
from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.model import ElectLeaders, Kill, Reassign, RollingRestart, StartMembers, Target
from groupsim.sim.model.reading import is_elected_uncleanly
from groupsim.sim.protocol.controller.partition import INTERNAL_TOPICS, OFFSETS_TOPIC, Name
from groupsim.sim.randomness import name_hash
from groupsim.sim.timeline.broker_targets import has_members, meant_brokers
from groupsim.sim.timeline.clients import Clients
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.timeline.rollout import Rollout
from groupsim.sim.timeline.verbs import ACTS
from groupsim.sim.units import MS
from groupsim.sim.world import World

_RECORD_BYTES = 1 << 10
"""As `sim.config.Timing.records_per_fetch` has it."""
_PROBE_US = 100 * MS
"""How often a roll looks whether the broker is in sync again."""


def new_controller(world: World) -> Controller:
    """The controller of a run in whose timeline something happens to brokers."""
    env, cluster, clients = world.env, world.scenario.cluster, Clients(world)
    shards: dict[Name, Shard] = {one.name: one for one in world.coordinators.values()}
    of_transactions = world.transactions.shards if world.transactions is not None else {}
    shards |= of_transactions
    parts = (world.brokers, shards, clients, world.are_cut, world.broker_books)
    partitions = ClusterPartitions(cluster, world.catalog, *parts)
    if world.transactions is not None:
        world.transactions.output.control = partitions.control
    if world.data_logs is not None:
        world.data_logs.control = partitions.control
    logs = (world.catalog, world.coordinators, of_transactions)
    is_asked_for = is_elected_uncleanly(world.scenario, OFFSETS_TOPIC)
    replicas = Replicas(env, world.streams, cluster, *logs, partitions.control, clients, is_asked_for=is_asked_for)
    for group in world.groups.values():
        group.log.size = GroupBytes(group.name, group.books)
    brokers = (env, world.streams, cluster, world.brokers)
    told = (world.catalog, clients, world.news)
    loading = Loading(*brokers, shards, partitions.control, *told, partial(_log_bytes, world))
    return Controller(env, world.streams, cluster, partitions, replicas, loading, clients)


def _coordinator(world: World, name: Name) -> Coordinator | None:
    """That of an internal partition; None: no group writes to it."""
    return world.coordinators.get(name[1]) if name[0] == OFFSETS_TOPIC else None


def _log_bytes(world: World, name: Name) -> int:
    """How long an internal partition's log is; of what no group writes to, as long as it was at first."""
    coordinator = _coordinator(world, name)
    return world.scenario.cluster.offsets_log_bytes if coordinator is None else coordinator.log_bytes


class BrokerFaults:
    """What entries of the timeline do to brokers.

    Parameters
    ----------
    world : World
    controller : Controller
    """

    def __init__(self, world: World, controller: Controller) -> None:
        self._world = world
        self._controller = controller

    def act(self, dispatcher: Dispatcher) -> None:
        """One firing of an entry; what is done to a rack is done to its members too."""
        verb: Any = dispatcher.entry.verb
        if isinstance(verb, ElectLeaders):
            self._controller.elect_leaders(verb.topics, verb.election)
        elif isinstance(verb, Reassign):
            self._reassign(dispatcher, verb)
        else:
            self._change_life(dispatcher, verb)

    def _change_life(self, dispatcher: Dispatcher, verb: Any) -> None:
        if has_members(self._world, verb.target):
            ACTS[type(verb)](dispatcher)
        for node in self._targets(dispatcher, verb.target, must_be_up=not isinstance(verb, StartMembers)):
            dispatcher.note_all(f"broker:{node}")
            if isinstance(verb, StartMembers):
                self._controller.start(node)
            else:
                self._stop(dispatcher, node)

    def _reassign(self, dispatcher: Dispatcher, verb: Reassign) -> None:
        for number in verb.partitions:
            dispatcher.note_all(f"{verb.topic}/{number}")
        names = [(verb.topic, number) for number in verb.partitions]
        took_us = self._controller.reassign(names, verb.replicas, self._bytes_of(names), verb.throttle_bytes_per_s)
        self._world.fault_until(self._world.env.now + took_us)

    def _bytes_of(self, names: Sequence[Name]) -> list[int]:
        """How large logs are: of data partitions what was produced, if anybody reads it, and is not deleted."""
        world, (topic, _) = self._world, names[0]
        if topic in INTERNAL_TOPICS:
            return [self._read_bytes(name) for name in names]
        for group in world.groups.values():
            if topic in group.books.partitions.topics:
                positions, ledger = group.books.partitions.of(topic), group.books.ledger
                records = ledger.produced(world.env.now, positions) - ledger.log_start[positions]
                each = world.catalog.specs[topic].record_bytes or _RECORD_BYTES
                return [int(records[number]) * each for _, number in names]
        return [0] * len(names)

    def _read_bytes(self, name: Name) -> int:
        coordinator = _coordinator(self._world, name)
        if coordinator is not None:
            Clients(self._world).disturb(coordinator.groups)
        return _log_bytes(self._world, name)

    def _stop(self, dispatcher: Dispatcher, node: int) -> None:
        """SIGTERM or SIGKILL, and perhaps a start some time after the process has ended."""
        verb: Any = dispatcher.entry.verb
        if isinstance(verb, Kill) or getattr(verb, "stop", "") == "kill":
            self._controller.kill(node)
        else:
            self._controller.close(node)
            self._lose_patience(node, verb.grace_us)
        down = getattr(verb, "down", None)
        if down is not None:
            down_us = dispatcher.draw("down", f"broker:{node}")(dispatcher.number)
            self._world.env.process(self._start_after(node, down_us))

    def _lose_patience(self, node: int, grace_us: int) -> None:
        """SIGKILL, if the broker still runs when its time is over."""
        broker, env = self._world.brokers[node], self._world.env
        incarnation = broker.incarnation

        def over(_: Any) -> None:
            if broker.is_up and broker.incarnation == incarnation:
                self._controller.kill(node)

        env.at(env.now + grace_us, _key(node, Kind.KILL), over)

    def _start_after(self, node: int, down_us: int) -> ProcessGenerator:
        world = self._world
        broker = world.brokers[node]
        if broker.is_up:
            yield broker.stopped
        world.fault_until(world.env.now + down_us)
        yield world.env.until(world.env.now + down_us, _key(node, Kind.START))
        self._controller.start(node)

    def roll(self, dispatcher: Dispatcher) -> ProcessGenerator:
        """One broker after the other, each when the one before is in sync again, or a fixed time after it."""
        world, verb = self._world, dispatcher.entry.verb
        assert isinstance(verb, RollingRestart)
        members = world.env.process(Rollout(dispatcher).replace()) if has_members(world, verb.target) else None
        key = process_key(name_hash("rollout", dispatcher.entry.id, "brokers"), Kind.TIMER)
        nodes = self._targets(dispatcher, verb.target)
        for done, node in enumerate(nodes, 1):
            dispatcher.note_progress("brokers", done, len(nodes))
            broker = world.brokers[node]
            if not broker.is_up:
                continue
            incarnation = broker.incarnation
            dispatcher.note_all(f"broker:{node}")
            self._stop(dispatcher, node)
            if verb.next_ == "gap":
                yield world.env.until(world.env.now + verb.gap_us, key)
                continue
            while broker.incarnation == incarnation or not self._controller.is_in_sync(node):
                yield world.env.until(world.env.now + _PROBE_US, key)
        world.fault_until(world.env.now)
        if members is not None:
            yield members

    # --- who is meant -------------------------------------------------------------------------------------------------

    def _targets(self, dispatcher: Dispatcher, target: Target, *, must_be_up: bool = True) -> list[int]:
        """Brokers that are meant, ascending."""
        world = self._world
        nodes = meant_brokers(dispatcher, target)
        found = [node for node in nodes if world.brokers[node].is_up or not must_be_up]
        if not found:
            dispatcher.warn(f"no broker of {target} is up")
        return found


def _key(node: int, kind: Kind) -> int:
    return process_key(name_hash("broker", str(node)), kind)
