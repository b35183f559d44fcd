"""How a member loses its place or gives it up: fenced, failed, too late for poll(), unsubscribed, closed.

Source: ``AbstractMembershipManager.transitionToFenced``, ``transitionToFatal``, ``transitionToStale``, ``leaveGroup``;
``AsyncKafkaConsumer.close`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable

from groupsim.sim.protocol.consumer.member.epoch import MemberEpoch
from groupsim.sim.protocol.consumer.member.heartbeats import HeartbeatContent, HeartbeatTimer
from groupsim.sim.protocol.consumer.member.listeners import Call, Listeners
from groupsim.sim.protocol.consumer.member.local_assignment import NOTHING
from groupsim.sim.protocol.consumer.member.ownership import MemberOwnership
from groupsim.sim.protocol.consumer.member.reconciliation import Reconciliation
from groupsim.sim.protocol.consumer.member.states import (
    FATAL,
    FENCED,
    LEAVING,
    PREPARE_LEAVING,
    SILENT,
    STALE,
    UNSUBSCRIBED,
)
from groupsim.sim.protocol.consumer.member.subscription import MemberSubscription
from groupsim.sim.protocol.effects import Closed, Drop, Effects, Send
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.messages import Api, Error


class Departure:
    """One member, out of its group or on the way out.

    Parameters
    ----------
    membership, subscription, ownership, reconciliation, listeners, timer, content
        The member's.
    beat : callable
        A turn of the background thread that sends the heartbeat which is due.

    Attributes
    ----------
    is_awaited : bool
        The application waits for the answer to the heartbeat that leaves.
    """

    __slots__ = (
        "_after_commit", "_beat", "_content", "_listeners", "_membership", "_ownership", "_reconciliation",
        "_rejoins_when_released", "_subscription", "_timer", "is_awaited",
    )  # fmt: skip

    def __init__(
        self, membership: MemberEpoch, subscription: MemberSubscription, ownership: MemberOwnership,
        reconciliation: Reconciliation, listeners: Listeners, timer: HeartbeatTimer, content: HeartbeatContent,
        beat: Callable[[int], Effects],
    ) -> None:  # fmt: skip
        self._membership = membership
        self._subscription = subscription
        self._ownership = ownership
        self._reconciliation = reconciliation
        self._listeners = listeners
        self._timer = timer
        self._content = content
        self._beat = beat
        self._rejoins_when_released = False
        self._after_commit = False
        self.is_awaited = False

    @property
    def is_under_way(self) -> bool:
        """Whether the member gives everything up: it is closing, unsubscribing, or has been told to."""
        is_leaving = (
            self._membership.state in (PREPARE_LEAVING, LEAVING, UNSUBSCRIBED) and not self._ownership.is_manual
        )
        return self._after_commit or is_leaving

    # --- out by the coordinator's word --------------------------------------------------------------------------------

    def fenced(self, now: int) -> Effects:
        """``transitionToFenced``: the partitions are lost, then the member joins with the same id and epoch 0."""
        membership = self._membership
        if membership.state is PREPARE_LEAVING:
            membership.enter(LEAVING)
        if membership.state is LEAVING:
            membership.enter(UNSUBSCRIBED)
            return self.answered()
        if membership.state is UNSUBSCRIBED:
            return []
        membership.enter(FENCED)
        membership.epoch = 0
        return self._lose(now, self._released_when_fenced)

    def _released_when_fenced(self, now: int) -> Effects:
        self._clear()
        if self._membership.state is not FENCED:
            return []
        return self._join(now)

    def failed(self, now: int, error: Error) -> Effects:
        """``handleFatalFailure``: poll() raises, when the partitions are lost; no more heartbeats, ever."""
        membership, before = self._membership, self._membership.state
        membership.enter(FATAL)
        membership.failed = error
        if before in (UNSUBSCRIBED, LEAVING, PREPARE_LEAVING):
            return self.answered()
        return self._lose(now, self._released)

    def _released(self, now: int) -> Effects:
        self._clear()
        return []

    def _lose(self, now: int, after: Callable[[int], Effects]) -> Effects:
        """``signalPartitionsLost``: without partitions nothing is called."""
        owned = self._ownership.owned
        if not owned.size or self._ownership.is_manual:
            return after(now)
        self._listeners.queue(Call("lost", owned, after, lambda _: [Drop(self._ownership.owned, lost=True)]))
        return []

    def _clear(self) -> None:
        if not self._ownership.is_manual:
            self._ownership.clear()
        self._reconciliation.forget()

    def _join(self, now: int) -> Effects:
        self._reconciliation.rejoin()
        self._membership.join()
        return self._beat(now)

    # --- too late for poll() ------------------------------------------------------------------------------------------

    def expire(self, now: int) -> Effects:
        """max.poll.interval.ms is over: leave without waiting for the answer; the next poll joins anew."""
        membership, behaviour = self._membership, self._membership.config.behaviour
        membership.enter(PREPARE_LEAVING)
        self._enter_leaving()
        request = self._content.request(self._reconciliation.current)
        membership.enter(STALE)
        self._timer.sent(now)
        self._timer.reset()
        if behaviour.says_all_after_expiry:
            self._content.reset()
        self._content.is_partial = not behaviour.says_all_after_expiry
        self._rejoins_when_released = False
        return [Send(Api.CONSUMER_GROUP_HEARTBEAT, request), *self._lose(now, self._released_when_stale)]

    def _enter_leaving(self) -> None:
        """``transitionToSendingLeaveGroup``."""
        self._membership.epoch = self._membership.leave_epoch
        self._reconciliation.current = NOTHING
        self._membership.enter(LEAVING)

    def _released_when_stale(self, now: int) -> Effects:
        self._clear()
        return self._join(now) if self._membership.state is STALE and self._rejoins_when_released else []

    @property
    def is_stale(self) -> bool:
        """Whether the next poll() lets it join again."""
        is_stale = self._membership.state is STALE
        return is_stale and self._subscription.is_wanted and not self._rejoins_when_released

    def polled(self, now: int) -> Effects:
        """``maybeRejoinStaleMember``: the application is back; what it had may still have to be released."""
        self._rejoins_when_released = self._subscription.is_wanted
        return self._join(now) if self._rejoins_when_released and not self._ownership.owned.size else []

    # --- out by the application's word --------------------------------------------------------------------------------

    def unsubscribe(self, now: int) -> Effects:
        """``unsubscribe()``: give everything up, without a commit, and leave."""
        return self._release(now)

    def close(self, now: int, operation: CloseOperation, *, has_coordinator: bool) -> Effects:
        """``close()``: commit, give everything up, leave; ``operation`` says whether to leave at all (KIP-1092)."""
        ownership = self._ownership
        self._listeners.forget()
        self._reconciliation.abandon()
        if self._membership.config.behaviour.close_operations:
            self._membership.operation = operation
        if ownership.is_auto_commit and ownership.owned.size and has_coordinator:
            self._after_commit = True
            return [ownership.commit(ownership.owned, is_awaited=True), Drop(ownership.owned, lost=False)]
        return self._release(now)

    def committed(self, now: int) -> Effects:
        """The commit of close() is answered, whatever the answer."""
        if not self._after_commit:
            return []
        self._after_commit = False
        return self._release(now)

    def _release(self, now: int) -> Effects:
        """Listeners first: onPartitionsRevoked of a member, onPartitionsLost of one that is none any more."""
        membership, ownership = self._membership, self._ownership
        self._listeners.forget()
        self._reconciliation.abandon()
        if membership.is_active:
            membership.enter(PREPARE_LEAVING)
        owned = ownership.owned
        if not owned.size:
            return self._leave(now)
        is_lost = not (membership.is_member or ownership.is_manual)
        self._listeners.queue(Call("lost" if is_lost else "revoked", owned, self._leave))
        self._listeners.begin_pass()
        return [Drop(owned, lost=is_lost), *self._listeners.run(now)]

    def _leave(self, now: int) -> Effects:
        """The heartbeat that leaves; the application waits for its answer."""
        membership = self._membership
        self._ownership.clear()
        self._ownership.is_manual = False
        self._reconciliation.forget()
        self._subscription.unsubscribe()
        self.is_awaited = True
        if membership.state is FENCED:
            membership.enter(UNSUBSCRIBED)
        if membership.state in SILENT:
            return self.answered()
        self._enter_leaving()
        if membership.stays_in_group:
            membership.enter(UNSUBSCRIBED)
            return self.answered()
        return self._beat(now)

    def answered(self) -> Effects:
        """``maybeCompleteLeaveInProgress``: close() or unsubscribe() is through."""
        is_awaited, self.is_awaited = self.is_awaited, False
        return [Closed()] if is_awaited else []
