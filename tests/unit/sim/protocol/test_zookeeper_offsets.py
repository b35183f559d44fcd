"""Offsets that a group of the ZooKeeper protocol keeps at a broker."""

from __future__ import annotations

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.facts import StateChanged
from groupsim.sim.protocol.zookeeper.group import ZookeeperGroup


class NoPlaces:
    """The group reads nothing."""

    def __call__(self, topic: str) -> list[int]:
        return []


def test_the_group_at_the_broker_has_no_states_of_its_own() -> None:
    """It is empty all the time; when its partition moves, members go on."""
    group = ZookeeperGroup("g", CoordinatorConfig(), NoPlaces())  # type: ignore[arg-type]
    dead = group.at_broker.on_unloaded(0).facts
    assert [type(one) for one in dead] == [StateChanged]
    assert group.moved().on_unloaded(0).facts == []
