"""The same time axis for several runs: a lane for each, with how many partitions it leaves unread when, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from groupsim.analysis.data.load import Source, table
from groupsim.analysis.data.metrics import duration
from groupsim.analysis.errors import ResultError
from groupsim.analysis.figures import captions, marks, palette, raster
from groupsim.analysis.figures.history import History, history
from groupsim.analysis.figures.sheet import Sheet, time_axis
from groupsim.sim.tables import CAUSES

LANE_IN: Final = 0.85


def lanes(runs: Mapping[str, Source], group: str | None = None) -> Figure:
    """Runs of the same events below one another: what each leaves unread over time, by cause.

    Parameters
    ----------
    runs : mapping of str to source
        By name, such as the variants of a sweep; each a result object, mapping of tables, or result folder.
    group : str, optional
        By default the group of each that was unread longest.

    Raises
    ------
    MissingTable, SchemaMismatch
        A table is missing, or is not what ``sim.tables`` declares.
    ResultError
        There is no run, or a run has no such group.
    """
    if not runs:
        raise ResultError("lanes are drawn of at least one run")
    pasts = {name: history(source, group) for name, source in runs.items()}
    horizon_s = max(past.horizon_s for past in pasts.values())
    first = next(iter(pasts.values()))
    sheet = Sheet(left_in=0.95)
    sheet.text(f"{first.scenario} · {len(pasts)} runs, {len(first.partitions):,} partitions", 12, weight="bold")
    top = max(raster.most_after_startup(past, sheet.axes_in) for past in pasts.values()) or len(first.partitions)
    scale = _scale(top, horizon_s / raster.columns_in(sheet.axes_in))
    sheet.text(f"partitions that nobody reads, by cause, in each run; {scale}", 9, 0.04)
    for name, past in pasts.items():
        axes = _lane(sheet, name, past, runs[name], (horizon_s, top))
    time_axis(axes, 0.0, horizon_s)
    sheet.skip(0.4)
    present = {cause for past in pasts.values() for cause in past.pieces["cause"]}
    sheet.legend("unread because of", [(c, palette.CAUSES[c], "") for i, c in enumerate(CAUSES) if i in present])
    return sheet.close()


def _scale(top: int, column_s: float) -> str:
    return f"each lane is {top:,} high, the most after start-up (means over {duration(column_s)})"


def _lane(sheet: Sheet, name: str, past: History, source: Source, scale: tuple[float, int]) -> Axes:
    """Name and headline, the events as marks, and the count on a scale of seconds and partitions."""
    window, top = (0.0, scale[0]), scale[1]
    requests = int(table(source, "requests").query("group == @past.group")["count"].sum())
    sheet.text(name, 10, above_in=0.12, weight="bold")
    sheet.text(f"{captions.headline(past)} · {requests:,}{captions.NO_BREAK}requests", 8.5)
    some = marks.marks(past.events, past.group, *window, sheet.axes_in)
    labels = sheet.strip(marks.height(some), above_in=0.02)
    count = sheet.strip(LANE_IN)
    raster.draw_count(count, past, window, (sheet.axes_in, LANE_IN), top)
    time_axis(count, *window, label=False)
    labels.set_xlim(window)
    marks.draw(labels, some, [count], marks.height(some))
    return count
