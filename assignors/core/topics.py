"""Topics, and what a position is: the place of a partition in one vector over all of them.

A position counts the partitions of all topics, topic after topic in name order, within a topic by partition number.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, pairwise, repeat
from operator import itemgetter
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.errors import AssignorError, InvalidSnapshot
from groupsim.assignors.core.input_types import are_texts, is_whole, require
from groupsim.assignors.java.ordering import java_sorted

Positions: TypeAlias = npt.NDArray[np.int32]
Racks: TypeAlias = tuple[tuple[str | None, ...], ...]
_POSITION: Final = np.dtype(np.int32)
_MOST: Final = int(np.iinfo(_POSITION).max)
_NO_POSITIONS: Final = "positions must be one list of whole numbers"


def sealed(array: Positions) -> Positions:
    """The same vector, made read-only."""
    array.flags.writeable = False
    return array


def positions_of(values: Iterable[int]) -> Positions:
    """Positions as a read-only vector.

    Parameters
    ----------
    values : iterable of int

    Returns
    -------
    ndarray of int32

    Raises
    ------
    AssignorError
        Some are no whole numbers, or beyond what a position can be.
    """
    listed = values if isinstance(values, np.ndarray) else _listed(values)
    if isinstance(listed, list) and listed and type(listed[0]) is int:
        with suppress(TypeError, OverflowError):  # what is wrong with it is found out below
            return sealed(np.frombuffer(array("i", listed), _POSITION))
    return _checked(listed)


def _listed(values: Iterable[int]) -> list[int]:
    try:
        return list(values)
    except (TypeError, ValueError):
        raise AssignorError(_NO_POSITIONS) from None


def _checked(listed: list[int] | npt.NDArray[np.integer]) -> Positions:
    try:
        found = np.array(listed) if len(listed) else np.empty(0, _POSITION)
    except (TypeError, ValueError):
        raise AssignorError(_NO_POSITIONS) from None
    if (
        found.ndim != 1
        or found.dtype.kind not in "iu"
        or (len(found) and not -_MOST <= found.min() <= found.max() <= _MOST)
    ):
        raise AssignorError(f"positions must be whole numbers up to {_MOST}: {list(listed[:3])}")
    return sealed(found.astype(_POSITION))


NOTHING: Positions = positions_of(())


@dataclass(frozen=True, slots=True)
class Topics:
    """Topics with their partition counts, and thereby the meaning of every position.

    Parameters
    ----------
    names : tuple of str
        In the order of Java's `String.compareTo`, without repetition.
    counts : tuple of int
        Partitions of each topic; a topic of 0 partitions is one without metadata.
    racks : tuple of tuple of (str or None), optional
        For each position the racks of its replicas, the leader's first; None where racks are not known at all.
    rates : tuple of int, optional
        For each position how much is produced to it, in any one unit, such as bytes a second; None where rates are not
        known. Positions mean the same under other rates: topics that differ in nothing else are equal.

    Raises
    ------
    InvalidSnapshot
        Something of another type, names out of order or repeated, lengths that differ, negative counts or rates, more
        partitions than positions can count.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    racks: Racks | None = None
    rates: tuple[int, ...] | None = field(default=None, compare=False)
    first: Positions = field(init=False, repr=False, compare=False)
    _index: dict[str, int] = field(init=False, repr=False, compare=False)
    _topic_of: Positions | None = field(init=False, repr=False, compare=False, default=None)
    _number_of: Positions | None = field(init=False, repr=False, compare=False, default=None)
    _by_number: Positions | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        self._check_types()
        self._check_names_and_counts()
        first = np.zeros(len(self.names) + 1, dtype=np.int32)
        np.cumsum(self.counts, out=first[1:])
        object.__setattr__(self, "first", sealed(first))
        object.__setattr__(self, "_index", {name: at for at, name in enumerate(self.names)})
        self._check_partitions()

    def _check_types(self) -> None:
        require(isinstance(self.names, tuple) and are_texts(self.names), "topic names", "a tuple of texts", self.names)
        counted = isinstance(self.counts, tuple) and all(map(is_whole, self.counts))
        require(counted, "partition counts", "a tuple of whole numbers", self.counts)
        if self.rates is not None:
            fits = isinstance(self.rates, tuple) and set(map(type, self.rates)) <= {int}
            require(fits, "rates", "a tuple of ints", self.rates)
        if self.racks is not None:
            listed = isinstance(self.racks, tuple) and set(map(type, self.racks)) <= {tuple}
            require(listed, "racks", "a tuple of tuples", self.racks)
            known = set(map(type, chain.from_iterable(self.racks)))
            require(known <= {str, type(None)}, "racks", "texts or None", self.racks)

    def _check_names_and_counts(self) -> None:
        if len(self.names) != len(self.counts):
            raise InvalidSnapshot(f"{len(self.names)} topic names but {len(self.counts)} partition counts")
        if len(set(self.names)) != len(self.names) or java_sorted(self.names) != list(self.names):
            raise InvalidSnapshot(f"topic names must be unique and in order, {_misplaced(self.names)!r} is not")
        if min(self.counts, default=0) < 0:
            name, count = next(each for each in zip(self.names, self.counts, strict=True) if each[1] < 0)
            raise InvalidSnapshot(f"the partition count of {name!r} is negative: {count}")
        if sum(map(int, self.counts)) > _MOST:
            raise InvalidSnapshot(f"{sum(map(int, self.counts))} partitions, a snapshot can have {_MOST}")

    def _check_partitions(self) -> None:
        for what, given in (("racks", self.racks), ("rates", self.rates)):
            if given is not None and len(given) != self.n_partitions:
                raise InvalidSnapshot(f"{what} of {len(given)} partitions given, there are {self.n_partitions}")
        if self.rates and min(self.rates) < 0:
            lowest = self.label(self.rates.index(min(self.rates)))
            raise InvalidSnapshot(f"the rate of {lowest} is negative: {min(self.rates)}")

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Topics:
        """Topics from a mapping of name to partition count, in any order."""
        require(isinstance(counts, Mapping), "counts", "a mapping of names to numbers", counts)
        require(are_texts(counts), "topic names", "texts", list(counts))
        names = java_sorted(counts)
        return cls(tuple(names), tuple(counts[name] for name in names))

    @property
    def n_partitions(self) -> int:
        """Partitions of all topics together: the length of every vector over them."""
        return int(self.first[-1])

    @property
    def topic_of(self) -> Positions:
        """Index of its topic for each position, shape (n_partitions,)."""
        if self._topic_of is None:
            topic = np.repeat(np.arange(len(self.names), dtype=np.int32), self.counts)
            object.__setattr__(self, "_topic_of", sealed(topic))
        assert self._topic_of is not None
        return self._topic_of

    @property
    def number_of(self) -> Positions:
        """Partition number within its topic for each position, shape (n_partitions,)."""
        if self._number_of is None:
            number = np.arange(self.n_partitions, dtype=np.int32) - self.first[self.topic_of]
            object.__setattr__(self, "_number_of", sealed(number.astype(np.int32)))
        assert self._number_of is not None
        return self._number_of

    @property
    def by_number(self) -> Positions:
        """All positions sorted by partition number first and topic second, shape (n_partitions,)."""
        if self._by_number is None:
            object.__setattr__(self, "_by_number", sealed(np.argsort(self.number_of, kind="stable").astype(np.int32)))
        assert self._by_number is not None
        return self._by_number

    def index(self, topic: str) -> int | None:
        """Place of a topic in `names`, None if it is unknown."""
        return self._index.get(topic)

    def position(self, topic: str, number: int) -> int:
        """Position of one partition.

        Raises
        ------
        InvalidSnapshot
            There is no such partition.
        """
        at = self._index.get(topic)
        if at is None or not 0 <= number < self.counts[at]:
            raise InvalidSnapshot(f"no partition {topic}-{number}")
        return int(self.first[at]) + number

    def positions(self, partitions: Sequence[tuple[str, int]]) -> Positions:
        """Positions of many partitions, each told by topic and number.

        Raises
        ------
        InvalidSnapshot
            There is no such partition, or something is none.
        """
        try:
            topic = np.fromiter(map(self._index.get, map(itemgetter(0), partitions), repeat(-1)), _POSITION)
            number = np.frombuffer(array("i", list(map(itemgetter(1), partitions))), _POSITION)
        except (TypeError, IndexError, KeyError, OverflowError):
            raise InvalidSnapshot(f"partitions must be pairs of topic and number: {list(partitions[:3])}") from None
        counts = np.append(np.array(self.counts, dtype=np.int64), 0)
        wrong = np.flatnonzero((number < 0) | (number >= counts[topic]))
        if len(wrong):
            raise InvalidSnapshot("no partition {}-{}".format(*partitions[int(wrong[0])]))
        return sealed(self.first[topic] + number)

    def label(self, position: int) -> str:
        """A position as Kafka prints it: `orders-3`."""
        return f"{self.names[self.topic_of[position]]}-{self.number_of[position]}"

    def rack_sets(self, topic: int) -> list[frozenset[str]]:
        """Known racks that hold a replica, for each partition of the topic of this index."""
        if self.racks is None:
            return [frozenset()] * self.counts[topic]
        replicas = self.racks[self.first[topic] : self.first[topic + 1]]
        return [frozenset(rack for rack in racks if rack is not None) for racks in replicas]

    def translation_from(self, older: Topics) -> Positions:
        """Where each partition of other topics is among these, shape (older.n_partitions,); -1 if it is not there."""
        offset = np.zeros(len(older.names), dtype=np.int32)
        count = np.zeros(len(older.names), dtype=np.int32)
        for at, name in enumerate(older.names):
            mine = self._index.get(name)
            if mine is not None:
                offset[at], count[at] = self.first[mine], self.counts[mine]
        number, topic = older.number_of, older.topic_of
        return sealed(np.where(number < count[topic], offset[topic] + number, -1).astype(np.int32))


def _misplaced(names: tuple[str, ...]) -> str:
    """The first name that does not come after the one before it."""
    return next(name for before, name in pairwise(names) if java_sorted([before, name])[0] == name)
