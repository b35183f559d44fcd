"""Who owned what before, for assignors that move little and owe nothing to Kafka's hash tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from groupsim.assignors.client.sticky import StickyUserData
from groupsim.assignors.client.sticky_claims import NO_GENERATION, in_range
from groupsim.assignors.core.interface import Assignor
from groupsim.assignors.core.snapshot import NOTHING, Assignment, GroupSnapshot, MemberSubscription, Positions, Topics
from groupsim.assignors.core.topics import sealed
from groupsim.assignors.java.ordering import sort_order


class RememberingAssignor(Assignor):
    """An eager assignor that starts from what members had: they remind the leader of it in the user data of `sticky`.

    Whom it prefers where everything else is equal goes by name: members by id, partitions by topic and number.
    """

    def __init__(self) -> None:
        self._memory: StickyUserData | None = None

    @abstractmethod
    def owners(self, group: GroupSnapshot, before: Positions) -> Positions:
        """Owner of each position, -1 for nobody.

        Parameters
        ----------
        group : GroupSnapshot
            With members in the order of their ids, and something to assign.
        before : ndarray of int32, shape (n_partitions,)
            Who owned each partition, as in `past_owners`.
        """

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Assign to members in the order of their ids; see `Assignor.assign`.

        Raises
        ------
        InvalidSnapshot
            A position that a member says it owned is outside its layout.
        """
        group, before, order = by_id(snapshot)
        if not snapshot.subscriptions.has.any():
            return Assignment.of_lists(snapshot.topics, [()] * snapshot.n_members)
        owner = self.owners(group, before)
        assigned = np.flatnonzero(owner >= 0).astype(np.int32)
        return Assignment.of_pairs(snapshot.topics, snapshot.n_members, order[owner[assigned]], assigned)

    def subscription_user_data(self) -> StickyUserData | None:
        """Return this consumer's last assignment, None before the first."""
        return self._memory

    def on_assignment(self, topics: Topics, positions: Positions, generation: int) -> None:
        """Remember the assignment; see `Assignor.on_assignment`."""
        self._memory = StickyUserData(topics, positions, generation)


def by_id(snapshot: GroupSnapshot) -> tuple[GroupSnapshot, Positions, Positions]:
    """The group with its members in the order of their ids, `past_owners` of it, and who was where in the snapshot.

    Raises
    ------
    InvalidSnapshot
        As `past_owners`.
    """
    before, order = past_owners(snapshot), np.array(sort_order(snapshot.member_ids), dtype=np.int32)
    place = np.append(np.argsort(order), -1).astype(np.int32)
    group = GroupSnapshot(snapshot.topics, tuple(snapshot.members[at] for at in order.tolist()))
    return group, place[before], order


def past_owners(snapshot: GroupSnapshot) -> Positions:
    """The member that owned each partition and may own it still.

    What a member remembers counts, or what it says it owns if it sends no memory. Of several claims the youngest
    generation's counts; within one generation none does. Claims on partitions that are gone, or of topics that the
    member does not subscribe to any more, are dropped.

    Parameters
    ----------
    snapshot : GroupSnapshot

    Returns
    -------
    ndarray of int32, shape (n_partitions,)
        Index of the member, -1 for nobody.

    Raises
    ------
    InvalidSnapshot
        A claimed position is outside its layout.
    """
    memories = [_memory(member, snapshot.topics) for member in snapshot.members]
    said_by, said = claims(snapshot, memories)
    table = snapshot.subscriptions
    wanted = table.has[table.kind_of[said_by], snapshot.topics.topic_of[said]]
    generations = [NO_GENERATION if one.generation is None else one.generation for one in memories]
    generation = np.array(generations, dtype=np.int64)[said_by]
    return sealed(_settled(snapshot.topics.n_partitions, said_by[wanted], said[wanted], generation[wanted]))


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What a member says that it owned: positions by ``layout``, since which generation."""

    layout: Topics
    owned: Positions
    generation: int | None


def _memory(member: MemberSubscription, topics: Topics) -> Memory:
    data = member.user_data
    if isinstance(data, StickyUserData):
        return Memory(data.layout, data.owned, data.generation)
    return told_by(member, topics)


def told_by(member: MemberSubscription, topics: Topics) -> Memory:
    """What the member's subscription itself says, its assignor's data aside."""
    return Memory(member.layout or topics, member.owned, member.generation)


def claims(snapshot: GroupSnapshot, memories: Sequence[Memory]) -> tuple[Positions, Positions]:
    """Every claim: index of the member, and position in the snapshot; what is gone by now is left out.

    Parameters
    ----------
    snapshot : GroupSnapshot
    memories : sequence of Memory
        Of each member.

    Raises
    ------
    InvalidSnapshot
        A claimed position is outside its layout.
    """
    parts: dict[int, tuple[Topics, list[int]]] = {}
    for member, memory in enumerate(memories):
        if len(memory.owned):
            parts.setdefault(id(memory.layout), (memory.layout, []))[1].append(member)
    said_by, said = [NOTHING], [NOTHING]
    for layout, members in parts.values():
        owned = [memories[member].owned for member in members]
        claimants = np.repeat(np.array(members, dtype=np.int32), list(map(len, owned)))
        positions = in_range(np.concatenate(owned), layout, snapshot, claimants)
        said_by.append(claimants)
        said.append(positions if layout is snapshot.topics else snapshot.topics.translation_from(layout)[positions])
    by, positions = np.concatenate(said_by), np.concatenate(said)
    return by[positions >= 0], positions[positions >= 0]


def _settled(n_partitions: int, said_by: Positions, said: Positions, generation: npt.NDArray[np.int64]) -> Positions:
    """Owner of each position after claims whose generations are given."""
    order = np.argsort(generation, kind="stable")
    owner, latest = np.full(n_partitions, -1, dtype=np.int32), np.zeros(n_partitions, dtype=np.int64)
    owner[said[order]], latest[said[order]] = said_by[order], generation[order]  # the last of several stays
    contested = (generation == latest[said]) & (said_by != owner[said])
    owner[said[contested]] = -1
    return owner
