"""Groups: what their members run, read and cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from groupsim.assignors.java.re2_pattern import matching
from groupsim.assignors.java.regex import TooManySteps, java_pattern
from groupsim.sim.config import ClientConfig, ClientFamily, GroupConfig, ProducerConfig
from groupsim.sim.distributions import Distribution
from groupsim.sim.units import MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a member asks for: topic names, or a pattern (Java regex in Python's syntax), or partitions by hand."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assign: Mapping[str, tuple[int, ...]] | None = None
    """Manual assignment (``KafkaConsumer.assign``): no group membership, never rebalances."""
    re2: str | None = None
    """A pattern that the broker matches (``SubscriptionPattern``, RE2/J); the consumer protocol only."""

    def takes_in(self, topic: str) -> bool:
        """Whether it asks for a topic; a pattern that takes too long to tell asks for none."""
        if self.pattern is not None:
            try:
                return java_pattern(self.pattern).matches(topic)
            except TooManySteps:
                return False
        if self.re2 is not None:
            return bool(matching(self.re2, (topic,)))
        return topic in self.topics or topic in (self.assign or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing:
    """What the application does with records."""

    per_record: Distribution = Distribution.constant(2 * MS)
    """Cost of a record; anything but a constant is drawn once per batch, as the batch's mean cost."""
    per_poll_us: int = 0
    """Cost of a batch, whatever its size."""
    poll_timeout_us: int = 100 * MS
    commit: Literal["auto", "after_batch", "before_processing", "none", "outside"] = "auto"
    """auto: enable.auto.commit decides; after_batch and before_processing are calls of the application; outside: nobody
    commits, and each consumer of a broadcast group keeps its own offsets, with what it makes of the records."""
    commit_every_us: int = 0
    """after_batch: not more often than this, by a clock of the application's own; 0: each batch."""
    commit_each_record: bool = False
    """after_batch: after each record of it."""
    commit_waits: bool = False
    """after_batch: commitSync, so that the application goes on when the commit is answered; else commitAsync."""
    commit_again: bool = False
    """after_batch: the callback of a commitAsync that has failed for now commits the same offsets again."""
    commit_wait_us: int = 0
    """What such a wait takes; known when the client is opened (`sim.client.incarnation`)."""
    on_revoked_us: int = 0
    on_assigned_us: int = 0
    on_lost_us: int = 0
    commit_on_revoked: bool = False
    """The application calls commitSync inside onPartitionsRevoked."""

    @property
    def record_wait_us(self) -> int:
        """What the application waits for after each record, microseconds."""
        return self.commit_wait_us if self.commit_each_record else 0

    @property
    def batch_wait_us(self) -> int:
        """What the application waits for after a batch that it commits, microseconds."""
        return 0 if self.commit_each_record else self.commit_wait_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Produces:
    """What members make of the records that they read: one record each, a transaction for each batch of a poll().

    Parameters
    ----------
    to : str
        The output topic; records of partition n go to partition n modulo the number of its partitions.
    transactional_id : str
        ``{member}`` and ``{incarnation}`` stand for the member's name and for how often it was started.
    producer : ProducerConfig
    """

    to: str
    transactional_id: str = "{member}"
    producer: ProducerConfig = ProducerConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """When members start: all at once, one every so often, spread evenly by a draw over a span, or long ago."""

    kind: Literal["at", "every", "within", "aged"] = "at"
    value_us: int = 0
    """at: the instant; every: spacing; within: span; aged: for how long the group has been stable at 0."""
    offset_us: int = 0
    """Added to each start ("every" and "within" count from here)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Members of a group that differ: by index ranges."""

    members: frozenset[int]
    client: ClientConfig | None = None
    processing: Processing | None = None
    subscription: Subscription | None = None
    rack: str | None = None
    instance_id: str | None = None
    """``group.instance.id``, where members are static; their names otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The consumers of a group: ``group/0`` .. ``group/<count-1>``."""

    count: int
    per_process: int = 1
    static: bool = False
    boot: Distribution = Distribution.constant(700 * MS)
    start: Start = Start()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One consumer group."""

    name: str
    subscription: Subscription
    members: Members
    client: ClientConfig = ClientConfig()
    processing: Processing = Processing()
    overrides: tuple[Override, ...] = ()
    produces: Produces | None = None
    group_config: GroupConfig = GroupConfig()
    assignor_failure: Literal["rebalance", "refuse"] = "rebalance"
    client_family: ClientFamily = "java"
    """Whose assignor the leader runs: it decides how long that takes (`sim.cluster.groups.assignor_costs`)."""
    java_order: bool = True
    """Whether Kafka's assignors walk members as Java's hash tables yield their ids, or by id."""

    @property
    def is_aged(self) -> bool:
        """Whether it has been stable for long when the run begins."""
        return self.members.start.kind == "aged"

    def override_of(self, index: int) -> Override:
        """The override that holds for member ``index`` (an empty one if none does); later ones win field by field."""
        client = processing = subscription = rack = instance_id = None
        for one in self.overrides:
            if index in one.members:
                client = one.client or client
                processing = one.processing or processing
                subscription = one.subscription or subscription
                rack = one.rack if one.rack is not None else rack
                instance_id = one.instance_id or instance_id
        return Override(
            members=frozenset((index,)), client=client, processing=processing, subscription=subscription, rack=rack,
            instance_id=instance_id,
        )  # fmt: skip
