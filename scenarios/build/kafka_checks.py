"""Every client configuration in a scenario file, held against the rules of `scenarios.kafka.rules`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groupsim.scenarios.build.configurations import Configured, configurations
from groupsim.scenarios.build.past_checks import check_past
from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.build.producer_checks import check_producers
from groupsim.scenarios.build.protocol_checks import check_protocols
from groupsim.scenarios.build.topic_checks import check_topics
from groupsim.scenarios.build.transaction_checks import check_transactions
from groupsim.scenarios.build.zookeeper_checks import check_zookeeper
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.kafka.assignor_names import common_protocols
from groupsim.scenarios.kafka.consumer_protocol import broker_refusals, group_refusals
from groupsim.scenarios.kafka.rules import refusals
from groupsim.scenarios.schema.groups import ProcessingFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile

STRATEGY = "partition.assignment.strategy"


def _check_broadcast(found: Sequence[Configured]) -> Iterator[Finding]:
    """Moves and owners are undefined where everybody gets everything: a group does so always or never."""
    broadcasting = dict.fromkeys(one.group for one in found if "broadcast" in one.config.get(STRATEGY, ()))
    for group in broadcasting:
        others = [one for one in found if one.group == group and one.config.get(STRATEGY) != ["broadcast"]]
        if others:
            message = (
                "broadcast is for a whole group, alone, from beginning to end: every member must have just [broadcast]"
            )
            yield (*others[0].place, "config", STRATEGY), message, others[0].config.get(STRATEGY)


def _check_outside(file: ScenarioFile, found: Sequence[Configured]) -> Iterator[Finding]:
    """Where owners change, the next one would need what the last one keeps: known is what each keeps of its own."""
    broadcasting = {one.group for one in found if "broadcast" in one.config.get(STRATEGY, ())}
    message = "outside is for broadcast groups (partition.assignment.strategy: [broadcast])"
    for key, group in file.groups.items():
        places: list[tuple[Place, ProcessingFile | None]] = [(("groups", key), group.processing)]
        places += [(("groups", key, "overrides", at), one.processing) for at, one in enumerate(group.overrides)]
        for place, processing in places if key not in broadcasting else ():
            if processing is not None and processing.commit.how == "outside":
                yield (*place, "processing", "commit"), message, "outside"


def check_kafka_rules(file: ScenarioFile, allow_code: Sequence[str]) -> Iterator[Finding]:
    """What Kafka refuses, with its reason, and what has no meaning."""
    found, cluster = list(configurations(file)), file.cluster
    for message in broker_refusals(cluster.config):
        yield ("cluster", "config"), message, None
    yield from _check_broadcast(found)
    yield from _check_outside(file, found)
    for one in found:
        place = (*one.place, "config")
        for message in refusals(one.profile, one.config, cluster.version, cluster.config, static=one.static):
            yield place, message, None
        if STRATEGY in one.config and not common_protocols(one.config[STRATEGY], allow_code):
            names = ", ".join(one.config[STRATEGY])
            message = f"Specified assignors {names} do not have commonly supported rebalance protocol"
            yield (*place, STRATEGY), f"{message} (ConsumerCoordinator: IllegalArgumentException)", None
    for name, group in file.groups.items():
        for key, message in group_refusals(cluster.version, group.group_config, cluster.config):
            yield ("groups", name, "group_config", key), message, group.group_config[key]
    yield from check_protocols(file, found)
    yield from check_zookeeper(file)
    yield from check_transactions(file)
    yield from check_producers(file)
    yield from check_topics(file, found)
    yield from check_past(file)
