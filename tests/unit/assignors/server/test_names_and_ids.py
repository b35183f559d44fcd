"""Members and topics as the group coordinator orders them."""

from __future__ import annotations

import pytest

from groupsim.assignors import InvalidSnapshot, MemberNames, TopicIds
from groupsim.assignors.server.topic_walks import RangeWalk, subscription_walk, topic_set_walk
from tests.unit.assignors.server.specs import spec


def test_ids_are_read_as_kafka_prints_them() -> None:
    ids = TopicIds.of(["AAAAAAAAAAAAAAAAAAAAAQ", "__________8AAAAAAAAAAA", "AAAAAAAAAAD_________-w"])
    assert ids.halves.tolist() == [[0, 1], [-1, 0], [0, -5]]
    assert ids.codes.tolist() == [1, 0, 4 ^ 0]


def test_ids_compare_half_by_half_and_signed() -> None:
    ids = TopicIds.of(["AAAAAAAAAAAAAAAAAAAAAQ", "__________8AAAAAAAAAAA", "AAAAAAAAAAD_________-w"])
    assert ids.ranks.tolist() == [2, 0, 1]


@pytest.mark.parametrize("text", ["", "short", "AAAAAAAAAAAAAAAAAAAAA!", "AAAAAAAAAAAAAAAAAAAAAAAA", "ä" * 22])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidSnapshot, match="no topic id"):
        TopicIds.of([text])


def test_ids_can_be_derived_from_names() -> None:
    """The first 16 bytes of the name's SHA-256."""
    assert TopicIds.derived(("topic-0000",)).halves.tolist() == TopicIds.of(["Zr-8mZ6m-Z_kI-sFMN8Yiw"]).halves.tolist()


def test_members_are_visited_in_the_order_of_the_hash_table() -> None:
    names = MemberNames(tuple(f"member{number}" for number in range(13)))
    assert names.visiting_order().tolist() == [8, 11, 9, 12, 6, 7, 10, 4, 5, 2, 3, 0, 1]
    assert names.visiting_order(java_order=False).tolist() == [0, 1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9]


def test_range_sorts_static_members_before_the_others() -> None:
    names = MemberNames(("d", "c", "b", "a"), (None, "2", None, "1"))
    assert names.info_order().tolist() == [3, 1, 2, 0]
    assert MemberNames(("d", "c", "b")).info_order().tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("member_ids", "instance_ids", "reason"),
    [(("a", "b", "a"), None, "the same id: 'a'"), (("a",), ("1", None), "2 instance ids for 1 members")],
)
def test_names_that_cannot_be_are_refused(
    member_ids: tuple[str, ...], instance_ids: tuple[str | None, ...] | None, reason: str
) -> None:
    with pytest.raises(InvalidSnapshot, match=reason):
        MemberNames(member_ids, instance_ids)


def test_topics_are_walked_by_the_hash_of_name_or_id() -> None:
    """Those in one bucket come in the order in which they came in: topic10 and topic3 by name, others by id."""
    group = spec({"topic0": 1, "topic10": 1, "topic3": 1, "topic6": 1}, {"a": ("topic6 topic0 topic10 topic3", "")})
    topic0, topic10, topic3, topic6 = range(4)
    assert subscription_walk(group, 0).tolist() == [topic0, topic6, topic10, topic3]
    assert (group.topic_ids.codes & 15).tolist() == [15, 0, 7, 15]
    assert topic_set_walk(group, 0).tolist() == [topic10, topic3, topic0, topic6]
    assert (group.topic_ids.codes & 7).tolist() == [7, 0, 7, 7]
    assert RangeWalk(group, 0, homogeneous=True).topics.tolist() == [topic10, topic0, topic6, topic3]
    assert topic_set_walk(group, 0, java_order=False).tolist() == [topic0, topic10, topic3, topic6]


def test_unknown_names_make_room_in_the_sets() -> None:
    """With 13 names the set of ids has 32 buckets and not 16, though only two of the topics exist."""
    unknown = " ".join(f"unknown{number}" for number in range(11))
    few, many = (spec({"topic1": 1, "topic2": 1}, {"a": (f"topic1 topic2 {more}", "")}) for more in ("", unknown))
    assert (few.topic_ids.codes & 15).tolist() == [11, 8]
    assert (few.topic_ids.codes & 31).tolist() == [11, 24]
    assert topic_set_walk(few, 0).tolist() == [1, 0]
    assert topic_set_walk(many, 0).tolist() == [0, 1]
    assert RangeWalk(many, 0, homogeneous=False).topics.tolist() == [0, 1]
    assert RangeWalk(many, 0, homogeneous=True).topics.tolist() == [1, 0]
