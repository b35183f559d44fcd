"""What an assignor is given: a group's topics, members and what they say they own.

What a member owns can be older than the topics of the day. It then keeps the `Topics` it was counted by (its `layout`),
and whoever reads it translates; partitions that no longer exist need no other form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.errors import InvalidSnapshot
from groupsim.assignors.core.input_types import are_positions, are_texts, is_generation, is_text, require
from groupsim.assignors.core.topics import NOTHING, Positions, Topics, positions_of, sealed

__all__ = [
    "NOTHING",
    "Assignment",
    "GroupSnapshot",
    "MemberSubscription",
    "Positions",
    "SubscriptionTable",
    "Topics",
    "positions_of",
]


@dataclass(frozen=True, slots=True, eq=False)
class MemberSubscription:
    """One member's subscription as the leader has decoded it from the JoinGroup response.

    Parameters
    ----------
    member_id : str
    topics : tuple of str
        Names subscribed to, without repetition; some may be unknown to the snapshot. Members that share one tuple
        object are compared faster.
    owned : ndarray of int32
        Positions the member says it owns, ascending as the sender sorts them; counted by `layout`, or by the snapshot's
        topics where that is None.
    generation : int, optional
        Generation in which it got them; None: absent or negative.
    instance_id, rack : str, optional
        group.instance.id and client.rack.
    user_data : object, optional
        What the member's assignor added in `subscription_user_data`.
    layout : Topics, optional
        The topics that `owned` was counted by, if they are not the snapshot's.
    capacity : int, optional
        How much the member can process, in any one unit for all members. Kafka has no such field: an assignor that
        needs it would carry it in its user data.

    Raises
    ------
    InvalidSnapshot
        One of them is of another type, or a generation that 32 bits do not hold.
    """

    member_id: str
    topics: tuple[str, ...]
    owned: Positions = field(default_factory=lambda: NOTHING)
    generation: int | None = None
    instance_id: str | None = None
    rack: str | None = None
    user_data: object | None = None
    layout: Topics | None = None
    capacity: int | None = None

    def __post_init__(self) -> None:
        for name, fits, must_be in _FIELDS:
            value = getattr(self, name)
            if not fits(value):
                require(False, f"{name} of member {self.member_id!r}", must_be, value)


_FIELDS: Final[tuple[tuple[str, Callable[[object], bool], str], ...]] = (
    ("member_id", lambda value: isinstance(value, str), "text"),
    ("topics", lambda value: isinstance(value, tuple), "a tuple of names"),
    ("owned", are_positions, "a vector of whole numbers"),
    ("generation", is_generation, "a whole number of 32 bits"),
    ("instance_id", is_text, "text"),
    ("rack", is_text, "text"),
    ("layout", lambda value: value is None or isinstance(value, Topics), "Topics"),
    ("capacity", lambda value: value is None or type(value) is int, "an int"),
)


@dataclass(frozen=True, slots=True, eq=False)
class SubscriptionTable:
    """Who subscribes to what, with equal subscriptions told once.

    Parameters
    ----------
    kinds : tuple of tuple of str
        The distinct subscriptions.
    kind_of : ndarray of int32, shape (n_members,)
        Which of them each member has.
    has : ndarray of bool, shape (n_kinds, n_topics)
        Whether a subscription contains a topic that has partitions.
    """

    kinds: tuple[tuple[str, ...], ...]
    kind_of: Positions
    has: npt.NDArray[np.bool_]

    @property
    def equal(self) -> bool:
        """Whether all members name the same topics, in the same order."""
        return len(self.kinds) <= 1

    @property
    def subscribed_topics(self) -> list[int]:
        """Indices of the topics that have partitions and subscribers, ascending."""
        found: list[int] = np.flatnonzero(self.has.any(axis=0)).tolist()
        return found

    def subscribers(self, topic: int, members: Positions) -> Positions:
        """Those of `members` that subscribe to the topic of this index, in the order given."""
        column = self.has[:, topic]
        return members if column.all() else members[column[self.kind_of[members]]]


@dataclass(frozen=True, slots=True, eq=False)
class GroupSnapshot:
    """A group at the moment of an assignment.

    Parameters
    ----------
    topics : Topics
        May contain topics nobody subscribes to.
    members : tuple of MemberSubscription
        In the order of the JoinGroup response: Kafka's leader fills its HashMap in that order.

    Raises
    ------
    InvalidSnapshot
        Two members of one id, or something of another type.

    Notes
    -----
    What Kafka's leader accepts is no error: topics that nobody knows or nobody subscribes to, members without topics,
    negative generations, two members of one instance id, claims on partitions that are gone (`layout`) or that others
    claim, user data that cannot be read. Assignors treat it as Kafka's do, or, where they are groupsim's own, as if it
    were not there. A position outside its layout cannot come from a partition: it is refused by the assignors that look
    at claims; the others do not notice.
    """

    topics: Topics
    members: tuple[MemberSubscription, ...]
    member_ids: tuple[str, ...] = field(init=False, repr=False)
    _table: SubscriptionTable | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        require(isinstance(self.topics, Topics), "the topics of a snapshot", "Topics", self.topics)
        require(isinstance(self.members, tuple), "the members of a snapshot", "a tuple", self.members)
        kinds = set(map(type, self.members))
        fits = all(issubclass(kind, MemberSubscription) for kind in kinds)
        require(fits, "the members of a snapshot", "MemberSubscription", self.members)
        ids = tuple([member.member_id for member in self.members])
        if len(set(ids)) != len(ids):
            twin = next(each for at, each in enumerate(ids) if each in ids[:at])
            raise InvalidSnapshot(f"two members have the same id: {twin!r}")
        object.__setattr__(self, "member_ids", ids)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.members)

    @property
    def subscriptions(self) -> SubscriptionTable:
        """Who subscribes to what."""
        if self._table is None:
            object.__setattr__(self, "_table", _table_of(self.topics, [member.topics for member in self.members]))
        assert self._table is not None
        return self._table


def _table_of(topics: Topics, subscriptions: Sequence[tuple[str, ...]]) -> SubscriptionTable:
    kinds: dict[tuple[str, ...], int] = {}
    identities = list(map(id, subscriptions))
    distinct = dict(zip(identities, subscriptions, strict=True))
    for names in distinct.values():
        require(are_texts(names), "topics that a member names", "text", names)
    kind_by_id = {identity: kinds.setdefault(names, len(kinds)) for identity, names in distinct.items()}
    kind_of = np.array(list(map(kind_by_id.__getitem__, identities)), dtype=np.int32)
    has = np.zeros((len(kinds), len(topics.names)), dtype=bool)
    for kind, names in enumerate(kinds):
        known = [at for at in map(topics.index, names) if at is not None]
        has[kind, known] = True
    has &= np.array(topics.counts, dtype=np.int64) > 0
    return SubscriptionTable(tuple(kinds), sealed(kind_of), has)
