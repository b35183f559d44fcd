"""Brokers that do not exist, and replicas that there cannot be, in Kafka's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupsim.scenarios.build.entry_targets import entry_targets
from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.errors import listed, nearest
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.kafka.broker_config import (
    RACK_AWARE,
    SELECTOR,
    broker_config,
    coordinator_config,
    min_insync,
)
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.targets import format_indices, format_target
from groupsim.scenarios.schema.timeline import EntryFile
from groupsim.scenarios.schema.topics import TopicFile
from groupsim.scenarios.schema.verbs import ElectLeadersFile, ReassignFile, RollingRestartFile
from groupsim.sim.model import Target

_BROKER_VERBS: Final = ("kill", "close", "start", "restart", "rolling_restart", "cut")
"""Verbs that brokers know."""
_OFFSETS: Final = "__consumer_offsets"
_TRANSACTIONS: Final = "__transaction_state"


def check_cluster(file: ScenarioFile) -> Iterator[Finding]:
    """Everything that this cluster of brokers makes impossible."""
    yield from _check_offsets_topic(file)
    yield from _check_selector(file)
    for name, topic in file.topics.items():
        yield from _check_replicas(file, topic, name, ("topics", name))
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb)
        if entry.verb == "create_topic":
            yield from _check_replicas(file, entry.body, entry.body.name, place)
        for where, target in entry_targets(entry.body, place):
            yield from _check_target(file, target, where)
        if isinstance(entry.body, RollingRestartFile):
            yield from _check_roll(entry.body, place)
        elif isinstance(entry.body, ReassignFile):
            yield from _check_reassignment(file, entry.body, place)
        elif isinstance(entry.body, ElectLeadersFile):
            yield from _check_election(file, entry.body, place)


def is_about_brokers(file: ScenarioFile, entry: EntryFile, place: Place) -> bool:
    """Whether brokers stop, or are cut off from one another, or partitions go from one to another."""
    if entry.verb in ("elect_leaders", "reassign"):
        return True
    if entry.verb not in _BROKER_VERBS:
        return False
    racks = {broker.rack for broker in file.cluster.brokers}
    targets = [target for _, target in entry_targets(entry.body, place)]
    named = [one.kind == "broker" or (one.kind == "rack" and one.name in racks) for one in targets]
    return all(named) if entry.verb == "cut" else any(named)


# --- replicas ---------------------------------------------------------------------------------------------------------


def _too_many(replicas: int, brokers: int) -> str:
    """``StripedReplicaPlacer.throwInvalidReplicationFactorIfTooFewBrokers``."""
    return (
        f"Unable to replicate the partition {replicas} time(s): The target replication factor of {replicas} cannot be "
        f"reached because only {brokers} broker(s) are registered. (InvalidReplicationFactorException)"
    )


def _too_few(minimum: int, replicas: int, partition: str) -> str:
    """``Partition.appendRecordsToLeader``."""
    return (
        f"The size of the current ISR {replicas} is insufficient to satisfy the min.isr requirement of {minimum} for "
        f"partition {partition} (NotEnoughReplicasException)"
    )


def _check_offsets_topic(file: ScenarioFile) -> Iterator[Finding]:
    given, brokers = file.cluster.config, len(file.cluster.brokers)
    config, key = broker_config(given), "offsets.topic.replication.factor"
    if key in given and config.offsets_replication_factor > brokers:
        yield ("cluster", "config", key), _too_many(config.offsets_replication_factor, brokers), given[key]
    replicas = min(config.offsets_replication_factor, brokers)
    if config.min_insync_replicas > replicas:
        message = f"must be {replicas} at most here, or coordinators cannot write: " + _too_few(
            config.min_insync_replicas, replicas, "__consumer_offsets-0"
        )
        yield ("cluster", "config", "min.insync.replicas"), message, config.min_insync_replicas


def _check_selector(file: ScenarioFile) -> Iterator[Finding]:
    """``ReplicaManager.createReplicaSelector``: a broker does not start with a class that it has not got."""
    given = file.cluster.config.get(SELECTOR)
    if given not in (None, RACK_AWARE):
        message = (
            f"java.lang.ClassNotFoundException: {given}; {nearest(str(given), [RACK_AWARE])}Kafka has {RACK_AWARE}"
        )
        yield ("cluster", "config", SELECTOR), message, given


def _check_replicas(file: ScenarioFile, topic: TopicFile, name: str, place: Place) -> Iterator[Finding]:
    brokers, given = len(file.cluster.brokers), topic.replicas(file.cluster.config)
    if topic.replication_factor is not None and given > brokers:
        yield (*place, "replication_factor"), _too_many(given, brokers), given
    replicas, minimum = min(given, brokers), min_insync(topic.config, file.cluster.config)
    if "min.insync.replicas" in topic.config and minimum > replicas:
        yield (*place, "config", "min.insync.replicas"), _too_few(minimum, replicas, f"{name}-0"), minimum


def _check_reassignment(file: ScenarioFile, body: ReassignFile, place: Place) -> Iterator[Finding]:
    yield from _check_topic(file, body.topic, (*place, "topic"))
    known = sorted(broker.id for broker in file.cluster.brokers)
    for number, broker in enumerate(body.replicas):
        if broker not in known:
            message = (
                f"there is no broker {broker}; brokers: {listed(map(str, known))} (InvalidReplicaAssignmentException)"
            )
            yield (*place, "replicas", number), message, broker
    if body.topic == _OFFSETS:
        count = coordinator_config(file.cluster.version, file.cluster.config).offsets_topic_num_partitions
    elif body.topic in file.topics:
        count = file.topics[body.topic].partitions
    else:
        return
    if body.partitions[-1] >= count:
        message = f"{body.topic} has {count} partitions, 0 to {count - 1}"
        yield (*place, "partitions"), message, format_indices(body.partitions)


def _check_election(file: ScenarioFile, body: ElectLeadersFile, place: Place) -> Iterator[Finding]:
    has_transactions = any(group.produces is not None for group in file.groups.values())
    for number, name in enumerate(body.topics):
        if name != _TRANSACTIONS or not has_transactions:
            yield from _check_topic(file, name, (*place, "topics", number))


def _check_topic(file: ScenarioFile, name: str, place: Place) -> Iterator[Finding]:
    if name not in file.topics and name != _OFFSETS:
        yield place, f"there is no topic of that name; {nearest(name, file.topics)}topics: {listed(file.topics)}", name


# --- targets ----------------------------------------------------------------------------------------------------------


def _check_target(file: ScenarioFile, target: Target, place: Place) -> Iterator[Finding]:
    if target.kind == "broker":
        message = _wrong_brokers(file, target)
        if message:
            yield place, message, format_target(target)


def _wrong_brokers(file: ScenarioFile, target: Target) -> str:
    """Why a target can never be met, or the empty string."""
    known = [str(broker.id) for broker in file.cluster.brokers]
    pick, _, name = target.name.partition("/")
    if pick.isdigit():
        return ""  # `scenarios.build.checks` looks at single brokers, wherever they are named
    if pick == "coordinator":
        return _wrong_group(file, name)
    if pick == "leader":
        return _wrong_partition(file, *name.rpartition("/")[::2])
    missing = [index for index in target.indices if str(index) not in known]
    return f"there is no broker {missing[0]}; brokers: {listed(known)}" if missing else ""


def _wrong_group(file: ScenarioFile, name: str) -> str:
    """Why no coordinator is meant by a group's name, or the empty string."""
    if not file.group_key(name):
        return f"there is no group {name!r}; {nearest(name, file.groups)}groups: {listed(file.groups)}"
    count = file.groups[name].count if name in file.groups else 1
    one = f"name one, such as broker:coordinator/{name}-0"
    return "" if count == 1 else f"{name} is {count} groups, each at a coordinator of its own: {one}"


def _wrong_partition(file: ScenarioFile, topic: str, number: str) -> str:
    if topic not in file.topics:
        return f"there is no topic {topic!r}; {nearest(topic, file.topics)}topics: {listed(file.topics)}"
    count = file.topics[topic].partitions
    return "" if int(number) < count else f"{topic} has {count} partitions, 0 to {count - 1}"


def _check_roll(body: RollingRestartFile, place: Place) -> Iterator[Finding]:
    """Brokers are waited for until they are in sync, members until they have joined; a rack has both."""
    of_brokers = body.target.kind == "broker"
    if body.target.kind == "rack":
        if body.surge:
            yield place, "surge is for members of one group: a rack's are restarted in place", None
        return
    if of_brokers and body.next_[0] not in ("in_sync", "gap"):
        yield (*place, "next"), "of brokers it is in_sync or {gap: 60s}", body.next_[0]
    if not of_brokers and body.next_[0] == "in_sync":
        yield (*place, "next"), "in_sync is for brokers; of members it is running, assigned, stable or {gap: 30s}", None
    if of_brokers and (body.batch > 1 or body.surge):
        yield place, "brokers are restarted one at a time: batch and surge are for members", None
