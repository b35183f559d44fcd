"""Recordings that wait for a model of what they show: their figures alone, in the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from tests.oracle import epochs, measures
from tests.oracle.remaining import NOT_COMPARED
from tests.oracle.study import recorded, recordings
from tests.oracle.trace import Fact, Trace
from tests.oracle.wording import COUNTS

MINUTE_US = 60_000_000


def awaiting() -> Iterator[str]:
    """The section on what is recorded and not compared."""
    yield "\n## Recorded, not compared yet\n"
    yield (
        "Groups of the consumer protocol (KIP-848), until the model has it, and recordings on a machine that was"
        " too busy: what timers decide holds there, milliseconds do not. Consumer groups beat every 5 s and have"
        " sessions of 45 s unless the file says otherwise; a rebalance is from a bump of the group epoch to everybody"
        " owning exactly its target; *balanced again* counts from the first fault, or from the first member where"
        " there is none. Seconds, but for numbers.\n"
    )
    yield "| scenario | repetitions | too busy | figure | least | median | most |"
    yield "|---|---|---|---|---|---|---|"
    for name in NOT_COMPARED:
        told = recordings(name)
        busy = sum(one.header["unfit"] is not None for one in told)
        yield from (f"| {name} | {len(told)} | {busy} | {row} |" for row in _rows([summary(one.facts) for one in told]))


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


def of_consumer_groups(found: Sequence[Trace]) -> bool:
    """Whether somebody in these recordings used the consumer protocol."""
    return any(fact["what"] in epochs.EPOCHS for one in found for fact in one.facts)
