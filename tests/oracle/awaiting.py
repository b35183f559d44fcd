"""Recordings that wait for a model of what they show: their figures alone, in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from tests.oracle import epochs
from tests.oracle.measures import beats_apart, rounds
from tests.oracle.remaining import NOT_COMPARED
from tests.oracle.study import Studied, recordings
from tests.oracle.trace import Fact, Trace
from tests.oracle.wording import COUNTS

MINUTE_US = 60_000_000


def consumer_groups() -> Iterator[str]:
    """The section on groups of the consumer protocol."""
    yield "\n## Recorded, not compared yet\n"
    yield (
        "Groups of the consumer protocol (KIP-848): 5 s between heartbeats, 45 s of session unless the file says"
        " otherwise. A rebalance is from a bump of the group epoch to everybody owning exactly its target; *balanced"
        " again* counts from the first fault, or from the first member where there is none. Seconds, but for numbers.\n"
    )
    yield "| scenario | repetitions | figure | least | median | most |"
    yield "|---|---|---|---|---|---|"
    for name in NOT_COMPARED:
        fit = [one.facts for one in recordings(name) if one.header["unfit"] is None]
        yield from (f"| {name} | {len(fit)} | {row} |" for row in _rows(fit))


def _rows(repetitions: Sequence[Sequence[Fact]]) -> Iterator[str]:
    found = [epochs.summary(facts) for facts in repetitions]
    for figure in dict.fromkeys(name for one in found for name in one):
        values = [one[figure] for one in found if figure in one]
        if any(values):
            form = ",.0f" if figure in COUNTS else ".2f"
            told = (format(one, form) for one in (min(values), median(values), max(values)))
            yield f"{figure} | {' | '.join(told)}"


def aged_groups(found: Sequence[Studied]) -> Iterator[str]:
    """The section on how far heartbeats have drifted apart, and what the next round then takes."""
    yield "\n## Heartbeats of groups that were left alone\n"
    yield (
        "How far apart the heartbeats of the members are when a round begins (the shortest span that holds one of each)"
        " and how long its join phase is then; heartbeats every 3 s. Seconds, of each repetition.\n"
    )
    yield "| scenario | repetition | minutes since the last round | members | heartbeats apart | join phase |"
    yield "|---|---|---|---|---|---|"
    for one in found:
        if one.name.startswith("aged-"):
            for each in one.replays:
                yield from (f"| {one.name} | {each.repetition} | {row} |" for row in _aged(each.recording))


def _aged(facts: Sequence[Fact]) -> Iterator[str]:
    told = rounds(facts)
    for before, one in pairwise(told):
        alone_us = one.preparing_us - before.stable_us
        members, apart_us = beats_apart(facts, one.preparing_us)
        phase_us = one.completing_us - one.preparing_us
        yield f"{alone_us / MINUTE_US:.1f} | {members} | {apart_us / 1e6:.2f} | {phase_us / 1e6:.2f}"


def of_consumer_groups(found: Sequence[Trace]) -> bool:
    """Whether somebody in these recordings used the consumer protocol."""
    return any(fact["what"] in epochs.EPOCHS for one in found for fact in one.facts)
