"""``groupsim sweep --dry-run``: what would run, and what it is expected to cost after a pilot."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupsim.scenarios.cli.output import counted, print_json, print_table, print_wrapped, width
from groupsim.scenarios.cli.sweep_report import design_of_sweep

if TYPE_CHECKING:
    from groupsim.analysis.data.design import Design
    from groupsim.analysis.text.tables import TextTable
    from groupsim.scenarios.sweep.loading import Sweep, Variant
    from groupsim.scenarios.sweep.pilot import Cost, Pilot, PilotRun

LIMIT_S: Final = 2.0
"""Processor time of a pilot run."""
_BUSY: Final = 1.5
"""Time over processor time from which on it is said."""
SHOWN: Final = 30
"""More variants than this are cut to the first and the last few."""
FIRST: Final = 20
LAST: Final = 5


@dataclass(frozen=True, slots=True)
class Planned:
    """A variant, and what one of its runs is expected to cost."""

    variant: Variant
    cost: Cost

    @property
    def is_over(self) -> bool:
        """Whether a run would exceed its event budget."""
        return self.cost.events > self.variant.scenario.event_budget

    @property
    def spent(self) -> Cost:
        """What a run costs that ends at its budget."""
        return self.cost.times(min(1.0, self.variant.scenario.event_budget / max(self.cost.events, 1)))

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        one = self.variant
        return {
            "variant": one.name, "seed": one.seed, "set": one.changes, "events": round(self.cost.events),
            "seconds": round(self.cost.seconds, 4), "event_budget": one.scenario.event_budget, "over": self.is_over,
        }  # fmt: skip


def tell_plan(sweep: Sweep, *, as_json: bool) -> None:
    """Tell the variants, the number of runs, and what a pilot expects them to cost."""
    from groupsim.scenarios.sweep.pilot import Cost, pilot
    from groupsim.sim import simulate

    found = pilot(sweep, simulate, limit_s=LIMIT_S)
    plan = [Planned(one, found.costs[one.name]) for one in sweep.variants]
    once = sum((one.spent for one in plan), Cost())
    if as_json:
        print_json(_as_json(sweep, found, plan, once))
        return
    print_table(_table(plan, design_of_sweep(sweep)))
    print_wrapped("\n".join(["", *_totals(sweep, once, found.slowness), *_measured(sweep, found), *_over(plan)]))


def _as_json(sweep: Sweep, found: Pilot, plan: Sequence[Planned], once: Cost) -> dict[str, Any]:
    rule, cores = sweep.replications, _cores()
    bounds = {"at_least": rule.at_least, "at_most": rule.at_most}
    pilot_runs = [
        {"variant": run.variant.name, "whole": run.is_whole, "error": run.error or None} for run in found.runs
    ]
    return {
        "sweep": sweep.name,
        "scenario": sweep.source,
        "runs": {bound: len(plan) * times for bound, times in bounds.items()},
        "events": {bound: round(once.events * times) for bound, times in bounds.items()},
        "seconds": {bound: round(once.seconds * times / cores, 3) for bound, times in bounds.items()},
        "cores": cores,
        "pilot_runs": pilot_runs,
        "over_event_budget": [one.variant.name for one in plan if one.is_over],
        "variants": [one.as_json() for one in plan],
    }


def _table(plan: Sequence[Planned], design: Design) -> TextTable:
    from groupsim.analysis.data.labels import labels
    from groupsim.analysis.data.metrics import duration
    from groupsim.analysis.text.tables import Column, TextTable, label_columns

    left_out = len(plan) - FIRST - LAST if len(plan) > SHOWN else 0
    shown: list[Planned | None] = [*plan[:FIRST], None, *plan[-LAST:]] if left_out else [*plan]
    apart = labels((one.variant.name for one in plan), design).with_gap(f"... {left_out:,} more")
    titles = ["" if one is None else one.variant.name for one in shown]
    events = tuple("" if one is None else _rounded(one.cost.events) for one in shown)
    seconds = tuple("" if one is None else duration(one.cost.seconds) for one in shown)
    return TextTable(
        (
            *label_columns(apart, titles),
            Column("events a run", events, {"events": events}),
            Column("time a run", seconds, {"seconds": seconds}),
        ),
        tuple(filter(None, [apart.note])),
        width(),
    )


def _totals(sweep: Sweep, once: Cost, slowness: float) -> list[str]:
    from groupsim.analysis.data.metrics import duration

    rule, cores = sweep.replications, _cores()
    bounds = sorted({rule.at_least, rule.at_most})
    runs = " to ".join(f"{len(sweep.variants) * times:,}" for times in bounds)
    events = " to ".join(_rounded(once.events * times) for times in bounds)
    seconds = " to ".join(duration(once.seconds * times / cores) for times in bounds)
    late = " to ".join(duration(once.seconds * times * slowness / cores) for times in bounds)
    busy = f"; {late} as busy as this machine is now" if slowness >= _BUSY else ""
    of_each = (
        f"until the mean of {rule.metric} is known to ± {rule.half_width * 100:.3g} %"
        if rule.metric
        else (f"{counted(rule.at_most, 'replication')} each")
    )
    return [
        f"{runs} run{'' if runs == '1' else 's'}: {counted(len(sweep.variants), 'variant')}, {of_each}; all valid",
        f"estimated: {events} events, {seconds} on {counted(cores, 'core')} once Spark has started{busy}",
    ]


def _measured(sweep: Sweep, found: Pilot) -> list[str]:
    """How the estimate came about."""
    cut = sum(not run.is_whole and not run.error for run in found.runs)
    all_of = f"{len(found.runs):,} of " if len(found.runs) < len(sweep.variants) else ""
    told = [f"measured on this machine: one pilot run of {all_of}{counted(len(sweep.variants), 'variant')}"]
    if cut:
        told.append(f"{cut:,} ended after {LIMIT_S:g} s and extrapolated over the rest of the horizon")
    if len(sweep.variants) > len(found.runs):
        told.append("the others by the most similar of these, scaled by members x horizon")
    return ["; ".join(told), *_failed([run for run in found.runs if run.error])]


def _failed(runs: Sequence[PilotRun]) -> list[str]:
    """The pilot runs that ended in an error, as those of the sweep are going to."""
    if not runs:
        return []
    told = [f"  {run.variant.name}: {run.error}" for run in runs[:LAST]]
    more = [f"  ... {len(runs) - LAST:,} more"] if len(runs) > LAST else []
    return [f"failed in the pilot: {counted(len(runs), 'variant')}", *told, *more]


def _over(plan: Sequence[Planned]) -> list[str]:
    """The variants whose runs would end in an error."""
    over = [one for one in plan if one.is_over]
    if not over:
        return []
    told = [
        f"  {one.variant.name}: about {_rounded(one.cost.events)} events, {one.variant.scenario.event_budget:,} allowed"
        for one in over[:LAST]
    ]
    more = [f"  ... {len(over) - LAST:,} more"] if len(over) > LAST else []
    return [f"would exceed their event_budget and fail: {counted(len(over), 'variant')}", *told, *more]


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _rounded(number: float) -> str:
    """Three significant digits: it is an estimate."""
    return f"{float(f'{number:.3g}'):,.0f}"
