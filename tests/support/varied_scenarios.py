"""Random scenarios in which groups are not alike: several on one topic, static, cooperative, with commits of their own.

What happens to them is what deploys do: a group scales to zero and back, gets another configuration in the middle, and
two things happen at the same microsecond. Brokers take other times than usual, or none.
"""

from __future__ import annotations

import random
from dataclasses import replace

from groupsim.sim.config import ClientConfig, CoordinatorConfig, Timing
from groupsim.sim.model import (
    Broker,
    Cluster,
    Distribution,
    Entry,
    Group,
    Kill,
    Members,
    Network,
    Processing,
    Restart,
    Scale,
    Scenario,
    SetConfig,
    Start,
    Subscription,
    Target,
    Topic,
)
from groupsim.sim.units import MS, S
from tests.support.random_scenarios import Maker, rate
from tests.support.scenarios import EVENTS_MAX

_HORIZON_US = 60 * S


def varied_scenario(seed: int) -> Scenario:
    """One scenario, the same for the same seed."""
    return VariedMaker(random.Random(f"varied-{seed}")).scenario(f"varied-{seed}")


class VariedMaker(Maker):
    """Makes one scenario, by chance."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance, "crowd")
        self.members = chance.choice([2, 3, 6, 9, 12])
        self.groups = ("g", "h") if chance.random() < 0.3 else ("g",)

    def scenario(self, name: str) -> Scenario:
        chance = self.chance
        return Scenario(
            name=name,
            question="Do both fidelities agree?",
            horizon_us=_HORIZON_US,
            event_budget=EVENTS_MAX,
            cluster=self._cluster(),
            topics=(
                Topic(name="a", partitions=24, rate=rate(chance.choice([500, 3_000, 20_000]))),
                Topic(name="b", partitions=3, rate=rate(5_000)),
            ),
            groups=tuple(replace(self._group(), name=name) for name in self.groups),
            timeline=tuple(self._deploys() + self._pauses()),
            measure_from_us=chance.choice([0, 10 * S]),
            recovery_lag_records=100,
            sample_every_us=chance.choice([130 * MS, 7 * S]),
        )

    def _cluster(self) -> Cluster:
        chance = self.chance
        timing = chance.choice(
            [
                Timing(),
                Timing(join_prepare=Distribution("uniform", (0, 50 * MS)), sync_prepare=Distribution.constant(3 * MS)),
                Timing(append_us=0),
                Timing(service_us=2_000, append_us=5_000, heartbeat_late_us=0),
            ]
        )
        latency = Distribution.constant(1 * MS) if self.on_grid else Distribution("lognormal", (500, 5_000))
        config = CoordinatorConfig(
            initial_rebalance_delay_us=chance.choice([0, 3 * S]), max_size=chance.choice([1_000, 1_000, self.members])
        )
        brokers = (Broker(id=0), Broker(id=1))
        return Cluster(brokers=brokers, config=config, network=Network(latency=latency), timing=timing)

    def _group(self) -> Group:
        chance = self.chance
        self.client = self._client()
        start = chance.choice([Start(), Start(kind="every", value_us=self._time(0, 500 * MS))])
        return Group(
            name="g",
            subscription=Subscription(topics=("a",)),
            members=Members(count=self.members, static=chance.random() < 0.4, start=start),
            client=self.client,
            processing=self._processing(),
        )

    def _client(self) -> ClientConfig:
        strategy = self.chance.choice(["range", "range", "sticky", "cooperative-sticky", "cooperative-sticky"])
        return replace(super()._client(), partition_assignment_strategy=(strategy,))

    def _processing(self) -> Processing:
        chance = self.chance
        return replace(
            super()._processing(),
            per_poll_us=chance.choice([0, 5 * MS, 100 * MS, 400 * MS]),
            on_revoked_us=chance.choice([0, 0, 0, 500 * MS]),
            commit=chance.choice(["auto", "after_batch", "after_batch", "after_batch", "none", "before_processing"]),
        )

    def _deploys(self) -> list[Entry]:
        """Random entries, some of them twice at one instant, and a group that is away for a while."""
        chance = self.chance
        entries = [replace(self._entry(index), at_us=self._time(0, 50 * S)) for index in range(chance.randint(0, 4))]
        if entries and chance.random() < 0.4:
            entries.append(replace(self._entry(len(entries)), at_us=entries[-1].at_us))
        group = Target("group", chance.choice(self.groups))
        if chance.random() < 0.3:
            away_us = self._time(8 * S, 30 * S)
            back_us = away_us + self._time(1 * S, 15 * S)
            entries.append(Entry(id="away", at_us=away_us, verb=Scale(target=group, to=0)))
            entries.append(Entry(id="back", at_us=back_us, verb=Scale(target=group, to=self.members)))
        if chance.random() < 0.3:
            entries += self._changes_of_mind(group)
        return entries

    def _changes_of_mind(self, group: Target) -> list[Entry]:
        """Another configuration, and restarts that bring it into force."""
        chance, at_us = self.chance, self._time(8 * S, 30 * S)
        verb = SetConfig(
            target=group, client=self._another_client(), processing=self._processing(),
            static=chance.choice([None, True, False]),
        )  # fmt: skip
        some, down = replace(group, pick="share", share=0.5), Distribution.constant(2 * S)
        follows = chance.choice([Restart(target=some, down=down, stop="close"), Kill(target=some, down=down)])
        return [Entry(id="set", at_us=at_us, verb=verb), Entry(id="restart", at_us=at_us, verb=follows)]
