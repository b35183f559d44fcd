"""Runs that follow each record, as histories in the form of Jepsen's checker of Kafka, and that checker's rules.

The form and the rules are those of ``jepsen.tests.kafka`` (Jepsen 0.3): operations with ``process``, ``type``, ``f``,
``value`` and ``time``. A ``send`` has the partition, the offset and the value; a ``poll`` maps partitions to pairs of
offset and value, and counts as seen what was processed; an ``assign`` has all partitions that a process reads from then
on.
A value is the number of its record, of all partitions together: no two are equal unless a record is sent twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

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
    ranked = [(one["time"], 1, one) for one in operations]
    for member, rows in result.tables["ownership"].groupby("member"):
        ranked += _assigns(str(member), rows)
    return [one for _, _, one in sorted(ranked, key=lambda each: each[:2])]


def _assigns(member: str, rows: pd.DataFrame) -> Iterable[tuple[int, int, Operation]]:
    """What a member reads after each change: begun before what it polls at that instant, given up after it."""
    spans = [((row.topic, row.partition), row.from_us, row.to_us) for row in rows.itertuples()]
    for time in sorted({instant for _, *span in spans for instant in span}):
        kept = [place for place, begin, end in spans if begin < time < end]
        begun = [place for place, begin, _ in spans if begin == time]
        ended = [place for place, _, end in spans if end == time and place not in begun]
        yield time, -1, _operation(member, time, "assign", [*kept, *ended])
        yield time, 0, _operation(member, time, "assign", [*kept, *ended, *begun])
        yield time, 2, _operation(member, time, "assign", [*kept, *begun])


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


class Order(NamedTuple):
    """What is known of one partition's log: values by offset, without gaps (``version-orders``).

    ``last`` is where each value stands last.
    """

    offsets: list[int]
    first: dict[int, int]
    last: dict[int, int]


def _orders(operations: list[Operation]) -> dict[Place, Order]:
    logs: dict[Place, dict[int, int]] = defaultdict(dict)
    for place, offset, value in _sends(operations):
        logs[place][offset] = value
    for _, place, pairs in _polls(operations):
        logs[place].update(pairs)
    orders = {}
    for place, log in logs.items():
        offsets = sorted(log)
        values = [log[offset] for offset in offsets]
        first = {value: at for at, value in reversed(list(enumerate(values)))}
        orders[place] = Order(offsets, first, {value: at for at, value in enumerate(values)})
    return orders


def _read(operations: list[Operation]) -> dict[Place, set[int]]:
    values: dict[Place, set[int]] = defaultdict(set)
    for _, place, pairs in _polls(operations):
        values[place].update(value for _, value in pairs)
    return values


def unseen(operations: list[Operation]) -> set[tuple[Place, int]]:
    """What was sent, and nobody has polled the value of."""
    read = _read(operations)
    return {(place, offset) for place, offset, value in _sends(operations) if value not in read[place]}


def lost_writes(operations: list[Operation]) -> set[tuple[Place, int]]:
    """Values that nobody has polled, although somebody has polled one that stands after them (``lost-write-cases``)."""
    lost, orders = set(), _orders(operations)
    for place, read in _read(operations).items():
        order = orders[place]
        bound = max(order.first[value] for value in read)
        lost |= {(place, order.offsets[at]) for value, at in order.last.items() if at <= bound and value not in read}
    return lost


def duplicates(operations: list[Operation]) -> set[int]:
    """Values that are in the log of a partition at more than one offset (``duplicate-cases``)."""
    orders = _orders(operations)
    return {value for order in orders.values() for value, at in order.last.items() if order.first[value] != at}


def nonmonotonic_polls(operations: list[Operation]) -> list[tuple[str, Place, int, int]]:
    """Offsets that did not rise from one record to the next of a process (``poll-skip+nonmonotonic-cases``)."""
    return [step for step in _steps(operations) if step[3] <= step[2]]


def poll_skips(operations: list[Operation]) -> list[tuple[str, Place, int, int]]:
    """Records of a process between which others stand that it has passed over."""
    orders = _orders(operations)
    found = []
    for process, place, before, offset in _steps(operations):
        known = orders[place].offsets
        if bisect_left(known, offset) - bisect_left(known, before) > 1:
            found.append((process, place, before, offset))
    return found


def _steps(operations: list[Operation]) -> Iterable[tuple[str, Place, int, int]]:
    """Process, partition, and offsets of two records that follow one another, in one poll or from one to the next.

    An ``assign`` tells all that a process reads from now on: of the rest it is forgotten how far it has read.
    """
    last: dict[str, dict[Place, int]] = defaultdict(dict)
    for one in operations:
        if one["f"] == "assign":
            mine = last[one["process"]]
            last[one["process"]] = {place: mine[place] for place in one["value"] if place in mine}
        for process, place, pairs in _polls([one]):
            for offset, _ in pairs:
                before = last[process].get(place)
                if before is not None:
                    yield process, place, before, offset
                last[process][place] = offset
