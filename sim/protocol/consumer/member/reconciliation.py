"""From the assignment that the coordinator has sent to the one that the member has, one step after the other.

Commit, onPartitionsRevoked, take over, onPartitionsAssigned, acknowledge (``AbstractMembershipManager.maybeReconcile``,
``revokeAndAssign``; Kafka 4.4). One at a time: an assignment that comes meanwhile waits for the end of it.
"""

from __future__ import annotations

from groupsim.sim.protocol.consumer.member.epoch import MemberEpoch
from groupsim.sim.protocol.consumer.member.listeners import Call, Listeners
from groupsim.sim.protocol.consumer.member.local_assignment import NOTHING, LocalAssignment
from groupsim.sim.protocol.consumer.member.ownership import MemberOwnership
from groupsim.sim.protocol.consumer.member.states import ACKNOWLEDGING, JOINING, RECONCILING, STABLE
from groupsim.sim.protocol.effects import Adopt, Drop, Effects
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, Positions, without
from groupsim.sim.units import FOREVER

_WORTH_REPEATING = frozenset(
    {
        Error.STALE_MEMBER_EPOCH, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR, Error.DISCONNECTED, Error.REQUEST_TIMED_OUT,
    }
)  # fmt: skip
"""What the commit before a reconciliation is repeated for (``autoCommitSyncBeforeRebalanceWithRetries``)."""


class Reconciliation:
    """What one member has, and what it is to have.

    Parameters
    ----------
    membership, ownership, listeners, backoff
        The member's.
    commit_on_revoked : bool
        The application calls commitSync in onPartitionsRevoked.

    Attributes
    ----------
    current : LocalAssignment
        Acknowledged, or about to be.
    target : LocalAssignment
        As the coordinator last said.
    running : LocalAssignment or None
        What the reconciliation under way leads to.
    repeat_at : int, microseconds
        When the commit before it is repeated; `FOREVER`: not.
    """

    __slots__ = (
        "_backoff", "_commit_attempts", "_commit_until", "_has_rejoined", "_listeners",
        "_membership", "_ownership", "_revoked", "commit_on_revoked", "current", "repeat_at", "running", "target",
    )  # fmt: skip

    def __init__(
        self, membership: MemberEpoch, ownership: MemberOwnership, listeners: Listeners, backoff: Backoff, *,
        commit_on_revoked: bool,
    ) -> None:  # fmt: skip
        self._membership = membership
        self._ownership = ownership
        self._listeners = listeners
        self._backoff = backoff
        self.commit_on_revoked = commit_on_revoked
        self.current: LocalAssignment = NOTHING
        self.target: LocalAssignment = NOTHING
        self.running: LocalAssignment | None = None
        self._revoked: Positions = NO_PARTITIONS
        self._has_rejoined = False
        self._commit_until = FOREVER
        self._commit_attempts = 0
        self.repeat_at = FOREVER

    # --- what the coordinator wants -----------------------------------------------------------------------------------

    def receive(self, positions: Positions) -> None:
        """``processAssignmentReceived``: everything that the member may own now."""
        membership = self._membership
        self.target = self.target.updated(positions)
        if not self.is_done:
            membership.enter(RECONCILING)
        elif membership.state in (RECONCILING, JOINING):
            membership.enter(STABLE)

    @property
    def is_done(self) -> bool:
        """``targetAssignmentReconciled``."""
        return self.current.is_same(self.target)

    @property
    def is_wanted(self) -> bool:
        """Whether there is something to begin."""
        return self._membership.state is RECONCILING and self.running is None and not self.is_done

    def forget(self) -> None:
        """``clearAssignment``: there is no assignment, and none to come."""
        self.current = self.target = NOTHING

    def rejoin(self) -> None:
        """``transitionToJoining``: what is under way ends after its present step, and what was to come is void."""
        self._has_rejoined = self.running is not None
        self.target = NOTHING

    def abandon(self) -> None:
        """close(): what is under way is no longer waited for."""
        self.running, self.repeat_at = None, FOREVER

    # --- step 1: begin, commit ----------------------------------------------------------------------------------------

    def begin(self, now: int, *, in_poll: bool) -> Effects:
        """``maybeReconcile``; ``in_poll``: positions are safe to commit, since the application is asking.

        With auto-commit it begins from a poll only (4.0), and so does any that takes partitions away (4.3).
        """
        if not self.is_wanted:
            return []
        new, ownership, behaviour = self.target, self._ownership, self._membership.config.behaviour
        if not self.current.is_none and self.current.has(new.positions):
            self.current = new
            self._membership.enter(ACKNOWLEDGING)
            return []
        revoked = without(ownership.owned, new.positions)
        if not in_poll and (ownership.is_auto_commit or (behaviour.revokes_in_poll and revoked.size)):
            return []
        self.running, self._has_rejoined, self._revoked = new, False, revoked
        ownership.forgo(revoked)
        effects: Effects = [Drop(revoked, lost=False)] if revoked.size else []
        if ownership.is_auto_commit and ownership.owned.size:
            self._commit_until = now + self._membership.config.max_poll_interval_us
            self._commit_attempts = 0
            return [ownership.commit(ownership.owned, is_awaited=True), *effects]
        if self.commit_on_revoked and revoked.size:
            effects.insert(0, ownership.commit(revoked, is_awaited=False))
        self._revoke(now)
        return effects

    def committed(self, now: int, error: Error) -> None:
        """The commit before it is answered: repeat it while that is worth it, else go on."""
        if self.running is None or self.repeat_at < FOREVER:
            return
        is_stale = error is Error.STALE_MEMBER_EPOCH and not self._membership.is_member
        if error in _WORTH_REPEATING and not is_stale and now < self._commit_until and not self._is_void():
            self.repeat_at = now + self._backoff.after(self._commit_attempts)
            self._commit_attempts += 1
            return
        self._revoke(now)

    def repeat(self, now: int) -> Effects:
        """Commit once more, with the epoch and the positions of now."""
        if now < self.repeat_at:
            return []
        self.repeat_at = FOREVER
        if self._is_void() or now >= self._commit_until:
            self._revoke(now)
            return []
        return [self._ownership.commit(self._ownership.owned, is_awaited=True)]

    # --- steps 2 to 4: revoke, assign, acknowledge --------------------------------------------------------------------

    def _is_void(self) -> bool:
        """``maybeAbortReconciliation``: the member has left this state, or has joined anew."""
        return self._membership.state is not RECONCILING or self._has_rejoined

    def _end_if_void(self) -> bool:
        if self._is_void():
            self.running = None
        return self.running is None

    def _revoke(self, now: int) -> None:
        if self._end_if_void():
            return
        if self._revoked.size:
            self._listeners.queue(Call("revoked", self._revoked, self._revoked_by_listener))
        else:
            self._assign()

    def _revoked_by_listener(self, now: int) -> Effects:
        if not self._end_if_void():
            self._assign()
        return []

    def _assign(self) -> None:
        assert self.running is not None
        added = without(self.running.positions, self._ownership.owned)
        self._listeners.queue(Call("assigned", added, lambda now: self._acknowledge(now, added), self._take_over))

    def _take_over(self, now: int) -> Effects | None:
        """``applyAssignment``: by the application, inside poll()."""
        if self._end_if_void():
            return None
        assert self.running is not None
        added = without(self.running.positions, self._ownership.owned)
        self._ownership.keep(self.running.positions)
        return [Adopt(self.running.positions, added)]

    def _acknowledge(self, now: int, added: Positions) -> Effects:
        self._ownership.enable(added)
        if not self._end_if_void():
            assert self.running is not None
            self.current, self.running = self.running, None
            self._ownership.assigned_us = now
            self._ownership.restart_commits(now)
            self._membership.enter(ACKNOWLEDGING)
        return []
