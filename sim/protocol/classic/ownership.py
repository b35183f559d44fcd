"""What a member owns, as its client sees it: positions to fetch, offsets to commit, and what it tells the leader.

Source: ``ConsumerCoordinator`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from groupsim.sim.protocol.classic.membership import LOST_COORDINATOR, STABLE, Membership
from groupsim.sim.protocol.effects import Commit, Effects, Send
from groupsim.sim.protocol.messages import (
    NO_PARTITIONS,
    Api,
    Error,
    OffsetFetch,
    OffsetFetchResponse,
    Positions,
    Subscription,
    without,
)
from groupsim.sim.units import FOREVER


class AssignorMemory(Protocol):
    """What the member needs of an assignor: its name, and what it puts into the subscription."""

    @property
    def name(self) -> str:
        """Kafka's name of the assignor."""
        ...

    def subscription_user_data(self) -> object | None:
        """User data of the next subscription."""
        ...


class Ownership(Membership):
    """Partitions of a member.

    Parameters
    ----------
    commits : {"auto", "after_batch", "before_processing", "none"}
        Who commits: the consumer every auto.commit.interval.ms, the application for each batch, or nobody.
    membership
        Of `Membership`.

    Attributes
    ----------
    topic_of : callable
        Name of the topic of a partition position; set by the shell.
    """

    __slots__ = (
        "_fetch_failures", "_fetch_retry_at", "_fetching", "commit_due", "commits", "is_manual", "owned", "topic_of",
        "uninitialised",
    )  # fmt: skip

    def __init__(self, *, commits: str, **membership: Any) -> None:
        super().__init__(**membership)
        self.commits = commits
        self.is_manual = False
        self.owned: Positions = NO_PARTITIONS
        self.uninitialised: Positions = NO_PARTITIONS
        self._fetching = NO_PARTITIONS
        self._fetch_failures = 0
        self._fetch_retry_at = 0
        self.commit_due = FOREVER
        self.topic_of: Callable[[int], str] = lambda position: ""

    def assign(self, now: int, positions: Positions) -> None:
        """``KafkaConsumer.assign``: partitions by hand. No member of the group, so no rebalance ever."""
        self.is_manual = True
        self.owned = self.uninitialised = positions
        if self.commits != "none":
            self.commit_due = now + self.commit_interval_us

    @property
    def _may_commit(self) -> bool:
        """The local gate of commits: a stable member, or nobody's member (``sendOffsetCommitRequest``)."""
        return self.state is STABLE or self.is_manual

    def _commit_if_due(self, now: int) -> Effects:
        """``maybeAutoCommitOffsetsAsync``, or the application's own commit at the end of a batch."""
        if now < self.commit_due or not self.owned.size or not self._may_commit:
            return []
        self.commit_due = now + self.commit_interval_us
        return [self._commit(self.owned)]

    def _commit_finished_batch(self, now: int) -> Effects:
        """The application's commit of the batch that it has just finished, when it is about to rejoin."""
        return self._commit_if_due(now) if self.commits == "after_batch" else []

    @property
    def commit_interval_us(self) -> int:
        """Each poll commits when the application does: the next one is due with the next microsecond."""
        return self.config.auto_commit_interval_us if self.commits == "auto" else 1

    def _commit(self, positions: Positions) -> Commit:
        return Commit(positions, self.generation, self.member_id)

    def _commit_again(self, now: int) -> None:
        if self.commits == "auto":
            self.commit_due = min(self.commit_due, now + self.config.retry_backoff_us)

    def _fetch_offsets(self, now: int) -> Effects:
        if self._fetching.size or not self.uninitialised.size or now < self._fetch_retry_at:
            return []
        self._fetching = self.uninitialised
        return [Send(Api.OFFSET_FETCH, OffsetFetch(self.uninitialised))]

    def on_offsets(self, now: int, response: OffsetFetchResponse) -> Effects:
        """OffsetFetch is answered: the positions that it asked for are known, or it is asked again."""
        asked, self._fetching = self._fetching, NO_PARTITIONS
        if response.error is Error.NONE:
            self._fetch_failures = 0
            self.uninitialised = without(self.uninitialised, asked)
            return []
        self._fetch_retry_at = now + self._backoff(self._fetch_failures)
        self._fetch_failures += 1
        return self.mark_coordinator_unknown(now) if response.error in LOST_COORDINATOR else []

    def _subscription(self, assignor: AssignorMemory, owned: Positions, generation: int) -> Subscription:
        """``ConsumerCoordinator.metadata``: topics, owned partitions, generation, rack."""
        behaviour = self.config.behaviour
        knows_generation = behaviour.generation_in_subscription and generation >= 0
        return Subscription(
            topics=self.topics,
            owned=np.sort(owned) if owned.size else owned,
            generation=generation if knows_generation else None,
            user_data=assignor.subscription_user_data(),
            rack=(self.config.client_rack or None) if behaviour.rack_in_subscription else None,
        )

    def _outside_subscription(self) -> Positions:
        """Owned partitions of topics that are no longer subscribed; the shell says which (`topic_of`)."""
        if self.topics == self._joined_topics or not self.owned.size:
            return NO_PARTITIONS
        return np.array([p for p in self.owned if self.topic_of(int(p)) not in self.topics], dtype=np.int32)

    def _has_unwanted_topics(self, new: Positions) -> bool:
        """``checkAssignmentMatchedSubscription``; a static member may be handed what its predecessor wanted."""
        if self.topics == self._joined_topics and self.instance_id is None:
            return False
        return any(self.topic_of(position) not in self.topics for position in new.tolist())
