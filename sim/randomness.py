"""Every random number has a name.

A draw is a function of (seed, purpose, entity, incarnation) and its number: a counter hash (splitmix64) followed by a
quantile table with integer interpolation. Nothing is consumed, so what never happened shifts nothing else: the latency
of member 17's 40th heartbeat is the same whether the 39 before it were simulated or computed. Plain Python and numpy
give the same bits, because no double ever decides (`math.exp` and `numpy.exp` differ in about 4 % of raw doubles; it is
used only to build tables, in one place).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.model import Distribution

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_WIDE_GOLDEN, _WIDE_MIX_1, _WIDE_MIX_2 = map(np.uint64, (_GOLDEN, _MIX_1, _MIX_2))
_WIDE_1, _WIDE_27, _WIDE_30, _WIDE_31, _WIDE_32 = map(np.uint64, (1, 27, 30, 31, 32))
_CELL_BITS, _FRACTION_BITS = 12, 16
_WIDE_PLACE = np.uint64(64 - _CELL_BITS - _FRACTION_BITS)
_CELLS = 1 << _CELL_BITS
_TABLES = ("exponential", "lognormal")
"""Kinds of distributions that are drawn from a table of their quantiles."""
_PROBABILITIES = [cell / _CELLS for cell in range(_CELLS)]
_TAIL = 1.0 / (1 << 15)
"""The last cell of a table ends at this distance from 1: distributions are truncated there, so a maximum exists."""


@lru_cache(1 << 12, typed=True)
def name_hash(*names: object) -> int:
    """A 64-bit hash of names, the same in every process (unlike ``hash``)."""
    return int.from_bytes(blake2b("\x1f".join(map(str, names)).encode(), digest_size=8).digest(), "big")


def hash64(key: int, number: int) -> int:
    """The ``number``-th 64-bit value of stream ``key`` (splitmix64)."""
    x = (key + (number + 1) * _GOLDEN) & _MASK
    x = ((x ^ (x >> 30)) * _MIX_1) & _MASK
    x = ((x ^ (x >> 27)) * _MIX_2) & _MASK
    return x ^ (x >> 31)


def backoff_factor(key: int) -> Callable[[int], int]:
    """Retry number -> factor on its backoff in permille, 800 to 1200 (``ExponentialBackoff``: jitter of 20 %)."""
    return lambda number: 800 + hash64(key, number) % 401


def hash64_array(key: np.uint64 | NDArray[np.uint64], number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`hash64` of one key and many numbers, or of as many of both, bit-equal. Shape (n,)."""
    x = key + (number + _WIDE_1) * _WIDE_GOLDEN
    x = (x ^ (x >> _WIDE_30)) * _WIDE_MIX_1
    x = (x ^ (x >> _WIDE_27)) * _WIDE_MIX_2
    mixed: NDArray[np.uint64] = x ^ (x >> _WIDE_31)
    return mixed


@lru_cache(maxsize=512)
def _table(distribution: Distribution) -> tuple[int, ...]:
    """Quantiles at i / 4096, in microseconds; the last one at 1 - 2**-15. Length 4097."""
    values = distribution.values
    match distribution.kind:
        case "exponential":
            return tuple(round(-values[0] * math.log1p(-p)) for p in [*_PROBABILITIES, 1.0 - _TAIL])
        case "lognormal":
            median, p99 = values
            sigma = math.log(p99 / median) / NormalDist().inv_cdf(0.99) if p99 > median else 0.0
            return tuple(round(median * math.exp(sigma * normal)) for normal in _normal_quantiles())
        case _:
            raise AssertionError(f"no table for {distribution.kind}")


@cache
def _normal_quantiles() -> list[float]:
    """Those of the standard normal distribution in `_table`, with the first one at 2**-15."""
    return list(map(NormalDist().inv_cdf, [_TAIL, *_PROBABILITIES[1:], 1.0 - _TAIL]))


@lru_cache(maxsize=512)
def _values_array(distribution: Distribution) -> NDArray[np.int64]:
    return np.array(_values(distribution), dtype=np.int64)


class Draw:
    """Durations drawn from one distribution for one named stream.

    Parameters
    ----------
    key : int
        `Streams.key` of what is drawn.
    distribution : Distribution
    """

    __slots__ = ("_constant", "_is_table", "_values", "distribution", "key")

    def __init__(self, key: int, distribution: Distribution) -> None:
        self.key = key
        self.distribution = distribution
        kind = distribution.kind
        self._constant = distribution.values[0] if kind == "constant" else -1
        self._is_table = kind in _TABLES
        self._values = _values(distribution)

    def __call__(self, number: int) -> int:
        """The ``number``-th duration, microseconds."""
        if self._constant >= 0:
            return self._constant
        return self.at(hash64(self.key, number))

    def at(self, bits: int) -> int:
        """The duration that 64 bits stand for, microseconds."""
        if self._constant >= 0:
            return self._constant
        values = self._values
        if self._is_table:
            cell = bits >> (64 - _CELL_BITS)
            fraction = (bits >> (64 - _CELL_BITS - _FRACTION_BITS)) & 0xFFFF
            low = values[cell]
            return low + ((values[cell + 1] - low) * fraction >> _FRACTION_BITS)
        if self.distribution.kind == "uniform":
            return values[0] + ((bits >> 32) * (values[1] - values[0] + 1) >> 32)
        return values[(bits >> 32) * len(values) >> 32]

    def range(self, first: int, count: int) -> NDArray[np.int64]:
        """Durations ``first`` .. ``first + count - 1``, bit-equal to single draws. Shape (count,), microseconds."""
        if self._constant >= 0:
            return np.full(count, self._constant, dtype=np.int64)
        return _of_array(
            self.distribution, hash64_array(np.uint64(self.key), np.arange(first, first + count, dtype=np.uint64))
        )


def draws(distribution: Distribution, keys: NDArray[np.uint64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Durations of many streams, microseconds: ``numbers[..., i]`` are of stream ``keys[i]``. Shape of ``numbers``."""
    if distribution.kind == "constant":
        return np.full(numbers.shape, distribution.values[0], dtype=np.int64)
    return _of_array(distribution, hash64_array(keys, numbers.astype(np.uint64)))


def _of_array(distribution: Distribution, bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """`Draw.at`, bit-equal."""
    values, high = distribution.values, bits >> _WIDE_32
    if distribution.kind == "uniform":
        return values[0] + (high * np.uint64(values[1] - values[0] + 1) >> _WIDE_32).astype(np.int64)
    if distribution.kind == "empirical":
        return _values_array(distribution)[(high * np.uint64(len(values)) >> _WIDE_32).astype(np.int64)]
    table = _values_array(distribution)
    place = (bits >> _WIDE_PLACE).astype(np.int64)
    cell, fraction = place >> _FRACTION_BITS, place & 0xFFFF
    low = table[cell]
    between: NDArray[np.int64] = low + ((table[cell + 1] - low) * fraction >> _FRACTION_BITS)
    return between


def quantiles(distribution: Distribution, count: int) -> list[int]:
    """Quantiles in the middle of so many cells of equal probability, ascending, microseconds."""
    draw = Draw(0, distribution)
    return sorted(draw.at((2 * cell + 1 << 63) // count) for cell in range(count))


def longest(distribution: Distribution) -> int:
    """The largest value that can be drawn, microseconds."""
    return _extremes(distribution)[1]


def shortest(distribution: Distribution) -> int:
    """The smallest value that can be drawn, microseconds."""
    return _extremes(distribution)[0]


@lru_cache(maxsize=512)
def _extremes(distribution: Distribution) -> tuple[int, int]:
    values = _values(distribution)
    return min(values), max(values)


def _values(distribution: Distribution) -> tuple[int, ...]:
    """Values between which all are that can be drawn, microseconds."""
    return _table(distribution) if distribution.kind in _TABLES else distribution.values


@lru_cache(maxsize=512)
def mean_of(distribution: Distribution) -> int:
    """Mean in microseconds, of the distribution as it is drawn (truncated), rounded."""
    values = distribution.values
    match distribution.kind:
        case "constant":
            return values[0]
        case "uniform" | "empirical":
            return round(sum(values) / len(values))
        case _:
            table = _table(distribution)
            return round(sum(a + b for a, b in pairwise(table)) / (2 * _CELLS))


class Streams:
    """All randomness of a run.

    Parameters
    ----------
    seed : int
    replication : int
        Run r of a sweep uses a seed made of (seed, r), equal in all variants: common random numbers.
    """

    def __init__(self, seed: int, replication: int = 0) -> None:
        self._root = name_hash("groupsim", seed, replication)

    def key(self, purpose: str, *names: object) -> int:
        """Key of a stream: its purpose and whom it concerns (entry ids, member names, incarnations)."""
        return self._root ^ name_hash(purpose, *names)

    def draw(self, distribution: Distribution, purpose: str, *names: object) -> Draw:
        """A stream of durations."""
        return Draw(self.key(purpose, *names), distribution)
