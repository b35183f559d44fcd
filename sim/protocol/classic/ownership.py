"""What a member owns, as its client sees it: positions to fetch and offsets to commit.

Source: ``ConsumerCoordinator`` (Kafka 4.4).
"""

from __future__ import annotations

import numpy as np

from groupsim.sim.protocol.classic.membership import STABLE, Membership
from groupsim.sim.protocol.effects import Commit, Effects, Send
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.protocol.messages import (
    NO_PARTITIONS,
    Api,
    Error,
    OffsetFetch,
    Positions,
    without,
)
from groupsim.sim.units import FOREVER


class Ownership:
    """Partitions of a member.

    Parameters
    ----------
    membership : Membership
    backoff : Backoff
    commits : {"auto", "after_batch", "before_processing", "none"}
        Who commits: the consumer every auto.commit.interval.ms, the application for each batch, or nobody.
    commit_every_us : int, microseconds
        The application commits for a batch not more often than this; 0: for each.

    Attributes
    ----------
    owned : int32 array
        The assignment.
    uninitialised : int32 array
        Partitions of it that have no position yet.
    is_manual : bool
        Taken by hand (``assign()``), not as a member.
    commit_due : int, microseconds
        The first poll at or after it commits.
    assigned_us : int, microseconds
        When the assignment was last taken over; `FOREVER`: never, or poll() has been too late since.
    """

    __slots__ = (
        "_backoff", "_config", "_every_us", "_failures", "_fetching", "_membership", "assigned_us", "commit_due",
        "commits", "fetch_retry_at", "is_manual", "owned", "uninitialised",
    )  # fmt: skip

    def __init__(self, membership: Membership, backoff: Backoff, commits: str, commit_every_us: int) -> None:
        self._membership = membership
        self._config = membership.config
        self._backoff = backoff
        self._failures = 0
        self._fetching = NO_PARTITIONS
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
        """``KafkaConsumer.assign``: partitions by hand. No member of the group, so no rebalance ever."""
        self.is_manual = True
        self.owned = self.uninitialised = positions
        self.restart_commits(now)

    def give_up(self, positions: Positions) -> None:
        """These are no longer owned."""
        self.owned = without(self.owned, positions)
        self.uninitialised = without(self.uninitialised, positions)

    def take_over(self, now: int, new: Positions) -> Positions:
        """The assignment is ``new``; what of it was not owned before and needs a position first."""
        added = without(new, self.owned)
        self.owned = new
        self.assigned_us = now
        if self.uninitialised.size:
            still = np.intersect1d(self.uninitialised, new)
            self.uninitialised = np.union1d(still, added).astype(np.int32)
        else:
            self.uninitialised = added
        self.restart_commits(now)
        return added

    # --- commits ------------------------------------------------------------------------------------------------------

    @property
    def may_commit(self) -> bool:
        """The local gate of commits: a stable member, or nobody's member (``sendOffsetCommitRequest``)."""
        return self._membership.state is STABLE or self.is_manual

    @property
    def commit_interval_us(self) -> int:
        """Of an application that commits for each batch, and of an interval of 0, each poll commits: a microsecond."""
        own_us = self._config.auto_commit_interval_us if self.commits == "auto" else self._every_us
        return max(own_us, 1)

    def restart_commits(self, now: int) -> None:
        """The next commit is an interval away; an application's own clock goes on."""
        if self.commits != "none" and not (self._every_us and self.commit_due < FOREVER):
            self.commit_due = now + self.commit_interval_us

    def commit(self, positions: Positions) -> Commit:
        """A commit in the present generation."""
        return Commit(positions, self._membership.generation, self._membership.member_id)

    def commit_if_due(self, now: int) -> Effects:
        """``maybeAutoCommitOffsetsAsync``, or the application's own commit at the end of a batch."""
        if now < self.commit_due or not self.owned.size or not self.may_commit:
            return []
        self.commit_due = now + self.commit_interval_us
        return [self.commit(self.owned)]

    def commit_finished_batch(self, now: int) -> Effects:
        """The application's commit of the batch that it has just finished, when it is about to rejoin."""
        return self.commit_if_due(now) if self.commits == "after_batch" else []

    def commit_again(self, now: int) -> None:
        """A commit has failed that is worth another try."""
        if self.commits == "auto":
            self.commit_due = min(self.commit_due, now + self._config.retry_backoff_us)

    # --- positions ----------------------------------------------------------------------------------------------------

    @property
    def is_fetching(self) -> bool:
        """Whether OffsetFetch is under way."""
        return self._fetching.size > 0

    @property
    def is_initialised(self) -> bool:
        """Whether every partition has a position, and none is asked for."""
        return not self._fetching.size and not self.uninitialised.size

    def fetch_offsets(self, now: int) -> Effects:
        """OffsetFetch for what has no position."""
        if self._fetching.size or not self.uninitialised.size or now < self.fetch_retry_at:
            return []
        self._fetching = self.uninitialised
        return [Send(Api.OFFSET_FETCH, OffsetFetch(self.uninitialised))]

    def fetched(self, now: int, error: Error) -> None:
        """OffsetFetch is answered: the positions that it asked for are known, or it is asked again."""
        asked, self._fetching = self._fetching, NO_PARTITIONS
        if error is Error.NONE:
            self._failures = 0
            self.uninitialised = without(self.uninitialised, asked)
        else:
            self.fetch_retry_at = now + self._backoff.after(self._failures)
            self._failures += 1
