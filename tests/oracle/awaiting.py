"""Recordings that are unfit to be compared, and heartbeats of groups that were left alone: figures in the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from groupsim.sim.model import Scenario
from tests.oracle.long_stable import LeftAlone, begun_aged, left_alone
from tests.oracle.runs import summary
from tests.oracle.study import is_fit, played, recorded, recordings
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
        " and how long its join phase is then; heartbeats every 3 s. Seconds, least and most of three repetitions. In"
        " the model each group begins at the age that it had (`start: {aged: ...}`), and what ended its rest is done to"
        " it at once: two seeds for each repetition. *Varied*: records cost 4 % more or less"
        " (`sim/decisions/0026-aged-groups.md`). In the first four minutes the machine was too busy, and the busiest"
        " member of the uneven group worked off what had come before it joined, of which there is none in the model.\n"
    )
    yield "| scenario | minutes alone | then | members | apart | model | varied | join phase | model | varied |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name in (one for one in recorded() if one.startswith("aged-")):
        rests = [list(left_alone(each.facts)) for each in recordings(name)]
        yield from (f"| {name} | {_aged(played(name), alike)} |" for alike in zip(*rests, strict=True))


def _aged(scenario: Scenario, rests: Sequence[LeftAlone]) -> str:
    """A row: what was recorded after one rest in each repetition, and the model's."""
    first = rests[0]
    is_idle = not scenario.groups[0].processing.per_record.values[0]
    told = [rests, _begun(scenario, rests, is_varied=False), [] if is_idle else _begun(scenario, rests, is_varied=True)]
    head = f"{first.age_us / MINUTE_US:.1f} | {'join' if first.is_join else 'kill'} | {first.members}"
    apart = " | ".join(_range([one.apart_us for one in some]) for some in told)
    return f"{head} | {apart} | {' | '.join(_range([one.join_us for one in some]) for some in told)}"


def _begun(scenario: Scenario, rests: Sequence[LeftAlone], *, is_varied: bool) -> list[LeftAlone]:
    return [begun_aged(scenario, rest, seed, is_varied=is_varied) for rest in rests for seed in (1, 2)]


def _range(values_us: Sequence[int]) -> str:
    return f"{min(values_us) / 1e6:.2f} to {max(values_us) / 1e6:.2f}" if values_us else "-"
