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

from collections.abc import Callable, Sequence

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.classic.joining import Joining
from groupsim.sim.protocol.classic.membership import (
    LOST_COORDINATOR,
    PREPARING,
    STABLE,
    MemberState,
)
from groupsim.sim.protocol.classic.ownership import AssignorMemory
from groupsim.sim.protocol.effects import (
    Closed,
    Drop,
    Effects,
    Listen,
    Raise,
    Send,
)
from groupsim.sim.protocol.messages import (
    NO_PARTITIONS,
    Api,
    Error,
    Heartbeat,
)
from groupsim.sim.units import FOREVER

CLOSING = "the consumer is being closed"
"""Why a member leaves that closes (KIP-800)."""

__all__ = ["ClassicMember", "MemberState"]


class ClassicMember(Joining):
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
    commits : {"auto", "after_batch", "before_processing", "none"}
        Who commits: the consumer every auto.commit.interval.ms, the application for each batch, or nobody.
    commit_on_revoked : bool
        The application calls commitSync in onPartitionsRevoked.
    """

    __slots__ = ("_reason",)

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
            group_id=group_id, name=name, config=config, instance_id=instance_id, jitter=jitter, commits=commits,
            assignors=assignors, cooperative=cooperative, commit_on_revoked=commit_on_revoked,
        )  # fmt: skip
        self._reason = CLOSING

    # --- what the shell may read --------------------------------------------------------------------------------------

    @property
    def needs_application(self) -> bool:
        """Whether something waits for the application thread to be in poll(); a backoff is waited for elsewhere."""
        if self._next is not None or self._after_commit is not None:
            return False
        if self.failed is not None or self.coordinator is None or self._synced is not None:
            return True
        if self._join_in_flight:
            return self._must_forget
        if self._wants_rejoin():
            return not self._join_retry_at
        return self.uninitialised.size > 0 and not self._fetching.size and not self._fetch_retry_at

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
    def has_news(self) -> bool:
        """Whether the subscription has changed since the last JoinGroup."""
        return self.topics != self._joined_topics

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
            return [*self._commit_finished_batch(now), *self._rejoin(now)] if now >= self._join_retry_at else []
        return self._commit_if_due(now) + self._fetch_offsets(now)

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
            return self._doubt_coordinator(now)
        if now >= self.heartbeat_due:
            self.heartbeat_due = now + self.config.heartbeat_interval_us
            return [Send(Api.HEARTBEAT, Heartbeat(self.member_id, self.instance_id, self.generation))]
        return []

    def _doubt_coordinator(self, now: int) -> Effects:
        """No answer for a whole session: the coordinator is looked up anew (``HeartbeatThread.run``).

        The first answer is of no use: it opens the connection that is just being closed (``disconnectAsync``). The
        second comes a backoff later (recorded with 4.4: 97 to 101 ms after a process thaws).
        """
        effects = self.mark_coordinator_unknown(now)
        self._lookup_retry_at = now + self.config.retry_backoff_us
        return effects

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
        if commits and self._may_commit and self.coordinator is not None:
            self._after_commit = self._close_listener
            return [self._commit(self.owned), Drop(self.owned, lost=False)]
        return self._close_listener(now)

    def _close_listener(self, now: int) -> Effects:
        owned, self.owned = self.owned, NO_PARTITIONS
        self.uninitialised = NO_PARTITIONS
        if not owned.size:
            return self._close_leave(now)
        self._next = self._close_leave
        lost = not self.is_manual and (self.generation < 0 or self.state is not STABLE)
        return [Drop(owned, lost=lost), Listen("lost" if lost else "revoked", owned)]

    def _close_leave(self, now: int) -> Effects:
        effects = self._leave(self._reason)
        self.topics, self.pattern = (), None
        self._reset(keep_id=False)
        return [*effects, Closed()]
