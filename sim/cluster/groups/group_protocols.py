"""Which protocols the members of a group use, and the machine that speaks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupsim.sim.catalog import Partitions
from groupsim.sim.cluster.groups.assignment import Layouts
from groupsim.sim.cluster.groups.target_assignors import target_assignors
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.model import Group, Scenario, SetConfig
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.mixed.group import MixedGroup
from groupsim.sim.protocol.zookeeper.group import ZookeeperGroup

CLASSIC_ONLY, CONSUMER_ONLY, ZOOKEEPER_ONLY = frozenset({"classic"}), frozenset({"consumer"}), frozenset({"zookeeper"})


def protocols_of(scenario: Scenario) -> dict[str, frozenset[str]]:
    """Group -> what its members use at one time or another."""
    changes = [entry.verb for entry in scenario.timeline if isinstance(entry.verb, SetConfig)]
    found: dict[str, frozenset[str]] = {}
    for spec in scenario.groups:
        configs = [spec.client, *(one.client for one in spec.overrides)]
        configs += [verb.client for verb in changes if verb.target.kind != "group" or verb.target.name == spec.name]
        found[spec.name] = frozenset(one.group_protocol for one in configs if one is not None)
    return found


def new_machine(
    env: Environment, scenario: Scenario, spec: Group, protocols: frozenset[str], partitions: Partitions,
    layouts: Layouts, late: Callable[[int], int], image: Mapping[str, int], *, before: Any = None,
) -> Any:  # fmt: skip
    """A group that nobody has joined, for members of these ``protocols``.

    ``late``: how late its initial delays end, microseconds, by their number. ``image``: topics that the coordinator
    knows, each with its number of partitions. ``before``: the machine of a former coordinator; what ZooKeeper holds of
    a group goes on as it is.
    """
    config = scenario.cluster.config
    if protocols == CLASSIC_ONLY:
        return ClassicGroup(spec.name, config, late=late)
    if protocols == ZOOKEEPER_ONLY:
        return ZookeeperGroup(spec.name, config, partitions) if before is None else before.moved()
    given = (spec.name, config, partitions, target_assignors(scenario, spec, layouts), spec.group_config)
    machine = ConsumerGroup(*given) if protocols == CONSUMER_ONLY else MixedGroup(*given, late)
    machine.on_metadata(env.now, image)
    return machine
