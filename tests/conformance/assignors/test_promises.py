"""One list of checks for all assignors."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings

from groupsim.assignors import ASSIGNORS, GroupSnapshot, create
from groupsim.assignors.evaluation.conformance import check_assignor, example_groups
from tests.conformance.assignors.groups import groups

pytestmark = pytest.mark.property

every_assignor = pytest.mark.parametrize("name", sorted(ASSIGNORS))


@every_assignor
def test_promises_hold_for_the_examples(name: str) -> None:
    for group in example_groups():
        check_assignor(partial(create, name), group)


@every_assignor
@given(group=groups(equal=True))
@settings(max_examples=60)
def test_promises_hold_with_equal_subscriptions(name: str, group: GroupSnapshot) -> None:
    check_assignor(partial(create, name), group)


@every_assignor
@given(group=groups(equal=False))
@settings(max_examples=60)
def test_promises_hold_with_unequal_subscriptions(name: str, group: GroupSnapshot) -> None:
    check_assignor(partial(create, name), group)


@every_assignor
@given(group=groups(equal=True, racks=True))
@settings(max_examples=40)
def test_promises_hold_with_racks(name: str, group: GroupSnapshot) -> None:
    check_assignor(partial(create, name), group)


@every_assignor
@given(group=groups(equal=False, racks=True, loads=True))
@settings(max_examples=30)
def test_promises_hold_with_rates_and_capacities(name: str, group: GroupSnapshot) -> None:
    check_assignor(partial(create, name), group)


@pytest.mark.parametrize("name", ["range", "sticky", "cooperative-sticky"])
@given(group=groups(equal=False))
@settings(max_examples=30)
def test_promises_hold_without_javas_order(name: str, group: GroupSnapshot) -> None:
    check_assignor(partial(type(create(name)), java_order=False), group)
