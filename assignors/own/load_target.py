"""Down to the largest load that a longest-first greedy comes to from nothing, with few moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from groupsim.assignors.own.load_exchange import LoadExchange
from groupsim.assignors.own.workload import Workload


def within(work: Workload, before: Sequence[int], owner: Sequence[int], fresh: Sequence[int]) -> list[int]:
    """Owners with no larger load than those of ``fresh``: by exchanges, or else as there, under other names.

    Parameters
    ----------
    work : Workload
    before : sequence of int
        Who had each position, -1 for nobody; what need not move goes back there.
    owner : sequence of int
        To start from.
    fresh : sequence of int
        That can be done, but starts from nothing.
    """
    limits = work.limits(work.peak(fresh))
    exchange = LoadExchange(work, owner, limits)
    found = exchange.owner if exchange.settle() else _renamed(work, before, fresh)
    return _put_back(work, before, found, limits)


def _renamed(work: Workload, before: Sequence[int], fresh: Sequence[int]) -> list[int]:
    """The same shares, swapped among members that are alike so that many partitions stay where they were."""
    alike = list(zip(work.kind_of, work.capacities, strict=True))
    pairs = Counter((had, has) for had, has in zip(before, fresh, strict=True) if had >= 0 and alike[had] == alike[has])
    taker_of: dict[int, int] = {}
    taken: set[int] = set()
    for had, has in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        if has not in taker_of and had not in taken:
            taker_of[has] = had
            taken.add(had)
    free: dict[tuple[int, int], list[int]] = {}
    for member in range(len(alike) - 1, -1, -1):
        if member not in taken:
            free.setdefault(alike[member], []).append(member)
    for member, kind in enumerate(alike):
        if member not in taker_of:
            taker_of[member] = free[kind].pop()
    return [taker_of.get(has, -1) for has in fresh]


def _put_back(work: Workload, before: Sequence[int], owner: Sequence[int], limits: Sequence[int]) -> list[int]:
    """The same with everything back where it was that fits there, the lightest first."""
    unmoved = [now if was < 0 else was for was, now in zip(before, owner, strict=True)]
    if all(load <= limit for load, limit in zip(work.loads(unmoved), limits, strict=True)):
        return unmoved
    found, loads = list(owner), work.loads(owner)
    away: list[list[int]] = [[] for _ in limits]
    for position in work.longest_first(work.wanted):
        if before[position] not in (-1, found[position]):
            away[before[position]].append(position)
    waiting = list(range(len(limits)))
    while waiting:
        member = waiting.pop()
        while away[member] and loads[member] + work.weights[away[member][-1]] <= limits[member]:
            position = away[member].pop()
            loads[member] += work.weights[position]
            loads[found[position]] -= work.weights[position]
            waiting.append(found[position])
            found[position] = member
    return found
