"""How a member goes: close(), unsubscribe(), or because the application has not polled for too long.

Source: ``ConsumerCoordinator.close``, ``onLeavePrepare``, ``AbstractCoordinator.maybeLeaveGroup`` (Kafka 4.4).
"""

from __future__ import annotations

from groupsim.sim.protocol.classic.membership import LEAVING, STABLE, Membership
from groupsim.sim.protocol.classic.ownership import Ownership
from groupsim.sim.protocol.classic.states import Step
from groupsim.sim.protocol.classic.subscription import SubscriptionState
from groupsim.sim.protocol.effects import Closed, Drop, Effects, Listen, Send
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.lookup import CoordinatorLookup
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api

CLOSING = "the consumer is being closed"
"""Why a member leaves that closes (KIP-800)."""


class Departure:
    """A member on its way out of the group.

    Parameters
    ----------
    membership, subscription, ownership, lookup
        The member's.
    """

    __slots__ = ("_lookup", "_membership", "_operation", "_ownership", "_reason", "_subscription")

    def __init__(
        self, membership: Membership, subscription: SubscriptionState, ownership: Ownership, lookup: CoordinatorLookup
    ) -> None:
        self._membership = membership
        self._subscription = subscription
        self._ownership = ownership
        self._lookup = lookup
        self._reason = CLOSING
        self._operation = CloseOperation.DEFAULT

    def close(self, now: int, reason: str, operation: CloseOperation) -> Effects:
        """``close()`` auto-commits, gives everything up and leaves; ``unsubscribe()`` does not commit."""
        membership, ownership = self._membership, self._ownership
        membership.after_listener = membership.after_commit = None
        self._reason, self._operation = reason, operation
        commits = reason == CLOSING and ownership.commits == "auto" and ownership.owned.size
        if commits and ownership.may_commit and self._lookup.node is not None:
            membership.after_commit = Step.CLOSE
            return [ownership.commit(ownership.owned), Drop(ownership.owned, lost=False)]
        return self.give_everything_up()

    def give_everything_up(self) -> Effects:
        """``onLeavePrepare``."""
        membership, ownership = self._membership, self._ownership
        owned, ownership.owned = ownership.owned, NO_PARTITIONS
        ownership.uninitialised = NO_PARTITIONS
        if not owned.size:
            return self.end()
        membership.after_listener = Step.LEAVE
        lost = not ownership.is_manual and (membership.generation < 0 or membership.state is not STABLE)
        return [Drop(owned, lost=lost), Listen("lost" if lost else "revoked", owned)]

    def end(self) -> Effects:
        """The last listener has returned."""
        effects = self.leave(self._reason)
        self._subscription.unsubscribe()
        self._membership.reset(LEAVING, keep_id=False)
        return [*effects, Closed()]

    def leave(self, reason: str) -> Effects:
        """``maybeLeaveGroup``: needs a coordinator, and something to say."""
        farewell = self._membership.farewell(reason, self._operation)
        return [Send(Api.LEAVE_GROUP, farewell)] if farewell is not None and self._lookup.node is not None else []
