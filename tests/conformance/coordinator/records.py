"""Records of both protocols in one form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.sim.protocol.classic.records import GroupMetadata, GroupTombstone
from groupsim.sim.protocol.offsets.records import CommittedOffsets, OffsetTombstones
from tests.conformance.coordinator import consumer_wire, wire
from tests.conformance.coordinator.wire import Json, Payloads

_LEGACY = "ConsumerGroupPartitionMetadata"
"""Written before 4.1; since then only its tombstone is, whether the log has one or not. Not kept here."""


def is_legacy(record: Json) -> bool:
    """Whether all that a record says to Kafka 4.3 is that there is such a consumer group."""
    return bool(record["type"] == _LEGACY and record["value"] is not None)


def kafka_records(records: list[Json]) -> list[Json]:
    """Records without what is not compared."""
    return [_kafka_record(one) for one in records if one["type"] != _LEGACY]


def _kafka_record(record: Json) -> Json:
    is_consumer = record["type"].startswith("ConsumerGroup")
    return consumer_wire.kafka_record(record) if is_consumer else wire.kafka_record(record)


def machine_records(group_id: str, record: Any, payloads: Payloads, names: Mapping[int, Any]) -> list[Json]:
    """What Kafka writes for a record of the machine's, in the same form."""
    if isinstance(record, (GroupMetadata, GroupTombstone, CommittedOffsets, OffsetTombstones)):
        return wire.machine_records(group_id, record, payloads)
    return [consumer_wire.machine_record(group_id, record, payloads.topics, names)]


def restored_record(record: Json, payloads: Payloads, hashes: Mapping[Any, int]) -> Any:
    """A record of the conversation as the machine replays it; None for what is kept no longer."""
    if record["type"].startswith("ConsumerGroup"):
        return consumer_wire.restored_record(record, payloads, hashes)
    return wire.restored_record(record, payloads)
