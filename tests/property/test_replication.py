"""Whatever brokers do, a leader has what was acknowledged, unless unclean election is on; what is gone is told."""

from __future__ import annotations

import random

import pytest

from groupsim.sim.protocol.controller.partition import NO_LEADER, PartitionState
from groupsim.sim.protocol.controller.replication import Replicated, ReplicationControl

pytestmark = pytest.mark.property

NAME = ("t", 0)


class Replicas:
    """One partition's logs on three brokers, of which some are dead; a record is its number."""

    def __init__(
        self, chance: random.Random, min_insync: int, *, has_elr: bool = True, is_unclean: bool = False
    ) -> None:
        self.chance = chance
        self.control = ReplicationControl(has_elr=has_elr)
        self.control.add(NAME, (0, 1, 2), Replicated(min_insync=min_insync, is_unclean=is_unclean))
        self.logs: dict[int, list[int]] = {0: [], 1: [], 2: []}
        self.dead: set[int] = set()
        self.killed: set[int] = set()
        self.acknowledged: list[int] = []
        self.records = 0

    @property
    def state(self) -> PartitionState:
        return self.control.partitions[NAME]

    def append(self) -> None:
        """The leader takes a record; followers in sync that live have it, and it is acknowledged, or they have not."""
        state = self.state
        if not state.accepts or state.leader in self.dead:
            return
        self.records += 1
        self.logs[state.leader].append(self.records)
        if state.advances(self.dead):
            for follower in state.isr:
                self.logs[follower] = list(self.logs[state.leader])
            self.acknowledged = list(self.logs[state.leader])

    def step(self) -> None:
        broker = self.chance.randrange(3)
        act = self.chance.choice([self.kill, self.fence, self.shut_down, self.back, self.prefer])
        act(broker)
        for _ in range(self.chance.randint(0, 2)):
            self.append()

    def kill(self, broker: int) -> None:
        if broker not in self.dead:
            self.killed.add(broker)
        self.dead.add(broker)

    def fence(self, broker: int) -> None:
        if broker in self.dead:
            self.control.fence(broker)

    def shut_down(self, broker: int) -> None:
        if broker not in self.dead and self.control.is_active(broker):
            self.control.shut_down(broker)
            self.dead.add(broker)
            self.control.fence(broker)

    def back(self, broker: int) -> None:
        """A broker that was fenced starts; followers take over what the leader has, and are in sync."""
        if broker not in self.dead or self.control.is_active(broker):
            return
        self.dead.discard(broker)
        if broker in self.killed:
            self.control.shut_down_uncleanly(broker)
        self.killed.discard(broker)
        self.control.unfence(broker)
        leader = self.state.leader
        for one in range(3):
            if leader != NO_LEADER and leader not in self.dead and one not in self.dead:
                self.logs[one] = list(self.logs[leader])
                self.control.catch_up(one)

    def prefer(self, _: int) -> None:
        self.control.elect_preferred()


def _losses(seeds: range, min_insync: int, *, has_elr: bool, is_unclean: bool = False) -> list[int]:
    """Seeds with which a leader lacks something that was acknowledged."""
    lost = []
    for seed in seeds:
        world = Replicas(random.Random(f"{seed}-{min_insync}"), min_insync, has_elr=has_elr, is_unclean=is_unclean)
        for _ in range(60):
            world.step()
            leader = world.state.leader
            if leader != NO_LEADER and world.logs[leader][: len(world.acknowledged)] != world.acknowledged:
                lost.append(seed)
                break
    return lost


@pytest.mark.parametrize("min_insync", [1, 2])
@pytest.mark.parametrize("has_elr", [True, False])
@pytest.mark.parametrize("block", range(4))
def test_no_acknowledged_record_is_lost(block: int, has_elr: bool, min_insync: int) -> None:
    assert _losses(range(block * 50, block * 50 + 50), min_insync, has_elr=has_elr) == []


@pytest.mark.parametrize("has_elr", [True, False])
def test_with_unclean_election_on_acknowledged_records_are_lost(has_elr: bool) -> None:
    assert _losses(range(50), 1, has_elr=has_elr, is_unclean=True)


@pytest.mark.parametrize("block", range(4))
def test_a_leader_is_active_and_in_sync_and_its_epoch_grows_with_every_other_leader(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        world, last = Replicas(random.Random(seed), 1), (0, 0)
        for _ in range(60):
            world.step()
            state = world.state
            assert state.leader == NO_LEADER or state.leader in state.isr
            assert not set(state.isr) & set(state.eligible)
            assert state.leader == NO_LEADER or world.control.is_active(state.leader)
            assert (state.leader == last[0]) == (state.epoch == last[1]) or state.epoch > last[1] + 1
            last = state.leader, state.epoch
