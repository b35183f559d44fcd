"""What can happen to a cluster: a class for each verb of the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from groupsim.sim.config import ClientConfig
from groupsim.sim.distributions import Distribution
from groupsim.sim.model.groups import Processing, Subscription
from groupsim.sim.model.targets import Target
from groupsim.sim.model.topics import Rate, Topic
from groupsim.sim.units import S

Closing: TypeAlias = Literal["default", "leave_group", "remain_in_group"]
"""What close() is told about the group (``CloseOptions``, KIP-1092, clients of 4.1 and newer)."""


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


CrashPoint: TypeAlias = Literal[
    "after_poll", "after_send", "before_commit", "before_end_txn", "after_end_txn", "after_commit"
]
"""Between two steps of a transaction: a poll() has returned records; some sends are acknowledged; all are, and offsets
are sent next; the offsets are pending; EndTxn is on the wire; EndTxn is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashAt:
    """SIGKILL as soon as a member comes to a point of its next transaction; ``down`` as in `Kill`."""

    target: Target
    point: CrashPoint
    down: Distribution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """SIGTERM: the batch in hand is finished, then close(); SIGKILL after ``grace_us``."""

    target: Target
    grace_us: int = 30 * S
    close: Closing = "default"


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
    close: Closing = "default"
    down: Distribution = Distribution.constant(20 * S)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestart:
    """Restart a group batch by batch, as Kubernetes does.

    ``surge`` members more than the group has are started before old ones stop; ``next_`` says when the next batch may
    begin: when the new ones run, own partitions, the group is stable, or after ``gap_us``. Of brokers there is one at a
    time, and the next may begin when it is in sync again, or after ``gap_us``. Brokers and members of a rack are
    restarted side by side, each as it is done to them.
    """

    target: Target
    batch: int = 1
    surge: int = 0
    stop: Literal["close", "kill"] = "close"
    grace_us: int = 30 * S
    close: Closing = "default"
    down: Distribution = Distribution.constant(20 * S)
    next_: Literal["running", "assigned", "stable", "in_sync", "gap"] = "assigned"
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
class ElectLeaders:
    """An administrator asks for leaders (ElectLeaders): the preferred ones, or anybody where nobody leads."""

    topics: tuple[str, ...] = ()
    """Of all topics if there are none."""
    election: Literal["preferred", "unclean"] = "preferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassign:
    """An administrator moves partitions of a topic to other brokers (AlterPartitionReassignments)."""

    topic: str
    partitions: tuple[int, ...]
    replicas: tuple[int, ...]
    """The first is the preferred leader."""
    throttle_bytes_per_s: int = 100 << 20
    """What is copied to a broker in a second."""


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
class DeleteTopic:
    """A topic is deleted, with all that is in it; another one may get its name."""

    topic: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOffsets:
    """An administrator deletes a group's committed offsets of some topics (OffsetDelete)."""

    target: Target
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroup:
    """An administrator deletes a group with all its offsets (DeleteGroups)."""

    target: Target


Verb = (
    GcPause | Stuck | Slow | SlowHost | Kill | Close | StartMembers | Restart | RollingRestart | Scale | Cut
    | AddPartitions | CreateTopic | DeleteTopic | Subscribe | Unsubscribe | SetRate | SetConfig | DeleteOffsets
    | DeleteGroup | ElectLeaders | Reassign | CrashAt
)  # fmt: skip
