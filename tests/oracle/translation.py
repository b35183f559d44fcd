"""A scenario file -> what real members are started with and what is done to them when.

What cannot be had on one machine with one broker of today is refused, by name and with the place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groupsim.scenarios.build.loading import load, path_of
from groupsim.scenarios.build.problems import Finding, problems_of
from groupsim.scenarios.build.scenario import overridden
from groupsim.scenarios.build.timeline import configured
from groupsim.scenarios.files.yaml_text import read_yaml
from groupsim.scenarios.kafka.client_config import protocol_of
from groupsim.scenarios.kafka.client_profiles import JAVA_CLASSES, NEWEST
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.sim.model import (
    GcPause,
    Group,
    Kill,
    Processing,
    Restart,
    RollingRestart,
    Scenario,
    SetConfig,
    Subscription,
    Target,
)
from groupsim.sim.world import slots_of
from tests.oracle.broker import OWN_KEYS
from tests.oracle.failures import CannotPlay
from tests.oracle.timetable import Firing, firings, first_starts, is_outage

_STRATEGY = "partition.assignment.strategy"
_CLASSES = {name: java for java, name in JAVA_CLASSES.items()}
_NO_VERBS = {
    "cut": "networks are not cut on one machine",
    "slow_host": "a whole host is not slowed down here",
}
_OWN_CLIENT_KEYS = ("bootstrap.servers", "group.id", "client.id", "key.deserializer", "value.deserializer")


@dataclass
class MemberPlan:
    """What the next incarnation of a member is started with.

    Parameters
    ----------
    name : str
        ``group/index``.
    process : str
        Members of one process are frozen and killed together.
    config : dict of str to str
        Kafka's keys but those that say where the broker is and which group it is.
    """

    name: str
    group: str
    process: str
    config: dict[str, str]
    processing: Processing
    subscription: Subscription
    static: bool
    instance: str | None

    @property
    def client_id(self) -> str:
        """``client.id``: the name without its slash, which Kafka does not allow in a ``group.instance.id``."""
        return self.name.replace("/", "-")

    @property
    def instance_id(self) -> str | None:
        """``group.instance.id``, if the member is static."""
        return (self.instance or self.client_id) if self.static else None


@dataclass(frozen=True)
class Plan:
    """One repetition of a scenario.

    Parameters
    ----------
    spares : dict of str to int
        Processes that are frozen or killed, so need a JVM of their own -> how often they are started again.
    changes : dict of str to dict
        Entries of ``set_config`` -> the configuration that its members have from their next start on.
    outages : tuple of Firing
        What is done to brokers.
    group_config : dict of str to dict
        Groups -> the broker's configuration of them, as text.
    """

    scenario: Scenario
    repetition: int
    text: str
    members: dict[str, MemberPlan]
    starts: tuple[tuple[int, str], ...]
    firings: tuple[Firing, ...]
    outages: tuple[Firing, ...] = ()
    changes: dict[str, dict[str, str]] = field(default_factory=dict)
    spares: dict[str, int] = field(default_factory=dict)
    group_config: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def spoken(self) -> list[str]:
        """The protocols that its members use, one after the other."""
        configs = [*(one.config for one in self.members.values()), *self.changes.values()]
        return sorted({protocol_of(one) for one in configs})


@dataclass(frozen=True)
class Source:
    """A scenario file that can be played."""

    scenario: Scenario
    file: ScenarioFile
    text: str

    @property
    def fails(self) -> bool:
        """Whether brokers are to fail."""
        return any(is_outage(entry) for entry in self.scenario.timeline)

    @property
    def broker_config(self) -> dict[str, str]:
        """What ``server.properties`` gets of it, as text."""
        return {key: _text(value) for key, value in self.file.cluster.config.items()}


def read(path: str | Path) -> Source:
    """A scenario, by file or by built-in name.

    Raises
    ------
    ScenarioFileError
        It is no scenario.
    CannotPlay
        It asks for what the oracle cannot do; every such place is named.
    """
    where = path_of(path)
    document = read_yaml(where)
    scenario = load(where)
    file = ScenarioFile.model_validate(dict(scenario.document), context={"folder": where.parent, "allow_code": ()})
    problems = problems_of(_refusals(scenario, file), document)
    if problems:
        raise CannotPlay("; ".join(_sentence(str(path), one.path, one.line, one.message) for one in problems))
    return Source(scenario, file, where.read_text(encoding="utf-8"))


def _sentence(file: str, path: str, line: int, message: str) -> str:
    return f"{file}: {path}" + (f" (line {line})" if line else "") + f": {message}"


def plan(source: Source, repetition: int) -> Plan:
    """What to do in one repetition; its random draws are those of the seed ``repetition``."""
    scenario, file = source.scenario, source.file
    told = tuple(firings(scenario, repetition))
    outages = tuple(one for one in told if is_outage(one.entry))
    members = {one.name: one for group in scenario.groups for one in _members(source, group)}
    return Plan(
        scenario=scenario,
        repetition=repetition,
        text=source.text,
        members=members,
        starts=tuple(sorted(first_starts(scenario, repetition), key=lambda start: start[0])),
        firings=tuple(one for one in told if one not in outages),
        outages=outages,
        changes={
            entry.id: _client(configured(file, file.timeline[position])[1])
            for position, entry in enumerate(scenario.timeline)
            if isinstance(entry.verb, SetConfig)
        },
        spares=_spares(told, members),
        group_config={
            name: {key: _text(value) for key, value in group.group_config.items()}
            for name, group in file.groups.items()
        },
    )


# --- members ----------------------------------------------------------------------------------------------------------


def _members(source: Source, group: Group) -> Iterator[MemberPlan]:
    one = source.file.groups[group.name]
    for index in range(slots_of(source.scenario)[group.name]):
        positions = [at for at, override in enumerate(one.overrides) if index in override.members]
        override = group.override_of(index)
        yield MemberPlan(
            name=f"{group.name}/{index}",
            group=group.name,
            process=f"{group.name}-process-{index // group.members.per_process}",
            config=_client(overridden(one, positions)[1]),
            processing=override.processing or group.processing,
            subscription=override.subscription or group.subscription,
            static=group.members.static,
            instance=override.instance_id,
        )


def _client(config: Mapping[str, Any]) -> dict[str, str]:
    texts = {key: _text(value) for key, value in config.items()}
    strategies = config.get(_STRATEGY, [])
    return texts | ({_STRATEGY: ",".join(_CLASSES[name] for name in strategies)} if strategies else {})


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, list) else str(value)


def _spares(told: tuple[Firing, ...], members: Mapping[str, MemberPlan]) -> dict[str, int]:
    """Processes that need a JVM of their own, and how many more of them later incarnations will need."""
    spares: dict[str, int] = {}
    for firing in told:
        verb = firing.entry.verb
        kills = isinstance(verb, Kill) or (isinstance(verb, Restart | RollingRestart) and verb.stop == "kill")
        again = kills and not (isinstance(verb, Kill) and verb.down is None)
        if kills or isinstance(verb, GcPause):
            for process in sorted({members[name].process for name in firing.targets}):
                spares[process] = spares.get(process, 0) + again
    return spares


# --- refusals ---------------------------------------------------------------------------------------------------------


def _refusals(scenario: Scenario, file: ScenarioFile) -> Iterator[Finding]:
    yield from _cluster_refusals(file)
    for name in file.topics:
        if next(topic for topic in scenario.topics if topic.name == name).retention_us < scenario.horizon_us:
            yield ("topics", name, "config"), "records are not deleted during a play", None
    for name, group in file.groups.items():
        yield from _group_refusals(name, group)
    for position, entry in enumerate(file.timeline):
        yield from _entry_refusals(position, entry)


def _cluster_refusals(file: ScenarioFile) -> Iterator[Finding]:
    cluster = file.cluster
    if cluster.version != NEWEST:
        yield ("cluster", "version"), "only a broker of Kafka 4.4 is played", cluster.version
    if cluster.network.links:
        yield ("cluster", "network", "links"), "there is one network here, the loopback", None
    if cluster.network.loss:
        yield ("cluster", "network", "loss"), "the loopback loses nothing", cluster.network.loss
    if any(broker.rack for broker in cluster.brokers):
        yield ("cluster", "brokers"), "the one broker here is in no rack", None
    for key in sorted(OWN_KEYS & set(cluster.config)):
        yield ("cluster", "config", key), "the oracle itself says where its broker is", cluster.config[key]


def _group_refusals(name: str, group: Any) -> Iterator[Finding]:
    place = ("groups", name)
    if group.count > 1:
        yield (*place, "count"), "several identical groups are not played: give repetitions", group.count
    if group.client_family != "java":
        yield (*place, "client_family"), "only Java consumers are played", group.client_family
    yield from _client_refusals(place, group)
    yield from _processing_refusals((*place, "processing"), group.processing)
    yield from _subscription_refusals((*place, "topics"), group.topics)
    for position, override in enumerate(group.overrides):
        here = (*place, "overrides", position)
        if override.rack is not None:
            yield (*here, "rack"), "there are no racks here", override.rack
        yield from _client_refusals(here, override)
        yield from _processing_refusals((*here, "processing"), override.processing)
        yield from _subscription_refusals((*here, "topics"), override.topics)


def _client_refusals(place: tuple[Any, ...], one: Any) -> Iterator[Finding]:
    if one.client not in (None, NEWEST):
        yield (*place, "client"), f"only clients of Kafka {NEWEST} are played", one.client
    for key in _OWN_CLIENT_KEYS:
        if one.config.get(key):
            yield (*place, "config", key), "the oracle itself says which client is which", one.config[key]
    for strategy in one.config.get("partition.assignment.strategy", []):
        if strategy not in _CLASSES:
            yield (*place, "config", "partition.assignment.strategy"), "is no assignor of Kafka's", strategy
    if one.config.get("client.rack"):
        yield (*place, "config", "client.rack"), "there are no racks here", one.config["client.rack"]


def _processing_refusals(place: tuple[Any, ...], processing: Any) -> Iterator[Finding]:
    if processing is None:
        return
    if processing.per_record.kind != "constant":
        yield (
            (*place, "per_record"),
            "a drawn cost of records is not played: give a constant",
            processing.per_record.kind,
        )
    if processing.commit.how not in ("auto", "after_batch", "none"):
        yield (*place, "commit"), "is not played: use auto, after_batch or none", processing.commit.how


def _subscription_refusals(place: tuple[Any, ...], subscription: Any) -> Iterator[Finding]:
    if subscription is not None and subscription.assign is not None:
        yield (*place, "assign"), "partitions taken by hand are not played: there is no group to look at", None


def _entry_refusals(position: int, entry: Any) -> Iterator[Finding]:
    place, verb, body = ("timeline", position), entry.verb, entry.body
    if verb in _NO_VERBS:
        yield (*place, verb), f"{verb} is not played: {_NO_VERBS[verb]}", None
        return
    if entry.per_member:
        yield (*place, "per_member"), "a stream of faults for each member is not played", None
    target = getattr(body, "target", None)
    if target is not None and target.kind == "broker":
        yield from _outage_refusals((*place, verb, "target"), target)
    elif target is not None and target.kind != "group":
        yield (*place, verb, "target"), "racks are no targets here", str(target)
    elif target is not None and target.pick == "leader":
        yield (*place, verb, "target"), "the leader is another one than the simulator's: name a member", str(target)
    if verb == "set_config":
        yield from _client_refusals((*place, verb), body)
        yield from _processing_refusals((*place, verb, "processing"), body.processing)
    elif verb == "subscribe":
        yield from _subscription_refusals((*place, verb, "topics"), body.topics)


def _outage_refusals(place: tuple[Any, ...], target: Target) -> Iterator[Finding]:
    if target.name == "random":
        yield place, "a drawn broker is another one than the simulator's: say which", str(target)
