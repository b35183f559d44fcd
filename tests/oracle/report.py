"""REPORT.md: what a real group did, what the simulated one does, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Final

from tests.oracle.awaiting import aged_groups, unfit
from tests.oracle.comparison import Difference, Row
from tests.oracle.equivalence import (
    DIFFERS,
    FREQUENCY,
    NETWORK_S,
    NOT_SHOWN,
    REPETITIONS,
    SHARE,
    SHORT_S,
    SHOWN,
    TIMER_S,
    Verdict,
)
from tests.oracle.figure import timelines
from tests.oracle.readme import README, with_table
from tests.oracle.remaining import NOT_RECORDED, REMAINING, UNSETTLED
from tests.oracle.study import RECORDINGS, Studied, names, recorded, study
from tests.oracle.timings import measured
from tests.oracle.wording import spread

HERE: Final = Path(__file__).parent
REPORT: Final = HERE / "REPORT.md"
FIGURES: Final = HERE / "figures"
DEVIATIONS: Final = HERE / "deviations.md"
PICTURED: Final = ("kill-range", "join-cooperative", "freeze-long", "roll-eager", "static-restart-outside-session")
"""Scenarios with a figure: their first repetition."""


def write_report() -> Path:
    """Study every recording; write the page, its figures and the README's table; hand back where the page is."""
    found = [study(name) for name in names()]
    FIGURES.mkdir(exist_ok=True)
    for one in found:
        if one.name in PICTURED and one.replays:
            first = one.replays[0]
            timelines(one.scenario.question, first.recording, first.told).savefig(FIGURES / f"{one.name}.png")
    REPORT.write_text(page(found), encoding="utf-8")
    README.write_text(with_table(README.read_text(encoding="utf-8"), found), encoding="utf-8")
    return REPORT


def page(found: Sequence[Studied]) -> str:
    """The page, without its figures."""
    return "\n".join(_parts(found)) + "\n"


def verdicts(found: Sequence[Studied]) -> str:
    """How the page begins: what is shown by replays, and what is not."""
    return "\n".join(_verdicts(found)) + "\n"


def _verdicts(found: Sequence[Studied]) -> Iterator[str]:
    yield from _head(found)
    yield from _verdicts_table(found)
    yield from _counts_table(found)
    yield from _unsettled()


def _parts(found: Sequence[Studied]) -> Iterator[str]:
    yield from _verdicts(found)
    yield from _distributions_table([row for one in found for row in one.rows])
    yield from _replays_table(found)
    yield from _remaining(found)
    yield from aged_groups()
    yield from _timings_table(found)
    yield from unfit()
    yield "\n## Found on the way, and what was changed in the model\n"
    yield DEVIATIONS.read_text(encoding="utf-8").strip()
    yield "\n## Timelines\n\nThe first repetition of some scenarios, and its replay.\n"
    for name in PICTURED:
        if name in {one.name for one in found}:
            yield f"![{name}](figures/{name}.png)\n"


def _head(found: Sequence[Studied]) -> Iterator[str]:
    headers = [header for one in found for header in one.headers]
    kafka, java = ({header[key] for header in headers} for key in ("kafka", "java"))
    fit = sum(len(one.replays) for one in found)
    urgent = sum(header["machine"].get("nice", 0) < 0 for header in headers)
    yield "# Held against a real broker\n"
    yield (
        f"{len(headers)} recordings of {len(found)} scenarios: Kafka {', '.join(sorted(kafka))} (broker and Java"
        f" client), Java {', '.join(sorted(java))}, brokers on loopback, two cores. {len(headers) - fit} of them were"
        f" made on a machine that was too busy and are not compared; {urgent} were made at a high priority beside other"
        f" work."
        f" Made by `make oracle-report` from `{_place()}`; what each scenario asks is in its file there.\n"
    )
    missing = sorted({path.stem for path in (HERE / "scenarios").glob("*.yaml")} - {*recorded()})
    if missing:
        yield f"Not recorded yet, on a machine with nothing else to do: {', '.join(missing)}.\n"


def _place() -> str:
    return RECORDINGS.relative_to(HERE.parents[1]).as_posix()


# --- figures over seeds -----------------------------------------------------------------------------------------------


def _verdicts_table(found: Sequence[Studied]) -> Iterator[str]:
    verdicts = [each for one in found for each in one.verdicts if each.kind != "count"]
    yield f"## Durations: {_told(verdicts)}\n"
    network, timer, share = f"{1e3 * NETWORK_S:.0f} ms", f"{1e3 * TIMER_S:.0f} ms", f"{100 * SHARE:.0f} %"
    yield (
        "Simulated minus recorded, each repetition against the replay with its own instants: the 90 % interval of the"
        f" mean. Agreement is *shown* where it lies within the bound: {network} or {share} of the recorded median for"
        f" what the network takes (sync phases, and what takes less than {1e3 * SHORT_S:.0f} ms, for no timer is that"
        f" short), {timer} or {share} for what timers decide. It *differs* where the interval lies outside, and in"
        " between it is *not shown*. At a true difference as large as the bound one in twenty would be shown by chance."
        " Replays of another course are left out. `round 1` is usually the start of the group. A *rebalance* of a group"
        " of the consumer protocol is from a bump of the group epoch to everybody owning exactly its target; *balanced"
        " again* counts from the first fault, or from the first member where there is none.\n"
    )
    yield "| scenario | figure | pairs | recorded, s | simulated - recorded, ms | bound, ms | decided by | agreement |"
    yield "|---|---|---|---|---|---|---|---|"
    for one in verdicts:
        recorded = f"{one.recorded:.3f}" if one.n else ""
        apart = "" if one.low is None or one.high is None else f"{1e3 * one.low:.0f} to {1e3 * one.high:.0f}"
        cells = (one.scenario, one.figure, one.n, recorded, apart, f"{1e3 * one.bound:.0f}", one.kind, _bold(one))
        yield f"| {' | '.join(map(str, cells))} |"


def _counts_table(found: Sequence[Studied]) -> Iterator[str]:
    verdicts = [each for one in found for each in one.verdicts if each.kind == "count"]
    yield f"\n## Counts: {_told(verdicts)}\n"
    yield (
        "The frequency of each value over repetitions against that over their replays. Agreement is shown where the"
        f" 90 % interval of every difference lies within {FREQUENCY:g}, over at least {REPETITIONS} repetitions; with"
        " fewer it is not shown, however alike they are. The interval is that of the value which is furthest apart.\n"
    )
    yield "| scenario | figure | repetitions | commonest | simulated - recorded frequency | agreement |"
    yield "|---|---|---|---|---|---|"
    for one in verdicts:
        apart = f"{one.low:.2f} to {one.high:.2f}"
        yield f"| {one.scenario} | {one.figure} | {one.n} | {one.recorded:.0f} | {apart} | {_bold(one)} |"


def _told(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(one.verdict for one in verdicts)
    rest = f"{counts[NOT_SHOWN]} not shown, {counts[DIFFERS]} differ"
    return f"of {len(verdicts)} figures {counts[SHOWN]} shown, {rest}"


def _bold(one: Verdict) -> str:
    return one.verdict if one.verdict == SHOWN else f"**{one.verdict}**"


def _unsettled() -> Iterator[str]:
    """By reason: what is not shown, what differs, and what no recording is like."""
    yield "\n## What is not shown\n"
    yield f"Nothing is shown where no recording that is compared is like it: {', '.join(NOT_RECORDED)}.\n"
    yield f"- **{NOT_SHOWN}**: every count of fewer than {REPETITIONS} repetitions: frequencies need so many."
    for one in UNSETTLED:
        told = {name: ", ".join(f"`{figure}`" for figure in figures) for name, figures in one.figures.items()}
        named = "; ".join(f"{name} ({figures})" for name, figures in told.items())
        yield f"- **{one.verdict}**: {named}: {one.reason}."


def _distributions_table(found: Sequence[Row]) -> Iterator[str]:
    yield "\n## Distributions: median [range], reported only\n"
    yield (
        "Seconds, but for counts. The simulated ones are over seeds, with instants of faults of their own, so that they"
        " cannot be paired; six repetitions show nothing of a distribution, and there is no verdict.\n"
    )
    yield "| scenario | figure | real | simulated |"
    yield "|---|---|---|---|"
    for row in found:
        real, mine = spread(row.figure, row.real), spread(row.figure, row.simulated)
        yield f"| {row.scenario} | {row.figure} | {real} | {mine} |"


# --- replays ----------------------------------------------------------------------------------------------------------


def _replays_table(found: Sequence[Studied]) -> Iterator[str]:
    total = sum(len(one.replays) for one in found)
    equal = sum(not each.differences for one in found for each in one.replays)
    yield f"\n## Replays: {equal} of {total} repetitions without any difference\n"
    yield (
        "Each repetition against the simulated run with its own instants: the course (states, generations, triggers,"
        " epochs and targets, who came and went), who read which partition one after the other, how many commits each"
        " member sent, what"
        " refused them and what ended a member must be equal, every duration within 100 ms or 2 %. Where the course"
        " differs, nothing after it is compared.\n"
    )
    yield f"| scenario | repetitions | without difference | {' | '.join(_KINDS)} | durations that differ |"
    yield f"|---|---|---|{'---|' * (len(_KINDS) + 1)}"
    for one in found:
        kinds = [_kinds(each.differences) for each in one.replays]
        clean = sum(not kind.total() for kind in kinds)
        other = [sum(name in kind for kind in kinds) for name in _KINDS]
        durations = sum(kind["durations"] for kind in kinds)
        yield f"| {one.name} | {len(kinds)} | {clean} | {' | '.join(map(str, other))} | {durations} |"


_KINDS: Final = {
    "other course": "step ", "other readers": "readers of ", "other commits": "commits of ", "other errors": "error of "
}  # fmt: skip
"""Columns of the table of replays, in repetitions, and how the places of such differences begin."""


def _kinds(found: Iterable[Difference]) -> Counter[str]:
    """How many differences there are of each kind."""
    return Counter(
        next((name for name, begin in _KINDS.items() if one.where.startswith(begin)), "durations") for one in found
    )


def _remaining(found: Sequence[Studied]) -> Iterator[str]:
    """What still differs: the reason, and the first differences of each repetition."""
    yield "\n## Differences that remain\n"
    if not REMAINING:
        yield "None."
    for reason in dict.fromkeys(one.reason for one in REMAINING.values()):
        yield f"- {', '.join(name for name, one in REMAINING.items() if one.reason == reason)}: {reason}."
    yield "\nThe first difference of each repetition that has one:\n"
    for studied in found:
        for each in studied.replays:
            for difference in each.differences[:1]:
                yield f"- {studied.name}, repetition {each.repetition}: {difference}"


# --- times of implementation ------------------------------------------------------------------------------------------


def _timings_table(found: Sequence[Studied]) -> Iterator[str]:
    yield "\n## Times of implementation\n"
    yield (
        "Measured on these recordings as the time between two facts of one member (`timings.py`), milliseconds. The"
        " model's constants for this machine are in `profile.py`, the same for all scenarios.\n"
    )
    yield "| time | n | 10 % | median | 90 % |"
    yield "|---|---|---|---|---|"
    for name, spans in measured(each.recording for one in found for each in one.replays).items():
        if len(spans) > 1:
            tenths = [one / 1e3 for one in quantiles(spans, n=10)]
            yield f"| {name} | {len(spans):,} | {tenths[0]:.2f} | {tenths[4]:.2f} | {tenths[8]:.2f} |"
