"""What happened to brokers of a play, to its groups' coordinators and to readers of its partitions, as facts."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.protocol.controller.partition import OFFSETS_TOPIC
from tests.oracle.measures import SHORTEST_GAP_US
from tests.oracle.outages import Outages
from tests.oracle.play import Play
from tests.oracle.reading import Partition
from tests.oracle.trace import Fact


def cluster_facts(play: Play, outages: Outages) -> Iterator[Fact]:
    """What was done to brokers and what they logged, as far as it concerns this play, on its clock."""
    for fact in (*outages.facts, *play.broker.cluster.facts):
        told = {**fact, "at_us": fact["at_us"] - play.zero_us}
        if fact["what"] == "roles":
            yield _roles(play, told)
        elif fact["what"] != "coordinator":
            yield told
        else:
            yield from _of_groups(play, told)


def _of_groups(play: Play, fact: Fact) -> Iterator[Fact]:
    """A coordinator of one of the play's groups."""
    for group in play.plan.scenario.groups:
        if fact["partition"] == _partition(play, group.name):
            yield {**fact, "group": group.name}


def _partition(play: Play, group: str) -> int:
    return partition_for(play.group_id(group), play.plan.scenario.cluster.config.offsets_topic_num_partitions)


def _roles(play: Play, fact: Fact) -> Fact:
    """Who is what, under the scenario's names."""
    groups, topics = play.plan.scenario.groups, play.plan.scenario.topics
    offsets = fact["leaders"][OFFSETS_TOPIC]
    return {
        "what": "roles", "at_us": fact["at_us"], "controller": fact["controller"],
        "coordinators": {one.name: fact["coordinators"].get(play.group_id(one.name)) for one in groups},
        "offsets_partitions": {one.name: _partition(play, one.name) for one in groups},
        "leaders": {one.name: fact["leaders"][f"{play.prefix}.{one.name}"] for one in topics},
        "offsets_leaders": [offsets.count(node) for node in sorted(play.broker.nodes)],
    }  # fmt: skip


def gaps(play: Play) -> Iterator[Fact]:
    """When nobody was handed a record of a partition that somebody owned, for longer than it has none."""
    last: dict[Partition, int] = {}
    horizon_us = play.zero_us + play.plan.scenario.horizon_us
    for _, _, line in play.cast.heard:
        if line["what"] == "polled" and line["at_us"] <= horizon_us:
            for partition in play.cast.read(line):
                yield from _gap(play, partition, last.get(partition), line["at_us"])
                last[partition] = line["at_us"]
    for partition, at_us in sorted(last.items()):
        yield from _gap(play, partition, at_us, horizon_us)


def _gap(play: Play, partition: Partition, from_us: int | None, to_us: int) -> Iterator[Fact]:
    if from_us is not None and to_us - from_us >= SHORTEST_GAP_US:
        name = f"{partition[0]}-{partition[1]}"
        yield {"what": "gap", "at_us": from_us - play.zero_us, "partition": name, "to_us": to_us - play.zero_us}
