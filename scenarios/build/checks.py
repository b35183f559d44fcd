"""What makes no sense in a scenario file although every single value is fine: names that lead nowhere.

Every check yields findings: place in the document, what is wrong, and the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from groupsim.assignors.java.regex import TooManySteps, java_pattern
from groupsim.scenarios.build.entry_targets import entry_targets
from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.build.timeline import PartitionHistory
from groupsim.scenarios.errors import listed, nearest
from groupsim.scenarios.files.base_model import VALUES_MAX
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.rates import RateForm
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.targets import format_indices, format_target
from groupsim.scenarios.schema.timeline import EntryFile
from groupsim.sim.model import Subscription, Target

ENTRIES_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class _Known:
    """What a scenario has names for, gathered once.

    Parameters
    ----------
    topics : mapping of str to int
        Most partitions that each topic ever has, topics that the timeline creates included.
    members : mapping of str to int
        Most members that each group of the file ever has: its own, or those of the largest ``scale``.
    """

    file: ScenarioFile
    topics: Mapping[str, int]
    members: Mapping[str, int]
    brokers: tuple[str, ...]
    racks: tuple[str, ...]


def _known(file: ScenarioFile) -> _Known:
    racks = {broker.rack for broker in file.cluster.brokers}
    racks |= {override.rack or "" for group in file.groups.values() for override in group.overrides}
    members = {key: group.members.count for key, group in file.groups.items()}
    for entry in file.timeline:
        key = file.group_key(entry.body.target.name) if entry.verb == "scale" else None
        if key is not None:
            members[key] = max(members[key], entry.body.to)
    return _Known(
        file,
        _topics(file),
        members,
        tuple(str(broker.id) for broker in file.cluster.brokers),
        tuple(sorted(racks - {""})),
    )


def check_names(file: ScenarioFile) -> Iterator[Finding]:
    """Everything that is named and does not exist, and patterns that cannot be matched in any reasonable time."""
    known = _known(file)
    yield from _check_group_names(file)
    yield from _check_families(file)
    yield from _check_places(known)
    for key, group in file.groups.items():
        yield from _check_subscription(known, group.topics, ("groups", key, "topics"))
        yield from _check_overrides(known, key, group)
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb)
        yield from _check_body(known, entry, place)
    yield from _check_rates(known)


def _check_group_names(file: ScenarioFile) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for key, group in file.groups.items():
        for name in group.names(key):
            if name in seen:
                yield ("groups", key), f"gives a group the name {name}, which {seen[name]} gives too", None
            seen[name] = key


def _check_families(file: ScenarioFile) -> Iterator[Finding]:
    """An entry of the timeline is one for each of several identical groups, and a cut for each pair of them."""
    families = {key: group.count for key, group in file.groups.items()}
    total = 0
    for position, entry in enumerate(file.timeline):
        targets = [target for _, target in entry_targets(entry.body, ())]
        total += prod(families.get(target.name, 1) for target in targets if target.kind == "group")
        if total > ENTRIES_MAX:
            yield ("timeline", position), f"makes more than {ENTRIES_MAX:,} entries of the timeline, one a group", None
            return


def _check_places(known: _Known) -> Iterator[Finding]:
    for position, link in enumerate(known.file.cluster.network.links):
        for side, text in enumerate(link.between):
            kind, _, name = text.rpartition(":")
            place: Place = ("cluster", "network", "links", position, "between", side)
            target = Target("broker" if kind == "broker" else "rack", name) if kind else None
            message = _missing(known, target) if target is not None else _missing_group(known, text.partition("/")[0])
            if message:
                yield place, message, text


# --- topics -----------------------------------------------------------------------------------------------------------


def _topics(file: ScenarioFile) -> dict[str, int]:
    counts = {name: topic.partitions for name, topic in file.topics.items()}
    for entry in file.timeline:
        if entry.verb == "create_topic":
            counts[entry.body.name] = max(entry.body.partitions, counts.get(entry.body.name, 0))
    for entry in file.timeline:
        if entry.verb == "add_partitions" and entry.body.topic in counts:
            counts[entry.body.topic] = max(entry.body.to, counts[entry.body.topic])
    return counts


def _check_topic(known: _Known, name: str, place: Place) -> Iterator[Finding]:
    if name not in known.topics:
        hint = nearest(name, known.topics)
        yield place, f"there is no topic of that name; {hint}topics: {listed(known.topics)}", name


def _check_subscription(known: _Known, subscription: Subscription, place: Place) -> Iterator[Finding]:
    for position, name in enumerate(subscription.topics):
        yield from _check_topic(known, name, (*place, position))
    for name, indices in (subscription.assign or {}).items():
        yield from _check_topic(known, name, (*place, "assign"))
        if name in known.topics and indices[-1] >= known.topics[name]:
            message = f"{name} has {_counted(known.topics[name], 'partition')}"
            yield (*place, "assign", name), message, format_indices(indices)
    if subscription.pattern is not None:
        yield from _check_pattern(subscription.pattern, known.topics, (*place, "pattern"))


def _counted(count: int, noun: str) -> str:
    """How many there are, and their numbers."""
    return f"{count} {noun}s, 0 to {count - 1}" if count > 1 else f"1 {noun}, number 0"


def _check_pattern(pattern: str, topics: Mapping[str, int], place: Place) -> Iterator[Finding]:
    """Hold a pattern against every topic that there will be: in a run it is known then that none takes too long."""
    try:
        for name in topics:
            java_pattern(pattern).matches(name)
    except TooManySteps as reason:
        yield place, str(reason), pattern


def _check_rates(known: _Known) -> Iterator[Finding]:
    spent = 0
    for place, rate, partitions in _rates(known):
        try:
            made = rate.rate(partitions, known.file.horizon)
        except ValueError as reason:
            yield place, str(reason), None
            continue
        spent += sum(map(len, made.per_partition_mrps))
        if spent > VALUES_MAX:
            yield place, f"makes more than {VALUES_MAX:,} rates in all, of each partition at each step", None
            return


def _rates(known: _Known) -> Iterator[tuple[Place, RateForm, int]]:
    """Place, rate and number of partitions, wherever there is a rate."""
    file, history = known.file, PartitionHistory(known.file)
    for key, topic in file.topics.items():
        yield ("topics", key, "rate"), topic.rate, topic.partitions
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb, "rate")
        if entry.verb == "set_rate" and entry.body.topic in known.topics:
            yield place, entry.body.rate, history.at(entry)
        elif entry.verb == "create_topic":
            yield place, entry.body.rate, entry.body.partitions


# --- members ----------------------------------------------------------------------------------------------------------


def _members(most: int) -> str:
    return _counted(most, "member") if most else "no members: members.count is 0"


def _check_overrides(known: _Known, key: str, group: GroupFile) -> Iterator[Finding]:
    most = known.members[key]
    for position, override in enumerate(group.overrides):
        place: Place = ("groups", key, "overrides", position)
        if override.members[-1] >= most:
            yield (*place, "members"), f"{key} has {_members(most)}", format_indices(override.members)
        if override.topics is not None:
            yield from _check_subscription(known, override.topics, (*place, "topics"))
        if override.instance is not None and not group.members.static:
            message = "only static members have a group.instance.id: set members.static: true"
            yield (*place, "instance"), message, override.instance


def _missing_group(known: _Known, name: str) -> str:
    groups = known.file.groups
    if known.file.group_key(name) is not None:
        return ""
    return f"there is no group {name!r}; {nearest(name, groups)}groups: {listed(groups)}"


def _missing(known: _Known, target: Target) -> str:
    """Why a target can never be met, or the empty string."""
    if target.kind == "broker" and not target.name.isdigit():
        return ""  # `scenarios.build.cluster_checks` knows what else a broker may be called
    if target.kind == "broker":
        hint = f"brokers: {listed(known.brokers)}"
        return "" if target.name in known.brokers else f"there is no broker {target.name}; {hint}"
    if target.kind == "rack":
        hint = f"racks: {listed(known.racks)}" if known.racks else "no broker or member has a rack"
        return "" if target.name in known.racks else f"there is no rack {target.name}; {hint}"
    if target.kind == "zookeeper":
        return ""  # `scenarios.build.zookeeper_checks`
    message = _missing_group(known, target.name)
    if not message and target.pick == "index":
        most = known.members[known.file.group_key(target.name) or target.name]
        if target.indices[-1] >= most:
            message = f"{target.name} has {_members(most)}"
    return message


# --- timeline ---------------------------------------------------------------------------------------------------------


def _check_body(known: _Known, entry: EntryFile, place: Place) -> Iterator[Finding]:
    file, body = known.file, entry.body
    for where, target in entry_targets(body, place):
        yield from _check_target(known, target, where)
    if entry.verb in ("scale", "delete_offsets", "delete_group") and body.target.pick != "all":
        yield (*place, "target"), f"{entry.verb} takes a whole group", format_target(body.target)
    for position, topic in enumerate(body.topics if entry.verb == "delete_offsets" else ()):
        yield from _check_topic(known, topic, (*place, "topics", position))
    if entry.verb in ("set_rate", "add_partitions", "delete_topic"):
        yield from _check_topic(known, body.topic, (*place, "topic"))
    if entry.verb == "subscribe":
        yield from _check_subscription(known, body.topics, (*place, "topics"))
    if entry.verb == "add_partitions" and body.topic in file.topics and body.to <= file.topics[body.topic].partitions:
        message = f"{body.topic} has {file.topics[body.topic].partitions} partitions: Kafka only adds some"
        yield (*place, "to"), f"{message} (InvalidPartitionsException)", body.to


def _check_target(known: _Known, target: Target, place: Place) -> Iterator[Finding]:
    message = _missing(known, target)
    if message:
        yield place, message, format_target(target)
