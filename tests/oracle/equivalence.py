"""Whether agreement of a real group and a simulated one is shown: by intervals within bounds that were stated before.

*Durations*: the differences between each recording and its replay, which has the same instants. Agreement is shown
where the 90 % interval of their mean lies within the bound (two one-sided tests at 5 %: Schuirmann, J. Pharmacokinet.
Biopharm. 15, 1987), a difference where it lies outside; otherwise neither is. *Counts*: the frequency of each value
over repetitions and over their replays; the 90 % interval of the difference (Newcombe, Stat. Med. 17, 1998, method 10,
as if they were not pairs) must lie within 0.15, and with fewer than 30 repetitions nothing is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev
from typing import Final

from scipy.stats import norm, t

from tests.oracle.measures import unread
from tests.oracle.runs import course, phases, summary
from tests.oracle.trace import Fact

SHOWN: Final = "shown"
NOT_SHOWN: Final = "not shown"
DIFFERS: Final = "differs"

NETWORK_S: Final = 0.02
TIMER_S: Final = 0.1
SHARE: Final = 0.02
"""Bounds: of what the network takes, of what timers decide, and the share of a duration that is allowed at least."""
SHORT_S: Final = 0.1
"""What takes less in the median of the recordings is the network's: no timer is that short."""
EVERYTHING: Final = "every duration"
"""The figure of a scenario of which no replay has the course of its recording."""
COUNTS: Final = ("rounds", "read twice", "rebalances", "epochs", "targets", "classic rounds")
FREQUENCY: Final = 0.15
REPETITIONS: Final = 30
LEVEL: Final = 0.95
"""Of each side of an interval."""


@dataclass(frozen=True)
class Verdict:
    """What is shown of one figure of one scenario.

    Parameters
    ----------
    n : int
        Pairs, or repetitions.
    recorded : float
        Median of the recordings, seconds; of a count the commonest value.
    kind : {"network", "timer", "count"}
    low, high : float or None
        The 90 % interval of simulated minus recorded, seconds or shares; None where there are too few.
    bound : float
        Seconds, or a share.
    verdict : {"shown", "not shown", "differs"}
    """

    scenario: str
    figure: str
    n: int
    recorded: float
    kind: str
    low: float | None
    high: float | None
    bound: float
    verdict: str


# --- durations --------------------------------------------------------------------------------------------------------


def of_durations(scenario: str, pairs: Sequence[tuple[Sequence[Fact], Sequence[Fact]]]) -> list[Verdict]:
    """A verdict for each duration of the recordings and their replays; pairs of another course have none in common.

    Parameters
    ----------
    scenario : str
    pairs : sequence of (recording, replay)
    """
    alike = [(steps(real), steps(mine)) for real, mine in pairs if course(real) == course(mine)]
    if not alike:
        return [Verdict(scenario, EVERYTHING, 0, 0.0, "timer", None, None, TIMER_S, NOT_SHOWN)]
    figures = dict.fromkeys(name for real, mine in alike for name in (*real, *mine))
    return [_of_duration(scenario, name, alike) for name in figures]


def steps(facts: Sequence[Fact]) -> dict[str, float]:
    """The durations of a run on which there is a verdict, seconds: its steps, and how long partitions went unread."""
    found = phases(facts) | {name: length for name, length in summary(facts).items() if name not in COUNTS}
    if totals := [sum(end - begin for begin, end in spans) for spans in unread(facts).values()]:
        found.setdefault("unread, mean of partitions", mean(totals) / 1e6)
    return found


def _of_duration(scenario: str, name: str, pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]) -> Verdict:
    """What is not there took no time."""
    real = [one.get(name, 0.0) for one, _ in pairs]
    apart = [mine.get(name, 0.0) - one.get(name, 0.0) for one, mine in pairs]
    middle = median(real)
    is_network = name.endswith("sync phase") or middle < SHORT_S
    bound = max(NETWORK_S if is_network else TIMER_S, SHARE * middle)
    low, high = interval(apart)
    kind = "network" if is_network else "timer"
    return Verdict(scenario, name, len(pairs), middle, kind, low, high, bound, judged(low, high, bound))


def interval(apart: Sequence[float]) -> tuple[float | None, float | None]:
    """The 90 % interval of the mean; none of fewer than two."""
    if len(apart) < 2:
        return None, None
    half = float(t.ppf(LEVEL, len(apart) - 1)) * stdev(apart) / len(apart) ** 0.5
    return mean(apart) - half, mean(apart) + half


def judged(low: float | None, high: float | None, bound: float) -> str:
    """The verdict of an interval."""
    if low is None or high is None:
        return NOT_SHOWN
    if -bound <= low and high <= bound:
        return SHOWN
    return DIFFERS if low > bound or high < -bound else NOT_SHOWN


# --- counts -----------------------------------------------------------------------------------------------------------


def of_counts(scenario: str, recordings: Sequence[Sequence[Fact]], runs: Sequence[Sequence[Fact]]) -> Iterator[Verdict]:
    """A verdict for each count, over repetitions and their replays, those of another course too."""
    real, mine = [summary(facts) for facts in recordings], [summary(facts) for facts in runs]
    for name in [name for name in COUNTS if any(name in one for one in real)]:
        yield of_count(scenario, name, [one.get(name, 0) for one in real], [one.get(name, 0) for one in mine])


def of_count(scenario: str, name: str, real: Sequence[float], mine: Sequence[float]) -> Verdict:
    """The value whose frequencies are furthest apart decides."""
    ends = [difference(real.count(one), len(real), mine.count(one), len(mine)) for one in sorted({*real, *mine})]
    low, high = max(ends, key=lambda one: max(-one[0], one[1]))
    found = [judged(*one, FREQUENCY) for one in ends]
    verdict = DIFFERS if DIFFERS in found else NOT_SHOWN if NOT_SHOWN in found else SHOWN
    commonest = max(sorted(set(real)), key=real.count)
    verdict = verdict if len(real) >= REPETITIONS else NOT_SHOWN
    return Verdict(scenario, name, len(real), commonest, "count", low, high, FREQUENCY, verdict)


def difference(real: int, of_real: int, mine: int, of_mine: int) -> tuple[float, float]:
    """The 90 % interval of the difference of two frequencies, simulated minus recorded."""
    p, q = mine / of_mine, real / of_real
    (p_low, p_high), (q_low, q_high) = _wilson(p, of_mine), _wilson(q, of_real)
    below, above = ((p - p_low) ** 2 + (q_high - q) ** 2) ** 0.5, ((p_high - p) ** 2 + (q - q_low) ** 2) ** 0.5
    return p - q - below, p - q + above


def _wilson(share: float, n: int) -> tuple[float, float]:
    z = float(norm.ppf(LEVEL))
    middle, half = share + z * z / (2 * n), z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
