"""The whole state of a consumer group as the conversations have it: read off the machine, or put into it by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    GroupEpoch,
    MemberMetadata,
    ResolvedPattern,
    StateRecord,
    TargetEpoch,
)
from groupsim.sim.protocol.consumer.roster import Member, Roster
from groupsim.sim.protocol.mixed.group import MixedGroup
from groupsim.sim.units import MS
from tests.conformance.coordinator.consumer_wire import (
    classic_metadata,
    current_assignment,
    epochs_by_topic,
    hash_name,
)
from tests.conformance.coordinator.fields import code, expect, known
from tests.conformance.coordinator.topics import Topics
from tests.conformance.coordinator.wire import Json, Payloads

_GROUP = frozenset(
    ["state", "epoch", "assignment_epoch", "assignment_timestamp", "metadata_hash", "target", "static_members",
     "regexes", "members"]
)  # fmt: skip
_MEMBER = frozenset(
    ["epoch", "previous_epoch", "state", "assigned", "pending_revocation", "instance_id", "rack_id", "client_id",
     "topics", "rebalance_timeout_ms", "regex", "assignor", "classic"]
)  # fmt: skip


def compare_consumer_group(
    group_id: str, expected: Json, roster: Roster, topics: Topics, names: Mapping[int, Any]
) -> None:
    """Raise `Difference` unless the group is as Kafka's is, in all fields that the conversation names."""
    told = known(group_id, {name: value for name, value in expected.items() if name != "type"}, _GROUP)
    members = {name: known(name, fields, _MEMBER) for name, fields in told.pop("members").items()}
    told["target"] = {name: _sorted(one) for name, one in told["target"].items()}
    told["regexes"] = {
        pattern: {"topics": sorted(one["topics"]), "timestamp": one["timestamp"]}
        for pattern, one in sorted(told["regexes"].items())
    }
    expect(group_id, told, _group_fields(roster, topics, names))
    expect(f"{group_id}.members", sorted(members), sorted(roster.members))
    for member in roster:
        mine = _member_fields(member, topics)
        fields = members[member.member_id]
        expect(f"{group_id}.members.{member.member_id}", fields, {name: mine[name] for name in fields})


def _sorted(assigned: Json) -> Json:
    return {topic: sorted(numbers) for topic, numbers in sorted(assigned.items()) if numbers}


def _group_fields(roster: Roster, topics: Topics, names: Mapping[int, Any]) -> Json:
    return {
        "state": roster.state.value, "epoch": roster.group.epoch, "assignment_epoch": roster.target.epoch,
        "assignment_timestamp": roster.target.timestamp_us // MS,
        "metadata_hash": hash_name(roster.group.metadata_hash, names),
        "target": {name: topics.grouped(one.positions) for name, one in sorted(roster.targets.items())},
        "static_members": dict(sorted(roster.static.items())),
        "regexes": {
            pattern: {"topics": list(one.topics), "timestamp": one.timestamp_us // MS}
            for pattern, one in sorted(roster.patterns.items())
        },
    }  # fmt: skip


def _member_fields(member: Member, topics: Topics) -> Json:
    told, current = member.metadata, member.current
    return {
        "epoch": current.member_epoch, "previous_epoch": current.previous_epoch, "state": current.state.value,
        "assigned": epochs_by_topic(current.assigned, current.assigned_epochs, topics),
        "pending_revocation": epochs_by_topic(current.pending, current.pending_epochs, topics),
        "instance_id": told.instance_id, "rack_id": told.rack, "client_id": told.name, "topics": list(told.topics),
        "rebalance_timeout_ms": told.rebalance_timeout_us // MS, "regex": told.pattern,
        "assignor": told.server_assignor, "classic": classic_metadata(told.classic),
    }  # fmt: skip


def compare_description(expected: Json, group_id: str, group: MixedGroup, topics: Topics) -> None:
    """Raise `Difference` unless a ``DescribedGroup`` is what the group is like."""
    told = known("ConsumerGroupDescribe", expected, _DESCRIBED)
    told["errorCode"] = code(told["errorCode"])
    told["members"] = {one["memberId"]: _kafka_described(one) for one in told["members"]}
    if not isinstance(group.group, ConsumerGroup) or not group.exists:
        expect("response", told, _UNKNOWN | {"groupId": group_id})
        return
    roster = group.group.roster
    expect("response", told, {
        "errorCode": "NONE", "groupId": group_id, "groupState": roster.state.value, "groupEpoch": roster.group.epoch,
        "assignmentEpoch": roster.target.epoch, "assignorName": group.group._heartbeats._targets.preferred_assignor,
        "members": {one.member_id: _described(one, roster, topics) for one in roster},
    })  # fmt: skip


def _kafka_described(member: Json) -> Json:
    told = known("ConsumerGroupDescribe", member, _DESCRIBED_MEMBER)
    for name in ("assignment", "targetAssignment"):
        told[name] = {
            one["topicId"]: sorted(one["partitions"]) for one in told[name]["topicPartitions"] if one["partitions"]
        }
    return told


def _described(member: Member, roster: Roster, topics: Topics) -> Json:
    told = member.metadata
    return {
        "memberId": member.member_id, "instanceId": told.instance_id, "rackId": told.rack, "memberEpoch": member.epoch,
        "clientId": told.name, "subscribedTopicNames": list(told.topics), "subscribedTopicRegex": told.pattern,
        "assignment": topics.grouped(member.current.assigned),
        "targetAssignment": topics.grouped(roster.target_of(member.member_id).positions),
        "memberType": int(told.classic is None),
    }  # fmt: skip


_DESCRIBED = frozenset(
    ["errorCode", "groupId", "groupState", "groupEpoch", "assignmentEpoch", "assignorName", "members"]
)
_DESCRIBED_MEMBER = frozenset(
    ["memberId", "instanceId", "rackId", "memberEpoch", "clientId", "subscribedTopicNames", "subscribedTopicRegex",
     "assignment", "targetAssignment", "memberType"]
)  # fmt: skip
_UNKNOWN = {
    "errorCode": "GROUP_ID_NOT_FOUND", "groupState": "", "groupEpoch": 0, "assignmentEpoch": 0, "assignorName": "",
    "members": {},
}  # fmt: skip


# --- by hand ----------------------------------------------------------------------------------------------------------


def records_of(state: Json, payloads: Payloads, hashes: Mapping[Any, int]) -> Iterator[StateRecord]:
    """What a group of this state would have been restored from."""
    yield ConsumerGroupMetadata(GroupEpoch(state["epoch"], hashes[state["metadata_hash"]]))
    yield ConsumerGroupTargetAssignmentMetadata(
        TargetEpoch(state["assignment_epoch"], state["assignment_timestamp"] * MS)
    )
    for member_id, fields in state["members"].items():
        yield ConsumerGroupMemberMetadata(member_id, _metadata(fields, payloads))
        yield ConsumerGroupCurrentMemberAssignment(member_id, current_assignment(fields, payloads.topics))
    for member_id, assigned in state["target"].items():
        yield ConsumerGroupTargetAssignmentMember(member_id, payloads.topics.positions(assigned))
    for pattern, one in state["regexes"].items():
        resolved = ResolvedPattern(tuple(one["topics"]), one["version"], one["timestamp"] * MS)
        yield ConsumerGroupRegularExpression(pattern, resolved)


def _metadata(fields: Json, payloads: Payloads) -> MemberMetadata:
    told, classic = fields["classic"], None
    if told is not None:
        classic = ClassicMemberMetadata(told["sessionTimeoutMs"] * MS, payloads.protocols(told["supportedProtocols"]))
    return MemberMetadata(
        fields["instance_id"], fields["rack_id"], fields["client_id"], tuple(fields["topics"]), fields["regex"],
        fields["rebalance_timeout_ms"] * MS, fields["assignor"], classic,
    )  # fmt: skip
