from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb

from groupsim.analysis.errors import MissingTable, ResultError
from groupsim.analysis.figures import palette, timeline
from groupsim.analysis.figures.history import history
from groupsim.analysis.figures.raster import image
from groupsim.analysis.figures.sheet import Sheet
from tests.unit.analysis.timelines import Maker, S, Tables, bars, gap, result, row_labels, row_panels, stretch, texts


def overlaps(axes: Axes) -> list[tuple[str, str]]:
    """Pairs of texts of an axes that cover one another when drawn."""
    renderer = FigureCanvasAgg(axes.figure).get_renderer()  # type: ignore[arg-type]
    drawn = [(text.get_text(), text.get_window_extent(renderer)) for text in axes.texts if text.get_text()]
    return [(a, b) for i, (a, box) in enumerate(drawn) for b, other in drawn[:i] if box.overlaps(other)]


def crossed(axes: Axes) -> list[str]:
    """Texts of an axes that one of its vertical lines runs through when drawn."""
    renderer = FigureCanvasAgg(axes.figure).get_renderer()  # type: ignore[arg-type]
    lines = [axes.transData.transform(line.get_xydata()) for line in axes.lines]
    found = []
    for text in axes.texts:
        box = text.get_window_extent(renderer)
        middle = (box.y0 + box.y1) / 2
        found += [text.get_text() for (x, low), (_, high) in lines if box.x0 < x < box.x1 and low < middle < high]
    return found


def test_each_partition_has_a_row_with_its_label(small: SimpleNamespace) -> None:
    (panel,) = row_panels(timeline(small))
    assert row_labels(panel) == [f"orders-{i}" for i in range(6)]


def test_bars_are_where_the_tables_say(make_table: Maker) -> None:
    tables = result(
        make_table,
        ownership=[stretch(0, "g/0", 2, 20), stretch(0, "g/1", 35, 60)],
        unavailability=[gap(0, "detection", 20, 30), gap(0, "barrier", 30, 35)],
    )
    (panel,) = row_panels(timeline(tables))
    assert sorted(bars(panel)) == sorted(
        [
            (palette.MEMBERS[0], 0, 2.0, 20.0),
            (palette.MEMBERS[1], 0, 35.0, 60.0),
            (palette.CAUSES["detection"], 0, 20.0, 30.0),
            (palette.CAUSES["barrier"], 0, 30.0, 35.0),
        ]
    )
    assert "15.0 s" in texts(timeline(tables))


def test_what_two_members_read_at_once_is_shown_as_zombie(make_table: Maker) -> None:
    tables = result(make_table, ownership=[stretch(0, "g/0", 0, 30), stretch(0, "g/1", 20, 60)])
    figure = timeline(tables)
    drawn = bars(row_panels(figure)[0])
    assert (palette.MEMBERS[0], 0, 0.0, 20.0) in drawn
    assert (palette.MEMBERS[0], 0, 20.0, 30.0) in drawn  # the part beside the next owner's
    assert "still read by a member that no longer owns it" in texts(figure)
    assert [text.get_position()[0] > 30 for text in row_panels(figure)[0].texts if text.get_text() == "1"] == [True]


def broadcast(tables: Tables) -> Tables:
    """The tables as a broadcast group has them: moved partitions are undefined."""
    moved = pd.array([None] * len(tables["summary"]), dtype="Int64")
    return tables | {"summary": tables["summary"].assign(partitions_moved=moved, partitions_moved_min=moved)}


def test_broadcast_has_a_row_for_each_member_with_what_it_read(make_table: Maker) -> None:
    """Two members over two partitions; member 1 is away from 20 s to 40 s, and both are from 50 s to 54 s."""
    served = [("g/0", 2, 50), ("g/1", 3, 20), ("g/1", 40, 50), ("g/0", 54, 60), ("g/1", 54, 60)]
    tables = result(
        make_table,
        ownership=[stretch(p, name, start + p, end - p) for p in (0, 1) for name, start, end in served],
        unavailability=[gap(p, "barrier", 50, 54) for p in (0, 1)],
    )
    figure = timeline(broadcast(tables))
    count, panel = row_panels(figure)
    assert row_labels(panel) == ["g/0", "g/1"]
    assert bars(panel) == [
        (palette.MEMBERS[0], 0, 2.0, 50.0),
        (palette.MEMBERS[0], 0, 54.0, 60.0),
        (palette.MEMBERS[1], 1, 3.0, 20.0),
        (palette.MEMBERS[1], 1, 40.0, 50.0),
        (palette.MEMBERS[1], 1, 54.0, 60.0),
    ]
    assert (count.get_ylabel(), count.get_ylim()) == ("unread", (0.0, 2.0))
    assert not any("no longer owns" in text for text in texts(figure))
    assert any("every member reads every partition" in text for text in texts(figure))


def test_broadcast_to_many_members_is_an_image_of_members(make_table: Maker) -> None:
    """Member 7 is away from 20 s to 40 s; nobody reads from 50 s to 55 s."""
    away = [stretch(0, "g/7", start, end) for start, end in ((0, 20), (40, 50), (55, 60))]
    others = [stretch(0, f"g/{i}", *span) for i in range(100) if i != 7 for span in ((0, 50), (55, 60))]
    tables = broadcast(result(make_table, ownership=away + others, unavailability=[gap(0, "barrier", 50, 55)]))
    past, names = history(tables, None), [f"g/{i}" for i in range(100)]
    colours = palette.member_colours(names)
    picture = image(past, colours, (0.0, 60.0), (100, 60))
    assert to_hex(picture[7, 10]) == to_hex(picture[7, 45]) == colours["g/7"]
    assert to_hex(picture[7, 30]) == to_hex(picture[0, 52]) == "#ffffff"
    assert to_hex(picture[8, 30]) == colours["g/8"]
    assert "members" in [axes.get_ylabel() for axes in timeline(tables).axes]


def test_legends_name_what_is_there_and_nothing_else(make_table: Maker) -> None:
    tables = result(
        make_table,
        ownership=[stretch(0, "g/0", 10, 60)],
        unavailability=[gap(0, "barrier", 0, 10)],
        states=[{"from_us": 0, "to_us": 60 * S, "state": "Stable", "generation": 1}],
    )
    shown = texts(timeline(tables))
    assert {"g/0", "barrier", "Stable", "Stable, generation 1"} <= set(shown)
    assert not {"detection", "resume", "Empty"} & set(shown)


def test_a_group_that_zookeeper_holds_together_has_no_generations(make_table: Maker) -> None:
    tables = result(
        make_table,
        ownership=[stretch(0, "g/0", 10, 60)],
        states=[{"from_us": 0, "to_us": 60 * S, "state": "Stable", "generation": 20}],
    )
    assert "Stable, generation 20" in texts(timeline(tables))
    assert "Stable, change 20" in texts(timeline(tables | {"zookeeper": make_table("zookeeper", [{"group": "g"}])}))


def test_many_members_have_a_colour_for_each_block(make_restart: Callable[..., Tables]) -> None:
    figure = timeline(make_restart(32, 16, 120, 0, 1))
    served = [text for text in texts(figure) if text.startswith("billing/")]
    assert served[:2] == ["billing/0 to 1", "billing/2 to 3"]
    assert len(served) == 8
    drawn = {colour for colour, *_ in bars(row_panels(figure)[-1])}
    assert set(palette.BLOCKS) <= drawn


def test_a_block_of_one_member_has_its_name(make_restart: Callable[..., Tables]) -> None:
    served = [text for text in texts(timeline(make_restart(26, 13, 120, 0, 1))) if text.startswith("billing/")]
    assert served[:3] == ["billing/0", "billing/1 to 2", "billing/3"]
    assert len(served) == 8


def test_no_line_of_a_caption_parts_a_number_from_what_it_counts() -> None:
    sheet = Sheet(1.0)
    sheet.text(" · ".join(f"detection <{number}\u00a0%" for number in range(100)), 9.0)
    lines = texts(sheet.close())
    assert len(lines) > 5
    assert not any(line.startswith("%") for line in lines)


def test_a_run_much_longer_than_its_gaps_gets_a_second_panel(make_restart: Callable[..., Tables]) -> None:
    tables = make_restart(6, 3, 600, 1, 40, 400)
    whole, part = row_panels(timeline(tables))
    assert whole.get_xlim() == (0.0, 600.0)
    start, end = part.get_xlim()
    assert start < 400 < 413.2 < end < 420  # killed at 400, session 10 s, rebalance 3.1 s
    assert len(row_panels(timeline(make_restart(6, 3, 250, 1, 40, 200)))) == 1


def test_a_partition_that_comes_later_is_not_start_up(make_table: Maker) -> None:
    tables = result(
        make_table,
        horizon_s=1000,
        ownership=[stretch(0, "g/0", 3, 1000), stretch(1, "g/0", 540, 1000)],
        unavailability=[gap(0, "barrier", 0, 3), gap(1, "barrier", 500, 540)],
    )
    assert row_panels(timeline(tables))[1].get_xlim() == pytest.approx((492, 548))  # a fifth of the gap on either side


def test_start_up_is_not_the_worst_rebalance(make_table: Maker) -> None:
    tables = result(
        make_table,
        horizon_s=1000,
        ownership=[stretch(0, "g/0", 30, 500), stretch(0, "g/0", 503, 1000)],
        unavailability=[gap(0, "barrier", 0, 30), gap(0, "barrier", 500, 503)],
    )
    start, end = row_panels(timeline(tables))[1].get_xlim()
    assert 495 < start < 500 < 503 < end < 510


@pytest.mark.parametrize("around", ["oom", 205.0, (199.0, 214.0)])
def test_one_can_look_at_a_part(small: SimpleNamespace, around: Any) -> None:
    (panel,) = row_panels(timeline(small, around=around))
    start, end = panel.get_xlim()
    assert 195 < start < 200
    assert 213 < end < 220


@pytest.mark.parametrize(
    ("around", "reason"),
    [
        ("rollout", "no timeline entry 'rollout' had an effect on billing; those that had: deploy, oom"),
        (500.0, "nothing to show at 500.0: the run lasts from 0 to 240 s"),
        ((300.0, 400.0), "nothing to show"),
        ((20.0, 10.0), "nothing to show"),
    ],
)
def test_a_part_that_is_not_there_is_refused(small: SimpleNamespace, around: Any, reason: str) -> None:
    with pytest.raises(ResultError, match=reason):
        timeline(small, around=around)


def test_the_group_that_was_unread_longest_is_shown_unless_told(small: SimpleNamespace) -> None:
    quiet = {
        name: frame.assign(group="audit").astype(frame.dtypes)
        for name, frame in small.tables.items()
        if "group" in frame
    }
    quiet["unavailability"] = quiet["unavailability"].head(3)
    both = {name: pd.concat([quiet[name], small.tables[name]], ignore_index=True) for name in quiet}
    assert "rolling-deploy · group billing (of 2) · 6 partitions, 3 members" in texts(timeline(both))
    assert any("group audit (of 2)" in text for text in texts(timeline(both, group="audit")))
    with pytest.raises(ResultError, match="no group 'bill' in this result; it has: audit, billing"):
        timeline(both, group="bill")


def test_a_thousand_partitions_become_an_image(large: SimpleNamespace) -> None:
    figure = timeline(large)
    assert len([axes for axes in figure.axes if axes.images]) == 2
    assert row_panels(figure) == [axes for axes in figure.axes if axes.get_ylabel() == "unread"]  # the counts above
    assert figure.get_size_inches()[1] < 20


def test_the_image_shows_members_and_the_main_cause(make_table: Maker) -> None:
    tables = result(
        make_table,
        horizon_s=100,
        ownership=[stretch(p, f"g/{p // 2}", 0, 60) for p in range(4)] + [stretch(p, "g/0", 80, 100) for p in range(4)],
        unavailability=[gap(p, "barrier", 60, 80) for p in range(2)] + [gap(3, "unowned", 60.5, 60.6)],
    )
    past = history(tables, None)
    colours = palette.member_colours(past.members)
    picture = image(past, colours, (0.0, 100.0), (2, 10))  # a line for two partitions, a column for 10 s
    assert to_hex(picture[0, 0]) == colours["g/0"]
    assert to_hex(picture[1, 0]) == colours["g/1"]
    assert to_hex(picture[0, 6]) == to_hex(picture[0, 7]) == palette.CAUSES["barrier"]
    assert to_hex(picture[1, 9]) == colours["g/0"]
    # 0.1 s of 10 s, of one partition of two: half a hundredth of the colour, over nobody's white
    assert picture[1, 6] == pytest.approx(1 - 0.005 * (1 - np.array(to_rgb(palette.CAUSES["unowned"]))))
    assert to_hex(picture[1, 7]) == "#ffffff"


@pytest.mark.parametrize("size", [(6, 3, 240, 3, 40, 200), (10, 4, 7200, 4, 300, 3600), (60, 12, 3600, 4, 45, 900)])
def test_no_text_covers_another(make_restart: Callable[..., Tables], size: tuple[int, ...]) -> None:
    figure = timeline(make_restart(*size))
    assert [pair for axes in figure.axes for pair in overlaps(axes)] == []


def test_labels_of_crowded_events_do_not_overlap(make_table: Maker) -> None:
    events = [{"time_us": int((30 + 0.4 * i) * S), "entry": "kill", "target": f"g/{i}"} for i in range(12)]
    late = [{"time_us": int(59.9 * S), "entry": "the-very-last-thing-that-happens", "target": "g/1"}]
    tables = result(make_table, ownership=[stretch(0, "g/0", 0, 60)], events=events + late)
    figure = timeline(tables)
    (strip,) = (axes for axes in figure.axes if any(text.get_text().startswith("kill:") for text in axes.texts))
    assert (overlaps(strip), crossed(strip)) == ([], [])
    labels = [text.get_text() for text in strip.texts]
    assert "the-very-last-thing-that-happens: 1" in labels
    assert any(f"{13 - len(labels)} of 13 events without a label" in text for text in texts(figure))


def test_events_of_one_entry_at_one_instant_are_one_mark(make_table: Maker) -> None:
    events = [{"time_us": 30 * S, "entry": "outage", "target": f"g/{i}"} for i in range(5)]
    broker = [{"group": "", "time_us": 40 * S, "entry": "cut", "target": "broker:1"}]
    tables = result(make_table, ownership=[stretch(0, "g/0", 0, 60)], events=events + broker)
    labels = [text for text in texts(timeline(tables)) if "outage" in text or "cut" in text]
    assert labels == ["outage ×5", "cut: broker:1"]


def test_frequent_events_have_one_label_and_no_lines(make_table: Maker) -> None:
    events = [{"time_us": i * S, "entry": "gc", "target": "g/0"} for i in range(1, 41)]
    tables = result(make_table, ownership=[stretch(0, "g/0", 0, 60)], events=events)
    figure = timeline(tables)
    assert [text for text in texts(figure) if "gc" in text] == ["gc (40 events)"]
    assert not row_panels(figure)[0].lines


def test_empty_tables_make_a_figure_that_says_so(empty: SimpleNamespace) -> None:
    assert {"no group in this result", "no partition was unread"} <= set(texts(timeline(empty)))


def test_a_group_nobody_ever_served_is_unread_all_the_time(make_table: Maker) -> None:
    figure = timeline(result(make_table, unavailability=[gap(p, "unowned", 5, 60) for p in range(3)]))
    assert texts(figure).count("55.0 s") == 3


def test_a_missing_table_is_named(small: SimpleNamespace) -> None:
    with pytest.raises(MissingTable, match="no table 'states'"):
        timeline({name: frame for name, frame in small.tables.items() if name != "states"})


def test_no_duration_stands_over_two_colours(make_table: Maker) -> None:
    """It is in the longest piece of its gap where that has room, else beside the gap."""
    pieces = [
        gap(0, "detection", 10, 14),
        gap(0, "barrier", 14, 30),
        gap(1, "detection", 10, 10.7),
        gap(1, "barrier", 10.7, 11),
    ]
    served = [stretch(row, "g/0", *span) for row, last in ((0, 30), (1, 11)) for span in ((0, 10), (last, 60))]
    figure = timeline(result(make_table, ownership=served, unavailability=pieces), around=(0.0, 60.0))
    (panel,) = row_panels(figure)
    assert any("durations are those of whole gaps" in text for text in texts(figure))
    shown = {text.get_text(): text.get_position()[0] for text in panel.texts if " s" in text.get_text()}
    assert shown == {"20.0 s": 22.0, "◂ 1.0 s": pytest.approx(11.2, abs=0.2)}


def test_long_labels_keep_both_ends(make_table: Maker) -> None:
    long = "com.example.payments.transactions.settled.version-2"
    figure = timeline(result(make_table, ownership=[stretch(7, "g/0", 0, 60) | {"topic": long}]))
    (label,) = row_labels(row_panels(figure)[0])
    assert label.startswith("com.example.pay")
    assert label.endswith("version-2-7")
    assert len(label) <= 32


def test_figures_leave_no_trace_in_matplotlib(small: SimpleNamespace) -> None:
    before = mpl.rcParams.copy()
    timeline(small)
    assert mpl.rcParams == before


def test_importing_the_analysis_imports_neither_scipy_nor_pyplot_nor_spark() -> None:
    names = ("figures", "compare.comparison", "text.summary")
    code = "import sys, " + ", ".join(f"groupsim.analysis.{name}" for name in names) + "; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"scipy", "matplotlib.pyplot", "pyspark"} & set(done.stdout.split())
