"""The client's side of the classic protocol: the Java consumer's coordinator, without its network and its threads.

``AbstractCoordinator``, ``ConsumerCoordinator`` and ``Heartbeat`` (Kafka 4.4), as prose:

Two threads share the state. The *application thread* acts only inside poll(): it finds the coordinator, prepares and
sends JoinGroup, runs the listeners, commits, and initialises positions. The *heartbeat thread* sends heartbeats, notices
that the session or the application's poll interval is over, and may handle any response except those of a join, because it
is switched off between sending JoinGroup and its response. The shell therefore calls `on_poll` only while the
application is inside poll(), and `on_response` when some thread is there to read it.

A rebalance is noticed by the heartbeat thread and acted on by the application: REBALANCE_IN_PROGRESS only sets
``rejoin_needed``. Then, once per successful rebalance: commit, give partitions up (everything under an eager assignor,
nothing under a cooperative one), JoinGroup, SyncGroup, take the new assignment, give up what is no longer in it, and if
that was anything, rejoin at once.

A reset (fenced, unknown, poll interval exceeded) forgets generation and usually the member id; the partitions are then *lost*
when the application comes back, and until then it goes on processing: a zombie.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol

import numpy as np

from sim.config import ClientConfig
from sim.protocol.effects import (
    Adopt,
    Closed,
    Commit,
    Disconnect,
    Drop,
    Effects,
    Listen,
    Raise,
    RunAssignor,
    Send,
)
from sim.protocol.messages import (
    NO_PARTITIONS,
    Api,
    Error,
    FindCoordinator,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    OffsetFetch,
    OffsetFetchResponse,
    Positions,
    Subscription,
    SyncGroup,
    SyncResponse,
    without,
)
from sim.units import FOREVER


class MemberState(Enum):
    """``AbstractCoordinator.MemberState`` (Kafka 4.4)."""

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


UNJOINED, PREPARING, COMPLETING, STABLE = (
    MemberState.UNJOINED,
    MemberState.PREPARING_REBALANCE,
    MemberState.COMPLETING_REBALANCE,
    MemberState.STABLE,
)

_LOST_COORDINATOR = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, Error.DISCONNECTED})
_AT_ONCE = frozenset(
    {Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.REBALANCE_IN_PROGRESS, Error.MEMBER_ID_REQUIRED}
)
"""Failed joins that are retried without backoff (``AbstractCoordinator.joinGroupIfNeeded``)."""


CLOSING = "the consumer is being closed"
"""Why a member leaves that closes (KIP-800)."""


class AssignorMemory(Protocol):
    """What the member needs of an assignor: its name, and what it puts into the subscription."""

    @property
    def name(self) -> str:
        """Kafka's name of the assignor."""
        ...

    def subscription_user_data(self) -> object | None:
        """User data of the next subscription."""
        ...


class ClassicMember:
    """One consumer in one group.

    Parameters
    ----------
    group_id, name : str
    config : ClientConfig
    instance_id : str or None
        ``group.instance.id``; None: dynamic member.
    assignors : sequence of AssignorMemory
        In order of preference.
    cooperative : bool
        The highest rebalance protocol that all assignors support is COOPERATIVE.
    jitter : callable
        Retry number -> factor in permille (800 .. 1200), ``ExponentialBackoff``'s jitter.
    commits : {"auto", "each_poll", "none"}
        Who commits: the consumer every auto.commit.interval.ms, the application at each poll, or nobody.
    commit_on_revoked : bool
        The application calls commitSync in onPartitionsRevoked.
    """

    def __init__(
        self,
        *,
        group_id: str,
        name: str,
        config: ClientConfig,
        instance_id: str | None,
        assignors: Sequence[AssignorMemory],
        cooperative: bool,
        jitter: Callable[[int], int],
        commits: str = "auto",
        commit_on_revoked: bool = False,
    ) -> None:
        self.group_id = group_id
        self.name = name
        self.config = config
        self.instance_id = instance_id
        self.assignors = assignors
        self.cooperative = cooperative
        self.commits = commits
        self.commit_on_revoked = commit_on_revoked
        self._jitter = jitter
        self._retries = 0

        self.state = UNJOINED
        self.generation = -1
        self.member_id = ""
        self.protocol: str | None = None
        self.coordinator: int | None = None
        self.is_leader = False
        self.rejoin_needed = True
        self.rejoin_reason = ""
        self.failed: Error | None = None

        self.topics: tuple[str, ...] = ()
        self.pattern: re.Pattern[str] | None = None
        self.metadata: Mapping[str, int] = {}
        self._joined_topics: tuple[str, ...] = ()
        self._snapshot: dict[str, int] | None = None
        self.group_topics: tuple[str, ...] = ()

        self.owned: Positions = NO_PARTITIONS
        self.uninitialised: Positions = NO_PARTITIONS
        self._fetching = NO_PARTITIONS
        self._fetch_failures = 0
        self._synced: Positions | None = None

        self._prepare_needed = True
        self._join_in_flight = False
        self._after_commit: Callable[[int], Effects] | None = None
        self._next: Callable[[int], Effects] | None = None
        self._join_retry_at = 0
        self._fetch_retry_at = 0

        self._lookup_in_flight = False
        self._lookup_attempts = 0
        self._lookup_retry_at = 0

        self.heartbeat_due = FOREVER
        self.session_due = FOREVER
        self.commit_due = FOREVER
        self._heartbeat_failures = 0

    # --- what the shell may read --------------------------------------------------------------------------------------

    @property
    def heartbeats_enabled(self) -> bool:
        """Whether the heartbeat thread is awake (``HeartbeatThread.run``; idle while UNJOINED or PREPARING)."""
        if self.failed is not None:
            return False
        if self.config.behaviour.heartbeat_in_completing:
            return self.state in (STABLE, COMPLETING)
        return self.state is STABLE

    @property
    def needs_application(self) -> bool:
        """Whether something waits for the application thread to be in poll()."""
        if self._next is not None or self._after_commit is not None:
            return False
        if self.failed is not None or self.coordinator is None or self._synced is not None:
            return True
        if self._join_in_flight:
            return self._must_forget
        return self._wants_rejoin() or (self.uninitialised.size > 0 and not self._fetching.size)

    @property
    def is_settled(self) -> bool:
        """Stable, with positions, and nothing under way: the future depends on time alone."""
        return (
            self.state is STABLE
            and self.coordinator is not None
            and self.failed is None
            and not self._join_in_flight
            and self._after_commit is None
            and self._next is None
            and self._synced is None
            and not self._fetching.size
            and self.uninitialised.size == 0
            and not self._wants_rejoin()
        )

    @property
    def listening(self) -> bool:
        """Whether the application runs a listener, or waits inside one."""
        return self._next is not None

    @property
    def is_joining(self) -> bool:
        """Whether a rebalance is under way or wanted on this side."""
        return bool(
            self._join_in_flight or self._synced is not None or self._after_commit is not None or self._wants_rejoin()
        )

    @property
    def _must_forget(self) -> bool:
        """Whether a reset awaits its onPartitionsLost while the request it came across is still unanswered."""
        return self._prepare_needed and self.state is UNJOINED and self.wants_group

    def _wants_rejoin(self) -> bool:
        """``ConsumerCoordinator.rejoinNeededOrPending``."""
        if not self.wants_group:
            return False
        if self.rejoin_needed:
            return True
        if self.state is not STABLE:
            return False
        if self.topics != self._joined_topics:
            self.rejoin_reason = "the subscription has changed"
            return True
        if self.is_leader and self._snapshot is not None and self._snapshot != self._view():
            self.rejoin_reason = "cached metadata has changed"
            return True
        return False

    @property
    def deadline(self) -> int:
        """When `on_deadline` wants to be called, microseconds."""
        if self.coordinator is None:
            return FOREVER if self._lookup_in_flight else self._lookup_retry_at
        due = min(self.heartbeat_due, self.session_due) if self.heartbeats_enabled else FOREVER
        if self._fetch_retry_at:
            due = min(due, self._fetch_retry_at)
        if self._join_retry_at:
            due = min(due, self._join_retry_at)
        return due

    # --- subscription and metadata ------------------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        """``subscribe()``: takes effect at the next poll."""
        self.pattern = re.compile(pattern) if pattern is not None else None
        self.topics = self._matched() if self.pattern is not None else tuple(sorted(topics))

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """A metadata response: topic -> number of partitions (``maybeUpdateSubscriptionMetadata``)."""
        self.metadata = counts
        if self.pattern is not None:
            self.topics = self._matched()

    def _matched(self) -> tuple[str, ...]:
        assert self.pattern is not None
        return tuple(sorted(topic for topic in self.metadata if self.pattern.fullmatch(topic)))

    def _view(self) -> dict[str, int]:
        """Partition counts of all topics of the group: what the leader watches (``MetadataSnapshot``)."""
        return {topic: self.metadata[topic] for topic in self.group_topics if topic in self.metadata}

    # --- the application thread inside poll() -------------------------------------------------------------------------

    def on_poll(self, now: int) -> Effects:
        """One pass of ``ConsumerCoordinator.poll``; called again whenever something has changed."""
        if self._next is not None or self._after_commit is not None:
            return []
        if self.failed is not None:
            return [Raise(self.failed)]
        if self.coordinator is None:
            return self._look_up(now)
        if self._synced is not None:
            return self._complete_join(now)
        if self._join_in_flight:
            return self._rejoin(now) if self._must_forget else []
        if self._wants_rejoin():
            return self._rejoin(now) if now >= self._join_retry_at else []
        return self._commit_if_due(now) + self._fetch_offsets(now)

    def _commit_if_due(self, now: int) -> Effects:
        """``maybeAutoCommitOffsetsAsync``, or the application's own commit at the end of a batch."""
        if now < self.commit_due or not self.owned.size or self.state is not STABLE:
            return []
        self.commit_due = now + self._commit_interval_us
        return [self._commit(self.owned)]

    @property
    def _commit_interval_us(self) -> int:
        """Each poll commits when the application does: the next one is due with the next microsecond."""
        return self.config.auto_commit_interval_us if self.commits == "auto" else 1

    def _commit(self, positions: Positions) -> Commit:
        return Commit(positions, self.generation, self.member_id)

    def _fetch_offsets(self, now: int) -> Effects:
        if self._fetching.size or not self.uninitialised.size or now < self._fetch_retry_at:
            return []
        self._fetching = self.uninitialised
        return [Send(Api.OFFSET_FETCH, OffsetFetch(self.uninitialised))]

    # --- joining ------------------------------------------------------------------------------------------------------

    def _rejoin(self, now: int) -> Effects:
        """``joinGroupIfNeeded``: prepare once per successful rebalance, then send JoinGroup."""
        if not self._prepare_needed:
            return self._send_join(now)
        self._prepare_needed = False
        if self.generation < 0 or not self.member_id:
            return self._give_up(now, self.owned, lost=True)
        commits = self.commits == "auto" or (self.commit_on_revoked and not self.cooperative)
        if not (commits and self.owned.size and self.state is STABLE):
            return self._revoke_before_join(now)
        self._after_commit = self._revoke_before_join
        effects: Effects = [self._commit(self.owned)]
        if not self.cooperative:
            effects.append(Drop(self.owned, lost=False))
        return effects

    def _revoke_before_join(self, now: int) -> Effects:
        """``onJoinPrepare``: eager gives everything up, cooperative only topics it no longer wants."""
        if self.generation < 0:
            return self._give_up(now, self.owned, lost=True)
        if not self.cooperative:
            return self._give_up(now, self.owned, lost=False)
        return self._give_up(now, self._outside_subscription(), lost=False)

    def _outside_subscription(self) -> Positions:
        """Owned partitions of topics that are no longer subscribed; the shell says which (`topic_of`)."""
        if self.topics == self._joined_topics or not self.owned.size:
            return NO_PARTITIONS
        return np.array([p for p in self.owned if self.topic_of(int(p)) not in self.topics], dtype=np.int32)

    topic_of: Callable[[int], str] = staticmethod(lambda position: "")
    """Name of the topic of a partition position; set by the shell."""

    def _give_up(self, now: int, positions: Positions, *, lost: bool) -> Effects:
        if not positions.size:
            return self._send_join(now)
        effects: Effects = [Drop(positions, lost=lost)]
        self.owned = without(self.owned, positions)
        self.uninitialised = without(self.uninitialised, positions)
        self._next = self._send_join
        return [*effects, Listen("lost" if lost else "revoked", positions)]

    def on_listener_done(self, now: int) -> Effects:
        """The listener has returned."""
        following, self._next = self._next, None
        return following(now) if following is not None else []

    def _send_join(self, now: int) -> Effects:
        """``initiateJoinGroup``: one at a time, and only to a coordinator."""
        if self._join_in_flight or self.coordinator is None:
            return []
        self.state = PREPARING
        self._join_in_flight = True
        self._join_retry_at = 0
        self.is_leader = False
        self._joined_topics = self.topics
        self.rejoin_needed = True
        config, behaviour = self.config, self.config.behaviour
        reason = self.rejoin_reason
        self.rejoin_reason = ""
        join = JoinGroup(
            member_id=self.member_id,
            instance_id=self.instance_id,
            session_timeout_us=config.session_timeout_us,
            rebalance_timeout_us=config.rebalance_timeout_us,
            protocols=tuple((assignor.name, self._subscription(assignor)) for assignor in self.assignors),
            reason=reason,
            knows_member_id_required=behaviour.member_id_required,
            knows_skip_assignment=behaviour.skip_assignment,
            name=self.name,
        )
        return [Send(Api.JOIN_GROUP, join)]

    def _subscription(self, assignor: AssignorMemory) -> Subscription:
        """``ConsumerCoordinator.metadata``: topics, owned partitions, generation, rack."""
        knows_generation = self.config.behaviour.generation_in_subscription and self.generation >= 0
        return Subscription(
            topics=self.topics,
            owned=np.sort(self.owned),
            generation=self.generation if knows_generation else None,
            user_data=assignor.subscription_user_data(),
            rack=self.config.client_rack or None,
        )

    def on_join_response(self, now: int, response: JoinResponse) -> Effects:
        """``JoinGroupResponseHandler``; the heartbeat thread wakes with all its timers reset.

        What is fatal is raised at the next poll().
        """
        if not self._join_in_flight:
            return []
        error = response.error
        if error is Error.NONE and self.state is PREPARING:
            self.generation = response.generation
            self.member_id = response.member_id
            self.protocol = response.protocol
            self.state = COMPLETING
            self._reset_heartbeat(now)
            self.is_leader = response.leader == response.member_id
            if self.is_leader:
                self.group_topics = tuple(sorted({topic for _, _, one in response.members for topic in one.topics}))
                if response.skip_assignment:
                    self._snapshot = self._view()
                else:
                    return [RunAssignor(response)]
            return [self._sync(None)]
        self._join_failed(error)
        if error is Error.MEMBER_ID_REQUIRED:
            self.member_id, self.generation = response.member_id, -1
            self.rejoin_reason = "need to re-join with the given member-id"
        elif error is Error.UNKNOWN_MEMBER_ID and self.state is PREPARING:
            self._reset(keep_id=False)
        elif error in (Error.NONE, Error.COORDINATOR_LOAD_IN_PROGRESS):
            self._join_retry_at = now + self.config.retry_backoff_us
        elif error in _LOST_COORDINATOR:
            return self.mark_coordinator_unknown(now)
        elif error not in _AT_ONCE:
            self.failed = error
        return []

    def _join_failed(self, error: Error) -> None:
        """A round that comes to nothing; NONE: it was good, but a reset has come first (``UnjoinedGroupException``)."""
        self._join_in_flight = False
        self.rejoin_needed = True
        self.rejoin_reason = f"rebalance failed due to {error.value}"

    def on_assignments(self, now: int, assignments: dict[str, Positions], counts: Mapping[str, int]) -> Effects:
        """The leader's assignor is done; ``counts`` is the metadata it has seen (``onLeaderElected``)."""
        if self.state is not COMPLETING:
            self._join_failed(Error.ILLEGAL_GENERATION)
            return []
        self._snapshot = {topic: counts[topic] for topic in self.group_topics if topic in counts}
        return [self._sync(assignments)]

    def on_assignor_failed(self, now: int) -> Effects:
        """The assignor threw: poll() raises, no SyncGroup is sent, and the next poll starts over."""
        self._join_failed(Error.UNKNOWN_SERVER_ERROR)
        self._join_retry_at = now + self.config.retry_backoff_us
        return []

    def _sync(self, assignments: dict[str, Positions] | None) -> Send:
        return Send(
            Api.SYNC_GROUP,
            SyncGroup(self.member_id, self.instance_id, self.generation, self.protocol, assignments),
        )

    def on_sync_response(self, now: int, response: SyncResponse, generation: int) -> Effects:
        """``SyncGroupResponseHandler``; the callbacks wait for the application.

        A good answer after a reset is worth nothing: the round is over, and the next begins at once.
        """
        if not self._join_in_flight:
            return []
        error, current = response.error, generation == self.generation
        if error is Error.NONE and current and self.state is COMPLETING:
            self.state = STABLE
            if not self.config.behaviour.heartbeat_in_completing:
                self._reset_heartbeat(now)
            self.rejoin_needed = False
            self._synced = response.assignment
            return []
        self._join_failed(error)
        if error is Error.UNKNOWN_MEMBER_ID and current:
            self._reset(keep_id=False)
        elif error is Error.ILLEGAL_GENERATION and current:
            self._reset(keep_id=self.config.behaviour.keep_id_on_illegal_generation)
        elif error in _LOST_COORDINATOR:
            return self.mark_coordinator_unknown(now)
        elif error is not Error.NONE and error not in _AT_ONCE:
            self.failed = error
        return []

    def _complete_join(self, now: int) -> Effects:
        """``onJoinComplete``: give up what is gone, take what is new, rejoin if something was given up."""
        assert self._synced is not None
        new, self._synced = self._synced, None
        self._join_in_flight = False
        self._prepare_needed = True
        if self._has_unwanted_topics(new):
            self.rejoin_needed = True
            self.rejoin_reason = "assignment does not match the subscription"
            return self.on_poll(now)
        revoked = without(self.owned, new)
        if not revoked.size:
            return self._adopt(now, new)
        self.rejoin_needed = True
        self.rejoin_reason = "need to revoke partitions and re-join"
        effects: Effects = []
        if self.commit_on_revoked:
            effects.append(self._commit(revoked))
        self.owned = without(self.owned, revoked)
        self._next = lambda at: self._adopt(at, new)
        return [*effects, Drop(revoked, lost=False), Listen("revoked", revoked)]

    def _has_unwanted_topics(self, new: Positions) -> bool:
        """``checkAssignmentMatchedSubscription``; a static member may be handed what its predecessor wanted."""
        if self.topics == self._joined_topics and self.instance_id is None:
            return False
        return any(self.topic_of(position) not in self.topics for position in new.tolist())

    def _adopt(self, now: int, new: Positions) -> Effects:
        """Take the assignment over, unless a reset during onPartitionsRevoked has made it worthless."""
        if self.generation < 0:
            return self.on_poll(now)
        added = without(new, self.owned)
        self.owned = new
        self.uninitialised = added if not self.uninitialised.size else np.union1d(
            np.intersect1d(self.uninitialised, new), added
        ).astype(np.int32)
        if self.commits != "none":
            self.commit_due = now + self._commit_interval_us
        self._next = self.on_poll
        return [Adopt(new, added), Listen("assigned", added)]

    def on_offsets(self, now: int, response: OffsetFetchResponse) -> Effects:
        """OffsetFetch is answered: the positions that it asked for are known, or it is asked again."""
        asked, self._fetching = self._fetching, NO_PARTITIONS
        if response.error is Error.NONE:
            self._fetch_failures = 0
            self.uninitialised = np.setdiff1d(self.uninitialised, asked).astype(np.int32)
            return []
        self._fetch_retry_at = now + self._backoff(self._fetch_failures)
        self._fetch_failures += 1
        return self.mark_coordinator_unknown(now) if response.error in _LOST_COORDINATOR else []

    # --- heartbeats ---------------------------------------------------------------------------------------------------

    def _reset_heartbeat(self, now: int) -> None:
        self.heartbeat_due = now + self.config.heartbeat_interval_us
        self.session_due = now + self.config.session_timeout_us
        self._heartbeat_failures = 0

    def on_deadline(self, now: int) -> Effects:
        """A pass of the heartbeat thread, in its order: coordinator, session, heartbeat (``HeartbeatThread.run``)."""
        if self.coordinator is None:
            return self._look_up(now)
        self._join_retry_at = 0 if now >= self._join_retry_at else self._join_retry_at
        self._fetch_retry_at = 0 if now >= self._fetch_retry_at else self._fetch_retry_at
        if not self.heartbeats_enabled:
            return []
        if now >= self.session_due:
            return self.mark_coordinator_unknown(now)
        if now >= self.heartbeat_due:
            self.heartbeat_due = now + self.config.heartbeat_interval_us
            return [Send(Api.HEARTBEAT, Heartbeat(self.member_id, self.instance_id, self.generation))]
        return []

    def on_heartbeat_response(self, now: int, error: Error, generation: int) -> Effects:
        """``HeartbeatResponseHandler``; that an older generation is refused counts as a success."""
        refused = error in (Error.FENCED_INSTANCE_ID, Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION)
        if error in (Error.NONE, Error.REBALANCE_IN_PROGRESS) or (refused and generation != self.generation):
            self.session_due = now + self.config.session_timeout_us
            self._heartbeat_failures = 0
            if error is Error.REBALANCE_IN_PROGRESS and self.state is STABLE:
                self._request_rejoin("group is already rebalancing")
            return []
        self.heartbeat_due = now + self._backoff(self._heartbeat_failures)
        self._heartbeat_failures += 1
        if refused:
            self._reset(keep_id=error is Error.ILLEGAL_GENERATION)
            self.failed = error if error is Error.FENCED_INSTANCE_ID else self.failed
        elif error in _LOST_COORDINATOR:
            return self.mark_coordinator_unknown(now)
        return []

    def _request_rejoin(self, reason: str) -> None:
        """``requestRejoin``: acted on at the next poll()."""
        self.rejoin_needed = True
        self.rejoin_reason = self.rejoin_reason or reason

    def on_commit_response(self, now: int, error: Error, generation: int) -> Effects:
        """``OffsetCommitResponseHandler``; unless it is fatal, a join that waited for it goes on."""
        effects: Effects = []
        current = generation == self.generation
        if error is Error.REBALANCE_IN_PROGRESS:
            self._request_rejoin("offset commit failed since group is already rebalancing")
        elif error in _LOST_COORDINATOR:
            effects += self.mark_coordinator_unknown(now)
            self._commit_again(now)
        elif error is Error.COORDINATOR_LOAD_IN_PROGRESS:
            self._commit_again(now)
        elif error is Error.FENCED_INSTANCE_ID and current and self._after_commit != self._close_listener:
            self.failed = error
            self._after_commit = None
        elif error in (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION) and (current or self.state is not PREPARING):
            self._reset(keep_id=error is Error.ILLEGAL_GENERATION)
        following, self._after_commit = self._after_commit, None
        return effects + following(now) if following is not None else effects

    def _commit_again(self, now: int) -> None:
        if self.commits == "auto":
            self.commit_due = min(self.commit_due, now + self.config.retry_backoff_us)

    def _reset(self, *, keep_id: bool) -> None:
        """``resetStateAndRejoin``: the partitions are lost at the next poll.

        A JoinGroup or SyncGroup on its way stays so, and is worth nothing when answered; an assignment that waits for the
        application is given up, and the member id with it (``joinGroupIfNeeded``).
        """
        self.state = UNJOINED
        self.generation = -1
        self.protocol = None
        if not keep_id or self._synced is not None:
            self.member_id = ""
        if self._synced is not None:
            self._synced = None
            self._join_in_flight = False
        self.rejoin_needed = True
        self._prepare_needed = True

    @property
    def wants_group(self) -> bool:
        """Whether the consumer is subscribed to anything."""
        return bool(self.topics) or self.pattern is not None

    # --- coordinator lookup -------------------------------------------------------------------------------------------

    def _look_up(self, now: int) -> Effects:
        """``ensureCoordinatorReady`` / ``lookupCoordinator``: one request at a time, shared by both threads."""
        if self._lookup_in_flight or now < self._lookup_retry_at:
            return []
        self._lookup_in_flight = True
        return [Send(Api.FIND_COORDINATOR, FindCoordinator(self.group_id))]

    def on_coordinator(self, now: int, node: int | None) -> Effects:
        """A lookup is answered with a node that can be reached, or failed (None)."""
        if not self._lookup_in_flight:
            return []
        self._lookup_in_flight = False
        if self.coordinator is not None:
            return []
        if node is None:
            self._lookup_retry_at = now + self._backoff(self._lookup_attempts)
            self._lookup_attempts += 1
            return []
        self._lookup_attempts = 0
        self._lookup_retry_at = 0
        self.coordinator = node
        self.session_due = now + self.config.session_timeout_us
        return []

    def mark_coordinator_unknown(self, now: int) -> Effects:
        """``markCoordinatorUnknown``: state and assignment stay; everything in flight fails."""
        if self.coordinator is None:
            return []
        self.coordinator = None
        self._lookup_retry_at = now
        return [Disconnect()]

    def _backoff(self, attempts: int) -> int:
        """``ExponentialBackoff``: retry.backoff.ms doubling up to its maximum, jittered; constant before 3.7."""
        config = self.config
        if not config.behaviour.exponential_backoff:
            return config.retry_backoff_us
        if config.retry_backoff_max_us <= config.retry_backoff_us:
            return config.retry_backoff_max_us
        self._retries += 1
        base = min(config.retry_backoff_us << min(attempts, 20), config.retry_backoff_max_us)
        return min(base * self._jitter(self._retries) // 1000, config.retry_backoff_max_us)

    # --- leaving ------------------------------------------------------------------------------------------------------

    def on_poll_expired(self, now: int) -> Effects:
        """max.poll.interval.ms is over (``handlePollTimeoutExpiry``): leave; lose the partitions at the next poll."""
        effects = self._leave("consumer poll timeout has expired")
        self._reset(keep_id=False)
        return effects

    def _leave(self, reason: str) -> Effects:
        """``maybeLeaveGroup``: a static member only forgets itself."""
        if self.coordinator is None or self.state is UNJOINED or not self.member_id or self.instance_id is not None:
            return []
        return [Send(Api.LEAVE_GROUP, LeaveGroup(self.member_id, self.instance_id, reason))]

    def close(self, now: int, reason: str = CLOSING) -> Effects:
        """``close()`` commits what auto-commit owes, gives everything up and leaves; ``unsubscribe()`` does not commit."""
        self._next, self._after_commit = None, None
        self._reason = reason
        if reason == CLOSING and self.commits == "auto" and self.owned.size and self.state is STABLE and self.coordinator is not None:
            self._after_commit = self._close_listener
            return [self._commit(self.owned)]
        return self._close_listener(now)

    def _close_listener(self, now: int) -> Effects:
        owned, self.owned = self.owned, NO_PARTITIONS
        self.uninitialised = NO_PARTITIONS
        if not owned.size:
            return self._close_leave(now)
        self._next = self._close_leave
        lost = self.generation < 0 or self.state is not STABLE
        return [Drop(owned, lost=lost), Listen("lost" if lost else "revoked", owned)]

    def _close_leave(self, now: int) -> Effects:
        effects = self._leave(self._reason)
        self.topics, self.pattern = (), None
        self._reset(keep_id=False)
        return [*effects, Closed()]

    _reason = ""
