"""Targets and index ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.scenarios.schema.targets import format_indices, format_target, parse_indices, parse_target
from groupsim.sim.model import Target


@pytest.mark.parametrize(
    ("text", "indices"),
    [("3", (3,)), (3, (3,)), ("0-3,7", (0, 1, 2, 3, 7)), ("7, 0-1", (0, 1, 7)), ("2-2", (2,)), ("1,1,0-2", (0, 1, 2))],
)
def test_indices_are_numbers_and_ranges(text: object, indices: tuple[int, ...]) -> None:
    assert parse_indices(text) == indices


@pytest.mark.parametrize("text", ["", "a", "-1", "3-", "1,,2", "1.5", None, True, [1], "3-1", "0-9999999", "²"])
def test_what_is_no_range_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="must"):
        parse_indices(text)


@given(st.frozensets(st.integers(0, 1000), min_size=1))
def test_every_set_of_indices_reads_back(indices: frozenset[int]) -> None:
    assert parse_indices(format_indices(indices)) == tuple(sorted(indices))


def test_indices_are_written_in_ranges() -> None:
    assert format_indices([7, 0, 1, 2, 9, 10]) == "0-2,7,9-10"


TARGETS = [
    ("billing", Target("group", "billing")),
    ("billing-0.eu_1", Target("group", "billing-0.eu_1")),
    ("billing/3", Target("group", "billing", "index", indices=(3,))),
    ("billing/0-2,7", Target("group", "billing", "index", indices=(0, 1, 2, 7))),
    ("billing/leader", Target("group", "billing", "leader")),
    ("billing/random", Target("group", "billing", "random")),
    ("billing/random:3", Target("group", "billing", "random", count=3)),
    ("billing/share:0.1", Target("group", "billing", "share", share=0.1)),
    ("billing/share:1", Target("group", "billing", "share", share=1.0)),
    ("broker:1", Target("broker", "1")),
    ("broker:0-2,4", Target("broker", "0-2,4", indices=(0, 1, 2, 4))),
    ("broker:all", Target("broker", "all")),
    ("broker:random", Target("broker", "random")),
    ("broker:controller", Target("broker", "controller")),
    ("broker:coordinator/billing", Target("broker", "coordinator/billing")),
    ("broker:leader/orders/3", Target("broker", "leader/orders/3")),
    ("rack:a", Target("rack", "a")),
]


@pytest.mark.parametrize(("text", "target"), TARGETS)
def test_a_target_has_one_of_these_forms(text: str, target: Target) -> None:
    assert parse_target(text) == target


@pytest.mark.parametrize("target", [target for _, target in TARGETS])
def test_every_target_reads_back(target: Target) -> None:
    assert parse_target(format_target(target)) == target


@pytest.mark.parametrize(
    "text",
    ["", "a b", "billing/", "billing/x", "billing/random:0", "billing/random:x", "billing/share:0", "billing/share:1.1",
     "billing/share", "billing/leader:1", "broker:x", "broker:", "broker:leader/orders",
     "broker:2-1", "broker:coordinator/", "rack:", "zone:a", "billing/3/4", 3, None, ["a"]],
)  # fmt: skip
def test_what_is_no_target_is_refused_with_the_forms(text: object) -> None:
    """All of them, or those of its kind (`test_first_mistakes` has which)."""
    with pytest.raises(ValueError, match=r"group/share:0\.1|broker:leader/TOPIC/PARTITION|zookeeper:leader"):
        parse_target(text)
