"""Topics and producers of a broker: creates and grows topics, and sets how fast they are written."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.oracle.failures import WentWrong
from tests.oracle.jvm import Jvm

ANSWER_S = 60.0
SEEN_S = 0.3
"""A topic is visible to clients some 100 ms after it has been created."""

_CLUSTER: Final = "the whole cluster"


class Supply:
    """What the JVM of producers does.

    Parameters
    ----------
    jvm : Jvm
    """

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self._answers: list[dict[str, Any]] = []
        self._turns: defaultdict[str, int] = defaultdict(int)
        self._rates: dict[str, tuple[Sequence[int], int]] = {}

    def check(self) -> None:
        """Raise `WentWrong` if it has ended, or if a broker has refused something."""
        self._answers += self.jvm.lines()
        self.jvm.check()
        for answer in self._answers:
            if answer["what"] == "refused":
                raise WentWrong(f"topic {answer['topic']}: {answer['error']}")

    async def create(self, topic: str, partitions: int) -> None:
        """A topic comes into being, and clients can see it."""
        self.jvm.tell("create", topic=topic, partitions=partitions)
        await self._done("create", topic)
        await asyncio.sleep(SEEN_S)

    async def configure(self, group: str, config: Mapping[str, str]) -> None:
        """The broker's configuration of a group."""
        self.jvm.tell("configure", topic=group, config=dict(config))
        await self._done("configure", group)

    def begin(self, topic: str, partitions: int) -> None:
        """A topic comes into being; nobody waits for it."""
        self.jvm.tell("create", topic=topic, partitions=partitions)

    def grow(self, topic: str, partitions: int) -> None:
        """A topic grows; partitions that are new are written at the same rate."""
        self.jvm.tell("grow", topic=topic, partitions=partitions)
        if topic in self._rates:
            self.rate(topic, self._rates[topic][0], partitions)

    def rate(self, topic: str, row_mrps: Sequence[int], partitions: int) -> None:
        """Thousandths of records a second from now on, as a row of `sim.model.Rate`."""
        partitions = max(partitions, self._rates.get(topic, ((), 0))[1])
        self._rates[topic] = (row_mrps, partitions)
        mean = round(sum(row_mrps) / len(row_mrps))
        row = list(row_mrps)[:partitions] if len(row_mrps) > 1 else []
        self.jvm.tell("rate", topic=topic, mrps=row + [mean] * (partitions - len(row)))

    async def roles(self, groups: Sequence[str]) -> dict[str, Any]:
        """Who is what now: ``controller``, ``leaders`` of topics, ``coordinators`` of groups; how many replicas lag."""
        before = sum(answer["what"] == "roles" for answer in self._answers)
        self.jvm.tell("roles", topic=_CLUSTER, groups=list(groups))
        give_up = time.monotonic() + ANSWER_S
        while True:
            self.check()
            told = [answer for answer in self._answers if answer["what"] == "roles"]
            if len(told) > before:
                return told[-1]
            if time.monotonic() > give_up:
                raise WentWrong(f"nobody has said who leads what within {ANSWER_S:.0f} s")
            await asyncio.sleep(0.02)

    def balance(self) -> None:
        """Preferred leaders lead again, as far as they are in sync."""
        self.jvm.tell("balance", topic=_CLUSTER)

    def topic_ids(self) -> dict[str, str]:
        """Topics by the ids that the broker gave them."""
        return {answer["id"]: answer["topic"] for answer in self._answers if answer["what"] == "created"}

    def topics(self) -> list[str]:
        """Topics that are written to."""
        return list(self._rates)

    def turn(self, topic: str) -> int:
        """A new rate is about to be followed; those before are over."""
        self._turns[topic] += 1
        return self._turns[topic]

    def is_turn(self, topic: str, turn: int) -> bool:
        """Whether no other rate has been set since."""
        return self._turns[topic] == turn

    async def _done(self, do: str, topic: str) -> None:
        give_up = time.monotonic() + ANSWER_S
        wanted = {"do": do, "topic": topic}
        while not any(wanted.items() <= answer.items() for answer in self._answers):
            self.check()
            if time.monotonic() > give_up:
                raise WentWrong(f"topic {topic}: no answer to {do} within {ANSWER_S:.0f} s")
            await asyncio.sleep(0.02)
