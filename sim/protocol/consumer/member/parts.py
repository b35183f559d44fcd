"""The parts of a member of the consumer protocol, and what of them the shell may read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from groupsim.assignors.java.regex import JavaPattern
from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.consumer.member.departure import Departure
from groupsim.sim.protocol.consumer.member.epoch import MemberEpoch
from groupsim.sim.protocol.consumer.member.heartbeats import HeartbeatContent, HeartbeatTimer
from groupsim.sim.protocol.consumer.member.listeners import Listeners
from groupsim.sim.protocol.consumer.member.ownership import MemberOwnership
from groupsim.sim.protocol.consumer.member.reconciliation import Reconciliation
from groupsim.sim.protocol.consumer.member.responses import HeartbeatResponses
from groupsim.sim.protocol.consumer.member.states import MemberState
from groupsim.sim.protocol.consumer.member.subscription import MemberSubscription
from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat
from groupsim.sim.protocol.effects import Effects
from groupsim.sim.protocol.lookup import Backoff, CoordinatorLookup
from groupsim.sim.protocol.messages import Api, Error, OffsetCommit, Positions, within


class ConsumerMemberParts:
    """One consumer in one group, taken apart.

    Parameters
    ----------
    group_id, name : str
    member_id : str
        Made by the client; stays for the life of the process.
    config : ClientConfig
    instance_id : str or None
        ``group.instance.id``; None: dynamic member.
    jitter : callable
        Retry number -> factor in permille (800 .. 1200), ``ExponentialBackoff``'s jitter.
    commits : {"auto", "after_batch", "before_processing", "none"}
        Who commits: the consumer every auto.commit.interval.ms, the application for each batch, or nobody.
    commit_every_us : int, microseconds
        The application commits for a batch not more often than this; 0: for each.
    commit_on_revoked : bool
        The application calls commitSync in onPartitionsRevoked.
    """

    __slots__ = (
        "config", "content", "departure", "instance_id", "listeners", "lookup", "membership", "ownership",
        "reconciliation", "responses", "subscription", "timer",
    )  # fmt: skip

    protocol: str | None = None
    """The coordinator assigns."""
    is_leader = False
    rejoin_needed = False
    is_about_to_join = False
    refreshes_to_join = False
    """A pattern that the client matches is looked at with every refresh, and what it is assigned is taken as it is."""
    reads_in_background = True

    def __init__(
        self,
        *,
        group_id: str,
        name: str,
        member_id: str,
        config: ClientConfig,
        instance_id: str | None,
        jitter: Callable[[int], int],
        commits: str = "auto",
        commit_every_us: int = 0,
        commit_on_revoked: bool = False,
    ) -> None:
        self.config = config
        self.instance_id = instance_id
        backoff = Backoff.of(config, jitter)
        self.membership = MemberEpoch(name, member_id, config, instance_id)
        self.subscription = MemberSubscription()
        self.ownership = MemberOwnership(self.membership, backoff, commits, commit_every_us)
        self.lookup = CoordinatorLookup(group_id, backoff)
        self.listeners = Listeners()
        self.timer = HeartbeatTimer(backoff, is_jitter_sound=config.behaviour.sound_heartbeat_jitter)
        self.content = HeartbeatContent(self.membership, self.subscription)
        self.reconciliation = Reconciliation(
            self.membership, self.ownership, self.listeners, backoff, commit_on_revoked=commit_on_revoked
        )
        self.departure = Departure(
            self.membership, self.subscription, self.ownership, self.reconciliation, self.listeners, self.timer,
            self.content, self.work_in_background,
        )  # fmt: skip
        self.responses = HeartbeatResponses(
            self.membership, self.reconciliation, self.departure, self.timer, self.content, self.lookup
        )

    def work_in_background(self, now: int) -> Effects:
        """A turn of the background thread."""
        raise NotImplementedError

    @property
    def is_paced(self) -> bool:
        """Whether it acts once in a pass through poll(), and no answer wakes it (the Java client)."""
        return self.config.behaviour.paces_polls

    @property
    def state(self) -> MemberState:
        """Its state."""
        return self.membership.state

    @property
    def generation(self) -> int:
        """Its member epoch, as far as commits carry it; -1: none."""
        return self.membership.epoch if self.membership.is_member else -1

    @property
    def member_id(self) -> str:
        """Its member id."""
        return self.membership.member_id

    @property
    def failed(self) -> Error | None:
        """What the next poll() raises."""
        return self.membership.failed

    @failed.setter
    def failed(self, value: Error | None) -> None:
        self.membership.failed = value

    @property
    def listening(self) -> bool:
        """Whether the application runs a listener, or waits inside one."""
        return self.listeners.running is not None

    @property
    def coordinator(self) -> int | None:
        """Broker id of the coordinator."""
        return self.lookup.node

    @property
    def commits(self) -> str:
        """Who commits."""
        return self.ownership.commits

    @property
    def commit_on_revoked(self) -> bool:
        """Whether the application calls commitSync in onPartitionsRevoked."""
        return self.reconciliation.commit_on_revoked

    @property
    def commit_interval_us(self) -> int:
        """From one commit to when the next is due."""
        return self.ownership.commit_interval_us

    @property
    def commit_due(self) -> int:
        """The first pass at or after it commits, microseconds."""
        return self.ownership.commit_due

    @commit_due.setter
    def commit_due(self, value: int) -> None:
        self.ownership.commit_due = value

    # --- heartbeats that nobody looks at ------------------------------------------------------------------------------

    heartbeat_api = Api.CONSUMER_GROUP_HEARTBEAT

    @property
    def heartbeat_interval_us(self) -> int:
        """From one heartbeat to the next, as the coordinator says; 0 until it has."""
        return self.timer.interval_us

    @property
    def heartbeat_due(self) -> int:
        """When the next heartbeat goes out, microseconds."""
        return self.timer.due

    def restore_heartbeats(self, due: int, waiting_since: int) -> None:
        """The next one is due then, after some that nobody has looked at; its thread waits for nobody."""
        self.timer.restore(due)

    def beat_again(self, sent: int) -> ConsumerGroupHeartbeat:
        """The heartbeat that was sent at ``sent``, and whose answer nobody has looked at yet."""
        self.timer.await_answer(sent)
        return ConsumerGroupHeartbeat(
            self.member_id, self.membership.epoch, self.instance_id, name=self.membership.name
        )

    def commit_again(self, positions: Positions, offsets: NDArray[np.int64]) -> OffsetCommit:
        """A commit of these next offsets whose answer nobody has looked at yet; both of shape (n,)."""
        commit = self.ownership.commit(positions, is_awaited=False)
        return OffsetCommit(commit.member_id, self.instance_id, commit.generation, positions, offsets)

    def note_answer(self, sent: int, read: int) -> None:
        """The answer to the heartbeat that was sent at ``sent`` was read at ``read``; nobody has looked at either."""
        self.timer.sent_us, self.timer.woken_us = sent, read

    @property
    def topics(self) -> tuple[str, ...]:
        """Subscribed topics, sorted."""
        return self.subscription.topics

    @property
    def pattern(self) -> JavaPattern | None:
        """Subscribed pattern, if this client matches it."""
        return self.subscription.pattern

    @property
    def metadata(self) -> Mapping[str, int]:
        """Topic -> number of partitions, as last seen."""
        return self.subscription.metadata

    @property
    def owned(self) -> Positions:
        """The assignment."""
        return self.ownership.owned

    def keeps(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of these it has without a position, and is not giving up. Shape of ``positions``."""
        if self.departure.is_under_way:
            return np.zeros(len(positions), np.bool_)
        return within(positions, self.uninitialised)

    @property
    def uninitialised(self) -> Positions:
        """Partitions of it without a position."""
        return self.ownership.uninitialised

    @property
    def is_manual(self) -> bool:
        """Whether partitions were taken by hand."""
        return self.ownership.is_manual
