"""The orders in which Kafka's assignors walk members and topics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from groupsim.assignors.core.snapshot import GroupSnapshot, MemberSubscription, Positions
from groupsim.assignors.java.ordering import hash_order, sort_order, string_hash
from groupsim.assignors.java.text_order import text_order


def member_info_order(snapshot: GroupSnapshot) -> Positions:
    """Member indices as range and roundrobin sort them: static members by instance id, then the others by member id.

    Source: AbstractPartitionAssignor.MemberInfo.compareTo, Kafka 4.4.
    """
    return info_order(snapshot.member_ids, [member.instance_id for member in snapshot.members])


def info_order(member_ids: Sequence[str], instance_ids: Sequence[str | None]) -> Positions:
    """Indices of static members by instance id, then of the others by member id."""
    static = [at for at, instance_id in enumerate(instance_ids) if instance_id is not None]
    if not static:
        return text_order(member_ids).astype(np.int32)
    dynamic = [at for at, instance_id in enumerate(instance_ids) if instance_id is None]
    by_instance = sort_order([instance_ids[at] or "" for at in static])
    by_id = sort_order([member_ids[at] for at in dynamic])
    return np.array([static[at] for at in by_instance] + [dynamic[at] for at in by_id], dtype=np.int32)


def visiting_order(snapshot: GroupSnapshot, java_order: bool) -> Positions:
    """Member indices as the leader's map of subscriptions yields them, or by member id without Java's order.

    Source: ConsumerCoordinator.onLeaderElected, Kafka 4.4: a HashMap filled in the order of the JoinGroup response.
    """
    if not java_order:
        return np.array(sort_order(snapshot.member_ids), dtype=np.int32)
    return hash_order(list(map(string_hash, snapshot.member_ids))).astype(np.int32)


def _first_mention(members: list[MemberSubscription]) -> list[str]:
    kinds = dict.fromkeys(member.topics for member in members)
    return list(dict.fromkeys(name for names in kinds for name in names))


def topic_order(snapshot: GroupSnapshot, java_order: bool) -> list[int]:
    """Indices of subscribed topics that have partitions, as the assignor's map of them yields them, or by name.

    Source: AbstractPartitionAssignor.assign, Kafka 4.4: a HashSet of names, then a HashMap of those with metadata.
    """
    topics = snapshot.topics
    if not java_order:
        return snapshot.subscriptions.subscribed_topics
    members = list(snapshot.members)
    if not snapshot.subscriptions.equal:
        members = [members[at] for at in visiting_order(snapshot, java_order)]
    known = [at for at in map(topics.index, _in_hash_order(_first_mention(members))) if at is not None]
    names = [topics.names[at] for at in known if topics.counts[at] > 0]
    return [at for at in map(topics.index, _in_hash_order(names)) if at is not None]


def _in_hash_order(names: list[str]) -> list[str]:
    return [names[at] for at in hash_order([string_hash(name) for name in names])]
