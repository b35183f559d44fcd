"""Recordings that are unfit to be compared, and heartbeats of groups that were left alone: figures in the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from tests.oracle import measures
from tests.oracle.runs import summary
from tests.oracle.study import is_fit, recorded, recordings
from tests.oracle.trace import Fact
from tests.oracle.wording import COUNTS

MINUTE_US = 60_000_000


def unfit() -> Iterator[str]:
    """The section on what was recorded on a machine that was too busy."""
    yield "\n## Recorded, and unfit to be compared\n"
    yield (
        "The machine was too busy: what timers decide may hold there, milliseconds do not. *Busy* is how many of two"
        " processors were, over ten seconds; *late* by how much nine heartbeats in ten were at most, milliseconds (of"
        " members that work, Kafka's rule besides). Figures in seconds, but for numbers.\n"
    )
    yield "| scenario | repetitions | unfit | busy | late | figure | least | median | most |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in recorded():
        told = recordings(name)
        bad = [one for one in told if not is_fit(one)]
        if bad:
            machines = [one.header["machine"] for one in bad]
            busy = max(one["load_max"] for one in machines)
            late = max(one.get("beats_late_ms", 0) for one in machines)
            head = f"{name} | {len(told)} | {len(bad)} | {busy:.2f} | {late:.0f}"
            yield from (f"| {head} | {row} |" for row in _rows([summary(one.facts) for one in bad]))


def _rows(found: Sequence[Mapping[str, float]]) -> Iterator[str]:
    for figure in dict.fromkeys(name for one in found for name in one):
        values = [one[figure] for one in found if figure in one]
        if any(values):
            form = ",.0f" if figure in COUNTS else ".2f"
            told = (format(one, form) for one in (min(values), median(values), max(values)))
            yield f"{figure} | {' | '.join(told)}"


def aged_groups() -> Iterator[str]:
    """The section on how far heartbeats have drifted apart, and what the next round then takes."""
    yield "\n## Heartbeats of groups that were left alone\n"
    yield (
        "How far apart the heartbeats of the members are when a round begins (the shortest span that holds one of each)"
        " and how long its join phase is then; heartbeats every 3 s. Seconds, of each repetition. In the first four"
        " minutes the machine was too busy.\n"
    )
    yield "| scenario | repetition | minutes since the last round | members | heartbeats apart | join phase |"
    yield "|---|---|---|---|---|---|"
    for name in (one for one in recorded() if one.startswith("aged-")):
        for each in recordings(name):
            yield from (f"| {name} | {each.header['repetition']} | {row} |" for row in _aged(each.facts))


def _aged(facts: Sequence[Fact]) -> Iterator[str]:
    told = measures.rounds(facts)
    for before, one in pairwise(told):
        alone_us = one.preparing_us - before.stable_us
        members, apart_us = measures.beats_apart(facts, one.preparing_us)
        phase_us = one.completing_us - one.preparing_us
        yield f"{alone_us / MINUTE_US:.1f} | {members} | {apart_us / 1e6:.2f} | {phase_us / 1e6:.2f}"
