"""Messages on connections: in order, delayed, cut.

A connection belongs to one client and one broker. Requests arrive in order, and a broker works on one request of a
connection at a time: the socket is muted until the answer is on its way, so a parked JoinGroup holds back whatever the
client sends after it (``SocketServer`` mute/unmute). Answers come back in order too. Loss is a retransmission delay,
never a lost message; a cut ends connections, which the client notices by itself or after its request timeout.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.kernel.environment import Environment, Kind, message_key
from groupsim.sim.model import Distribution, Network
from groupsim.sim.randomness import Draw, Streams, draws, hash64, longest, mean_of, name_hash

_MAX_RETRANSMISSIONS = 4
_WAIT = name_hash("wait")
_REPLICATION = name_hash("replication")
Waits = tuple[Distribution | None, Distribution | None]
"""What a request waits on its way there, and back."""
NO_WAITS: Waits = (None, None)


@dataclass(slots=True, eq=False)
class FollowerWait:
    """What commits to one shard wait beyond the leader's append, for who is in sync now; at most so long, whoever is.

    Whoever commits by arithmetic has to be woken before the law changes.
    """

    law: Distribution | None = None
    longest_us: int = 0


@dataclass(slots=True, eq=False)
class Exchange:
    """A request under way, and then its answer.

    ``number`` counts requests of this kind of this client: the latency of the n-th heartbeat has a name.
    """

    connection: Connection
    api: Any
    body: Any
    group_id: str
    number: int
    sent_us: int
    up_us: int
    down_us: int
    given_up_us: int
    abandoned: bool = False
    answered: bool = False
    is_cut_short: bool = False
    """The broker has refused a part of it, and passed on the rest."""


class Path:
    """Latency between one client and one broker, as a function of kind and number.

    Parameters
    ----------
    streams : Streams
    network : Network
    latency : Distribution
        One way.
    client : str
        Member name and incarnation.
    wait : Distribution or None
        On its way there a heartbeat or commit also waits so long, for the event loop of its shard.
    followers : FollowerWait, optional
        On its way back a commit also waits so long; that of its shard, which changes.

    Attributes
    ----------
    keys : dict of str to int
        Keys of the streams of latencies, by kind.
    law : Distribution or None
        What every latency is drawn from; None: messages can be lost, and come later than that.
    longest_us, mean_us : int
        The longest latency, and the mean of those without a loss.
    commit_us : int
        The mean way of a commit there and back, and of what it waits for followers that are in sync at the opening.
    """

    __slots__ = (
        "_draws",
        "_followers",
        "_held",
        "_late",
        "_loss",
        "_loss_key",
        "_retransmission_us",
        "_wait",
        "commit_us",
        "keys",
        "law",
        "longest_us",
        "mean_us",
    )

    def __init__(
        self, streams: Streams, network: Network, latency: Distribution, client: str, wait: Distribution | None = None,
        followers: FollowerWait | None = None,
    ) -> None:  # fmt: skip
        self._draws = {
            kind: streams.draw(latency, "latency", client, kind)
            for kind in ("heartbeat", "commit", "metadata", "other")
        }
        self.keys = {kind: draw.key for kind, draw in self._draws.items()}
        self._loss = int(network.loss * (1 << 64))
        self.law = None if self._loss else latency
        self._wait = wait
        kinds = ("heartbeat", "commit")
        self._late = {} if wait is None else {kind: Draw(self.keys[kind] ^ _WAIT, wait) for kind in kinds}
        self._followers = followers = followers or FollowerWait()
        self._held: Draw | None = None
        self._loss_key = streams.key("loss", client) if self._loss else 0
        self._retransmission_us = network.retransmission_us
        extra = network.retransmission_us * ((1 << _MAX_RETRANSMISSIONS) - 1) if self._loss else 0
        self.longest_us = max(1, longest(latency)) + extra + followers.longest_us
        self.longest_us += longest(wait) if wait is not None else 0
        self.mean_us = max(1, mean_of(latency))
        self.commit_us = 2 * self.mean_us + (mean_of(followers.law) if followers.law is not None else 0)

    def waits(self, kind: str) -> Waits:
        """What requests of a kind wait on their way there and back, as it is now."""
        if kind == "commit":
            return self._wait, self._followers.law
        return (self._wait, None) if kind == "heartbeat" else NO_WAITS

    def latency(self, kind: str, number: int) -> int:
        """Microseconds on the wire, at least 1; number 2n is the n-th request's way there, 2n + 1 the way back."""
        latency = self._draws[kind](number) or 1
        if kind in self._late and not number & 1:
            latency += self._late[kind](number >> 1)
        elif kind == "commit" and number & 1 and (law := self._followers.law) is not None:
            if self._held is None or self._held.distribution is not law:
                self._held = Draw(self.keys["commit"] ^ _REPLICATION, law)
            latency += self._held(number >> 1)
        return latency + self._retransmissions(kind, number) if self._loss else latency

    def latencies(self, kind: str, first: int, count: int) -> NDArray[np.int64]:
        """`latency` of numbers ``first`` .. ``first + count - 1``, of a kind that waits for nothing. Shape (count,)."""
        if self._loss:
            return np.array([self.latency(kind, number) for number in range(first, first + count)], np.int64)
        return np.maximum(self._draws[kind].range(first, count), 1)

    def _retransmissions(self, kind: str, number: int) -> int:
        """Each loss doubles the retransmission timeout, as TCP does."""
        delay, key = 0, self._loss_key + len(kind)
        for attempt in range(_MAX_RETRANSMISSIONS):
            if hash64(key, number * _MAX_RETRANSMISSIONS + attempt) >= self._loss:
                break
            delay += self._retransmission_us << attempt
        return delay


def round_trips(paths: Sequence[Path], kind: str, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """`Path.latency` there and back of the ``numbers[i]``-th request of a kind on ``paths[i]``. Shape (2, n)."""
    law = paths[0].law if paths else None
    if law is not None and all(path.law is law for path in paths):
        keys = np.array([path.keys[kind] for path in paths], np.uint64)
        return round_trips_alike(law, keys, numbers, paths[0].waits(kind))
    ways = [zip(paths, way, strict=True) for way in ((2 * numbers).tolist(), (2 * numbers + 1).tolist())]
    return np.array([[path.latency(kind, number) for path, number in way] for way in ways], np.int64)


def round_trips_alike(
    law: Distribution, keys: NDArray[np.uint64], numbers: NDArray[np.int64], waits: Waits
) -> NDArray[np.int64]:
    """`round_trips` on paths of one law without losses, by the keys of their streams. Shape (2, n)."""
    there = 2 * numbers
    trips: NDArray[np.int64] = np.maximum(draws(law, keys, np.array([there, there + 1])), 1)
    for way, wait, purpose in zip(trips, waits, (_WAIT, _REPLICATION), strict=True):
        if wait is not None:
            way += draws(wait, keys ^ np.uint64(purpose), numbers)
    return trips


class Connection:
    """One client's connection to one broker.

    Parameters
    ----------
    env : Environment
    node : int
        Broker id.
    entity : int
        `sim.randomness.name_hash` of the client: ties of an instant are broken by it.
    receive : callable
        The broker: called with an `Exchange` when it may work on it; answers by `reply`.
    deliver : callable
        The client: called with (exchange, response) when an answer arrives.
    """

    __slots__ = (
        "_deliver", "_env", "_receive", "_waiting",
        "broken", "busy", "down_us", "free_us", "node", "request_key", "response_key", "up_us",
    )  # fmt: skip

    def __init__(
        self,
        env: Environment,
        node: int,
        entity: int,
        receive: Callable[[Exchange], None],
        deliver: Callable[[Exchange, Any], None],
    ) -> None:
        self._env = env
        self._receive = receive
        self._deliver = deliver
        self.request_key = message_key(entity, Kind.REQUEST)
        self.response_key = message_key(entity, Kind.RESPONSE)
        self._waiting: deque[Exchange] = deque()
        self.node = node
        self.broken = False
        self.busy = False
        self.up_us = 0
        """Arrival of the last request."""
        self.free_us = 0
        """When the last answer left the broker."""
        self.down_us = 0
        """Arrival of the last answer."""

    @property
    def is_calm(self) -> bool:
        """Whether the broker works on one request, and nothing waits behind it."""
        return self.busy and not self._waiting and not self.broken

    @property
    def order(self) -> tuple[int, int, int]:
        """Arrival of the last request, departure and arrival of the last answer, microseconds."""
        return self.up_us, self.free_us, self.down_us

    @order.setter
    def order(self, times: tuple[int, int, int]) -> None:
        self.up_us, self.free_us, self.down_us = times

    def send(self, exchange: Exchange) -> None:
        """Put a request on the wire now."""
        self.up_us = max(self.up_us + 1, self._env.now + exchange.up_us)
        self.arrive_at(self.up_us, exchange)

    def arrive_at(self, time: int, exchange: Exchange) -> None:
        """Let a request arrive at a known time."""
        self._env.at(time, self.request_key, self._arrive, exchange)

    def _arrive(self, exchange: Exchange) -> None:
        if self.broken:
            return
        if self.busy or self._waiting:
            self._waiting.append(exchange)
        elif self.free_us > self._env.now:
            self._waiting.append(exchange)
            self._env.at(self.free_us, self.request_key, self._next)
        else:
            self._work(exchange)

    def _work(self, exchange: Exchange) -> None:
        self.busy = True
        self._receive(exchange)

    def reply(self, exchange: Exchange, response: Any, leave_us: int) -> None:
        """Answer a request: the response leaves the broker at ``leave_us`` (now or later), then the next one is due."""
        self.busy = False
        if exchange.answered or self.broken:
            return
        exchange.answered = True
        self.free_us = leave_us
        self.down_us = max(self.down_us + 1, leave_us + exchange.down_us)
        self.answer_at(self.down_us, exchange, response)
        if self._waiting:
            self._env.at(leave_us, self.request_key, self._next)

    def push(self, message: Any, leave_us: int, down_us: int) -> None:
        """The other side says something that nobody has asked for: in order with its answers."""
        if not self.broken:
            self.down_us = max(self.down_us + 1, leave_us + down_us)
            said = Exchange(self, None, None, "", 0, leave_us, 0, down_us, 0)
            self.answer_at(self.down_us, said, message)

    def answer_at(self, time: int, exchange: Exchange, response: Any) -> None:
        """Let an answer arrive at a known time."""
        self._env.at(time, self.response_key, self._answer, (exchange, response))

    def _answer(self, arrived: tuple[Exchange, Any]) -> None:
        if not self.broken:
            self._deliver(*arrived)

    def _next(self, _: Any) -> None:
        if not self.busy and self._waiting and not self.broken:
            self._work(self._waiting.popleft())

    def end(self) -> None:
        """The connection is gone: nothing on it arrives any more, in either direction."""
        self.broken = True
        self._waiting.clear()
