"""Runs that follow each record, as histories in the form of Jepsen's checker of Kafka, and that checker's rules.

The form is that of ``jepsen.tests.kafka`` (Jepsen 0.3): operations with ``process``, ``type``, ``f``, ``value``
and ``time``. A ``send`` has the partition, the offset and the value; a ``poll`` maps partitions to pairs of
offset and value, and counts as seen what was processed; an ``assign`` says that a process begins to read partitions.
A value is the number of its record, of all partitions together: no two are equal unless a record is sent twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from groupsim.sim import Result

Operation = Mapping[str, Any]
Place = tuple[str, int]
"""Topic and partition."""


def history(result: Result) -> list[Operation]:
    """What producers and consumers saw, by time."""
    records = result.tables["records"]
    values = records.groupby(["topic", "partition", "offset"], sort=True).ngroup()
    records = records.assign(value=values)
    operations = [_sent(row) for row in records[records["delivery"] <= 1].itertuples()]
    seen = records[records["delivery"] > 0].sort_values(["processed_us", "fetched_us"], kind="stable")
    for (member, time), batch in seen.groupby(["member", "fetched_us"], sort=False):
        operations.append(_polled(str(member), int(time), batch))
    operations += [
        _operation(row.member, row.from_us, "assign", [(row.topic, row.partition)])
        for row in result.tables["ownership"].itertuples()
    ]
    # Who begins to read does so before its first poll returns.
    return sorted(operations, key=lambda one: (one["time"], one["f"] == "poll"))


def _operation(process: str, time: int, f: str, value: Any) -> Operation:
    return {"process": process, "type": "ok", "f": f, "value": value, "time": time}


def _sent(row: Any) -> Operation:
    return _operation(
        "producer", row.produced_us, "send", [("send", (row.topic, row.partition), (row.offset, row.value))]
    )


def _polled(member: str, time: int, batch: pd.DataFrame) -> Operation:
    found: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for row in batch.itertuples():
        found[row.topic, row.partition].append((row.offset, row.value))
    return _operation(member, time, "poll", [("poll", dict(found))])


def _sends(operations: Iterable[Operation]) -> Iterable[tuple[Place, int, int]]:
    for one in operations:
        if one["f"] == "send":
            ((_, place, (offset, value)),) = one["value"]
            yield place, offset, value


def _polls(operations: Iterable[Operation]) -> Iterable[tuple[str, Place, list[tuple[int, int]]]]:
    for one in operations:
        if one["f"] == "poll":
            ((_, found),) = one["value"]
            for place, pairs in found.items():
                yield one["process"], place, pairs


def unseen(operations: list[Operation]) -> set[tuple[Place, int]]:
    """What was sent and nobody has polled."""
    polled = {(place, offset) for _, place, pairs in _polls(operations) for offset, _ in pairs}
    return {(place, offset) for place, offset, _ in _sends(operations)} - polled


def lost_writes(operations: list[Operation]) -> set[tuple[Place, int]]:
    """What nobody has polled although somebody has polled something later in its partition."""
    highest: dict[Place, int] = {}
    for _, place, pairs in _polls(operations):
        highest[place] = max(highest.get(place, -1), *(offset for offset, _ in pairs))
    return {(place, offset) for place, offset in unseen(operations) if offset < highest.get(place, -1)}


def duplicates(operations: list[Operation]) -> set[int]:
    """Values that are in the log at more than one offset."""
    places: dict[int, set[tuple[Place, int]]] = defaultdict(set)
    for place, offset, value in _sends(operations):
        places[value].add((place, offset))
    for _, place, pairs in _polls(operations):
        for offset, value in pairs:
            places[value].add((place, offset))
    return {value for value, found in places.items() if len(found) > 1}


def nonmonotonic_polls(operations: list[Operation]) -> list[tuple[str, Place, int, int]]:
    """Offsets of a partition that did not rise from one record to the next of a process that went on reading it."""
    last: dict[tuple[str, Place], int] = {}
    found = []
    for one in operations:
        if one["f"] == "assign":
            for place in one["value"]:
                last.pop((one["process"], place), None)
        for process, place, pairs in _polls([one]):
            for offset, _ in pairs:
                before = last.get((process, place), -1)
                if offset <= before:
                    found.append((process, place, before, offset))
                last[process, place] = offset
    return found
