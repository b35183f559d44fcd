"""Names that librdkafka alone has for consumer keys, and what stands for them here.

Source: CONFIGURATION.md of librdkafka, properties for consumers (C and *).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OF_KAFKA: Final[Mapping[str, str]] = MappingProxyType(
    {
        "fetch.message.max.bytes": "max.partition.fetch.bytes",
        "fetch.wait.max.ms": "fetch.max.wait.ms",
        "metadata.broker.list": "bootstrap.servers",
        "sasl.mechanisms": "sasl.mechanism",
        "socket.receive.buffer.bytes": "receive.buffer.bytes",
        "socket.send.buffer.bytes": "send.buffer.bytes",
        "socket.timeout.ms": "request.timeout.ms",
        "ssl.ca.location": "ssl.truststore.location",
        "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
    }
)
"""Kafka's keys for what librdkafka has another name for."""
_STORE: Final = "enable.auto.offset.store"
_NOT_MODELLED: Final = frozenset(
    {
        "broker.address.family", "broker.address.ttl", "builtin.features", "coordinator.query.interval.ms", "debug",
        "enable.partition.eof", "enable.random.seed", "enable.sasl.oauthbearer.unsecure.jwt", "enabled_events",
        "fetch.error.backoff.ms", "fetch.queue.backoff.ms", "group.protocol.type", "internal.termination.signal",
        "log.connection.close", "log.queue", "log.thread.name", "log_level", "max.in.flight",
        "max.in.flight.requests.per.connection", "message.copy.max.bytes", "message.max.bytes", "offset.store.method",
        "plugin.library.paths", "queued.max.messages.kbytes", "queued.min.messages", "receive.message.max.bytes",
        "reconnect.backoff.jitter.ms", "sasl.kerberos.keytab", "sasl.kerberos.principal", "sasl.password",
        "sasl.username", "socket.blocking.max.ms", "socket.keepalive.enable", "socket.max.fails",
        "socket.nagle.disable", "ssl.certificate.location", "ssl.key.location", "statistics.interval.ms",
        "topic.blacklist", "topic.metadata.propagation.max.ms", "topic.metadata.refresh.fast.cnt",
        "topic.metadata.refresh.fast.interval.ms", "topic.metadata.refresh.sparse",
    }
)  # fmt: skip


def kafkas_name_for(name: str) -> str:
    """What to write instead of a name that librdkafka alone has, or the empty string for any other name."""
    if name in OF_KAFKA:
        return f"it is librdkafka's name for {OF_KAFKA[name]}: write that"
    if name == _STORE:
        return "it is librdkafka's; processing.commit of the group says which offsets are committed when"
    return "it is librdkafka's, and not modelled: leave it out" if name in _NOT_MODELLED else ""
