"""What the recordings' machine adds to Kafka's rules: times of implementation, not of configuration.

One profile for all scenarios, measured on the recordings themselves (loopback, Java 17, two cores, warm processes) and
never tuned for one of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sim.config import Timing
from sim.model import Distribution, Network, Scenario

LATENCY: Final = Distribution("lognormal", (500, 5_000))
"""One way between a client and the broker."""
TIMING: Final = Timing()


def as_measured(scenario: Scenario) -> Scenario:
    """A scenario on that machine."""
    return replace(scenario, cluster=replace(scenario.cluster, network=Network(latency=LATENCY), timing=TIMING))
