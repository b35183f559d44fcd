"""Assignors in trials, as tables and as a figure."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.assignor_text import BRIEF, costs_table, failures, moves_tables
from analysis.figures import trials
from analysis.text import TextTable

EVENTS = ("full", "stable", "join one", "join many", "leave one, first", "leave one, middle", "leave one, last",
          "leave one, mean", "leave many", "partitions added")  # fmt: skip


def records(assignor: str, moved: float | None, least: float | None, **others: Any) -> list[dict[str, Any]]:
    numbers = {"rounds": 1, "imbalance_partitions": 0, "imbalance_rate": None, "cross_rack_share": None}
    return [
        {"assignor": assignor, "event": event, "moved": moved, "least": least, "seconds": 0.0015, "failure": None}
        | numbers
        | others
        for event in EVENTS
    ]


def widest(table: TextTable) -> int:
    columns = zip(table.headers, *table.rows, strict=True)
    return sum(max(map(len, column)) + 3 for column in columns) - 3


def test_moves_stand_with_what_had_to_where_that_is_less() -> None:
    growing, shrinking = moves_tables(records("range", 55, 10) + records("sticky", 10, 10), many=4)
    assert growing.headers == ("assignor", "stable", "join 1", "join 4", "added")
    assert shrinking.headers == ("assignor", "leave 1: first", "middle", "last", "mean", "leave 4")
    assert growing.rows == [("range", *["55 (10)"] * 4), ("sticky", *["10"] * 4)]


def test_large_numbers_keep_the_table_within_its_width() -> None:
    _, shrinking = moves_tables(records("range", 999_999, 100_000) + records("sticky", 100_000, 100_000), many=4)
    assert shrinking.notes == (BRIEF,)
    assert shrinking.rows[0][1:3] == ("999,999 *", "999,999 *")
    assert shrinking.rows[1][1] == "100,000"
    assert widest(shrinking) <= 80


def test_what_has_no_moves_has_a_dash_and_what_fails_says_so() -> None:
    failing = records("own", None, None, failure="InvalidAssignment: twice")
    growing, _ = moves_tables(records("broadcast", None, None) + failing, many=4)
    assert [row[1] for row in growing.rows] == ["-", "fails"]
    assert failures(failing) == ["own fails: InvalidAssignment: twice"]


def test_costs_leave_out_what_nobody_knows() -> None:
    assert costs_table(records("range", 1, 1)).headers == (
        "assignor", "rounds", "uneven", "full [ms]", "leave [ms]", "join [ms]"
    )  # fmt: skip
    known = costs_table(records("range", 1, 1, imbalance_rate=4.5, cross_rack_share=0.25, rounds=2))
    assert known.headers[:5] == ("assignor", "rounds", "uneven", "uneven rate", "cross-rack")
    assert known.rows[0][1:6] == ("2", "0", "4.50", "25%", "1.50")
    assert widest(known) <= 80


@pytest.mark.parametrize("n", [1, 12])
def test_the_figure_has_a_panel_per_event_and_a_bar_per_assignor(n: int) -> None:
    some = [one for i in range(n) for one in records(f"assignor-{i}", 10 * i, 5 * i)]
    figure = trials([*some, *records("broadcast", None, None)], "many members")
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in panels] == list(EVENTS[1:])
    assert [round(bar.get_width()) for bar in panels[0].patches] == [10 * i for i in range(n)]  # type: ignore[attr-defined]
    assert [line.get_xdata()[0] for line in panels[0].lines] == [5 * i for i in range(n)]  # type: ignore[index]
    assert panels[0].texts[-1].get_text() == "-"
    assert len(panels[0].get_yticklabels()) == n + 1
    assert len(panels[1].get_yticklabels()) == 0
