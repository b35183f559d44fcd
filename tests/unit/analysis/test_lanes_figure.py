"""Runs as lanes: each under its name, on one time axis, with what it leaves unread."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from groupsim.analysis.data.load import table
from groupsim.analysis.errors import ResultError
from groupsim.analysis.figures import lanes
from groupsim.sim import Result, simulate
from groupsim.sim.units import S
from tests.support.scenarios import client, group, kill, scenario


def run(session_s: int, horizon_s: int = 60) -> Result:
    """One of three members dies at 20 s."""
    one = group(3, client=client(session_timeout_us=session_s * S))
    return simulate(replace(scenario(one, kill(20 * S, 0), horizon_us=horizon_s * S), name="kill"))


def texts(figure: Figure) -> str:
    """Everything that the figure says."""
    return "\n".join(text.get_text() for axes in figure.axes for text in axes.texts)


def counts(figure: Figure) -> list[float]:
    """Partition-seconds of the areas of each lane, from its stacked polygons."""
    found = []
    for axes in figure.axes:
        areas = [one for one in axes.collections if isinstance(one, PolyCollection)]
        if areas:
            vertices = [path.vertices for area in areas for path in area.get_paths()]
            found.append(sum(abs(float(np.sum(v[:-1, 0] * v[1:, 1] - v[1:, 0] * v[:-1, 1]))) / 2 for v in vertices))
    return found


def test_each_run_has_a_lane_under_its_name_on_the_longest_time_axis() -> None:
    figure = lanes({"short": run(8), "long": run(20, horizon_s=90)})
    drawn = [axes for axes in figure.axes if axes.collections]
    assert len(drawn) == 2
    assert {axes.get_xlim() for axes in drawn} == {(0.0, 90.0)}
    told = texts(figure)
    assert all(word in told for word in ("kill · 2 runs, 12 partitions", "short", "long", "requests", "longest gap"))
    assert told.index("short") < told.index("long")


def test_the_area_of_a_lane_is_the_partition_time_that_is_unread() -> None:
    results = {"short": run(8), "long": run(20)}
    areas = counts(lanes(results))
    for area, result in zip(areas, results.values(), strict=True):
        assert area == pytest.approx(result.summary["unavailable_partition_s"].iloc[0], rel=0.02)


def test_lanes_share_a_scale_that_ends_at_the_most_after_startup() -> None:
    """Of twelve partitions the dead member had four; at the start all are unread, which would flatten the rest."""
    figure = lanes({"short": run(8), "long": run(20)})
    heights = {axes.get_ylim() for axes in figure.axes if axes.collections}
    results = [run(8), run(20)]
    unread = [_most_at_once(result, after_us=10 * S) for result in results]
    assert heights == {(0.0, float(max(unread)))}
    assert f"each lane is {max(unread)} high" in texts(figure)


def _most_at_once(result: Result, after_us: int) -> int:
    pieces = table(result, "unavailability").query("from_us >= @after_us")
    changes = sorted([(at, 1) for at in pieces["from_us"]] + [(at, -1) for at in pieces["to_us"]])
    return max(accumulate(change for _, change in changes))


def test_gaps_that_no_area_shows_have_ticks() -> None:
    """A dot of two hours is 7 s wide: the second gap of everybody, while the group rebalances, is a tick."""
    figure = lanes({"two hours": run(8, horizon_s=7200)})
    ticks = [one for axes in figure.axes for one in axes.collections if isinstance(one, LineCollection)]
    assert sum(len(one.get_segments()) for one in ticks) > 0


def test_no_run_is_nothing_to_draw() -> None:
    with pytest.raises(ResultError, match="at least one run"):
        lanes({})
