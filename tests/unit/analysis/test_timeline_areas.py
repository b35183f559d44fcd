"""Areas of a timeline are true, what is too short to be seen has a tick, and titles count what the tables count."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from groupsim.analysis.figures import palette, timeline
from groupsim.analysis.figures.history import history
from groupsim.analysis.figures.raster import image, mean_counts
from groupsim.sim.tables import CAUSES
from tests.unit.analysis.timelines import Maker, S, Tables, bars, gap, result, row_labels, row_panels, stretch, texts


def tables_with_short_stops(make_table: Maker, partitions: int) -> Tables:
    """An hour with ten stops of everybody, 10 ms each, and one partition that is unread for 36 s."""
    stops = [(i * 300.0 + 7, i * 300.0 + 7.01) for i in range(10)]
    edges = [0.0, *(end for stop in stops for end in stop), 3600.0]
    served = list(zip(edges[::2], edges[1::2], strict=True))
    gaps = [gap(p, "barrier", *stop) for p in range(partitions) for stop in stops]
    return result(
        make_table,
        horizon_s=3600,
        ownership=[stretch(p, f"g/{p % 3}", *one) for p in range(partitions) for one in served],
        unavailability=[*gaps, gap(0, "detection", 3100, 3136)],
        states=[{"from_us": int(a * S), "to_us": int(b * S), "state": "PreparingRebalance"} for a, b in stops],
    )


def test_areas_of_the_count_are_true(make_table: Maker) -> None:
    tables = tables_with_short_stops(make_table, 100)
    past = history(tables, None)
    edges, counts = mean_counts(past, (0.0, 3600.0), 1188)
    area = (counts[:, :-1] * np.diff(edges)).sum(axis=1)
    assert dict(zip(CAUSES, area, strict=True)) == pytest.approx(
        {"unowned": 0, "detection": 36, "away": 0, "barrier": 100 * 10 * 0.01, "assignment": 0, "resume": 0}
    )


def test_areas_of_the_image_are_true(make_table: Maker) -> None:
    past = history(tables_with_short_stops(make_table, 100), None)
    white = dict.fromkeys(past.members, "#ffffff")
    ink = (1 - image(past, white, (0.0, 3600.0), (100, 1188))).sum(axis=(0, 1)) * 3600 / 1188
    expected = sum(
        seconds * (1 - np.array(to_rgb(palette.CAUSES[cause])))
        for cause, seconds in (("detection", 36.0), ("barrier", 10.0))
    )
    assert ink == pytest.approx(expected)


def test_bars_of_gaps_and_states_are_as_wide_as_these_last(make_table: Maker) -> None:
    figure = timeline(tables_with_short_stops(make_table, 6), around=(0.0, 3600.0))
    (panel,) = row_panels(figure)
    widths = [end - start for colour, _, start, end in bars(panel) if colour == palette.CAUSES["barrier"]]
    assert widths == pytest.approx([0.01] * 60)
    (band,) = (axes for axes in figure.axes if row_labels(axes) == ["group state"])
    assert [patch.get_width() for patch in band.patches] == pytest.approx([0.01] * 10)


def noted(figure: Figure) -> list[str]:
    """The notes in the caption."""
    return [note for text in texts(figure) for note in text.split(" · ")]


@pytest.mark.parametrize("partitions", [6, 100])
def test_what_is_too_short_to_be_seen_has_a_tick(make_table: Maker, partitions: int) -> None:
    figure = timeline(tables_with_short_stops(make_table, partitions), around=(0.0, 3600.0))
    drawn = [one for axes in figure.axes for one in axes.collections]
    marks = [one for one in drawn if isinstance(one, PathCollection | LineCollection)]
    found = [len(one.get_offsets()) if isinstance(one, PathCollection) else len(one.get_segments()) for one in marks]
    assert found == ([10, 60] if partitions == 6 else [10, 10])  # the states', and the gaps', row by row or together
    colours = [one.get_color() if isinstance(one, LineCollection) else one.get_facecolor() for one in marks]
    assert {to_hex(one) for some in colours for one in some} == {palette.CAUSES["barrier"]}
    assert any(text.startswith(f"ticks: {10 * partitions:,} gaps shorter than a dot (") for text in noted(figure))


def test_ticks_closer_than_a_dot_are_one(make_table: Maker) -> None:
    close = [gap(0, "barrier", 10 + 0.1 * i, 10.01 + 0.1 * i) for i in range(9)]
    figure = timeline(result(make_table, 3600, ownership=[stretch(0, "g/0", 0, 3600)], unavailability=close),
                      around=(0.0, 3600.0))  # fmt: skip
    (mark,) = (one for axes in figure.axes for one in axes.collections if isinstance(one, PathCollection))
    assert len(mark.get_offsets()) == 1


def test_titles_count_what_the_summary_counts(make_table: Maker) -> None:
    """Two rebalances, one before metrics count."""
    rebalances = [{"start_us": at * S, "end_us": (at + 3) * S} for at in (1, 30)]
    tables = result(make_table, ownership=[stretch(0, "g/0", 4, 60)], rebalances=rebalances,
                    unavailability=[gap(0, "barrier", 30, 33)])  # fmt: skip
    tables["summary"] = tables["summary"].assign(rebalances=1, stop_the_world_s=2.5)
    measured = SimpleNamespace(tables=tables, manifest={"document": {"measure": {"from": "10s"}}})
    shown = texts(timeline(measured))
    headline = "from 10.0 s on: longest gap 3.0 s (t-0) · 1 rebalance · all stopped 2.5 s"
    assert any(text.startswith(headline) for text in shown)
    assert any("dotted: outside measure, not counted" in text for text in shown)
    assert not any("dotted" in text for text in texts(timeline(tables)))
