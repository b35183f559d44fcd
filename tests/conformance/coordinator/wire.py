"""Kafka's messages and records as the conversations have them (JSON), and the machine's, in one form.

Bytes that are opaque to the coordinator travel through the machine as they stand: a subscription keeps its JSON in
``user_data``. What is empty and what is null is the same (``None``) where Kafka's messages have no meaning for the
difference: names of protocols, types and leaders.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from groupsim.sim.protocol.classic.records import GroupMetadata, GroupTombstone, MemberMetadata
from groupsim.sim.protocol.interface import GroupDescription
from groupsim.sim.protocol.messages import (
    Acknowledgement,
    Error,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    LeaveResponse,
    MemberIdentity,
    OffsetCommit,
    Positions,
    Subscription,
    SyncGroup,
    SyncResponse,
    TxnOffsetCommit,
)
from groupsim.sim.protocol.offsets.records import (
    NOBODY,
    CommittedOffsets,
    OffsetCommitResponse,
    OffsetRecord,
    OffsetTombstones,
)
from groupsim.sim.units import FOREVER, MS
from tests.conformance.coordinator.fields import Unplayable, code, known
from tests.conformance.coordinator.topics import NO_ID, Topics

Json = Any

EMPTY_BYTES = {"hex": ""}
_OPAQUE = 1 << 30
"""Positions from here on stand for bytes that are no partitions."""
_JOIN_RESPONSE = frozenset(
    ["errorCode", "generationId", "protocolType", "protocolName", "leader", "skipAssignment", "memberId", "members"]
)
_SYNC_RESPONSE = frozenset(["errorCode", "protocolType", "protocolName", "assignment"])
_LEAVE_RESPONSE = frozenset(["errorCode", "members"])
_DESCRIBED = frozenset(["errorCode", "groupId", "groupState", "protocolType", "protocolData", "members"])


def _text(bytes_: Json) -> str:
    return json.dumps(bytes_, sort_keys=True)


class Payloads:
    """Bytes of subscriptions and assignments, and partitions that offsets are committed for.

    Parameters
    ----------
    topics : Topics
    """

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self._opaque: list[str] = []

    def _number(self, text: str) -> int:
        if text not in self._opaque:
            self._opaque.append(text)
        return _OPAQUE + self._opaque.index(text)

    def assignment(self, bytes_: Json) -> Positions:
        """The assignment that stands for these bytes; a position of its own for what is no partitions."""
        form = assignment_form(bytes_)
        if "opaque" in form:
            return np.array([self._number(form["opaque"])], np.int32)
        return self.topics.positions({self.topics.id_of(name): numbers for name, numbers in form.items()})

    def assignment_form(self, positions: Positions) -> Json:
        """What `assignment_form` makes of the bytes that this assignment stands for."""
        if positions.size == 1 and positions.item() >= _OPAQUE:
            return {"opaque": self._opaque[positions.item() - _OPAQUE]}
        return {self.topics.name_of(topic): numbers for topic, numbers in self.topics.grouped(positions).items()}

    def position(self, topic: str, partition: int, topic_id: str = NO_ID) -> int:
        """The position that stands for a partition."""
        return self.topics.position(self.topics.meet(topic_id, topic), partition)

    def partition(self, position: int) -> Json:
        """Topic and number of the partition that this position stands for."""
        topic, number = self.topics.partition(position)
        return [self.topics.name_of(topic), number]

    def subscription(self, bytes_: Json) -> Subscription:
        """A subscription whose bytes are equal exactly if these are."""
        told = bytes_.get("subscription", {})
        owned = {self.topics.id_of(one["topic"]): one["partitions"] for one in told.get("ownedPartitions", [])}
        return Subscription(
            tuple(sorted(told.get("topics", []))), self.topics.positions(owned), user_data=_text(bytes_),
            rack=told.get("rackId"),
        )  # fmt: skip

    def protocols(self, listed: Json) -> tuple[tuple[str, Subscription], ...]:
        """Assignors in the member's order."""
        return tuple((one["name"], self.subscription(one["metadata"])) for one in listed)


def assignment_form(bytes_: Json) -> Json:
    """Topic -> partitions, if the bytes are exactly an assignment; no bytes are an assignment of nothing."""
    told = bytes_.get("assignment", {"assignedPartitions": [], "userData": None})
    if has_user_data(bytes_) or bytes_.get("hex"):
        return {"opaque": _text(bytes_)}
    each = {one["topic"]: sorted(one["partitions"]) for one in told["assignedPartitions"]}
    return dict(sorted(each.items()))


def has_user_data(bytes_: Json) -> bool:
    """Whether an assignment carries user data; no bytes are none."""
    return bytes_.get("assignment", {}).get("userData") not in (None, EMPTY_BYTES)


def subscription_bytes(one: Subscription | None) -> Json:
    """The bytes that it stands for."""
    return EMPTY_BYTES if one is None else json.loads(one.user_data)


_COMMITTED = frozenset(["memberId", "groupInstanceId", "groupId", "topics"])
REQUESTS = {
    "JoinGroup": frozenset(
        ["groupId", "sessionTimeoutMs", "rebalanceTimeoutMs", "memberId", "groupInstanceId", "protocolType",
         "protocols", "reason"]
    ),
    "SyncGroup": frozenset(
        ["groupId", "generationId", "memberId", "groupInstanceId", "protocolType", "protocolName", "assignments"]
    ),
    "Heartbeat": frozenset(["groupId", "generationId", "memberId", "groupInstanceId"]),
    "LeaveGroup": frozenset(["groupId", "memberId", "members"]),
    "OffsetCommit": _COMMITTED | {"generationIdOrMemberEpoch", "retentionTimeMs"},
    "TxnOffsetCommit": _COMMITTED
    | {"generationId", "generationIdOrMemberEpoch", "transactionalId", "producerId", "producerEpoch"},
    "ConsumerGroupHeartbeat": frozenset(
        ["groupId", "memberId", "memberEpoch", "instanceId", "rackId", "rebalanceTimeoutMs", "subscribedTopicNames",
         "subscribedTopicRegex", "serverAssignor", "topicPartitions"]
    ),
}  # fmt: skip
"""Fields of requests that the player can put to the machine, or that decide nothing at a coordinator."""


# --- requests ---------------------------------------------------------------------------------------------------------


def request(step: Json, payloads: Payloads, fresh_id: str) -> Any:
    """The machine's request; ``fresh_id`` is what Kafka made up in this step."""
    asked, version = step["request"], step["api_version"]
    match step["call"]:
        case "JoinGroup":
            return JoinGroup(
                asked["memberId"], asked["groupInstanceId"], asked["sessionTimeoutMs"] * MS,
                asked["rebalanceTimeoutMs"] * MS, payloads.protocols(asked["protocols"]), asked["reason"] or "",
                fresh_id, knows_member_id_required=version >= 4, knows_skip_assignment=version >= 9, name="client",
                protocol_type=asked["protocolType"],
            )  # fmt: skip
        case "SyncGroup":
            given = {one["memberId"]: payloads.assignment(one["assignment"]) for one in asked["assignments"]}
            return SyncGroup(
                asked["memberId"], asked["groupInstanceId"], asked["generationId"], asked["protocolName"], given,
                asked["protocolType"],
                frozenset(one["memberId"] for one in asked["assignments"] if has_user_data(one["assignment"])),
            )  # fmt: skip
        case "Heartbeat":
            return Heartbeat(asked["memberId"], asked["groupInstanceId"], asked["generationId"])
        case "LeaveGroup":
            return LeaveGroup(
                tuple(
                    MemberIdentity(one["memberId"], one["groupInstanceId"], one["reason"] or "")
                    for one in asked["members"]
                )
            )
        case "OffsetCommit":
            return _commit(asked, version, payloads)
        case "TxnOffsetCommit":
            return _transactional_commit(asked, version, payloads)
        case call:
            raise Unplayable(f"call {call}")


def _offsets(asked: Json, payloads: Payloads) -> tuple[Positions, Any, Any]:
    """Partitions, offsets, and how long the metadata of each is."""
    each = [
        (payloads.position(topic["name"], one["partitionIndex"], topic.get("topicId", NO_ID)),
         one["committedOffset"], len(one["committedMetadata"] or ""))
        for topic in asked["topics"] for one in topic["partitions"]
    ]  # fmt: skip
    positions, offsets, sizes = np.array(each, np.int64).reshape(-1, 3).T
    return positions.astype(np.int32), offsets, sizes


def _commit(asked: Json, version: int, payloads: Payloads) -> OffsetCommit:
    positions, offsets, sizes = _offsets(asked, payloads)
    generation, retention_ms = asked["generationIdOrMemberEpoch"], asked.get("retentionTimeMs", -1)
    return OffsetCommit(
        asked["memberId"], asked["groupInstanceId"], generation, positions, offsets, knows_stale_epoch=version >= 9,
        retention_us=-1 if retention_ms < 0 else retention_ms * MS, metadata_sizes=sizes,
    )  # fmt: skip


def _transactional_commit(asked: Json, version: int, payloads: Payloads) -> TxnOffsetCommit:
    positions, offsets, sizes = _offsets(asked, payloads)
    told = "generationIdOrMemberEpoch" if "generationIdOrMemberEpoch" in asked else "generationId"  # as of 4.4
    return TxnOffsetCommit(
        asked["memberId"], asked["groupInstanceId"], asked[told], positions, offsets, asked["producerId"],
        knows_stale_epoch=version >= 6, metadata_sizes=sizes,
    )  # fmt: skip


# --- responses --------------------------------------------------------------------------------------------------------


def kafka_response(call: str, response: Json) -> Json:
    """A response of the conversation, without what is not compared."""
    match call:
        case "JoinGroup":
            told = known(call, response, _JOIN_RESPONSE)
            told["members"] = {one["memberId"]: [one["groupInstanceId"], one["metadata"]] for one in told["members"]}
        case "SyncGroup":
            told = known(call, response, _SYNC_RESPONSE)
            told["assignment"] = assignment_form(told["assignment"])
        case "LeaveGroup":
            told = known(call, response, _LEAVE_RESPONSE)
            told["members"] = [
                [one["memberId"], one["groupInstanceId"], code(one["errorCode"])] for one in told.get("members", [])
            ]
        case "OffsetCommit" | "TxnOffsetCommit":
            each = [(topic["name"], one) for topic in response["topics"] for one in topic["partitions"]]
            return _committed([[topic, one["partitionIndex"], code(one["errorCode"])] for topic, one in each])
        case _:
            told = known(call, response, frozenset(["errorCode"]))
    told["errorCode"] = code(told["errorCode"])
    return _without_empty_names(told)


def machine_response(response: Any, asked: Any, payloads: Payloads) -> Json:
    """A response of the machine in the same form; ``asked`` is its request."""
    match response:
        case JoinResponse():
            return _without_empty_names({
                "errorCode": response.error.value, "generationId": response.generation,
                "protocolType": response.protocol_type, "protocolName": response.protocol, "leader": response.leader,
                "skipAssignment": response.skip_assignment, "memberId": response.member_id,
                "members": {one: [instance, subscription_bytes(told)] for one, instance, told in response.members},
            })  # fmt: skip
        case SyncResponse():
            return _without_empty_names({
                "errorCode": response.error.value, "protocolType": response.protocol_type,
                "protocolName": response.protocol, "assignment": payloads.assignment_form(response.assignment),
            })  # fmt: skip
        case LeaveResponse():
            each = zip(asked.members, response.members, strict=bool(response.members))
            members = [[who.member_id, who.instance_id, error.value] for who, error in each]
            return {"errorCode": response.group_error.value, "members": members}
        case Acknowledgement() if isinstance(asked, (OffsetCommit, TxnOffsetCommit)):
            refused = response.too_large.tolist() if isinstance(response, OffsetCommitResponse) else []
            errors = dict.fromkeys(refused, Error.OFFSET_METADATA_TOO_LARGE)
            return _committed([
                [*payloads.partition(one), errors.get(one, response.error).value] for one in asked.positions.tolist()
            ])  # fmt: skip
        case Acknowledgement():
            return {"errorCode": response.error.value}
    raise AssertionError(response)


def _committed(partitions: list[list[Any]]) -> Json:
    """Topic, number and error of each partition that was committed; and the error of them all."""
    errors = {error for _, _, error in partitions}
    return {"errorCode": errors.pop() if len(errors) == 1 else "", "partitions": partitions}


def _without_empty_names(fields: Json) -> Json:
    names = ("protocolType", "protocolName", "protocolData", "protocol_type", "protocol", "leader")
    return {name: (value or None) if name in names else value for name, value in fields.items()}


def kafka_description(described: Json, version: int) -> Json:
    """One group of a ``DescribeGroups`` response. Before v6 a group that is not there is no error."""
    told = known("DescribeGroups", described, _DESCRIBED)
    told["errorCode"] = code(69 if version < 6 and told["groupState"] == "Dead" else told["errorCode"])
    told["members"] = {
        one["memberId"]: [
            one["groupInstanceId"],
            one["clientId"],
            one["memberMetadata"],
            assignment_form(one["memberAssignment"]),
        ]
        for one in told["members"]
    }
    return _without_empty_names(told)


def machine_description(group_id: str, one: GroupDescription, payloads: Payloads) -> Json:
    """A description of the machine's in the same form."""
    members = {
        each.member_id: [
            each.instance_id, each.name, subscription_bytes(each.subscription),
            payloads.assignment_form(each.assignment),
        ] for each in one.members
    }  # fmt: skip
    return _without_empty_names({
        "errorCode": one.error.value, "groupId": group_id, "groupState": one.state,
        "protocolType": one.protocol_type, "protocolData": one.protocol, "members": members,
    })  # fmt: skip


# --- records ----------------------------------------------------------------------------------------------------------


def restored_record(record: Json, payloads: Payloads) -> GroupMetadata | GroupTombstone | OffsetRecord:
    """A record of the conversation as the machine replays it."""
    value = record["value"]
    if record["type"] == "OffsetCommit":
        return _restored_offset(record, payloads)
    if record["type"] != "GroupMetadata":
        raise Unplayable(f"records of type {record['type']}")
    if value is None:
        return GroupTombstone()
    members = tuple(
        MemberMetadata(
            one["memberId"], one["groupInstanceId"], one["clientId"], one["sessionTimeout"] * MS,
            one["rebalanceTimeout"] * MS, payloads.subscription(one["subscription"]),
            payloads.assignment(one["assignment"]), has_user_data(one["assignment"]),
        ) for one in value["members"]
    )  # fmt: skip
    return GroupMetadata(
        value["generation"], value["protocol"], value["leader"], value["currentStateTimestamp"] * MS, members,
        value["protocolType"] or "",
    )  # fmt: skip


def _restored_offset(record: Json, payloads: Payloads) -> OffsetRecord:
    key, value = record["key"], record["value"]
    if value is None:
        payloads.position(key["topic"], key["partition"])
        return OffsetTombstones(payloads.topics.named(key["topic"], key["partition"]))
    position = payloads.position(key["topic"], key["partition"], value["topicId"])
    expire_us = FOREVER if value["expireTimestamp"] < 0 else value["expireTimestamp"] * MS
    return CommittedOffsets(
        np.array([position], np.int32), np.array([value["offset"]]), value["commitTimestamp"] * MS, expire_us,
        record.get("producer_id", NOBODY),
    )  # fmt: skip


def kafka_record(record: Json) -> Json:
    """A record without what is not compared; offsets of one group, by partition."""
    key, value = record["key"], record["value"]
    if record["type"] == "OffsetCommit":
        told = [None] if value is None else [value["offset"], value["commitTimestamp"], value["expireTimestamp"]]
        return [key["group"], key["topic"], key["partition"], *told]
    if record["type"] != "GroupMetadata" or value is None:
        return {"type": record["type"], "key": key, "value": value}
    fields = frozenset(["protocolType", "generation", "protocol", "leader", "currentStateTimestamp", "members"])
    told = known("GroupMetadata", value, fields)
    told["members"] = {
        one["memberId"]: {**one, "clientHost": None, "assignment": assignment_form(one["assignment"])}
        for one in told["members"]
    }
    return {"type": "GroupMetadata", "key": key, "value": told}


def machine_records(group_id: str, record: Any, payloads: Payloads) -> list[Json]:
    """What Kafka writes for a record of the machine's, in the same form."""
    match record:
        case CommittedOffsets():
            pairs = zip(record.positions.tolist(), record.offsets.tolist(), strict=True)
            expire_ms = -1 if record.expire_us == FOREVER else record.expire_us // MS
            told = [record.commit_us // MS, expire_ms]
            return [[group_id, *payloads.partition(position), offset, *told] for position, offset in pairs]
        case OffsetTombstones():
            return [[group_id, *payloads.partition(position), None] for position in record.positions.tolist()]
        case GroupTombstone():
            return [{"type": "GroupMetadata", "key": {"group": group_id}, "value": None}]
    value = {
        "protocolType": record.protocol_type, "generation": record.generation, "protocol": record.protocol,
        "leader": record.leader, "currentStateTimestamp": record.state_us // MS,
        "members": {one.member_id: _machine_member(one, payloads) for one in record.members},
    }  # fmt: skip
    return [{"type": "GroupMetadata", "key": {"group": group_id}, "value": value}]


def _machine_member(one: MemberMetadata, payloads: Payloads) -> Json:
    return {
        "memberId": one.member_id, "groupInstanceId": one.instance_id, "clientId": one.name, "clientHost": None,
        "rebalanceTimeout": one.rebalance_timeout_us // MS, "sessionTimeout": one.session_timeout_us // MS,
        "subscription": subscription_bytes(one.subscription),
        "assignment": payloads.assignment_form(one.assignment),
    }  # fmt: skip
