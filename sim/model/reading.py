"""Who reads what, and how what producers send comes to readers: as a scenario says, before anything has happened."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from groupsim.sim.model.groups import Group, Subscription
from groupsim.sim.model.scenario import Scenario
from groupsim.sim.model.topics import Topic
from groupsim.sim.model.verbs import DeleteTopic, ElectLeaders, Subscribe

UNCLEAN: Final = "an unclean election takes back what readers have been shown"
DELETED: Final = "records are deleted within the run"
AT_ZOOKEEPER: Final = "a group that ZooKeeper holds together reads it"
"""Why a topic of producers is read as a flow."""


def outputs_of(scenario: Scenario) -> frozenset[str]:
    """Topics that groups produce to."""
    return frozenset(one.produces.to for one in scenario.groups if one.produces is not None)


def deleted_topics(scenario: Scenario) -> frozenset[str]:
    """Topics that the timeline deletes."""
    return frozenset(entry.verb.topic for entry in scenario.timeline if isinstance(entry.verb, DeleteTopic))


def topics_read(scenario: Scenario, spec: Group, topics: Collection[str]) -> set[str]:
    """Those of these topics that members of a group may read some time."""
    return {topic for topic in topics if any(one.takes_in(topic) for one in _subscriptions(scenario, spec))}


def _subscriptions(scenario: Scenario, spec: Group) -> Iterator[Subscription]:
    """All that members of a group ever ask for, as far as targets say whose they are."""
    yield spec.subscription
    yield from (one.subscription for one in spec.overrides if one.subscription is not None)
    for entry in scenario.timeline:
        verb = entry.verb
        if isinstance(verb, Subscribe) and (verb.target.kind != "group" or verb.target.name == spec.name):
            yield verb.subscription


def read_as_flow(scenario: Scenario) -> dict[str, str]:
    """Topics that producers send to and that are read at their rate, and why.

    Of all others readers get what has been appended, when they can see it. What they have been shown stays.
    """
    sent = {topic for one in scenario.producers for topic in one.topics}
    reasons = ((topic.name, _why_flow(scenario, topic)) for topic in scenario.topics if topic.name in sent)
    return {name: reason for name, reason in reasons if reason}


def is_elected_uncleanly(scenario: Scenario, topic: str) -> bool:
    """Whether an administrator asks some time for any leader of a topic."""
    verbs = [entry.verb for entry in scenario.timeline if isinstance(entry.verb, ElectLeaders)]
    return any(verb.election == "unclean" and topic in (verb.topics or (topic,)) for verb in verbs)


def _why_flow(scenario: Scenario, topic: Topic) -> str:
    if topic.unclean_leader_election or is_elected_uncleanly(scenario, topic.name):
        return UNCLEAN
    if topic.retention_us < scenario.horizon_us:
        return DELETED
    old = [spec for spec in scenario.groups if spec.client.group_protocol == "zookeeper"]
    return AT_ZOOKEEPER if any(topics_read(scenario, spec, (topic.name,)) for spec in old) else ""


def appended_topics(scenario: Scenario) -> frozenset[str]:
    """Topics whose readers get what has been appended, and no flow: those of groups that produce, and of producers."""
    sent = {topic for one in scenario.producers for topic in one.topics}
    return outputs_of(scenario) | (sent - read_as_flow(scenario).keys())
