"""How long records wait in an open batch of their shard: ``group.coordinator.append.linger.ms``.

Source: ``CoordinatorRuntime.maybeAllocateNewBatch``, ``maybeFlushCurrentBatch`` (Kafka 4.4). ``GroupCoordinatorConfig``
has -1, adaptive, since 4.2, and 5 ms in 4.0 and 4.1.

* A linger of L: whoever opens a batch waits for L, whoever comes into one for what is left of that.
* Adaptive: opening a batch puts its flush behind what waits in the shard by then, so on an idle shard there is no wait.
  It is what a request leaves behind it in the M/G/1 queue at this load (`Kleinrock, Queueing Systems I`, 5.6), each of
  average length, as if everybody opened a batch.

Writes come at random, as requests do (`sim.cluster.shard.waiting_time`): at a rate r, a share r L / (1 + r L) of them
find a batch open.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final

from groupsim.sim.cluster.shard.waiting_time import Stream, utilisation
from groupsim.sim.distributions import Distribution
from groupsim.sim.units import S

_QUANTILES: Final = 512
_TERMS: Final = 40
_LEAST_MEAN_US: Final = 10.0
"""What waits less than that on average for an adaptive flush does not wait: an append takes a hundred times as long."""


@lru_cache(maxsize=512)
def append_linger(linger_us: int, writes_per_s: float, requests: tuple[Stream, ...]) -> Distribution | None:
    """What records wait until their batch is flushed; None: nothing that matters.

    Parameters
    ----------
    linger_us : int, microseconds
        Below 0: adaptive.
    writes_per_s : float
        Requests of the shard that write records.
    requests : tuple of Stream
        All that the shard is offered, with a `utilisation` below 1; only looked at if adaptive.
    """
    if linger_us > 0:
        return _residual(linger_us, writes_per_s)
    return _behind(requests) if linger_us < 0 and requests else None


def _residual(linger_us: int, writes_per_s: float) -> Distribution:
    met = writes_per_s * linger_us / S
    share = met / (1 + met)
    if not share:
        return Distribution.constant(linger_us)
    at = ((cell + 0.5) / _QUANTILES for cell in range(_QUANTILES))
    return Distribution("empirical", tuple(min(int(linger_us * quantile / share), linger_us) for quantile in at))


def _behind(requests: Sequence[Stream]) -> Distribution | None:
    rate = sum(one.rate_per_s for one in requests)
    average_us = utilisation(requests) * S / rate
    reached = list(accumulate(_left_behind(requests)))
    found = [bisect_right(reached, (cell + 0.5) / _QUANTILES) * average_us for cell in range(_QUANTILES)]
    if sum(found) / _QUANTILES < _LEAST_MEAN_US:
        return None
    return Distribution("empirical", tuple(map(round, found)))


def _left_behind(requests: Sequence[Stream]) -> Iterator[float]:
    """Probabilities that a request leaves 0, 1, 2, ... behind it: those that come during one's service decide."""
    arrivals = _arrivals(requests)
    found = [1 - utilisation(requests)]
    for number in range(_TERMS):
        yield found[-1]
        more = found[0] * arrivals[number] + sum(
            found[earlier] * arrivals[number + 1 - earlier] for earlier in range(1, number + 1)
        )
        found.append(max((found[-1] - more) / arrivals[0], 0.0))


def _arrivals(requests: Sequence[Stream]) -> list[float]:
    """Probabilities that so many requests come during the service of one."""
    rate = sum(one.rate_per_s for one in requests)
    found = [0.0] * (_TERMS + 1)
    for one in requests:
        mean = rate * one.service_us / S
        mass = _exponential(-mean) * one.rate_per_s / rate
        for number in range(_TERMS + 1):
            found[number] += mass
            mass *= mean / (number + 1)
    return found


def _exponential(exponent: float) -> float:
    """The same on every machine, other than `math.exp`; for what is not far from 0."""
    total = term = 1.0
    for number in range(1, _TERMS):
        term *= exponent / number
        total += term
    return total
