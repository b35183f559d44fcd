"""One rebalance of a classic group: its two barriers, and how they open.

JoinGroups are parked until everybody has rejoined or the join timer ends, SyncGroups until the leader's assignment is
in the log. Source: ``GroupMetadataManager`` (below: ``GMM``) and ``ClassicGroup``, Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.errors import ProtocolMisuse
from groupsim.sim.protocol.classic.records import (
    Awaited,
    GroupMetadata,
    GroupRecord,
    GroupTombstone,
    LeaderSync,
    members_of,
)
from groupsim.sim.protocol.classic.roster import Member, Roster
from groupsim.sim.protocol.classic.states import VALID_PREVIOUS_STATES, GroupState
from groupsim.sim.protocol.classic.timers import Timers
from groupsim.sim.protocol.facts import Cause, DelayExtended, Fact, MemberRemoved, StateChanged
from groupsim.sim.protocol.interface import Batch, Outcome, Reply, Waiter
from groupsim.sim.protocol.messages import (
    CONSUMER,
    NO_PARTITIONS,
    Error,
    JoinResponse,
    Subscription,
    SyncResponse,
)
from groupsim.sim.units import FOREVER

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState

_SHOWN_0_9 = {EMPTY: "Stable", COMPLETING: "AwaitingSync"}
"""What the 0.9 coordinator calls its states."""

ANSWERED: Waiter = object()
"""Stands for a parked request that has been refused and still counts as parked."""


def on_time(_: int) -> int:
    """A timer of whose end the group hears at once."""
    return 0


class Rebalance:
    """State, generation, members and timers of a group, and everything that moves it from phase to phase.

    Parameters
    ----------
    group_id : str
    config : CoordinatorConfig
    batches : iterator of int, optional
        Numbers that no batch of this group has had; from 1 on by default.
    late : callable
        Number of a window of the initial-rebalance delay -> how late the group hears of its end, microseconds.

    Attributes
    ----------
    exists : bool
        Whether the log knows the group.
    state_us : int, microseconds
        When the group entered its state.
    pending_sync : dict
        Member ids of this generation that have not synced, in order.
    subscribed : frozenset of str or None
        Topics of this generation's members; None: unknown, as of a group that has had no consumers.
    new_member_added : bool
        Somebody new has come in this window of the initial rebalance.
    awaited : dict
        Number of a batch -> what the group goes on with when it is committed, or has failed.
    """

    def __init__(
        self, group_id: str, config: CoordinatorConfig, batches: Iterator[int] | None = None,
        late: Callable[[int], int] = on_time,
    ) -> None:  # fmt: skip
        self.group_id = group_id
        self.config = config
        self.late = late
        self._windows = 0
        self.is_old = config.version == "0.9"
        self.exists = False
        self.state = EMPTY
        self.previous_state = DEAD
        self.state_us = 0
        self.generation = 0
        self.protocol: str | None = None
        self.roster = Roster()
        self.timers = Timers()
        self.pending_sync: dict[str, None] = {}
        self.subscribed: frozenset[str] | None = None
        self.new_member_added = False
        self.awaited: dict[int, Awaited] = {}
        self.batches = count(1) if batches is None else batches
        self._outcome = Outcome()

    def anew(self) -> Rebalance:
        """A group of the same name of which nothing is known (``GMM.removeGroup``)."""
        return Rebalance(self.group_id, self.config, self.batches, self.late)

    # --- what the host is handed --------------------------------------------------------------------------------------

    def take(self) -> Outcome:
        """Everything since the last time."""
        outcome, self._outcome = self._outcome, Outcome()
        return outcome

    def reply(self, waiter: Waiter | None, response: JoinResponse | SyncResponse) -> None:
        """Answer a request, if there is one."""
        if waiter is not None and waiter is not ANSWERED:
            self._outcome.replies.append(Reply(waiter, response))

    def dismiss(self, error: Error) -> None:
        """Answer whoever waits with an error (``ClassicGroup.completeAllJoinFutures``, ``completeAllSyncFutures``)."""
        for member in self.roster:
            self.reply(self.roster.release_join(member), JoinResponse(error, member_id=member.member_id))
            waiter, member.sync_waiter = member.sync_waiter, None
            self.reply(waiter, SyncResponse(error))

    def note(self, fact: Fact) -> None:
        """Tell what has happened."""
        self._outcome.facts.append(fact)

    def append(self, record: GroupRecord, awaited: Awaited | None = None, *, is_awaited: bool = True) -> None:
        """Hand out a record, and keep what waits for it; ``is_awaited`` False: only its failure matters."""
        batch = self._outcome.batch
        if batch is None:
            batch = self._outcome.batch = Batch(self.next_batch())
        batch.records += (record,)
        if awaited is not None:
            self.awaited[batch.number] = awaited
            batch.is_awaited = is_awaited

    def next_batch(self) -> int:
        """A number that no batch of this group has had."""
        return next(self.batches)

    def summary(self, given: LeaderSync | None = None) -> GroupMetadata:
        """The group as it is logged, with the assignments ``given`` or (None) those that its members have."""
        members = members_of(self.roster, self.protocol, given)
        roster = self.roster
        return GroupMetadata(
            self.generation, self.protocol, roster.leader, self.state_us, members, roster.protocol_type or ""
        )

    @property
    def is_unknown(self) -> bool:
        """Whether there is no such group; the 0.9 coordinator, which logs none, has every group."""
        return not self.exists and not self.is_old

    def create(self, now: int) -> None:
        """There is such a group from now on (``GMM.getOrMaybeCreateClassicGroup``)."""
        self.exists = True
        if self.state is EMPTY:
            self.state_us = now

    def restore(self, record: GroupMetadata) -> None:
        """Be the group that was logged; only the selected protocol is known of each member."""
        self.exists = True
        self.state = STABLE if record.members else EMPTY
        self.state_us, self.generation, self.protocol = record.state_us, record.generation, record.protocol
        self.roster.leader, self.roster.protocol_type = record.leader, record.protocol_type or None
        for logged in record.members:
            self.roster.restore(logged.restored(record.protocol or ""))
        self.learn_topics()

    def learn_topics(self) -> None:
        """``ClassicGroup.computeSubscribedTopics``: of all members, by the assignor that was chosen."""
        protocol = self.protocol
        if self.roster.protocol_type != CONSUMER or (len(self.roster) and protocol is None):
            self.subscribed = None
            return
        told = {one.subscription_for(protocol).topics for one in self.roster} if protocol is not None else set()
        self.subscribed = frozenset(topic for topics in told for topic in topics)

    # --- join phase ---------------------------------------------------------------------------------------------------

    def prepare_or_complete(self, now: int, reason: str, detail: str) -> None:
        """A member has joined or rejoined: a new rebalance, or perhaps the last who was missing in this one."""
        if self.state is not PREPARING:
            self.prepare(now, f"{reason}; {detail}".strip("; "))
        elif self.previous_state is not EMPTY and self.roster.all_joined:
            self.complete_join(now)

    def prepare(self, now: int, reason: str) -> None:
        """``GMM.prepareRebalance``."""
        if self.state is COMPLETING:
            self.answer_syncs(now, LeaderSync(self.generation, {}), Error.REBALANCE_IN_PROGRESS)
        self.pending_sync.clear()
        self.timers.sync_due = FOREVER
        initial = self.state is EMPTY and not self.is_old
        self.enter(now, PREPARING, reason)
        if initial:
            delay = self.config.initial_rebalance_delay_us
            self._open_window(now, delay, max(self.roster.rebalance_timeout_us - delay, 0))
        elif self.roster.all_joined:
            self.complete_join(now)
        else:
            self.timers.join_due = now + self.roster.rebalance_timeout_us

    def end_window(self, now: int) -> None:
        """``GMM.tryCompleteInitialRebalanceElseSchedule``: one arrival anywhere in a window buys one more window."""
        assert self.timers.window is not None
        delay, remaining = self.timers.window
        if not (self.new_member_added and remaining):
            self.complete_join(now)
            return
        self.new_member_added = False
        self._open_window(now, min(self.config.initial_rebalance_delay_us, remaining), max(remaining - delay, 0))
        self.note(DelayExtended())

    def _open_window(self, now: int, delay_us: int, remaining_us: int) -> None:
        self.timers.open_window(now, delay_us, remaining_us, self.late(self._windows))
        self._windows += 1

    def complete_join(self, now: int) -> None:
        """``GMM.completeClassicGroupJoin``: absent dynamic members are out, absent static ones stay."""
        self.timers.close_join()
        for absent in [one for one in self.roster if one.join_waiter is None and not one.is_static]:
            self.roster.remove(absent.member_id)
            self.timers.cancel_session(absent.member_id)
            self.note(MemberRemoved(absent.member_id, absent.name, Cause.NOT_REJOINED))
        if len(self.roster) and not self.roster.elect_joined_leader():
            self.timers.join_due = now + self.roster.rebalance_timeout_us
            return
        if self.is_old and not len(self.roster):
            self._vanish(now)
            return
        self.generation += 1
        self.pending_sync.clear()
        if len(self.roster):
            self.protocol = self.roster.select_protocol()
            self.learn_topics()
            self.enter(now, COMPLETING)
            self._answer_joins(now)
        else:
            self.protocol = None
            self.learn_topics()
            self.enter(now, EMPTY)
            self.append(self.summary())

    def _answer_joins(self, now: int) -> None:
        for member in self.roster:
            self.reply(self.roster.release_join(member), self.join_response(member))
            self.timers.renew(now, member)
            member.is_new = False
            self.pending_sync[member.member_id] = None
        if not self.is_old:
            self.timers.sync_due = now + self.roster.rebalance_timeout_us

    def join_response(self, member: Member) -> JoinResponse:
        """The current generation, with everybody's subscription if ``member`` leads."""
        leads = member.member_id == self.roster.leader
        members: tuple[tuple[str, str | None, Subscription], ...] = ()
        if leads and self.protocol is not None:
            protocol = self.protocol
            told = self.roster.in_table_order()
            members = tuple((one.member_id, one.instance_id, one.subscription_for(protocol)) for one in told)
        return JoinResponse(
            Error.NONE,
            generation=self.generation,
            protocol=self.protocol,
            leader=self.roster.leader or "",
            member_id=member.member_id,
            members=members,
            protocol_type=self.roster.protocol_type,
        )

    def _vanish(self, now: int) -> None:
        """0.9: a group that is empty is removed; whoever joins next starts at generation 0."""
        self.enter(now, EMPTY)
        self.generation, self.protocol = 0, None
        self.awaited.clear()
        self.append(GroupTombstone())

    def enter(self, now: int, state: GroupState, reason: str = "") -> None:
        """``ClassicGroup.transitionTo``."""
        if self.state not in VALID_PREVIOUS_STATES[state]:
            raise ProtocolMisuse(f"group {self.group_id}: {self.state.value} -> {state.value}")
        self.previous_state, self.state, self.state_us = self.state, state, now
        shown = _SHOWN_0_9.get(state, "") if self.is_old else ""
        self.note(StateChanged(state, self.generation, reason, shown))

    # --- sync phase ---------------------------------------------------------------------------------------------------

    def answer_syncs(self, now: int, given: LeaderSync, error: Error) -> None:
        """Give out assignments and answer parked SyncGroups, which re-arms sessions (``GMM.propagateAssignment``)."""
        for member in self.roster:
            member.assignment = given.assignments.get(member.member_id, NO_PARTITIONS)
            member.has_user_data = member.member_id in given.with_user_data
            waiter, member.sync_waiter = member.sync_waiter, None
            if waiter is not None:
                self.timers.renew(now, member)
                self.reply(waiter, self.sync_response(member) if error is Error.NONE else SyncResponse(error))

    def sync_response(self, member: Member) -> SyncResponse:
        """The member's assignment."""
        return SyncResponse(Error.NONE, member.assignment, self.protocol, self.roster.protocol_type)
