"""Why and how a member sets out to join: what makes it rejoin, what it gives up before, and its JoinGroup.

``AbstractCoordinator.joinGroupIfNeeded`` and ``ConsumerCoordinator.onJoinPrepare`` (Kafka 4.4). Preparing happens once
per successful rebalance; a failed join repeats JoinGroup alone, unless a reset came between, which turns the next
preparation into losing everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.assignors.guarded_call import AssignorMemory
from groupsim.sim.protocol.classic.membership import PREPARING, STABLE, UNJOINED, Membership
from groupsim.sim.protocol.classic.ownership import Ownership
from groupsim.sim.protocol.classic.states import Step
from groupsim.sim.protocol.classic.subscription import SubscriptionState
from groupsim.sim.protocol.commit_errors import is_retriable
from groupsim.sim.protocol.effects import Drop, Effects, Listen, Send
from groupsim.sim.protocol.lookup import CoordinatorLookup
from groupsim.sim.protocol.messages import Api, Error, JoinGroup, Positions, Protocols


class JoinLoop:
    """A member on its way into a generation.

    Parameters
    ----------
    membership, subscription, ownership, lookup
        The member's.
    assignors : sequence of AssignorMemory
        In order of preference.
    cooperative : bool
        The highest rebalance protocol that all assignors support is COOPERATIVE.
    commit_on_revoked : bool
        The application calls commitSync in onPartitionsRevoked.
    """

    __slots__ = (
        "_commits_until", "_lookup", "_membership", "_ownership", "_subscription", "assignors", "commit_on_revoked",
        "cooperative",
    )  # fmt: skip

    def __init__(
        self, membership: Membership, subscription: SubscriptionState, ownership: Ownership, lookup: CoordinatorLookup,
        *, assignors: Sequence[AssignorMemory], cooperative: bool, commit_on_revoked: bool,
    ) -> None:  # fmt: skip
        self._membership = membership
        self._subscription = subscription
        self._ownership = ownership
        self._lookup = lookup
        self.assignors = assignors
        self.cooperative = cooperative
        self.commit_on_revoked = commit_on_revoked
        self._commits_until = 0
        """Until when the commit before a JoinGroup is repeated, microseconds; 0: there has been none."""

    def is_wanted(self) -> bool:
        """``ConsumerCoordinator.rejoinNeededOrPending``; who asks without being in poll() changes nothing."""
        membership, subscription = self._membership, self._subscription
        if not (membership.rejoin_needed or membership.is_leader) and subscription.topics is subscription.joined_topics:
            return False  # What is asked most often by far.
        if not subscription.wants_group:
            return False
        return membership.rejoin_needed or bool(self._news)

    @property
    def _news(self) -> str:
        """What asks for a JoinGroup though nobody else does; empty: nothing."""
        membership, subscription = self._membership, self._subscription
        if membership.state is not STABLE:
            return ""
        if subscription.has_changed:
            return "subscription has changed"
        return "cached metadata has changed" if membership.is_leader and subscription.has_other_counts else ""

    def note_reason(self) -> None:
        """poll() begins to rejoin: what for (``requestRejoin``)."""
        if not self._membership.rejoin_needed:
            self._membership.rejoin_reason = self._news

    @property
    def must_forget(self) -> bool:
        """Whether a reset awaits its onPartitionsLost while the request it came across is still unanswered."""
        membership = self._membership
        return membership.prepare_needed and membership.state is UNJOINED and self._subscription.wants_group

    # --- preparing to join --------------------------------------------------------------------------------------------

    def rejoin(self, now: int) -> Effects:
        """``joinGroupIfNeeded``: prepare once per successful rebalance, then send JoinGroup."""
        membership, ownership = self._membership, self._ownership
        if not membership.prepare_needed:
            return self.send_join(now)
        membership.prepare_needed = False
        if membership.generation < 0 or not membership.member_id:
            self._commits_until = 0
            return self._give_up(now, ownership.owned, lost=True)
        commits = ownership.commits == "auto" or (self.commit_on_revoked and not self.cooperative)
        if not (commits and ownership.owned.size and membership.state is STABLE) or 0 < self._commits_until <= now:
            return self.revoke(now)
        self._commits_until = self._commits_until or now + self._patience_us
        membership.after_commit = Step.REVOKE
        effects: Effects = [ownership.commit(ownership.owned)]
        if not self.cooperative:
            effects.append(Drop(ownership.owned, lost=False))
        return effects

    @property
    def _patience_us(self) -> int:
        """How long a commit is repeated: that of the consumer (``joinPrepareTimer``), or commitSync in a listener."""
        config = self._membership.config
        return config.rebalance_timeout_us if self._ownership.commits == "auto" else config.default_api_timeout_us

    def repeats_commit(self, now: int, error: Error) -> bool:
        """Whether the commit is to be repeated: why it has failed may pass while there is time (``onJoinPrepare``)."""
        membership, until = self._membership, self._commits_until
        config = membership.config
        if not is_retriable(error, config.behaviour) or now >= until:
            return False
        membership.prepare_needed = True
        membership.join_retry_at = min(now + config.retry_backoff_us, until)
        return True

    def revoke(self, now: int) -> Effects:
        """``onJoinPrepare``: eager gives everything up, cooperative only topics it no longer wants."""
        self._commits_until = 0
        owned = self._ownership.owned
        if self._membership.generation < 0:
            return self._give_up(now, owned, lost=True)
        return self._give_up(now, self._subscription.outside(owned) if self.cooperative else owned, lost=False)

    def _give_up(self, now: int, positions: Positions, *, lost: bool) -> Effects:
        if not positions.size:
            return self.send_join(now)
        self._ownership.give_up(positions)
        self._membership.after_listener = Step.JOIN
        return [Drop(positions, lost=lost), Listen("lost" if lost else "revoked", positions)]

    def send_join(self, now: int) -> Effects:
        """``initiateJoinGroup``: one at a time, and only to a coordinator."""
        membership = self._membership
        if membership.join_in_flight or self._lookup.node is None:
            return []
        membership.state = PREPARING
        membership.join_in_flight = True
        membership.join_retry_at = 0
        membership.is_leader = False
        self._subscription.joins()
        membership.rejoin_needed = True
        reason, membership.rejoin_reason = membership.rejoin_reason, ""
        told = self.protocols(self._ownership.owned, membership.generation)
        return [Send(Api.JOIN_GROUP, self.join_request(told, reason))]

    def protocols(self, owned: Positions, generation: int) -> Protocols:
        """What a member tells of itself that has kept ``owned`` of a generation."""
        subscription, config = self._subscription, self._membership.config
        return tuple(
            (assignor.name, subscription.metadata_for(assignor, owned, generation, config))
            for assignor in self.assignors
        )

    def join_request(self, protocols: Protocols, reason: str) -> JoinGroup:
        """What a member asks that tells this of itself."""
        membership = self._membership
        config, behaviour = membership.config, membership.config.behaviour
        return JoinGroup(
            member_id=membership.member_id,
            instance_id=membership.instance_id,
            session_timeout_us=config.session_timeout_us,
            rebalance_timeout_us=config.rebalance_timeout_us,
            protocols=protocols,
            reason=membership.told(reason),
            knows_member_id_required=behaviour.member_id_required,
            knows_skip_assignment=behaviour.skip_assignment,
            name=membership.name,
        )
