"""Keys of the consumer before 0.9 -> `sim.config.ClientConfig`; what does not go with it, and what is advised against.

Source: ``kafka.consumer.ConsumerConfig``, ``kafka.utils.ZKConfig`` (Kafka 0.8.2.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from groupsim.scenarios.kafka.client_profiles import ClientProfile
from groupsim.scenarios.kafka.keys import known_keys
from groupsim.sim.config import ClientBehaviour, ClientConfig, ZookeeperConsumerConfig
from groupsim.sim.units import FOREVER, MS

SESSION: Final = "zookeeper.session.timeout.ms"
"""Every resolved configuration of this consumer has it, and that of no other."""
_STRATEGY: Final = "partition.assignment.strategy"
_TIMES: Final = MappingProxyType(
    {
        SESSION: "session_timeout_us",
        "zookeeper.connection.timeout.ms": "connection_timeout_us",
        "rebalance.backoff.ms": "rebalance_backoff_us",
        "offsets.channel.backoff.ms": "offsets_backoff_us",
    }
)
_FOLLOWS: Final = MappingProxyType(
    {"zookeeper.connection.timeout.ms": SESSION, "rebalance.backoff.ms": "zookeeper.sync.time.ms"}
)
"""Keys whose default is the value of another."""
MODELLED_OLD: Final = frozenset(
    {
        *_TIMES, _STRATEGY, "zookeeper.sync.time.ms", "rebalance.max.retries", "auto.commit.enable",
        "auto.commit.interval.ms", "auto.offset.reset", "fetch.wait.max.ms", "socket.timeout.ms", "offsets.storage",
        "dual.commit.enabled",
    }
)  # fmt: skip
_DEPENDENT: Final = {*_FOLLOWS, "dual.commit.enabled"}

OLD_CONSUMER: Final = ClientProfile(
    name="client 0.8.2",
    defaults=MappingProxyType(
        {key: known_keys("old consumer")[key].default for key in sorted(MODELLED_OLD - _DEPENDENT)}
    ),
    behaviour=ClientBehaviour(),
    assignors=("range", "roundrobin"),
    static_membership=False,
    no_consumer_protocol="does not know group.protocol (KIP-848 came with 4.0)",
)
"""The only client that has this protocol; its rebalances know nothing of `ClientBehaviour`."""


def zookeeper_client_config(config: Mapping[str, Any]) -> ClientConfig:
    """The configuration of a consumer, from all modelled keys (`OLD_CONSUMER`) with checked values over them."""
    full = {**{key: config[other] for key, other in _FOLLOWS.items()}, **config}
    own: dict[str, Any] = {field: full[key] * MS for key, field in _TIMES.items()}
    at_broker = full["offsets.storage"] == "kafka"
    return ClientConfig(
        group_protocol="zookeeper",
        partition_assignment_strategy=tuple(full[_STRATEGY]),
        enable_auto_commit=full["auto.commit.enable"],
        auto_commit_interval_us=full["auto.commit.interval.ms"] * MS,
        auto_offset_reset={"largest": "latest", "smallest": "earliest"}[full["auto.offset.reset"]],
        request_timeout_us=full["socket.timeout.ms"] * MS,
        fetch_max_wait_us=full["fetch.wait.max.ms"] * MS,
        max_poll_interval_us=FOREVER,
        max_poll_records=(1 << 31) - 1,
        metadata_max_age_us=FOREVER,
        zookeeper=ZookeeperConsumerConfig(
            **own,
            rebalance_max_retries=full["rebalance.max.retries"],
            offsets_storage=full["offsets.storage"],
            dual_commit=at_broker and full.get("dual.commit.enabled", True),
        ),
        behaviour=OLD_CONSUMER.behaviour,
    )


def zookeeper_refusals(config: Mapping[str, Any]) -> Iterator[str]:
    """Why this consumer would not start."""
    wait, socket = config["fetch.wait.max.ms"], config["socket.timeout.ms"]
    if wait > socket:
        yield (
            f"socket.timeout.ms ({socket}) should always be at least fetch.wait.max.ms ({wait}) to prevent unnecessary"
            " socket timeouts (ConsumerConfig: IllegalArgumentException)"
        )
    if len(config[_STRATEGY]) > 1:
        yield f"{_STRATEGY} of client 0.8.2 is one of range and roundrobin, not a list"


def zookeeper_advice(config: Mapping[str, Any]) -> Iterator[str]:
    """What works and is advised against (Kafka's FAQ on ``ConsumerRebalanceFailedException``)."""
    tries, backoff = (
        config["rebalance.max.retries"],
        config.get("rebalance.backoff.ms", config["zookeeper.sync.time.ms"]),
    )
    if tries * backoff <= config[SESSION]:
        yield (
            f"rebalance.max.retries ({tries}) x rebalance.backoff.ms ({backoff}) should be more than {SESSION}"
            f" ({config[SESSION]}): owner nodes of a consumer that has died outlast all tries"
        )
    if config.get("dual.commit.enabled") and config["offsets.storage"] == "zookeeper":
        yield "dual.commit.enabled has no effect while offsets.storage is zookeeper"
