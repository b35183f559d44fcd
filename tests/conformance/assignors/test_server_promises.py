"""The list of checks for all assignors, held against those of the group coordinator."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings

from groupsim.assignors import SERVER_ASSIGNORS, GroupSnapshot, Promise, UniformAssignor, create_server
from groupsim.assignors.evaluation.conformance import check_assignor, example_groups
from tests.conformance.assignors.groups import groups

pytestmark = pytest.mark.property

every_assignor = pytest.mark.parametrize("name", SERVER_ASSIGNORS)


@every_assignor
def test_promises_hold_for_the_examples(name: str) -> None:
    for group in example_groups():
        check_assignor(partial(create_server, name), group)


@every_assignor
@given(group=groups(equal=True))
@settings(max_examples=60)
def test_promises_hold_with_equal_subscriptions(name: str, group: GroupSnapshot) -> None:
    check_assignor(partial(create_server, name), group)


@every_assignor
@given(group=groups(equal=False, racks=True))
@settings(max_examples=60)
def test_promises_hold_with_unequal_subscriptions(name: str, group: GroupSnapshot) -> None:
    check_assignor(partial(create_server, name), group)


@pytest.mark.parametrize("equal", [True, False])
def test_promises_hold_without_javas_order(equal: bool) -> None:
    @given(group=groups(equal=equal))
    @settings(max_examples=40)
    def hold(group: GroupSnapshot) -> None:
        check_assignor(partial(UniformAssignor, java_order=False), group)

    hold()


@given(group=groups(equal=False))
@settings(max_examples=60)
def test_without_javas_order_it_does_not_matter_who_joined_first(group: GroupSnapshot) -> None:
    turned = GroupSnapshot(group.topics, group.members[::-1])
    one, other = (UniformAssignor(java_order=False).assign(each).lists() for each in (group, turned))
    assert [each.tolist() for each in one] == [each.tolist() for each in other[::-1]]


@every_assignor
def test_what_is_not_promised_has_a_reason(name: str) -> None:
    assignor = create_server(name)
    assert set(Promise) - assignor.promises == set(assignor.exceptions)
    assert all(assignor.exceptions.values())
