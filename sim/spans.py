"""Spans of time: (begin, end), in microseconds."""

from __future__ import annotations

from collections.abc import Iterable


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same as disjoint ones that do not touch, by their beginnings."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found
