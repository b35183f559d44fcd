"""What the columns of ``summary`` mean to a reader: a label, a unit, and whether less is better."""

from __future__ import annotations

import difflib
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from groupsim.analysis.errors import ResultError

SECONDS = "s"
PARTITION_SECONDS = "partition·s"
RECORDS = "records"
BYTES = "B"
COUNT = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of ``summary``: its label, its unit, and whether less is better (None: neither is).

    ``short`` stands where room is scarce: above a column of a table.
    """

    name: str
    label: str
    short: str
    unit: str = COUNT
    lower_is_better: bool | None = True


_ALL = (
    Metric("members", "members, peak", "members", lower_is_better=None),
    Metric("partitions", "partitions", "partitions", lower_is_better=None),
    Metric("rebalances", "rebalances", "rebalances"),
    Metric("generations", "generations", "generations"),
    Metric("rebalance_s_total", "time in rebalances", "rebalancing", SECONDS),
    Metric("rebalance_s_max", "longest rebalance", "max rebalance", SECONDS),
    Metric("stop_the_world_s", "stop-the-world", "stopped", SECONDS),
    Metric("unavailable_partition_s", "unread in total", "unread", PARTITION_SECONDS),
    Metric("unavailable_s_max", "unread, worst", "worst", SECONDS),
    Metric("unavailable_s_p99", "unread, p99", "p99", SECONDS),
    Metric("unavailable_gap_s_max", "longest gap", "max gap", SECONDS),
    Metric("unavailable_detection_s", "unread: detection", "detection", PARTITION_SECONDS),
    Metric("unavailable_away_s", "unread: away", "away", PARTITION_SECONDS),
    Metric("unavailable_barrier_s", "unread: barrier", "barrier", PARTITION_SECONDS),
    Metric("unavailable_assignment_s", "unread: assignment", "assignment", PARTITION_SECONDS),
    Metric("unavailable_resume_s", "unread: resume", "resume", PARTITION_SECONDS),
    Metric("unavailable_unowned_s", "unread: unowned", "unowned", PARTITION_SECONDS),
    Metric("paused_s", "paused under 1 s", "paused", PARTITION_SECONDS),
    Metric("zombie_s", "read by zombies", "zombies", PARTITION_SECONDS),
    Metric("partitions_moved", "partitions moved", "moved"),
    Metric("partitions_moved_min", "moved, least", "moved min", lower_is_better=None),
    Metric("rscore", "Rscore", "Rscore"),
    Metric("imbalance_partitions_max", "imbalance", "imbalance"),
    Metric("lag_records_max", "lag, peak", "max lag", RECORDS),
    Metric("lag_records_end", "lag, end", "end lag", RECORDS),
    Metric("lag_s_max", "age of lag, peak", "max age", SECONDS),
    Metric("recovery_s", "recovery", "recovery", SECONDS),
    Metric("duplicates", "duplicates", "duplicates", RECORDS),
    Metric("losses", "losses", "losses", RECORDS),
    Metric("joins", "joins", "joins", lower_is_better=None),
    Metric("leaves", "leaves", "leaves", lower_is_better=None),
    Metric("evictions", "evictions", "evictions"),
    Metric("fenced", "fenced", "fenced"),
    Metric("requests", "requests", "requests"),
    Metric("failed_assignments", "failed assignments", "failed"),
    Metric("unstable_s", "not stable", "unstable", SECONDS),
    Metric("first_service_s", "first service", "first", SECONDS),
    Metric("failed", "died of an error", "died"),
    Metric("stale_commits", "stale commits", "stale"),
    Metric("idle_heartbeats", "idle heartbeats", "idle", lower_is_better=None),
    Metric("coordinator_utilisation", "coordinator busy", "busy"),
    Metric("coordinator_wait_s_p99", "coordinator wait, p99", "wait p99", SECONDS),
    Metric("coordinator_wait_s_max", "coordinator wait, max", "max wait", SECONDS),
    Metric("read_bytes", "bytes read", "read", BYTES, lower_is_better=None),
    Metric("cross_rack_bytes", "bytes across racks", "across racks", BYTES),
    Metric("cross_rack_cost_per_month", "cost across racks a month", "cost a month"),
    Metric("aborted_share", "share of transactions aborted", "aborted"),
)

METRICS: Final = {one.name: one for one in _ALL}

HEADLINE: Final = (
    "unavailable_gap_s_max", "unavailable_partition_s", "stop_the_world_s", "rebalances", "partitions_moved",
    "lag_s_max", "duplicates", "losses",
)  # fmt: skip
"""What a reader wants first, most wanted first."""


COST: Final = ("cross_rack_bytes", "cross_rack_cost_per_month")
"""What a reader wants besides where there is a price."""
TRANSACTIONS: Final = ("aborted_share",)
"""What a reader wants besides of groups that produce."""


def headline_of(runs: Iterable[Mapping[str, object]]) -> list[str]:
    """What a reader wants first of these rows of ``summary``: what most others lack too, where it has a value."""
    rows = list(runs)
    besides = (names for names in (COST, TRANSACTIONS) if any(row.get(names[-1]) is not None for row in rows))
    return [*HEADLINE, *chain.from_iterable(besides)]


def named_on_screen(text: str) -> str:
    """The column that tables on the screen call so (``max gap``, ``longest gap``), or the empty string."""
    said = text.strip().lower()
    return next((one.name for one in _ALL if said in (one.label.lower(), one.short.lower())), "")


def metric(name: str) -> Metric:
    """The metric of that name.

    Raises
    ------
    ResultError
        ``summary`` has no such metric; the message names the nearest, or all there are.
    """
    if name not in METRICS:
        near = named_on_screen(name) or next(iter(difflib.get_close_matches(name, METRICS, n=1)), "")
        told = f"did you mean {near!r}? " if near else ""
        known = textwrap.fill(", ".join(METRICS), 78, initial_indent="  ", subsequent_indent="  ")
        raise ResultError(f"unknown metric {name!r}; {told}known:\n{known}")
    return METRICS[name]


def unit_of(name: str) -> str:
    """The unit of a column of ``summary``; empty for a count, and for what is no metric."""
    return METRICS[name].unit if name in METRICS else COUNT


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit in which a set of values reads well: multiply by ``factor`` to get there."""

    factor: float
    unit: str


def scale(values: Iterable[float], unit: str) -> Scale:
    """The scale for values of a metric's unit: seconds become ms, min or h, bytes MB or GB, big counts millions."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if unit in (SECONDS, PARTITION_SECONDS):
        stem = unit.removesuffix("s")
        steps: Sequence[tuple[float, float, str]] = (
            (1.0, 1e3, f"{stem}ms"), (300.0, 1.0, unit), (10_800.0, 1 / 60, f"{stem}min"),
        )  # fmt: skip
        if largest == 0:
            return Scale(1.0, unit)
        return next((Scale(f, u) for limit, f, u in steps if largest < limit), Scale(1 / 3600, f"{stem}h"))
    if unit == BYTES and largest >= 1e6:
        return Scale(1e-9, "GB") if largest >= 1e9 else Scale(1e-6, "MB")
    if largest >= 1e6:
        return Scale(1e-6, f"million {unit}".strip())
    return Scale(1.0, unit)


def number(value: float, decimals: int | None = None) -> str:
    """A number for people: three significant digits, or as many decimals as asked for, thousands separated."""
    if not math.isfinite(value):
        return "-"
    if decimals is None:
        decimals = decimals_of(value, 3)
        if value == round(value):
            decimals = 0
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def plus_minus(mean: float, half_width: float | None, measure: Scale) -> str:
    """A mean with its half-width, to the decimals that the half-width deserves; no ± where there is no spread."""
    if not half_width:
        return number(mean * measure.factor)
    mean, half_width = mean * measure.factor, half_width * measure.factor
    decimals = min(decimals_of(half_width, 2), decimals_of(mean, 5) if mean else 6)
    return f"{number(mean, decimals)} ± {number(half_width, decimals)}"


def decimals_of(value: float, digits: int) -> int:
    """How many decimals show ``digits`` significant digits of a value (never more than 6)."""
    if value == 0 or not math.isfinite(value):
        return 0
    return min(max(digits - 1 - math.floor(math.log10(abs(value))), 0), 6)


def duration(seconds: float) -> str:
    """A duration for people: ``350 ms``, ``9.9 s``, ``2:05 min``, ``1:02 h``."""
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    if seconds < 3599.5:
        whole = round(seconds)
        return f"{whole // 60}:{whole % 60:02d} min"
    minutes = round(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02d} h"
