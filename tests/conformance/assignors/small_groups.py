"""Generated groups with a past, small enough to try every assignment; and all of these assignments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import strategies as st

from groupsim.assignors import GroupSnapshot, MemberSubscription, Topics, positions_of

RACKS = ["a", "b", "c", None]


@st.composite
def small_groups(draw: st.DrawFn, *, equal: bool, loads: bool = False) -> GroupSnapshot:
    """Up to four members and three topics of six partitions together, each with an owner or none."""
    counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3).filter(lambda counts: sum(counts) <= 6))
    known = Topics.of({f"t{at}": count for at, count in enumerate(counts)})
    per_partition = {"min_size": known.n_partitions, "max_size": known.n_partitions}
    leaders = draw(st.none() | st.lists(st.sampled_from([*RACKS, "nobody's"]), **per_partition))
    rates = draw(st.lists(st.integers(0, 9), **per_partition)) if loads else None
    topics = replace(
        known,
        racks=None if leaders is None else tuple((leader, "b") for leader in leaders),
        rates=None if rates is None else tuple(rates),
    )
    ids = draw(st.permutations(["m0", "m1", "m2", "m3"]))[: draw(st.integers(1, 4))]
    capacities = draw(st.none() | st.lists(st.integers(1, 4), min_size=4, max_size=4)) if loads else None
    owner = draw(st.lists(st.integers(-1, len(ids) - 1), **per_partition))
    names = st.sets(st.sampled_from(topics.names)).map(lambda names: tuple(sorted(names)))
    members = [
        MemberSubscription(
            member_id,
            topics.names if equal else draw(names),
            owned=positions_of(np.flatnonzero(np.array(owner, dtype=np.int32) == at)),
            rack=draw(st.sampled_from(RACKS)),
            capacity=None if capacities is None else capacities[at],
        )
        for at, member_id in enumerate(ids)
    ]
    return GroupSnapshot(topics, tuple(members))


def owner_before(group: GroupSnapshot) -> list[int]:
    """Who owned each partition and may own it still, -1 for nobody."""
    before = [-1] * group.topics.n_partitions
    for at, member in enumerate(group.members):
        for position in member.owned.tolist():
            if group.topics.names[group.topics.topic_of[position]] in member.topics:
                before[position] = at
    return before


def all_assignments(group: GroupSnapshot) -> Iterator[tuple[int, ...]]:
    """Every way to give each partition to a subscriber, as owners; -1 where there is none."""
    topic_names = [group.topics.names[topic] for topic in group.topics.topic_of]
    takers = [[at for at, member in enumerate(group.members) if name in member.topics] for name in topic_names]
    return product(*(each or [-1] for each in takers))
