"""In what a replay can differ from its recording, on traces of a few facts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.oracle.comparison import differences
from tests.oracle.trace import Fact

WHO = {"member": "g/0", "incarnation": 0}


def transition(at_us: int, state: str, generation: int) -> Fact:
    """A step of the group."""
    told = {"what": "transition", "at_us": at_us, "group": "g", "state": state, "generation": generation}
    return {**told, "members": 1, "trigger": "join" if state == "PreparingRebalance" else None}


def request(at_us: int, error: str | None = None) -> Fact:
    """An OffsetCommit that is sent, or its refusal."""
    return {"what": "request", "at_us": at_us, **WHO, "api": "OffsetCommit", "error": error}


def read(first_us: int, last_us: int) -> Fact:
    """A stretch of reading."""
    times = {"from_us": first_us, "first_fetch_us": first_us, "to_us": last_us}
    return {"what": "read", **WHO, "partition": "orders-0", **times}


RECORDING: Sequence[Fact] = (
    transition(0, "PreparingRebalance", 0),
    transition(3_000_000, "CompletingRebalance", 1),
    transition(3_010_000, "Stable", 1),
    request(8_000_000),
    request(13_000_000),
    request(13_005_000, "UNKNOWN_MEMBER_ID"),
    {"what": "error", "at_us": 14_000_000, **WHO, "error": "FencedInstanceIdException"},
    read(3_100_000, 8_000_000),
    read(10_000_000, 14_000_000),
)
COMMITS: Fact = {"what": "commits", "at_us": 20_000_000, **WHO, "sent": 2}
TOLD: Sequence[Fact] = (
    *(fact for fact in RECORDING if fact["what"] not in ("request", "error") or fact.get("error")),
    COMMITS,
)
"""As the simulator tells it: commits as a number."""


def without(what: str) -> list[Fact]:
    """The replay without some of its facts."""
    return [fact for fact in TOLD if fact["what"] != what]


def test_equal_runs_have_no_differences() -> None:
    told = [{**fact, "error": "FENCED_INSTANCE_ID"} if fact["what"] == "error" else fact for fact in TOLD]
    assert differences(RECORDING, told) == []


@pytest.mark.parametrize(
    ("told", "where"),
    [
        ([*without("commits"), {**COMMITS, "sent": 3}], "commits of g/0/0"),
        (without("request"), "commits of g/0/0"),
        ([*without("request"), request(13_005_000, "ILLEGAL_GENERATION")], "commits of g/0/0"),
        (without("error"), "error of g/0/0"),
        ([*without("read"), read(3_100_000, 8_000_000), read(10_101_000, 14_000_000)], "orders-0 unread"),
        ([*without("read"), {**read(3_100_000, 14_000_000), "member": "g/1"}], "readers of orders-0"),
        ([fact for fact in TOLD if fact.get("state") != "Stable"], "step 3"),
    ],
)
def test_a_difference_is_told_with_its_place(told: list[Fact], where: str) -> None:
    assert differences(RECORDING, told)[0].where.startswith(where)


def test_a_tenth_of_a_second_is_allowed() -> None:
    told = [*without("read"), read(3_100_000, 8_000_000), read(10_099_000, 14_000_000)]
    assert differences(RECORDING, told) == []
