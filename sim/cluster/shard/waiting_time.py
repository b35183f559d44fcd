"""How long a request waits for the event loop of its shard, when requests come at random: the M/G/1 queue.

With arrivals at random the queue's wait is, with probability 1 - u, nothing, and otherwise a geometric number of
residual service times (Pollaczek and Khinchine; `Kleinrock, Queueing Systems I`, 5.6, 5.7). It is worked out on a grid,
in plain floating point and a fixed order, so that it is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from groupsim.sim.model import Distribution

_CELLS_A_SERVICE: Final = 64
_QUANTILES: Final = 4_096
_LEAST_MEAN_US: Final = 1.0
"""What waits less than that on average does not wait: latencies are jitter of a thousand times as much."""


class Stream(NamedTuple):
    """Requests of one kind: how many a second, and how long each takes, microseconds."""

    rate_per_s: float
    service_us: int


def utilisation(streams: Sequence[Stream]) -> float:
    """The share of the time in which one server is busy with all of these; more than 1: it cannot be."""
    return sum(one.rate_per_s * one.service_us for one in streams) / 1e6


def mean_wait_us(streams: Sequence[Stream]) -> float:
    """The mean wait, microseconds; infinite where the server cannot keep up."""
    load = utilisation(streams)
    if load >= 1:
        return float("inf")
    return sum(one.rate_per_s * one.service_us**2 for one in streams) / 1e6 / (2 * (1 - load))


@lru_cache(maxsize=512)
def waiting_time(streams: tuple[Stream, ...]) -> Distribution | None:
    """What a request waits, as a distribution to draw from; None: less than a microsecond on average.

    It is bounded: nothing beyond the quantile 1 - 1 / 8,192 is drawn.

    Parameters
    ----------
    streams : tuple of Stream
        With a `utilisation` below 1.
    """
    if mean_wait_us(streams) < _LEAST_MEAN_US:
        return None
    unit_us = max(1, max(one.service_us for one in streams) // _CELLS_A_SERVICE)
    values, reached, wait = [], 0.0, 0
    masses = _masses(streams, unit_us)
    for quantile in range(_QUANTILES):
        while reached <= (quantile + 0.5) / _QUANTILES:
            reached += next(masses)
            wait += 1
        values.append((wait - 1) * unit_us)
    return Distribution("empirical", tuple(values))


def _masses(streams: Sequence[Stream], unit_us: int) -> Iterator[float]:
    """Probabilities that a request waits 0, 1, 2, ... units."""
    load, residual = utilisation(streams), _residual(streams, unit_us)
    found: list[float] = []
    while True:
        index = len(found)
        more = sum(mass * found[index - lag] for lag, mass in enumerate(residual[1 : index + 1], start=1))
        found.append(((1 - load if index == 0 else 0.0) + load * more) / (1 - load * residual[0]))
        yield found[-1]


def _residual(streams: Sequence[Stream], unit_us: int) -> list[float]:
    """Probabilities of what is left of the request in hand; each cell's is shared by its two ends."""
    work = sum(one.rate_per_s * one.service_us for one in streams)
    cells = -(-max(one.service_us for one in streams) // unit_us)
    below = [
        sum(one.rate_per_s * min(cell * unit_us, one.service_us) for one in streams) / work for cell in range(cells + 1)
    ]
    masses = [0.0] * (cells + 1)
    for cell in range(cells):
        half = (below[cell + 1] - below[cell]) / 2
        masses[cell] += half
        masses[cell + 1] += half
    return masses
