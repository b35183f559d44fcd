"""Of which offsets of one input partition there is output, how often, and why there is more of it or less than once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

Stretch = tuple[int, int]
"""Offsets [first, last)."""


class Stretches:
    """A set of offsets: disjoint stretches, ascending, that do not touch one another."""

    __slots__ = ("_first", "_last")

    def __init__(self) -> None:
        self._first: list[int] = []
        self._last: list[int] = []

    def add(self, first: int, last: int) -> list[Stretch]:
        """Put in [first, last); what of it was there already."""
        if self._last and first == self._last[-1]:  # as always, but after an abort
            self._last[-1] = last
            return []
        there = self.within(first, last)
        low = bisect_left(self._last, first)
        high = bisect_right(self._first, last)
        if high > low:
            first, last = min(first, self._first[low]), max(last, self._last[high - 1])
        self._first[low:high], self._last[low:high] = [first], [last]
        return there

    def remove(self, first: int, last: int) -> list[Stretch]:
        """Take out [first, last); what of it was there."""
        there = self.within(first, last)
        if there:
            low, high = bisect_right(self._last, first), bisect_left(self._first, last)
            kept = [(self._first[low], first), (last, self._last[high - 1])]
            kept = [(begin, end) for begin, end in kept if begin < end]
            self._first[low:high] = [begin for begin, _ in kept]
            self._last[low:high] = [end for _, end in kept]
        return there

    def within(self, first: int, last: int) -> list[Stretch]:
        """What is there of [first, last), ascending."""
        low, high = bisect_right(self._last, first), bisect_left(self._first, last)
        return [(max(first, self._first[at]), min(last, self._last[at])) for at in range(low, high)]

    @property
    def all(self) -> list[Stretch]:
        """All stretches, ascending."""
        return list(zip(self._first, self._last, strict=True))

    @property
    def records(self) -> int:
        """How many offsets it has."""
        return sum(self._last) - sum(self._first)

    @property
    def span(self) -> int:
        """From the first of them to the last."""
        return self._last[-1] - self._first[0] if self._first else 0


class Coverage:
    """How often there is output of each offset, for readers of one isolation level."""

    __slots__ = ("_layers", "_repeated", "_taken", "_truncated")

    def __init__(self) -> None:
        self._layers = [Stretches()]
        """Offsets of which there is output once at least, twice, and so on."""
        self._taken = Stretches()
        """Those of which there was output that is in no log any more."""
        self._repeated = Stretches()
        """Those of which an unclean election makes, or shows, output again."""
        self._truncated = Stretches()
        """Those among which some were in no log any more before there was output of them."""

    def add(self, first: int, last: int) -> None:
        """There is output of [first, last)."""
        parts = self._layers[0].add(first, last)
        depth = 1
        while parts:
            if depth == len(self._layers):
                self._layers.append(Stretches())
            parts = [part for one in parts for part in self._layers[depth].add(*one)]
            depth += 1

    def take_back(self, first: int, last: int) -> None:
        """Output of [first, last), of which there is some, is there once less: readers had it, and have it no more."""
        self.lose(first, last)
        rest = Stretches()
        rest.add(first, last)
        for layer in reversed(self._layers):
            for part in [there for one in rest.all for there in layer.within(*one)]:
                layer.remove(*part)
                rest.remove(*part)

    def lose(self, first: int, last: int) -> None:
        """Output of [first, last) is gone from its log, whether or not readers have had it."""
        self._taken.add(first, last)

    def repeat(self, first: int, last: int) -> None:
        """Because of an unclean election there may be output of [first, last) again."""
        self._repeated.add(first, last)

    def truncate(self, first: int, last: int) -> None:
        """Some records of [first, last) are in no log any more."""
        if first < last:
            self._truncated.add(first, last)

    @property
    def twice(self) -> int:
        """Records of which there is output again."""
        return sum(layer.records for layer in self._layers[1:])

    @property
    def missing(self) -> int:
        """Records between the first and the last of which there is, or was, output, of which there is none."""
        return self._known.span - self._layers[0].records

    @property
    def _known(self) -> Stretches:
        """Offsets of which there is, or was, output."""
        known = Stretches()
        for part in (*self._layers[0].all, *self._taken.all):
            known.add(*part)
        return known

    @property
    def taken_back(self) -> int:
        """Records of which there was output and is none."""
        return self._taken.records - _common(self._taken, self._layers[0])

    @property
    def never_made(self) -> int:
        """Records of those that are missing of which there has been no output, where some were truncated."""
        known, whole = self._known, Stretches()
        if known.all:
            whole.add(known.all[0][0], known.all[-1][1])
        return _common(self._truncated, whole) - _common(self._truncated, known)

    @property
    def repeated(self) -> int:
        """Records of which there is output again because of an unclean election."""
        return sum(_common(self._repeated, layer) for layer in self._layers[1:])


def _common(some: Stretches, others: Stretches) -> int:
    """How many offsets are in both."""
    return sum(last - first for one in some.all for first, last in others.within(*one))
