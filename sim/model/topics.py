"""Topics and what is produced to them."""

from __future__ import annotations

import math
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
    total_per_s : float, optional
        Records per second of the whole topic, of which the one row is what each partition gets.
    zipf : float
        Of that rate partition i has a share proportional to ``(i + 1)**-zipf``.
    """

    times_us: tuple[int, ...] = (0,)
    per_partition_mrps: tuple[tuple[int, ...], ...] = ((0,),)
    total_per_s: float | None = None
    zipf: float = 0.0

    @classmethod
    def of_topic(cls, total_per_s: float, zipf: float, partitions: int) -> Rate:
        """A constant rate of a whole topic with so many partitions."""
        weights = [float(index + 1) ** -zipf for index in range(partitions)]
        whole = math.fsum(weights)
        row = tuple(round(total_per_s * weight / whole * 1000) for weight in weights)
        return cls(per_partition_mrps=(row,), total_per_s=total_per_s, zipf=zipf)

    def among(self, partitions: int) -> Rate:
        """The rate when there are so many partitions: each has another share of a whole topic's."""
        return self if self.total_per_s is None else Rate.of_topic(self.total_per_s, self.zipf, partitions)


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
