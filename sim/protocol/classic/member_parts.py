"""The parts of a classic member, and what of them the shell may read and set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from groupsim.assignors.guarded_call import AssignorMemory
from groupsim.assignors.java.regex import JavaPattern
from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.classic.departure import Departure
from groupsim.sim.protocol.classic.joining import JoinLoop
from groupsim.sim.protocol.classic.liveness import HeartbeatTimers
from groupsim.sim.protocol.classic.membership import STABLE, Membership
from groupsim.sim.protocol.classic.ownership import Ownership
from groupsim.sim.protocol.classic.responses import ResponseHandlers
from groupsim.sim.protocol.classic.states import MemberState
from groupsim.sim.protocol.classic.subscription import SubscriptionState
from groupsim.sim.protocol.lookup import Backoff, CoordinatorLookup
from groupsim.sim.protocol.messages import Api, Error, Heartbeat, OffsetCommit, Positions, within
from groupsim.sim.units import FOREVER


class MemberParts:
    """One consumer in one group, taken apart.

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
    commit_every_us : int, microseconds
        The application commits for a batch not more often than this; 0: for each.
    commit_on_revoked : bool
        The application calls commitSync in onPartitionsRevoked.
    poll_timeout_us : int, microseconds
        What the application gives poll(), and so a search for the coordinator.
    """

    __slots__ = (
        "backoff", "config", "departure", "heartbeats", "instance_id", "joining", "lookup", "membership", "ownership",
        "responses", "subscription",
    )  # fmt: skip

    @property
    def is_paced(self) -> bool:
        """Every answer wakes the application, if it is inside poll()."""
        return False

    heard_us = 0
    """Its passes do not depend on heartbeats."""

    def longest_wait_us(self, now: int, pass_us: int) -> int:
        """An answer ends the wait."""
        return FOREVER

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
        commit_every_us: int = 0,
        commit_on_revoked: bool = False,
        poll_timeout_us: int = FOREVER,
    ) -> None:
        self.config = config
        self.instance_id = instance_id
        self.backoff = Backoff.of(config, jitter)
        self.membership = Membership(name, config, instance_id)
        self.subscription = SubscriptionState()
        self.ownership = Ownership(self.membership, self.backoff, commits, commit_every_us)
        self.lookup = CoordinatorLookup(group_id, self.backoff, poll_timeout_us)
        self.heartbeats = HeartbeatTimers(config, self.backoff)
        self.joining = JoinLoop(
            self.membership, self.subscription, self.ownership, self.lookup,
            assignors=assignors, cooperative=cooperative, commit_on_revoked=commit_on_revoked,
        )  # fmt: skip
        self.responses = ResponseHandlers(
            self.membership, self.subscription, self.ownership, self.lookup, self.heartbeats,
            commit_on_revoked=commit_on_revoked,
        )  # fmt: skip
        self.departure = Departure(self.membership, self.subscription, self.ownership, self.lookup)

    @property
    def state(self) -> MemberState:
        """Its state."""
        return self.membership.state

    @property
    def generation(self) -> int:
        """The generation that it is in; -1: none."""
        return self.membership.generation

    @property
    def member_id(self) -> str:
        """Its member id; empty: none."""
        return self.membership.member_id

    @property
    def protocol(self) -> str | None:
        """The assignor of its generation."""
        return self.membership.protocol

    @property
    def is_leader(self) -> bool:
        """Whether it leads its generation."""
        return self.membership.is_leader

    @property
    def rejoin_needed(self) -> bool:
        """Whether the next poll() joins."""
        return self.membership.rejoin_needed

    @property
    def failed(self) -> Error | None:
        """What the next poll() raises."""
        return self.membership.failed

    @failed.setter
    def failed(self, value: Error | None) -> None:
        self.membership.failed = value

    @property
    def heartbeats_enabled(self) -> bool:
        """Whether the heartbeat thread is awake."""
        return self.membership.heartbeats_enabled

    @property
    def listening(self) -> bool:
        """Whether the application runs a listener, or waits inside one."""
        return self.membership.after_listener is not None

    @property
    def coordinator(self) -> int | None:
        """Broker id of the coordinator."""
        return self.lookup.node

    @property
    def heartbeat_due(self) -> int:
        """When the next heartbeat goes out, microseconds."""
        return self.heartbeats.due

    heartbeat_api = Api.HEARTBEAT

    @property
    def heartbeat_interval_us(self) -> int:
        """From one heartbeat to the next."""
        return self.config.heartbeat_interval_us

    @property
    def session_timeout_us(self) -> int:
        """Of its session at the coordinator."""
        return self.config.session_timeout_us

    def beat_again(self, sent: int) -> Heartbeat:
        """The heartbeat that was sent at ``sent``, and that nobody has looked at yet."""
        membership = self.membership
        return Heartbeat(membership.member_id, membership.instance_id, membership.generation)

    def commit_again(self, positions: Positions, offsets: NDArray[np.int64]) -> OffsetCommit:
        """A commit of these next offsets that was sent, and that nobody has looked at yet; both of shape (n,)."""
        membership = self.membership
        return OffsetCommit(membership.member_id, membership.instance_id, membership.generation, positions, offsets)

    def note_answer(self, sent: int, read: int) -> None:
        """The answer to the heartbeat that was sent at ``sent`` was read at ``read``; nobody has looked at either."""
        self.heartbeats.succeeded(read)

    def restore_heartbeats(self, due: int, waiting_since: int) -> None:
        """The next one is due then, after some that nobody has looked at, and the thread waits since then."""
        self.heartbeats.due, self.heartbeats.waiting_since = due, waiting_since

    @property
    def waiting_since(self) -> int:
        """Since when the heartbeat thread has waited, microseconds."""
        return self.heartbeats.waiting_since

    @waiting_since.setter
    def waiting_since(self, value: int) -> None:
        self.heartbeats.waiting_since = value

    @property
    def session_due(self) -> int:
        """When the session is over on this side, microseconds."""
        return self.heartbeats.session_due

    @property
    def topics(self) -> tuple[str, ...]:
        """Subscribed topics, sorted."""
        return self.subscription.topics

    @property
    def pattern(self) -> JavaPattern | None:
        """Subscribed pattern."""
        return self.subscription.pattern

    @property
    def metadata(self) -> Mapping[str, int]:
        """Topic -> number of partitions, as last seen."""
        return self.subscription.metadata

    @property
    def group_topics(self) -> tuple[str, ...]:
        """Topics of the whole group, as the leader knows them."""
        return self.subscription.group_topics

    @property
    def has_news(self) -> bool:
        """Whether the subscription has changed since the last JoinGroup."""
        return self.subscription.has_changed

    @property
    def owned(self) -> Positions:
        """The assignment."""
        return self.ownership.owned

    def keeps(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of these it has. Shape of ``positions``."""
        is_all = positions is self.uninitialised
        return np.ones(len(positions), np.bool_) if is_all else within(positions, self.owned)

    @property
    def uninitialised(self) -> Positions:
        """Partitions of it without a position."""
        return self.ownership.uninitialised

    @property
    def is_manual(self) -> bool:
        """Whether partitions were taken by hand."""
        return self.ownership.is_manual

    @property
    def commits(self) -> str:
        """Who commits."""
        return self.ownership.commits

    @property
    def commit_due(self) -> int:
        """The first poll at or after it commits, microseconds."""
        return self.ownership.commit_due

    @commit_due.setter
    def commit_due(self, value: int) -> None:
        self.ownership.commit_due = value

    @property
    def commit_interval_us(self) -> int:
        """From one commit to the next."""
        return self.ownership.commit_interval_us

    @property
    def cooperative(self) -> bool:
        """Whether it keeps partitions through a rebalance."""
        return self.joining.cooperative

    @property
    def commit_on_revoked(self) -> bool:
        """Whether it commits in onPartitionsRevoked."""
        return self.joining.commit_on_revoked

    @property
    def reads_in_background(self) -> bool:
        """Whether the heartbeat thread is there to read answers."""
        return self.config.behaviour.background_heartbeat and self.membership.heartbeats_enabled

    @property
    def is_about_to_join(self) -> bool:
        """Whether it could begin to join now."""
        return self.membership.prepare_needed and self.lookup.node is not None

    @property
    def refreshes_to_join(self) -> bool:
        """Whether it joins with what its pattern matches now, and takes what it is assigned as it is then."""
        return self.subscription.pattern is not None

    # --- what is worth watching ---------------------------------------------------------------------------------------

    @property
    def needs_application(self) -> bool:
        """Whether something waits for the application thread to be in poll(); a backoff is waited for elsewhere."""
        membership = self.membership
        if membership.after_listener is not None or membership.after_commit is not None:
            return False
        if membership.failed is not None or self.lookup.node is None or membership.synced is not None:
            return True
        if membership.join_in_flight:
            return self.joining.must_forget
        if self.joining.is_wanted():
            return not membership.join_retry_at
        ownership = self.ownership
        return ownership.uninitialised.size > 0 and not ownership.is_fetching and not ownership.fetch_retry_at

    @property
    def is_worth_a_poll(self) -> bool:
        """Whether the next poll is to be watched for: not while the coordinator is looked for."""
        return self.needs_application and self.lookup.node is not None

    @property
    def is_settled(self) -> bool:
        """Stable, with positions, and nothing under way: the future depends on time alone."""
        membership = self.membership
        return (
            membership.state is STABLE
            and self.lookup.node is not None
            and membership.failed is None
            and not membership.join_in_flight
            and membership.after_listener is None
            and membership.after_commit is None
            and membership.synced is None
            and self.ownership.is_initialised
            and not self.joining.is_wanted()
        )
