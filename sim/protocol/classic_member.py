"""The client's side of the classic protocol: the Java consumer's coordinator, without its network and its threads.

``AbstractCoordinator``, ``ConsumerCoordinator`` and ``Heartbeat`` (Kafka 4.4), as prose:

Two threads share the state. The *application thread* acts only inside poll(): it finds the coordinator, prepares and
sends JoinGroup, runs the listeners, commits, and initialises positions. The *heartbeat thread* sends heartbeats,
notices that the session or the application's poll interval is over, and may handle any response except those of a join,
because it is switched off between sending JoinGroup and its response. The shell therefore calls `on_poll` only while
the application is inside poll(), and `on_response` when some thread is there to read it.

A rebalance is noticed by the heartbeat thread and acted on by the application: REBALANCE_IN_PROGRESS only sets
``rejoin_needed``. Then, once per successful rebalance: commit, give partitions up (everything under an eager assignor,
nothing under a cooperative one), JoinGroup, SyncGroup, take the new assignment, give up what is no longer in it, and if
that was anything, rejoin at once.

A reset (fenced, unknown, poll interval exceeded) forgets generation and usually the member id; the partitions are then
*lost* when the application comes back, and until then it goes on processing: a zombie. A JoinGroup or SyncGroup that a
reset came across stays in flight: there is never more than one, and its answer is then worth nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sim.config import ClientConfig
from sim.protocol.effects import (
    Adopt,
    Closed,
    Drop,
    Effects,
    Listen,
    Raise,
    RunAssignor,
    Send,
)
from sim.protocol.membership import (
    COMPLETING,
    LOST_COORDINATOR,
    PREPARING,
    STABLE,
    MemberState,
)
from sim.protocol.messages import (
    NO_PARTITIONS,
    Api,
    Error,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    Positions,
    SyncGroup,
    SyncResponse,
    without,
)
from sim.protocol.ownership import AssignorMemory, Ownership
from sim.units import FOREVER

_AT_ONCE = frozenset(
    {Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.REBALANCE_IN_PROGRESS, Error.MEMBER_ID_REQUIRED}
)
"""Failed joins that are retried without backoff (``AbstractCoordinator.joinGroupIfNeeded``)."""


CLOSING = "the consumer is being closed"
"""Why a member leaves that closes (KIP-800)."""

__all__ = ["ClassicMember", "MemberState"]


class ClassicMember(Ownership):
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
        super().__init__(
            group_id=group_id, name=name, config=config, instance_id=instance_id, jitter=jitter, commits=commits
        )
        self.assignors = assignors
        self.cooperative = cooperative
        self.commit_on_revoked = commit_on_revoked

        self._join_retry_at = 0

        self._after_commit: Callable[[int], Effects] | None = None
        self._next: Callable[[int], Effects] | None = None
        self._reason = CLOSING

    # --- what the shell may read --------------------------------------------------------------------------------------

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

    # --- preparing to join --------------------------------------------------------------------------------------------

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

    # --- joining ------------------------------------------------------------------------------------------------------

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
        elif error in LOST_COORDINATOR:
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
        elif error in LOST_COORDINATOR:
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

    # --- positions, commits and time ----------------------------------------------------------------------------------

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

    def on_commit_response(self, now: int, error: Error, generation: int) -> Effects:
        """``OffsetCommitResponseHandler``; unless it is fatal, a join that waited for it goes on."""
        effects: Effects = []
        current = generation == self.generation
        if error is Error.REBALANCE_IN_PROGRESS:
            self._request_rejoin("offset commit failed since group is already rebalancing")
        elif error in LOST_COORDINATOR:
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

    # --- closing ------------------------------------------------------------------------------------------------------

    def close(self, now: int, reason: str = CLOSING) -> Effects:
        """``close()`` auto-commits, gives everything up and leaves; ``unsubscribe()`` does not commit."""
        self._next, self._after_commit = None, None
        self._reason = reason
        commits = reason == CLOSING and self.commits == "auto" and self.owned.size
        if commits and self.state is STABLE and self.coordinator is not None:
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
