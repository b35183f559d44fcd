"""Runs of ZooKeeper groups in which it is written down what members are at, and what servers are asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from groupsim.sim import Result, simulate
from groupsim.sim.client.zookeeper.zookeeper_session import ZookeeperSession
from groupsim.sim.cluster.zookeeper import Zookeeper
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Scenario
from groupsim.sim.protocol.facts import Fact
from groupsim.sim.protocol.zookeeper import paths
from groupsim.sim.protocol.zookeeper.group import ZookeeperGroup
from groupsim.sim.protocol.zookeeper.messages import Request
from groupsim.sim.protocol.zookeeper.states import Phase

Place = tuple[str, int]


@dataclass(slots=True)
class Watched:
    """A run with one group ``g``; times in microseconds.

    Attributes
    ----------
    phases : dict of str to list of (int, Phase)
        What each member has said that it was at, in order, by its id.
    sent, received : Counter of str
        Requests by call, as clients sent them and as servers took them in.
    writes : int
        Writes that a leader has ordered, those of sessions that it has expired included.
    """

    result: Result | None = None
    zookeeper: Zookeeper | None = None
    group: ZookeeperGroup | None = None
    phases: dict[str, list[tuple[int, Phase]]] = field(default_factory=lambda: defaultdict(list))
    sent: Counter[str] = field(default_factory=Counter)
    received: Counter[str] = field(default_factory=Counter)
    writes: int = 0

    def at_the_end(self) -> dict[str, Phase]:
        """What those who are registered at the end are at."""
        assert self.group is not None
        ids = [self.group._member_id(one) for one in self.group._registered]
        return {one: self.phases[one][-1][1] for one in ids}

    def last_us(self) -> int:
        """When a member was at something else for the last time."""
        return max((one[-1][0] for one in self.phases.values()), default=0)

    def owner_nodes(self) -> dict[Place, str]:
        """Who owns what by the leader's tree: (topic, partition) -> consumer."""
        assert self.zookeeper is not None
        root = f"{paths.ids('g').rsplit('/', 1)[0]}/owners/"
        nodes = self.zookeeper.ensemble.tree.nodes
        found = (
            (path.removeprefix(root).split("/"), node.data) for path, node in nodes.items() if path.startswith(root)
        )
        return {(parts[0], int(parts[1])): data.removesuffix("-0") for parts, data in found if len(parts) == 2}

    def counted(self) -> Counter[str]:
        """Requests by call, as the result has them."""
        assert self.result is not None
        found: Counter[str] = Counter()
        for row in self.result.tables.rows("requests"):
            if row["api"].startswith("ZooKeeper "):
                found[row["api"]] += row["count"]
        return found


def watched(scenario: Scenario, seed: int) -> Watched:
    """Run a scenario."""
    seen = Watched()
    made, report, send, receive = (
        Zookeeper.__init__,
        ZookeeperGroup.on_report,
        ZookeeperSession._send,
        Zookeeper._receive,
    )
    order = Zookeeper._counts_us

    def making(self: Zookeeper, *parts: Any) -> None:
        made(self, *parts)
        seen.zookeeper = self
        (host,) = self._groups.values()
        assert isinstance(host.machine, ZookeeperGroup)
        seen.group = host.machine

    def reported(self: ZookeeperGroup, member_id: str, phase: Phase, view: int) -> list[Fact]:
        assert seen.zookeeper is not None
        seen.phases[member_id].append((seen.zookeeper._env.now, phase))
        return report(self, member_id, phase, view)

    def sending(self: ZookeeperSession, now: int, request: Request, number: int) -> None:
        seen.sent[request.op.value] += 1
        send(self, now, request, number)

    def received(self: Zookeeper, exchange: Exchange) -> None:
        seen.received[exchange.api.value] += 1
        receive(self, exchange)

    def ordered(self: Zookeeper) -> int:
        seen.writes += 1
        return order(self)

    with (
        patch.object(Zookeeper, "__init__", making),
        patch.object(ZookeeperGroup, "on_report", reported),
        patch.object(ZookeeperSession, "_send", sending),
        patch.object(Zookeeper, "_receive", received),
        patch.object(Zookeeper, "_counts_us", ordered),
    ):
        seen.result = simulate(scenario, seed=seed)
    return seen
