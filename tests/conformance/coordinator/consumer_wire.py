"""The consumer protocol's messages and records as the conversations have them (JSON), in the form that is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

import numpy as np

from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from groupsim.sim.protocol.consumer.records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    CurrentAssignment,
    Epochs,
    GroupEpoch,
    MemberMetadata,
    ResolvedPattern,
    StateRecord,
    TargetEpoch,
)
from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.units import MS
from tests.conformance.coordinator.fields import Unplayable, code, known
from tests.conformance.coordinator.topics import Topics, listed
from tests.conformance.coordinator.wire import Json, Payloads, subscription_bytes

MEMBER_FIELDS = frozenset(
    ["instanceId", "rackId", "clientId", "subscribedTopicNames", "subscribedTopicRegex", "rebalanceTimeoutMs",
     "serverAssignor", "classicMemberMetadata"]
)  # fmt: skip
_HEARTBEAT_RESPONSE = frozenset(["errorCode", "memberId", "memberEpoch", "heartbeatIntervalMs", "assignment"])


def kafka_heartbeat(response: Json) -> Json:
    """``ConsumerGroupHeartbeatResponse``, without what is not compared."""
    told = known("ConsumerGroupHeartbeat", response, _HEARTBEAT_RESPONSE)
    told["errorCode"] = code(told["errorCode"])
    if told["assignment"] is not None:
        told["assignment"] = listed(told["assignment"]["topicPartitions"])
    return told


def kafka_record(record: Json) -> Json:
    """A record of a consumer group; partitions by topic."""
    kind, key, value = record["type"], record["key"], record["value"]
    if value is None:
        return {"type": kind, "key": key, "value": None}
    match kind:
        case "ConsumerGroupMemberMetadata":
            value = known(kind, value, MEMBER_FIELDS)
        case "ConsumerGroupTargetAssignmentMember":
            value = {"topicPartitions": listed(known(kind, value, frozenset(["topicPartitions"]))["topicPartitions"])}
        case "ConsumerGroupCurrentMemberAssignment":
            value = value | {
                name: with_epochs(value[name]) for name in ("assignedPartitions", "partitionsPendingRevocation")
            }
        case "ConsumerGroupRegularExpression":
            value = {"topics": sorted(value["topics"]), "timestamp": value["timestamp"]}
    return {"type": kind, "key": key, "value": value}


def with_epochs(partitions: Json) -> Json:
    """``TopicPartitions`` with the epochs of their assignment: topic id -> number -> epoch."""
    return {
        one["topicId"]: dict(sorted(zip(map(str, one["partitions"]), one["assignmentEpochs"], strict=True)))
        for one in sorted(partitions, key=lambda each: each["topicId"])
    }


def in_runs(records: list[Json]) -> list[Json]:
    """Neighbouring records of one type come from a hash map: in order of their text."""
    runs = groupby(records, key=lambda one: one["type"] if isinstance(one, dict) else "OffsetCommit")
    return [one for _, run in runs for one in sorted(run, key=str)]


# --- the machine's ----------------------------------------------------------------------------------------------------


def heartbeat_request(asked: Json, topics: Topics) -> ConsumerGroupHeartbeat:
    """The machine's request."""
    timeout_ms, owned = asked["rebalanceTimeoutMs"], asked["topicPartitions"]
    names = asked["subscribedTopicNames"]
    return ConsumerGroupHeartbeat(
        asked["memberId"], asked["memberEpoch"], asked["instanceId"], asked["rackId"],
        None if timeout_ms == -1 else timeout_ms * MS, None if names is None else tuple(sorted(names)),
        asked["subscribedTopicRegex"], asked["serverAssignor"],
        None if owned is None else topics.positions(listed(owned)), "client",
    )  # fmt: skip


def machine_heartbeat(response: ConsumerGroupHeartbeatResponse, topics: Topics) -> Json:
    """A response of the machine in the form that is compared."""
    given = response.assignment
    return {
        "errorCode": response.error.value, "memberId": response.member_id, "memberEpoch": response.member_epoch,
        "heartbeatIntervalMs": response.heartbeat_interval_us // MS,
        "assignment": None if given is None else topics.grouped(given),
    }  # fmt: skip


def restored_record(record: Json, payloads: Payloads, hashes: Mapping[Any, int]) -> StateRecord | None:
    """A record of the conversation as the machine replays it; None for what is no longer kept."""
    kind, key, value = record["type"], record["key"], record["value"]
    told = None if value is None else _VALUES[kind](value, payloads, hashes) if kind in _VALUES else None
    match kind:
        case "ConsumerGroupMemberMetadata":
            return ConsumerGroupMemberMetadata(key["memberId"], told)
        case "ConsumerGroupMetadata":
            return ConsumerGroupMetadata(told)
        case "ConsumerGroupTargetAssignmentMember":
            return ConsumerGroupTargetAssignmentMember(key["memberId"], told)
        case "ConsumerGroupTargetAssignmentMetadata":
            return ConsumerGroupTargetAssignmentMetadata(told)
        case "ConsumerGroupCurrentMemberAssignment":
            return ConsumerGroupCurrentMemberAssignment(key["memberId"], told)
        case "ConsumerGroupRegularExpression":
            return ConsumerGroupRegularExpression(key["regularExpression"], told)
        case "ConsumerGroupPartitionMetadata":
            return None
    raise Unplayable(f"records of type {kind}")


def _member(value: Json, payloads: Payloads, _: Any) -> MemberMetadata:
    told = value["classicMemberMetadata"]
    classic = None
    if told is not None:
        classic = ClassicMemberMetadata(told["sessionTimeoutMs"] * MS, payloads.protocols(told["supportedProtocols"]))
    return MemberMetadata(
        value["instanceId"], value["rackId"], value["clientId"], tuple(value["subscribedTopicNames"]),
        value["subscribedTopicRegex"], value["rebalanceTimeoutMs"] * MS, value["serverAssignor"], classic,
    )  # fmt: skip


def current_assignment(value: Json, topics: Topics) -> CurrentAssignment:
    """What a member has, from topic id -> number -> epoch."""
    assigned, assigned_epochs = _with_epochs(value["assigned"], topics)
    pending, pending_epochs = _with_epochs(value["pending_revocation"], topics)
    return CurrentAssignment(
        value["epoch"], value["previous_epoch"], MemberState(value["state"]), assigned, assigned_epochs, pending,
        pending_epochs,
    )  # fmt: skip


def _with_epochs(partitions: Json, topics: Topics) -> tuple[Positions, Epochs]:
    each = sorted(
        (topics.position(topic, int(number)), epoch)
        for topic, numbers in partitions.items() for number, epoch in numbers.items()
    )  # fmt: skip
    positions, epochs = np.array(each, np.int32).reshape(-1, 2).T
    return positions, epochs


def _current(value: Json, payloads: Payloads, _: Any) -> CurrentAssignment:
    return current_assignment(
        {
            "epoch": value["memberEpoch"], "previous_epoch": value["previousMemberEpoch"],
            "state": _STATES[value["state"]].value, "assigned": with_epochs(value["assignedPartitions"]),
            "pending_revocation": with_epochs(value["partitionsPendingRevocation"]),
        },
        payloads.topics,
    )  # fmt: skip


def _pattern(value: Json, *_: Any) -> ResolvedPattern:
    return ResolvedPattern(tuple(sorted(value["topics"])), value["version"], value["timestamp"] * MS)


_STATES = {
    0: MemberState.STABLE, 1: MemberState.UNREVOKED_PARTITIONS, 2: MemberState.UNRELEASED_PARTITIONS,
    127: MemberState.UNKNOWN,
}  # fmt: skip
_VALUES: dict[str, Callable[[Json, Payloads, Mapping[Any, int]], Any]] = {
    "ConsumerGroupMemberMetadata": _member,
    "ConsumerGroupMetadata": lambda value, _, hashes: GroupEpoch(value["epoch"], hashes[value["metadataHash"]]),
    "ConsumerGroupTargetAssignmentMember": lambda value, payloads, _: payloads.topics.told(value["topicPartitions"]),
    "ConsumerGroupTargetAssignmentMetadata": lambda value, *_: TargetEpoch(
        value["assignmentEpoch"], value["assignmentTimestamp"] * MS
    ),
    "ConsumerGroupCurrentMemberAssignment": _current,
    "ConsumerGroupRegularExpression": _pattern,
}


def machine_record(group_id: str, record: StateRecord, topics: Topics, names: Mapping[int, Any]) -> Json:
    """What Kafka writes for a record of the machine's, in the form that is compared; ``names`` of hashes."""
    key = {"groupId": group_id}
    match record:
        case ConsumerGroupRegularExpression(pattern, _):
            key["regularExpression"] = pattern
        case ConsumerGroupMetadata() | ConsumerGroupTargetAssignmentMetadata():
            pass
        case _:
            key["memberId"] = record.member_id
    value = None if record.value is None else _machine_value(record.value, topics, names)
    return {"type": type(record).__name__, "key": key, "value": value}


def _machine_value(value: Any, topics: Topics, names: Mapping[int, Any]) -> Json:
    match value:
        case MemberMetadata():
            return {
                "instanceId": value.instance_id, "rackId": value.rack, "clientId": value.name,
                "subscribedTopicNames": list(value.topics), "subscribedTopicRegex": value.pattern,
                "rebalanceTimeoutMs": value.rebalance_timeout_us // MS, "serverAssignor": value.server_assignor,
                "classicMemberMetadata": classic_metadata(value.classic),
            }  # fmt: skip
        case GroupEpoch():
            return {"epoch": value.epoch, "metadataHash": hash_name(value.metadata_hash, names)}
        case TargetEpoch():
            return {"assignmentEpoch": value.epoch, "assignmentTimestamp": value.timestamp_us // MS}
        case CurrentAssignment():
            code = next(code for code, state in _STATES.items() if state is value.state)
            return {
                "memberEpoch": value.member_epoch, "previousMemberEpoch": value.previous_epoch, "state": code,
                "assignedPartitions": epochs_by_topic(value.assigned, value.assigned_epochs, topics),
                "partitionsPendingRevocation": epochs_by_topic(value.pending, value.pending_epochs, topics),
            }  # fmt: skip
        case ResolvedPattern():
            return {"topics": list(value.topics), "timestamp": value.timestamp_us // MS}
    return {"topicPartitions": topics.grouped(value)}


def classic_metadata(classic: ClassicMemberMetadata | None) -> Json:
    """What a member that uses the classic protocol has told."""
    if classic is None:
        return None
    protocols = [{"name": name, "metadata": subscription_bytes(one)} for name, one in classic.protocols]
    return {"sessionTimeoutMs": classic.session_timeout_us // MS, "supportedProtocols": protocols}


def hash_name(metadata_hash: int, names: Mapping[int, Any]) -> Any:
    """What the conversation calls a hash; the hash itself, if it speaks of none like that."""
    return names.get(metadata_hash, metadata_hash)


def epochs_by_topic(positions: Positions, epochs: Epochs, topics: Topics) -> Json:
    """Topic id -> number -> epoch."""
    found: dict[str, dict[str, int]] = {}
    for position, epoch in zip(positions.tolist(), epochs.tolist(), strict=True):
        topic, number = topics.partition(position)
        found.setdefault(topic, {})[str(number)] = epoch
    return {topic: dict(sorted(numbers.items())) for topic, numbers in sorted(found.items())}
