"""What all parts of a consumer group share: its durable state, its timers, its configuration, and what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupsim.sim.config import CoordinatorConfig, GroupConfig
from groupsim.sim.protocol.consumer.journal import Journal
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMetadata,
    CurrentAssignment,
    GroupEpoch,
    StateRecord,
)
from groupsim.sim.protocol.consumer.roster import Member, Roster
from groupsim.sim.protocol.consumer.rules import Rules
from groupsim.sim.protocol.consumer.states import GroupState, MemberState
from groupsim.sim.protocol.consumer.timers import Timers
from groupsim.sim.protocol.facts import Fact, GroupEpochBumped, MemberReconciled, StateChanged
from groupsim.sim.protocol.interface import Outcome, Reply, Task


class GroupCore:
    """One group, without what any request means to it.

    Parameters
    ----------
    group_id : str
    config : CoordinatorConfig
    group_config : GroupConfig
    batches : iterator of int
        Numbers that no batch of this group has had.

    Attributes
    ----------
    rules : Rules
        Of the coordinator's version.
    roster : Roster
        The durable state.
    timers : Timers
    """

    def __init__(
        self, group_id: str, config: CoordinatorConfig, group_config: GroupConfig, batches: Iterator[int]
    ) -> None:
        self.group_id = group_id
        self.config = config
        self.group_config = group_config
        self.rules = Rules.of(config)
        self.roster = Roster(self.rules.first_epoch)
        self.journal = Journal(self.roster, batches)
        self.timers = Timers()
        self.reason = ""
        self.replaced: list[str] = []
        """Member ids that this request has given to nobody."""
        self._told_state = self.roster.state
        self._outcome = Outcome()

    # --- configuration: what is set for the group counts, within the broker's bounds ----------------------------------

    @property
    def session_timeout_us(self) -> int:
        """``GMM.consumerGroupSessionTimeoutMs``, in microseconds."""
        config, own = self.config, self.group_config.consumer_session_timeout_us
        low, high = config.consumer_min_session_timeout_us, config.consumer_max_session_timeout_us
        return config.consumer_session_timeout_us if own is None else min(max(own, low), high)

    @property
    def heartbeat_interval_us(self) -> int:
        """``GMM.consumerGroupHeartbeatIntervalMs``, in microseconds."""
        config, own = self.config, self.group_config.consumer_heartbeat_interval_us
        low, high = config.consumer_min_heartbeat_interval_us, config.consumer_max_heartbeat_interval_us
        return config.consumer_heartbeat_interval_us if own is None else min(max(own, low), high)

    @property
    def assignment_interval_us(self) -> int:
        """``GMM.consumerGroupAssignmentIntervalMs``, in microseconds; before 4.3 there is none."""
        config, own = self.config, self.group_config.consumer_assignment_interval_us
        if not self.rules.has_interval:
            return 0
        low, high = config.consumer_min_assignment_interval_us, config.consumer_max_assignment_interval_us
        return config.consumer_assignment_interval_us if own is None else min(max(own, low), high)

    # --- what is written and told -------------------------------------------------------------------------------------

    def write(self, record: StateRecord) -> None:
        """Change the group."""
        self.journal.write(record)

    def note(self, fact: Fact) -> None:
        """Tell what has happened."""
        self._outcome.facts.append(fact)

    def bump(self, metadata_hash: int, reason: str) -> None:
        """One more group epoch."""
        epoch = self.roster.group.epoch + 1
        self.write(ConsumerGroupMetadata(GroupEpoch(epoch, metadata_hash)))
        self.reason = reason
        self.note(GroupEpochBumped(epoch, reason))

    def assign(self, now: int, member: Member, current: CurrentAssignment) -> None:
        """Give a member another current assignment, and time to acknowledge what it has to give up.

        Who uses the classic protocol is called to join instead, by its next heartbeat (``GMM.maybeReconcile``).
        """
        self.write(ConsumerGroupCurrentMemberAssignment(member.member_id, current))
        self.note(reconciled(member))
        if member.metadata.classic is not None:
            return
        if current.state is MemberState.UNREVOKED_PARTITIONS:
            due = now + member.metadata.rebalance_timeout_us
            self.timers.arm_rebalance(member.member_id, due, current.member_epoch)
        else:
            self.timers.cancel_rebalance(member.member_id)

    def renew(self, now: int, member_id: str) -> None:
        """Restart the session of a member."""
        self.timers.arm_session(member_id, now + self.session_timeout_of(member_id))

    def session_timeout_of(self, member_id: str) -> int:
        """How long a member's session lasts, microseconds: a member of the classic protocol has told that itself."""
        classic = self.roster.members[member_id].metadata.classic
        return self.session_timeout_us if classic is None else classic.session_timeout_us

    def end_timers(self, member_ids: Iterable[str]) -> None:
        """Whoever of these is no member needs none (``GMM.replaceMember`` leaves them, to no effect)."""
        for member_id in member_ids:
            if member_id not in self.roster.members:
                self.timers.cancel(member_id)

    def charge(self, spent_us: int) -> None:
        """The coordinator was busy for so long."""
        self._outcome.charged_us += spent_us

    def start_task(self, task: Task) -> None:
        """Let something be done in the background."""
        self._outcome.tasks.append(task)

    # --- what the host is handed --------------------------------------------------------------------------------------

    def refuse(self, reply: Reply) -> Outcome:
        """Nothing has happened, but the answer; a task that has been started goes on."""
        self.journal.abort()
        self.replaced.clear()
        self.reason = ""
        self._outcome = Outcome([reply], tasks=self._outcome.tasks)
        return self.take()

    def take(self, reply: Reply | None = None, expired: tuple[str, ...] = (), *, awaits_log: bool = False) -> Outcome:
        """Everything since the last time; the reply waits for the log if anything was written, or if it has to."""
        self._tell_state()
        outcome, self._outcome = self._outcome, Outcome()
        outcome.batch = self.journal.seal(expired, tuple(self.replaced), is_awaited=awaits_log)
        self.replaced.clear()
        if reply is not None:
            (outcome.replies if outcome.batch is None else outcome.batch.replies).append(reply)
        return outcome

    def _tell_state(self) -> None:
        state = self.roster.state
        if state is not self._told_state:
            self.enter(state)

    def enter(self, state: GroupState) -> None:
        """Tell that the group is in another state."""
        self._told_state = state
        self.note(StateChanged(state, self.roster.group.epoch, self.reason))
        self.reason = ""


def reconciled(member: Member) -> MemberReconciled:
    """What a member has now."""
    current = member.current
    return MemberReconciled(
        member.member_id, current.member_epoch, current.state.value, current.assigned, current.pending
    )
