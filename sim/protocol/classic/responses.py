"""What a member does with answers: JoinGroup, SyncGroup, the leader's assignor, Heartbeat and OffsetCommit.

``AbstractCoordinator``'s response handlers and ``ConsumerCoordinator.onJoinComplete`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.assignors import CooperativeStickyUserData
from groupsim.sim.protocol.classic.liveness import HeartbeatTimers
from groupsim.sim.protocol.classic.membership import (
    ALREADY_REBALANCING,
    COMPLETING,
    PREPARING,
    STABLE,
    Membership,
    encountered,
)
from groupsim.sim.protocol.classic.ownership import Ownership
from groupsim.sim.protocol.classic.states import Step
from groupsim.sim.protocol.classic.subscription import SubscriptionState
from groupsim.sim.protocol.commit_errors import is_retriable
from groupsim.sim.protocol.effects import Adopt, Drop, Effects, Listen, RunAssignor, Send
from groupsim.sim.protocol.lookup import LOST_COORDINATOR, CoordinatorLookup
from groupsim.sim.protocol.messages import (
    NO_PARTITIONS,
    Api,
    Error,
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


class ResponseHandlers:
    """Works on the answers to one member.

    Parameters
    ----------
    membership, subscription, ownership, lookup, heartbeats
        The member's.
    commit_on_revoked : bool
        The application calls commitSync in onPartitionsRevoked.
    """

    __slots__ = (
        "_commit_on_revoked", "_heartbeats", "_lookup", "_membership", "_ownership", "_repeated", "_subscription"
    )  # fmt: skip

    def __init__(
        self, membership: Membership, subscription: SubscriptionState, ownership: Ownership, lookup: CoordinatorLookup,
        heartbeats: HeartbeatTimers, *, commit_on_revoked: bool,
    ) -> None:  # fmt: skip
        self._membership = membership
        self._subscription = subscription
        self._ownership = ownership
        self._lookup = lookup
        self._heartbeats = heartbeats
        self._commit_on_revoked = commit_on_revoked
        self._repeated: frozenset[str] = frozenset()

    def joined(self, now: int, response: JoinResponse) -> Effects:
        """``JoinGroupResponseHandler``; the heartbeat thread wakes with all its timers reset.

        What is fatal is raised at the next poll().
        """
        membership, error = self._membership, response.error
        if not membership.join_in_flight:
            return []
        if error is Error.NONE and membership.state is PREPARING:
            return self._enter_generation(now, response)
        if error is Error.UNKNOWN_MEMBER_ID and membership.state is PREPARING:
            membership.reset(encountered(error, Api.JOIN_GROUP), keep_id=False)
        membership.join_failed(error)
        if error is Error.MEMBER_ID_REQUIRED:
            membership.member_id, membership.generation = response.member_id, -1
            membership.request_rejoin("need to re-join with the given member-id")
        elif error in (Error.NONE, Error.COORDINATOR_LOAD_IN_PROGRESS):
            membership.join_retry_at = now + membership.config.retry_backoff_us
        elif error in LOST_COORDINATOR:
            return self._lookup.lose(now, error)
        elif error not in _AT_ONCE:
            membership.failed = error
        return []

    def _enter_generation(self, now: int, response: JoinResponse) -> Effects:
        """The leader assigns first, unless it is told not to (KIP-814)."""
        membership, subscription = self._membership, self._subscription
        membership.generation = response.generation
        membership.member_id = response.member_id
        membership.protocol = response.protocol
        membership.state = COMPLETING
        self._heartbeats.reset(now)
        membership.is_leader = response.leader == response.member_id
        if membership.is_leader:
            subscription.group_topics = tuple(sorted({topic for _, _, one in response.members for topic in one.topics}))
            if not response.skip_assignment:
                self._repeated = self._repeats(response)
                return [RunAssignor(response)]
            subscription.watch()
        return [Send(Api.SYNC_GROUP, self.sync_request(response))]

    def _repeats(self, response: JoinResponse) -> frozenset[str]:
        """Members whose assignment will have user data.

        librdkafka writes what it has read of their subscriptions (2.15, ``rd_kafka_group_MemberState_consumer_write``);
        there is none before a member's first assignment (``rd_kafka_sticky_assignor_get_metadata``).
        """
        if not self._membership.config.behaviour.repeats_user_data:
            return frozenset()
        return frozenset(member_id for member_id, _, one in response.members if _remembers(one.user_data))

    def assigned(self, assignments: dict[str, Positions], counts: Mapping[str, int]) -> Effects:
        """The leader's assignor is done; ``counts`` is the metadata it has seen (``onLeaderElected``)."""
        membership = self._membership
        if membership.state is not COMPLETING:
            membership.join_failed(Error.ILLEGAL_GENERATION)
            return []
        self._subscription.watch(counts)
        request = SyncGroup(
            membership.member_id, membership.instance_id, membership.generation, membership.protocol, assignments,
            with_user_data=self._repeated,
        )  # fmt: skip
        return [Send(Api.SYNC_GROUP, request)]

    def assignor_failed(self, now: int) -> None:
        """The assignor threw: poll() raises, no SyncGroup is sent, and the next poll starts over."""
        membership = self._membership
        membership.join_failed(Error.UNKNOWN_SERVER_ERROR)
        membership.join_retry_at = now + membership.config.retry_backoff_us

    def sync_request(self, response: JoinResponse) -> SyncGroup:
        """What a member that does not run the assignor asks when it has joined."""
        instance_id = self._membership.instance_id
        return SyncGroup(response.member_id, instance_id, response.generation, response.protocol)

    def synced(self, now: int, response: SyncResponse, generation: int) -> Effects:
        """``SyncGroupResponseHandler``; the callbacks wait for the application.

        A good answer after a reset counts as ILLEGAL_GENERATION: the round is over, and the next begins at once.
        """
        membership = self._membership
        if not membership.join_in_flight:
            return []
        behaviour, error, current = membership.config.behaviour, response.error, generation == membership.generation
        if error is Error.NONE and current and membership.state is COMPLETING:
            membership.state = STABLE
            if not behaviour.heartbeat_in_completing:
                self._heartbeats.reset(now)
            membership.rejoin_needed = False
            membership.synced = response.assignment
            return []
        if error in (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION) and current:
            keep_id = error is Error.ILLEGAL_GENERATION and behaviour.keep_id_on_illegal_generation
            membership.reset(encountered(error, Api.SYNC_GROUP), keep_id=keep_id)
        membership.join_failed(Error.ILLEGAL_GENERATION if error is Error.NONE else error)
        if error in LOST_COORDINATOR:
            return self._lookup.lose(now, error)
        if error is not Error.NONE and error not in _AT_ONCE:
            membership.failed = error
        return []

    # --- taking the result --------------------------------------------------------------------------------------------

    def complete(self, now: int) -> Effects | None:
        """``onJoinComplete``: give up what is gone, take what is new, rejoin if something was given up.

        None: nothing was taken, and poll() goes on at once.
        """
        membership, ownership = self._membership, self._ownership
        assert membership.synced is not None
        new, membership.synced = membership.synced, None
        membership.join_in_flight = False
        membership.prepare_needed = True
        if not self._subscription.is_matched_by(new, is_static=membership.instance_id is not None):
            membership.request_rejoin("received assignment does not match the current subscription")
            return None
        revoked = without(ownership.owned, new)
        membership.adopting = new
        if not revoked.size:
            return self.adopt(now)
        membership.request_rejoin("need to revoke partitions and re-join")
        effects: Effects = [ownership.commit(revoked)] if self._commit_on_revoked else []
        ownership.owned = without(ownership.owned, revoked)
        membership.after_listener = Step.ADOPT
        return [*effects, Drop(revoked, lost=False), Listen("revoked", revoked)]

    def adopt(self, now: int) -> Effects | None:
        """Take the assignment over, unless a reset during onPartitionsRevoked has made it worthless (None)."""
        membership = self._membership
        new, membership.adopting = membership.adopting, NO_PARTITIONS
        if membership.generation < 0:
            return None
        added = self._ownership.take_over(now, new)
        membership.after_listener = Step.POLL
        return [Adopt(new, added), Listen("assigned", added)]

    # --- while it is a member -----------------------------------------------------------------------------------------

    def beaten(self, now: int, error: Error, generation: int) -> Effects:
        """``HeartbeatResponseHandler``; that an older generation is refused counts as a success."""
        membership = self._membership
        refused = error in (Error.FENCED_INSTANCE_ID, Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION)
        if error in (Error.NONE, Error.REBALANCE_IN_PROGRESS) or (refused and generation != membership.generation):
            self._heartbeats.succeeded(now)
            if error is Error.REBALANCE_IN_PROGRESS and membership.state is STABLE:
                membership.request_rejoin(ALREADY_REBALANCING)
            return []
        self._heartbeats.failed(now)
        if refused:
            membership.reset(encountered(error, Api.HEARTBEAT), keep_id=error is Error.ILLEGAL_GENERATION)
            membership.failed = error if error is Error.FENCED_INSTANCE_ID else membership.failed
        elif error in LOST_COORDINATOR:
            return self._lookup.lose(now, error)
        return []

    def committed(self, now: int, error: Error, generation: int) -> Effects:
        """``OffsetCommitResponseHandler``; what is fatal ends whatever waited, unless that is close()."""
        membership, current = self._membership, generation == self._membership.generation
        unknown = error in (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION)
        if error is Error.REBALANCE_IN_PROGRESS:
            membership.request_rejoin("offset commit failed since group is already rebalancing")
        elif is_retriable(error, membership.config.behaviour):
            self._ownership.commit_again(now)
            return self._lookup.lose(now, error) if error in LOST_COORDINATOR else []
        elif error is Error.FENCED_INSTANCE_ID and current and membership.after_commit is not Step.CLOSE:
            membership.failed = error
            membership.after_commit = None
        elif unknown and (current or membership.state is not PREPARING):
            membership.reset(encountered(error, Api.OFFSET_COMMIT), keep_id=error is Error.ILLEGAL_GENERATION)
        return []


def _remembers(user_data: object) -> bool:
    return isinstance(user_data, CooperativeStickyUserData) and user_data.generation >= 0
