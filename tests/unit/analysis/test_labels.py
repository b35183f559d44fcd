"""What tells variants apart, and tables that say it in columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from groupsim.analysis.compare.comparison import compare_variants
from groupsim.analysis.compare.text import sections
from groupsim.analysis.data.design import Design, design_of
from groupsim.analysis.data.labels import heading, labels
from groupsim.analysis.stats.statistics import Estimate, estimate
from groupsim.analysis.text.summary import entries_table
from groupsim.analysis.text.tables import WIDTH

TIMEOUT, STRATEGY, COUNT = "session.timeout.ms", "partition.assignment.strategy", "count"


def grid(**bundles: Any) -> Design:
    """Two timeouts, two strategies and one count, in every bundle."""
    points = [(t, [s], 3) for t in (6000, 45000) for s in ("range", "cooperative-sticky")]
    names = [f"{TIMEOUT}={t}, {STRATEGY}={s}, {COUNT}={n}" for t, s, n in points]
    sets = {
        ", ".join(filter(None, (bundle, name))): {"set": dict(zip((TIMEOUT, STRATEGY, COUNT), point, strict=True))}
        for bundle in bundles or {"": None}
        for name, point in zip(names, points, strict=True)
    }
    return design_of({"design": "grid", "variants": bundles, "vary": dict.fromkeys((TIMEOUT, STRATEGY, COUNT))}, sets)


def test_columns_are_what_differs_and_the_note_is_what_is_shared() -> None:
    design = grid()
    found = labels(design.places, design)
    assert list(found.columns) == [TIMEOUT, STRATEGY]
    assert [found.of(one) for one in design.places][:2] == [("6000", "range"), ("6000", "cooperative-sticky")]
    assert found.note == "all with count=3"
    assert not found.points


def test_bundles_are_a_column_as_long_as_there_are_several() -> None:
    design = grid(eager=None, static=None)
    assert list(labels(design.places, design).columns) == ["variant", TIMEOUT, STRATEGY]
    eager = [one for one in design.places if one.startswith("eager")]
    found = labels(eager, design)
    assert list(found.columns) == [TIMEOUT, STRATEGY]
    assert found.note == "all with eager (variant), count=3"


def test_numbered_points_are_told_by_their_values_and_keep_their_numbers() -> None:
    sets = {f"p000{i}": {"set": {"a": i / 3, "b": 7}} for i in (1, 2)}
    design = design_of({"design": "sobol", "variants": {}, "vary": {"a": {"linear": [0, 1]}, "b": None}}, sets)
    found = labels(sets, design)
    assert (dict(found.columns), found.note) == ({"a": {"p0001": "0.333", "p0002": "0.667"}}, "all with b=7")
    assert dict(found.points) == {"p0001": "p0001", "p0002": "p0002"}
    assert design.told("p0001") == "p0001 (a=0.3333333333333333, b=7)"


def test_points_that_fall_together_are_told_by_their_names_too() -> None:
    sets = {f"p000{i}": {"set": {"a": 5, "b": i // 3}} for i in (1, 2, 3)}
    found = labels(sets, design_of({"design": "sobol", "variants": {}, "vary": {"a": None, "b": None}}, sets))
    assert [found.of(one) for one in sets] == [("p0001", "0"), ("p0002", "0"), ("p0003", "1")]


@pytest.mark.parametrize(
    ("name", "room", "expected"),
    [("count", 3, "count"), (TIMEOUT, 10, "session.\ntimeout.ms"), (STRATEGY, 18, "partition.\nassignment.\nstrategy")],
)
def test_headings_are_broken_at_dots(name: str, room: int, expected: str) -> None:
    assert heading(name, room) == expected


def test_no_two_rows_of_a_table_read_alike_at_80_columns() -> None:
    design = grid(eager=None, static=None)
    metrics = ["unavailable_gap_s_max", "unavailable_partition_s", "stop_the_world_s", "rebalances", "duplicates"]
    cells: list[Estimate] = [estimate([1.25 * i, 2.5 * i, 3.0]) for i in range(len(metrics))]
    table = entries_table({(one, "billing"): cells for one in design.places}, metrics, WIDTH, design)
    assert table.headers[:3] == ("variant", TIMEOUT, STRATEGY)
    assert len({row[:3] for row in table.rows}) == len(table.rows) == 8
    assert "cooperative-sticky" in table.rows[1], "nothing is cut that has room"
    assert "all with count=3" in table.notes
    assert sum(column.width + 3 for column in table.shown) - 3 <= WIDTH


def test_a_table_of_many_comparisons_says_what_each_row_is(sweep: Callable[..., pd.DataFrame]) -> None:
    design = grid()
    summary = sweep({name: [10.0 * i, 10.0 * i + 1] for i, name in enumerate(design.places)})
    (section,) = sections(compare_variants(summary, metrics=["unavailable_gap_s_max"], design=None), WIDTH, design)
    assert {TIMEOUT, STRATEGY} <= set(section.table.headers)
    at = [section.table.headers.index(name) for name in (TIMEOUT, STRATEGY)]
    told = [tuple(row[i] for i in at) for row in section.table.rows]
    assert told == [("6000", "cooperative-sticky"), ("45000", "range"), ("45000", "cooperative-sticky")]
    first = next(iter(design.places))
    assert section.table.notes == ("longest gap", "A: the variant of the row, all with count=3", f"B: {first}")
    assert [name for name, _ in section.findings] == [", ".join(one) for one in told]
