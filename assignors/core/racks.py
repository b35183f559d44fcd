"""When and how racks take part in an assignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from groupsim.assignors.core.snapshot import GroupSnapshot, Positions, Topics


def rack_aware(member_racks: AbstractSet[str], partition_racks: Collection[frozenset[str]]) -> bool:
    """Whether an assignment by racks can differ from one without.

    Parameters
    ----------
    member_racks : set of str
        Racks of the members concerned.
    partition_racks : collection of frozenset of str
        Racks with a replica, for each partition concerned.

    Source: AbstractPartitionAssignor.useRackAwareAssignment, Kafka 4.4.
    """
    union = frozenset().union(*partition_racks)
    if not member_racks or member_racks.isdisjoint(union):
        return False
    return any(racks != union for racks in partition_racks)


@dataclass(frozen=True, slots=True)
class RackMap:
    """Racks of members and partitions, for a group in which they matter.

    Parameters
    ----------
    member : tuple of (str or None)
        Rack of each member.
    partition : tuple of frozenset of str
        Racks with a replica, by position.

    Source: AbstractStickyAssignor.RackInfo, Kafka 4.4.
    """

    member: tuple[str | None, ...]
    partition: tuple[frozenset[str], ...]

    def mismatch(self, member: int, position: int) -> bool:
        """Whether a member has a rack and the partition no replica in it."""
        rack = self.member[member]
        return rack is not None and rack not in self.partition[position]

    def scarcest_first(self, positions: Sequence[int]) -> list[int]:
        """Positions with those first that few members could read in their own rack; otherwise as given."""
        members = Counter(rack for rack in self.member if rack is not None)
        return sorted(positions, key=lambda position: sum(members[rack] for rack in self.partition[position]))

    def next_local(self, position: int, members: Sequence[int], start: int) -> int | None:
        """Place of the first member in a replica's rack, going round from `start`; None if there is none."""
        racks = self.partition[position]
        for step in range(len(members)):
            at = (start + step) % len(members)
            if self.member[members[at]] in racks:
                return at
        return None


def rack_map(snapshot: GroupSnapshot, topics: Topics) -> RackMap | None:
    """Racks of a group as sticky assignors use them, None if they make no difference.

    Parameters
    ----------
    snapshot : GroupSnapshot
    topics : Topics
        What positions mean: the snapshot's topics, perhaps with partitions that no longer exist.
    """
    if topics.racks is None or not any(member.rack for member in snapshot.members):
        return None
    member_racks = tuple(member.rack or None for member in snapshot.members)
    subscribed = snapshot.subscriptions.subscribed_topics
    concerned = [racks for topic in subscribed for racks in snapshot.topics.rack_sets(topic)]
    if not rack_aware({rack for rack in member_racks if rack is not None}, concerned):
        return None
    by_position = [racks for topic in range(len(topics.names)) for racks in topics.rack_sets(topic)]
    return RackMap(member_racks, tuple(by_position))


def rack_numbers(snapshot: GroupSnapshot) -> tuple[Positions, Positions]:
    """Racks of members and of partitions' leaders as numbers of one list, -1 for a rack that is not known.

    A partition's leader is its first replica.

    Parameters
    ----------
    snapshot : GroupSnapshot

    Returns
    -------
    of_member : ndarray of int32, shape (n_members,)
    of_leader : ndarray of int32, shape (n_partitions,)
    """
    members = [member.rack or None for member in snapshot.members]
    leaders = [racks[0] or None if racks else None for racks in snapshot.topics.racks or ()]
    known = [rack for rack in dict.fromkeys([*members, *leaders]) if rack is not None]
    numbers: dict[str | None, int] = {None: -1, **{rack: at for at, rack in enumerate(known)}}
    of_member = np.array(list(map(numbers.__getitem__, members)), dtype=np.int32)
    of_leader = np.array(list(map(numbers.__getitem__, leaders)), dtype=np.int32)
    return of_member, of_leader if leaders else np.full(snapshot.topics.n_partitions, -1, dtype=np.int32)
