from __future__ import annotations

import csv
import io
from collections.abc import Callable
from types import SimpleNamespace

import pandas as pd
import pytest

from groupsim.analysis.compare.comparison import compare_variants
from groupsim.analysis.compare.text import comparison_table, notes, sections
from groupsim.analysis.data.metrics import HEADLINE, METRICS, Scale, duration, number, plus_minus, scale
from groupsim.analysis.text.summary import summary_table
from groupsim.analysis.text.tables import TextTable
from groupsim.sim.tables import SUMMARY

Maker = Callable[..., pd.DataFrame]
KEYS = {"scenario", "variant", "group", "seed", "replication", "horizon_s"}


def width(table: TextTable) -> int:
    """Characters of a terminal's line: cells, three blanks between."""
    columns = zip(table.headers, *table.rows, strict=True)
    return sum(max(map(len, column)) + 3 for column in columns) - 3


def test_every_number_of_a_summary_is_a_metric() -> None:
    assert set(METRICS) == set(SUMMARY) - KEYS - {"end_state"}
    assert set(HEADLINE) <= set(METRICS)


def test_units_follow_the_names_of_columns() -> None:
    for name, one in METRICS.items():
        seconds = name.endswith("_s") or "_s_" in name
        assert (one.unit in ("s", "partition·s")) == seconds, name


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        ([0.2, 0.9], "s", Scale(1e3, "ms")),
        ([0.2, 299.0], "s", Scale(1.0, "s")),
        ([300.0], "s", Scale(1 / 60, "min")),
        ([10_800.0], "partition·s", Scale(1 / 3600, "partition·h")),
        ([0.0, float("nan")], "s", Scale(1.0, "s")),
        ([2e6], "records", Scale(1e-6, "million records")),
        ([], "", Scale(1.0, "")),
    ],
)
def test_a_scale_fits_its_largest_value(values: list[float], unit: str, expected: Scale) -> None:
    assert scale(values, unit) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(12345.6, "12,346"), (12.345, "12.3"), (0.01234, "0.0123"), (3.0, "3"), (-0.0, "0"), (float("nan"), "-")],
)
def test_numbers_have_three_digits(value: float, expected: str) -> None:
    assert number(value) == expected


@pytest.mark.parametrize(
    ("mean", "half_width", "expected"),
    [(12.3456, 0.4123, "12.35 ± 0.41"), (1234.5, 56.7, "1,234 ± 57"), (7.25, None, "7.25"), (7.25, 0.0, "7.25")],
)
def test_a_mean_has_the_decimals_its_interval_deserves(mean: float, half_width: float | None, expected: str) -> None:
    assert plus_minus(mean, half_width, Scale(1.0, "s")) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.35, "350 ms"),
        (0.9996, "1.0 s"),
        (9.94, "9.9 s"),
        (99.96, "1:40 min"),
        (125.2, "2:05 min"),
        (3725.0, "1:02 h"),
    ],
)
def test_durations_are_for_people(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_one_run_lists_every_metric_below_one_another(small: SimpleNamespace) -> None:
    table = summary_table(small.tables["summary"])
    assert table.headers == ("metric", "unit", "billing")
    assert ("unread in total", "partition·s", "133") in table.rows
    assert ("recovery", "s", "-") in table.rows
    assert len(table.rows) == len(METRICS)
    assert table.notes == ("one run",)
    assert width(table) <= 80


def test_few_variants_stand_beside_one_another(sweep: Maker) -> None:
    table = summary_table(sweep({"range": [9.0, 11.0, 10.0], "cooperative-sticky": [5.0, 5.0, 5.0]}))
    assert table.headers == ("metric", "unit", "range", "cooperative-sticky")
    assert table.rows[0] == ("longest gap", "s", "10.0 ± 2.5", "5")  # 4.3027 * 1 / sqrt(3) = 2.48
    assert table.notes == ("3 runs each, ± is the 95 % interval; none where all runs agree",)
    assert width(table) <= 80


def test_many_variants_stand_below_one_another_in_80_characters(sweep: Maker) -> None:
    summary = sweep({f"variant number {i}": [float(i), i + 1.0] for i in range(12)})
    table = summary_table(summary)
    assert table.headers[:2] == ("variant", "max gap [s]")
    assert len(table.rows) == 12
    assert width(table) <= 80
    assert len(table.headers) < len(METRICS)
    assert width(summary_table(summary, width=60)) <= 60


def test_data_is_whole_and_exact_whatever_fits(sweep: Maker) -> None:
    summary = sweep({f"variant number {i}": [i + 1 / 3, i + 2 / 3] for i in range(12)})
    rows = list(csv.DictReader(io.StringIO(summary_table(summary).csv())))
    assert len(rows) == 12
    assert set(METRICS) <= set(rows[0])
    assert float(rows[0]["unavailable_gap_s_max"]) == (1 / 3 + 2 / 3) / 2
    assert float(rows[0]["unavailable_gap_s_max ±"]) == pytest.approx(12.7062047 / 6)
    assert rows[0]["recovery_s"] == ""


def test_records_are_plain_values_with_none_for_null(sweep: Maker) -> None:
    first = summary_table(sweep({"a": [1.0]}), ["recovery_s", "rebalances"]).records()
    assert first == [
        {"metric": "recovery_s", "unit": "s", "billing": None, "billing ±": None, "billing n": 0},
        {"metric": "rebalances", "unit": "", "billing": 6.0, "billing ±": None, "billing n": 1},
    ]


def test_markdown_is_a_table_whose_cells_may_hold_bars(sweep: Maker) -> None:
    text = summary_table(sweep({"a|b": [1.0], "c": [2.0]}), ["rebalances"]).markdown()
    assert text == "| metric | unit | a\\|b | c |\n| --- | --- | ---: | ---: |\n| rebalances |  | 6 | 6 |\n\none run\n"


def test_runs_without_a_value_are_named(sweep: Maker) -> None:
    summary = sweep({"a": [1.0, 2.0]}).assign(recovery_s=[3.0, float("nan")])
    assert "some runs have no value and are left out: recovery" in summary_table(summary).notes


def test_a_comparison_fits_80_characters_and_says_the_verdict(sweep: Maker) -> None:
    summary = sweep({"cooperative-sticky": [9.0, 11.0, 10.5, 12.0], "static": [5.0, 6.9, 6.6, 8.0]})
    table = comparison_table(compare_variants(summary, "cooperative-sticky"))
    assert table.headers[0] == "metric"
    assert table.headers[-1] == "verdict"
    assert table.rows[0][0] == "longest gap"
    assert table.rows[0][-1] == "A better"
    assert table.headers == ("metric", "unit", "mean A", "mean B", "A - B, 95 %", "verdict")
    assert "static is lower than cooperative-sticky by" in str(table.records()[0]["sentence"])
    assert width(table) <= 80


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([1.0], [2.0], "too few pairs"),
        ([1.0, 1.0], [1.0, 1.0], "the same"),
        ([3.0, 3.0], [1.0, 1.0], "A worse, always"),
        ([1.0, 2.0, 3.0], [1.5, 1.5, 3.0], "unclear"),
        ([5.0, 6.1, 7.0], [1.0, 2.0, 3.0], "A worse"),
    ],
)
def test_verdicts(sweep: Maker, a: list[float], b: list[float], verdict: str) -> None:
    comparisons = compare_variants(sweep({"b": b, "a": a}), "b", ["unavailable_gap_s_max"])
    assert comparison_table(comparisons).rows[0][-1] == verdict


def test_several_variants_are_named_in_their_rows(sweep: Maker) -> None:
    comparisons = compare_variants(sweep({"x": [1.0, 2.0], "y": [2.0, 2.5], "z": [4.0, 5.0]}), "x", ["rebalances"])
    table = comparison_table(comparisons, width=None)
    assert table.headers[:4] == ("metric", "unit", "A", "B")
    assert [row[2:4] for row in table.rows] == [("y", "x"), ("z", "x")]


def test_each_pair_has_a_table_and_what_can_be_concluded(sweep: Maker) -> None:
    summary = sweep({"x": [1.0, 2.0, 4.0], "y": [5.0, 6.1, 8.0], "z": [1.0, 2.0, 4.0]})
    y, z = sections(compare_variants(summary, "x", ["unavailable_gap_s_max", "losses"]))
    assert (y.title, z.title) == ("y (A) against x (B)", "z (A) against x (B)")
    assert len(y.table.rows) == 2
    assert y.findings[0] == ("longest gap", "higher by 4.03 ± 0.14 s (95 %), in 3 of 3 pairs")
    assert z.findings[0] == ("longest gap", "no difference in all 3 pairs; without spread there is no interval")
    assert y.findings[1][0] == "losses"


def test_more_pairs_than_metrics_share_a_table(sweep: Maker) -> None:
    summary = sweep({"x": [1.0, 2.0, 4.0], "y": [5.0, 6.1, 8.0], "z": [1.0, 2.0, 4.0]})
    (section,) = sections(compare_variants(summary, "x", ["unavailable_gap_s_max"]))
    assert section.title == ""
    assert [row[2] for row in section.table.rows] == ["y", "z"]
    assert [name for name, _ in section.findings] == ["y", "z"]
    more = sweep({name: [1.0, 2.0] for name in "xyzq"})
    (section,) = sections(compare_variants(more, "x", ["rebalances", "losses"]))
    assert [name for name, _ in section.findings[:3]] == ["y: rebalances", "y: losses", "z: rebalances"]


def test_sections_of_several_groups_name_the_group(sweep: Maker) -> None:
    summary = sweep({"x": [1.0, 2.0], "y": [2.0, 2.5]})
    both = pd.concat([summary, summary.assign(group="audit")], ignore_index=True)
    told = [one.title for one in sections(compare_variants(both, "x", ["rebalances", "losses"]))]
    assert sorted(told) == ["y (A) against x (B), group audit", "y (A) against x (B), group billing"]


def test_notes_say_what_is_compared_corrected_and_won(sweep: Maker) -> None:
    summary = sweep({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0], "z": [6.0, 4.0, 2.0]})
    told = list(notes(compare_variants(summary, "x", ["unavailable_gap_s_max", "losses"])))
    assert told == [
        "3 pairs of runs with the same faults",
        "verdicts are corrected for 2 tests at once (Holm); intervals stand alone",
        "common faults cut the variance of A - B by 0 % (median; from -80 % to 80 %)",
        "where that is negative pairing did not pay: longest gap",
    ]


def test_notes_tell_independent_runs_from_pairs(sweep: Maker) -> None:
    summary = sweep({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]})
    summary.loc[summary["variant"] == "y", "seed"] = 2
    first, *_ = notes(compare_variants(summary, "x", ["unavailable_gap_s_max"]))
    assert first == "3 runs each without common faults: independent (Welch)"


def test_what_no_pair_has_a_value_of_is_null_in_data(sweep: Maker) -> None:
    summary = sweep({"x": [1.0, 2.0], "y": [2.0, 2.5]}).assign(recovery_s=float("nan"))
    (row,) = comparison_table(compare_variants(summary, "x", ["recovery_s"])).records()
    assert (row["a_better"], row["difference"], row["difference n"]) == (None, None, 0)
    assert str(row["sentence"]).startswith("recovery: nothing to compare")


def test_empty_tables_are_tables(empty: SimpleNamespace) -> None:
    table = summary_table(empty.tables["summary"])
    assert table.notes == ("no runs",)
    assert comparison_table([]).rows == []


def test_long_names_are_cut_before_the_best_metrics_are_lost(sweep: Maker) -> None:
    names = [f"{'a-rather-long-name-of-a-variant-that-leaves-no-room' * 2}-{i}" for i in range(12)]
    table = summary_table(sweep({name: [float(i), i + 1.0] for i, name in enumerate(names)}))
    assert table.headers[:4] == ("variant", "max gap [s]", "unread [partition·min]", "stopped [s]")
    assert width(table) <= 80
    shown = [row[0] for row in table.rows]
    assert len(set(shown)) == 12
    assert all("…" in name and name[-3:] == whole[-3:] for name, whole in zip(shown, names, strict=True))
    assert [row["variant"] for row in table.records()] == names


def test_comparisons_of_long_names_keep_what_they_say(sweep: Maker) -> None:
    summary = sweep({f"{'another-long-name-' * 4}{i}": [i + 1.0, i + 2.5, i + 1.7] for i in range(3)})
    table = comparison_table(compare_variants(summary))
    assert width(table) <= 80
    assert [row[0] for row in table.rows[:2]] == ["longest gap", "unread in total"]
    assert all("…" in row[2] for row in table.rows)


def test_one_group_of_many_without_variants_has_no_column_for_them(sweep: Maker) -> None:
    one = sweep({"": [1.0, 2.0]})
    groups = pd.concat([one.assign(group=f"group-{i}") for i in range(20)], ignore_index=True)
    table = summary_table(groups)
    assert table.headers[:2] == ("group", "max gap [s]")
    assert width(table) <= 80
