"""Polls of a member as stretches of ownership."""

from __future__ import annotations

from typing import Any

from tests.oracle.reading import Reading

A, B = ("orders", 0), ("orders", 1)


def reading() -> Reading:
    one = Reading("g/0", 2)
    one.assigned(100, [A, B])
    return one


def stretch(one: Reading, partition: tuple[str, int]) -> dict[str, Any]:
    return next(each for each in one.closed if each["partition"] == partition)


def test_a_stretch_runs_from_assigned_to_revoked_and_adds_up_polls() -> None:
    one = reading()
    one.fetched(110, [A])
    one.polled(120, {A: (5, 8, 3)})
    one.polled(130, {A: (8, 9, 1)})
    one.ended(150, [A])
    assert stretch(one, A) == {
        "what": "read", "member": "g/0", "incarnation": 2, "partition": A, "from_us": 100, "first_fetch_us": 110,
        "last_us": 130, "to_us": 150, "from_offset": 5, "next_offset": 9, "records": 4,
    }  # fmt: skip


def test_a_poll_without_records_counts_as_the_last_one() -> None:
    one = reading()
    one.polled(120, {A: (5, 8, 3)})
    one.polled(220, {})
    one.ended(300)
    assert [stretch(one, each)["last_us"] for each in (A, B)] == [220, 220]
    assert stretch(one, B)["from_offset"] is None


def test_only_the_first_fetch_counts() -> None:
    one = reading()
    one.fetched(110, [A])
    one.fetched(115, [A, B])
    assert one.is_fetching
    one.ended(300)
    assert [stretch(one, each)["first_fetch_us"] for each in (A, B)] == [110, 115]


def test_what_is_kept_goes_on_while_something_else_is_given_away() -> None:
    one = reading()
    one.ended(150, [B])
    one.polled(160, {A: (1, 2, 1)})
    assert one.owned == {A}
    one.ended(200)
    assert [(each["partition"], each["to_us"]) for each in one.closed] == [(B, 150), (A, 200)]


def test_a_partition_that_comes_back_begins_another_stretch() -> None:
    one = reading()
    one.ended(150)
    one.assigned(160, [A])
    one.ended(200)
    assert [each["from_us"] for each in one.closed if each["partition"] == A] == [100, 160]
