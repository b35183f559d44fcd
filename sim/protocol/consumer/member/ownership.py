"""What a member holds: partitions, positions to ask for, offsets to commit.

Source: ``SubscriptionState``, ``OffsetsRequestManager``, ``CommitRequestManager`` (Kafka 4.4).
"""

from __future__ import annotations

import numpy as np

from groupsim.sim.protocol.consumer.member.epoch import MemberEpoch
from groupsim.sim.protocol.effects import Commit, Effects, Send
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api, Error, OffsetFetch, Positions, within, without
from groupsim.sim.units import FOREVER


class MemberOwnership:
    """Partitions of a member.

    Parameters
    ----------
    membership : MemberEpoch
    backoff : Backoff
    commits : {"auto", "after_batch", "before_processing", "none"}
        Who commits: the consumer every auto.commit.interval.ms, the application for each batch, or nobody.
    commit_every_us : int, microseconds
        The application commits for a batch not more often than this; 0: for each.

    Attributes
    ----------
    owned : int32 array
        ``assignedPartitions``: those that wait for onPartitionsRevoked are among them.
    uninitialised : int32 array
        Those of them that may have a position and have none.
    is_manual : bool
        Taken by hand (``assign()``), not as a member.
    commit_due : int, microseconds
        The first pass at or after it commits.
    assigned_us : int, microseconds
        When an assignment was last taken over; `FOREVER`: never, or poll() has been too late since.
    fetch_retry_at : int, microseconds
        OffsetFetch is repeated then; 0: there is nothing to wait for.
    """

    __slots__ = (
        "_backoff", "_config", "_every_us", "_failures", "_fetching", "_is_committing", "_membership", "assigned_us",
        "commit_due", "commits", "fetch_retry_at", "is_manual", "owned", "uninitialised",
    )  # fmt: skip

    def __init__(self, membership: MemberEpoch, backoff: Backoff, commits: str, commit_every_us: int) -> None:
        self._membership = membership
        self._config = membership.config
        self._backoff = backoff
        self._failures = 0
        self._fetching = NO_PARTITIONS
        self._is_committing = False
        self.commits = commits
        self._every_us = commit_every_us
        self.is_manual = False
        self.owned: Positions = NO_PARTITIONS
        self.uninitialised: Positions = NO_PARTITIONS
        self.fetch_retry_at = 0
        self.commit_due = FOREVER
        self.assigned_us = FOREVER

    # --- partitions ---------------------------------------------------------------------------------------------------

    def assign(self, now: int, positions: Positions) -> None:
        """``KafkaConsumer.assign``: partitions by hand. No member of the group."""
        self.is_manual = True
        self.owned = self.uninitialised = positions
        self.restart_commits(now)

    def clear(self) -> None:
        """``clearAssignment``."""
        self.owned = self.uninitialised = NO_PARTITIONS
        self.fetch_retry_at = 0

    def keep(self, positions: Positions) -> None:
        """These are assigned now; what is new among them has no position and may not ask for one yet.

        ``assignFromSubscribedAwaitingCallback``.
        """
        self.uninitialised = self.uninitialised[within(self.uninitialised, positions)]
        self.owned = positions

    def forgo(self, revoked: Positions) -> None:
        """These are about to be given up: no position is taken any more (``markPendingRevocation``)."""
        self.uninitialised = without(self.uninitialised, revoked)

    def enable(self, added: Positions) -> None:
        """After onPartitionsAssigned (``enablePartitionsAwaitingCallback``)."""
        if not self.uninitialised.size:
            self.uninitialised = added
        elif added.size:
            self.uninitialised = np.union1d(self.uninitialised, added).astype(np.int32)

    # --- commits ------------------------------------------------------------------------------------------------------

    @property
    def is_auto_commit(self) -> bool:
        """``enable.auto.commit``."""
        return self.commits == "auto"

    @property
    def commit_interval_us(self) -> int:
        """Of an application that commits for each batch, and of an interval of 0, each poll commits: a microsecond."""
        own_us = self._config.auto_commit_interval_us if self.commits == "auto" else self._every_us
        return max(own_us, 1)

    def restart_commits(self, now: int) -> None:
        """``resetAutoCommitTimer``: the next commit is an interval away; an application's own clock goes on."""
        if self.commits != "none" and not (self._every_us and self.commit_due < FOREVER):
            self.commit_due = now + self.commit_interval_us

    def until_commit_us(self, at: int, now: int, pass_us: int) -> int:
        """How long it was at ``at`` until the next auto-commit; `FOREVER` without one.

        A pass at which it is due restarts the timer (``maybeAutoCommitAsync``), even of a member that owns nothing:
        passes were at ``now`` and at multiples of ``pass_us`` before.
        """
        due, interval_us = self.commit_due, self.commit_interval_us
        if not self.is_auto_commit:
            return FOREVER
        if due <= at and not self.owned.size:
            first = now - (now - due) // pass_us * pass_us
            stride_us = -(-interval_us // pass_us) * pass_us
            due = due if first > at else first + (at - first) // stride_us * stride_us + interval_us
        return max(due - at, 0)

    def commit(self, positions: Positions, *, is_awaited: bool) -> Commit:
        """A commit as the member that it is; without id and epoch if it is none."""
        membership = self._membership
        self._is_committing = self._is_committing or self.is_auto_commit
        if membership.is_member:
            return Commit(positions, membership.epoch, membership.member_id, is_awaited)
        return Commit(positions, -1, "", is_awaited)

    def commit_if_due(self, now: int) -> Effects:
        """``updateTimerAndMaybeCommit``, or the application's own commit of the batch before."""
        if now < self.commit_due or not self.owned.size or self._is_committing:
            return []
        self.commit_due = now + self.commit_interval_us
        return [self.commit(self.owned, is_awaited=False)]

    def committed(self) -> None:
        """A commit is answered. One that failed is not repeated: the next is an interval away (seen with 4.4)."""
        self._is_committing = False

    # --- positions ----------------------------------------------------------------------------------------------------

    @property
    def is_fetching(self) -> bool:
        """Whether OffsetFetch is under way."""
        return self._fetching.size > 0

    @property
    def is_initialised(self) -> bool:
        """Whether every partition has a position, and none is asked for."""
        return not self._fetching.size and not self.uninitialised.size

    def fetch_offsets(self) -> Effects:
        """OffsetFetch for what has no position (``initWithCommittedOffsetsIfNeeded``), one at a time."""
        if self._fetching.size or not self.uninitialised.size or self.fetch_retry_at:
            return []
        self._fetching = self.uninitialised
        membership = self._membership
        if membership.is_member:
            return [Send(Api.OFFSET_FETCH, OffsetFetch(self._fetching, membership.member_id, membership.epoch))]
        return [Send(Api.OFFSET_FETCH, OffsetFetch(self._fetching))]

    def fetch_again(self, now: int) -> Effects:
        """Repeat an OffsetFetch that has failed, whatever the application does."""
        if not self.fetch_retry_at or now < self.fetch_retry_at:
            return []
        self.fetch_retry_at = 0
        return self.fetch_offsets()

    def fetched(self, now: int, error: Error) -> None:
        """OffsetFetch is answered; STALE_MEMBER_EPOCH and what passes by is asked again, with the epoch of then."""
        asked, self._fetching = self._fetching, NO_PARTITIONS
        if error is Error.NONE:
            self._failures = 0
            self.uninitialised = without(self.uninitialised, asked)
        elif error is not Error.STALE_MEMBER_EPOCH or self._membership.is_member:
            self.fetch_retry_at = now + self._backoff.after(self._failures)
            self._failures += 1
