"""What an assignor does with a group when members join or leave, or partitions are added.

A trial begins with members that own nothing, lets the assignor settle them, and then does one thing to that group, each
event from the same settled state. Assignors remember only what their members tell the leader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.snapshot import GroupSnapshot
from groupsim.assignors.evaluation.events import Event
from groupsim.assignors.evaluation.group_history import GroupHistory, Make
from groupsim.assignors.evaluation.quality import (
    by_name,
    cross_rack_rate,
    cross_rack_share,
    imbalance,
    minimal_moves,
    moved,
    ownable,
)

FULL: Final = "full"
EXACT_MAX: Final = 5_000
"""Partitions up to which the least possible moves of unequal subscriptions are exact; a lower bound beyond."""

MEASURES: Final = (
    "moved", "least", "rounds", "imbalance_partitions", "imbalance_rate", "cross_rack_share", "cross_rack_rate",
)  # fmt: skip
"""Numbers of an outcome of which a mean can be taken."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What one event came to.

    Parameters
    ----------
    event : str
    members, partitions : int
        Of the group after it.
    moved, least : float or None
        Partitions that have another owner now, and how many had to for the same counts per member; None where several
        own one. Fractions where the outcome is a mean.
    rounds : float
        Rebalances until the group was settled.
    imbalance_partitions : float
        Largest minus smallest number of partitions of a member.
    imbalance_rate : float or None
        The same of rates; None where they are not known.
    cross_rack_share : float or None
        Share of what is read from a leader in another rack; None where racks are not known.
    cross_rack_rate : float or None
        How much that is, in the unit of the rates: bytes a second if rates are; None where they are not known.
    asked : GroupSnapshot or None
        What the assignor was given first; None for a mean.
    """

    event: str
    members: int
    partitions: int
    moved: float | None
    least: float | None
    rounds: float
    imbalance_partitions: float
    imbalance_rate: float | None
    cross_rack_share: float | None
    cross_rack_rate: float | None
    asked: GroupSnapshot | None = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """A group that has been assigned once.

    Parameters
    ----------
    make : callable
        Makes a new assignor, for one consumer.
    group : GroupSnapshot
        The members with what they own and remember now.
    assignment : Assignment
    first : Outcome
        Of the first assignment.
    """

    make: Make
    group: GroupSnapshot
    assignment: Assignment
    first: Outcome


def settle(make: Make, group: GroupSnapshot) -> Settled:
    """Assign a group in which nobody owns anything yet."""
    living = GroupHistory(make, group)
    assignment = living.rebalance()
    return Settled(make, living.snapshot, assignment, _outcome(FULL, group, None, living, assignment))


def attempt(settled: Settled, event: Event) -> Outcome:
    """Let one event happen to a settled group."""
    return carry_out(settled, event)[0]


def carry_out(settled: Settled, event: Event) -> tuple[Outcome, GroupHistory, Assignment]:
    """One event's outcome, and the group and its assignment after it."""
    living = _changed(settled, event)
    asked = living.snapshot
    assignment = living.rebalance()
    return _outcome(event.name, asked, settled, living, assignment), living, assignment


def asked_after(settled: Settled, event: Event) -> GroupSnapshot:
    """What the assignor is given after an event."""
    return _changed(settled, event).snapshot


def _changed(settled: Settled, event: Event) -> GroupHistory:
    living = GroupHistory(settled.make, settled.group)
    stay = [member for member in settled.group.members if member.member_id not in event.leave]
    living.change(members=[*stay, *event.join], topics=event.topics)
    return living


def mean_of(name: str, outcomes: Sequence[Outcome]) -> Outcome:
    """The mean of outcomes of one kind of event; null where one of them is."""
    first = outcomes[0]
    values = {number: [getattr(one, number) for one in outcomes] for number in MEASURES}
    means = {number: None if None in some else float(np.mean(some)) for number, some in values.items()}
    return Outcome(name, first.members, first.partitions, **means, asked=None)  # type: ignore[arg-type]


def _outcome(
    name: str, asked: GroupSnapshot, settled: Settled | None, living: GroupHistory, assignment: Assignment
) -> Outcome:
    movement = (0, 0) if settled is None and not assignment.shared else _movement(settled, asked, assignment)
    return Outcome(
        event=name,
        members=asked.n_members,
        partitions=asked.topics.n_partitions,
        moved=movement[0],
        least=movement[1],
        rounds=_generation(living.snapshot) - _generation(asked),
        imbalance_partitions=imbalance(assignment.counts),
        imbalance_rate=_imbalance_of_rates(asked, assignment),
        cross_rack_share=_known(cross_rack_share(asked, assignment)),
        cross_rack_rate=_known(cross_rack_rate(asked, assignment)),
        asked=asked,
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _generation(group: GroupSnapshot) -> int:
    return max((member.generation or 0 for member in group.members), default=0)


def _movement(settled: Settled | None, asked: GroupSnapshot, after: Assignment) -> tuple[int | None, int | None]:
    """Partitions moved, and the least that had to be."""
    before = None if settled is None else settled.assignment.within(asked.topics).owner
    if settled is None or before is None or after.owner is None:
        return None, None
    numbers = {name: at for at, name in enumerate(dict.fromkeys((*settled.group.member_ids, *asked.member_ids)))}
    was = by_name(before, settled.group.member_ids, numbers)
    is_now = by_name(after.owner, asked.member_ids, numbers)
    exact = not asked.subscriptions.equal and asked.topics.n_partitions <= EXACT_MAX
    return moved(was, is_now), minimal_moves(was, is_now, ownable(asked, numbers) if exact else None)


def _imbalance_of_rates(asked: GroupSnapshot, assignment: Assignment) -> float | None:
    if asked.topics.rates is None or not asked.n_members:
        return None
    members, positions = assignment.within(asked.topics).pairs()
    loads = np.bincount(
        members, weights=np.array(asked.topics.rates, dtype=float)[positions], minlength=asked.n_members
    )
    return float(loads.max() - loads.min())
