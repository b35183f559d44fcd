"""Output topics of groups that produce: who can read them, and that nothing else is produced to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupsim.scenarios.build.configurations import Configured, configurations
from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.kafka.broker_config import retention_us
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.verbs import SetRateFile, SubscribeFile
from groupsim.sim.model import Subscription
from groupsim.sim.units import FOREVER, MS

_LEVEL = "isolation.level"
_RATE = "is what a group produces to: it has no rate of its own"
_LOOP = "what it produces comes back to it: loops of groups are not modelled"
_ZOOKEEPER = "consumers at ZooKeeper know no transactions: that they read output is not modelled"
_AGED = "groups that read output are not modelled together with groups that begin aged"
_DELETED = "is over before the run is: that what a group reads of another one's output is deleted is not modelled"
_LEVELS = "members of a group that reads output have one isolation.level, from the start on: others are not modelled"


def check_output_use(file: ScenarioFile, outputs: Mapping[str, str]) -> Iterator[Finding]:
    """Subscriptions that take in an output topic, under whatever name or pattern, and rates that it is given later.

    Parameters
    ----------
    file : ScenarioFile
    outputs : mapping of str to str
        Topic -> key of the group that produces to it.
    """
    read: dict[str, set[str]] = {}
    for key, place, subscription in _subscriptions(file):
        for topic in sorted(topic for topic in outputs if subscription.takes_in(topic)):
            read.setdefault(key, set()).add(outputs[topic])
            for reason in _refusals(file, key, {outputs[topic]} | _upstream(read, outputs[topic])):
                yield place, f"reads {topic}, which a group produces to: {reason}", topic
    yield from _other_levels(file, read)
    yield from _deleted(file, {one for keys in read.values() for one in keys}, outputs)
    for position, entry in enumerate(file.timeline):
        if isinstance(entry.body, SetRateFile) and entry.body.topic in outputs:
            yield ("timeline", position, entry.verb, "topic"), _RATE, entry.body.topic


def _upstream(read: Mapping[str, set[str]], key: str) -> set[str]:
    """Groups whose output gets to a group, as far as is known."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        new = read.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _refusals(file: ScenarioFile, key: str, upstream: set[str]) -> Iterator[str]:
    if key in upstream:
        yield _LOOP
    if file.groups[key].protocol == "zookeeper":
        yield _ZOOKEEPER
    if any(group.members.start.aged is not None for group in file.groups.values()):
        yield _AGED


def _other_levels(file: ScenarioFile, read: Mapping[str, set[str]]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for one in configurations(file):
        level = _level(one)
        if one.group in read and level != first.setdefault(one.group, level):
            yield (*one.place, "config", _LEVEL), _LEVELS, level


def _deleted(file: ScenarioFile, upstream: set[str], outputs: Mapping[str, str]) -> Iterator[Finding]:
    """Outputs that are read, and whose records get too old within the run."""
    for topic, key in outputs.items():
        spec = file.topics.get(topic)
        if spec is not None and key in upstream:
            kept_us = retention_us(spec.config, file.cluster.config, file.horizon)
            if kept_us < FOREVER:
                yield ("topics", topic, "config", "retention.ms"), _DELETED, kept_us // MS


def _level(one: Configured) -> str:
    return str(one.config.get(_LEVEL, one.profile.defaults.get(_LEVEL, "read_uncommitted")))


def _subscriptions(file: ScenarioFile) -> Iterator[tuple[str, Place, Subscription]]:
    """All that members ever ask for, whose they are, and where the file says so."""
    for key, group in file.groups.items():
        yield from ((key, place, one) for place, one in _of_group(key, group))
    for position, entry in enumerate(file.timeline):
        if isinstance(entry.body, SubscribeFile):
            target = file.group_key(entry.body.target.name)
            if target is not None:
                yield target, ("timeline", position, entry.verb, "topics"), entry.body.topics


def _of_group(key: str, group: GroupFile) -> Iterator[tuple[Place, Subscription]]:
    yield ("groups", key, "topics"), group.topics
    for position, override in enumerate(group.overrides):
        if override.topics is not None:
            yield ("groups", key, "overrides", position, "topics"), override.topics
