"""The coordinator's side of one classic consumer group, as a `GroupMachine`.

The machine behind ``GroupMetadataManager``'s ``classicGroup*`` methods (``GMM``, Kafka 4.4); tables are in the package.

A rebalance has two barriers. In *PreparingRebalance* JoinGroups are parked until everybody has rejoined, or until the
join timer drops whoever did not. Then the generation is bumped, an assignor is voted for, everybody is answered, and in
*CompletingRebalance* SyncGroups are parked until the leader's assignment is appended to the log. That append is the
transition to *Stable*. Nothing is pushed: members learn of a rebalance from the REBALANCE_IN_PROGRESS that answers
their next heartbeat.

The group changes in memory and logs a summary of itself. What a new coordinator reads is therefore the group as of its
last summary: parked requests, ids handed out, members that have come since the last SyncGroup of a leader and a
rebalance under way are lost.

The 0.9 coordinator (``GroupCoordinator``, 0.9.0.1) is the same machine with a few switches
(`CoordinatorConfig.version`): a new group is "Stable", the second barrier is called "AwaitingSync" and has no timer,
there is no initial delay, no member id is asked for, SyncGroup renews the session and commits do not, heartbeats are
refused outside Stable whoever sends them, and a group without members is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.classic.admission import Admission
from groupsim.sim.protocol.classic.member_requests import MemberRequests
from groupsim.sim.protocol.classic.rebalance import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, Rebalance, on_time
from groupsim.sim.protocol.classic.records import (
    APPEND_ERRORS,
    GroupMetadata,
    GroupRecord,
    LeaderSync,
    NewGroup,
    StaticReplacement,
)
from groupsim.sim.protocol.classic.removal import Removal
from groupsim.sim.protocol.classic.roster import Roster
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.classic.timers import Timers
from groupsim.sim.protocol.facts import AssignmentSynced, GroupForgotten, MemberSeen
from groupsim.sim.protocol.interface import GroupDescription, MemberDescription, Outcome, Reply, Waiter
from groupsim.sim.protocol.messages import (
    CONSUMER,
    Acknowledgement,
    Error,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    SyncGroup,
    TxnOffsetCommit,
)
from groupsim.sim.protocol.offsets.expiration import ExpirationCondition
from groupsim.sim.protocol.offsets.records import CommittedOffsets, OffsetRecord

GroupRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | OffsetCommit | TxnOffsetCommit


class ClassicGroup:
    """One group.

    Parameters
    ----------
    group_id : str
    config : CoordinatorConfig
    batches : iterator of int, optional
        Numbers that no batch of this group has had; from 1 on by default.
    late : callable
        Number of a window of the initial-rebalance delay -> how late the group hears of its end, microseconds.
    """

    def __init__(
        self, group_id: str, config: CoordinatorConfig, batches: Iterator[int] | None = None,
        late: Callable[[int], int] = on_time,
    ) -> None:  # fmt: skip
        self._take_over(Rebalance(group_id, config, batches, late))

    @classmethod
    def of(cls, rebalance: Rebalance) -> ClassicGroup:
        """The group of a rebalance that is there already (a consumer group that has been converted)."""
        group = cls(rebalance.group_id, rebalance.config)
        group._take_over(rebalance)
        return group

    def _take_over(self, rebalance: Rebalance) -> None:
        self._rebalance = rebalance
        self._removal = Removal(rebalance)
        self._admission = Admission(rebalance, self._removal)
        self._requests = MemberRequests(rebalance)

    # --- what anybody may read ----------------------------------------------------------------------------------------

    @property
    def config(self) -> CoordinatorConfig:
        """What it was configured with last."""
        return self._rebalance.config

    @property
    def is_old(self) -> bool:
        """Whether this is the coordinator of 0.9."""
        return self._rebalance.is_old

    @property
    def exists(self) -> bool:
        """Whether there is such a group."""
        return self._rebalance.exists

    @property
    def state(self) -> GroupState:
        """Its state."""
        return self._rebalance.state

    @property
    def generation(self) -> int:
        """Bumped whenever a join phase is over."""
        return self._rebalance.generation

    @property
    def protocol(self) -> str | None:
        """The assignor of this generation."""
        return self._rebalance.protocol

    @property
    def roster(self) -> Roster:
        """Its members."""
        return self._rebalance.roster

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.roster)

    @property
    def is_stable(self) -> bool:
        """Whether every member has its assignment, or can fetch it."""
        return self.state is STABLE

    @property
    def leader(self) -> str | None:
        """Member id of the leader."""
        return self.roster.leader

    @property
    def join_due(self) -> int:
        """When the join phase ends though somebody is missing, microseconds."""
        return self._rebalance.timers.join_due

    @property
    def deadline(self) -> int:
        """When `on_deadline` wants to be called, microseconds."""
        return self._rebalance.timers.earliest

    def session_due(self, member_id: str) -> int:
        """When the session of ``member_id`` expires, microseconds; `FOREVER` while it has no timer."""
        return self._rebalance.timers.session_due(member_id)

    def describe(self) -> GroupDescription:
        """``GMM.describeGroups``; before v6 of the request there is no error."""
        if self._rebalance.is_unknown:
            return GroupDescription(DEAD.value, error=Error.GROUP_ID_NOT_FOUND)
        protocol = self.protocol if self.state is STABLE else None
        members = tuple(
            MemberDescription(
                one.member_id, one.instance_id, one.name,
                one.subscription_for(protocol) if protocol is not None else None, one.assignment,
            ) for one in self.roster
        )  # fmt: skip
        return GroupDescription(self.state.value, self.generation, protocol, self.roster.protocol_type, members)

    # --- requests -----------------------------------------------------------------------------------------------------

    def on_request(self, now: int, request: GroupRequest, waiter: Waiter) -> Outcome:
        """Answer, or park, a request of the classic protocol."""
        match request:
            case Heartbeat():
                return Outcome([Reply(waiter, Acknowledgement(self._requests.heartbeat(now, request)))])
            case OffsetCommit() | TxnOffsetCommit():
                return self._requests.commit(now, request, waiter)
            case JoinGroup() | SyncGroup():
                self._take_part(now, request, waiter)
            case LeaveGroup():
                return self._leave(now, request, waiter)
        return self._rebalance.take()

    def on_requests(self, arrivals: Iterable[tuple[int, JoinGroup | SyncGroup, Waiter]]) -> Outcome:
        """Answer, or park, requests of a rebalance, each at its time; everything that comes of them."""
        for now, request, waiter in arrivals:
            self._take_part(now, request, waiter)
        return self._rebalance.take()

    def _take_part(self, now: int, request: JoinGroup | SyncGroup, waiter: Waiter) -> None:
        if isinstance(request, JoinGroup):
            self._see(request)
            self._admission.join(now, request, waiter)
        else:
            self._requests.sync(now, request, waiter)

    def _see(self, request: JoinGroup) -> None:
        """Tell whose subscription is news."""
        topics = request.protocols[0][1].topics if request.protocols else ()
        member = self.roster.get(request.member_id)
        if member is None or member.protocols[0][1].topics != topics:
            self._rebalance.note(MemberSeen(request.member_id or request.fresh_id, topics))

    def _leave(self, now: int, request: LeaveGroup, waiter: Waiter) -> Outcome:
        """Whoever leaves is answered before those whose rebalance it completes."""
        response = self._removal.leave(now, request)
        outcome = self._rebalance.take()
        outcome.replies.insert(0, Reply(waiter, response))
        return outcome

    def delete(self) -> Outcome:
        """An administrator deletes the group; nothing happens to one with members, or to none."""
        self._removal.delete()
        return self._rebalance.take()

    def dismiss(self, error: Error) -> Outcome:
        """Answer whoever is parked with an error; nothing else changes."""
        self._rebalance.dismiss(error)
        return self._rebalance.take()

    # --- time and the log ---------------------------------------------------------------------------------------------

    def on_deadline(self, now: int) -> Outcome:
        """Every timer that is due."""
        self._removal.on_deadline(now)
        return self._rebalance.take()

    def on_appended(self, now: int, batch: int, error: Error) -> Outcome:
        """Records are committed, or could not be appended: what waited for them goes on, or is told so."""
        error = APPEND_ERRORS.get(error, error)
        match self._rebalance.awaited.pop(batch, None):
            case LeaderSync() as sync:
                self._assigned(now, sync, error)
            case StaticReplacement() as replacement:
                self._admission.replaced(now, replacement, error)
            case NewGroup() as group if error is not Error.NONE:
                self._admission.not_created(group, error)
        return self._rebalance.take()

    def _assigned(self, now: int, sync: LeaderSync, error: Error) -> None:
        """Stable, unless the group has moved on meanwhile; if the append has failed, the round starts over."""
        rebalance = self._rebalance
        if self.state is not COMPLETING or sync.generation != self.generation:
            return
        if error is Error.NONE:
            rebalance.answer_syncs(now, sync, error)
            rebalance.note(AssignmentSynced(tuple((one.member_id, one.assignment) for one in self.roster)))
            rebalance.enter(now, STABLE)
        else:
            rebalance.answer_syncs(now, LeaderSync(sync.generation, {}), error)
            rebalance.prepare(now, f"Error {error.value} when storing group assignment during SyncGroup")

    def on_metadata(self, now: int, image: Mapping[str, int]) -> Outcome:
        """Nothing: in the classic protocol the leader watches metadata."""
        return Outcome()

    def on_config(self, now: int, config: CoordinatorConfig) -> Outcome:
        """What is armed stays as it is."""
        self._rebalance.config = config
        return Outcome()

    def on_task_done(self, now: int, key: str, result: object) -> Outcome:
        """Nothing: in the classic protocol the leader assigns."""
        return Outcome()

    def on_loaded(self, now: int) -> Outcome:
        """``GMM.onLoaded``: all sessions start anew; a group that is too large is rebalanced."""
        rebalance = self._rebalance
        for member in self.roster:
            rebalance.timers.renew(now, member)
        if len(self.roster) > self.config.max_size:
            rebalance.prepare(now, f"Freshly-loaded group is over capacity ({self.config.max_size})")
        return rebalance.take()

    def on_unloaded(self, now: int) -> Outcome:
        """``GMM.onUnloaded``: Dead, and whoever waits must look for the new coordinator."""
        rebalance = self._rebalance
        if self.state is not DEAD:
            rebalance.enter(now, DEAD)
        rebalance.dismiss(Error.NOT_COORDINATOR)
        rebalance.awaited.clear()
        rebalance.timers = Timers()
        return rebalance.take()

    def replay(self, record: GroupRecord) -> None:
        """``GMM.replay``: a group with members is Stable, one without is Empty.

        Offsets are kept elsewhere; those of a group that there is not make a simple one.
        """
        if isinstance(record, CommittedOffsets) and not self.exists:
            self._rebalance.create(record.commit_us)
        if isinstance(record, OffsetRecord):
            return
        rebalance = self._rebalance.anew()
        if isinstance(record, GroupMetadata):
            rebalance.restore(record)
        self._take_over(rebalance)

    def lapse(self, now: int) -> None:
        """Timers that are due by now have run while the group was none of this protocol: to no effect."""
        self._rebalance.timers.lapse(now)

    # --- its offsets (`sim.protocol.offsets`) -------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether it is Empty: nobody is a member, or about to be one."""
        return self.state is EMPTY

    @property
    def offset_expiration(self) -> ExpirationCondition | None:
        """``ClassicGroup.offsetExpirationCondition``; the 0.9 coordinator looks at nothing but the offsets."""
        if self.is_old:
            return ExpirationCondition(spares_subscribed=False)
        if not self.exists:
            return None
        if self.roster.protocol_type is None:
            return ExpirationCondition()
        if self.state is EMPTY:
            return ExpirationCondition(since_us=self._rebalance.state_us)
        is_known = self.roster.protocol_type == CONSUMER and self._rebalance.subscribed is not None
        return ExpirationCondition() if is_known and self.state is STABLE else None

    def is_subscribed_to(self, topic: str) -> bool:
        """``ClassicGroup.isSubscribedToTopic``: consumers of whom nothing is known may read anything."""
        subscribed = self._rebalance.subscribed
        return self.roster.protocol_type == CONSUMER if subscribed is None else topic in subscribed

    def check_offset_delete(self) -> Error:
        """``ClassicGroup.validateOffsetDelete``: offsets of others than consumers only while nobody is there."""
        if self.state is DEAD:
            return Error.GROUP_ID_NOT_FOUND
        is_safe = self.state is EMPTY or self.roster.protocol_type == CONSUMER
        return Error.NONE if is_safe else Error.NON_EMPTY_GROUP

    def check_delete(self) -> Error:
        """``ClassicGroup.validateDeleteGroup``."""
        if self.state is DEAD:
            return Error.GROUP_ID_NOT_FOUND
        return Error.NONE if self.state is EMPTY else Error.NON_EMPTY_GROUP

    def log_offsets(self, record: OffsetRecord) -> None:
        """Write a record of offsets with the next batch."""
        self._rebalance.append(record)

    def take(self) -> Outcome:
        """Everything since the last time."""
        return self._rebalance.take()

    def forget(self) -> Outcome:
        """The group goes with its last offset, or because an administrator says so: whoever comes makes a new one."""
        outcome = self.delete()
        outcome.facts.append(GroupForgotten())
        self._take_over(self._rebalance.anew())
        return outcome

    # --- members whose renewals are known in advance ------------------------------------------------------------------

    @property
    def commits_renew(self) -> bool:
        """Whether a commit renews the session; not at the coordinator of 0.9."""
        return not self.is_old

    def check_fetch(self, request: OffsetFetch) -> Error:
        """``ClassicGroup.validateOffsetFetch``: anybody may fetch offsets."""
        return Error.GROUP_ID_NOT_FOUND if self.state is DEAD else Error.NONE

    def is_steady(self, member_id: str, instance_id: str | None, generation: int) -> bool:
        """Whether this member's heartbeats change nothing, now and as long as nothing else happens."""
        return self.state is STABLE and self._is_current(member_id, instance_id, generation)

    def awaits_rejoin(self, member_id: str, instance_id: str | None, generation: int) -> bool:
        """Whether the group prepares a rebalance of which this member's next heartbeat will tell it."""
        return self.state is PREPARING and self._is_current(member_id, instance_id, generation)

    def _is_current(self, member_id: str, instance_id: str | None, generation: int) -> bool:
        if self.generation != generation or self.roster.get(member_id) is None:
            return False
        return not instance_id or self.roster.static[instance_id] == member_id

    def steady_answer(self, member_id: str) -> Acknowledgement:
        """What a heartbeat is answered that changes nothing."""
        return Acknowledgement(Error.NONE)

    def suspend(self, member_id: str) -> int:
        """Take the session timer away from a member that is known to renew in time; its last renewal, microseconds."""
        member = self.roster.get(member_id)
        assert member is not None
        renewed_us = self.session_due(member_id) - member.session_timeout_us
        self._rebalance.timers.cancel_session(member_id)
        return renewed_us

    def resume(self, member_id: str, renewed_us: int) -> None:
        """Give the timer back, counting from the member's last renewal."""
        member = self.roster.get(member_id)
        assert member is not None
        self._rebalance.timers.renew(renewed_us, member)
