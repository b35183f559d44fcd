"""What makes no sense in a scenario file although every single value is fine: names that lead nowhere.

Every check yields findings: place in the document, what is wrong, and the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.build.timeline import partitions_at
from groupsim.scenarios.errors import nearest
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.rates import RateForm
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.targets import format_indices, format_target
from groupsim.scenarios.schema.timeline import EntryFile
from groupsim.scenarios.schema.verbs import CutFile, TargetedFile
from groupsim.sim.model import Subscription, Target


def check_names(file: ScenarioFile) -> Iterator[Finding]:
    """Everything that is named and does not exist."""
    yield from _check_group_names(file)
    yield from _check_places(file)
    for key, group in file.groups.items():
        yield from _check_subscription(file, group.topics, ("groups", key, "topics"))
        yield from _check_overrides(file, key, group)
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb)
        yield from _check_body(file, entry, place)
    yield from _check_rates(file)


def _check_group_names(file: ScenarioFile) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for key, group in file.groups.items():
        for name in group.names(key):
            if name in seen:
                yield ("groups", key), f"gives a group the name {name}, which {seen[name]} gives too", None
            seen[name] = key


def _check_places(file: ScenarioFile) -> Iterator[Finding]:
    for position, link in enumerate(file.cluster.network.links):
        for side, text in enumerate(link.between):
            kind, _, name = text.rpartition(":")
            place: Place = ("cluster", "network", "links", position, "between", side)
            target = Target("broker" if kind == "broker" else "rack", name) if kind else None
            message = _missing(file, target) if target is not None else _missing_group(file, text.partition("/")[0])
            if message:
                yield place, message, text


# --- topics -----------------------------------------------------------------------------------------------------------


def _topics(file: ScenarioFile) -> dict[str, int]:
    """Most partitions that each topic ever has, topics that the timeline creates included."""
    counts = {name: topic.partitions for name, topic in file.topics.items()}
    for entry in file.timeline:
        if entry.verb == "create_topic":
            counts[entry.body.name] = max(entry.body.partitions, counts.get(entry.body.name, 0))
    for entry in file.timeline:
        if entry.verb == "add_partitions" and entry.body.topic in counts:
            counts[entry.body.topic] = max(entry.body.to, counts[entry.body.topic])
    return counts


def _check_topic(file: ScenarioFile, name: str, place: Place) -> Iterator[Finding]:
    known = _topics(file)
    if name not in known:
        yield place, f"there is no topic of that name; {nearest(name, known)}topics: {', '.join(known)}", name


def _check_subscription(file: ScenarioFile, subscription: Subscription, place: Place) -> Iterator[Finding]:
    for position, name in enumerate(subscription.topics):
        yield from _check_topic(file, name, (*place, position))
    known = _topics(file)
    for name, indices in (subscription.assign or {}).items():
        yield from _check_topic(file, name, (*place, "assign"))
        if name in known and indices[-1] >= known[name]:
            message = f"{name} has {_counted(known[name], 'partition')}"
            yield (*place, "assign", name), message, format_indices(indices)


def _counted(count: int, noun: str) -> str:
    """How many there are, and their numbers."""
    return f"{count} {noun}s, 0 to {count - 1}" if count > 1 else f"1 {noun}, number 0"


def _check_rates(file: ScenarioFile) -> Iterator[Finding]:
    for key, topic in file.topics.items():
        yield from _check_rate(file, topic.rate, topic.partitions, ("topics", key, "rate"))
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb, "rate")
        if entry.verb == "set_rate" and entry.body.topic in _topics(file):
            yield from _check_rate(file, entry.body.rate, partitions_at(file, entry), place)
        elif entry.verb == "create_topic":
            yield from _check_rate(file, entry.body.rate, entry.body.partitions, place)


def _check_rate(file: ScenarioFile, rate: RateForm, partitions: int, place: Place) -> Iterator[Finding]:
    try:
        rate.rate(partitions, file.horizon)
    except ValueError as reason:
        yield place, str(reason), None


# --- members ----------------------------------------------------------------------------------------------------------


def _members_max(file: ScenarioFile, key: str) -> int:
    """Most members that a group may ever have: its own, or those of the largest ``scale``."""
    scaled: list[int] = [entry.body.to for entry in file.timeline
              if entry.verb == "scale" and file.group_key(entry.body.target.name) == key]  # fmt: skip
    return max(file.groups[key].members.count, *scaled, 0)


def _members(most: int) -> str:
    return _counted(most, "member") if most else "no members: members.count is 0"


def _check_overrides(file: ScenarioFile, key: str, group: GroupFile) -> Iterator[Finding]:
    most = _members_max(file, key)
    for position, override in enumerate(group.overrides):
        place: Place = ("groups", key, "overrides", position)
        if override.members[-1] >= most:
            yield (*place, "members"), f"{key} has {_members(most)}", format_indices(override.members)
        if override.topics is not None:
            yield from _check_subscription(file, override.topics, (*place, "topics"))
        if override.instance is not None and not group.members.static:
            message = "only static members have a group.instance.id: set members.static: true"
            yield (*place, "instance"), message, override.instance


def _missing_group(file: ScenarioFile, name: str) -> str:
    if file.group_key(name) is not None:
        return ""
    return f"there is no group {name!r}; {nearest(name, file.groups)}groups: {', '.join(file.groups)}"


def _missing(file: ScenarioFile, target: Target) -> str:
    """Why a target can never be met, or the empty string."""
    if target.kind == "broker":
        known = [str(broker.id) for broker in file.cluster.brokers]
        return "" if target.name in known else f"there is no broker {target.name}; brokers: {', '.join(known)}"
    if target.kind == "rack":
        racks = {broker.rack for broker in file.cluster.brokers}
        racks |= {override.rack or "" for group in file.groups.values() for override in group.overrides}
        known = sorted(racks - {""})
        hint = f"racks: {', '.join(known)}" if known else "no broker or member has a rack"
        return "" if target.name in known else f"there is no rack {target.name}; {hint}"
    message = _missing_group(file, target.name)
    if not message and target.pick == "index":
        most = _members_max(file, file.group_key(target.name) or target.name)
        if target.indices[-1] >= most:
            message = f"{target.name} has {_members(most)}"
    return message


# --- timeline ---------------------------------------------------------------------------------------------------------


def _check_body(file: ScenarioFile, entry: EntryFile, place: Place) -> Iterator[Finding]:
    body: Any = entry.body
    if isinstance(body, CutFile):
        for side, target in enumerate(body.between):
            yield from _check_target(file, target, (*place, "between", side))
    if isinstance(body, TargetedFile):
        yield from _check_target(file, body.target, (*place, "target"))
        if body.groups_only and body.target.kind != "group":
            message = f"{entry.verb} is done to members: the target must be a group or some of its members"
            yield (*place, "target"), message, format_target(body.target)
    if entry.verb == "scale" and body.target.pick != "all":
        yield (*place, "target"), "scale takes a whole group", format_target(body.target)
    if entry.verb in ("set_rate", "add_partitions"):
        yield from _check_topic(file, body.topic, (*place, "topic"))
    if entry.verb == "subscribe":
        yield from _check_subscription(file, body.topics, (*place, "topics"))
    if entry.verb == "add_partitions" and body.topic in file.topics and body.to <= file.topics[body.topic].partitions:
        message = f"{body.topic} has {file.topics[body.topic].partitions} partitions: Kafka only adds some"
        yield (*place, "to"), f"{message} (InvalidPartitionsException)", body.to
    if entry.verb == "create_topic" and body.name in file.topics:
        yield (*place, "name"), "exists from the start (TopicExistsException)", body.name


def _check_target(file: ScenarioFile, target: Target, place: Place) -> Iterator[Finding]:
    message = _missing(file, target)
    if message:
        yield place, message, format_target(target)
