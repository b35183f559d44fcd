"""A group that changes its protocol, a log, and clients of both protocols."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.messages import LEAVE_EPOCH, ConsumerGroupHeartbeat
from groupsim.sim.protocol.interface import Outcome
from groupsim.sim.protocol.messages import (
    Error,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    MemberIdentity,
    Subscription,
    SyncGroup,
)
from groupsim.sim.protocol.mixed.group import MixedGroup
from groupsim.sim.units import S
from tests.unit.sim.protocol.consumer_groups import Coordination, at


class Mixed(Coordination):
    """One group id, a clock, and a log that takes everything at once, or (``is_refused``) nothing.

    Attributes
    ----------
    told : dict
        Who asked -> what it was answered last.
    strategy : str
        ``partition.assignment.strategy`` of whoever joins by the classic protocol.
    """

    group: MixedGroup  # type: ignore[assignment]

    def __init__(self, version: str = "4.4", **config: Any) -> None:
        super().__init__(version, initial_rebalance_delay_us=0, **config)
        self.told: dict[str, Any] = {}
        self.is_refused = False
        self.strategy = "range"
        self.group = self._made()

    def _made(self) -> MixedGroup:
        group = MixedGroup("g", self.config, self.topics, self.assignors)
        group.on_metadata(self.now, self.image)
        return group

    @property
    def classic(self) -> ClassicGroup:
        """The group, which is a classic one."""
        assert isinstance(self.group.group, ClassicGroup)
        return self.group.group

    @property
    def consumer(self) -> ConsumerGroup:
        """The group, which speaks the consumer protocol."""
        assert isinstance(self.group.group, ConsumerGroup)
        return self.group.group

    def take(self, outcome: Outcome) -> Outcome:
        """Keep what the machine hands out; the log takes it, or refuses it."""
        super().take(outcome)
        batch, error = outcome.batch, Error.NOT_ENOUGH_REPLICAS if self.is_refused else Error.NONE
        if batch is not None and self.is_refused:
            self.records.pop()
        replies = list(outcome.replies)
        if batch is not None and not self.is_refused:
            replies += batch.replies
        for reply in replies:
            self.told[str(reply.waiter)] = reply.response
        if batch is not None and (batch.is_awaited or self.is_refused):
            self.take(self.group.on_appended(self.now, batch.number, error))
            self.outcome = outcome
        return outcome

    def ask(self, member_id: str, request: Any) -> Any:
        """Send a request; its answer, None if it is parked."""
        self.told.pop(member_id, None)
        self.take(self.group.on_request(self.now, request, member_id))
        return self.told.get(member_id)

    def rebuilt(self) -> MixedGroup:  # type: ignore[override]
        """A group that has read the log."""
        group = self._made()
        for batch in self.records:
            for record in batch.records:
                group.replay(record)
        return group

    # --- the classic protocol -----------------------------------------------------------------------------------------

    def classic_join(
        self, member_id: str, *owned: int, topics: tuple[str, ...] = ("t",), is_new: bool = False, **fields: Any
    ) -> Any:
        """JoinGroup, with a session of 10 s and a rebalance timeout of 60 s."""
        return self.ask(member_id, self.joining(member_id, *owned, topics=topics, is_new=is_new, **fields))

    def joining(
        self, member_id: str, *owned: int, topics: tuple[str, ...] = ("t",), is_new: bool = False, **fields: Any
    ) -> JoinGroup:
        """The request of `classic_join`."""
        told: dict[str, Any] = {"instance_id": None, "knows_member_id_required": False, **fields}
        protocols = ((self.strategy, Subscription(topics, at(*owned))),)
        return JoinGroup(
            "" if is_new else member_id, session_timeout_us=10 * S, rebalance_timeout_us=60 * S, protocols=protocols,
            fresh_id=member_id, name=member_id, **told,
        )  # fmt: skip

    def sync(self, member_id: str, generation: int, assignments: Any = None, *with_user_data: str) -> Any:
        """SyncGroup; of the leader's assignments these carry user data."""
        request = SyncGroup(
            member_id, None, generation, "range", assignments, with_user_data=frozenset(with_user_data)
        )  # fmt: skip
        return self.ask(member_id, request)

    def classic_beat(self, member_id: str, generation: int) -> Error:
        """Heartbeat."""
        error: Error = self.ask(member_id, Heartbeat(member_id, None, generation)).error
        return error

    def classic_leave(self, *member_ids: str) -> Any:
        """LeaveGroup of these, all at once."""
        return self.ask(member_ids[0], LeaveGroup(tuple(MemberIdentity(one, None) for one in member_ids)))

    def classic_group(self, **owned: tuple[int, ...]) -> int:
        """A stable classic group, in which each member has these; its generation."""
        for member_id in owned:
            self.classic_join(member_id, is_new=True)
        self.sleep(0)
        generation = self.group.generation
        assert self.classic.leader is not None
        for member_id in owned:
            if member_id != self.classic.leader:
                self.sync(member_id, generation)
        self.sync(self.classic.leader, generation, {one: at(*parts) for one, parts in owned.items()})
        assert self.classic.is_stable
        return generation

    # --- the consumer protocol ----------------------------------------------------------------------------------------

    def consumer_join(self, member_id: str, topics: tuple[str, ...] = ("t",), **fields: Any) -> Any:
        """The first heartbeat of a member."""
        told: dict[str, Any] = {"rebalance_timeout_us": 60 * S, "owned": (), "name": member_id, **fields}
        return self.beat(member_id, 0, topics=topics, **told)

    def consumer_leave(self, member_id: str) -> Any:
        """The last heartbeat."""
        return self.beat(member_id, LEAVE_EPOCH)

    def request(self, request: Any) -> Any:
        """Send a request of the consumer protocol; its answer."""
        return self.ask(request.member_id, request)

    def heartbeat(self, member_id: str) -> ConsumerGroupHeartbeat:
        """The request of a member that joins."""
        return ConsumerGroupHeartbeat(member_id, 0, rebalance_timeout_us=60 * S, topics=("t",), owned=at())

    def consumer_join_refused(self, member_id: str) -> bool:
        """Whether a join is not answered, since the log refuses it."""
        return self.ask(member_id, self.heartbeat(member_id)) is None

    def consumer_leave_refused(self, member_id: str) -> None:
        """A leave that the log refuses."""
        assert self.ask(member_id, ConsumerGroupHeartbeat(member_id, LEAVE_EPOCH)) is None

    def syncing(
        self, member_id: str, generation: int, instance_id: str | None = None, **assigned: tuple[int, ...]
    ) -> SyncGroup:
        """The SyncGroup of a static member, perhaps the leader."""
        given = {one: at(*parts) for one, parts in assigned.items()}
        return SyncGroup(member_id, instance_id, generation, "range", given)

    def rejoin(self, member_id: str) -> None:
        """A cooperative member goes through one round: it gives up what it may not keep, then fetches the rest."""
        self.classic_join(member_id, *self.owned(member_id))
        self.sync(member_id, self.member(member_id).member_epoch)

    def reconfigure(self, **config: Any) -> None:
        """Another configuration of the broker's."""
        self.config = replace(self.config, **config)
        self.take(self.group.on_config(self.now, self.config))

    # --- what is there ------------------------------------------------------------------------------------------------

    def epochs_of(self) -> tuple[int, int]:
        """Group epoch and assignment epoch."""
        roster = self.consumer.roster
        return roster.group.epoch, roster.target.epoch

    def target_of(self, member_id: str) -> list[int]:
        """What a member is to own."""
        return self.consumer.roster.target_of(member_id).positions.tolist()

    def owned(self, member_id: str) -> list[int]:
        """What a member may own."""
        return self.member(member_id).assigned.tolist()

    def member(self, member_id: str) -> Any:
        """A member's current assignment in a consumer group."""
        return self.consumer.roster.members[member_id].current
