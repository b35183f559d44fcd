"""What is said of partitions that brokers kept from being read."""

from __future__ import annotations

from typing import Any

import numpy as np

from groupsim.analysis.text.held_up import held_up_lines

S = 1_000_000
Row = tuple[str, str, int, float, float, str]


def columns(*rows: Row) -> dict[str, Any]:
    names = ("group", "topic", "partition", "from_us", "to_us", "detail")
    found = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
    return found | {name: (found[name] * S).astype(np.int64) for name in ("from_us", "to_us")}


def test_what_several_groups_waited_for_counts_once() -> None:
    rows: list[Row] = [(group, "t", number, 112, 133, "min_isr") for group in "ab" for number in range(3)]
    assert held_up_lines(columns(*rows)) == [
        "brokers: 3 partitions had fewer in sync than min.insync.replicas (from 1:52 to 2:13; 21 s at most)"
    ]


def test_stretches_are_counted_and_the_longest_reason_is_first() -> None:
    told = held_up_lines(
        columns(
            ("a", "t", 0, 10, 12, "new_leader"),
            ("a", "t", 1, 11, 13, "new_leader"),
            ("a", "u", 0, 3700, 3701.5, "new_leader"),
            ("a", "t", 0, 20, 28, "no_leader"),
            ("a", "t", 0, 30, 90, ""),
            ("a", "t", 0, 90, 90.05, "high_watermark"),
        )
    )
    assert told == [
        "brokers: 1 partition had no leader (from 0:20 to 0:28; 8 s at most)",
        "brokers: 3 partitions waited for a new leader to begin, and for followers that asked it too early"
        " (in 2 stretches, 0:10 to 1:01:42; 2 s at most)",
    ]


def test_nothing_is_said_where_brokers_held_nothing_up() -> None:
    assert held_up_lines(columns(("a", "t", 0, 10, 12, ""))) == []


def test_a_stretch_within_another_is_part_of_it() -> None:
    rows: list[Row] = [
        ("a", "t", 0, 10, 20, "min_isr"),
        ("a", "t", 1, 11, 12, "min_isr"),
        ("a", "t", 2, 15, 16, "min_isr"),
    ]
    assert "(from 0:10 to 0:20; 10 s at most)" in held_up_lines(columns(*rows))[0]
