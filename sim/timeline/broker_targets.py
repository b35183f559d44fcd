"""Which brokers are meant, and which verbs are done to brokers."""

from __future__ import annotations

from groupsim.sim.model import (
    Close,
    Cut,
    ElectLeaders,
    Kill,
    Reassign,
    Restart,
    RollingRestart,
    Scenario,
    StartMembers,
    Target,
    Verb,
)
from groupsim.sim.protocol.controller.partition import NO_LEADER
from groupsim.sim.randomness import hash64
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.world import World

_LIFE = Close | Kill | Restart | RollingRestart | StartMembers


def meant_brokers(dispatcher: Dispatcher, target: Target) -> list[int]:
    """Brokers that a target means now, up or not, ascending."""
    world = dispatcher.world
    pick, _, name = target.name.partition("/")
    if target.kind == "rack":
        return brokers_of_rack(world.scenario, target.name)
    match pick:
        case "all":
            return list(world.broker_ids)
        case "random":
            key = world.streams.key("target", dispatcher.entry.id, dispatcher.number)
            return sorted(world.live_nodes, key=lambda node: hash64(key, node))[:1]
        case "controller" | "leader":
            leader = _asked(dispatcher, pick, name)
        case "coordinator":
            leader = world.coordinator_of(name).node
        case _:
            return list(target.indices) if target.indices else [int(pick)]
    return [leader] if leader != NO_LEADER else []


def _asked(dispatcher: Dispatcher, pick: str, name: str) -> int:
    """What only the controller knows."""
    controller = dispatcher.world.controller
    assert controller is not None
    if pick == "controller":
        return controller.active
    topic, _, number = name.rpartition("/")
    return controller.leader_of((topic, int(number)))


def brokers_of_rack(scenario: Scenario, rack: str) -> list[int]:
    """Brokers of a rack, ascending."""
    return sorted(one.id for one in scenario.cluster.brokers if one.rack == rack)


def has_members(world: World, target: Target) -> bool:
    """Whether what is done to brokers is done to members too: those of a rack."""
    return target.kind == "rack" and any(world.matches(target, one) for one in world.consumers.values())


def is_about_brokers(scenario: Scenario, verb: Verb) -> bool:
    """Whether a verb is done to brokers; what is done to a rack is done to its members too."""
    if isinstance(verb, ElectLeaders | Reassign):
        return True
    return isinstance(verb, _LIFE) and _names_brokers(scenario, verb.target)


def needs_controller(scenario: Scenario, verb: Verb) -> bool:
    """Whether brokers change by a verb, or it asks for something that only a controller knows."""
    if isinstance(verb, Cut):
        sides = [_names_brokers(scenario, target) for target in verb.between]
        return all(sides) or any(target.kind == "broker" and not target.name.isdigit() for target in verb.between)
    return is_about_brokers(scenario, verb)


def _names_brokers(scenario: Scenario, target: Target) -> bool:
    return target.kind == "broker" or (target.kind == "rack" and bool(brokers_of_rack(scenario, target.name)))
