"""What the recordings' machine adds to Kafka's rules: times of implementation, not of configuration.

One profile for all scenarios, set once from the medians that `tests.oracle.timings` measures on the recordings
themselves (they stand in the report) and never tuned for one of them. Up to three groups at a time on two cores: it was
busy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from groupsim.sim.config import Timing
from groupsim.sim.model import Distribution, Network, Scenario
from groupsim.sim.units import MS

LATENCY: Final = Distribution("lognormal", (2_400, 15 * MS))
"""One way between client and broker: a JoinGroup is refused for want of an id after 2, 6, 18 ms (10, 50, 90 %)."""
TIMING: Final = Timing(
    connect=Distribution.constant(17 * MS), heartbeat_late_us=770,
    leader_change=Distribution("lognormal", (20 * MS, 60 * MS)),
)  # fmt: skip
"""A connection to the coordinator: 24 ms from FindCoordinator to JoinGroup, less the round trip. A broker that takes
over twenty partitions has done so 0.3 to 1.1 s after it was decided, in the median 0.4 s. All other times are the
model's own."""
START_UP: Final = Distribution("lognormal", (20 * MS, 100 * MS))
"""From a start to FindCoordinator: those who start at once in one process take turns at two cores (fifty: up to 1.4 s,
which is not counted here). It takes the place of ``boot``, which is 0 in all scenarios."""


def as_measured(scenario: Scenario) -> Scenario:
    """A scenario on that machine."""
    cluster = replace(scenario.cluster, network=Network(latency=LATENCY), timing=TIMING)
    groups = tuple(replace(one, members=replace(one.members, boot=START_UP)) for one in scenario.groups)
    return replace(scenario, cluster=cluster, groups=groups)


def without_chance(scenario: Scenario) -> Scenario:
    """The same with medians, always: for replays, in which the recording says what came when."""
    network, timing = Network(latency=_median(LATENCY)), scenario.cluster.timing
    failover = scenario.cluster.failover
    failover = replace(failover, controlled_shutdown=_median(failover.controlled_shutdown))
    drawn = ("join_prepare", "sync_prepare", "initial_delay_late", "pattern_resolve", "metadata", "leader_change")
    timing = replace(timing, **{name: _median(getattr(timing, name)) for name in drawn})
    return replace(scenario, cluster=replace(scenario.cluster, network=network, timing=timing, failover=failover))


def brokers_by_chance(scenario: Scenario) -> Scenario:
    """The same, but how long brokers take for partitions that they take over is drawn: no recording says it."""
    timing = replace(scenario.cluster.timing, leader_change=TIMING.leader_change)
    return replace(scenario, cluster=replace(scenario.cluster, timing=timing))


def _median(law: Distribution) -> Distribution:
    assert law.kind == "lognormal"
    return Distribution.constant(law.values[0])
