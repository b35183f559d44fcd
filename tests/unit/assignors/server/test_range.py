"""The range of the group coordinator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from groupsim.assignors import GroupSnapshot, GroupSpec, ServerRangeAssignor
from tests.conformance.assignors.groups import groups
from tests.unit.assignors.building import labels
from tests.unit.assignors.server.specs import assigned, spec


def plain_ranges(group: GroupSpec) -> list[list[int]]:
    """Topic after topic and member after member, as one would write it down."""
    lists: list[list[int]] = [[] for _ in range(group.n_members)]
    order = group.names.info_order().tolist()
    for topic in group.subscriptions.subscribed_topics:
        members = [at for at in order if group.subscriptions.has[group.subscriptions.kind_of[at], topic]]
        quota, extra = divmod(group.topics.counts[topic], len(members))
        first = int(group.topics.first[topic])
        for at, member in enumerate(members):
            end = first + quota + (at < extra)
            lists[member] += range(first, end)
            first = end
    return lists


@pytest.mark.parametrize("equal", [True, False])
def test_every_topic_is_cut_into_ranges(equal: bool) -> None:
    @given(snapshot=groups(equal=equal))
    @settings(max_examples=60)
    def agree(snapshot: GroupSnapshot) -> None:
        group = GroupSpec.of(snapshot)
        assignment = ServerRangeAssignor().assign_group(group)
        assert [np.sort(each).tolist() for each in assignment.lists()] == plain_ranges(group)

    agree()


def test_what_members_had_does_not_matter() -> None:
    members = {"a": ("t", "t-2 t-1"), "b": ("t", "t-0")}
    assert assigned(ServerRangeAssignor(), spec({"t": 3}, members)) == {"a": "t-0 t-1", "b": "t-2"}


def test_topics_come_in_the_order_of_the_hash_table() -> None:
    """Their ids are in buckets 0 and 7 of 8; equal shares come from one block, unequal ones from several."""
    members = {"a": ("topic0 topic10", ""), "b": ("topic0 topic10", "")}
    even, odd = (spec({"topic0": count, "topic10": 2}, members) for count in (2, 3))
    assert labels(ServerRangeAssignor().assign_group(even)) == ["topic10-0 topic0-0", "topic10-1 topic0-1"]
    assert labels(ServerRangeAssignor().assign_group(odd)) == ["topic10-0 topic0-0 topic0-1", "topic10-1 topic0-2"]


def test_a_group_without_members_gets_nothing() -> None:
    assert ServerRangeAssignor().assign_group(spec({"t": 1}, {})).n_members == 0
