"""The worked examples of Kafka's own tests of its coordinator's assignors (4.4), as tables.

A group is written as its topics and, for each member, what it subscribes to and what its target has been: `t1:0-2 t3:1`
are partitions 0 to 2 of t1 and 1 of t3. t1 to t3 have the ids that Kafka's tests give them, which decide their order.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groupsim.assignors import (
    Assignment,
    GroupSnapshot,
    GroupSpec,
    MemberNames,
    MemberSubscription,
    ServerAssignor,
    ServerRangeAssignor,
    TopicIds,
    Topics,
    UniformAssignor,
    positions_of,
)

Table = Mapping[str, tuple[str, str, str]]
"""Member -> topics, target before, target after."""

IDS = {
    "t1": "T1-A4s3VTwiI5CTbEp6POw",
    "t2": "T2-B4s3VTwiI5YHbPp6YUe",
    "t3": "T3-CU8fVTLCz5YMkLoDQsa",
    "t4": "T4-Tw9fVhLCz5HbPp6YQsa",
}


def partitions(topics: Topics, text: str) -> list[int]:
    """Positions of partitions written as `t1:0-2,5 t3:1`."""
    found = []
    for topic, numbers in (run.split(":") for run in text.split()):
        for span in numbers.split(","):
            first, _, last = span.partition("-")
            found += [topics.position(topic, number) for number in range(int(first), int(last or first) + 1)]
    return found


def check(
    assignor: ServerAssignor, counts: Mapping[str, int], table: Table, statics: tuple[str | None, ...] | None = None
) -> None:
    topics = Topics.of(counts)
    members = tuple(MemberSubscription(name, tuple(names.split())) for name, (names, _, _) in table.items())
    group = GroupSpec(
        topics,
        TopicIds.of([IDS[name] for name in topics.names]),
        MemberNames(tuple(table), statics),
        GroupSnapshot(topics, members).subscriptions,
        Assignment.of_lists(topics, [positions_of(partitions(topics, before)) for _, before, _ in table.values()]),
    )
    found = [sorted(positions.tolist()) for positions in assignor.assign_group(group).lists()]
    assert found == [sorted(partitions(topics, after)) for _, _, after in table.values()]


@pytest.mark.parametrize(
    ("counts", "table"),
    [
        pytest.param(
            {"t1": 3, "t3": 2},
            {"A": ("t1 t3", "", "t1:0-1 t3:0"), "B": ("t1 t3", "", "t1:2 t3:1")},
            id="testFirstAssignmentTwoMembersTwoTopicsSameSubscriptions",
        ),
        pytest.param(
            {"t1": 3, "t2": 3, "t3": 2},
            {"A": ("t1 t2", "", "t1:0-2 t2:0-1"), "B": ("t3", "", "t3:0"), "C": ("t2 t3", "", "t2:2 t3:1")},
            id="testFirstAssignmentThreeMembersThreeTopicsDifferentSubscriptions",
        ),
        pytest.param(
            {"t1": 3, "t3": 2},
            {"A": ("t1 t3", "", "t1:0 t3:0"), "B": ("t1 t3", "", "t1:1 t3:1"), "C": ("t1 t3", "", "t1:2")},
            id="testFirstAssignmentNumMembersGreaterThanNumPartitions",
        ),
        pytest.param(
            {"t1": 2, "t2": 2},
            {
                "A": ("t1 t2", "t1:0 t2:0", "t1:0 t2:0"),
                "B": ("t1 t2", "t1:1 t2:1", "t1:1 t2:1"),
                "C": ("t1 t2", "", ""),
            },
            id="testReassignmentNumMembersGreaterThanNumPartitionsWhenOneMemberAdded",
        ),
        pytest.param(
            {"t1": 3, "t2": 3},
            {
                "A": ("t1 t2", "t1:0-1 t2:0-1", "t1:0 t2:0"),
                "B": ("t1 t2", "t1:2 t2:2", "t1:1 t2:1"),
                "C": ("t1 t2", "", "t1:2 t2:2"),
            },
            id="testReassignmentWhenOneMemberAddedAfterInitialAssignment",
        ),
        pytest.param(
            {"t1": 4, "t2": 3},
            {
                "A": ("t1 t2", "t1:0-1 t2:0-1", "t1:0-1 t2:0-1"),
                "B": ("t1 t2", "t1:2 t2:2", "t1:2 t2:2"),
                "C": ("t1", "", "t1:3"),
            },
            id="testReassignmentWhenOneMemberAddedAndOnePartitionAfterInitialAssignment",
        ),
        pytest.param(
            {"t1": 3, "t2": 3, "t3": 2},
            {"A": ("t1", "", "t1:0-1"), "B": ("t1 t2 t3", "", "t1:2 t2:0-1 t3:0-1"), "C": ("t2", "", "t2:2")},
            id="testReassignmentWhenMultipleSubscriptionsRemovedAfterInitialAssignment",
        ),
    ],
)
def test_range(counts: dict[str, int], table: Table) -> None:
    check(ServerRangeAssignor(), counts, table)


def test_range_gives_a_static_member_the_same_under_another_id() -> None:
    """RangeAssignorTest.testStaticMembership: A has come back as A1, and sorts behind B by its member id."""
    statics = ("instanceA", "instanceB")
    check(
        ServerRangeAssignor(),
        {"t1": 3},
        {"A": ("t1", "", "t1:0-1"), "B": ("t1", "", "t1:2")},
        statics,
    )
    check(
        ServerRangeAssignor(),
        {"t1": 3},
        {"Z-was-A": ("t1", "t1:0-1", "t1:0-1"), "B": ("t1", "t1:2", "t1:2")},
        statics,
    )


def test_range_puts_static_members_first() -> None:
    """RangeAssignorTest.testMixedStaticMembership: A and C are static, B is not."""
    statics = ("instanceA", None, "instanceC")
    table = {"A": ("t1", "", "t1:0-1"), "B": ("t1", "", "t1:4"), "C": ("t1", "", "t1:2-3")}
    check(ServerRangeAssignor(), {"t1": 5}, table, statics)


@pytest.mark.parametrize(
    ("counts", "table"),
    [
        pytest.param(
            {"t1": 3, "t3": 2},
            {"A": ("t1 t3", "", "t3:0-1"), "B": ("t1 t3", "", "t1:0-2")},
            id="testFirstAssignmentTwoMembersTwoTopicsNoMemberRacks",
        ),
        pytest.param(
            {"t3": 2},
            {"A": ("t3", "", ""), "B": ("t3", "", "t3:0"), "C": ("t3", "", "t3:1")},
            id="testFirstAssignmentNumMembersGreaterThanTotalNumPartitions",
        ),
        pytest.param(
            {"t1": 6, "t2": 5},
            {
                "A": ("t1 t2", "t1:0,2 t2:0", "t1:0,2 t2:0,3-4"),
                "B": ("t1 t2", "t1:1 t2:1-2", "t1:1,3-5 t2:1-2"),
            },
            id="testReassignmentWhenPartitionsAreAddedForTwoMembersTwoTopics",
        ),
        pytest.param(
            {"t1": 3, "t2": 3},
            {
                "A": ("t1 t2", "t1:0 t2:0", "t1:0 t2:0,2"),
                "B": ("t1 t2", "t1:1 t2:1", "t1:1-2 t2:1"),
            },
            id="testReassignmentWhenOneMemberRemovedAfterInitialAssignmentThreeMembersTwoTopics",
        ),
        pytest.param(
            {"t1": 2, "t2": 2},
            {"A": ("t2", "t1:0 t2:0", "t2:0"), "B": ("t2", "t1:1 t2:1", "t2:1")},
            id="testReassignmentWhenOneSubscriptionRemovedAfterInitialAssignmentTwoMembersTwoTopics",
        ),
    ],
)
def test_uniform_with_equal_subscriptions(counts: dict[str, int], table: Table) -> None:
    """OptimizedUniformAssignmentBuilderTest."""
    check(UniformAssignor(), counts, table)


@pytest.mark.parametrize(
    ("counts", "table"),
    [
        pytest.param(
            {"t1": 3, "t2": 3},
            {
                "A": ("t1 t2", "t1:0-1 t2:0-1", "t1:0-1 t2:0"),
                "B": ("t1 t2", "t1:2 t2:2", "t1:2 t2:1-2"),
            },
            id="testReassignmentForTwoMembersTwoTopicsGivenUnbalancedPrevAssignment",
        ),
        pytest.param(
            {"t1": 3, "t2": 3},
            {
                "A": ("t1 t2", "t1:0,2 t2:0", "t1:0,2"),
                "B": ("t1 t2", "t1:1 t2:1-2", "t1:1 t2:1"),
                "C": ("t1 t2", "", "t2:0,2"),
            },
            id="testReassignmentWhenOneMemberAddedAfterInitialAssignmentTwoMembersTwoTopics",
        ),
    ],
)
def test_uniform_gives_up_what_it_comes_upon_last(counts: dict[str, int], table: Table) -> None:
    """OptimizedUniformAssignmentBuilderTest, with old targets in the order of topics, as only a test can have them."""
    check(UniformAssignor(java_order=False), counts, table)


def test_uniform_shares_a_large_sample_evenly() -> None:
    """OptimizedUniformAssignmentBuilderTest.testValidityAndBalanceForLargeSampleSet."""
    topics = Topics.of({f"topic{number}": 3 for number in range(1, 100)})
    members = tuple(MemberSubscription(f"member{number}", topics.names) for number in range(1, 50))
    counts = UniformAssignor().assign(GroupSnapshot(topics, members)).counts
    assert sorted(set(counts.tolist())) == [6, 7]
    assert counts.sum() == 297


@pytest.mark.parametrize(
    ("counts", "table"),
    [
        pytest.param(
            {"t1": 3, "t3": 6},
            {"A": ("t1 t3", "", "t1:0-2 t3:4"), "B": ("t3", "", "t3:0-3,5")},
            id="testFirstAssignmentTwoMembersTwoTopics",
        ),
        pytest.param(
            {"t1": 2, "t3": 1},
            {"A": ("t3", "", "t3:0"), "B": ("t3", "", ""), "C": ("t1", "", "t1:0-1")},
            id="testFirstAssignmentNumMembersGreaterThanTotalNumPartitions",
        ),
        pytest.param(
            {"t1": 6, "t2": 4, "t3": 4},
            {
                "A": ("t1", "t1:0-2", "t1:0-2,5"),
                "B": ("t1 t2", "t1:3 t2:0", "t1:3 t2:0-3"),
                "C": ("t1 t2 t3", "t1:4-5 t2:1-3 t3:0-3", "t1:4 t3:0-3"),
            },
            id="testReassignmentForTwoMembersThreeTopicsGivenUnbalancedPrevAssignment",
        ),
        pytest.param(
            {"t1": 6, "t2": 5, "t3": 3, "t4": 3},
            {
                "A": ("t1 t3", "t1:0-3 t3:0-1", "t1:0-5 t3:0-2"),
                "B": ("t1 t2 t3 t4", "t2:0-2 t4:0-2", "t2:0-4 t4:0-2"),
            },
            id="testReassignmentWhenPartitionsAreAddedForTwoMembers",
        ),
        pytest.param(
            {"t1": 6, "t2": 7},
            {
                "A": ("t1", "t1:0,2 t2:0", "t1:0,2-5"),
                "B": ("t1 t2", "t1:1 t2:1-2", "t1:1 t2:1-2,6"),
                "C": ("t1 t2", "", "t2:0,3-5"),
            },
            id="testReassignmentWhenOneMemberAddedAndPartitionsAddedTwoMembersTwoTopics",
        ),
        pytest.param(
            {"t1": 3, "t2": 8, "t3": 3},
            {
                "A": ("t1 t3", "t1:0-2 t3:0-1", "t1:0-2 t3:0-2"),
                "B": ("t2", "t2:3-6", "t2:0-7"),
            },
            id="testReassignmentWhenOneMemberRemovedAfterInitialAssignmentThreeMembersThreeTopics",
        ),
        pytest.param(
            {"t1": 3, "t2": 5},
            {"A": ("t1", "t1:0,2 t2:1,3", "t1:0-2"), "B": ("t1 t2", "t1:1 t2:0,2,4", "t2:0-4")},
            id="testReassignmentWhenOneSubscriptionRemovedAfterInitialAssignmentTwoMembersTwoTopics",
        ),
        pytest.param(
            {"t1": 2, "t2": 2, "t3": 2},
            {
                "A": ("t1 t2 t3", "t1:0-1 t2:0-1 t3:0-1", "t2:0 t3:0-1"),
                "B": ("t1 t2 t3 unknown", "", "t1:0-1 t2:1"),
            },
            id="testReassignmentWhenTopicPartitionsRunOutAndMembersHaveNoPartitions",
        ),
        pytest.param(
            {"t1": 3},
            {"A": ("t1", "", "t1:0-2"), "B": ("", "", "")},
            id="testFirstAssignmentWithTwoMembersIncludingOneWithoutSubscriptions",
        ),
        pytest.param(
            {"t1": 2},
            {"A": ("t3", "t1:0", ""), "B": ("t2", "t1:1", "")},
            id="testTwoMembersSubscribedToNonexistentTopics",
        ),
    ],
)
def test_uniform_with_unequal_subscriptions(counts: dict[str, int], table: Table) -> None:
    """UniformHeterogeneousAssignmentBuilderTest.

    Where all subscriptions are equal, one of them has a name here that is unknown, so that the same builder is chosen.
    Kafka's tests hand unknown topics to the builder itself, which throws; the coordinator leaves them out.
    """
    check(UniformAssignor(), counts, table)


@pytest.mark.parametrize(
    ("assignor", "targets"),
    [
        pytest.param(UniformAssignor(), ["t1:0 t2:1", "t1:1 t2:2", "t1:2 t2:0,3", "t1:3-4"], id="uniform moves two"),
        pytest.param(
            ServerRangeAssignor(), ["t1:0-1 t2:0", "t1:2 t2:1", "t1:3 t2:2", "t1:4 t2:3"], id="range moves eight"
        ),
    ],
)
def test_a_fourth_consumer_joins(assignor: ServerAssignor, targets: list[str]) -> None:
    """Three consumers share 5 partitions of t1 and 4 of t2, three each, when another one joins.

    | member     | target before | uniform     | range       |
    |------------|---------------|-------------|-------------|
    | consumer-1 | t1:0,3 t2:1   | t1:0 t2:1   | t1:0-1 t2:0 |
    | consumer-2 | t1:1,4 t2:2   | t1:1 t2:2   | t1:2 t2:1   |
    | consumer-3 | t1:2 t2:0,3   | t1:2 t2:0,3 | t1:3 t2:2   |
    | consumer-4 |               | t1:3-4      | t1:4 t2:3   |
    """
    before = ["t1:0,3 t2:1", "t1:1,4 t2:2", "t1:2 t2:0,3", ""]
    pairs = zip(before, targets, strict=True)
    table = {f"consumer-{at}": ("t1 t2", was, is_now) for at, (was, is_now) in enumerate(pairs, start=1)}
    check(assignor, {"t1": 5, "t2": 4}, table)
