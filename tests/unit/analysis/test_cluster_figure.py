"""The cluster above a group's timeline: true areas, ticks for what is too short, and nothing where nothing happened."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from groupsim.analysis.figures import palette, timeline
from groupsim.analysis.figures.cluster import ONE_BY_ONE, mean_counts, most_at_once
from groupsim.analysis.figures.cluster_history import cluster_history
from tests.unit.analysis.timelines import Maker, S, Tables, result, stretch, texts

FAILURE = (("up", 0.0, 20.0, 4), ("unnoticed", 20.0, 30.0, 4), ("down", 30.0, 59.99, 0), ("starting", 59.99, 60.0, 0))


def tables(make_table: Maker, brokers: int = 2, absent: float = 10.0, wait_s: float = 0.0) -> Tables:
    """A minute in which broker 0 dies at 20 s, and one of four coordinators is away for some time from there on."""
    calm = [{"node": node, "state": "up", "to_us": 60 * S, "leaders": 4} for node in range(1, brokers)]
    failed = [
        {"node": 0, "state": state, "from_us": int(a * S), "to_us": int(b * S), "leaders": leaders}
        for state, a, b, leaders in FAILURE
    ]
    back_us = int((20 + absent) * S)
    moved = [("active", 0, 20 * S), ("nowhere", 20 * S, back_us), ("active", back_us, 60 * S)]
    shards = [{"partition": 0, "state": state, "from_us": a, "to_us": b} for state, a, b in moved]
    shards += [{"partition": one, "state": "active", "to_us": 60 * S} for one in (1, 2, 3)]
    wait = {"from_us": 10 * S, "to_us": 20 * S, "wait_p99_us": int(wait_s * S / 2), "wait_max_us": int(wait_s * S)}
    return result(make_table, ownership=[stretch(0, "g/0", 0, 60)]) | {
        "brokers": make_table("brokers", failed + calm),
        "shards": make_table("shards", shards),
        "queues": make_table("queues", [wait] if wait_s else []),
    }


def strip(figure: Figure, label: str) -> Axes:
    """The strip with a row or a label of this name."""
    (found,) = (
        axes
        for axes in figure.axes
        if label in [axes.get_ylabel(), *(one.get_text() for one in axes.get_yticklabels())]
    )
    return found


def bars(axes: Axes) -> list[tuple[str, float, float, float]]:
    """(colour, bottom, from, to) of each rectangle."""
    return [
        (to_hex(one.get_facecolor()), one.get_y(), one.get_x(), one.get_x() + one.get_width())
        for one in axes.patches
        if isinstance(one, Rectangle)
    ]


def test_each_broker_is_what_it_was_for_as_long_as_it_was(make_table: Maker) -> None:
    axes = strip(timeline(tables(make_table)), "broker 0")
    first = [(colour, start, end) for colour, low, start, end in bars(axes) if low < 1]
    assert first == [(palette.BROKERS[state], pytest.approx(a), pytest.approx(b)) for state, a, b, _ in FAILURE]
    assert [text.get_text() for text in axes.texts] == ["4", "4", "0", "4"], "where there is room: what each leads"


@pytest.mark.parametrize(("brokers", "label"), [(2, "broker 0"), (ONE_BY_ONE + 1, "brokers\nnot up")])
def test_a_state_that_nobody_knows_has_the_colour_of_nothing(make_table: Maker, brokers: int, label: str) -> None:
    """Of a result that a later version has written, or somebody else."""
    some = tables(make_table, brokers=brokers)
    some["brokers"]["state"] = some["brokers"]["state"].replace({"starting": "waking"})
    *_, marks = strip(timeline(some), label).collections
    assert isinstance(marks, PathCollection | LineCollection)
    colours = marks.get_facecolor() if isinstance(marks, PathCollection) else marks.get_edgecolor()
    assert to_hex(colours[-1]) == palette.FAINT


def test_a_state_that_is_too_short_to_be_seen_has_a_mark(make_table: Maker) -> None:
    axes = strip(timeline(tables(make_table)), "broker 0")
    (marks,) = (one for one in axes.collections if isinstance(one, PathCollection))
    assert np.asarray(marks.get_offsets())[:, 0].tolist() == pytest.approx([59.995])
    assert to_hex(marks.get_facecolor()[0]) == palette.BROKERS["starting"]


def test_areas_of_what_is_counted_are_true(make_table: Maker) -> None:
    found = cluster_history(tables(make_table, brokers=ONE_BY_ONE + 1))
    assert found is not None
    edges, counts = mean_counts(found.states, ("unnoticed", "down", "starting"), (0.0, 60.0), 1188)
    assert (counts[:, :-1] * np.diff(edges)).sum(axis=1) == pytest.approx([10.0, 29.99, 0.01])
    figure = timeline(tables(make_table, brokers=ONE_BY_ONE + 1))
    axes = strip(figure, "brokers\nnot up")
    assert [one.get_text() for one in axes.get_yticklabels()] == [f"1 of {ONE_BY_ONE + 1}"]


@pytest.mark.parametrize(("absent", "ticks"), [(10.0, []), (0.01, [20.005])])
def test_coordinators_that_are_absent_have_an_area_or_a_tick(
    make_table: Maker, absent: float, ticks: list[float]
) -> None:
    axes = strip(timeline(tables(make_table, absent=absent)), "absent")
    assert [one.get_text() for one in axes.get_yticklabels()] == ["1 of 4"]
    drawn = [
        float(segment[0, 0])
        for lines in axes.collections
        if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
    ]
    assert drawn == pytest.approx(ticks)


def test_most_at_once_counts_what_overlaps_and_not_what_touches(make_table: Maker) -> None:
    spans = [(0, 10), (5, 20), (10, 30), (40, 50)]
    rows = [{"from_us": a, "to_us": b} for a, b in spans]
    frame = make_table("shards", rows)
    assert most_at_once(frame.assign(from_s=frame["from_us"], to_s=frame["to_us"])) == 2


def test_waits_in_queues_have_one_scale_and_stand_where_they_were(make_table: Maker) -> None:
    axes = strip(timeline(tables(make_table, wait_s=0.4)), "queue")
    assert [(start, end) for _, _, start, end in bars(axes)] == [(10.0, 20.0), (10.0, 20.0)]
    heights = {to_hex(one.get_facecolor()): one.get_height() for one in axes.patches if isinstance(one, Rectangle)}
    assert heights == {palette.WAITS["p99"]: pytest.approx(0.2), palette.WAITS["max"]: pytest.approx(0.4)}
    assert [one.get_text() for one in axes.get_yticklabels()] == ["400 ms"]


def test_a_calm_cluster_and_a_result_without_it_have_no_strip(make_table: Maker) -> None:
    told = tables(make_table)
    calm = told | {
        "brokers": told["brokers"][told["brokers"]["state"] == "up"],
        "shards": told["shards"][told["shards"]["state"] == "active"],
    }
    without = {name: table for name, table in told.items() if name not in ("brokers", "shards", "queues")}
    assert len(timeline(told).axes) == len(timeline(calm).axes) + 2
    assert len(timeline(calm).axes) == len(timeline(without).axes)


def test_leaders_that_move_while_nobody_stops_have_a_label(make_table: Maker) -> None:
    """Preferred leaders are elected again; at 20 s, where broker 0 dies, and at 30 s, no label says the same twice."""
    some = tables(make_table)
    led = [(0, 30, 4), (30, 45, 8), (45, 60, 6)]
    states = [
        {"node": node, "state": "up", "from_us": a * S, "to_us": b * S, "leaders": n}
        for node in (1, 2)
        for a, b, n in led
    ]
    died = some["brokers"][some["brokers"].node == 0]
    some["brokers"] = make_table("brokers", [*died.to_dict("records"), *states])
    found = cluster_history(some)
    assert found is not None
    assert found.moves_s == [45.0]
    assert [text for text in texts(timeline(some)) if "leaders" in text] == ["leaders moved"]
    asked = some | {"events": make_table("events", [{"time_us": 45 * S, "entry": "elect", "target": "t"}])}
    assert not [text for text in texts(timeline(asked)) if "leaders moved" in text]


def test_every_broker_of_a_roll_has_its_label(make_table: Maker) -> None:
    events = [{"time_us": (90 + 22 * i) * S, "entry": "roll", "target": f"broker:{i}"} for i in range(6)]
    some = result(make_table, horizon_s=360, ownership=[stretch(0, "g/0", 0, 360)], events=events)
    told = texts(timeline(some))
    assert {f"roll: broker:{i}" for i in range(6)} <= set(told)
    assert not [text for text in told if "without a label" in text]
