"""Small groups of the ZooKeeper protocol for tests: constant latency, one server, and servers that take no time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groupsim.sim import Result
from groupsim.sim.config import ClientConfig, ZookeeperConsumerConfig
from groupsim.sim.model import Entry, Group, Scenario, Topic, Zookeeper
from groupsim.sim.units import FOREVER
from tests.support.scenarios import client, group, scenario

IDEAL = Zookeeper(nodes=1, read_us=0, write_us=0, sync_us=0)


def zookeeper_client(*, storage: str = "zookeeper", dual: bool = False, **changes: Any) -> ClientConfig:
    """A consumer of 0.8.2: range, no auto-commit, reads from the beginning; ``changes`` of either kind of field."""
    own = {key: changes.pop(key) for key in list(changes) if key in ZookeeperConsumerConfig.__dataclass_fields__}
    one = ZookeeperConsumerConfig(**own, offsets_storage=storage, dual_commit=dual)  # type: ignore[arg-type]
    common = {"max_poll_interval_us": FOREVER, "metadata_max_age_us": FOREVER, "group_protocol": "zookeeper"}
    return client(**common, zookeeper=one, **changes)


def zookeeper_scenario(
    members: int, *timeline: Entry, servers: Zookeeper = IDEAL, config: ClientConfig | None = None, **others: Any
) -> Scenario:
    """One group ``g`` on topic ``t``, and on ``more_topics``; ``others`` are those of `scenario`."""
    more: tuple[Topic, ...] = others.get("more_topics", ())
    topics = ("t", *(one.name for one in more))
    one: Group = group(members, client=config or zookeeper_client(), topics=topics)
    built = scenario(one, *timeline, **others)
    return replace(built, cluster=replace(built.cluster, zookeeper=servers))


def row_of(result: Result) -> dict[str, Any]:
    """The only row of table ``zookeeper``."""
    (row,) = result.tables.rows("zookeeper")
    return row


def asked(result: Result) -> dict[tuple[str, str], int]:
    """How often ZooKeeper was asked, by call and code."""
    return {
        (row["api"].removeprefix("ZooKeeper "), row["error"]): row["count"]
        for row in result.tables.rows("requests")
        if row["api"].startswith("ZooKeeper ")
    }
