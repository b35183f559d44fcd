"""What a simulation is made of: frozen, validated by the scenario layer, free of file formats.

Entities are named (`group`, `group/3`, `broker:1`, `rack:a`); entries of the timeline have ids. Every random draw is
keyed by these names, never by positions in a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from groupsim.sim.config import ClientConfig, ClientFamily, CoordinatorConfig, Timing
from groupsim.sim.units import FOREVER, MS, S

# --- distributions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Distribution:
    """A duration that is drawn: a kind and its parameters, all in microseconds.

    Parameters
    ----------
    kind : {"constant", "uniform", "exponential", "lognormal", "empirical"}
    values : tuple of int, microseconds
        constant: (value,); uniform: (low, high); exponential: (mean,); lognormal: (median, p99);
        empirical: the observed values, each equally likely.
    """

    kind: Literal["constant", "uniform", "exponential", "lognormal", "empirical"]
    values: tuple[int, ...]

    @staticmethod
    def constant(value_us: int) -> Distribution:
        """The same duration every time."""
        return Distribution("constant", (value_us,))


ZERO = Distribution.constant(0)


# --- cluster ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker: leads offsets partitions (so hosts coordinators) and data partitions, both dealt out in id order."""

    id: int
    rack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One-way latency between two places (``rack:a``, ``broker:1``, a group or member name), both directions."""

    between: tuple[str, str]
    latency: Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """One-way latency, and loss as a retransmission delay (never as a lost message)."""

    latency: Distribution = Distribution("lognormal", (500, 5_000))
    links: tuple[Link, ...] = ()
    loss: float = 0.0
    retransmission_us: int = 200 * MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Brokers, their configuration, and the network between everything."""

    brokers: tuple[Broker, ...] = (Broker(id=0), Broker(id=1), Broker(id=2))
    config: CoordinatorConfig = CoordinatorConfig()
    log_retention_check_us: int = 300 * S
    network: Network = Network()
    timing: Timing = Timing()


# --- topics -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Production rate of a topic: piecewise constant per partition.

    Parameters
    ----------
    times_us : tuple of int
        Begin of each step, ascending; the first is 0 (relative to the moment at which the rate is set).
    per_partition_mrps : tuple of tuple of int
        One row per step, **milli-records per second** of each partition. A row of length 1 holds for every
        partition, also for those added later; otherwise partitions beyond the row get the row's mean.
    """

    times_us: tuple[int, ...] = (0,)
    per_partition_mrps: tuple[tuple[int, ...], ...] = ((0,),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic that exists from the start (or from ``create_topic`` on)."""

    name: str
    partitions: int
    rate: Rate = Rate()
    retention_us: int = FOREVER
    replication_factor: int = 3
    """At most the number of brokers. Where replicas are matters to assignors that look at racks."""


# --- groups -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a member asks for: topic names, or a pattern (Java regex in Python's syntax), or partitions by hand."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assign: Mapping[str, tuple[int, ...]] | None = None
    """Manual assignment (``KafkaConsumer.assign``): no group membership, never rebalances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing:
    """What the application does with records."""

    per_record: Distribution = Distribution.constant(2 * MS)
    """Cost of a record; anything but a constant is drawn once per batch, as the batch's mean cost."""
    per_poll_us: int = 0
    """Cost of a batch, whatever its size."""
    poll_timeout_us: int = 100 * MS
    commit: Literal["auto", "after_batch", "before_processing", "none"] = "auto"
    """auto: enable.auto.commit decides; after_batch and before_processing are commitAsync calls of the application."""
    on_revoked_us: int = 0
    on_assigned_us: int = 0
    on_lost_us: int = 0
    commit_on_revoked: bool = False
    """The application calls commitSync inside onPartitionsRevoked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """When members start: all at once, one every so often, or spread evenly by a draw over a span."""

    kind: Literal["at", "every", "within"] = "at"
    value_us: int = 0
    """at: the instant; every: spacing; within: span."""
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
    assignor_failure: Literal["rebalance", "refuse"] = "rebalance"
    client_family: ClientFamily = "java"
    """Whose assignor the leader runs: it decides how long that takes (`sim.cluster.assignor_costs`)."""
    java_order: bool = True
    """Whether Kafka's assignors walk members as Java's hash tables yield their ids, or by id."""

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


# --- timeline -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """Who is meant; resolved when the event fires.

    Parameters
    ----------
    kind : {"group", "broker", "rack"}
    name : str
        Group name, broker id as text, or rack.
    pick : {"all", "index", "leader", "random", "share"}
        Only for groups. ``indices`` for "index"; ``count`` for "random"; ``share`` for "share".
    """

    kind: Literal["group", "broker", "rack"]
    name: str
    pick: Literal["all", "index", "leader", "random", "share"] = "all"
    indices: tuple[int, ...] = ()
    count: int = 1
    share: float = 0.0

    def __str__(self) -> str:
        if self.kind != "group":
            return f"{self.kind}:{self.name}"
        match self.pick:
            case "all":
                return self.name
            case "index":
                return f"{self.name}/{','.join(map(str, self.indices))}"
            case "random":
                return f"{self.name}/random" + (f":{self.count}" if self.count > 1 else "")
            case "share":
                return f"{self.name}/share:{self.share}"
            case _:
                return f"{self.name}/{self.pick}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GcPause:
    """All threads of the process, all its consumers, stand still."""

    target: Target
    duration: Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """The processing thread hangs; the heartbeat thread lives."""

    target: Target
    duration: Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """Processing of records takes ``factor`` times as long."""

    target: Target
    factor: float
    duration: Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowHost:
    """Everything the process does (processing, callbacks, start-up) takes ``factor`` times as long."""

    target: Target
    factor: float
    duration: Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """SIGKILL; ``down`` given: the process starts again that much later."""

    target: Target
    down: Distribution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """SIGTERM: the batch in hand is finished, then close(); SIGKILL after ``grace_us``."""

    target: Target
    grace_us: int = 30 * S


@dataclass(frozen=True, slots=True, kw_only=True)
class StartMembers:
    """Start members that are not running (and those added by ``scale``)."""

    target: Target
    every_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Stop all targets at once and start each again after its own ``down`` ("recreate")."""

    target: Target
    stop: Literal["close", "kill"] = "close"
    grace_us: int = 30 * S
    down: Distribution = Distribution.constant(20 * S)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestart:
    """Restart a group batch by batch, as Kubernetes does.

    ``surge`` members more than the group has are started before old ones stop; ``next_`` says when the next batch may
    begin: when the new ones run, own partitions, the group is stable, or after ``gap_us``.
    """

    target: Target
    batch: int = 1
    surge: int = 0
    stop: Literal["close", "kill"] = "close"
    grace_us: int = 30 * S
    down: Distribution = Distribution.constant(20 * S)
    next_: Literal["running", "assigned", "stable", "gap"] = "assigned"
    gap_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Scale a group out or in to ``to`` members; the highest indices go first, by close()."""

    target: Target
    to: int
    every_us: int = 0
    grace_us: int = 30 * S


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """No traffic between two sets of nodes for a while; connections between them end."""

    between: tuple[Target, Target]
    duration: Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions:
    """A topic grows to ``to`` partitions."""

    topic: str
    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic:
    """A topic comes into being."""

    topic: Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe:
    """Members call subscribe() with something else, at their next poll."""

    target: Target
    subscription: Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsubscribe:
    """Members call unsubscribe() at their next poll."""

    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRate:
    """A topic's production rate changes."""

    topic: str
    rate: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class SetConfig:
    """Members get another configuration, each with its next restart."""

    target: Target
    client: ClientConfig
    processing: Processing | None = None
    static: bool | None = None


Verb = (
    GcPause | Stuck | Slow | SlowHost | Kill | Close | StartMembers | Restart | RollingRestart | Scale | Cut
    | AddPartitions | CreateTopic | Subscribe | Unsubscribe | SetRate | SetConfig
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the timeline: a verb, once (``at_us``) or again and again (``every``)."""

    id: str
    verb: Verb
    at_us: int = 0
    every: Distribution | None = None
    """Interval between firings, drawn anew each time; the first firing is one interval after ``at_us``."""
    until_us: int = FOREVER
    per_member: bool = False
    """False: one stream of events, target drawn each time. True: a stream for each member of the target."""


# --- the whole ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything one run needs, but the seed.

    ``document`` is the fully resolved file as plain data; it goes into the manifest and nothing else reads it.
    """

    name: str
    question: str
    horizon_us: int
    cluster: Cluster
    topics: tuple[Topic, ...]
    groups: tuple[Group, ...]
    timeline: tuple[Entry, ...] = ()
    measure_from_us: int = 0
    measure_to_us: int | None = None
    recovery_lag_records: int | None = None
    sample_every_us: int = 10 * S
    event_budget: int = 50_000_000
    allow_assignors: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
