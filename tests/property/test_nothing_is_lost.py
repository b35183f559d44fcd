"""Over random faults of brokers: what members have been told is what the next coordinator has read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from groupsim.sim import simulate
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.kernel.network import Connection, Exchange
from groupsim.sim.model import Scenario
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat
from groupsim.sim.protocol.messages import Error, OffsetCommit, SyncGroup
from groupsim.sim.protocol.mixed.group import MixedGroup
from tests.support.broker_scenarios import Family, broker_scenario
from tests.support.dying_logs import offsets_cut_back

pytestmark = pytest.mark.property


class Promises:
    """What has been answered: generations that were synced, member epochs, and offsets that were committed."""

    def __init__(self) -> None:
        self.generation: dict[str, int] = {}
        self.epoch: dict[str, dict[str, int]] = {}
        self.offsets: dict[str, dict[int, int]] = {}
        self.loads = 0

    def note(self, exchange: Exchange, response: Any) -> None:
        """An answer leaves a broker."""
        body, group = exchange.body, exchange.group_id
        if response.error is not Error.NONE:
            return
        if isinstance(body, SyncGroup):
            self.generation[group] = max(self.generation.get(group, 0), body.generation)
        elif isinstance(body, ConsumerGroupHeartbeat):
            self.epoch.setdefault(group, {})[body.member_id] = response.member_epoch
        elif isinstance(body, OffsetCommit):
            told = zip(body.positions.tolist(), body.offsets.tolist(), strict=True)
            self.offsets.setdefault(group, {}).update(told)

    def check(self, host: GroupHost) -> None:
        """A group has been loaded."""
        self.loads += 1
        machine = host.machine.group if isinstance(host.machine, MixedGroup) else host.machine
        assert machine.generation >= self.generation.get(host.name, 0)
        for member_id, epoch in self.epoch.get(host.name, {}).items() if isinstance(machine, ConsumerGroup) else ():
            member = machine.roster.members.get(member_id)
            assert member is None or member.epoch >= epoch or member.epoch < 0
        committed = host.books.ledger.committed
        told = self.offsets.get(host.name, {})
        assert {position: int(committed[position]) for position in told} == told


def _promised(scenario: Scenario, seed: int) -> int:
    """How often a group was loaded, each of which kept what had been promised."""
    promises, load, reply = Promises(), GroupHost.load, Connection.reply

    def loaded(self: GroupHost, node: int, image: Mapping[str, int]) -> None:
        load(self, node, image)
        promises.check(self)

    def replied(self: Connection, exchange: Exchange, response: Any, leave_us: int) -> None:
        promises.note(exchange, response)
        reply(self, exchange, response, leave_us)

    with patch.object(GroupHost, "load", loaded), patch.object(Connection, "reply", replied):
        simulate(scenario, seed=seed, fidelity="message")
    return promises.loads


def _scenario(seed: int, family: Family) -> Scenario:
    """Data partitions lose nothing, so that offsets can be compared."""
    made = broker_scenario(seed, family)
    topics = tuple(replace(one, acks="all", unclean_leader_election=False) for one in made.topics)
    return replace(made, topics=topics)


@pytest.mark.parametrize("family", ["classic", "consumer", "mixed"])
def test_a_coordinator_has_read_every_assignment_and_epoch_that_was_answered(family: Family) -> None:
    loads = sum(_promised(_scenario(seed, family), seed) for seed in range(300, 315))
    assert loads > 15


def test_with_unclean_election_of_the_offsets_topic_promises_are_broken() -> None:
    assert _promised(offsets_cut_back(is_unclean=False), seed=1) == 0
    with pytest.raises(AssertionError):
        _promised(offsets_cut_back(is_unclean=True), seed=1)
