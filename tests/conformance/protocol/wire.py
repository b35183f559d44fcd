"""What goes over the wire, as a broker sees it: every request when it is worked on, every answer when it is decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from groupsim.sim.client.consumer import Consumer
from groupsim.sim.client.rebalancing import Rebalancing
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.kernel.network import Connection, Exchange
from groupsim.sim.protocol.effects import Listen
from groupsim.sim.world import World


@dataclass(frozen=True)
class Request:
    """A request that a broker begins to work on."""

    at_us: int
    sent_us: int
    api: str
    member: str
    body: Any


@dataclass(frozen=True)
class Answer:
    """An answer that a broker has decided on, and that leaves it at ``leaves_us``."""

    at_us: int
    leaves_us: int
    api: str
    member: str
    error: str
    body: Any


@dataclass
class Wire:
    """Everything of the runs under way, in order."""

    requests: list[Request] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    callbacks: list[tuple[int, str, str, int]] = field(default_factory=list)
    """(time, member, callback, partitions)."""

    def sent(self, api: str, member: str | None = None, *, after: int = 0) -> list[Request]:
        """Requests of a kind that arrived at or after ``after``."""
        return [one for one in self.requests if one.api == api and member in (None, one.member) and one.at_us >= after]

    def answered(
        self, api: str, member: str | None = None, *, error: str | None = None, after: int = 0
    ) -> list[Answer]:
        """Answers of a kind, decided at or after ``after``."""
        return [
            one for one in self.answers
            if one.api == api and member in (None, one.member) and error in (None, one.error) and one.at_us >= after
        ]  # fmt: skip

    def listened(self, member: str, callback: str, *, after: int = 0) -> list[tuple[int, int]]:
        """(time, partitions) of a member's callbacks with at least one partition."""
        return [
            (time, count) for time, who, what, count in self.callbacks
            if who == member and what == callback and count and time >= after
        ]  # fmt: skip

    def clear(self) -> None:
        """Forget an earlier run."""
        self.requests.clear()
        self.answers.clear()
        self.callbacks.clear()


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """A tap on every broker, connection and listener."""
    tap = Wire()
    names: dict[Connection, str] = {}
    connect, receive, reply, listen = World.connect, Broker.receive, Connection.reply, Rebalancing.listen

    def tapped_connect(self: World, consumer: Consumer, *more: Any) -> Connection:
        connection = connect(self, consumer, *more)
        names[connection] = consumer.name
        return connection

    def tapped_receive(self: Broker, exchange: Exchange) -> None:
        now, name = self._env.now, names[exchange.connection]
        tap.requests.append(Request(now, exchange.sent_us, exchange.api.value, name, exchange.body))
        receive(self, exchange)

    def tapped_reply(self: Connection, exchange: Exchange, response: Any, leave_us: int) -> None:
        error = response.error.value
        tap.answers.append(Answer(self._env.now, leave_us, exchange.api.value, names[self], error, response))
        reply(self, exchange, response, leave_us)

    def tapped_listen(self: Rebalancing, now: int, effect: Listen) -> None:
        tap.callbacks.append((now, self._client.consumer.name, effect.callback, len(effect.positions)))
        listen(self, now, effect)

    monkeypatch.setattr(World, "connect", tapped_connect)
    monkeypatch.setattr(Broker, "receive", tapped_receive)
    monkeypatch.setattr(Connection, "reply", tapped_reply)
    monkeypatch.setattr(Rebalancing, "listen", tapped_listen)
    return tap
