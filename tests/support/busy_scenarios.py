"""Random scenarios of members that are at work for 60 or 90 % of the time: their heartbeats are late, and drift apart.

Every partition has a rate of its own in some, steps of the heartbeat thread are of different lengths, and passes end
within them or last for several.
"""

from __future__ import annotations

import random
from dataclasses import replace

from groupsim.sim.config import ClientConfig
from groupsim.sim.model import Distribution, Entry, Group, Processing, Rate, Scenario, Topic
from groupsim.sim.units import MS, S
from tests.support.random_scenarios import Maker

_PARTITIONS = 12


def busy_scenario(seed: int) -> Scenario:
    """One scenario, the same for the same seed."""
    return BusyMaker(random.Random(f"busy-{seed}")).scenario(f"busy-{seed}")


class BusyMaker(Maker):
    """Makes one scenario, by chance."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance, "jitter")
        self.members = chance.choice([2, 3, 4, 6])
        self.pattern = False
        self._rates = chance.choice([(10_000,), (400,), tuple(range(8_000, 8_000 + 400 * _PARTITIONS, 400))])
        self._load = chance.choice([0.6, 0.9])

    def scenario(self, name: str) -> Scenario:
        """A long one, in which little happens."""
        scenario, chance = super().scenario(name), self.chance
        topic = Topic(name="a", partitions=_PARTITIONS, rate=Rate(per_partition_mrps=(self._rates,)))
        return replace(
            scenario,
            horizon_us=chance.choice([60, 150]) * S,
            topics=(topic, scenario.topics[1]),
            timeline=scenario.timeline[: chance.randint(0, 3)],
            measure_from_us=chance.choice([0, 33 * S]),
        )

    def _group(self) -> Group:
        return replace(super()._group(), processing=self._processing())

    def _client(self) -> ClientConfig:
        chance = self.chance
        strategy = chance.choice([("range",), ("sticky",), ("cooperative-sticky",)])
        return replace(
            super()._client(), partition_assignment_strategy=strategy,
            retry_backoff_us=chance.choice([100, 100, 100, 7, 450]) * MS, behaviour=ClientConfig().behaviour,
        )  # fmt: skip

    def _processing(self) -> Processing:
        chance = self.chance
        per_second = sum(self._rates) / len(self._rates) * _PARTITIONS / self.members / 1_000
        cost_us = round(self._load / per_second * 1e6)
        cost = chance.choice([Distribution.constant(cost_us)] * 3 + [Distribution("uniform", (cost_us // 2, cost_us))])
        return Processing(
            per_record=cost,
            per_poll_us=chance.choice([0, 0, 0, 20 * MS]),
            on_assigned_us=chance.choice([0, 0, 300 * MS]),
            commit=chance.choice(["auto", "auto", "auto", "none", "after_batch"]),
        )

    def _pauses(self) -> list[Entry]:
        return super()._pauses() if self.chance.random() < 0.5 else []
