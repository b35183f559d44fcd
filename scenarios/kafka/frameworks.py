"""What frameworks and clients do about commits if nobody tells them otherwise: ``framework`` of a group.

A framework is short for a client family, some of its configuration, and when its application commits; whatever the file
says itself counts more. Only what is known to differ is here, each with its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from groupsim.sim.config import ClientFamily

Framework: TypeAlias = Literal["spring-batch", "spring-record", "confluent-kafka", "kafka-python", "sarama", "franz-go"]


class FrameworkDefaults(NamedTuple):
    """Defaults of one framework.

    Parameters
    ----------
    client_family : str
    config : mapping
        Kafka keys that differ from that family's.
    processing : mapping
        As a scenario file has it.
    source : str
        Where the defaults are to be read.
    """

    client_family: ClientFamily
    config: Mapping[str, Any]
    processing: Mapping[str, Any]
    source: str


FRAMEWORKS: Final[Mapping[Framework, FrameworkDefaults]] = MappingProxyType(
    {
        "spring-batch": FrameworkDefaults(
            "java",
            {"enable.auto.commit": False},
            {"commit": {"sync": "batch"}, "poll_timeout": "5s"},
            "Spring for Apache Kafka: ContainerProperties (AckMode.BATCH), ConsumerProperties (syncCommits,"
            " DEFAULT_POLL_TIMEOUT); enable.auto.commit is false since 2.3",
        ),
        "spring-record": FrameworkDefaults(
            "java",
            {"enable.auto.commit": False},
            {"commit": {"sync": "record"}, "poll_timeout": "5s"},
            "Spring for Apache Kafka: ContainerProperties (AckMode.RECORD), ConsumerProperties (syncCommits,"
            " DEFAULT_POLL_TIMEOUT), KafkaMessageListenerContainer.ListenerConsumer (ackCurrent)",
        ),
        "confluent-kafka": FrameworkDefaults(
            "librdkafka",
            {},
            {"commit": "auto"},
            "librdkafka CONFIGURATION.md: enable.auto.commit, auto.commit.interval.ms, enable.auto.offset.store, which"
            " stores the offset of a record when it is handed out; that one record is not modelled",
        ),
        "kafka-python": FrameworkDefaults(
            "kafka-python",
            {},
            {"commit": "auto"},
            "kafka.KafkaConsumer: enable_auto_commit, auto_commit_interval_ms",
        ),
        "sarama": FrameworkDefaults(
            "java",
            {
                "enable.auto.commit": False,
                "session.timeout.ms": 10_000,
                "heartbeat.interval.ms": 3_000,
                "max.poll.interval.ms": 60_000,
                "partition.assignment.strategy": ["range"],
            },
            {"commit": {"async": "1s"}, "commit_on_revoked": True},
            "IBM/sarama config.go, NewConfig: Consumer.Offsets.AutoCommit, Consumer.Group; consumer_group.go, release"
            " commits what is marked when a session ends. A rebalance waits for Rebalance.Timeout; goroutines of single"
            " partitions, and Go's own poll loop, are not modelled",
        ),
        "franz-go": FrameworkDefaults(
            "franz-go",
            {"max.poll.interval.ms": 60_000},
            {"commit": "auto"},
            "twmb/franz-go kgo config.go, defaultCfg: autocommitInterval, rebalanceTimeout, balancers, resetOffset",
        ),
    }
)
"""By name."""
