"""What does not go with ``producers``: what Kafka refuses, names that lead nowhere, and what is not modelled."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.kafka.producer_config import producer_refusals
from groupsim.scenarios.schema.producers import ProducersFile
from groupsim.scenarios.schema.rates import PerPartition, Total
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.sim.model import RECORDS_MAX
from groupsim.sim.units import S

_NOTHING = "producers send what the topic's rate says, and it has none, so that they would send nothing"
_CONSTANT = "producers send at a constant rate (per_partition, or total): others are not modelled"


def check_producers(file: ScenarioFile) -> Iterator[Finding]:
    """Producers, their configuration and their topics."""
    records = 0.0
    for key, producers in file.producers.items():
        yield from _check_config(key, producers)
        for at, topic in enumerate(producers.topics):
            place: Place = ("producers", key, "topics", at)
            reason = _refusal(file, key, topic, producers.acks)
            if reason:
                yield place, reason, topic
            else:
                rate, partitions = file.topics[topic].rate, file.topics[topic].partitions
                row = rate.rate(partitions, file.horizon).per_partition_mrps[0]
                if not any(row):
                    yield place, f"{_NOTHING}: give topics.{topic} a rate, such as {{per_partition: 50}}", topic
                records += sum(row) * (partitions if len(row) == 1 else 1) / 1000 * file.horizon / S
    if records > RECORDS_MAX:
        yield ("producers",), f"send {records:,.0f} records, more than {RECORDS_MAX:,}: each is followed", None
    for position, entry in enumerate(file.timeline):
        changed = entry.body.topic if entry.verb in ("set_rate", "add_partitions") else None
        if any(changed in one.topics for one in file.producers.values()):
            message = f"{entry.verb} of a topic that producers send to is not modelled"
            yield ("timeline", position, entry.verb, "topic"), message, changed


def _check_config(key: str, producers: ProducersFile) -> Iterator[Finding]:
    place: Place = ("producers", key, "config")
    config = producers.config
    for name, reason in producer_refusals(config, is_transactional=False):
        yield (*place, name), reason, config.get(name)
    if "transactional.id" in config:
        message = "entries of producers send without transactions: only groups with produces have them"
        yield (*place, "transactional.id"), message, config["transactional.id"]
    for position, topic in enumerate(producers.topics):
        if topic in producers.topics[:position]:
            yield ("producers", key, "topics", position), "must not name a topic twice", topic


def _refusal(file: ScenarioFile, key: str, topic: str, acks: str) -> str:
    """Why a topic cannot be produced to by these; empty: it can."""
    if topic not in file.topics:
        return f"there is no topic of this name; there are {', '.join(file.topics)}"
    if not isinstance(file.topics[topic].rate, PerPartition | Total):
        return _CONSTANT
    if file.topics[topic].acks not in ("all", acks):
        return f"topics.{topic}.acks says what producers wait for; here their config does, and says {acks}"
    if any(group.produces is not None and group.produces.to == topic for group in file.groups.values()):
        return "a group produces to this topic"
    others = [name for name, one in file.producers.items() if name != key and topic in one.topics]
    return f"{', '.join(others)} send to this topic too: give them one entry" if others else ""
