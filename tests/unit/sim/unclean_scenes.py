"""Groups that produce beside unclean elections: a replica falls behind, its leader dies, and it leads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.model import Broker, Entry, Kill, Scenario, StartMembers, Target
from groupsim.sim.units import S
from tests.unit.sim.scenes import entry
from tests.unit.sim.transactional_scenes import JITTER, Readers, transform

BROKERS = range(5)
BEHIND_S, DEAD_S, LEADS_S, BACK_S, HORIZON_S = 15, 30, 32, 55, 80
"""The follower dies, then the leader; the follower is back and leads, and much later the former leader is back."""


def broker(node: int | str) -> Target:
    return Target(kind="broker", name=str(node))


def replicas(of: Scenario, topic: str, number: int) -> list[int]:
    """Two brokers that have a partition, the leader first."""
    return Catalog(of.topics, BROKERS).replicas(topic, number)[:2]


def shard_replicas(of: Scenario, name: str) -> list[int]:
    """Three brokers that have the partition of coordinators of a group, or of a transactional id."""
    return Catalog(of.topics, BROKERS).offsets_replicas(partition_for(name, 50), 3)


def accident(leader: int, follower: int, dead_s: float = DEAD_S) -> tuple[Entry, ...]:
    """The follower lacks what was written since `BEHIND_S` when it leads."""
    verbs = [
        (BEHIND_S, Kill(target=broker(follower))), (dead_s, Kill(target=broker(leader))),
        (LEADS_S, StartMembers(target=broker(follower))), (BACK_S, StartMembers(target=broker(leader))),
    ]  # fmt: skip
    return tuple(entry(round(at_s * S), verb) for at_s, verb in verbs)


def five_brokers(*timeline: Entry, unclean: tuple[str, ...] = ("out",), **more: Any) -> Scenario:
    """Two copies of the output, three of all else; leaders of some topics may be elected that lack something."""
    cluster = replace(more.pop("cluster", JITTER), brokers=tuple(Broker(id=node) for node in BROKERS))
    made = transform(*timeline, horizon_s=HORIZON_S, cluster=cluster, **more)
    topics = tuple(
        replace(one, replication_factor=2 if one.name in unclean else 3, unclean_leader_election=one.name in unclean)
        for one in made.topics
    )
    return replace(made, topics=topics)


def holes(readers: Readers, position: int, *, is_committed: bool = True) -> list[int]:
    """Offsets of an input partition of which a reader gets nothing, though it gets something of what follows."""
    made = {offset for at, offset in readers.counts(is_committed=is_committed) if at == position}
    return sorted({*range(max(made, default=-1) + 1)} - made)
