"""Lifecycle of brokers: each function is what one firing of an entry does whose target is a broker."""

from __future__ import annotations

from typing import Any

from simpy.events import ProcessGenerator

from groupsim.sim.cluster.controller import Controller
from groupsim.sim.cluster.loading import Loading
from groupsim.sim.cluster.partitions import ClusterPartitions
from groupsim.sim.cluster.replicas import Replicas
from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.model import Close, Kill, Restart, RollingRestart, StartMembers, Target
from groupsim.sim.protocol.controller.partition import NO_LEADER
from groupsim.sim.randomness import hash64, name_hash
from groupsim.sim.timeline.clients import Clients
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.units import MS
from groupsim.sim.world import World

_PROBE_US = 100 * MS
"""How often a roll looks whether the broker is in sync again."""


def new_controller(world: World) -> Controller:
    """The controller of a run in whose timeline brokers stop or start."""
    env, cluster, clients = world.env, world.scenario.cluster, Clients(world)
    partitions = ClusterPartitions(cluster, world.catalog, world.brokers, world.coordinators, clients)
    replicas = Replicas(env, world.streams, cluster, world.catalog, world.coordinators, partitions.control, clients)
    loading = Loading(env, world.streams, cluster, world.brokers, world.coordinators, partitions.control, clients)
    return Controller(env, world.streams, cluster, world.brokers, partitions, replicas, loading, clients)


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
        """One firing of an entry."""
        verb: Any = dispatcher.entry.verb
        for node in self._targets(dispatcher, verb.target, must_be_up=not isinstance(verb, StartMembers)):
            dispatcher.note_all(f"broker:{node}")
            if isinstance(verb, StartMembers):
                self._controller.start(node)
            else:
                self._stop(dispatcher, node)

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
        yield world.env.until(dispatcher.entry.at_us, dispatcher.key)
        key = process_key(name_hash("rollout", dispatcher.entry.id), Kind.TIMER)
        for node in self._targets(dispatcher, verb.target):
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

    # --- who is meant -------------------------------------------------------------------------------------------------

    def _targets(self, dispatcher: Dispatcher, target: Target, *, must_be_up: bool = True) -> list[int]:
        """Brokers that are meant, ascending."""
        world = self._world
        nodes = self._meant(dispatcher, target)
        found = [node for node in nodes if world.brokers[node].is_up or not must_be_up]
        if not found:
            dispatcher.warn(f"no broker of {target} is up")
        return found

    def _meant(self, dispatcher: Dispatcher, target: Target) -> list[int]:
        world = self._world
        pick, _, name = target.name.partition("/")
        if target.kind == "rack":
            return [one.id for one in world.scenario.cluster.brokers if one.rack == target.name]
        match pick:
            case "all":
                return list(world.broker_ids)
            case "random":
                key = world.streams.key("target", dispatcher.entry.id, dispatcher.number)
                up = [node for node in world.broker_ids if world.brokers[node].is_up]
                return sorted(up, key=lambda node: hash64(key, node))[:1]
            case "controller":
                return [self._controller.active]
            case "coordinator":
                leader = world.coordinator_of(name).node
            case "leader":
                topic, _, number = name.rpartition("/")
                leader = self._controller.leader_of((topic, int(number)))
            case _:
                return list(target.indices) if target.indices else [int(pick)]
        return [leader] if leader != NO_LEADER else []


def _key(node: int, kind: Kind) -> int:
    return process_key(name_hash("broker", str(node)), kind)


def is_about_brokers(verb: Any) -> bool:
    """Whether a verb is done to brokers."""
    target = getattr(verb, "target", None)
    is_verb = isinstance(verb, Close | Kill | Restart | RollingRestart | StartMembers)
    return is_verb and target is not None and target.kind == "broker"
