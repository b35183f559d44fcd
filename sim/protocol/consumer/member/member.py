"""The client's side of the consumer protocol: ``AsyncKafkaConsumer`` without its network and its threads (Kafka 4.4).

States, what brings a member in, and what follows:

===============  ==============================================  =================================================
state            entered                                         left
===============  ==============================================  =================================================
UNSUBSCRIBED     at first; leave sent, or nobody to send it to;  JOINING at the first poll() after subscribe()
                 fenced while leaving
JOINING          from UNSUBSCRIBED; from FENCED and STALE once   RECONCILING with the first assignment, be it empty
                 the partitions are released
RECONCILING      an assignment that is not the one it has        ACKNOWLEDGING when it has been taken over; STABLE
                                                                 if the coordinator takes it back
ACKNOWLEDGING    the reconciliation is through                   as its heartbeat is built: STABLE, or RECONCILING
                                                                 if a newer assignment waits
STABLE           nothing to reconcile                            RECONCILING
FENCED           FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID          JOINING after onPartitionsLost
PREPARE_LEAVING  unsubscribe(), close(), poll() too late         LEAVING when the listener has returned
LEAVING          the same                                        as its heartbeat is built: UNSUBSCRIBED, or STALE
                                                                 if poll() was too late
STALE            the leave of a late poll() is sent              JOINING at the next poll(), after onPartitionsLost
FATAL            any other error                                 never: poll() raises
===============  ==============================================  =================================================

Two threads. The *background thread* finds the coordinator, beats, reads every answer and fetches, whatever the
application does. The *application thread* acts in passes through poll(): each pass tells the background thread that the
application lives, and so lets it begin what it may only begin then (join, reconcile, commit, ask for positions), and
runs the listeners that were queued before the pass. So a reconciliation takes a pass for each step. The shell calls
`on_poll` once for each pass, and everything else when it happens.

JOINING and ACKNOWLEDGING beat at once, whatever the backoff; LEAVING even while another heartbeat is in flight. That
max.poll.interval.ms is over is not watched by a timer: the background thread sees it when it wakes
(`max_poll_noticed_at`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.sim.protocol.consumer.member.parts import ConsumerMemberParts
from groupsim.sim.protocol.consumer.member.states import (
    ACKNOWLEDGING,
    HASTY,
    LEAVING,
    PREPARE_LEAVING,
    RECONCILING,
    SILENT,
    STABLE,
    STALE,
    UNSUBSCRIBED,
)
from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat
from groupsim.sim.protocol.effects import Effects, Raise, Request, Send
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.lookup import LOST_COORDINATOR
from groupsim.sim.protocol.messages import Api, Error, OffsetCommit, OffsetFetch, Positions
from groupsim.sim.protocol.poll_check import first_check
from groupsim.sim.units import FOREVER, S

_LONGEST_SLEEP_US = 5 * S
"""``ConsumerNetworkThread.MAX_POLL_TIMEOUT_MS``."""


class ConsumerMember(ConsumerMemberParts):
    """One consumer in one group: passes through poll(), answers and deadlines in, effects out."""

    __slots__ = ()

    # --- what the application asks for --------------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...], pattern: str | None, broker_pattern: str | None = None) -> None:
        """``subscribe()``: joins at the next poll; a member tells it with its next heartbeat."""
        self.subscription.subscribe(topics, pattern, broker_pattern)

    def assign(self, now: int, positions: Positions) -> None:
        """``KafkaConsumer.assign``: partitions by hand."""
        self.ownership.assign(now, positions)

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """A metadata response: topic -> number of partitions."""
        self.subscription.on_metadata(counts)

    def on_poll(self, now: int, *, is_heard: bool = True) -> Effects:
        """One pass through poll(): ``AsyncPollEvent``, if one is submitted, then the listeners queued before."""
        if self.listening:
            return []
        self.listeners.begin_pass()
        if is_heard:
            return [*self._tell_background(now), *self._run_listeners(now)]
        # An application that commits itself does so before each poll().
        own = [] if self.ownership.is_auto_commit else self.commit_processed(now)
        return [*own, *self._run_listeners(now)]

    def _tell_background(self, now: int) -> Effects:
        """What an ``AsyncPollEvent`` lets the background thread do (``ApplicationEventProcessor``)."""
        subscription, ownership = self.subscription, self.ownership
        if subscription.is_unmatched:
            subscription.match()
        effects = self.reconciliation.begin(now, in_poll=True)
        if self.lookup.node is not None:
            effects += ownership.commit_if_due(now)
        if subscription.is_news:
            subscription.is_news = False
            if self.state is UNSUBSCRIBED:
                self.membership.join()
        if self.state is STALE:
            effects += self.departure.polled(now)
        effects += self.work_in_background(now)
        return effects + (self._ask_for_positions() if self.config.behaviour.positions_before_listeners else [])

    def _ask_for_positions(self) -> Effects:
        return self.ownership.fetch_offsets() if self.lookup.node is not None else []

    def _run_listeners(self, now: int) -> Effects:
        """Those of this pass; before 4.2 it goes on with positions (``AsyncKafkaConsumer.updateFetchPositions``)."""
        effects = self.listeners.run(now)
        if not (self.listening or self.config.behaviour.positions_before_listeners):
            effects += self._ask_for_positions()
        if self.failed is not None and not self.listening and not self.listeners.is_waiting:
            return [*effects, Raise(self.failed)]
        return effects

    def commit_processed(self, now: int) -> Effects:
        """The application commits what it has processed, outside of poll()."""
        return self.ownership.commit_if_due(now) if self.lookup.node is not None else []

    def on_listener_done(self, now: int) -> Effects:
        """The listener has returned."""
        return [*self.listeners.returned(now), *self.work_in_background(now), *self._run_listeners(now)]

    def close(self, now: int, operation: CloseOperation = CloseOperation.DEFAULT) -> Effects:
        """``close()``."""
        return self.departure.close(now, operation, has_coordinator=self.lookup.node is not None)

    def unsubscribe(self, now: int) -> Effects:
        """``unsubscribe()``."""
        return self.departure.unsubscribe(now)

    # --- time ---------------------------------------------------------------------------------------------------------

    @property
    def deadline(self) -> int:
        """When `on_deadline` wants to be called, microseconds."""
        lookup = self.lookup
        if lookup.node is None:
            return FOREVER if lookup.in_flight else lookup.retry_at
        retry_at, due = self.ownership.fetch_retry_at, self.reconciliation.repeat_at
        if retry_at and retry_at < due:
            due = retry_at
        return due if self.membership.state in SILENT else min(due, self.timer.due)

    def on_deadline(self, now: int) -> Effects:
        """The background thread wakes because something is due."""
        if self.lookup.node is None:
            return self.lookup.look_up(now)
        return self.work_in_background(now)

    def work_in_background(self, now: int) -> Effects:
        """A turn of the background thread, in its order: commits, heartbeat, reconciliation, positions."""
        effects = self._beat(now)
        if self.lookup.node is not None:
            effects = [*self.reconciliation.repeat(now), *effects, *self.ownership.fetch_again(now)]
        effects += self.reconciliation.begin(now, in_poll=False)
        return effects + self._beat(now) if self.membership.state is ACKNOWLEDGING else effects

    def _beat(self, now: int) -> Effects:
        """``AbstractHeartbeatRequestManager.poll``."""
        membership, timer = self.membership, self.timer
        state = membership.state
        if self.lookup.node is None:
            if state is not LEAVING:
                return []
            membership.enter(UNSUBSCRIBED)
            return self.departure.answered()
        is_hasty = state is LEAVING or (state in HASTY and not timer.in_flight)
        if state in SILENT or not (is_hasty or now >= timer.due):
            return []
        request = self.content.request(self.reconciliation.current)
        self._note_generated()
        timer.sent(now)
        return [Send(Api.CONSUMER_GROUP_HEARTBEAT, request)]

    def _note_generated(self) -> None:
        """``onHeartbeatRequestGenerated``: nobody waits for the answer to an acknowledgement, or to a leave."""
        if self.state is ACKNOWLEDGING:
            self.membership.enter(STABLE if self.reconciliation.is_done else RECONCILING)
        elif self.state is LEAVING:
            self.membership.enter(UNSUBSCRIBED)

    def max_poll_noticed_at(self, expiry: int) -> int:
        """When the background thread sees that max.poll.interval.ms was over at ``expiry``, microseconds.

        It sees it when it wakes next: for a heartbeat or its answer, or when it has slept for `_LONGEST_SLEEP_US`. Not
        at all without a coordinator, outside the group, or on the way out of it. librdkafka looks every 500 ms.
        """
        state, timer = self.state, self.timer
        if self.lookup.node is None or state in SILENT or state is LEAVING or state is PREPARE_LEAVING:
            return FOREVER
        if self.config.behaviour.looks_at_polls:
            return first_check(expiry, self.ownership.assigned_us)
        woken = max(timer.woken_us, expiry - self.config.max_poll_interval_us)
        if woken >= expiry:
            return woken
        sleeps = -(-(expiry - woken) // _LONGEST_SLEEP_US)
        return min(max(timer.due, expiry), woken + sleeps * _LONGEST_SLEEP_US)

    @property
    def heard_us(self) -> int:
        """When a heartbeat was last sent, or answered."""
        return self.timer.woken_us

    def longest_wait_us(self, now: int, pass_us: int) -> int:
        """How long the application waits in a pass at ``now`` at most, if passes are ``pass_us`` apart.

        ``maximumTimeToWait``: what is left until the next auto-commit. ``ConsumerNetworkThread.runOnce`` works it out
        when a wait for the network is over, as of the beginning of that turn: in the first pass after the answer to a
        heartbeat, that is when the heartbeat was sent. Both timers begin anew with an acknowledgement, so that what
        the next heartbeat brings is often taken over in a single pass.
        """
        timer = self.timer
        if timer.in_flight or not now - pass_us < self.heard_us <= now:
            return FOREVER
        return self.ownership.until_commit_us(timer.sent_us, now, pass_us)

    def on_poll_expired(self, now: int) -> Effects:
        """max.poll.interval.ms is over, and the background thread has seen it."""
        self.ownership.assigned_us = FOREVER
        return self.departure.expire(now)

    # --- answers ------------------------------------------------------------------------------------------------------

    def on_response(self, now: int, request: Request, response: Any) -> Effects:
        """The answer to a request of this member's, read by the background thread."""
        effects: Effects = []
        match request:
            case ConsumerGroupHeartbeat():
                effects = self.responses.beaten(now, request, response)
            case OffsetCommit():
                effects = self._on_commit(now, request, response.error)
            case OffsetFetch():
                effects = self.on_offsets(now, response)
        return [*effects, *self.work_in_background(now)]

    def _on_commit(self, now: int, request: OffsetCommit, error: Error) -> Effects:
        self.ownership.committed()
        effects = self.lookup.lose(now) if error in LOST_COORDINATOR else []
        if request.is_awaited:
            self.reconciliation.committed(now, error)
            effects += self.departure.committed(now)
        return effects

    def on_offsets(self, now: int, response: Any) -> Effects:
        """OffsetFetch is answered."""
        self.ownership.fetched(now, response.error)
        return self.lookup.lose(now) if response.error in LOST_COORDINATOR else []

    def on_coordinator(self, now: int, node: int | None) -> Effects:
        """A lookup is answered with a node that can be reached, or failed (None)."""
        return self.work_in_background(now) if self.lookup.answered(now, node) else []

    def mark_coordinator_unknown(self, now: int) -> Effects:
        """``markCoordinatorUnknown``: state and assignment stay."""
        return self.lookup.lose(now)

    # --- what is worth watching ---------------------------------------------------------------------------------------

    @property
    def needs_application(self) -> bool:
        """Whether the next pass through poll() changes something."""
        listeners, membership, subscription = self.listeners, self.membership, self.subscription
        if listeners.running is not None:
            return False
        if listeners.is_waiting or membership.failed is not None or self.departure.is_stale:
            return True
        if subscription.is_unmatched or (subscription.is_news and membership.state is UNSUBSCRIBED):
            return True
        if self.reconciliation.is_wanted:
            return True
        ownership = self.ownership
        is_lacking = ownership.uninitialised.size > 0 and not ownership.is_fetching and not ownership.fetch_retry_at
        return is_lacking and self.lookup.node is not None

    is_worth_a_poll = needs_application

    @property
    def is_joining(self) -> bool:
        """Whether it is not at rest in the group; that it looks for the coordinator does not count."""
        return not self._is_at_rest

    @property
    def next_commit_us(self) -> int:
        """The first poll at or after it commits, microseconds."""
        ownership = self.ownership
        return ownership.commit_due if ownership.owned.size and self.lookup.node is not None else FOREVER

    @property
    def has_said_all(self) -> bool:
        """Whether its next heartbeat says nothing but its epoch."""
        return self.content.is_said(self.reconciliation.current)

    @property
    def is_settled(self) -> bool:
        """Stable, with positions, and nothing under way: the future depends on time alone."""
        return self._is_at_rest and self.lookup.node is not None

    @property
    def _is_at_rest(self) -> bool:
        return (
            self.membership.state is STABLE
            and self.membership.failed is None
            and self.reconciliation.running is None
            and self.listeners.running is None
            and not self.listeners.is_waiting
            and self.ownership.is_initialised
        )
