"""Targets after changes: the vectors say what one map after the other says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.assignors import Assignment, GroupSpec, TopicIds, Topics
from groupsim.assignors.server.changed_targets import changed_targets
from groupsim.assignors.server.held_targets import held_targets
from groupsim.assignors.server.target_changes import Move, TargetChanges
from groupsim.assignors.server.target_map import TargetMap, TopicKeys
from tests.unit.assignors.server.specs import spec

NAMES = [f"topic{number}" for number in range(20)]


@st.composite
def specs(draw: st.DrawFn) -> GroupSpec:
    """Groups whose targets are in any order, of few topics or of many, with numbers far apart or close together."""
    step = draw(st.sampled_from([1, 1, 3, 16]))
    counts = draw(st.dictionaries(st.sampled_from(NAMES), st.integers(1, 12).map(lambda n: n * step), min_size=1))
    topics = Topics.of(counts)
    names = [f"m{number}" for number in range(draw(st.integers(1, 4)))]
    holder = draw(st.lists(st.integers(-1, len(names) - 1), min_size=topics.n_partitions, max_size=topics.n_partitions))
    order = draw(st.permutations(range(topics.n_partitions)))
    near = [at for at in order if topics.number_of[at] % step == 0]
    gone = draw(st.lists(st.sampled_from([0, 0, 1, 12]), min_size=len(names), max_size=len(names)))
    layout = Topics.of({f"gone{number}": 1 for number in range(12)} | counts)
    targets = []
    for member, ghosts in enumerate(gone):
        held = [topics.label(at) for at in near if holder[at] == member]
        targets.append(draw(st.permutations([*held, *(f"gone{number}-0" for number in range(ghosts))])))
    group = spec(counts, {name: ("", " ".join(target)) for name, target in zip(names, targets, strict=True)}, layout)
    codes = draw(st.lists(st.sampled_from(range(0, draw(st.sampled_from([2, 4000])), 64)), min_size=32, max_size=32))
    if draw(st.booleans()):
        return group
    ids = {name: [at, at ^ code] for at, (name, code) in enumerate(zip(layout.names, codes, strict=False))}
    both = (TopicIds(np.array([ids[name] for name in each.names], dtype=np.int64)) for each in (topics, layout))
    return GroupSpec(topics, next(both), group.names, group.subscriptions, group.record, next(both))


def target_map(group: GroupSpec, member: int) -> TargetMap:
    return TargetMap.of_record(TopicKeys.of(group), group, member)


@st.composite
def changes_of(draw: st.DrawFn, group: GroupSpec) -> TargetChanges:
    """Some of what some members hold goes, some of what nobody holds comes, and some of all that moves on."""
    everybody = range(group.n_members)
    members = sorted(draw(st.sets(st.sampled_from(everybody), min_size=1)))
    held = held_targets(group, np.array(members, dtype=np.int32), java_order=True)
    kept = np.array(draw(st.lists(st.booleans(), min_size=len(held.rank), max_size=len(held.rank))), dtype=bool)
    free = draw(st.permutations(np.flatnonzero(group.holder < 0).tolist()))
    taken = free[: draw(st.integers(0, 25))]
    taker = draw(st.lists(st.integers(0, len(members) - 1), min_size=len(taken), max_size=len(taken)))
    where = dict(zip(held.positions[kept].tolist(), held.rank[kept].tolist(), strict=True))
    where |= dict(zip(taken, taker, strict=True))
    moves: list[Move] = []
    for position in draw(st.lists(st.sampled_from(sorted(where)), max_size=6)) if where else []:
        to = draw(st.integers(0, len(members) - 1))
        moves.append((position, where[position], to))
        where[position] = to
    capacity = np.array(draw(st.lists(st.integers(1, 40), min_size=20, max_size=20)))[: len(group.topics.names)]
    return TargetChanges(held, kept, np.array(taker, np.int32), np.array(taken, np.int32), capacity, moves)


@given(data=st.data(), group=specs())
@settings(max_examples=150)
def test_many_targets_change_as_each_of_them_step_by_step(data: st.DataObject, group: GroupSpec) -> None:
    changes = data.draw(changes_of(group))
    members = changes.held.members.tolist()
    lost = changes.lost(range(len(members)))
    maps = [target_map(group, member).copy(lost[at]) for at, member in enumerate(members)]
    for at, position, comes in changes.steps(range(len(members))):
        if comes:
            maps[at].add(position, changes.capacity.tolist())
        else:
            maps[at].remove(position)
    found = changed_targets(group, changes, java_order=True)
    assert [found.list_of(member).tolist() for member in members] == [each.positions().tolist() for each in maps]
    others = [member for member in range(group.n_members) if member not in members]
    assert [found.list_of(at).tolist() for at in others] == [group.target.list_of(at).tolist() for at in others]
    by_position = changed_targets(group, changes, java_order=False)
    assert [by_position.list_of(at).tolist() for at in members] == [
        sorted(found.list_of(at).tolist()) for at in members
    ]


@given(group=specs())
@settings(max_examples=100)
def test_what_many_members_hold_comes_as_each_map_yields_it(group: GroupSpec) -> None:
    everybody = np.arange(group.n_members, dtype=np.int32)
    held = held_targets(group, everybody, java_order=True)
    for member in everybody.tolist():
        mine = held.positions[held.rank == member]
        assert mine.tolist() == target_map(group, member).positions().tolist()
        topic = group.topics.topic_of[mine]
        assert held.beside[held.rank == member].tolist() == [int((topic == each).sum()) for each in topic]
        assert held.n_topics[member] == len(np.unique(topic)) + group.gone[member]


def crowd(stride: int) -> GroupSpec:
    """Two members of which the first holds 11 partitions of a topic, with numbers that far apart."""
    target = " ".join(f"t-{number}" for number in range(0, 11 * stride, stride))
    return spec({"t": 11 * stride}, {"a": ("t", target), "b": ("t", "")})


@pytest.mark.parametrize(("stride", "odd"), [(1, False), (8, False), (16, True), (32, True)])
def test_members_with_crowded_tables_are_told_apart(stride: int, odd: bool) -> None:
    held = held_targets(crowd(stride), np.array([0, 1], dtype=np.int32), java_order=True)
    assert held.odd.tolist() == [odd, False]


def test_a_member_that_gives_and_takes_goes_through_it_step_by_step() -> None:
    """Its set of 11 grows at 13, and does not shrink again: 16 does not come after 0 any more."""
    before = "t-0 t-16 t-1 t-2 t-3 t-4 t-5 t-6 t-7 t-8 t-9"
    group = spec({"t": 22}, {"a": ("t", before), "b": ("t", "")})
    held = held_targets(group, np.array([0, 1], dtype=np.int32), java_order=True)
    assert labels_of(group, held.positions) == before
    come, go = np.array([20, 21], np.int32), [(20, 0, 1), (21, 0, 1)]
    changes = TargetChanges(held, held.rank == 0, np.zeros(2, np.int32), come, np.array([16]), go)
    assert changes.without_moves(22)[1].tolist() == [True, False]
    found = changed_targets(group, changes, java_order=True)
    assert labels_of(group, found.list_of(0)) == "t-0 t-1 t-2 t-3 t-4 t-5 t-6 t-7 t-8 t-9 t-16"
    assert labels_of(group, found.list_of(1)) == "t-20 t-21"


def test_a_bucket_that_was_a_tree_for_a_while_leaves_its_order_behind() -> None:
    """Nine multiples of 64 are a tree until the set outgrows 48: in one half of it the former root is first then."""
    group = spec({"t": 600}, {"a": ("t", "")})
    held = held_targets(group, np.array([0], dtype=np.int32), java_order=True)
    taken = np.array([*range(1, 40), *range(0, 513, 64), 40, 41], np.int32)
    changes = TargetChanges(held, held.rank == 0, np.zeros(50, np.int32), taken, np.array([16]))
    found = changed_targets(group, changes, java_order=True).list_of(0).tolist()
    assert [number for number in found if number % 64 == 0] == [0, 128, 256, 384, 512, 192, 64, 320, 448]


def labels_of(group: GroupSpec, positions: np.ndarray) -> str:
    return " ".join(map(group.topics.label, positions.tolist()))


def test_a_group_whose_targets_all_change_needs_no_copy() -> None:
    group = spec({"t": 3}, {"a": ("t", ""), "b": ("t", "")})
    held = held_targets(group, np.array([1, 0], dtype=np.int32), java_order=True)
    taker, taken = np.array([0, 1, 1], np.int32), np.array([0, 1, 2], np.int32)
    found = changed_targets(group, TargetChanges(held, held.rank < 0, taker, taken, np.array([16])), java_order=True)
    assert [each.tolist() for each in found.lists()] == [[1, 2], [0]]
    assert isinstance(found, Assignment)
    assert [each.tolist() for each in found.pairs()] == [[0, 0, 1], [1, 2, 0]]
