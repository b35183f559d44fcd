"""Whether a group can keep up with what is produced, as far as that is known before anybody has joined.

Who gets which partitions is known in a run alone. What is said here holds whoever gets them: of ``n`` members one has
at least an ``n``-th of the partitions, and no member is faster than with full batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from groupsim.sim.books.offsets.production import rates_of
from groupsim.sim.client.polling.pace import Load, pace
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import Group, Processing, Topic


class Overload(NamedTuple):
    """More is produced for somebody than they process, both in records per second.

    Parameters
    ----------
    of_one : bool
        For one of the members, at the least; otherwise for all of them together.
    produced, processed : float
    """

    of_one: bool
    produced: float
    processed: float


def overload(group: Group, topics: Sequence[Topic], poll_us: int) -> Overload | None:
    """What a group cannot keep up with from the start on, whoever gets which partitions; None if it might.

    Parameters
    ----------
    group : Group
    topics : sequence of Topic
        What its members read together, at their first rates.
    poll_us : int, microseconds
        Cost of a pass through poll() itself.
    """
    rates, count = sorted(_rates(topics)), group.members.count
    if not rates or not count:
        return None
    capacities = list(_capacities(group, poll_us))
    together, fastest = sum(number * each for number, each in capacities), max(each for _, each in capacities)
    if sum(rates) >= together:
        return Overload(False, sum(rates), together)
    load = max(sum(rates[: -(-len(rates) // count)]), rates[-1])
    return Overload(True, load, fastest) if load >= fastest else None


def _capacities(group: Group, poll_us: int) -> Iterator[tuple[int, float]]:
    """How many members process so many records per second, all at full batches."""
    differing = [len([index for index in one.members if index < group.members.count]) for one in group.overrides]
    for number, one in zip(differing, group.overrides, strict=True):
        if number:
            yield number, _capacity(one.client or group.client, one.processing or group.processing, poll_us)
    if alike := group.members.count - sum(differing):
        yield alike, _capacity(group.client, group.processing, poll_us)


def _rates(topics: Sequence[Topic]) -> list[float]:
    """First rate of each partition, records per second."""
    firsts = [(one.rate.per_partition_mrps[0], np.arange(one.partitions, dtype=np.int32)) for one in topics]
    return [rate / 1e3 for row, numbers in firsts for rate in rates_of(row, numbers).tolist()]


def _capacity(client: ClientConfig, processing: Processing, poll_us: int) -> float:
    """Records per second at full batches."""
    return float(pace(processing, client.max_poll_records, poll_us, Load(0.0, 0.0), 1.0).capacity) * 1e6
