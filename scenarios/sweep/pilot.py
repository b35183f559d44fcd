"""What runs of a sweep are expected to cost, measured: some of its variants are run here, each for a short time.

Which variants: the first; then, again and again, the one that differs most from all that have been chosen. A pilot run
that is not over after its time limit is extrapolated over the rest of its horizon, at the rate of the second half of
the virtual time that it has come to (the first half has the start of all members in it). A variant that is not run is
expected to cost what the pilot run that differs least from it costs, times the ratio of members x horizon.

Two variants differ by one for each path that is set to other values, and by the decimal logarithm of the ratio where
both are numbers. Seconds are processor time of this machine, tables included.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic, process_time
from typing import Any, Final

from groupsim.scenarios.files.result_folder import to_arrow
from groupsim.scenarios.sweep.design import Changes
from groupsim.scenarios.sweep.loading import Sweep, Variant
from groupsim.scenarios.sweep.outcome import Simulate, describe

RUNS_MAX: Final = 12
_LOOK_EVENTS: Final = 50
"""The clock is read after so many events."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run costs.

    Parameters
    ----------
    events : float
        Kernel events, which `sim.model.Scenario.event_budget` limits.
    seconds : float
        Of one core.
    """

    events: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.events + other.events, self.seconds + other.seconds)

    def times(self, number: float) -> Cost:
        """The cost of so many of these."""
        return Cost(self.events * number, self.seconds * number)


@dataclass(frozen=True, slots=True)
class PilotRun:
    """One run of a variant.

    Parameters
    ----------
    variant : Variant
    cost : Cost
        Of the whole run; of a run that failed, until then.
    is_whole : bool
        Whether it has come to its end: otherwise the cost is extrapolated.
    error : str
        What ended it early, but for the time limit; empty if nothing did.
    """

    variant: Variant
    cost: Cost
    is_whole: bool = True
    error: str = ""


@dataclass(frozen=True, slots=True)
class Pilot:
    """The pilot runs of a sweep, and what they say of each variant.

    Parameters
    ----------
    runs : tuple of PilotRun
    costs : mapping of str to Cost
        By variant.
    slowness : float
        Above 1 where the machine has other work (`Slowness`).
    """

    runs: tuple[PilotRun, ...]
    costs: Mapping[str, Cost]
    slowness: float = 1.0


def pilot(sweep: Sweep, simulate: Simulate, *, limit_s: float, share: float = math.inf) -> Pilot:
    """Run up to ``RUNS_MAX`` variants once.

    Parameters
    ----------
    limit_s : float
        Processor time after which a pilot run ends.
    share : float
        There is no further pilot run once they have taken this share of what the sweep is expected to take.
    """
    variants, begin_s, slowness = sweep.variants, process_time(), Slowness()
    wanted = len(variants) * sweep.replications.at_least
    chosen, runs = _Chosen(variants), list[PilotRun]()
    while len(runs) < RUNS_MAX and (variant := chosen.another()) is not None:
        run = run_once(variant, simulate, limit_s)
        if not runs and run.is_whole:  # the first run of a process imports modules and fills caches
            run = run_once(variant, simulate, limit_s)
        runs.append(run)
        mean_s = sum(one.cost.seconds for one in runs) / len(runs)
        if process_time() - begin_s > share * wanted * mean_s:
            break
    costs = {one.name: _scaled(runs[at], one) for one, at in zip(variants, chosen.nearest, strict=True)}
    return Pilot(tuple(runs), costs, slowness())


class Slowness:
    """Of this machine since this was made: time that passed over processor time that was spent, at least 1."""

    def __init__(self) -> None:
        self._began_s, self._begin_s = monotonic(), process_time()

    def __call__(self) -> float:
        """Until now."""
        return max((monotonic() - self._began_s) / max(process_time() - self._begin_s, 1e-9), 1.0)


class _Chosen:
    """Variants that differ much from one another.

    Attributes
    ----------
    nearest : list of int
        Of every variant, which of the chosen ones differs least from it.
    """

    def __init__(self, variants: Sequence[Variant]) -> None:
        self._variants, self._count = variants, 0
        self.nearest = [0] * len(variants)
        self._apart = [math.inf] * len(variants)

    def another(self) -> Variant | None:
        """The variant that differs most from all chosen, of several the first; None if all others are equal to one."""
        furthest = max(range(len(self._variants)), key=self._apart.__getitem__)
        found = self._variants[furthest]
        if self._apart[furthest] == 0:
            return None
        for number, one in enumerate(self._variants):
            if (distance := _distance(one.changes, found.changes)) < self._apart[number]:
                self.nearest[number], self._apart[number] = self._count, distance
        self._count += 1
        return found


def _distance(a: Changes, b: Changes) -> float:
    return sum(_apart(a.get(path), b.get(path)) for path in dict.fromkeys([*a, *b]))


def _apart(a: Any, b: Any) -> float:
    if a == b:
        return 0.0
    if _is_positive(a) and _is_positive(b):
        return abs(math.log10(a / b))
    return 1.0


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _scaled(run: PilotRun, variant: Variant) -> Cost:
    return run.cost.times(_size(variant) / _size(run.variant))


def _size(variant: Variant) -> int:
    """Members x horizon."""
    members = sum(group.members.count for group in variant.scenario.groups)
    return max(members, 1) * variant.scenario.horizon_us


# --- one run ------------------------------------------------------------------------------------------------------


class _OutOfTime(Exception):
    """The time limit of a pilot run."""


class _Meter:
    """Notes how far a run has come, and ends it after its time limit, counted from its first event."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s, self._begin_s = limit_s, process_time()
        self._end_s = math.inf
        self.marks: list[tuple[int, int, float]] = [(0, 0, 0.0)]
        """Virtual time in microseconds, events, processor time."""
        self._events = 0

    def __call__(self, now_us: int) -> None:
        self._events += 1
        if self._events == 1:
            self._end_s = process_time() + self._limit_s
        if self._events % _LOOK_EVENTS == 0:
            self.mark(now_us)
            if process_time() > self._end_s:
                raise _OutOfTime

    def mark(self, now_us: int) -> None:
        """Note how far the run is now."""
        self.marks.append((now_us, self._events, process_time() - self._begin_s))

    @property
    def spent(self) -> Cost:
        """Until now."""
        return Cost(self._events, process_time() - self._begin_s)


def run_once(variant: Variant, simulate: Simulate, limit_s: float) -> PilotRun:
    """The variant's first replication, its event budget lifted: how many events it takes is what is asked."""
    meter, scenario = _Meter(limit_s), replace(variant.scenario, event_budget=sys.maxsize)
    try:
        result = simulate(scenario, seed=variant.seed, replication=0, variant=variant.name, after_each=meter)
        to_arrow("summary", result.tables)
    except _OutOfTime:
        return PilotRun(variant, extrapolated(meter.marks, scenario.horizon_us), is_whole=False)
    except Exception as error:  # the runs of the sweep will tell of it one by one
        return PilotRun(variant, meter.spent, is_whole=False, error=describe(error))
    return PilotRun(variant, replace(meter.spent, events=float(result.manifest["events"])))


def extrapolated(marks: Sequence[tuple[int, int, float]], horizon_us: int) -> Cost:
    """The cost of a whole run that ended early.

    Parameters
    ----------
    marks : sequence of (microseconds, events, seconds)
        Virtual time that it had come to, events and processor time until then, in order.
    """
    now_us, events, seconds = marks[-1]
    if now_us == 0:
        return Cost(events, seconds)
    since_us, since_events, since_s = [mark for mark in marks if mark[0] <= now_us / 2][-1]
    left = (horizon_us - now_us) / (now_us - since_us)
    return Cost(events + left * (events - since_events), seconds + left * (seconds - since_s))
