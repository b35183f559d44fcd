"""``groupsim run`` says in words why records are read twice, or never."""

from __future__ import annotations

from typing import Any

from groupsim.analysis.text.delivery import delivery_lines
from tests.support.command_line import CommandLine
from tests.support.given_runs import flat


def row(group: str, kind: str, cause: str, records: int) -> dict[str, Any]:
    return {"group": group, "kind": kind, "cause": cause, "records": records}


def test_causes_are_told_most_first_with_means_over_runs() -> None:
    rows = [
        row("a", "duplicate", "kill", 20),
        row("a", "duplicate", "abort", 1_000),
        row("a", "duplicate", "abort", 1_000),
        row("a", "loss", "kill", 8),
        row("a", "output duplicate", "read_uncommitted", 999),
        row("b", "loss", "reset", 4),
    ]
    assert delivery_lines(rows, ["b", "a", "c"], 2) == [
        "b: records never read: 2 (reset); means of all runs",
        "a: records read twice: 1,000 (abort), 10 (kill); never read: 4 (kill); means of all runs",
    ]
    assert delivery_lines(rows[:1], ["a"], 1) == ["a: records read twice: 20 (kill)"]


def test_what_a_commit_before_processing_loses_is_told_as_the_table_has_it(groupsim: CommandLine) -> None:
    found = groupsim("run", "delivery-modes", "--json").json["delivery"]
    (lost,) = [one["records"] for one in found if one["kind"] == "loss"]
    told = flat(groupsim("run", "delivery-modes").out)
    assert f"billing: records never read: {lost} (kill)" in told


def test_nothing_is_said_where_each_record_is_read_once(groupsim: CommandLine) -> None:
    assert "records read" not in groupsim("run", "start-up-with-delay").out
