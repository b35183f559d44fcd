"""What members hold by their targets, in the order in which the group coordinator comes upon it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from groupsim.assignors.core.topics import NOTHING, Positions
from groupsim.assignors.java.hash_table import CROWDED
from groupsim.assignors.java.packed_order import spans
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.table_sizes import Sizes, copied_size, default_size
from groupsim.assignors.server.target_groups import Flags, TargetGroups
from groupsim.assignors.server.target_map import TargetMap, TopicKeys


@dataclass(frozen=True, slots=True, eq=False)
class HeldTargets:
    """What some members hold: vectors over their partitions, member after member in the order of iteration.

    Parameters
    ----------
    members : ndarray of int32, shape (n,)
        Which members.
    rank : ndarray of int32
        For each partition, place of its member in `members`.
    positions : ndarray of int32
    beside : ndarray of int64
        How many partitions of that topic the member holds.
    n_topics : ndarray of int64, shape (n,)
        Topics in each target, those that are gone included.
    odd : ndarray of bool, shape (n,)
        Whether a table of the member's does more than grow with its content.
    """

    members: Positions
    rank: Positions
    positions: Positions
    beside: Sizes
    n_topics: Sizes
    odd: Flags


def held_targets(spec: GroupSpec, members: Positions, *, java_order: bool) -> HeldTargets:
    """What these members hold, as the maps yield it that their records are read into, or by position.

    Source: Assignment.fromRecord, Kafka 4.4.
    """
    counts = spec.target.counts[members]
    if not counts.any():
        return _nothing(members, spec.gone[members])
    positions = spec.target.flat[spans(spec.target.starts[members], counts)]
    rank = np.repeat(np.arange(len(members), dtype=np.int32), counts)
    groups = TargetGroups.of(spec, rank, positions)
    n_topics = np.bincount(groups.rank, minlength=len(members)) + spec.gone[members]
    sizes, odd = copied_size(groups.count), np.zeros(len(members), dtype=bool)
    if java_order:
        codes, map_sizes = spec.topic_ids.codes, default_size(n_topics)
        walked, order = groups.walk(positions, codes, map_sizes, sizes, groups.arrival)
        odd = groups.crowded_members(sizes, sizes, len(members))
        odd |= groups.crowded_maps(codes, map_sizes, CROWDED, _ghosts(spec, members))
    else:
        walked, order = groups.walk_by_position(positions)
    beside = np.repeat(groups.count[order], groups.count[order])
    if odd.any():
        _replay(spec, members[odd], (np.cumsum(counts) - counts)[odd], walked, beside)
    return HeldTargets(members, rank, walked, beside, n_topics, odd)


def _replay(spec: GroupSpec, members: Positions, starts: Sizes, walked: Positions, beside: Sizes) -> None:
    """Put what these members hold, from these places on, into the order in which the real tables yield it."""
    keys = TopicKeys.of(spec)
    for member, start in zip(members.tolist(), starts.tolist(), strict=True):
        mine = TargetMap.of_record(keys, spec, member).positions()
        topic = spec.topics.topic_of[mine]
        walked[start : start + len(mine)] = mine
        beside[start : start + len(mine)] = np.bincount(topic)[topic]


def _ghosts(spec: GroupSpec, members: Positions) -> tuple[Positions, Sizes]:
    """Which of these members hold topics that are gone, by rank, and the codes of these."""
    holder, codes = spec.gone_topics
    rank = np.full(spec.n_members, -1, dtype=np.int32)
    rank[members] = np.arange(len(members), dtype=np.int32)
    there = rank[holder] >= 0
    return rank[holder][there], codes[there]


def _nothing(members: Positions, n_topics: Sizes) -> HeldTargets:
    return HeldTargets(members, NOTHING, NOTHING, n_topics[:0], n_topics, np.zeros(len(members), dtype=bool))
