"""Random scenarios in which it matters where everybody is, and who is mistaken for whom.

Racks with links between them, replicas in some of the racks, faults that strike a rack or a broker and come again;
members that share a ``group.instance.id`` or take partitions by hand; rates with steps, batches of a roll above one,
and a window that ends before the run does.
"""

from __future__ import annotations

import random
from dataclasses import replace

from groupsim.sim.model import (
    Broker,
    Cluster,
    Cut,
    Distribution,
    Entry,
    Group,
    Kill,
    Link,
    Override,
    Rate,
    RollingRestart,
    Scenario,
    SlowHost,
    Subscription,
    Target,
    Topic,
)
from groupsim.sim.units import MS, S
from tests.support.varied_scenarios import VariedMaker

RACKS = ("x", "y", "z")


def placed_scenario(seed: int) -> Scenario:
    """One scenario, the same for the same seed."""
    return _PlacedMaker(random.Random(f"placed-{seed}")).scenario(f"placed-{seed}")


class _PlacedMaker(VariedMaker):
    def scenario(self, name: str) -> Scenario:
        chance, world = self.chance, super().scenario(name)
        first, second = world.topics
        topics = (
            replace(first, rate=self._steps(), replication_factor=chance.choice([1, 2, 3])),
            replace(second, replication_factor=1),
        )
        return replace(
            world,
            topics=(*topics, Topic(name="c", partitions=7, rate=self._steps())),
            timeline=(*world.timeline, *self._local_faults()),
            measure_to_us=chance.choice([None, 41 * S, 50 * S + 1]),
        )

    def _steps(self) -> Rate:
        """Rates that change, and differ from partition to partition."""
        chance = self.chance
        times = (0, *sorted({self._time(1 * S, 50 * S) for _ in range(chance.randint(0, 3))}))
        rows = [tuple(chance.choice([0, 100, 2_000, 30_000]) for _ in range(chance.choice([1, 1, 5]))) for _ in times]
        return Rate(times_us=times, per_partition_mrps=tuple(rows))

    def _cluster(self) -> Cluster:
        chance, cluster = self.chance, super()._cluster()
        brokers = tuple(Broker(id=index, rack=RACKS[index % 3]) for index in range(chance.choice([2, 3, 4])))
        far = Distribution.constant(30 * MS) if self.on_grid else Distribution("lognormal", (20 * MS, 60 * MS))
        pairs = [("rack:x", "rack:y"), ("rack:z", "rack:x"), ("broker:0", "g"), ("g/1", "broker:1")]
        links = tuple(Link(between=pair, latency=far) for pair in chance.sample(pairs, chance.randint(0, 2)))
        return replace(cluster, brokers=brokers, network=replace(cluster.network, links=links))

    def _group(self) -> Group:
        chance, group = self.chance, super()._group()
        overrides = [Override(members=frozenset(range(at, self.members, 3)), rack=RACKS[at]) for at in range(3)]
        few = frozenset(chance.sample(range(self.members), min(2, self.members)))
        if group.members.static and chance.random() < 0.4:
            overrides.append(Override(members=few, instance_id="twin"))
        if chance.random() < 0.3:
            topics = chance.choice([("a", "c"), ("c",)])
            overrides.append(Override(members=few, subscription=Subscription(topics=topics)))
        elif chance.random() < 0.15:
            by_hand = Subscription(assign={"a": (0, 1, 2), "c": tuple(range(chance.randint(1, 9)))})
            overrides.append(Override(members=few, subscription=by_hand))
        return replace(group, overrides=tuple(overrides))

    def _local_faults(self) -> list[Entry]:
        """What strikes a rack or a broker, once or again and again; and rolls in batches."""
        chance = self.chance
        verbs = [
            Cut(between=(Target("rack", "x"), Target("broker", "0")), duration=self._length()),
            Cut(between=(Target("rack", "y"), Target("rack", "z")), duration=self._length()),
            Cut(between=(Target("group", "g", pick="leader"), Target("broker", "1")), duration=self._length()),
            SlowHost(target=Target("rack", "y"), factor=2.0, duration=self._length()),
            Kill(target=Target("rack", "z"), down=Distribution.constant(self._time(1 * S, 9 * S))),
            RollingRestart(
                target=Target("group", "g"), batch=chance.choice([2, 3]), down=Distribution.constant(1 * S),
                next_=chance.choice(["running", "assigned", "stable"]), surge=chance.choice([0, 2]),
            ),
        ]  # fmt: skip
        entries = []
        for index, verb in enumerate(chance.sample(verbs, chance.randint(0, 2))):
            again = isinstance(verb, Cut) and chance.random() < 0.5
            every = Distribution.constant(self._time(5 * S, 20 * S)) if again else None
            at_us = self._time(2 * S, 45 * S)
            entries.append(Entry(id=f"place-{index}", at_us=at_us, every=every, until_us=50 * S, verb=verb))
        return entries
