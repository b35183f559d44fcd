"""The client's side of the classic protocol: the Java consumer's coordinator, without its network and its threads.

``AbstractCoordinator``, ``ConsumerCoordinator`` and ``Heartbeat`` (Kafka 4.4), as prose:

Two threads share the state. The *application thread* acts only inside poll(): it finds the coordinator, prepares and
sends JoinGroup, runs the listeners, commits, and initialises positions. The *heartbeat thread* sends heartbeats,
notices that the session or the application's poll interval is over, and may handle any response except those of a join,
because it is switched off between sending JoinGroup and its response. The shell therefore calls `on_poll` only while
the application is inside poll(), and the handlers of responses when some thread is there to read them.

A rebalance is noticed by the heartbeat thread and acted on by the application: REBALANCE_IN_PROGRESS only sets
``rejoin_needed``. Then, once per successful rebalance: commit, give partitions up (everything under an eager assignor,
nothing under a cooperative one), JoinGroup, SyncGroup, take the new assignment, give up what is no longer in it, and if
that was anything, rejoin at once.

A reset (fenced, unknown, poll interval exceeded) forgets generation and usually the member id; the partitions are then
*lost* when the application comes back, and until then it goes on processing: a zombie. A JoinGroup or SyncGroup that a
reset came across stays in flight: there is never more than one, and its answer is then worth nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.sim.protocol.classic.departure import CLOSING
from groupsim.sim.protocol.classic.member_parts import MemberParts
from groupsim.sim.protocol.classic.membership import LEAVING
from groupsim.sim.protocol.classic.states import MemberState, Step
from groupsim.sim.protocol.effects import Effects, Raise, Request, Send
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.lookup import LOST_COORDINATOR
from groupsim.sim.protocol.messages import (
    Api,
    Error,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    OffsetCommit,
    OffsetFetch,
    OffsetFetchResponse,
    Positions,
    Protocols,
    SyncGroup,
    SyncResponse,
)
from groupsim.sim.protocol.poll_check import first_check
from groupsim.sim.units import FOREVER

__all__ = ["ClassicMember", "MemberState"]


class ClassicMember(MemberParts):
    """One consumer in one group: polls, answers and deadlines in, effects out."""

    __slots__ = ()

    @property
    def is_joining(self) -> bool:
        """Whether a rebalance is under way or wanted on this side."""
        membership = self.membership
        return (
            membership.join_in_flight
            or membership.synced is not None
            or membership.after_commit is not None
            or self.joining.is_wanted()
        )

    # --- what the application asks for --------------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...], pattern: str | None, broker_pattern: str | None = None) -> None:
        """``subscribe()``: takes effect at the next poll. There are no patterns for the broker in this protocol."""
        assert broker_pattern is None
        self.subscription.subscribe(topics, pattern)

    def assign(self, now: int, positions: Positions) -> None:
        """``KafkaConsumer.assign``: partitions by hand."""
        self.ownership.assign(now, positions)

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """A metadata response: topic -> number of partitions."""
        self.subscription.on_metadata(counts)

    def on_poll(self, now: int, *, is_heard: bool = True) -> Effects:
        """One pass of ``ConsumerCoordinator.poll``; called again whenever something has changed."""
        membership, joining, ownership = self.membership, self.joining, self.ownership
        if membership.after_listener is not None or membership.after_commit is not None:
            return []
        if membership.failed is not None:
            return [Raise(membership.failed)]
        if self.lookup.node is None:
            return self.lookup.look_up(now)
        if membership.synced is not None:
            return self._or_poll(now, self.responses.complete(now))
        if membership.join_in_flight:
            return joining.rejoin(now) if joining.must_forget else []
        if joining.is_wanted():
            joining.note_reason()
            if now < membership.join_retry_at:
                return []
            return [*ownership.commit_finished_batch(now), *joining.rejoin(now)]
        return ownership.commit_if_due(now) + ownership.fetch_offsets(now)

    def _or_poll(self, now: int, effects: Effects | None) -> Effects:
        return self.on_poll(now) if effects is None else effects

    def commit_processed(self, now: int) -> Effects:
        """The application commits what it has processed, outside of poll(): refused without a word while it joins."""
        return self.ownership.commit_if_due(now) if self.lookup.node is not None else []

    def on_listener_done(self, now: int) -> Effects:
        """The listener has returned."""
        step, self.membership.after_listener = self.membership.after_listener, None
        return self._go_on(now, step)

    @property
    def next_commit_us(self) -> int:
        """The first poll at or after it commits, microseconds; none does during a rebalance."""
        ownership = self.ownership
        due = ownership.commit_due
        return due if due < FOREVER and ownership.owned.size and not self.is_joining else FOREVER

    def _go_on(self, now: int, step: Step | None) -> Effects:
        match step:
            case Step.REVOKE:
                return self.joining.revoke(now)
            case Step.JOIN:
                return self.joining.send_join(now)
            case Step.ADOPT:
                return self._or_poll(now, self.responses.adopt(now))
            case Step.POLL:
                return self.on_poll(now)
            case Step.CLOSE:
                return self.departure.give_everything_up()
            case Step.LEAVE:
                return self.departure.end()
        return []

    def close(self, now: int, operation: CloseOperation = CloseOperation.DEFAULT) -> Effects:
        """``close()``."""
        return self.departure.close(now, CLOSING, operation)

    def unsubscribe(self, now: int) -> Effects:
        """``unsubscribe()``."""
        return self.departure.close(now, "the consumer unsubscribed from all topics", CloseOperation.DEFAULT)

    # --- time ---------------------------------------------------------------------------------------------------------

    @property
    def deadline(self) -> int:
        """When `on_deadline` wants to be called, microseconds."""
        return min(self.deadlines)

    @property
    def deadlines(self) -> tuple[int, int]:
        """The same by what is due: the next heartbeat, and everything else; `FOREVER`: nothing."""
        lookup, fetch_at, join_at = self.lookup, self.ownership.fetch_retry_at, self.membership.join_retry_at
        if lookup.node is None:
            return FOREVER, FOREVER if lookup.in_flight else lookup.retry_at
        beats, heartbeats = self.membership.heartbeats_enabled, self.heartbeats
        due = heartbeats.session_due if beats else FOREVER
        if fetch_at or join_at:
            due = min(due, fetch_at or FOREVER, join_at or FOREVER)
        return heartbeats.due if beats else FOREVER, due

    def on_deadline(self, now: int) -> Effects:
        """A pass of the heartbeat thread, in its order: coordinator, session, heartbeat (``HeartbeatThread.run``)."""
        membership, ownership, heartbeats = self.membership, self.ownership, self.heartbeats
        if self.lookup.node is None:
            return self.lookup.look_up(now)
        membership.join_retry_at = 0 if now >= membership.join_retry_at else membership.join_retry_at
        ownership.fetch_retry_at = 0 if now >= ownership.fetch_retry_at else ownership.fetch_retry_at
        if not membership.heartbeats_enabled:
            return []
        if now >= heartbeats.session_due:
            return self._doubt_coordinator(now)
        if now >= heartbeats.due:
            heartbeats.sent(now)
            heartbeat = Heartbeat(membership.member_id, membership.instance_id, membership.generation)
            return [Send(Api.HEARTBEAT, heartbeat)]
        return []

    def _doubt_coordinator(self, now: int) -> Effects:
        """No answer for a whole session: the coordinator is looked up anew (``HeartbeatThread.run``).

        The first answer is of no use: it opens the connection that is just being closed (``disconnectAsync``). The
        second comes a backoff later (recorded with 4.4: 97 to 101 ms after a process thaws).
        """
        effects = self.lookup.lose(now)
        self.lookup.retry_at = now + self.config.retry_backoff_us
        return effects

    def max_poll_noticed_at(self, expiry: int) -> int:
        """At once, if the heartbeat thread is awake and need not look for the coordinator (``HeartbeatThread.run``).

        librdkafka's main thread looks every 500 ms.
        """
        if not self.membership.heartbeats_enabled or self.lookup.node is None:
            return FOREVER
        return first_check(expiry, self.ownership.assigned_us) if self.config.behaviour.looks_at_polls else expiry

    def on_poll_expired(self, now: int) -> Effects:
        """max.poll.interval.ms is over (``handlePollTimeoutExpiry``): leave; lose the partitions at the next poll."""
        effects = self.departure.leave("consumer poll timeout has expired")
        self.membership.reset(LEAVING, keep_id=False)
        self.ownership.assigned_us = FOREVER
        return effects

    # --- answers ------------------------------------------------------------------------------------------------------

    def on_response(self, now: int, request: Request, response: Any) -> Effects:
        """The answer to a request of this member's; FindCoordinator is answered by `on_coordinator`."""
        match request:
            case JoinGroup():
                return self.on_join_response(now, response)
            case SyncGroup():
                return self.on_sync_response(now, response, request.generation)
            case Heartbeat():
                return self.on_heartbeat_response(now, response.error, request.generation)
            case OffsetCommit():
                return self.on_commit_response(now, response.error, request.generation)
            case OffsetFetch():
                return self.on_offsets(now, response)
        return []

    def on_coordinator(self, now: int, node: int | None) -> Effects:
        """A lookup is answered with a node that can be reached, or failed (None)."""
        if self.lookup.answered(now, node):
            self.heartbeats.restart_session(now)
        return []

    def mark_coordinator_unknown(self, now: int) -> Effects:
        """``markCoordinatorUnknown``: state and assignment stay."""
        return self.lookup.lose(now)

    def on_join_response(self, now: int, response: JoinResponse) -> Effects:
        """JoinGroup is answered."""
        return self.responses.joined(now, response)

    def on_assignments(self, now: int, assignments: dict[str, Positions], counts: Mapping[str, int]) -> Effects:
        """The leader's assignor is done; ``counts`` is the metadata it has seen."""
        return self.responses.assigned(assignments, counts)

    def on_assignor_failed(self, now: int) -> Effects:
        """The leader's assignor threw."""
        self.responses.assignor_failed(now)
        return []

    def on_sync_response(self, now: int, response: SyncResponse, generation: int) -> Effects:
        """The SyncGroup of ``generation`` is answered."""
        return self.responses.synced(now, response, generation)

    def on_offsets(self, now: int, response: OffsetFetchResponse) -> Effects:
        """OffsetFetch is answered."""
        self.ownership.fetched(now, response.error)
        return self.lookup.lose(now) if response.error in LOST_COORDINATOR else []

    def on_heartbeat_response(self, now: int, error: Error, generation: int) -> Effects:
        """The heartbeat of ``generation`` is answered."""
        return self.responses.beaten(now, error, generation)

    def on_commit_response(self, now: int, error: Error, generation: int) -> Effects:
        """The commit of ``generation`` is answered; unless that is fatal, what waited for it goes on."""
        effects = self.responses.committed(now, error, generation)
        step, self.membership.after_commit = self.membership.after_commit, None
        if step is Step.REVOKE and self.joining.repeats_commit(now, error):
            return effects
        return effects + self._go_on(now, step)

    # --- requests that are made elsewhere -----------------------------------------------------------------------------

    def protocols_of(self, owned: Positions, generation: int) -> Protocols:
        """What a member tells of itself that has kept ``owned`` of a generation."""
        return self.joining.protocols(owned, generation)

    def join_request(self, protocols: Protocols, reason: str) -> JoinGroup:
        """What a member asks that tells this of itself."""
        return self.joining.join_request(protocols, reason)

    def sync_request(self, response: JoinResponse) -> SyncGroup:
        """What a member that does not run the assignor asks when it has joined."""
        return self.responses.sync_request(response)
