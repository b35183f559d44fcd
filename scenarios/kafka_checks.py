"""Every client configuration in a scenario file, held against the rules of `scenarios.kafka_rules`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.assignor_names import common_protocols
from scenarios.building import overridden
from scenarios.kafka_rules import refusals
from scenarios.problems import Finding
from scenarios.schema import ScenarioFile
from scenarios.timeline import configured
from scenarios.yaml_text import Place

STRATEGY = "partition.assignment.strategy"


@dataclass(frozen=True, slots=True)
class Configured:
    """A client configuration that some members have at some time, and where the file says so."""

    place: Place
    client: str
    config: dict[str, Any]
    static: bool


def configurations(file: ScenarioFile) -> Iterator[Configured]:
    """Those of groups, of overrides that change one (on top of earlier ones that overlap), and of ``set_config``."""
    for key, group in file.groups.items():
        static = group.members.static
        yield Configured(("groups", key), group.client, group.config, static)
        for position, override in enumerate(group.overrides):
            if not override.config and override.client is None:
                continue
            below = [other for other in range(position) if {*group.overrides[other].members} & {*override.members}]
            client, config = overridden(group, [*below, position])
            yield Configured(("groups", key, "overrides", position), client, config, static)
    for position, entry in enumerate(file.timeline):
        if entry.verb == "set_config" and file.group_key(entry.body.target.name) is not None:
            client, config, _ = configured(file, entry)
            group = file.groups[file.group_key(entry.body.target.name) or ""]
            static = group.members.static if entry.body.static is None else entry.body.static
            yield Configured(("timeline", position, "set_config"), client, config, static)


def _check_broadcast(file: ScenarioFile) -> Iterator[Finding]:
    """Moves and owners are undefined where everybody gets everything: a group does so always or never."""
    found = [(one.place, one.config[STRATEGY]) for one in configurations(file)]
    for key in file.groups:
        own = [(place, names) for place, names in found if _group_of(file, place) == key]
        if any("broadcast" in names for _, names in own) and any(names != ["broadcast"] for _, names in own):
            place, names = next((place, names) for place, names in own if names != ["broadcast"])
            message = (
                "broadcast is for a whole group, alone, from beginning to end: every member must have just [broadcast]"
            )
            yield (*place, "config", STRATEGY), message, names


def _group_of(file: ScenarioFile, place: Place) -> str | None:
    if place[0] == "groups":
        return str(place[1])
    return file.group_key(file.timeline[int(place[1])].body.target.name)


def check_kafka_rules(file: ScenarioFile, allow_code: Sequence[str]) -> Iterator[Finding]:
    """What Kafka refuses, with its reason, and what has no meaning."""
    yield from _check_broadcast(file)
    for one in configurations(file):
        place = (*one.place, "config")
        for message in refusals(one.client, one.config, file.cluster.config, static=one.static):
            yield place, message, None
        if not common_protocols(one.config[STRATEGY], allow_code):
            names = ", ".join(one.config[STRATEGY])
            message = f"Specified assignors {names} do not have commonly supported rebalance protocol"
            yield (*place, STRATEGY), f"{message} (ConsumerCoordinator: IllegalArgumentException)", None
