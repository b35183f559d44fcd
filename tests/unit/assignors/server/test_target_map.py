"""One member's target in the coordinator's tables, step by step."""

from __future__ import annotations

import numpy as np

from groupsim.assignors import TopicIds, Topics, positions_of
from groupsim.assignors.server.target_map import TargetMap

N_TOPICS = 14
TOPICS = Topics.of({f"t{at:02}": 40 for at in range(N_TOPICS)})
CAPACITY = [16] * N_TOPICS


def ids(*codes: int) -> TopicIds:
    """Ids with these hash codes, and with numbers of their own for the other topics."""
    rest = range(100, 100 + N_TOPICS - len(codes))
    return TopicIds(np.array([[0, code] for code in (*codes, *rest)], dtype=np.int64))


def topics_of(target: TargetMap) -> list[int]:
    return list(dict.fromkeys(TOPICS.topic_of[target.positions()].tolist()))


def record(*topics: int) -> list[int]:
    return [40 * topic for topic in topics]


def test_a_record_with_gone_topics_is_read_into_a_larger_map() -> None:
    """Twelve topics that are gone double the 16 buckets: 16 does not share a bucket with 0 any more."""
    codes = ids(0, 16, 1)
    assert topics_of(TargetMap.of_record(TOPICS, codes, positions_of(record(0, 1, 2)), 0)) == [0, 1, 2]
    assert topics_of(TargetMap.of_record(TOPICS, codes, positions_of(record(0, 1, 2)), 12)) == [0, 2, 1]


def test_a_copy_is_without_gone_topics_but_has_their_room() -> None:
    """Its 32 buckets are enough for 14 topics, but would not be for the 12 that are gone as well."""
    target = TargetMap.of_record(TOPICS, ids(0, 32), positions_of(record(0)), 12).copy()
    for topic in range(1, 14):
        target.add(40 * topic, CAPACITY)
    assert topics_of(target)[:2] == [1, 0]


def test_a_copy_of_a_small_map_has_few_buckets() -> None:
    """Three topics in four buckets: those with codes 0 and 4 meet."""
    target = TargetMap.of_record(TOPICS, ids(0, 4, 1), positions_of(record(1, 2, 0)), 0)
    assert topics_of(target) == [0, 2, 1]
    assert topics_of(target.copy()) == [0, 1, 2]


def test_a_topic_goes_with_its_last_partition_and_comes_back_as_a_new_one() -> None:
    """It comes before the other topic in its bucket then, and its numbers in another order."""
    target = TargetMap.of_record(TOPICS, ids(0, 4), positions_of([0, 40, 56]), 0).copy()
    assert target.positions().tolist() == [0, 40, 56]
    for position in (40, 56):
        target.remove(position)
    assert topics_of(target) == [0]
    for position in (56, 40):
        target.add(position, CAPACITY)
    assert target.positions().tolist() == [56, 40, 0]


def test_a_new_topics_set_has_the_capacity_that_the_builder_gives_it() -> None:
    target = TargetMap.of_record(TOPICS, ids(0), positions_of([]), 0).copy()
    for position in (16, 1):
        target.add(position, [32] * N_TOPICS)
    assert target.positions().tolist() == [1, 16]
