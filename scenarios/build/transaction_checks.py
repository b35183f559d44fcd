"""What does not go with ``produces``: what Kafka refuses, and what is not modelled together with transactions."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.build.output_checks import check_output_use
from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.kafka.broker_config import transaction_config
from groupsim.scenarios.kafka.producer_config import producer_refusals
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.produces import ProducesFile
from groupsim.scenarios.schema.rates import PerPartition
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.targets import format_target
from groupsim.sim.units import MS

NO_RATE = PerPartition(per_partition=0.0)
_AUTO_COMMIT = (
    "must be false in a group that produces: what auto-commit commits is in no transaction"
    " (KafkaProducer.sendOffsetsToTransaction)"
)


def check_transactions(file: ScenarioFile) -> Iterator[Finding]:
    """Groups that produce, their topics, and what is done to them."""
    producing = {key: group for key, group in file.groups.items() if group.produces is not None}
    if producing and file.cluster.version == "0.9":
        yield ("cluster", "version"), "these brokers know no produces: transactions came with 0.11", "0.9"
    outputs = {one.produces.to: key for key, one in producing.items() if one.produces is not None}
    yield from check_output_use(file, outputs)
    for key, group in producing.items():
        if group.produces is not None:
            yield from _check_output(file, key, group, group.produces)
            yield from _check_producer(file, key, group.produces)
        yield from _check_consumer(key, group)
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb)
        if entry.verb == "crash_at" and file.group_key(entry.body.target.name) not in producing:
            message = "there is no producer here; crash_at is for groups that produce: its points are a transaction's"
            yield (*place, "target"), message, format_target(entry.body.target)


def _check_output(file: ScenarioFile, key: str, group: GroupFile, produces: ProducesFile) -> Iterator[Finding]:
    place: Place = ("groups", key, "produces", "to")
    if produces.to not in file.topics:
        yield place, f"there is no topic of this name; there are {', '.join(file.topics)}", produces.to
        return
    if file.topics[produces.to].rate != NO_RATE:
        yield place, "the topic has a rate of its own: what a group produces to has none", produces.to
    others = [name for name, one in file.groups.items() if one.produces is not None and one.produces.to == produces.to]
    if len(others) > 1 or group.count > 1:
        yield place, "is for one group alone", produces.to


def _check_producer(file: ScenarioFile, key: str, produces: ProducesFile) -> Iterator[Finding]:
    place: Place = ("groups", key, "produces", "config")
    for name, reason in producer_refusals(produces.config):
        yield (*place, name), reason, produces.config.get(name)
    most_us = transaction_config(file.cluster.config).max_timeout_us
    if not 0 < produces.build().producer.transaction_timeout_us <= most_us:
        message = (
            "The transaction timeout is larger than the maximum value allowed by the broker (as configured by"
            f" transaction.max.timeout.ms, here {most_us // MS}): INVALID_TRANSACTION_TIMEOUT"
        )
        yield (*place, "transaction.timeout.ms"), message, produces.config.get("transaction.timeout.ms", 60_000)
    if "transactional.id" in produces.config:
        yield (*place, "transactional.id"), "is said by produces.transactional_id", produces.config["transactional.id"]


def _check_consumer(key: str, group: GroupFile) -> Iterator[Finding]:
    place: Place = ("groups", key)
    if group.config.get("enable.auto.commit", True):
        yield (*place, "config", "enable.auto.commit"), _AUTO_COMMIT, None
    if group.processing.commit.how not in ("auto", "none") or group.processing.commit_on_revoked:
        yield (*place, "processing", "commit"), "must be none: offsets go with the transaction", None
    if group.protocol == "zookeeper" or group.topics.assign is not None:
        yield (*place, "produces"), "needs a group at a coordinator: protocol classic or consumer, topics by name", None
    if "broadcast" in group.config.get("partition.assignment.strategy", ()):
        yield (*place, "produces"), "in a broadcast group each member would produce everything: not modelled", None
