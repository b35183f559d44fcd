"""What an outage of brokers does to a group, measured on a recording and on a simulated run by the same functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tests.oracle.measures import BROKER
from tests.oracle.trace import Fact

LOADED = "outage: fault to coordinator loaded"
NO_COMMITS = "outage: longest without a commit"
NO_COMMITS_OF_ONE = "outage: longest without a commit of one member"


def outages(facts: Iterable[Fact]) -> list[Fact]:
    """What was done to brokers, in order."""
    return [one for one in facts if one["what"] == "action" and one["target"].startswith(BROKER)]


def durations(facts: Sequence[Fact]) -> dict[str, float]:
    """How long the coordinator was nowhere, and nobody's commits were accepted, seconds; nothing without an outage."""
    done = outages(facts)
    if not done:
        return {}
    fault_us = done[0]["at_us"]
    found = {
        NO_COMMITS: _longest(_commits(facts, fault_us)["anybody"]),
        NO_COMMITS_OF_ONE: max(_longest(some) for name, some in _commits(facts, fault_us).items() if name != "anybody"),
    }
    loaded = [one["at_us"] for one in facts if one["what"] == "coordinator" and one["change"] == "loaded"]
    after = [at_us for at_us in loaded if at_us >= fault_us]
    return {LOADED: (after[0] - fault_us) / 1e6, **found} if after else found


def _commits(facts: Iterable[Fact], fault_us: int) -> dict[str, list[int]]:
    """When commits were accepted, of each member and of anybody: the last ones before the fault, and all after it."""
    found: dict[str, list[int]] = defaultdict(list)
    for fact in facts:
        if fact["what"] == "committed":
            for name in ("anybody", fact["member"]):
                some = found[name]
                if fact["at_us"] < fault_us and some:
                    some.clear()
                some.append(fact["at_us"])
    return found


def _longest(times: Sequence[int]) -> float:
    return max((later - one for one, later in pairwise(times)), default=0) / 1e6
