"""What is done to the brokers of a cluster, once for all plays that are on: SIGTERM, SIGKILL, and another start.

Who is meant is asked at that moment: who is the active controller, who hosts a group's coordinator, who leads what; all
of that is recorded. Beforehand every group gets an id by which its coordinator is where the victim is to be, or is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.model import Kill, RollingRestart, StartMembers
from groupsim.sim.protocol.controller.partition import OFFSETS_TOPIC
from groupsim.sim.units import MS, S
from tests.oracle.broker import Brokers
from tests.oracle.supply import Supply
from tests.oracle.timetable import Firing

if TYPE_CHECKING:
    from tests.oracle.play import Play

_ASKED_US: Final = 700 * MS
"""So long before something is done to a broker it is asked who is what."""
_PROBE_S: Final = 0.1
_SETTLING_S: Final = 0.5


class Outages:
    """Of some plays that share a cluster and its misfortunes.

    Parameters
    ----------
    brokers : Brokers
    supply : Supply
    plays : sequence of Play
        The first one's timeline says what is done and when; that of the others is the same.

    Attributes
    ----------
    facts : list of dict
        Actions and who was what, in microseconds since 1970.
    """

    def __init__(self, brokers: Brokers, supply: Supply, plays: Sequence[Play]) -> None:
        self._brokers = brokers
        self._supply = supply
        self._plays = plays
        self._first = plays[0]
        self.facts: list[dict[str, Any]] = []

    # --- who is where -------------------------------------------------------------------------------------------------

    async def place(self) -> None:
        """Give every group an id whose coordinator is on one broker; needs topics, and no member yet.

        Where the coordinator's broker is the victim it is the active controller too in repetitions that are even; where
        another one is the victim it hosts none of these groups' coordinators.
        """
        roles = await self._supply.roles([])
        home = self._home(roles)
        for play in self._plays:
            for group in play.plan.scenario.groups:
                names = (f"{play.prefix}.{group.name}" + (f"-{one}" if one else "") for one in count())
                play.cast.group_ids[group.name] = next(name for name in names if self._led(roles, name) == home)

    def _home(self, roles: dict[str, Any]) -> int:
        nodes, firings = sorted(self._brokers.nodes), self._first.plan.outages
        target = firings[0].entry.verb.target.name
        if target.startswith("coordinator/"):
            is_controller = self._first.plan.repetition % 2 == 0
            return next(node for node in nodes if (node == roles["controller"]) == is_controller)
        victims = self._meant(firings[0], roles)
        spared = [node for node in nodes if node not in victims and node != roles["controller"]]
        return (spared or nodes)[0]

    def _led(self, roles: dict[str, Any], group_id: str) -> int:
        leaders: list[int] = roles["leaders"][OFFSETS_TOPIC]
        return leaders[partition_for(group_id, len(leaders))]

    def _meant(self, firing: Firing, roles: dict[str, Any]) -> list[int]:
        target = firing.entry.verb.target
        pick, _, name = target.name.partition("/")
        match pick:
            case "all":
                return sorted(self._brokers.nodes)
            case "controller":
                return [roles["controller"]]
            case "coordinator":
                return [roles["coordinators"][self._first.group_id(name)]]
            case "leader":
                topic, _, number = name.rpartition("/")
                return [roles["leaders"][f"{self._first.prefix}.{topic}"][int(number)]]
            case _:
                return list(target.indices) or [int(pick)]

    # --- what is done -------------------------------------------------------------------------------------------------

    def stories(self, play: Play) -> list[Coroutine[Any, Any, None]]:
        """Each firing, from its instant on; the first play tells them, for all."""
        return [self._fire(firing) for firing in play.plan.outages] if play is self._first else []

    async def _fire(self, firing: Firing) -> None:
        first, verb = self._first, firing.entry.verb
        await first.until(firing.at_us - _ASKED_US)
        groups = [play.group_id(group.name) for play in self._plays for group in play.plan.scenario.groups]
        roles = await self._supply.roles(groups)
        self.facts.append(roles)
        await first.until(firing.at_us)
        late_us = first.elapsed_us() - firing.at_us
        for play in self._plays:
            play.late_us = max(play.late_us, late_us)
        for node in self._meant(firing, roles):
            if isinstance(verb, StartMembers):
                self._start(firing, node)
                continue
            await self._stop_and_start(firing, node)
            if isinstance(verb, RollingRestart):
                await self._until_next(verb)

    async def _stop_and_start(self, firing: Firing, node: int) -> None:
        """Stop a broker and, if it is to come back, start it some time after its process has ended."""
        verb: Any = firing.entry.verb
        how = "kill" if isinstance(verb, Kill) else getattr(verb, "stop", "close")
        self._note(firing, how, node)
        if how == "kill":
            self._brokers.kill(node)
        else:
            self._brokers.close(node)
        down = getattr(verb, "down", None)
        if down is None:
            return
        while self._brokers.is_up(node):
            await asyncio.sleep(_PROBE_S)
        await asyncio.sleep(down.values[0] / S)
        self._start(firing, node)

    def _start(self, firing: Firing, node: int) -> None:
        self._note(firing, "start", node)
        self._brokers.start(node)

    async def _until_next(self, verb: RollingRestart) -> None:
        if verb.next_ == "gap":
            await asyncio.sleep(verb.gap_us / S)
            return
        await self._brokers.started()
        while (await self._supply.roles([]))["lagging"]:
            await asyncio.sleep(_PROBE_S)

    def _note(self, firing: Firing, verb: str, node: int) -> None:
        at_us = self._first.zero_us + self._first.elapsed_us()
        told = {"what": "action", "at_us": at_us, "entry": firing.entry.id, "verb": verb, "target": f"broker:{node}"}
        self.facts.append(told)


async def settle(brokers: Brokers, supply: Supply) -> None:
    """All brokers up, in sync, and leading what they prefer to lead."""
    for node in sorted(brokers.nodes):
        if not brokers.is_up(node):
            brokers.start(node)
    await brokers.started()
    while (await supply.roles([]))["lagging"]:
        brokers.listen()
        await asyncio.sleep(_SETTLING_S)
    supply.balance()
    await asyncio.sleep(_SETTLING_S)
