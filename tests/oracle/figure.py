"""A repetition as it was and as it is simulated, one below the other on the same axis of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from groupsim.analysis.figures import palette
from groupsim.analysis.figures.sheet import Sheet, bare, time_axis
from tests.oracle.measures import Span, faults, readers, rounds, unread, zero_us
from tests.oracle.trace import Fact

MARGIN_S: Final = 1.5
ROW_IN: Final = 0.17
MOST_ROWS: Final = 16
UNREAD: Final = palette.CAUSES["barrier"]


def timelines(title: str, recording: Sequence[Fact], told: Sequence[Fact]) -> Figure:
    """Group state and who fetched each partition when, real above simulated; what nobody fetched is red.

    Parameters
    ----------
    title : str
    recording, told : sequence of dict
        A repetition and its replay.
    """
    members = sorted({fact["member"] for facts in (recording, told) for fact in facts if fact["what"] == "read"})
    colours = palette.member_colours(members)
    window = _window(recording)
    sheet = Sheet(left_in=0.95)
    sheet.text(title, 11, weight="bold")
    moved = _moved(told, zero_us(recording) - zero_us(told))
    for name, facts in (("a real group, Kafka 4.4.0", recording), ("simulated", moved)):
        sheet.text(name, 9, above_in=0.1)
        _states(sheet.strip(0.2, above_in=0.05), facts, window)
        axes = sheet.strip(ROW_IN * len(_rows(facts)), above_in=0.05)
        _partitions(axes, facts, colours, window)
        time_axis(axes, *window)
        sheet.skip(0.3)
    sheet.legend("fetched by", [(name, colour, "") for name, colour in colours.items()])
    sheet.legend("fetched by nobody", [("unread", UNREAD, "")])
    states = [state for state in palette.STATES if state in {fact.get("state") for fact in recording}]
    sheet.legend("group state", [(state, palette.STATES[state], "") for state in states])
    return sheet.close()


def _moved(facts: Sequence[Fact], by_us: int) -> list[Fact]:
    """The same later: a replay begins before its recording."""
    instants = ("at_us", "from_us", "first_fetch_us", "last_us", "to_us")
    return [{**one, **{key: one[key] + by_us for key in instants if one.get(key) is not None}} for one in facts]


def _window(facts: Sequence[Fact]) -> tuple[float, float]:
    """What there is to see: from the first fault, or the first request, until all is settled."""
    done = [fact["at_us"] for fact in faults(facts)]
    ends = [one.stable_us for one in rounds(facts)]
    ends += [end for spans in unread(facts).values() for _, end in spans]
    begin = min(done, default=0) / 1e6 - MARGIN_S
    return max(begin, 0.0), max([*ends, *done]) / 1e6 + MARGIN_S


def _states(axes: Axes, facts: Sequence[Fact], window: tuple[float, float]) -> None:
    bare(axes)
    axes.spines["bottom"].set_visible(False)
    axes.set_yticks([0.5], ["group state"], fontsize=8)
    axes.set_ylim(0, 1)
    told = [fact for fact in facts if fact["what"] == "transition"]
    for fact, end in zip(told, [*(one["at_us"] for one in told[1:]), int(window[1] * 1e6)], strict=True):
        axes.axvspan(fact["at_us"] / 1e6, end / 1e6, color=palette.STATES[fact["state"]], linewidth=0)
    axes.set_xlim(window)


def _rows(facts: Sequence[Fact]) -> list[str]:
    """The partitions to show, of those that were unread first the longest so."""
    gaps = {name: sum(end - begin for begin, end in spans) for name, spans in unread(facts).items()}
    chosen = sorted(gaps, key=lambda name: -gaps[name])[:MOST_ROWS]
    return sorted(chosen, key=lambda name: (name.rpartition("-")[0], int(name.rpartition("-")[2])))


def _partitions(axes: Axes, facts: Sequence[Fact], colours: dict[str, str], window: tuple[float, float]) -> None:
    bare(axes)
    names, gaps, served = _rows(facts), unread(facts), readers(facts)
    for row, name in enumerate(names):
        for member, span in served[name]:
            axes.broken_barh([_drawn(span)], (row + 0.1, 0.8), facecolors=colours[member], linewidth=0)
        axes.broken_barh([_drawn(span) for span in gaps[name]], (row + 0.1, 0.8), facecolors=UNREAD, linewidth=0)
        for span in gaps[name]:
            _label(axes, span, row, window)
    axes.set_yticks([row + 0.5 for row in range(len(names))], names, fontsize=7)
    axes.set_ylim(len(names), 0)
    axes.set_xlim(window)
    for fact in faults(facts):
        axes.axvline(fact["at_us"] / 1e6, color=palette.INK, linewidth=0.8)


def _drawn(span: Span) -> tuple[float, float]:
    return span[0] / 1e6, (span[1] - span[0]) / 1e6


def _label(axes: Axes, span: Span, row: int, window: tuple[float, float]) -> None:
    begin, length = _drawn(span)
    if length > 0.03 * (window[1] - window[0]):
        colour = palette.on(UNREAD)
        axes.text(begin + length / 2, row + 0.5, f"{length:.1f} s", fontsize=7, color=colour, ha="center", va="center",
                  clip_on=True)  # fmt: skip
