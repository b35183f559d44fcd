"""The members of one play as they are now, and the JVMs in which they live.

A process that the timeline freezes or kills has a JVM of its own, and another one waits, warmed up, for each time it
will be started again. All other members of a play share one.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from tests.oracle.jvm import Jvm
from tests.oracle.reading import Partition, Reading
from tests.oracle.translation import MemberPlan, Plan

_SHARED = "shared"


class Member:
    """One named member through all its incarnations.

    Parameters
    ----------
    plan : MemberPlan
        Of its next incarnation.

    Attributes
    ----------
    is_running : bool
        Whether its process exists, booting or open.
    is_open : bool
        Whether it has a consumer.
    """

    def __init__(self, plan: MemberPlan) -> None:
        self.plan = plan
        self.name = plan.name
        self.incarnation = -1
        self.is_running = False
        self.is_open = False
        self.reading = Reading(plan.name, 0)
        self.gone = asyncio.Event()
        self.jvm: Jvm | None = None
        self.slowdowns: dict[tuple[str, int], float] = {}

    @property
    def slowness(self) -> float:
        """How many times as long processing takes now."""
        return math.prod(self.slowdowns.values())

    def boot(self) -> None:
        """Its process exists now."""
        self.incarnation += 1
        self.is_running = True
        self.reading = Reading(self.name, self.incarnation)
        self.gone = asyncio.Event()

    def end(self) -> None:
        """Its process has no consumer any more, or is gone."""
        self.is_running = self.is_open = False
        self.gone.set()


class Cast:
    """Everybody who has a part in one play.

    Parameters
    ----------
    plan : Plan
    prefix : str
        What names of groups and topics begin with on this broker.
    servers : str
        ``bootstrap.servers``.
    host : callable
        A program that hosts members, under a name: so many of them at once.

    Attributes
    ----------
    jvms : dict of Jvm to int
        All that were started, spares and killed ones too, and how many members live in each at once.
    heard : list of (member, incarnation, line)
        Everything that members told.
    group_ids : dict of str to str
        Groups -> what they are called on this broker.
    """

    def __init__(self, plan: Plan, prefix: str, servers: str, host: Callable[[str, int], Jvm]) -> None:
        self.members = {name: Member(one) for name, one in plan.members.items()}
        self.heard: list[tuple[str, int, dict[str, Any]]] = []
        self._prefix = prefix
        self._servers = servers
        self.group_ids = {group.name: f"{prefix}.{group.name}" for group in plan.scenario.groups}
        self._clients = {one.plan.client_id: one for one in self.members.values()}
        self.jvms: dict[Jvm, int] = {}
        self._hosts: dict[str, Jvm] = {}
        self._spares: defaultdict[str, list[Jvm]] = defaultdict(list)
        members = Counter(one.process if one.process in plan.spares else _SHARED for one in plan.members.values())
        for process, number in members.items():
            names = [process, *(f"{process}-{1 + spare}" for spare in range(plan.spares.get(process, 0)))]
            jvms = [host(f"{prefix}-{name}", number) for name in names]
            self._hosts[process], *self._spares[process] = jvms
            self.jvms |= dict.fromkeys(jvms, number)

    def of_group(self, group: str) -> list[Member]:
        """A group's members by index."""
        return [one for one in self.members.values() if one.plan.group == group]

    def in_process(self, member: Member) -> list[Member]:
        """Everybody who lives in the same process."""
        return [one for one in self.members.values() if one.plan.process == member.plan.process]

    # --- life ---------------------------------------------------------------------------------------------------------

    def open(self, member: Member) -> None:
        """Give a booted member its consumer."""
        process = member.plan.process
        host = self._hosts[process if process in self._hosts else _SHARED]
        if not host.is_alive and self._spares[process]:
            host = self._hosts[process] = self._spares[process].pop(0)
        member.jvm, member.is_open = host, True
        subscribe = {"do": "subscribe", **self.subscription(member.plan)}
        host.tell(
            "start", member=member.name, incarnation=member.incarnation, config=self._config(member.plan),
            application=_application(member.plan), subscribe=subscribe,
        )  # fmt: skip
        if member.slowdowns:
            host.tell("slow", member=member.name, factor=member.slowness)

    def subscription(self, plan: MemberPlan) -> dict[str, Any]:
        """What subscribe() is called with, in the names of this broker."""
        if plan.subscription.re2 is not None:
            return {"re2": f"\\Q{self._prefix}.\\E(?:{plan.subscription.re2})"}
        if plan.subscription.pattern is not None:
            return {"pattern": f"\\Q{self._prefix}.\\E(?:{plan.subscription.pattern})"}
        return {"topics": [f"{self._prefix}.{topic}" for topic in plan.subscription.topics]}

    def _config(self, plan: MemberPlan) -> dict[str, str]:
        config = {"bootstrap.servers": self._servers, "group.id": self.group_ids[plan.group]}
        if plan.instance_id is not None:
            config["group.instance.id"] = plan.instance_id
        config |= {**plan.config, "client.id": plan.client_id}
        if plan.processing.commit != "auto":
            config["enable.auto.commit"] = "false"
        return config

    # --- what they tell -----------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Take in what has been told since the last time.

        Raises
        ------
        WentWrong
            A JVM has ended unasked.
        """
        for jvm in self.jvms:
            for line in jvm.lines():
                self._hear(line)
            jvm.check()

    def _hear(self, line: dict[str, Any]) -> None:
        member = self.members.get(line.get("member", "")) or self._clients.get(line.get("client", ""))
        if member is None:
            return
        self.heard.append((member.name, line.get("incarnation", member.incarnation), line))
        reading, at_us = member.reading, line["at_us"]
        match line["what"]:
            case "assigned":
                reading.assigned(at_us, self.partitions(line))
            case "revoked" | "lost":
                reading.ended(at_us, self.partitions(line))
            case "fetched":
                reading.fetched(at_us, self.partitions(line))
            case "polled":
                reading.polled(at_us, self.read(line))
            case "end":
                reading.ended(at_us)
                member.end()

    def partitions(self, line: dict[str, Any]) -> list[Partition]:
        """The partitions in a line, under the scenario's names."""
        return [(self._topic(topic), one) for topic, some in line["partitions"].items() for one in some]

    def read(self, line: dict[str, Any]) -> dict[Partition, tuple[int, int, int]]:
        """What a poll() returned: (first offset, offset after the last, records) of partitions."""
        return {
            (self._topic(topic), int(one)): (first, after, records)
            for topic, some in line.get("read", {}).items()
            for one, (first, after, records) in some.items()
        }

    def _topic(self, name: str) -> str:
        return name.removeprefix(f"{self._prefix}.")


def _application(plan: MemberPlan) -> dict[str, Any]:
    processing = plan.processing
    return {
        "per_record_us": processing.per_record.values[0], "per_poll_us": processing.per_poll_us,
        "poll_timeout_us": processing.poll_timeout_us, "commit": processing.commit,
        "on_revoked_us": processing.on_revoked_us, "on_assigned_us": processing.on_assigned_us,
        "on_lost_us": processing.on_lost_us, "commit_on_revoked": processing.commit_on_revoked,
    }  # fmt: skip
