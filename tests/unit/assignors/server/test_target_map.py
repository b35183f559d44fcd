"""One member's target in the coordinator's tables, step by step."""

from __future__ import annotations

import numpy as np

from groupsim.assignors import (
    Assignment,
    GroupSnapshot,
    GroupSpec,
    MemberNames,
    MemberSubscription,
    Positions,
    TopicIds,
    Topics,
)
from groupsim.assignors.server.held_targets import held_targets
from groupsim.assignors.server.target_map import TargetMap, TopicKeys

N_TOPICS = 14
TOPICS = Topics.of({f"t{at:02}": 40 for at in range(N_TOPICS)})
CAPACITY = [16] * N_TOPICS


def ids(*codes: int) -> TopicIds:
    """Ids with these hash codes, and with numbers of their own for the other topics."""
    rest = range(100, 100 + N_TOPICS - len(codes))
    return TopicIds(np.array([[0, code] for code in (*codes, *rest)], dtype=np.int64))


def holding(codes: TopicIds, topics: list[int], gone: int = 0) -> GroupSpec:
    """A member that holds the first partitions of these topics, and before them that many topics that are gone."""
    layout = Topics.of({f"g{at:02}": 1 for at in range(gone)} | {f"t{at:02}": 40 for at in range(N_TOPICS)})
    record = [*range(gone), *(gone + 40 * topic for topic in topics)]
    numbers = np.array([[0, number] for number in range(gone)], dtype=np.int64).reshape(-1, 2)
    return of_record(codes, layout, record, TopicIds(np.concatenate([numbers, codes.halves])))


def of_record(codes: TopicIds, layout: Topics, record: list[int], layout_ids: TopicIds) -> GroupSpec:
    members = (MemberSubscription("a", TOPICS.names),)
    table = GroupSnapshot(TOPICS, members).subscriptions
    return GroupSpec(TOPICS, codes, MemberNames(("a",)), table, Assignment.of_lists(layout, [record]), layout_ids)


def target_of(group: GroupSpec) -> TargetMap:
    return TargetMap.of_record(TopicKeys.of(group), group, 0)


def topics_of(target: TargetMap) -> list[int]:
    return topics_in(target.positions())


def topics_in(positions: Positions) -> list[int]:
    return list(dict.fromkeys(TOPICS.topic_of[positions].tolist()))


def test_a_record_with_gone_topics_is_read_into_a_larger_map() -> None:
    """Twelve topics that are gone double the 16 buckets: 16 does not share a bucket with 0 any more."""
    codes = ids(0, 16, 1)
    assert topics_of(target_of(holding(codes, [0, 1, 2]))) == [0, 1, 2]
    assert topics_of(target_of(holding(codes, [0, 1, 2], gone=12))) == [0, 2, 1]


def test_a_copy_is_without_gone_topics_but_has_their_room() -> None:
    """Its 32 buckets are enough for 14 topics, but would not be for the 12 that are gone as well."""
    target = target_of(holding(ids(0, 32), [0], gone=12)).copy(())
    for topic in range(1, 14):
        target.add(40 * topic, CAPACITY)
    assert topics_of(target)[:2] == [1, 0]


def test_a_copy_of_a_small_map_has_few_buckets() -> None:
    """Three topics in four buckets: those with codes 0 and 4 meet."""
    target = target_of(holding(ids(0, 4, 1), [1, 2, 0]))
    assert topics_of(target) == [0, 2, 1]
    assert topics_of(target.copy(())) == [0, 1, 2]


def test_a_topic_goes_with_its_last_partition_and_comes_back_as_a_new_one() -> None:
    """It comes before the other topic in its bucket then, and its numbers in another order."""
    target = target_of(of_record(ids(0, 4), TOPICS, [0, 40, 56], ids(0, 4))).copy(())
    assert target.positions().tolist() == [0, 40, 56]
    for position in (40, 56):
        target.remove(position)
    assert topics_of(target) == [0]
    for position in (56, 40):
        target.add(position, CAPACITY)
    assert target.positions().tolist() == [56, 40, 0]


def test_a_new_topics_set_has_the_capacity_that_the_builder_gives_it() -> None:
    target = target_of(holding(ids(0), [])).copy(())
    for position in (16, 1):
        target.add(position, [32] * N_TOPICS)
    assert target.positions().tolist() == [1, 16]


def test_what_is_lost_goes_as_the_map_yields_it() -> None:
    target = target_of(of_record(ids(0, 4), TOPICS, [0, 40, 56], ids(0, 4)))
    assert target.copy({40}).positions().tolist() == [0, 56]
    assert topics_of(target.copy({0})) == [1]


def test_more_than_eight_topics_in_a_bucket_are_a_tree_by_id() -> None:
    """Eleven make it 64 buckets and a tree; one that is gone can be its root."""
    eleven = [64 * at for at in range(11)]
    assert topics_of(target_of(holding(ids(*eleven), list(range(11))))) == [3, 0, 1, 2, *range(4, 11)]
    codes = ids(*eleven[1:])
    group = holding(codes, list(range(10)), gone=1)
    assert topics_of(target_of(group)) == [2, *range(2), *range(3, 10)]
    held = held_targets(group, np.array([0], dtype=np.int32), java_order=True)
    assert (held.odd.tolist(), topics_in(held.positions)) == ([True], [2, 0, 1, *range(3, 10)])


def test_topics_that_are_gone_crowd_a_bucket_of_the_record_too() -> None:
    """Three of eleven are gone: the eight that are there alone would be no tree."""
    layout = Topics.of({f"g{at:02}": 1 for at in range(3)} | {f"t{at:02}": 40 for at in range(N_TOPICS)})
    codes = ids(*(64 * at for at in range(3, 11)))
    gone = np.array([[0, 64 * at] for at in range(3)], dtype=np.int64)
    record = [*range(3), *(3 + 40 * topic for topic in range(8))]
    group = of_record(codes, layout, record, TopicIds(np.concatenate([gone, codes.halves])))
    held = held_targets(group, np.array([0], dtype=np.int32), java_order=True)
    assert (held.odd.tolist(), topics_in(held.positions)) == ([True], list(range(8)))
    mixed = of_record(codes, layout, [*record[3:7], 0, 2, *record[7:], 1], group.record_ids)
    held = held_targets(mixed, np.array([0], dtype=np.int32), java_order=True)
    assert topics_in(held.positions) == [3, 0, 1, 2, 4, 5, 6, 7]


def test_topics_of_one_code_are_in_the_trees_order_of_their_ids() -> None:
    """The larger half of an id counts first, and is signed."""
    halves = np.array([[-1 - at, -1 - at] for at in range(N_TOPICS)], dtype=np.int64)
    group = holding(TopicIds(halves), list(range(11)))
    assert set(TopicIds(halves).codes.tolist()) == {0}
    assert topics_of(target_of(group)) == [3, 0, 1, 2, *range(4, 11)]
    mixed = holding(TopicIds(halves), [10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5])
    assert topics_of(target_of(mixed)) == [7, 10, 0, 9, 1, 8, 2, 3, 6, 4, 5]
