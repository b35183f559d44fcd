"""Every client configuration in a scenario file, held against the rules of `scenarios.kafka.rules`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.build.scenario import overridden
from groupsim.scenarios.build.timeline import configured
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.kafka.assignor_names import common_protocols
from groupsim.scenarios.kafka.rules import refusals
from groupsim.scenarios.schema.scenario_file import ScenarioFile

STRATEGY = "partition.assignment.strategy"


@dataclass(frozen=True, slots=True)
class Configured:
    """A client configuration that some members have at some time, and where the file says so."""

    place: Place
    group: str
    client: str
    config: dict[str, Any]
    static: bool


def configurations(file: ScenarioFile) -> Iterator[Configured]:
    """Those of groups, of overrides that change one (on top of earlier ones that overlap), and of ``set_config``."""
    for key, group in file.groups.items():
        static = group.members.static
        yield Configured(("groups", key), key, group.client, group.config, static)
        for position, override in enumerate(group.overrides):
            if not override.config and override.client is None:
                continue
            below = [other for other in range(position) if {*group.overrides[other].members} & {*override.members}]
            client, config = overridden(group, [*below, position])
            yield Configured(("groups", key, "overrides", position), key, client, config, static)
    for position, entry in enumerate(file.timeline):
        target = file.group_key(entry.body.target.name) if entry.verb == "set_config" else None
        if target is not None:
            client, config, _ = configured(file, entry)
            static = file.groups[target].members.static if entry.body.static is None else entry.body.static
            yield Configured(("timeline", position, "set_config"), target, client, config, static)


def _check_broadcast(found: Sequence[Configured]) -> Iterator[Finding]:
    """Moves and owners are undefined where everybody gets everything: a group does so always or never."""
    broadcasting = dict.fromkeys(one.group for one in found if "broadcast" in one.config[STRATEGY])
    for group in broadcasting:
        others = [one for one in found if one.group == group and one.config[STRATEGY] != ["broadcast"]]
        if others:
            message = (
                "broadcast is for a whole group, alone, from beginning to end: every member must have just [broadcast]"
            )
            yield (*others[0].place, "config", STRATEGY), message, others[0].config[STRATEGY]


def check_kafka_rules(file: ScenarioFile, allow_code: Sequence[str]) -> Iterator[Finding]:
    """What Kafka refuses, with its reason, and what has no meaning."""
    found = list(configurations(file))
    yield from _check_broadcast(found)
    for one in found:
        place = (*one.place, "config")
        for message in refusals(one.client, one.config, file.cluster.config, static=one.static):
            yield place, message, None
        if not common_protocols(one.config[STRATEGY], allow_code):
            names = ", ".join(one.config[STRATEGY])
            message = f"Specified assignors {names} do not have commonly supported rebalance protocol"
            yield (*place, STRATEGY), f"{message} (ConsumerCoordinator: IllegalArgumentException)", None
