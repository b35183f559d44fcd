"""Memory: what this process has, what it may have, and what a scenario needs at least."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from groupsim.sim.model import Scenario

GIB: Final = 1 << 30
_MEMBER_BYTES: Final = (6_500, 25_000)
_PARTITION_BYTES: Final = (250, 1_000)
"""Of a run, at least and usually, beside what its history takes: measured from 10,000 to 50,000 members with range and
cooperative-sticky, and for 1,000,000 partitions. ``make bench`` has whole runs."""
_RESERVE: Final = 0.05
"""A run ends before less than this share of the memory is free: the system needs some."""


def used_bytes() -> int | None:
    """What this process has; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    import resource

    return pages * resource.getpagesize()


def free_bytes() -> int | None:
    """What this process may still have, of the machine's memory and of its control group's; None if nobody says."""
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"MemAvailable: +(\d+) kB", text)
    if found is None:
        return None
    free, limit, used = int(found[1]) << 10, _group_limit(), used_bytes()
    return free if limit is None or used is None else min(free, limit - used)


def _group_limit() -> int | None:
    """The limit of a container, where it has one (control groups, version 2)."""
    try:
        return int(Path("/sys/fs/cgroup/memory.max").read_text())
    except (OSError, ValueError):  # "max" is no number
        return None


def is_short() -> bool:
    """Whether the memory is running out."""
    used, free = used_bytes(), free_bytes()
    return used is not None and free is not None and free < _RESERVE * (used + free)


def needed_bytes(scenario: Scenario) -> tuple[int, int]:
    """What a run needs at least, and what it usually needs, in bytes."""
    members, partitions = size(scenario)
    least, usual = (
        members * a_member + partitions * a_partition
        for a_member, a_partition in zip(_MEMBER_BYTES, _PARTITION_BYTES, strict=True)
    )
    return least, usual


def size(scenario: Scenario) -> tuple[int, int]:
    """Members and partitions of a scenario, as it begins."""
    members = sum(group.members.count for group in scenario.groups)
    return members, sum(topic.partitions for topic in scenario.topics)


def gib(number: float) -> str:
    """``0.4 GiB``, ``12 GiB``."""
    return f"{number / GIB:.1f} GiB" if number < 10 * GIB else f"{number / GIB:,.0f} GiB"
