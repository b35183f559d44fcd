"""How a member joins: preparing, JoinGroup, the leader's assignment, SyncGroup, and taking the result.

``AbstractCoordinator.joinGroupIfNeeded`` and ``ConsumerCoordinator.onJoinPrepare`` / ``onJoinComplete`` (Kafka 4.4).
Preparing happens once per successful rebalance; a failed join repeats JoinGroup alone, unless a reset came between,
which turns the next preparation into losing everything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from groupsim.sim.protocol.classic.membership import COMPLETING, LOST_COORDINATOR, PREPARING, STABLE
from groupsim.sim.protocol.classic.ownership import AssignorMemory, Ownership
from groupsim.sim.protocol.effects import Adopt, Drop, Effects, Listen, RunAssignor, Send
from groupsim.sim.protocol.messages import (
    Api,
    Error,
    JoinGroup,
    JoinResponse,
    Positions,
    SyncGroup,
    SyncResponse,
    without,
)

_AT_ONCE = frozenset(
    {Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.REBALANCE_IN_PROGRESS, Error.MEMBER_ID_REQUIRED}
)
"""Failed joins that are retried without backoff (``AbstractCoordinator.joinGroupIfNeeded``)."""


class Joining(Ownership, ABC):
    """A member on its way into a generation.

    Parameters
    ----------
    assignors : sequence of AssignorMemory
        In order of preference.
    cooperative : bool
        The highest rebalance protocol that all assignors support is COOPERATIVE.
    commit_on_revoked : bool
        The application calls commitSync in onPartitionsRevoked.
    ownership
        Of `Ownership`.
    """

    __slots__ = ("_after_commit", "_join_retry_at", "_next", "assignors", "commit_on_revoked", "cooperative")

    def __init__(
        self, *, assignors: Sequence[AssignorMemory], cooperative: bool, commit_on_revoked: bool, **ownership: Any
    ) -> None:
        super().__init__(**ownership)
        self.assignors = assignors
        self.cooperative = cooperative
        self.commit_on_revoked = commit_on_revoked
        self._join_retry_at = 0
        self._after_commit: Callable[[int], Effects] | None = None
        self._next: Callable[[int], Effects] | None = None

    @abstractmethod
    def on_poll(self, now: int) -> Effects:
        """The application is inside poll()."""

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
        reason, self.rejoin_reason = self.rejoin_reason, ""
        return [Send(Api.JOIN_GROUP, self.join_request(self.owned, self.generation, reason))]

    def join_request(self, owned: Positions, generation: int, reason: str) -> JoinGroup:
        """What a member asks that has kept ``owned`` of a generation."""
        config, behaviour = self.config, self.config.behaviour
        return JoinGroup(
            member_id=self.member_id,
            instance_id=self.instance_id,
            session_timeout_us=config.session_timeout_us,
            rebalance_timeout_us=config.rebalance_timeout_us,
            protocols=tuple(
                (assignor.name, self._subscription(assignor, owned, generation)) for assignor in self.assignors
            ),
            reason=reason,
            knows_member_id_required=behaviour.member_id_required,
            knows_skip_assignment=behaviour.skip_assignment,
            name=self.name,
        )

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
            return [Send(Api.SYNC_GROUP, self.sync_request(response))]
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
        request = SyncGroup(self.member_id, self.instance_id, self.generation, self.protocol, assignments)
        return [Send(Api.SYNC_GROUP, request)]

    def on_assignor_failed(self, now: int) -> Effects:
        """The assignor threw: poll() raises, no SyncGroup is sent, and the next poll starts over."""
        self._join_failed(Error.UNKNOWN_SERVER_ERROR)
        self._join_retry_at = now + self.config.retry_backoff_us
        return []

    def sync_request(self, response: JoinResponse) -> SyncGroup:
        """What a member that does not run the assignor asks when it has joined."""
        return SyncGroup(response.member_id, self.instance_id, response.generation, response.protocol)

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
        self.uninitialised = (
            added
            if not self.uninitialised.size
            else np.union1d(np.intersect1d(self.uninitialised, new), added).astype(np.int32)
        )
        if self.commits != "none":
            self.commit_due = now + self.commit_interval_us
        self._next = self.on_poll
        return [Adopt(new, added), Listen("assigned", added)]
