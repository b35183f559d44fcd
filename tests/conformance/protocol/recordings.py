"""Plain scenarios that were recorded with a real broker and client (Kafka 4.4.0), and how they are measured.

Twelve partitions, poll(100 ms), a record per partition every 100 ms, heartbeat 3 s, session 10 s, initial delay 3 s,
consumers in warm processes. *Converged* is the time from the fault to the last callback or generation change; *unread*
the longest interruption of one partition, which in a recording includes up to 0.1 s of record spacing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import pandas as pd

from groupsim.sim import Result, simulate
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import (
    Close,
    Distribution,
    Entry,
    Kill,
    Override,
    Processing,
    Scale,
    Scenario,
    Start,
    Stuck,
    Target,
)
from groupsim.sim.units import MS, S
from tests.conformance.protocol.wire import Wire
from tests.support.scenarios import at, group, hang, scenario

WARM = Distribution("lognormal", (6 * MS, 75 * MS))
"""A consumer's constructor in a warm process, and its first poll() (recorded: 3/9/36 ms with discovery)."""
BUSY = Distribution("lognormal", (950, 20_000))
"""One-way latency that gives the recorded JoinGroup round trips (0.8/2.2/14 ms) on a machine with other work."""
FREE = Distribution.constant(0)
IDLE = Processing(per_record=FREE)
AT_ONCE = Start()
G = Target("group", "g")
ANYBODY = Target("group", "g", "random")


def recorded_client(strategy: str = "range", **changes: object) -> ClientConfig:
    """The recorded consumer's configuration."""
    chosen: dict[str, object] = {
        "session_timeout_us": 10 * S, "partition_assignment_strategy": (strategy,), "auto_offset_reset": "earliest",
        **changes,
    }  # fmt: skip
    return ClientConfig(**chosen)  # type: ignore[arg-type]


def recorded(
    count: int,
    *timeline: Entry,
    strategy: str = "range",
    horizon_s: int = 45,
    delay_us: int = 3 * S,
    start: Start = AT_ONCE,
    static: bool = False,
    processing: Processing = IDLE,
    overrides: tuple[Override, ...] = (),
    rate_mrps: int = 10_000,
    latency: Distribution = BUSY,
    **config: object,
) -> Scenario:
    """A recorded set-up."""
    one = group(
        count, client=recorded_client(strategy, **config), boot=WARM, start=start, static=static, processing=processing,
        overrides=overrides,
    )  # fmt: skip
    return scenario(one, *timeline, horizon_us=horizon_s * S, delay_us=delay_us, latency=latency, rate_mrps=rate_mrps)


@dataclass
class Measured:
    """What many seeds of one scenario give, seconds; one value a seed."""

    converged: list[float] = field(default_factory=list)
    unread: list[float] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    removed: list[float] = field(default_factory=list)
    duplicates: list[float] = field(default_factory=list)

    def middle(self, what: str) -> float:
        """Median over the seeds."""
        return float(median(getattr(self, what)))

    def range95(self, what: str) -> tuple[float, float]:
        """From the 2.5 % to the 97.5 % quantile."""
        low, high = np.quantile(getattr(self, what), (0.025, 0.975))
        return float(low), float(high)


Maker = Callable[[int], Scenario]
"""The instant of the fault, microseconds -> scenario."""


def measure(make: Maker, wire: Wire, seeds: int = 20) -> Measured:
    """Run with many seeds, the fault at as many instants, evenly over one heartbeat interval."""
    found = Measured()
    for seed in range(seeds):
        wire.clear()
        run = make(20 * S + (2 * seed + 1) * 3 * S // (2 * seeds))
        _note(found, simulate(run, seed=seed), wire, run.timeline[0].at_us if run.timeline else 0)
    return found


def _note(found: Measured, result: Result, wire: Wire, fault: int) -> None:
    table = result.tables["states"]
    changes = table.loc[(table["state"] == "CompletingRebalance") & (table["from_us"] > fault), "from_us"].tolist()
    callbacks = [time for time, *_ in wire.callbacks if time > fault]
    found.converged.append((max([*changes, *callbacks], default=fault) - fault) / S)
    found.rounds.append(len(changes))
    gaps = result.tables["unavailability"]
    after = gaps[gaps["from_us"] >= fault]
    found.unread.append(max((_longest(rows) for _, rows in after.groupby("partition")), default=0) / S)
    moves = result.tables["rebalances"]
    starts = moves.loc[(moves["trigger"] == "expiry") & (moves["start_us"] > fault), "start_us"]
    found.removed += [(int(starts.iloc[0]) - fault) / S] if len(starts) else []
    delivery = result.tables["delivery"]
    found.duplicates.append(int(delivery.loc[delivery["kind"] == "duplicate", "records"].sum()))


def _longest(rows: pd.DataFrame) -> int:
    """Longest run of touching rows of one partition, microseconds."""
    longest, begin, end = 0, -1, -1
    for row in rows.itertuples():
        begin, end = (begin if row.from_us == end else row.from_us), row.to_us
        longest = max(longest, end - begin)
    return longest


def joins(strategy: str = "range", *, busy_s: float = 0, **settings: object) -> Maker:
    """A fourth member joins three; one of those may be away from poll() from that instant on."""

    def make(when: int) -> Scenario:
        away = [hang(when, int(busy_s * S), 1)] if busy_s else []
        return recorded(3, at(when, Scale(target=G, to=4)), *away, strategy=strategy, **settings)  # type: ignore[arg-type]

    return make


def leaves(strategy: str) -> Maker:
    """One of four closes."""
    return lambda when: recorded(4, at(when, Close(target=ANYBODY)), strategy=strategy)


def dies(strategy: str, session_s: int = 10) -> Maker:
    """One of four is killed."""
    return lambda when: recorded(
        4, at(when, Kill(target=ANYBODY)), strategy=strategy, horizon_s=30 + session_s, session_timeout_us=session_s * S
    )


def dies_under_load(when: int) -> Scenario:
    """One of two is killed at 1,000 records a second in all."""
    return recorded(2, at(when, Kill(target=ANYBODY)), rate_mrps=83_333)


def stalls(strategy: str, seconds: int, *, static: bool = False) -> Maker:
    """One of three is away from poll() for longer than its max.poll.interval.ms of 5 s."""
    verb = Stuck(target=ANYBODY, duration=Distribution.constant(seconds * S))
    return lambda when: recorded(
        3, at(when, verb), strategy=strategy, horizon_s=60, static=static, max_poll_interval_us=5 * S
    )


def starts(count: int, strategy: str = "range", *, apart_us: int = 0, delay_us: int = 3 * S) -> Maker:
    """Members start at once, or one after the other."""
    start = Start(kind="every", value_us=apart_us) if apart_us else AT_ONCE
    return lambda when: recorded(count, strategy=strategy, start=start, delay_us=delay_us, horizon_s=30)
