"""Topics that come and go: what is done to one that is not there, and what does not go with deletion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupsim.scenarios.build.cluster_checks import is_about_brokers
from groupsim.scenarios.build.configurations import Configured
from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.sim.model import Subscription

_NAMED_BY: Final = {"create_topic": "name", "delete_topic": "topic", "add_partitions": "topic", "set_rate": "topic"}
_UNKNOWN: Final = "is not there then, or no more (UnknownTopicOrPartitionException)"
_BROKERS: Final = "a topic that is deleted is not modelled together with brokers that stop, elections or reassignments"


def check_topics(file: ScenarioFile, found: list[Configured]) -> Iterator[Finding]:
    """What is done to topics, in the order of time; and to whom it may not be done that one is deleted."""
    yield from _check_order(file)
    deleted = {entry.body.topic for entry in file.timeline if entry.verb == "delete_topic"}
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb)
        if entry.verb == "delete_topic" and (reason := _refusal(file, entry.body.topic)):
            yield (*place, "topic"), reason, entry.body.topic
        elif entry.verb == "create_topic" and entry.body.name in deleted:
            for key in _readers(file, entry.body.name):
                if any(one.group == key and one.protocol != "consumer" for one in found):
                    message = f"members of {key} know topics by name: one that is made anew is not modelled with them"
                    yield (*place, "name"), message, entry.body.name
        if deleted and is_about_brokers(file, entry, place):
            yield place, _BROKERS, None


def _check_order(file: ScenarioFile) -> Iterator[Finding]:
    """Entries without an instant of their own are told by a run."""
    there, has_gone = set(file.topics), set[str]()
    timed = [(position, entry) for position, entry in enumerate(file.timeline) if entry.at is not None]
    for position, entry in sorted(timed, key=lambda one: (one[1].at or 0, one[0])):
        key = _NAMED_BY.get(entry.verb)
        if key is None:
            continue
        topic, place = str(getattr(entry.body, key)), ("timeline", position, entry.verb, key)
        if entry.verb == "create_topic":
            if topic in there:
                yield place, f"Topic '{topic}' already exists. (TopicExistsException)", topic
            there.add(topic)
        elif topic not in there and (topic in has_gone or entry.verb == "delete_topic"):
            yield place, _UNKNOWN, topic
        if entry.verb == "delete_topic":
            there.discard(topic)
            has_gone.add(topic)


def _refusal(file: ScenarioFile, topic: str) -> str:
    """Why a topic cannot be deleted; empty: it can."""
    if any(topic in one.topics for one in file.producers.values()):
        return "producers send to it: that it is deleted then is not modelled"
    if any(one.produces is not None and one.produces.to == topic for one in file.groups.values()):
        return "a group produces to it: that it is deleted then is not modelled"
    if file.data == "exact":
        return "a topic that is deleted is not modelled together with data: exact, which follows each of its records"
    for key, taken in _readers(file, topic).items():
        if file.groups[key].protocol == "zookeeper":
            return f"{key} reads it: that it is deleted is not modelled with protocol: zookeeper"
        if any(topic in (one.assign or {}) for one in taken):
            return f"{key} takes partitions of it by hand: that it is deleted then is not modelled"
        if file.groups[key].produces is not None:
            return f"{key} reads it in transactions: that it is deleted then is not modelled"
    return ""


def _readers(file: ScenarioFile, topic: str) -> dict[str, list[Subscription]]:
    """Groups that may read a topic some time, and what they ask for then."""
    found: dict[str, list[Subscription]] = {}
    for key, group in file.groups.items():
        asked = [group.topics, *(one.topics for one in group.overrides if one.topics is not None)]
        for entry in file.timeline:
            if entry.verb == "subscribe" and file.group_key(entry.body.target.name) in (None, key):
                asked.append(entry.body.topics)
        taken = [one for one in asked if one.takes_in(topic)]
        if taken:
            found[key] = taken
    return found
