"""Small clusters in which logs are cut back, or cannot be appended to: one group of three that commits every second."""

from __future__ import annotations

from dataclasses import replace

from groupsim.sim import Result
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.config import BrokerConfig
from groupsim.sim.model import Broker, Distribution, Entry, Kill, Processing, Scenario, StartMembers, Target
from groupsim.sim.units import FOREVER, S
from tests.support.scenarios import at, client, group, scenario

AUTO = client(enable_auto_commit=True, auto_commit_interval_us=S)
FAST = Processing(per_record=Distribution.constant(100))
QUIET = BrokerConfig(leader_imbalance_check_us=FOREVER)
RATE = 1_000
"""Records a second of each partition."""


def world(*timeline: Entry, config: BrokerConfig = QUIET, horizon_us: int = 120 * S, **topic: object) -> Scenario:
    made = scenario(
        group(3, client=AUTO, processing=FAST), *timeline, horizon_us=horizon_us, rate_mrps=RATE * 1000, brokers=3
    )
    one = replace(made.topics[0], **{"partitions": 1, **topic})  # type: ignore[arg-type]
    return replace(made, topics=(one,), cluster=replace(made.cluster, broker_config=config))


def broker(place: str) -> Target:
    return Target("broker", place)


def replicas(of: Scenario) -> list[int]:
    """Who has the one partition, the leader first."""
    return Catalog(of.topics, [one.id for one in of.cluster.brokers]).replicas("t", 0)


def offsets_replicas(of: Scenario) -> list[int]:
    """Who has the group's offsets partition, of two copies, the leader first."""
    catalog = Catalog(of.topics, [one.id for one in of.cluster.brokers])
    return catalog.offsets_replicas(partition_for("g", 50), 2)


def the_one_behind_leads(**topic: object) -> Scenario:
    """The follower dies, then all readers, then the leader; the follower comes back, and then the readers."""
    made = world(horizon_us=150 * S, replication_factor=2, **topic)
    made = replace(made, cluster=replace(made.cluster, brokers=tuple(Broker(id=id_) for id_ in range(5))))
    leader, follower = (broker(str(one)) for one in replicas(made))
    verbs = [
        (30, Kill(target=follower)), (60, Kill(target=Target("group", "g"))), (70, Kill(target=leader)),
        (75, StartMembers(target=follower)), (100, StartMembers(target=Target("group", "g"))),
    ]  # fmt: skip
    return replace(made, timeline=tuple(at(second * S, verb) for second, verb in verbs))


def offsets_cut_back(*, is_unclean: bool) -> Scenario:
    """The follower of the offsets log dies, commits go on, all readers die, and the leader; then others are back."""
    config = replace(QUIET, unclean_leader_election=is_unclean, offsets_replication_factor=2)
    made = world(config=config, horizon_us=150 * S, replication_factor=5)
    brokers = tuple(Broker(id=id_) for id_ in range(5))
    made = replace(made, cluster=replace(made.cluster, brokers=brokers))
    leader, follower = (broker(str(one)) for one in offsets_replicas(made))
    verbs = [
        (30, Kill(target=follower)), (59, Kill(target=Target("group", "g"))), (60, Kill(target=leader)),
        (75, StartMembers(target=follower)), (100, StartMembers(target=Target("group", "g"))),
    ]  # fmt: skip
    return replace(made, timeline=tuple(at(second * S, verb) for second, verb in verbs))


def truncated(result: Result) -> int:
    """Records of some log that were lost with a leader, and that nobody had read."""
    rows = result.tables["delivery"]
    rows = rows[(rows.kind == "loss") & (rows.cause == "truncated log")]
    return int(rows.records.sum())
