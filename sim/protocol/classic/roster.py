"""Who is in a classic group: members, pending ids, static instances, leader, and the vote for an assignor.

Source: ``ClassicGroup`` and ``ClassicGroupMember`` (Kafka 4.4). Counters replace scans, so that a join in a group of
10,000 members costs what it costs in a group of three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from groupsim.assignors.java.hash_table import HashTable
from groupsim.assignors.java.ordering import fold, string_hash, utf16
from groupsim.sim.errors import ProtocolMisuse
from groupsim.sim.protocol.interface import Waiter
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, JoinGroup, Positions, Protocols, Subscription


@dataclass(slots=True, eq=False)
class Member:
    """One member as the coordinator knows it (``ClassicGroupMember``)."""

    member_id: str
    instance_id: str | None
    name: str
    session_timeout_us: int
    rebalance_timeout_us: int
    protocols: Protocols
    assignment: Positions
    has_user_data: bool = False
    """Whether its assignment carries user data, which decides nothing but whether the group may be upgraded."""
    join_waiter: Waiter | None = None
    sync_waiter: Waiter | None = None
    is_new: bool = True

    @property
    def is_static(self) -> bool:
        """Whether the member has a group.instance.id (KIP-345)."""
        return self.instance_id is not None

    @property
    def is_parked(self) -> bool:
        """Whether its JoinGroup or SyncGroup waits for an answer (``hasSatisfiedHeartbeat``)."""
        return self.join_waiter is not None or self.sync_waiter is not None

    def subscription_for(self, protocol: str) -> Subscription:
        """Its metadata for one assignor (``ClassicGroupMember.metadata``)."""
        for name, subscription in self.protocols:
            if name == protocol:
                return subscription
        raise ProtocolMisuse(f"member {self.member_id} does not support {protocol}")

    def same_protocols(self, protocols: Protocols) -> bool:
        """Ordered equality of (name, bytes) lists (``ClassicGroupMember.matches``)."""
        return len(protocols) == len(self.protocols) and all(
            mine[0] == theirs[0] and mine[1].same_bytes(theirs[1])
            for mine, theirs in zip(self.protocols, protocols, strict=True)
        )


class Roster:
    """Members of one group in order of arrival, with everything that is counted over them."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._table = HashTable[str](ties=utf16)
        self._supporters: dict[str, int] = {}
        self.static: dict[str, str] = {}
        self.pending: dict[str, str] = {}
        """Member ids handed out by MEMBER_ID_REQUIRED that have not joined yet -> name."""
        self.leader: str | None = None
        self.protocol_type: str | None = None
        self.awaiting_join = 0

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def in_table_order(self) -> list[Member]:
        """Members as the coordinator's ``HashMap`` yields them, which has grown with the group and never shrinks.

        The leader learns of them in this order, and fills a ``HashMap`` of its own with them: assignors walk that one.
        """
        return [self._members[member_id] for member_id in self._table.walk()]

    def get(self, member_id: str) -> Member | None:
        """The member of that id, or None."""
        return self._members.get(member_id)

    def add(self, request: JoinGroup, member_id: str, waiter: Waiter) -> Member:
        """Admit a member and park its JoinGroup; the first one leads (``ClassicGroup.add``)."""
        member = Member(
            member_id=member_id,
            instance_id=request.instance_id,
            name=request.name,
            session_timeout_us=request.session_timeout_us,
            rebalance_timeout_us=request.rebalance_timeout_us,
            protocols=request.protocols,
            assignment=NO_PARTITIONS,
            join_waiter=waiter,
        )
        self.awaiting_join += 1
        if not self._members:
            self.protocol_type = request.protocol_type
        self.restore(member)
        self.pending.pop(member_id, None)
        return member

    def restore(self, member: Member) -> None:
        """Take a member in; the first one leads unless somebody does already."""
        self._members[member.member_id] = member
        self._table.put(member.member_id, fold(string_hash(member.member_id)))
        self._count(member, +1)
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> Member | None:
        """Drop a member; an arbitrary one (here: the oldest) leads if it led (``ClassicGroup.remove``)."""
        member = self._members.pop(member_id, None)
        if member is None:
            return None
        self._table.remove(member_id)
        self._count(member, -1)
        if member.join_waiter is not None:
            self.awaiting_join -= 1
        if member.instance_id is not None and self.static.get(member.instance_id) == member_id:
            del self.static[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self._members), None)
        return member

    def update(self, member: Member, request: JoinGroup) -> None:
        """Take over protocols and timeouts of a rejoining member (``ClassicGroup.updateMember``)."""
        self.set_member(member, request.protocols, request.session_timeout_us, request.rebalance_timeout_us)

    def set_member(
        self, member: Member, protocols: Protocols, session_timeout_us: int, rebalance_timeout_us: int
    ) -> None:
        """Give a member these protocols and timeouts."""
        self._count(member, -1)
        member.protocols = protocols
        member.session_timeout_us = session_timeout_us
        member.rebalance_timeout_us = rebalance_timeout_us
        self._count(member, +1)

    def park_join(self, member: Member, waiter: Waiter) -> None:
        """Keep a JoinGroup until the join phase is over; an older one of the same member is forgotten."""
        if member.join_waiter is None:
            self.awaiting_join += 1
        member.join_waiter = waiter

    def release_join(self, member: Member) -> Waiter | None:
        """Take the parked JoinGroup of a member, if any."""
        waiter, member.join_waiter = member.join_waiter, None
        if waiter is not None:
            self.awaiting_join -= 1
        return waiter

    def replace_static(self, old: Member, new_id: str) -> Member:
        """Give a static instance a new member id; place, assignment and leadership stay (``replaceStaticMember``)."""
        new = Member(
            member_id=new_id,
            instance_id=old.instance_id,
            name=old.name,
            session_timeout_us=old.session_timeout_us,
            rebalance_timeout_us=old.rebalance_timeout_us,
            protocols=old.protocols,
            assignment=old.assignment,
            has_user_data=old.has_user_data,
            is_new=False,
        )
        self.release_join(old)
        self._members = {
            (new_id if known is old else member_id): (new if known is old else known)
            for member_id, known in self._members.items()
        }
        self._table.remove(old.member_id)
        self._table.put(new_id, fold(string_hash(new_id)))
        assert old.instance_id is not None
        self.static[old.instance_id] = new_id
        if self.leader == old.member_id:
            self.leader = new_id
        return new

    def validate(self, member_id: str, instance_id: str | None) -> Error:
        """Whether a request comes from a current member (``ClassicGroup.validateMember``)."""
        if instance_id is not None:
            known = self.static.get(instance_id)
            if known is None:
                return Error.UNKNOWN_MEMBER_ID
            if known != member_id:
                return Error.FENCED_INSTANCE_ID
        return Error.NONE if member_id in self._members else Error.UNKNOWN_MEMBER_ID

    @property
    def all_joined(self) -> bool:
        """``hasAllMembersJoined``: everybody's JoinGroup is parked and no handed-out id is outstanding."""
        return self.awaiting_join == len(self._members) and not self.pending

    @property
    def rebalance_timeout_us(self) -> int:
        """The largest rebalance timeout of the current members (``ClassicGroup.rebalanceTimeoutMs``)."""
        return max((member.rebalance_timeout_us for member in self), default=0)

    def supports(self, request: JoinGroup, *, is_empty: bool) -> bool:
        """Whether a joiner fits: same type, some name of its list supported by all (``supportsProtocols``)."""
        if is_empty:
            return bool(request.protocol_type and request.protocols)
        if request.protocol_type != self.protocol_type:
            return False
        everybody = len(self._members)
        return any(self._supporters.get(name, 0) == everybody for name, _ in request.protocols)

    def elect_joined_leader(self) -> bool:
        """Let somebody lead who rejoined (``maybeElectNewJoinedLeader``); False if nobody did."""
        leader = self._members.get(self.leader or "")
        if leader is None:
            return False
        if leader.join_waiter is not None:
            return True
        joined = next((member for member in self if member.join_waiter is not None), None)
        if joined is None:
            return False
        self.leader = joined.member_id
        return True

    def select_protocol(self) -> str:
        """The assignor with most votes among those that everybody supports (``ClassicGroup.selectProtocol``).

        Of several, the first that a ``HashMap`` of the votes yields.
        """
        common = [name for name, supporters in self._supporters.items() if supporters == len(self)]
        if len(common) == 1:
            return common[0]
        votes, table = Counter[str](), HashTable[str](ties=utf16)
        for member in self.in_table_order():
            name = next(name for name, _ in member.protocols if self._supporters[name] == len(self))
            votes[name] += 1
        for name in votes:
            table.put(name, fold(string_hash(name)))
        return max(table.walk(), key=votes.__getitem__)

    def _count(self, member: Member, step: int) -> None:
        for name, _ in member.protocols:
            self._supporters[name] = self._supporters.get(name, 0) + step
