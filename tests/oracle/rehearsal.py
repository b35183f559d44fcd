"""What a JVM does before it plays: throw-away groups, so that nothing in the play happens for the first time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from tests.oracle.failures import WentWrong
from tests.oracle.jvm import Jvm
from tests.oracle.supply import Supply

TOPIC: Final = "rehearsal"
MEMBERS_AT_ONCE: Final = 50
"""So many consumers keep two processors half busy; many more would be recorded as slow ones."""
TIMES: Final = 2
ENOUGH_S: Final = 180.0


async def rehearse(jvm: Jvm, members: int, servers: str, protocols: Iterable[str], supply: Supply) -> None:
    """Lead throw-away groups through joins, records, a rebalance and a close, so that all code has run before.

    Code that runs for the first time takes tenths of a second. So do many first times at once: there are as many
    members as the JVM will host, and twice, since what has been loaded is not yet compiled.

    Raises
    ------
    WentWrong
        One of them ended, or that took too long.
    """
    for protocol in protocols:
        for number in range(TIMES):
            name = f"{TOPIC}.{jvm.name}.{protocol}.{number}"
            if protocol == "consumer":
                await supply.configure(name, {"consumer.heartbeat.interval.ms": "1000"})
            await _lead(jvm, name, max(2, members), servers, protocol)


async def _lead(jvm: Jvm, name: str, size: int, servers: str, protocol: str) -> None:
    members, group = [f"{TOPIC}/{index}" for index in range(size)], _Group(jvm)
    for member in members:
        jvm.tell("start", **_member(member, name, servers, protocol))
    await group.reached("the first records", lambda: group.readers == {*members})
    *others, last = members
    group.assigned.clear()
    jvm.tell("close", member=last)
    # Only who gets something is called back by the consumer protocol.
    least = 1 if protocol == "consumer" else len(others)
    await group.reached("a rebalance", lambda: group.ended == {last} and len(group.assigned & {*others}) >= least)
    for member in others:
        jvm.tell("close", member=member)
    await group.reached("its end", lambda: group.ended == {*members})


class _Group:
    """How far a throw-away group has come."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._give_up = time.monotonic() + ENOUGH_S
        self.readers: set[str] = set()
        self.ended: set[str] = set()
        self.assigned: set[str] = set()

    async def reached(self, what: str, is_reached: Callable[[], bool]) -> None:
        while True:
            for line in self._jvm.lines():
                self._hear(line)
            if is_reached():
                return
            self._jvm.check()
            if time.monotonic() > self._give_up:
                raise WentWrong(f"{self._jvm.name} has not warmed up within {ENOUGH_S:.0f} s: it waits for {what}")
            await asyncio.sleep(0.05)

    def _hear(self, line: dict[str, Any]) -> None:
        if line["what"] == "error":
            raise WentWrong(f"{self._jvm.name} could not warm up: {line['error']}: {line['text']}")
        if line["what"] == "polled" and line.get("read"):
            self.readers.add(line["member"])
        elif line["what"] == "assigned":
            self.assigned.add(line["member"])
        elif line["what"] == "end":
            self.ended.add(line["member"])


def _member(name: str, group: str, servers: str, protocol: str) -> dict[str, Any]:
    config = {
        "bootstrap.servers": servers, "group.id": group, "client.id": name.replace("/", "-"),
        "group.protocol": protocol, "auto.commit.interval.ms": "500", "auto.offset.reset": "earliest",
    }  # fmt: skip
    if protocol != "consumer":
        config |= {"heartbeat.interval.ms": "500", "session.timeout.ms": "30000"}
    application = {
        "per_record_us": 0, "per_poll_us": 0, "poll_timeout_us": 100_000, "commit": "auto", "on_revoked_us": 0,
        "on_assigned_us": 0, "on_lost_us": 0, "commit_on_revoked": False,
    }  # fmt: skip
    subscribe = {"do": "subscribe", "topics": [TOPIC]}
    return {"member": name, "incarnation": 0, "config": config, "application": application, "subscribe": subscribe}
