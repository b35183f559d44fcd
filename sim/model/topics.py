"""Topics and what is produced to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from groupsim.sim.units import FOREVER


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
    min_insync_replicas: int = 1
    unclean_leader_election: bool = False
    acks: Literal["0", "1", "all"] = "all"
    """What its producers wait for."""
    record_bytes: int | None = None
    """Of a record as it is in the log and on the wire, compressed; None: nobody has said."""
