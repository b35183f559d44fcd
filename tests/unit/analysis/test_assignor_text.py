"""Assignors in trials, as tables and as a figure."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.analysis.figures import trials
from groupsim.analysis.text.assignors import BRIEF, costs_tables, event_table, failures, how_to_read, moves_tables
from groupsim.analysis.text.tables import TextTable

EVENTS = ("full", "stable", "join one", "join many", "leave one, first", "leave one, middle", "leave one, last",
          "leave one, mean", "leave many", "partitions added")  # fmt: skip


def records(assignor: str, moved: float | None, least: float | None, **others: Any) -> list[dict[str, Any]]:
    numbers = {"rounds": 1, "imbalance_partitions": 0, "imbalance_rate": None, "cross_rack_share": None,
               "cross_rack_rate": None}  # fmt: skip
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
    (table,) = costs_tables(records("range", 1, 1))
    assert table.headers == ("assignor", "rounds", "uneven", "full", "join 1", "leave 1: middle")
    assert table.rows == [("range", "1", "0", "1.5", "1.5", "1.5")]


KNOWN: dict[str, Any] = {
    "imbalance_partitions": 12, "imbalance_rate": 3_000_000.0, "cross_rack_share": 0.25, "cross_rack_rate": 12_345_678.0
}  # fmt: skip


def test_costs_that_do_not_fit_beside_one_another_are_two_tables_and_no_column_is_lost() -> None:
    found = records("cooperative-sticky", 1, 1, rounds=2, **KNOWN)
    balance, time = costs_tables(found)
    assert balance.headers == ("assignor", "rounds", "uneven", "cross-rack")
    assert balance.rows == [("cooperative-sticky", "2", "12 (3,000,000)", "25% (12,345,678)")]
    assert time.headers == ("assignor", "full", "join 1", "leave 1: middle")
    assert max(widest(balance), widest(time)) <= 80
    assert len(costs_tables(found, width=200)) == 1


def test_the_most_is_looked_for_number_by_number() -> None:
    first, *others = records("range", 1, 1, imbalance_partitions=1, imbalance_rate=7.0)
    (table,) = costs_tables([first | {"imbalance_partitions": 3, "imbalance_rate": 2.0}, *others])
    assert table.rows[0][2] == "3 (7)"


def test_an_event_has_everything_in_80_columns() -> None:
    table = event_table(records("cooperative-sticky", 123_456, 98_765, **KNOWN), "join many")
    assert table.headers == ("assignor", "moved", "rounds", "uneven", "cross-rack", "ms")
    assert table.rows[0][1:] == ("123,456 (98,765)", "1", "12 (3,000,000)", "25% (12,345,678)", "1.5")
    assert widest(table) <= 80
    assert "(of rates)" in how_to_read(records("range", 1, 1, **KNOWN))
    assert "cross-rack" not in how_to_read(records("range", 1, 1))


@pytest.mark.parametrize("n", [1, 12])
def test_the_figure_has_a_block_per_measure_with_a_panel_per_event_and_a_bar_per_assignor(n: int) -> None:
    some = [one for i in range(n) for one in records(f"assignor-{i}", 10 * (i + 1), 5, **KNOWN)]
    figure = trials([*some, *records("broadcast", None, None)], "many members")
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert len(panels) == 7 * len(EVENTS)
    assert [axes.get_title(loc="left") for axes in panels[4:7]] == ["leave: first", "leave: middle", "leave: last"]
    widths = [bar.get_width() for bar in panels[0].patches]  # type: ignore[attr-defined]
    assert widths == pytest.approx([0.5 * (i + 1) / n for i in range(n)])
    assert panels[0].lines[0].get_xdata()[0] == pytest.approx(0.5 * 5 / (10 * n))  # type: ignore[index]
    assert panels[0].texts[-1].get_text() == "-"
    assert panels[5 * len(EVENTS)].texts[0].get_text() == "12.3 M"
    assert len(panels[0].get_yticklabels()) == n + 1
    assert len(panels[1].get_yticklabels()) == 0


def test_the_figure_leaves_out_what_nobody_knows() -> None:
    figure = trials(records("range", 1, 1), "few")
    assert len([axes for axes in figure.axes if axes.get_title(loc="left")]) == 4 * len(EVENTS)
