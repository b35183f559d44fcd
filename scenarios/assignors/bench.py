"""How long assignors take over the grid of Kafka's own benchmarks, beside Kafka's classes and kafka-python's.

Every time is the median of several runs, each over a group built anew for it. Kafka's times were recorded once, on
another machine with two cores (OpenJDK 17, one thread, warmed up; CPU time, the median).

Source of the grid: ``ClientSideAssignorBenchmark``, ``ServerSideAssignorBenchmark``, Kafka 4.4.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final, TypeAlias

from groupsim.assignors import Assignment, GroupSnapshot, MemberSubscription, Topics, create
from groupsim.assignors.evaluation.events import Event
from groupsim.assignors.evaluation.trials import asked_after, settle
from groupsim.scenarios.assignors import kafka_python
from groupsim.scenarios.assignors.fresh_groups import built_anew
from groupsim.scenarios.assignors.trials import Contender, answering

MEMBERS: Final = (100, 1_000, 10_000)
EACH: Final = (5, 10, 50)
TOPICS: Final = (10, 100, 1_000)
UNEQUAL: Final = ("sticky", "cooperative-sticky", "server:uniform")
"""Assignors whose algorithm for unequal subscriptions is another one."""
_BUCKETS: Final = 5
_ENOUGH_S: Final = 0.1
_FEWEST: Final = 3
_SECONDS_S: Final = 1.0
"""What takes longer is not run `_FEWEST` times."""
_MINUTE_S: Final = 60.0
_TOO_LONG_S: Final = 10.0
"""After a run that took longer, larger groups are left out: they would take minutes."""
PlainMembers: TypeAlias = Mapping[str, tuple[Sequence[str], Sequence[tuple[str, int]]]]
_TIMES: Final = Path(__file__).with_name("kafka-4.4.0-assignor-times.json")


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """Members, partitions for each of them, and topics."""

    members: int
    each: int
    topics: int

    @property
    def partitions(self) -> int:
        """Partitions of all topics together: topics are of one size, as in Kafka's benchmarks."""
        return self.members * self.each // self.topics * self.topics

    def __str__(self) -> str:
        return f"{self.members} x {self.each} x {self.topics}"


def shapes(members: tuple[int, ...] = MEMBERS) -> list[Shape]:
    """The grid, small groups first; without those whose topics would have no partitions."""
    grid = (Shape(*one) for one in product(members, EACH, TOPICS))
    return sorted((one for one in grid if one.partitions), key=lambda one: (one.members, one.partitions, one.topics))


def group_of_shape(shape: Shape, *, equal: bool) -> GroupSnapshot:
    """The group of a point of the grid; with unequal subscriptions, five blocks of members with topics of their own."""
    names = [f"topic{number}" for number in range(shape.topics)]
    topics = Topics.of(dict.fromkeys(names, shape.partitions // shape.topics))
    block = -(-shape.topics // _BUCKETS)
    kinds = [topics.names] if equal else [tuple(names[at : at + block]) for at in range(0, shape.topics, block)]
    size = -(-shape.members // len(kinds))
    members = (MemberSubscription(f"member{at}", kinds[at // size]) for at in range(shape.members))
    return GroupSnapshot(topics, tuple(members))


def bench(contender: Contender, *, equal: bool, grid: list[Shape]) -> Iterator[dict[str, Any]]:
    """A record per point of the grid: milliseconds of ours, Kafka's and kafka-python's, by mode where there are any."""
    theirs = Theirs(contender.label)
    for shape in grid:
        cases = _cases(contender, group_of_shape(shape, equal=equal))
        ours = {mode: _ours(contender, asked) for mode, asked in cases.items()}
        yield {
            "assignor": contender.label, "subscriptions": "equal" if equal else "unequal",
            "members": shape.members, "each": shape.each, "topics": shape.topics, "partitions": shape.partitions,
            "ms": ours, "java_ms": dict(_java(contender.label, shape, equal=equal)),
            "kafka_python_ms": theirs.times(cases),
        }  # fmt: skip
        if max(ours.values()) > _TOO_LONG_S * 1e3:
            return


def _ours(contender: Contender, asked: GroupSnapshot) -> float:
    return median(_seconds(lambda: answering(contender.make, built_anew(asked)))) * 1e3


def from_lists(grid: list[Shape], name: str = "sticky") -> Iterator[dict[str, Any]]:
    """A record per point of the grid: milliseconds from plain lists to a snapshot, of assigning, and back to lists.

    Parameters
    ----------
    grid : list of Shape
    name : str
        Of the assignor. All members own partitions already.
    """
    for shape in grid:
        settled = settle(lambda: create(name), group_of_shape(shape, equal=True))
        lists, names = settled.assignment.plain(settled.group.member_ids), settled.group.topics.names
        counts = dict(zip(names, settled.group.topics.counts, strict=True))
        steps: dict[str, list[float]] = {"in": [], "assign": [], "out": []}
        while not _is_enough([sum(each) for each in zip(*steps.values(), strict=True)]):
            members = {member: (names, list(owned)) for member, owned in lists.items()}
            for step, took in zip(steps, _steps(counts, members, name), strict=True):
                steps[step].append(took)
        yield {
            "assignor": f"{name} from plain lists", "subscriptions": "equal", "members": shape.members,
            "each": shape.each, "topics": shape.topics, "partitions": shape.partitions,
            "ms": {step: median(times) * 1e3 for step, times in steps.items()}, "java_ms": {}, "kafka_python_ms": {},
        }  # fmt: skip


def _steps(counts: Mapping[str, int], members: PlainMembers, name: str) -> tuple[float, float, float]:
    """CPU seconds of each step."""
    begin = process_time()
    group = GroupSnapshot.of_lists(counts, members, generation=1)
    is_in = process_time()
    assignment: Assignment = create(name).assign(group)
    is_assigned = process_time()
    assignment.plain(group.member_ids)
    return is_in - begin, is_assigned - is_in, process_time() - is_assigned


def _cases(contender: Contender, group: GroupSnapshot) -> dict[str, GroupSnapshot]:
    """What is asked: a first assignment; one member joins the others; the middle one leaves."""
    fewer = GroupSnapshot(group.topics, group.members[:-1])
    middle = group.member_ids[group.n_members // 2]
    return {
        "full": group,
        "join": asked_after(settle(contender.make, fewer), Event("join", join=group.members[-1:])),
        "leave": asked_after(settle(contender.make, group), Event("leave", leave=frozenset({middle}))),
    }


class Theirs:
    """kafka-python's times of one assignor over a grid, as long as they are under a minute.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._modes = {"full", "join", "leave"} if kafka_python.is_installed() and kafka_python.has(name) else set()

    def times(self, cases: Mapping[str, GroupSnapshot]) -> dict[str, float]:
        """Milliseconds of CPU time by mode; a mode in which it failed or took longer is not tried again."""
        found: dict[str, float] = {}
        for mode, asked in cases.items():
            if mode in self._modes:
                try:
                    with kafka_python.at_most(_MINUTE_S):
                        found[mode] = median(_seconds(partial(kafka_python.assignment, self._name, asked))) * 1e3
                except Exception:  # it is somebody else's code, with defects of its own: there is no time then
                    self._modes.remove(mode)
        return found


def _seconds(prepare: Callable[[], Callable[[], object]]) -> list[float]:
    """CPU times of what is prepared anew for each run."""
    times: list[float] = []
    while not _is_enough(times):
        work = prepare()
        begin = process_time()
        work()
        times.append(process_time() - begin)
    return times


def _is_enough(times: Sequence[float]) -> bool:
    """Whether they fill a moment, and are not too few for a median, unless that takes seconds."""
    return sum(times) >= _ENOUGH_S and (len(times) >= _FEWEST or sum(times) >= _SECONDS_S) and len(times) > 0


def _java(label: str, shape: Shape, *, equal: bool) -> Mapping[str, float]:
    found: Mapping[str, float] = _recorded().get(label, {}).get("equal" if equal else "unequal", {}).get(str(shape), {})
    return found


@cache
def _recorded() -> Mapping[str, Any]:
    times: Mapping[str, Any] = json.loads(_TIMES.read_text(encoding="utf-8"))
    return times
