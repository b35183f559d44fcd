"""What an assignor is given: a group's topics, members and what they say they own.

What a member owns can be older than the topics of the day. It then keeps the `Topics` it was counted by (its `layout`),
and whoever reads it translates; partitions that no longer exist need no other form.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, repeat
from typing import Final

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.errors import InvalidSnapshot
from groupsim.assignors.core.input_types import (
    GENERATION_MAX,
    are_positions,
    are_texts,
    is_generation,
    is_text,
    require,
)
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
        if not self._is_usual():
            self._check()

    def _is_usual(self) -> bool:
        """Whether each field is of the type that it mostly is: large groups are made of many members."""
        return (
            type(self.member_id) is str
            and type(self.topics) is tuple
            and type(self.owned) is np.ndarray
            and self.owned.dtype is NOTHING.dtype
            and self.owned.ndim == 1
            and (self.generation is None or (type(self.generation) is int and abs(self.generation) <= GENERATION_MAX))
            and (self.instance_id is None or type(self.instance_id) is str)
            and (self.rack is None or type(self.rack) is str)
            and (self.layout is None or type(self.layout) is Topics)
            and (self.capacity is None or type(self.capacity) is int)
        )

    def _check(self) -> None:
        for name, fits, must_be in _FIELDS:
            value = getattr(self, name)
            if not fits(value):
                require(False, f"{name} of member {self.member_id!r}", must_be, value)


_LISTS: Final = {list, tuple}
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

    @classmethod
    def of_kinds(cls, topics: Topics, kinds: tuple[tuple[str, ...], ...], kind_of: Positions) -> SubscriptionTable:
        """Who subscribes to what of these topics."""
        has = np.zeros((len(kinds), len(topics.names)), dtype=bool)
        for kind, names in enumerate(kinds):
            known = [at for at in map(topics.index, names) if at is not None]
            has[kind, known] = True
        has &= np.array(topics.counts, dtype=np.int64) > 0
        return cls(kinds, sealed(kind_of), has)

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

    @classmethod
    def of_lists(
        cls,
        counts: Mapping[str, int],
        members: Mapping[str, tuple[Sequence[str], Sequence[tuple[str, int]]]],
        generation: int | None = None,
    ) -> GroupSnapshot:
        """A group from plain lists; `Assignment.plain` gives such lists back.

        Parameters
        ----------
        counts : mapping of str to int
            Partitions of each topic.
        members : mapping of str to (sequence of str, sequence of (str, int))
            By member id, in the order of the JoinGroup response: the topics subscribed to, and topic and number of
            each partition owned. Members that share one list of topics are compared faster.
        generation : int, optional
            In which all of them got what they own.

        Raises
        ------
        InvalidSnapshot
            One of them is of another type, or a partition is owned that there is not.
        """
        require(is_generation(generation), "a generation", "a whole number of 32 bits", generation)
        topics, (subscribed, owned) = Topics.of(counts), _plain_lists(members)
        distinct = dict(zip(map(id, subscribed), subscribed, strict=True))
        kinds = {identity: tuple(names) for identity, names in distinct.items()}
        positions = topics.positions(list(chain.from_iterable(owned)))
        ends = np.cumsum(list(map(len, owned)), dtype=np.int64).tolist()
        columns = {
            "member_id": members,
            "topics": map(kinds.__getitem__, map(id, subscribed)),
            "owned": [positions[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=False)],
            "generation": repeat(generation),
        }
        return cls(topics, members_of_columns(len(members), columns))

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


def _plain_lists(members: object) -> tuple[Sequence[Sequence[str]], Sequence[Sequence[tuple[str, int]]]]:
    """What each member of a mapping subscribes to, and what each owns."""
    require(isinstance(members, Mapping), "members", "a mapping of ids to lists", members)
    assert isinstance(members, Mapping)
    require(are_texts(members), "member ids", "texts", list(members))
    pairs = list(members.values())
    are_pairs = set(map(type, pairs)) <= _LISTS and set(map(len, pairs)) <= {2}
    require(are_pairs, "each member", "a list of topics and one of partitions", pairs[:1])
    subscribed, owned = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    require(set(map(type, subscribed)) <= _LISTS, "topics of members", "lists", subscribed[:1])
    require(set(map(type, owned)) <= _LISTS, "partitions of members", "lists", owned[:1])
    return subscribed, owned


def members_of_columns(n_members: int, columns: Mapping[str, Iterable[object]]) -> tuple[MemberSubscription, ...]:
    """Members from their fields, which have been checked; those that are not given are None.

    Field by field it takes a third of the time that a call for each member takes.
    """
    members = tuple(map(object.__new__, repeat(MemberSubscription, n_members)))
    for field_ in fields(MemberSubscription):
        assign = getattr(MemberSubscription, field_.name).__set__
        deque(map(assign, members, columns.get(field_.name, repeat(None))), maxlen=0)
    return members


def _table_of(topics: Topics, subscriptions: Sequence[tuple[str, ...]]) -> SubscriptionTable:
    kinds: dict[tuple[str, ...], int] = {}
    identities = list(map(id, subscriptions))
    distinct = dict(zip(identities, subscriptions, strict=True))
    for names in distinct.values():
        require(are_texts(names), "topics that a member names", "text", names)
    kind_by_id = {identity: kinds.setdefault(names, len(kinds)) for identity, names in distinct.items()}
    kind_of = np.array(list(map(kind_by_id.__getitem__, identities)), dtype=np.int32)
    return SubscriptionTable.of_kinds(topics, tuple(kinds), kind_of)
