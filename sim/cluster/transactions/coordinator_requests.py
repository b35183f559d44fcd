"""What brokers ask coordinators of transactions: that a partition is in a transaction, or is to be.

Who leads a partition asks, or the coordinator of a group, for its offsets partition. Where nothing gets through between
the two, nobody is told so: TCP sends again until the link is whole, and who has asked gives up after
``request.timeout.ms``, with NETWORK_EXCEPTION.

Source: ``AddPartitionsToTxnManager``, ``InterBrokerSendThread``, ``NetworkClient.handleTimedOutRequests`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Final

from groupsim.sim.cluster.transactions.transaction_shard import TransactionShard
from groupsim.sim.kernel.environment import Environment, Occurrence
from groupsim.sim.protocol.messages import Acknowledgement, Error
from groupsim.sim.protocol.transactions.messages import AddPartitionsToTxn
from groupsim.sim.units import S

REQUEST_TIMEOUT_US: Final = 30 * S
"""``request.timeout.ms`` of a broker."""


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A request that was sent to ``node``; ``nodes`` have asked."""

    shard: TransactionShard
    node: int
    nodes: Collection[int]
    request: AddPartitionsToTxn
    done: Callable[[Error], None]
    sent_us: int


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """What cannot get through, and when who has asked gives up."""

    asked: _Asked
    go: Callable[[], object]
    timer: Occurrence


class CoordinatorRequests:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    are_cut : callable
        Whether nothing gets through between two brokers.
    trip_us, service_us : int, microseconds
        Of a message between brokers, and of a request at one.
    """

    def __init__(self, env: Environment, are_cut: Callable[[int, int], bool], trip_us: int, service_us: int) -> None:
        self._env = env
        self._are_cut = are_cut
        self._trip_us, self._service_us = trip_us, service_us
        self._held: list[_Held] = []

    def ask(
        self, shard: TransactionShard, nodes: Collection[int], request: AddPartitionsToTxn,
        done: Callable[[Error], None],
    ) -> None:  # fmt: skip
        """Some brokers ask at once; ``done`` is told when they are answered, or the last of them has given up."""
        self._send(_Asked(shard, shard.node, nodes, request, done, self._env.now))

    def rewired(self) -> None:
        """Links between brokers were cut, or are whole again."""
        held, self._held = self._held, []
        for one in held:
            if self._is_cut_off(one.asked):
                self._held.append(one)
            else:
                one.timer.drop()
                one.go()

    def _is_cut_off(self, asked: _Asked) -> bool:
        return any(node != asked.node and self._are_cut(node, asked.node) for node in asked.nodes)

    def _send(self, asked: _Asked) -> None:
        """To whom it was addressed, who may coordinate no more when it comes at last."""
        if self._is_cut_off(asked):
            self._hold(asked, partial(self._send, asked))
        elif asked.node == asked.shard.node:
            asked.shard.ask_at(self._env.now + self._trip_us, asked.request, partial(self._answer, asked))
        else:
            self._answer(asked, self._env.now + self._trip_us, Acknowledgement(Error.NOT_COORDINATOR))

    def _answer(self, asked: _Asked, now: int, response: Acknowledgement) -> Occurrence:
        """The answer leaves at ``now``; the event by which it arrives, or is waited for no more."""
        if self._is_cut_off(asked):
            return self._hold(asked, partial(self._answer_again, asked, response))
        arrives_us = now + self._service_us + self._trip_us
        return self._env.at(arrives_us, asked.shard.key, lambda _: asked.done(response.error))

    def _answer_again(self, asked: _Asked, response: Acknowledgement) -> None:
        self._answer(asked, self._env.now, response)

    def _hold(self, asked: _Asked, go: Callable[[], object]) -> Occurrence:
        given_up_us = max(asked.sent_us + REQUEST_TIMEOUT_US, self._env.now)
        timer = self._env.at(given_up_us, asked.shard.key, self._give_up, asked)
        self._held.append(_Held(asked, go, timer))
        return timer

    def _give_up(self, asked: _Asked) -> None:
        self._held = [one for one in self._held if one.asked is not asked]
        asked.done(Error.NETWORK_EXCEPTION)
