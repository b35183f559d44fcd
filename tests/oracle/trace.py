"""The file of one recording: a header and facts, one JSON object a line, gzip.

Both worlds write it, the real group's recorder and the simulated one; it imports nothing of either. Times are whole
microseconds since the scenario's instant 0. The same facts give the same bytes: lines are sorted, keys stay in their
writer's order, and the gzip header carries no time.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Fact = dict[str, Any]
"""``what``, ``at_us`` (``from_us`` of what was read), and what else belongs to that kind of fact."""


@dataclass(frozen=True)
class Trace:
    """One recording.

    Parameters
    ----------
    header : dict
        Its ``what`` is ``recording``.
    facts : tuple of dict
        Sorted by instant, kind and member.
    """

    header: Fact
    facts: tuple[Fact, ...]

    def of(self, *kinds: str) -> list[Fact]:
        """The facts of some kinds, in order."""
        return [fact for fact in self.facts if fact["what"] in kinds]


def instant(fact: Mapping[str, Any]) -> int:
    """When a fact begins, microseconds."""
    return int(fact["from_us"] if fact["what"] == "read" else fact["at_us"])


def make(header: Fact, facts: Iterable[Fact]) -> Trace:
    """A trace whose facts are in order; facts of one instant, kind and member stay as they come."""
    return Trace(header, tuple(sorted(facts, key=_order)))


def _order(fact: Fact) -> tuple[int, str, str]:
    return instant(fact), fact["what"], fact.get("member") or ""


def write(path: Path, trace: Trace) -> None:
    """Write a recording."""
    lines = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in (trace.header, *trace.facts)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


def read(path: Path) -> Trace:
    """Read a recording."""
    header, *facts = map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())
    return Trace(header, tuple(facts))


def compact(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """A set of partitions as it travels: ``{"orders": [0, 1, 5]}``."""
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in sorted(partitions):
        topics[topic].append(partition)
    return dict(topics)
