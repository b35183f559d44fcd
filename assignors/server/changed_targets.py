"""Targets after an assignment, each list in the order in which the coordinator's tables yield it."""

from __future__ import annotations

import numpy as np

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.topics import Positions, sealed
from groupsim.assignors.java.hash_table import CROWDED
from groupsim.assignors.java.packed_order import spans
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.table_sizes import Sizes, copied_size, grown_size, table_size
from groupsim.assignors.server.target_changes import TargetChanges
from groupsim.assignors.server.target_groups import Flags, TargetGroups
from groupsim.assignors.server.target_map import TargetMap, TopicKeys


def changed_targets(spec: GroupSpec, changes: TargetChanges, *, java_order: bool) -> Assignment:
    """The targets of a group with these changes; members that they do not concern keep their lists.

    Parameters
    ----------
    spec : GroupSpec
    changes : TargetChanges
    java_order : bool
        Whether lists are as Kafka's hash tables yield them, or by position.

    Source: AssignorHelpers.deepCopyAssignment and both builders of UniformAssignor, Kafka 4.4.
    """
    plain, odd = changes.without_moves(spec.topics.n_partitions)
    rank, positions = plain.taker, plain.taken
    if plain.n_kept:
        rank = np.concatenate([plain.held.rank[plain.kept], rank])
        positions = np.concatenate([plain.held.positions[plain.kept], positions])
    groups = TargetGroups.of(spec, rank, positions)
    if java_order:
        walked, crowded = _walked(spec, plain, groups, positions)
        odd |= plain.held.odd | crowded
    else:
        walked, _ = groups.walk_by_position(positions)
    lists = _replayed(spec, changes, np.flatnonzero(odd).tolist(), java_order)
    counts = np.bincount(groups.rank, weights=groups.count, minlength=len(odd)).astype(np.int64)
    return _assembled(spec.target, changes.held.members, walked, counts, lists)


def _walked(
    spec: GroupSpec, plain: TargetChanges, groups: TargetGroups, positions: Positions
) -> tuple[Positions, Flags]:
    """Positions as the maps yield them, and whose tables do more than grow with their content."""
    # a set that was there is a copy; either kind grows
    beside = np.append(plain.held.beside[plain.kept], 0)
    had = beside[np.minimum(groups.arrival, len(beside) - 1)]
    made = np.where(had > 0, copied_size(had), table_size(plain.capacity)[groups.topic])
    set_sizes = np.maximum(made, grown_size(groups.count))
    # topics that were not there go to the head of their bucket
    arrival, end = groups.arrival, len(positions)
    chain = np.where(arrival < plain.n_kept, end + arrival, end - arrival)
    codes, map_sizes = spec.topic_ids.codes, _map_sizes(plain, groups)
    walked, _ = groups.walk(positions, codes, map_sizes, set_sizes, chain)
    crowded = groups.crowded_members(made, set_sizes, len(plain.held.members))
    return walked, crowded | groups.crowded_maps(codes, map_sizes, CROWDED - 1)


def _map_sizes(plain: TargetChanges, groups: TargetGroups) -> Sizes:
    """Buckets of the maps, which grow before a partition is added: a topic that comes with the last does not count."""
    n_kept, n_members = plain.n_kept, len(plain.held.members)
    last = np.full(n_members, -1, dtype=np.int32)
    last[plain.taker] = np.arange(n_kept, n_kept + len(plain.taker), dtype=np.int32)
    n_topics = np.bincount(groups.rank[groups.arrival != last[groups.rank]], minlength=n_members)
    return grown_size(np.maximum(plain.held.n_topics, n_topics))


def _replayed(spec: GroupSpec, changes: TargetChanges, members: list[int], java_order: bool) -> dict[int, Positions]:
    """Lists of members whose tables do more than grow with their content, step by step."""
    if not members:
        return {}
    keys, lost = TopicKeys.of(spec), changes.lost(members)
    records = {at: TargetMap.of_record(keys, spec, int(changes.held.members[at])) for at in members}
    maps = {at: record.copy(lost[at]) for at, record in records.items()}
    capacity = changes.capacity.tolist()
    for member, position, comes in changes.steps(members):
        if comes:
            maps[member].add(position, capacity)
        else:
            maps[member].remove(position)
    lists = {at: target.positions() for at, target in maps.items()}
    return lists if java_order else {at: np.sort(positions) for at, positions in lists.items()}


def _assembled(
    target: Assignment, members: Positions, positions: Positions, counts: Sizes, lists: dict[int, Positions]
) -> Assignment:
    """The targets with those of some members replaced, by stretches of `positions` and by lists."""
    sizes, starts, ends = target.counts, target.starts.copy(), np.cumsum(counts)
    if len(members) == target.n_members and not lists:
        sizes[members], starts[members] = counts, ends - counts
        return Assignment(target.topics, sealed(positions), starts, starts + sizes)
    sizes[members], starts[members] = counts, len(target.flat) + ends - counts
    end = len(target.flat) + len(positions)
    for at, replayed in lists.items():
        sizes[members[at]], starts[members[at]] = len(replayed), end
        end += len(replayed)
    source = np.concatenate([target.flat, positions, *lists.values()])
    ends = np.cumsum(sizes)
    return Assignment(target.topics, sealed(source[spans(starts, sizes)]), ends - sizes, ends)
