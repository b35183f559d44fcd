"""One repetition in real time: prepare, tell the timeline at the instants of the wall clock, listen, collect."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable
from typing import Any

from groupsim.sim.model import Rate, Topic
from groupsim.sim.randomness import Streams
from groupsim.sim.units import S
from tests.oracle import acts
from tests.oracle.broker import Brokers
from tests.oracle.cast import Cast, Member
from tests.oracle.failures import WentWrong
from tests.oracle.jvm import Jvm
from tests.oracle.supply import Supply
from tests.oracle.timetable import Firing
from tests.oracle.translation import Plan

LISTEN_S = 0.02
_LAST_LINES_S = 0.3
_CLOSE_S = 8.0


def now_us() -> int:
    """Microseconds since 1970: the clock that JVMs and the broker's log have, too."""
    return time.time_ns() // 1000


class Play:
    """One repetition of a scenario on a broker.

    Parameters
    ----------
    plan : Plan
    prefix : str
    broker : Brokers
    supply : Supply
        Of topics and records.
    cast : Cast

    Attributes
    ----------
    zero_us : int
        The scenario's instant 0, in microseconds since 1970.
    actions : list of dict
        What was done, as facts.
    late_us : int
        The most by which something was done late.
    """

    def __init__(self, plan: Plan, prefix: str, broker: Brokers, supply: Supply, cast: Cast) -> None:
        self.plan = plan
        self.prefix = prefix
        self.broker = broker
        self.supply = supply
        self.cast = cast
        self.streams = Streams(plan.repetition)
        self.zero_us = 0
        self.actions: list[dict[str, Any]] = []
        self.ends: list[dict[str, Any]] = []
        self.late_us = 0
        self.frozen_until: dict[Jvm, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    async def prepare(self) -> None:
        """Make the topics."""
        for topic in self.plan.scenario.topics:
            await self.supply.create(f"{self.prefix}.{topic.name}", topic.partitions)

    async def configure(self) -> None:
        """Tell the broker what it is to know of the groups."""
        for group, config in self.plan.group_config.items():
            if config:
                await self.supply.configure(self.group_id(group), config)

    async def run(self, zero_us: int, others: Iterable[Coroutine[Any, Any, None]] = ()) -> None:
        """Play from instant 0, which is to come, to the horizon; ``others`` are stories that are told beside its own.

        Raises
        ------
        WentWrong
            A JVM ended unasked, or did not do what it was told in time.
        """
        self.zero_us = zero_us
        self.spawn(self._listen())
        for topic in self.plan.scenario.topics:
            self.spawn(self.produce(topic, 0))
        self.spawn(self._first_starts())
        for story in (*(self._fire(firing) for firing in self.plan.firings), *others):
            self.spawn(story)
        try:
            await self.until(self.plan.scenario.horizon_us)
            await asyncio.sleep(_LAST_LINES_S)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self.cast.listen()
        self.broker.listen()

    def rest(self) -> None:
        """Write no more records: the play is over, others go on."""
        for topic in self.supply.topics():
            if topic.startswith(f"{self.prefix}."):
                self.supply.turn(topic)
                self.supply.rate(topic, (0,), 0)

    async def dismissed(self) -> set[Jvm]:
        """Close who is left, for nobody's record; the JVMs of those who do not close in time."""
        left = [one for one in self.cast.members.values() if one.is_open and one.jvm is not None and one.jvm.is_alive]
        for one in left:
            if one.jvm is not None and not one.jvm.is_frozen:
                one.jvm.tell("close", member=one.name)
        give_up = time.monotonic() + _CLOSE_S
        while any(one.is_open for one in left) and time.monotonic() < give_up:
            await asyncio.sleep(LISTEN_S)
            self.cast.listen()
        return {one.jvm for one in left if one.is_open and one.jvm is not None}

    # --- time ---------------------------------------------------------------------------------------------------------

    def spawn(self, story: Coroutine[Any, Any, None]) -> None:
        """Tell a story beside the others; if it fails, so does the play."""
        task = asyncio.create_task(story)
        self._tasks.add(task)
        task.add_done_callback(self._told)

    def _told(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failure = self._failure or task.exception()

    async def until(self, at_us: int) -> None:
        """Wait for an instant of the scenario; the failure of a story ends the wait."""
        while (left_us := self.zero_us + at_us - now_us()) > 0:
            if self._failure is not None:
                raise self._failure
            await asyncio.sleep(min(left_us / S, 0.25))

    def group_id(self, group: str) -> str:
        """What a group is called on this broker."""
        return self.cast.group_ids[group]

    def elapsed_us(self) -> int:
        """The scenario's instant now."""
        return now_us() - self.zero_us

    async def _listen(self) -> None:
        while True:
            self.cast.listen()
            self.broker.listen()
            self.broker.check()
            self.supply.check()
            await asyncio.sleep(LISTEN_S)

    # --- the story ----------------------------------------------------------------------------------------------------

    async def _fire(self, firing: Firing) -> None:
        await self.until(firing.at_us)
        self.late_us = max(self.late_us, self.elapsed_us() - firing.at_us)
        await acts.ACTS[type(firing.entry.verb)](self, firing)

    async def _first_starts(self) -> None:
        """Members that start at the same instant do so by index."""
        for at_us, name in self.plan.starts:
            await self.until(at_us)
            self.late_us = max(self.late_us, self.elapsed_us() - at_us)
            self.spawn(self.start(self.cast.members[name], None))

    def note(self, firing: Firing | None, verb: str, target: str, **numbers: Any) -> None:
        """Write down what is being done."""
        entry = firing.entry.id if firing is not None else None
        self.actions.append(
            {"what": "action", "at_us": self.elapsed_us(), "entry": entry, "verb": verb, "target": target, **numbers}
        )

    async def start(self, member: Member, firing: Firing | None) -> None:
        """Start a process, if it does not run: boot, then a consumer."""
        if member.is_running:
            return
        member.boot()
        incarnation = member.incarnation
        group = next(one for one in self.plan.scenario.groups if one.name == member.plan.group)
        # The simulator counts incarnations from 1.
        boot_us = self.streams.draw(group.members.boot, "boot", member.name)(incarnation + 1)
        self.note(firing, "start", member.name, incarnation=incarnation, boot_us=boot_us)
        await self.until(self.elapsed_us() + boot_us)
        if member.is_running and member.incarnation == incarnation:
            self.cast.open(member)

    def kill(self, member: Member) -> None:
        """SIGKILL to a member's process, if it is there."""
        jvm = member.jvm
        hit = [one for one in self.cast.in_process(member) if one.is_running]
        if jvm is not None and member.is_open:
            at_us = now_us()
            jvm.kill()
            self.cast.listen()
            for one in hit:
                one.reading.ended(at_us)
                self.ends.append({"at_us": at_us, "member": one.name, "incarnation": one.incarnation, "how": "killed"})
        for one in hit:
            one.end()

    async def close(self, member: Member, grace_us: int) -> None:
        """SIGTERM: ask for close(), and wait; SIGKILL when the grace period is over."""
        if not member.is_open:
            member.end()
            return
        assert member.jvm is not None
        gone = member.gone
        member.jvm.tell("close", member=member.name)
        try:
            await asyncio.wait_for(gone.wait(), grace_us / S)
        except TimeoutError:
            if member.plan.process not in self.plan.spares:
                raise WentWrong(f"{member.name} has not closed within its grace of {grace_us / S:g} s") from None
            self.kill(member)

    async def produce(self, topic: Topic, since_us: int) -> None:
        """Follow the steps of a topic's rate, which count from ``since_us``."""
        await self.rate(topic.name, topic.rate, topic.partitions, since_us)

    async def rate(self, topic: str, rate: Rate, partitions: int, since_us: int) -> None:
        """Set one step of a rate after the other, until they end or another rate is set."""
        turn = self.supply.turn(f"{self.prefix}.{topic}")
        for offset_us, row in zip(rate.times_us, rate.per_partition_mrps, strict=True):
            await self.until(since_us + offset_us)
            if not self.supply.is_turn(f"{self.prefix}.{topic}", turn):
                return
            self.supply.rate(f"{self.prefix}.{topic}", row, partitions)
