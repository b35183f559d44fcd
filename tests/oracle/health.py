"""Whether the machine was fit to record: how busy it was, what was stolen from it, whether its clock jumped.

Its load is how many of its processors were busy over the busiest ten seconds. How many threads wanted to run says
less: a tick of the producer wakes all consumers at once, and they are served within a few milliseconds. Work of a
lower priority (nice) gives way and is told apart. A recorder of a high priority goes before the others' work, of which
the load is the sum: there the timers of members that only wait say whether it was served, and they may be as late as
two worlds may be apart where the network decides (`tests.oracle.equivalence.NETWORK_S`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_CORES = os.cpu_count() or 1
SAMPLE_S = 0.25
LOAD_SPAN = 40
"""Samples that a load is taken over: ten seconds."""
LOAD_MAX_PER_CORE = 0.97
"""Six plays at once, on two cores and alone, take 0.7 of each, and up to 0.965 in the ten seconds in which all begin;
with other work beside them 0.98 to 1, and what should take milliseconds takes tenths of seconds."""
BEATS_LATE_MAX_MS = 20.0
"""Of nine heartbeats in ten."""
STEAL_MAX = 0.05
CLOCK_JUMP_MAX_US = 20_000
LATE_MAX_US = 250_000


@dataclass(frozen=True)
class _Sample:
    at_us: int
    idle: int
    stolen: int
    jiffies: int
    niced: int
    offset_us: int


def _sample() -> _Sample:
    cpu = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    wall = time.time_ns() // 1000
    return _Sample(wall, cpu[3] + cpu[4], cpu[7], sum(cpu), cpu[1], _offset_us())


def _offset_us() -> int:
    """Wall clock minus steady clock; of a few readings the one that was interrupted least."""
    readings = []
    for _ in range(3):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after - before, (wall - (before + after) // 2) // 1000))
    return min(readings)[1]


class Health:
    """Looks at the machine as long as it runs."""

    def __init__(self) -> None:
        self._samples: list[_Sample] = []

    async def watch(self) -> None:
        """Take samples until cancelled."""
        while True:
            self._samples.append(_sample())
            await asyncio.sleep(SAMPLE_S)

    def report(self, from_us: int, to_us: int) -> dict[str, float | int]:
        """Figures of a span, microseconds since 1970."""
        some = [one for one in self._samples if from_us <= one.at_us <= to_us] or [_sample()]
        jumps = [abs(one.offset_us - before.offset_us) for before, one in pairwise(some)]
        jiffies = some[-1].jiffies - some[0].jiffies
        return {
            "cores": _CORES,
            "load_max": round(max(_load(some[i : i + LOAD_SPAN]) for i in range(max(1, len(some) - LOAD_SPAN + 1))), 2),
            "steal_share": round((some[-1].stolen - some[0].stolen) / jiffies, 4) if jiffies else 0.0,
            "clock_jump_us": max(jumps, default=0),
            "nice": os.getpriority(os.PRIO_PROCESS, 0),
            "niced": round(_CORES * (some[-1].niced - some[0].niced) / jiffies, 2) if jiffies else 0.0,
        }


def _load(some: Sequence[_Sample]) -> float:
    """Processors that were busy between the first and the last of these samples, niced work aside."""
    jiffies = some[-1].jiffies - some[0].jiffies
    free = some[-1].idle - some[0].idle + some[-1].niced - some[0].niced
    return _CORES * (1 - free / jiffies) if jiffies else 0.0


def is_too_busy(machine: Mapping[str, float | int]) -> bool:
    """Whether the recorder had to wait for a processor: by the load, or (high priority) by its timers."""
    if machine["load_max"] <= LOAD_MAX_PER_CORE * machine["cores"]:
        return False
    return machine.get("nice", 0) >= 0 or machine["beats_late_ms"] > BEATS_LATE_MAX_MS


def unfit(machine: dict[str, float | int], late_us: int) -> str | None:
    """Why a recording must not be compared; None if it may be."""
    reasons = []
    if is_too_busy(machine):
        bound = LOAD_MAX_PER_CORE * machine["cores"]
        reasons.append(f"{machine['load_max']} processors busy over ten seconds (at most {bound:g})")
    if machine["steal_share"] > STEAL_MAX:
        reasons.append(f"{machine['steal_share']:.1%} of the processors stolen (at most {STEAL_MAX:.0%})")
    if machine["clock_jump_us"] > CLOCK_JUMP_MAX_US:
        reasons.append(f"clock jumped by {machine['clock_jump_us']} us (at most {CLOCK_JUMP_MAX_US})")
    if late_us > LATE_MAX_US:
        reasons.append(f"something was done {late_us} us late (at most {LATE_MAX_US})")
    return "; ".join(reasons) or None
