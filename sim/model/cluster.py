"""Brokers, their configuration, and the network."""

from __future__ import annotations

from dataclasses import dataclass

from groupsim.sim.config import BrokerConfig, CoordinatorConfig, EventTimes, Timing, TransactionConfig
from groupsim.sim.distributions import ZERO, Distribution
from groupsim.sim.units import MS, S


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker: leads offsets partitions (so hosts coordinators) and data partitions, both dealt out in id order."""

    id: int
    rack: str = ""
    bandwidth_bytes_per_s: int | None = None
    """What it can send to consumers; None: it is never what they wait for."""


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
    cross_rack_price_per_gb: float | None = None
    """Of 10^9 bytes that are read across racks, in any currency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """Times of brokers that come and go which are in no configuration.

    Parameters
    ----------
    controlled_shutdown : Distribution
        SIGTERM until the controller has moved the leaders. Recorded: 70 ms.
    start : Distribution
        Process start until the broker registers. Recorded: 4 s.
    recovery : Distribution
        On top of that after SIGKILL: logs that were not closed are recovered.
    catch_up : Distribution
        A follower that is back until it is in sync.
    """

    controlled_shutdown: Distribution = Distribution("lognormal", (70 * MS, 300 * MS))
    start: Distribution = Distribution.constant(4 * S)
    recovery: Distribution = Distribution.constant(2 * S)
    catch_up: Distribution = Distribution("uniform", (200 * MS, 1_000 * MS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Zookeeper:
    """A ZooKeeper ensemble; what it takes of a server's time is from Hunt et al., USENIX ATC 2010 (three servers)."""

    nodes: int = 3
    follower_lag: Distribution = ZERO
    """How much later than it hears of a write a follower applies it."""
    read_us: int = 35
    """A server's time for a request."""
    write_us: int = 48
    """The leader's time for a write."""
    sync_us: int = 1_000
    """From the leader's turn until a write is on disk."""
    tick_us: int = 2 * S
    """``tickTime``: sessions expire at whole ticks."""
    election_us: int = 200 * MS
    """From the loss of a leader until the next one serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Brokers, their configuration, and the network between everything."""

    brokers: tuple[Broker, ...] = (Broker(id=0), Broker(id=1), Broker(id=2))
    config: CoordinatorConfig = CoordinatorConfig()
    log_retention_check_us: int = 300 * S
    network: Network = Network()
    timing: Timing = Timing()
    event_times: EventTimes = EventTimes()
    broker_config: BrokerConfig = BrokerConfig()
    failover: Failover = Failover()
    offsets_log_bytes: int = 2 << 20
    """Of each partition of ``__consumer_offsets`` at first: a coordinator that is loaded reads that, and what came."""
    zookeeper: Zookeeper = Zookeeper()
    transactions: TransactionConfig = TransactionConfig()
