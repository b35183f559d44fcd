"""What differs from the rest of its group: the topic, the partition and the member that are worst, in one line.

The worst of its kind stands out if no more than a tenth of all, or it alone, reach half of what it has. Topics and
partitions are judged by unread time, and by the peak of their lag where nothing stands out so; members by how busy
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
S: Final = 1_000_000
_LEAST: Final = {"unread": 1.0, "lag": 100.0, "busy": 0.5}
"""Less than this is worth no word: seconds a partition, records a partition, share of a life."""
_TOLD: Final = 12
"""More than so many in a line nobody reads."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """Something that stands out.

    Attributes
    ----------
    group, kind, name : str
        ``kind``: topic, partition or member.
    measure : str
        unread (seconds a partition), lag (records a partition at their peak) or busy (share of its life).
    value, others : float
        Its own, and the most of those that do not stand out.
    more : int
        So many stand out beside it.
    """

    group: str
    kind: str
    name: str
    measure: str
    value: float
    others: float
    more: int


def outliers(partitions: Mapping[str, Any], members: Mapping[str, Any]) -> list[Outlier]:
    """What stands out in each group of one run.

    Parameters
    ----------
    partitions, members : mapping of str to array
        Columns of the tables of these names.
    """
    return [*_of_partitions(partitions), *_of_members(members)]


def outliers_line(found: Sequence[Outlier]) -> str:
    """One line for people; empty if nothing stands out."""
    several = len({one.group for one in found}) > 1
    more = f"; and {len(found) - _TOLD:,} more" if len(found) > _TOLD else ""
    told = "; ".join(_told(one, several=several) for one in found[:_TOLD])
    return f"stands out: {told}{more}" if found else ""


def _told(one: Outlier, *, several: bool) -> str:
    where = f" of {one.group}" if several and one.kind != "member" else ""
    more = f" and {one.more} more" if one.more else ""
    value, others = (_amount(one, amount) for amount in (one.value, one.others))
    return f"{one.kind} {one.name}{where}{more}: {value} (others at most {others})"


def _amount(one: Outlier, amount: float) -> str:
    if one.measure == "busy":
        return f"busy {100 * amount:.0f} %" if amount == one.value else f"{100 * amount:.0f} %"
    unit, form = ("s", ".1f") if one.measure == "unread" else ("records", ",.0f")
    each = " a partition" if one.kind == "topic" else ""
    return f"{one.measure} {amount:{form}} {unit}{each}" if amount == one.value else f"{amount:{form}} {unit}"


def _of_partitions(columns: Mapping[str, Any]) -> Iterator[Outlier]:
    group, topic, number = (np.asarray(columns[name]) for name in ("group", "topic", "partition"))
    amounts = {
        "unread": np.asarray(columns["unavailable_us"], np.float64) / S,
        "lag": np.asarray(columns["lag_records_max"], np.float64),
    }
    for name in dict.fromkeys(group.tolist()):
        mine = np.flatnonzero(group == name)
        topics, of_topic = np.unique(topic[mine], return_inverse=True)
        sizes = np.bincount(of_topic)
        means = {measure: np.bincount(of_topic, values[mine]) / sizes for measure, values in amounts.items()}
        yield from _first(name, "topic", means, topics.tolist().__getitem__)
        singles = {measure: values[mine] for measure, values in amounts.items()}
        yield from _first(name, "partition", singles, partial(_partition, topic[mine], number[mine]))


def _partition(topics: NDArray[Any], numbers: NDArray[Any], row: int) -> str:
    return f"{topics[row]}-{numbers[row]}"


def _of_members(columns: Mapping[str, Any]) -> Iterator[Outlier]:
    group, member = np.asarray(columns["group"]), np.asarray(columns["member"])
    length = np.asarray(columns["ended_us"], np.float64) - np.asarray(columns["started_us"], np.float64)
    busy = np.asarray(columns["busy"], np.float64) * length
    for name in dict.fromkeys(group.tolist()):
        mine = np.flatnonzero(group == name)
        members, of_member = np.unique(member[mine], return_inverse=True)
        lives = np.maximum(np.bincount(of_member, length[mine]), 1)
        shares = np.bincount(of_member, busy[mine]) / lives
        yield from _first(name, "member", {"busy": shares}, members.tolist().__getitem__)


def _first(group: str, kind: str, amounts: Mapping[str, Floats], named: Callable[[int], Any]) -> Iterator[Outlier]:
    """By the first measure by which something stands out, if there is one."""
    for measure, values in amounts.items():
        worst = int(values.argmax()) if len(values) > 1 else -1
        if worst < 0 or values[worst] < _LEAST[measure]:
            continue
        alike = values >= values[worst] / 2
        count = int(alike.sum())
        if count <= max(1, len(values) // 10):
            others = float(values[~alike].max())
            yield Outlier(group, kind, str(named(worst)), measure, float(values[worst]), others, count - 1)
            return
