"""Why a partition is where weighted put it: the rules of `assignors.own.weighted` one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.assignors.core.snapshot import GroupSnapshot
from groupsim.assignors.evaluation.change import Change
from groupsim.assignors.own.past_owners import by_id
from groupsim.assignors.own.weighted import Weighed, weighed
from groupsim.assignors.own.workload import Peak


def weighed_out(change: Change, position: int) -> tuple[str, list[str]]:
    """Who gets a partition under `weighted`, and why."""
    group, before, _ = by_id(change.after)
    steps = weighed(group, before.tolist())
    told = [_measures(group), _given(change, steps, group.member_ids, position)]
    if steps.relieved[position] != steps.filled[position]:
        told.append(_relief(steps, group.member_ids, position))
    if steps.owner[position] != steps.relieved[position]:
        told.append(_exchange(steps, group.member_ids, position))
    if steps.owner[position] == steps.filled[position]:
        told.append(_stays(steps, group.member_ids, position))
    return group.member_ids[steps.owner[position]], told


def _measures(group: GroupSnapshot) -> str:
    """What a load is here."""
    rates = group.topics.rates
    weight = "the rates of its partitions" if rates and any(rates) else "the number of its partitions"
    over = " over its capacity" if any(member.capacity is not None for member in group.members) else ""
    return f"The load of a member is {weight}{over}. Things move only if that lowers the largest load."


def _given(change: Change, steps: Weighed, names: Sequence[str], position: int) -> str:
    """Who had it; or to whom it went first, and why to that one."""
    if steps.before[position] >= 0:
        return f"{names[steps.before[position]]} had it."
    free = steps.work.longest_first(at for at in steps.work.wanted if steps.before[at] < 0)
    turn, taker = free.index(position), steps.filled[position]
    given = list(steps.before)
    for at in free[: turn + 1]:
        given[at] = steps.filled[at]
    load = _load((steps.work.loads(given)[taker], steps.work.capacities[taker]))
    order = f"the heaviest first: it is number {turn + 1} of {len(free)} and weighs {steps.work.weights[position]:,}"
    return (
        f"{change.missing(position)} What nobody has is given out, {order}. {names[taker]} has least with it: {load}."
    )


def _relief(steps: Weighed, names: Sequence[str], position: int) -> str:
    giver, taker = names[steps.filled[position]], names[steps.relieved[position]]
    largest, then = _load(steps.work.peak(steps.filled)), _load(steps.work.peak(steps.relieved))
    turn = f"{giver} came to have most, {taker} has less than that with it"
    return (
        f"Whoever has most gives up its heaviest that helps. {turn}: the largest load falls from {largest} to {then}."
    )


def _exchange(steps: Weighed, names: Sequence[str], position: int) -> str:
    assert steps.target is not None, "only a smaller load makes partitions change hands"
    largest, target = _load(steps.work.peak(steps.relieved)), _load(steps.target)
    why = f"From nothing, the heaviest first, the largest load would be {target}, and is {largest}"
    return f"{why}: partitions are swapped until nobody has more than that. {names[steps.owner[position]]} gets it."


def _stays(steps: Weighed, names: Sequence[str], position: int) -> str:
    """Why it need not move on."""
    peak, owner = steps.work.peak(steps.owner), steps.owner[position]
    load = (steps.work.loads(steps.owner)[owner], steps.work.capacities[owner])
    if steps.work.is_above(peak, load):
        return f"There it stays: {names[owner]} has {_load(load)} in the end, and the largest load is {_load(peak)}."
    return f"There it stays: {names[owner]} has the largest load, {_load(load)}, but moving it would not lower that."


def _load(load: Peak) -> str:
    """A load over a capacity, as a number."""
    return f"{load[0] / load[1]:,.6g}"
