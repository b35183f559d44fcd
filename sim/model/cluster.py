"""Brokers, their configuration, and the network."""

from __future__ import annotations

from dataclasses import dataclass

from groupsim.sim.config import CoordinatorConfig, Timing
from groupsim.sim.model.distributions import Distribution
from groupsim.sim.units import MS, S


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
