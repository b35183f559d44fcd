"""The orders in which Kafka's assignors walk members and topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from groupsim.assignors.core.snapshot import GroupSnapshot, MemberSubscription, Positions
from groupsim.assignors.java.ordering import sort_order, text_codes, text_places
from groupsim.assignors.java.table_order import hash_order, hash_orders
from groupsim.assignors.java.text_order import text_order


def member_info_order(snapshot: GroupSnapshot) -> Positions:
    """Member indices as range and roundrobin sort them: static members by instance id, then the others by member id.

    Source: AbstractPartitionAssignor.MemberInfo.compareTo, Kafka 4.4.
    """
    instance_ids = [member.instance_id for member in snapshot.members]
    return info_order(snapshot.member_ids, instance_ids, partial(visiting_order, snapshot, java_order=True))


def info_order(
    member_ids: Sequence[str], instance_ids: Sequence[str | None], visited: Callable[[], Positions]
) -> Positions:
    """Indices of static members by instance id, then of the others by member id.

    Parameters
    ----------
    member_ids : sequence of str
    instance_ids : sequence of (str or None)
    visited : callable
        Tells in which order Kafka comes upon them: those of one instance id stay in it. A coordinator lets no two
        members have one, so this is seldom asked.
    """
    static = [at for at, instance_id in enumerate(instance_ids) if instance_id is not None]
    if not static:
        return text_order(member_ids).astype(np.int32)
    dynamic = [at for at, instance_id in enumerate(instance_ids) if instance_id is None]
    if len({instance_ids[at] for at in static}) < len(static):
        static = [at for at in visited().tolist() if instance_ids[at] is not None]
    by_instance = sort_order([instance_ids[at] or "" for at in static])
    by_id = sort_order([member_ids[at] for at in dynamic])
    return np.array([static[at] for at in by_instance] + [dynamic[at] for at in by_id], dtype=np.int32)


def visiting_order(snapshot: GroupSnapshot, java_order: bool) -> Positions:
    """Member indices as the leader's map of subscriptions yields them, or by member id without Java's order.

    Source: ConsumerCoordinator.onLeaderElected, Kafka 4.4: a HashMap filled in the order of the JoinGroup response.
    """
    return visiting_orders(snapshot, java_order)[0]


def visiting_orders(snapshot: GroupSnapshot, java_order: bool) -> tuple[Positions, Positions]:
    """The order of `visiting_order`, and that of a second map, which is filled while the first is walked.

    They differ where a bucket is crowded.
    """
    ids = snapshot.member_ids
    if not java_order:
        by_id = np.array(sort_order(ids), dtype=np.int32)
        return by_id, by_id
    first, second = hash_orders(text_codes(ids), partial(text_places, ids), 2)
    return first.astype(np.int32), second.astype(np.int32)


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
    return [names[at] for at in hash_order(text_codes(names), partial(text_places, names)).tolist()]
