"""What a user should know about a scenario that is fine: advice that it goes against, and keys that have no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from groupsim.scenarios.build.configurations import Configured, configurations
from groupsim.scenarios.build.kafka_checks import STRATEGY
from groupsim.scenarios.files.yaml_text import Place, path_text
from groupsim.scenarios.kafka import broker_config, client_config
from groupsim.scenarios.kafka.client_profiles import EAGER
from groupsim.scenarios.kafka.consumer_protocol import migration_advice
from groupsim.scenarios.kafka.group_config import MODELLED_GROUP
from groupsim.scenarios.kafka.keys import Kind, is_known
from groupsim.scenarios.kafka.producer_config import MODELLED_PRODUCER
from groupsim.scenarios.kafka.rules import advice
from groupsim.scenarios.kafka.zookeeper_consumer import MODELLED_OLD
from groupsim.scenarios.schema.cluster import ZookeeperFile
from groupsim.scenarios.schema.durations import format_duration
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.sim.model import Scenario, read_as_flow, topics_read

_MODELLED: Final[Mapping[Kind, frozenset[str]]] = {
    "broker": broker_config.MODELLED_BROKER,
    "topic": broker_config.MODELLED_TOPIC,
    "consumer": client_config.MODELLED,
    "group": MODELLED_GROUP,
    "old consumer": MODELLED_OLD,
    "producer": MODELLED_PRODUCER,
}

_AUTO_COMMIT: Final = "enable.auto.commit"
_FETCH_MIN: Final = "fetch.min.bytes"
_STOPS: Final = {"kill", "close", "restart", "rolling_restart"}


def warnings_of(scenario: Scenario) -> tuple[str, ...]:
    """Sentences about a loaded scenario, each with its place in the file; the last list keys that have no effect."""
    file = ScenarioFile.model_validate(scenario.document, context={"allow_code": scenario.allow_assignors})
    told = [*_warnings(file), *_flow_warnings(scenario)]
    found = [*scenario.remarks, *(f"{path_text(place, _names(file))}: {sentence}" for place, sentence in told)]
    for kind, keys in not_modelled(scenario.document).items():
        strange = [key for key in keys if not is_known(kind, key)]
        if known := [key for key in keys if key not in strange]:
            found.append(f"{kind} keys that have no effect here: {', '.join(known)}")
        if strange:
            found.append(f"{kind} keys that Kafka does not know, left out: {', '.join(strange)}")
    return tuple(dict.fromkeys(found))


def not_modelled(document: Mapping[str, Any]) -> dict[Kind, tuple[str, ...]]:
    """Kafka's keys in a resolved document that groupsim accepts and does not model, sorted, by kind; no empty ones."""
    old = [group for group in document["groups"].values() if group["protocol"] == "zookeeper"]
    groups = [group for group in document["groups"].values() if group not in old]
    bodies = [body for entry in document["timeline"] for body in entry.values() if isinstance(body, Mapping)]
    overrides = [override for group in groups for override in group["overrides"]]
    made = [entry["create_topic"] for entry in document["timeline"] if "create_topic" in entry]
    set_configs = [body for body in bodies if "target" in body]
    holders: dict[Kind, list[Mapping[str, Any]]] = {
        "broker": [document["cluster"]],
        "topic": [*document["topics"].values(), *made],
        "consumer": [*groups, *overrides, *set_configs],
        "producer": [
            *(group["produces"] for group in groups if group.get("produces")),
            *document.get("producers", {}).values(),
        ],
        "old consumer": [*old, *(override for group in old for override in group["overrides"])],
    }
    found: dict[Kind, tuple[str, ...]] = {}
    for kind, some in holders.items():
        keys = {key for one in some for key in one.get("config", ())} - _MODELLED[kind]
        if keys:
            found[kind] = tuple(sorted(keys))
    return found


def _names(file: ScenarioFile) -> dict[Place, str]:
    return {("timeline", position): str(entry.id) for position, entry in enumerate(file.timeline)}


def _warnings(file: ScenarioFile) -> Iterator[tuple[Place, str]]:
    ignored = broker_config.unknown_to_coordinator(file.cluster.version, file.cluster.config)
    if ignored:
        sentence = f"brokers of {file.cluster.version} do not know {', '.join(ignored)}: no effect"
        yield ("cluster", "config"), sentence
    found = list(configurations(file))
    for one in found:
        for sentence in advice(one.profile, one.config, file.cluster.config):
            yield (*one.place, "config"), sentence
        if one.config.get(_FETCH_MIN, 1) > 1 and any(topic.record_size is None for topic in file.topics.values()):
            sentence = (
                "how long a fetch collects so much follows from topics' record_size; without it a record is enough"
            )
            yield (*one.place, "config", _FETCH_MIN), sentence
    for key, group in file.groups.items():
        yield from _no_common_assignor(key, group)
        yield from _eager_all_the_same(key, group)
        yield from _protocol_warnings(file, key, [one for one in found if one.group == key])
    if file.cluster.zookeeper != ZookeeperFile() and all(one.protocol != "zookeeper" for one in file.groups.values()):
        yield ("cluster", "zookeeper"), "has no effect: no group has protocol: zookeeper"
    yield from _nobody_commits(file, found)
    yield from _timeline_warnings(file)
    yield from _close_warnings(file, found)


def _nobody_commits(file: ScenarioFile, found: Sequence[Configured]) -> Iterator[tuple[Place, str]]:
    """A configuration that was pasted leaves it to the application, and the file does not say what that does."""
    off = {one.group for one in found if one.place == ("groups", one.group) and not one.config.get(_AUTO_COMMIT, True)}
    for key in sorted(off):
        group = file.groups[key]
        silent = group.processing.commit.how == "auto" and not group.processing.commit_on_revoked
        if silent and group.produces is None and not any(one.processing for one in group.overrides):
            sentence = (
                f"auto, and {_AUTO_COMMIT} is false: nobody commits, and who starts again begins where"
                " auto.offset.reset says; commit: {sync: batch} is an application that commits, commit: none says it"
                " is meant"
            )
            yield ("groups", key, "processing", "commit"), sentence


def _flow_warnings(scenario: Scenario) -> Iterator[tuple[Place, str]]:
    for topic, reason in read_as_flow(scenario).items():
        readers = [spec.name for spec in scenario.groups if topics_read(scenario, spec, (topic,))]
        for key in [one.name for one in scenario.producers if readers and topic in one.topics]:
            sentence = f"at its rate, since {reason}: what retries repeat, delay or give up is in table producers alone"
            yield ("producers", key), f"{topic} is read ({', '.join(readers)}) {sentence}"


def _no_common_assignor(key: str, group: GroupFile) -> Iterator[tuple[Place, str]]:
    names = set(group.config.get(STRATEGY, ()))
    for position, override in enumerate(group.overrides):
        if names and STRATEGY in override.config and not names & set(override.config[STRATEGY]):
            place = ("groups", key, "overrides", position, "config", STRATEGY)
            yield place, "shares no assignor with the rest: who joins second is refused (INCONSISTENT_GROUP_PROTOCOL)"


def _eager_all_the_same(key: str, group: GroupFile) -> Iterator[tuple[Place, str]]:
    first, *others = group.config.get(STRATEGY) or [""]
    eager = [name for name in others if name in EAGER]
    if first == "cooperative-sticky" and eager:
        sentence = "members rebalance eagerly as long as the list has an eager assignor (KIP-429)"
        yield ("groups", key, "config", STRATEGY), f"{', '.join(eager)} beside cooperative-sticky: {sentence}"


def _protocol_warnings(file: ScenarioFile, key: str, found: Sequence[Configured]) -> Iterator[tuple[Place, str]]:
    protocols = {one.protocol for one in found}
    if file.groups[key].group_config and "consumer" not in protocols:
        yield ("groups", key, "group_config"), "has no effect: no member has the consumer protocol"
    if len(protocols) > 1:
        for sentence in migration_advice(file.cluster.config):
            yield ("groups", key), sentence


def _close_warnings(file: ScenarioFile, found: Sequence[Configured]) -> Iterator[tuple[Place, str]]:
    """KIP-1092: clients before 4.1, and others than Java's, cannot be told how to close."""
    for position, entry in enumerate(file.timeline):
        if getattr(entry.body, "close", "default") == "default":
            continue
        key = file.group_key(entry.body.target.name)
        clients = [one for one in found if key in (None, one.group)]
        if clients and not any(one.profile.behaviour.close_operations for one in clients):
            place = ("timeline", position, entry.verb, "close")
            yield place, "has no effect: clients before 4.1 leave dynamic members' groups, and no others"


def _timeline_warnings(file: ScenarioFile) -> Iterator[tuple[Place, str]]:
    for position, entry in enumerate(file.timeline):
        first = entry.at if entry.at is not None else entry.from_ or 0
        if first >= file.horizon:
            yield ("timeline", position), f"never fires: the horizon is {format_duration(file.horizon)}"
        if entry.verb in _STOPS and entry.body.target.kind in ("broker", "rack") and len(file.cluster.brokers) == 2:
            sentence = "of two controllers none is a majority: while a broker is down no partition gets another leader"
            yield ("timeline", position, entry.verb), f"{sentence} (of three brokers one may be down)"
        if entry.verb == "set_config":
            group = file.groups[file.group_key(entry.body.target.name) or ""]
            if any(override.config or override.client or override.processing for override in group.overrides):
                sentence = (
                    "replaces what overrides say of config, client and processing by the group's, with these changes"
                )
                yield ("timeline", position, "set_config"), sentence
