"""What a timeline says in words: title, headline, notes and legends."""

from __future__ import annotations

from typing import Final

import numpy as np

from groupsim.analysis.data.columns import floats, integers
from groupsim.analysis.data.metrics import PARTITION_SECONDS, duration, number, scale
from groupsim.analysis.figures import bars, palette, raster
from groupsim.analysis.figures.history import History
from groupsim.analysis.figures.sheet import Sheet
from groupsim.sim.tables import CAUSES

LEGEND: Final = 12
"""More members than this have no legend."""


def title(past: History) -> str:
    """Scenario, group and how large it is."""
    what = f"{_counted(len(past.partitions), 'partition')}, {_counted(len(past.members), 'member')}"
    which = f"group {past.group} (of {past.groups})" if past.groups > 1 else f"group {past.group}"
    return " · ".join(one for one in (past.scenario, which, what) if one) if past.group else "no group in this result"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def headline(past: History) -> str:
    """The longest gap, and why how much was unread."""
    if past.gaps.empty:
        return "no partition was unread"
    length = floats(past.gaps, "to_s") - floats(past.gaps, "from_s")
    where = past.partitions[integers(past.gaps, "row")[length.argmax()]]
    seconds, cause = floats(past.pieces, "to_s") - floats(past.pieces, "from_s"), integers(past.pieces, "cause")
    parts = np.bincount(cause, weights=seconds, minlength=len(CAUSES))
    measure = scale([float(length.sum())], PARTITION_SECONDS)
    shares = [f"{one} {_percent(part / parts.sum())}" for one, part in zip(CAUSES, parts, strict=True) if part]
    return (
        f"longest gap {duration(float(length.max()))} ({where}) · {_counted(len(past.rebalances), 'rebalance')} · "
        f"{number(float(length.sum()) * measure.factor)} {measure.unit} unread: {', '.join(shares)}"
    )


def _percent(share: float) -> str:
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def notes(past: History, window: tuple[float, float], width_in: float, as_image: bool) -> list[str]:
    """What a reader of one panel, ``width_in`` inches wide, must know."""
    told: list[str] = []
    least_in = 1 / raster.DOTS_PER_IN if as_image else bars.LEAST_IN
    least_s = (window[1] - window[0]) / width_in * least_in
    if as_image:
        told = _image_notes(past)
    if (past.gaps["to_s"] - past.gaps["from_s"] < least_s).any():
        told.append("gaps too short to be seen are drawn wider than they are")
    if len(past.zombies) and raster.as_image(past, raster.ONE_BY_ONE):
        told.append("what zombies read is not shown")
    if past.shared:
        told.append("every member reads every partition: a row shows when a member did; unread is what nobody reads")
    elif len(past.members) > LEGEND:
        told.append(f"{len(past.members)} members: a colour each, which may repeat")
    return told


def _image_notes(past: History) -> list[str]:
    share = len(past.rows) / raster.lines_of(len(past.rows), raster.height_of(len(past.rows)))
    if past.shared:
        return [f"a line stands for {share:.1f} members and shows one of them"] if share > 1 else []
    notes = ["rows sorted by the first member that served them"]
    if share > 1:
        notes.append(f"a line stands for {share:.1f} partitions: the more of them unread, the stronger the colour")
    return notes


def legends(sheet: Sheet, past: History, colours: dict[str, str]) -> None:
    """Members, causes and states that the figure shows, by colour."""
    if past.members and len(past.members) <= LEGEND and not past.shared:
        sheet.legend("served by", [(name, colours[name], "") for name in past.members], above_in=0.04)
    present = set(past.pieces["cause"])
    sheet.legend("unread because of", [(c, palette.CAUSES[c], "") for i, c in enumerate(CAUSES) if i in present])
    states = [state for state in palette.STATES if state in set(past.states["state"])]
    sheet.legend("group state", [(state, palette.STATES[state], "") for state in states])
    if len(past.zombies) and not raster.as_image(past, raster.ONE_BY_ONE):
        sheet.legend("zombie", [("still read by a member that no longer owns it", "#ffffff", "//////")])
