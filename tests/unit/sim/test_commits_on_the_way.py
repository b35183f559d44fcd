"""A rebalance that begins while commits are on their way: nobody takes steps of its own because of that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import Distribution, Processing, Scenario
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import client, cooperative, group, join, rounds, scenario

MEMBERS = 8
LATENCY = Distribution("uniform", (15 * MS, 40 * MS))
CONSTANT, DRAWN = Distribution.constant(2 * MS), Distribution("uniform", (1 * MS, 3 * MS))
EAGER, COOPERATIVE = client(enable_auto_commit=True), cooperative(enable_auto_commit=True)
UNDISTURBED_MS = 4_640
"""Nothing is on its way when a member joins that is started so long after the group is Stable."""


def _joined(after_ms: int, consumer: ClientConfig, cost: Distribution = CONSTANT) -> Scenario:
    """A member is started so long after the group is Stable: others commit every 5 s, and all at about one time."""
    one = group(MEMBERS, client=consumer, processing=Processing(per_record=cost, per_poll_us=199 * MS))
    first = scenario(
        one, join(20 * S, MEMBERS + 1), horizon_us=45 * S, partitions=40, rate_mrps=10_000, latency=LATENCY
    )
    stable_us = rounds(simulate(first))[-1].end_us
    return replace(first, timeline=(*first.timeline, join(stable_us + after_ms * MS, MEMBERS + 2)))


@pytest.mark.parametrize(
    ("after_ms", "consumer", "cost"),
    [
        (4_280, EAGER, CONSTANT), (4_380, EAGER, CONSTANT), (4_400, EAGER, DRAWN),
        (4_520, COOPERATIVE, CONSTANT), (4_440, COOPERATIVE, DRAWN),
    ],
)  # fmt: skip
def test_commits_that_are_on_their_way_cost_no_event(after_ms: int, consumer: ClientConfig, cost: Distribution) -> None:
    undisturbed = simulate(_joined(UNDISTURBED_MS, consumer, cost)).manifest["events"]
    assert simulate(_joined(after_ms, consumer, cost)).manifest["events"] == undisturbed


@pytest.mark.parametrize("after_ms", [4_280, 4_380, 4_520, 5_140, 5_180, 5_220])
@pytest.mark.parametrize("consumer", [EAGER, COOPERATIVE], ids=["eager", "cooperative"])
def test_both_fidelities_agree_on_what_becomes_of_them(after_ms: int, consumer: ClientConfig) -> None:
    assert not differences(_joined(after_ms, consumer), seed=3)


def test_they_agree_when_passes_are_drawn_and_when_nobody_commits() -> None:
    assert not differences(_joined(4_400, EAGER, DRAWN), seed=3)
    assert not differences(_joined(5_160, client()), seed=3)
