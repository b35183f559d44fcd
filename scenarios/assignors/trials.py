"""Assignors against each other: what each does with a group under the usual events, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from groupsim.assignors import (
    ASSIGNORS,
    SERVER_ASSIGNORS,
    Assignor,
    AssignorError,
    GroupSpec,
    Promise,
    ServerAssignor,
    create,
    create_server,
    installed,
    load_classes,
)
from groupsim.assignors.evaluation.events import Event, leavers, usual_events
from groupsim.assignors.evaluation.trials import FULL, Outcome, Settled, attempt, mean_of, settle
from groupsim.assignors.guarded_call import blaming
from groupsim.scenarios.errors import nearest
from groupsim.sim.errors import ConfigError

if TYPE_CHECKING:
    from groupsim.assignors import GroupSnapshot

SERVER: Final = "server:"
"""Begins the label of an assignor of the coordinator: Kafka has a range on either side."""
MEAN: Final = "leave one, mean"
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Contender:
    """An assignor under a label of its own.

    Parameters
    ----------
    label : str
    make : callable
        Makes a new one, for one consumer.
    """

    label: str
    make: Callable[[], Assignor]


def contenders(allow_code: Sequence[str] = (), *, java_order: bool = True) -> list[Contender]:
    """Every assignor: Kafka's and groupsim's, those of installed packages, and the user's own ``module:Class``.

    Parameters
    ----------
    allow_code : sequence of str
    java_order : bool
        As for `assignors.create`.
    """
    found = [Contender(name, partial(create, name, java_order=java_order)) for name in ASSIGNORS]
    server = partial(create_server, java_order=java_order)
    found += [Contender(f"{SERVER}{name}", partial(server, name)) for name in SERVER_ASSIGNORS]
    classes = [*installed().values(), *load_classes(allow_code).values()]
    return found + [Contender(one.name, one) for one in classes]


def chosen(found: Sequence[Contender], labels: Sequence[str]) -> list[Contender]:
    """Those of these labels, in their own order; all for none.

    Raises
    ------
    ConfigError
        There is none of a label.
    """
    known = [one.label for one in found]
    for label in labels:
        if label not in known:
            raise ConfigError(f"there is no assignor {label!r}; {nearest(label, known)}known: {', '.join(known)}")
    return [one for one in found if not labels or one.label in labels]


def is_exclusive(contender: Contender) -> bool:
    """Whether partitions have one owner each: where they have many, nothing moves, and large groups have no end."""
    return Promise.EXCLUSIVE in contender.make().promises


def described(contender: Contender) -> dict[str, Any]:
    """Label, name, side, rebalance protocols, promises, and why there are no others."""
    assignor = contender.make()
    return {
        "assignor": contender.label,
        "name": assignor.name,
        "side": assignor.side.value,
        "protocol": [one.value for one in assignor.protocols] or ["consumer"],
        "promises": [one.value for one in Promise if one in assignor.promises],
        "exceptions": {one.value: reason for one, reason in assignor.exceptions.items()},
    }


def trials(contender: Contender, group: GroupSnapshot, many: int) -> Iterator[dict[str, Any]]:
    """A record per event, first assignment first: the outcome, the time of one answer, and the failure if there is one.

    Parameters
    ----------
    contender : Contender
    group : GroupSnapshot
        Nobody owns anything.
    many : int
        How many join or leave where many do.
    """
    events, alone = usual_events(group, many), leavers(group)
    try:
        with _blaming(contender):
            settled = settle(contender.make, group)
    except AssignorError as failure:
        yield _failed(contender, FULL, failure)
        return
    yield _record(contender, settled.first)
    for event in events:
        yield _guarded(contender, event.name, partial(_attempted, contender, settled, event))
        if event.name == "leave one, last":
            yield _guarded(contender, MEAN, partial(_mean, contender, settled, alone))


def _attempted(contender: Contender, settled: Settled, event: Event) -> dict[str, Any]:
    return _record(contender, attempt(settled, event))


def _mean(contender: Contender, settled: Settled, events: Sequence[Event]) -> dict[str, Any]:
    """The mean of all, and of the times of one answer each."""
    outcomes = [attempt(settled, event) for event in events]
    seconds = [_seconds(answering(contender.make, one.asked), tries=1) for one in outcomes if one.asked is not None]
    return {**_record(contender, mean_of(MEAN, outcomes)), "seconds": sum(seconds) / len(seconds)}


def _guarded(contender: Contender, event: str, tell: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        with _blaming(contender):
            return tell()
    except AssignorError as failure:
        return _failed(contender, event, failure)


def _blaming(contender: Contender) -> AbstractContextManager[None]:
    """Whatever somebody's own assignor throws is its failure; of ours it is a bug."""
    is_ours = contender.label in ASSIGNORS or contender.label.startswith(SERVER)
    return nullcontext() if is_ours else blaming(contender.label)


def _record(contender: Contender, outcome: Outcome) -> dict[str, Any]:
    told = {name: getattr(outcome, name) for name in Outcome.__slots__ if name != "asked"}
    seconds = None if outcome.asked is None else _seconds(answering(contender.make, outcome.asked))
    return {"assignor": contender.label, **told, "seconds": seconds, "failure": None}


def _failed(contender: Contender, event: str, failure: AssignorError) -> dict[str, Any]:
    nothing = dict.fromkeys(name for name in Outcome.__slots__ if name != "asked")
    told = f"{type(failure).__name__}: {failure}"
    return {"assignor": contender.label, **nothing, "event": event, "seconds": None, "failure": told}


def answering(make: Callable[[], Assignor], asked: GroupSnapshot) -> Callable[[], object]:
    """What has an assignor answer, to be timed; the coordinator's find the group in the form in which it keeps it."""
    assignor = make()
    if isinstance(assignor, ServerAssignor):
        return partial(assignor.assign_group, GroupSpec.of(asked))
    return lambda: make().assign(asked)


def _seconds(answer: Callable[[], object], tries: int = _TRIES) -> float:
    """How long one answer takes, the best of some."""
    times = []
    for _ in range(tries):
        begin = perf_counter()
        answer()
        times.append(perf_counter() - begin)
    return min(times)
