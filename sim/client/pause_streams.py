"""GC pauses of which each member has a stream of its own: all of them are known when a run begins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from groupsim.sim.client.consumer import Consumer
from groupsim.sim.model import Entry, GcPause, Scenario, Target
from groupsim.sim.randomness import Streams
from groupsim.sim.spans import merged


class PauseStreams:
    """Those of a scenario.

    Parameters
    ----------
    scenario : Scenario
    streams : Streams
    matches : callable
        Whether a target means a consumer.
    """

    def __init__(self, scenario: Scenario, streams: Streams, matches: Callable[[Target, Consumer], bool]) -> None:
        self._streams = streams
        self._matches = matches
        self._horizon_us = scenario.horizon_us
        self._of_groups: dict[str, list[tuple[Entry, GcPause]]] = {}
        """Entries by the group that they are about, "" for those that are about others than one group."""
        for entry in scenario.timeline:
            verb = entry.verb
            if isinstance(verb, GcPause) and entry.per_member:
                name = verb.target.name if verb.target.kind == "group" else ""
                self._of_groups.setdefault(name, []).append((entry, verb))

    def of(self, consumer: Consumer) -> list[tuple[int, int]]:
        """Its pauses up to the horizon, as disjoint (start, end), ascending."""
        pauses: list[tuple[int, int]] = []
        for name in {consumer.group_name, ""}:
            for entry, verb in self._of_groups.get(name, ()):
                if self._matches(verb.target, consumer):
                    pauses += self._train(entry, verb, consumer.process)
        return merged(pauses)

    def _train(self, entry: Entry, verb: GcPause, process: str) -> list[tuple[int, int]]:
        assert entry.every is not None
        gaps = self._streams.draw(entry.every, "every", entry.id, process)
        lengths = self._streams.draw(verb.duration, "length", entry.id, process)
        until = min(entry.until_us, self._horizon_us)
        starts: list[int] = []
        time, first, block = entry.at_us, 0, 64
        while time < until:
            times = time + np.cumsum(np.maximum(gaps.range(first, block), 1))
            starts += times[times < until].tolist()
            time, first = int(times[-1]), first + block
        ends = (np.array(starts, np.int64) + lengths.range(0, len(starts))).tolist()
        return [(start, end) for start, end in zip(starts, ends, strict=True) if end > start]
