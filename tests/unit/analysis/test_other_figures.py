from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from groupsim.analysis.data.design import design_of
from groupsim.analysis.errors import ResultError, SchemaMismatch
from groupsim.analysis.figures import compare, lag, save
from groupsim.analysis.stats.statistics import estimate

Maker = Callable[..., pd.DataFrame]
GAP = ["unavailable_gap_s_max"]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_title(loc="left")]


def row_labels(axes: Axes, column: int = 0) -> list[str]:
    """The labels left of a panel, from the top, in one of their columns."""
    left = [text for text in axes.texts if text.xy[0] == 0 and text.xycoords == ("axes fraction", "data")]
    places = sorted({text.xyann[0] for text in left})
    rows = [text for text in left if places and text.xyann[0] == places[column]]
    return [text.get_text() for text in sorted(rows, key=lambda text: text.xy[1])]


def intervals(axes: Axes) -> list[tuple[float, float, float]]:
    """(row, from, to) of each interval drawn."""
    lines = [line for line in axes.lines if line.get_linestyle() == "-" and len(line.get_xdata()) == 2]
    return [(line.get_ydata()[0], *line.get_xdata()) for line in lines]


def test_variants_are_sorted_and_have_their_intervals(sweep: Maker) -> None:
    values = {"range": [9.0, 11.0, 10.0], "static": [1.0, 2.0, 3.0], "sticky": [5.0, 6.0, 4.5]}
    (panel,) = panels(compare(sweep(values), GAP))
    assert row_labels(panel) == ["static", "sticky", "range"]
    expected = estimate(values["static"])
    assert intervals(panel)[0] == pytest.approx((0, max(expected.low, 0), expected.high))
    assert len(intervals(panel)) == 3


def test_each_panel_has_its_title_and_unit(sweep: Maker) -> None:
    figure = compare(sweep({"a": [400.0, 420.0], "b": [500.0, 520.0]}), [*GAP, "rebalances"])
    assert [(axes.get_title(loc="left"), axes.get_xlabel()) for axes in panels(figure)] == [
        ("longest gap", "min"),
        ("rebalances", "count"),
    ]
    assert row_labels(panels(figure)[1]) == []  # the rows are named once a line
    assert len(panels(compare(sweep({"a": [1.0], "b": [2.0]})))) == 8


def test_what_stands_beside_a_panel_does_not_run_into_the_next(sweep: Maker) -> None:
    figure = compare(sweep({"a": [4.0, 5.0], "b": [6.0, 9.0]}))
    on_a_line = [
        (left, right) for left, right in pairwise(panels(figure)) if left.get_position().y0 == right.get_position().y0
    ]
    assert len(on_a_line) >= 4
    assert all(left.get_tightbbox().x1 < right.get_window_extent().x0 for left, right in on_a_line)


def test_single_runs_have_open_dots_and_no_interval(sweep: Maker) -> None:
    figure = compare(sweep({"a": [4.0], "b": [5.0]}), GAP)
    assert intervals(panels(figure)[0]) == []
    assert {line.get_markerfacecolor() for line in panels(figure)[0].lines if line.get_marker() == "o"} == {"white"}
    assert "one run each (open dots): no interval" in texts(figure)


def test_a_metric_without_values_shows_none(sweep: Maker) -> None:
    figure = compare(sweep({"a": [4.0, 5.0], "b": [5.0, 6.0]}), ["recovery_s"])
    assert [text for text in texts(figure) if text == "-"] == ["-", "-"]
    assert any("runs without a value are left out" in text for text in texts(figure))


def test_an_interval_is_drawn_to_its_ends(sweep: Maker) -> None:
    (panel,) = panels(compare(sweep({"a": [30.0, 34.0]}), GAP))
    low, high = panel.get_xlim()
    _, start, end = intervals(panel)[0]
    assert low < start < 7 < 57 < end < high  # 32 ± 25


def test_what_is_nearly_the_same_is_not_drawn_far_apart(sweep: Maker) -> None:
    (panel,) = panels(compare(sweep({"a": [40.0, 40.0], "b": [40.01, 40.01]}), GAP))
    low, high = panel.get_xlim()
    assert high - low > 0.4


def test_no_interval_reaches_below_zero(sweep: Maker) -> None:
    figure = compare(sweep({"a": [10.0, 14.0]}), GAP)  # 12 ± 25
    (panel,) = panels(figure)
    assert intervals(panel)[0][1] == 0
    assert any("95 % interval, cut at zero" in text for text in texts(figure))


def test_counts_have_whole_numbers_on_their_axis(sweep: Maker) -> None:
    (panel,) = panels(compare(sweep({"a": [1.0], "b": [1.0]}, rebalances=1), ["rebalances"]))
    assert all(tick == round(tick) for tick in panel.get_xticks())


def test_rows_of_a_sweep_have_a_column_for_each_thing_that_varies(sweep: Maker) -> None:
    timeout, strategy, retries = "a.session.timeout.ms", "a.partition.assignment.strategy", "retries"
    points = {"p0001": (6000, ["range"], 3), "p0002": (45000, ["range"], 3), "p0003": (6000, ["sticky"], 3)}
    document = {"design": "grid", "variants": {}, "vary": {timeout: [], strategy: [], retries: []}}
    sets = {name: {"set": dict(zip((timeout, strategy, retries), one, strict=True))} for name, one in points.items()}
    figure = compare(sweep({"p0001": [1.0], "p0002": [2.0], "p0003": [3.0]}), GAP, design_of(document, sets))
    (panel,) = panels(figure)
    assert row_labels(panel, 0) == ["6000", "45000", "6000"]
    assert row_labels(panel, 1) == ["range", "range", "sticky"]
    assert {"a.session.\ntimeout.ms", "a.\npartition.\nassignment.\nstrategy"} <= set(texts(figure))
    assert any(text.startswith("all with retries=3 · ") for text in texts(figure))


def test_many_runs_are_not_drawn_one_by_one(sweep: Maker) -> None:
    figure = compare(sweep({"a": [float(i) for i in range(501)], "b": [1.0, 2.0]}), GAP)
    (panel,) = panels(figure)
    assert [len(line.get_xdata()) for line in panel.lines if line.get_marker() == "|"] == [2, 0]
    bar, ticks = "bar: 95 % interval, cut at zero: no metric is below", "ticks: single runs, in rows of at most 500"
    assert f"dot: mean of 2 to 501 runs; {bar}; {ticks}" in texts(figure)


def test_groups_are_told_apart(sweep: Maker) -> None:
    summary = sweep({"a": [4.0, 5.0]})
    both = pd.concat([summary, summary.assign(group="audit").astype(summary.dtypes)])
    assert sorted(row_labels(panels(compare(both, GAP))[0])) == ["audit", "billing"]


def test_twelve_variants_are_all_there(sweep: Maker) -> None:
    names = [f"a rather long name of variant {i}" for i in range(12)]
    figure = compare(sweep({name: [float(i), i + 0.5] for i, name in enumerate(names)}))
    assert row_labels(panels(figure)[0]) == names
    assert figure.get_size_inches()[1] < 15


def test_nothing_to_compare_is_a_figure_or_a_reason(sweep: Maker, empty: SimpleNamespace) -> None:
    assert "no runs" in texts(compare(empty.tables["summary"]))
    with pytest.raises(ResultError, match="no metric"):
        compare(sweep({"a": [1.0]}), [])
    with pytest.raises(ResultError, match="did you mean 'rebalances'"):
        compare(sweep({"a": [1.0]}), ["rebalance"])
    with pytest.raises(SchemaMismatch, match="missing column"):
        compare(sweep({"a": [1.0]}).drop(columns="seed"))


def test_lag_is_drawn_in_records_and_in_time(small: SimpleNamespace) -> None:
    figure = lag(small)
    records, age = (axes for axes in figure.axes if axes.get_ylabel())
    assert (records.get_ylabel(), age.get_ylabel()) == ("lag (records)", "age (ms)")
    (curve,) = [line for line in records.lines if len(line.get_xdata()) > 2]
    assert list(curve.get_ydata()) == small.tables["lag"]["lag_records"].tolist()
    assert curve.get_xdata()[-1] == 240.0
    assert {"deploy: 0", "oom: 2", "Lag of billing"} <= set(texts(figure))


def test_the_lag_of_the_start_does_not_set_the_scale_of_what_is_measured(small: SimpleNamespace) -> None:
    frame = small.tables["lag"]
    is_start = frame["time_us"] < 60_000_000
    lags = frame["lag_records"].where(is_start, 50).where(~is_start, 500)
    tables = {**small.tables, "lag": frame.assign(lag_records=lags)}
    measured = SimpleNamespace(tables=tables, manifest={"scenario": {}, "document": {"measure": {"from": "60s"}}})
    whole, counted = lag(SimpleNamespace(tables=tables, manifest=small.manifest)), lag(measured)
    highest = [max(axes.get_ylim()[1] for axes in one.axes if "lag" in axes.get_ylabel()) for one in (whole, counted)]
    assert highest == pytest.approx([1.05 * 500, 1.05 * 50])
    note = "above the axis: outside measure, not counted"
    assert (note in " ".join(texts(whole)), note in " ".join(texts(counted))) == (False, True)


def test_many_groups_are_grey_but_the_worst(make_table: Maker) -> None:
    rows = [{"group": f"g{i:02d}", "time_us": t, "lag_records": i * t} for i in range(20) for t in (0, 10**6)]
    worst = [{"group": f"g{i:02d}", "horizon_s": 1.0, "lag_records_max": 20.0 * 10**6 * (i == 5)} for i in range(20)]
    worst = [{**one, "lag_s_max": float(i)} for i, one in enumerate(worst)]
    tables = {"lag": make_table("lag", rows), "events": make_table("events"), "summary": make_table("summary", worst)}
    figure = lag(tables)
    named = [text for text in texts(figure) if text.startswith("g") and text != "group"]
    assert named == ["g05", *(f"g{i}" for i in range(19, 12, -1))], "by exact peaks, whatever the samples have met"
    assert any("12 more groups, of no higher peak, in grey" in text for text in texts(figure))


def test_groups_without_lag_have_no_colour_beside_those_that_have(make_table: Maker) -> None:
    rows = [{"group": f"g{i:02d}", "time_us": t} for i in range(20) for t in (0, 10**6)]
    peaks = [{"group": f"g{i:02d}", "horizon_s": 1.0, "lag_records_max": float(i == 17)} for i in range(20)]
    figure = lag(
        {"lag": make_table("lag", rows), "events": make_table("events"), "summary": make_table("summary", peaks)}
    )
    assert [text for text in texts(figure) if text.startswith("g") and text != "group"] == ["g17"]
    assert any("19 more groups" in text for text in texts(figure))


def test_lag_is_drawn_to_the_end_of_the_run_and_says_how_it_is_sampled(make_table: Maker) -> None:
    rows = [{"group": "g", "time_us": at_s * 10**6, "lag_records": 1} for at_s in (0, 10, 20)]
    summary = make_table("summary", [{"group": "g", "horizon_s": 25.0}])
    figure = lag({"lag": make_table("lag", rows), "events": make_table("events"), "summary": summary})
    assert {axes.get_xlim() for axes in figure.axes if axes.get_ylabel()} == {(0.0, 25.0)}
    note = "a sample every 10 s, the last 5 s before the end; peaks in the table summary are exact"
    assert any(note in text for text in texts(figure))


def test_lag_of_nothing_is_a_figure(empty: SimpleNamespace) -> None:
    assert "Lag of 0 groups" in texts(lag(empty))


def test_a_figure_is_saved_whole_and_may_be_saved_again(small: SimpleNamespace, tmp_path: Path) -> None:
    path = save(lag(small), tmp_path / "lag.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    save(lag(small), path)
    assert [one.name for one in tmp_path.iterdir()] == ["lag.png"]


def test_a_failed_save_leaves_what_was_there(
    small: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(lag(small), tmp_path / "lag.png")
    before = path.read_bytes()

    def fail(self: Figure, name: Path, **_: object) -> None:
        name.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(ResultError, match="No space left on device"):
        save(lag(small), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["lag.png"]


def test_files_of_the_user_are_left_alone(small: SimpleNamespace, tmp_path: Path) -> None:
    mine = tmp_path / "mine.png"
    mine.write_bytes(b"holiday")
    with pytest.raises(ResultError, match="was not written by groupsim"):
        save(lag(small), mine)
    assert mine.read_bytes() == b"holiday"
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ResultError, match="left alone"):
        save(lag(small), tmp_path / "folder.png")
    with pytest.raises(ResultError, match=r"must end in \.png"):
        save(lag(small), tmp_path / "lag.pdf")
    with pytest.raises(ResultError, match="is not a folder"):
        save(lag(small), tmp_path / "nowhere" / "lag.png")
