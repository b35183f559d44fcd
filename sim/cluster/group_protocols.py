"""Which protocols the members of a group use."""

from __future__ import annotations

from groupsim.sim.model import Group, Scenario, SetConfig

CLASSIC_ONLY, CONSUMER_ONLY, ZOOKEEPER_ONLY = frozenset({"classic"}), frozenset({"consumer"}), frozenset({"zookeeper"})


def protocols_of(scenario: Scenario, spec: Group) -> frozenset[str]:
    """What a group's members use at one time or another."""
    configs = [spec.client, *(one.client for one in spec.overrides)]
    changes = [entry.verb for entry in scenario.timeline if isinstance(entry.verb, SetConfig)]
    configs += [verb.client for verb in changes if verb.target.kind != "group" or verb.target.name == spec.name]
    return frozenset(one.group_protocol for one in configs if one is not None)
