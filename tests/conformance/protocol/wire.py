"""What goes over the wire, as a broker sees it: every request when it is worked on, every answer when it is decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from sim.actors.broker import Broker
from sim.actors.consumer import Consumer
from sim.kernel.network import Connection, Exchange
from sim.protocol.effects import Listen


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
    """An answer that a broker has decided on."""

    at_us: int
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
        return [
            one for one in self.requests if one.api == api and member in (None, one.member) and one.at_us >= after
        ]

    def answered(self, api: str, member: str | None = None, *, error: str | None = None, after: int = 0) -> list[Answer]:
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


def sender(exchange: Exchange) -> Consumer:
    """Whose connection it is."""
    owner = exchange.connection._deliver.__self__  # type: ignore[attr-defined]
    assert isinstance(owner, Consumer)
    return owner


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """A tap on every broker, connection and listener."""
    tap = Wire()
    receive, reply, listen = Broker.receive, Connection.reply, Consumer._ACTIONS[Listen]

    def tapped_receive(self: Broker, exchange: Exchange) -> None:
        request = Request(
            self.world.env.now, exchange.sent_us, exchange.api.value, sender(exchange).name, exchange.body
        )
        tap.requests.append(request)
        receive(self, exchange)

    def tapped_reply(self: Connection, exchange: Exchange, response: Any, leave_us: int) -> None:
        who = sender(exchange)
        tap.answers.append(Answer(who.env.now, exchange.api.value, who.name, response.error.value, response))
        reply(self, exchange, response, leave_us)

    def tapped_listen(self: Consumer, now: int, effect: Listen) -> None:
        tap.callbacks.append((now, self.name, effect.callback, len(effect.positions)))
        listen(self, now, effect)

    monkeypatch.setattr(Broker, "receive", tapped_receive)
    monkeypatch.setattr(Connection, "reply", tapped_reply)
    monkeypatch.setitem(Consumer._ACTIONS, Listen, tapped_listen)
    return tap
