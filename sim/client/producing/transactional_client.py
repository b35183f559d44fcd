"""One incarnation of a consumer that produces in transactions: consume, transform, produce."""

from __future__ import annotations

from typing import Any

from groupsim.sim.books.truncation import Truncation
from groupsim.sim.client.client import Client
from groupsim.sim.client.producing.transaction_loop import TransactionLoop
from groupsim.sim.protocol.effects import Drop, Raise


class TransactionalClient(Client):
    """A client with a transactional producer; parameters are those of `Client`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.transactions = TransactionLoop(self, self.poll_loop, self.fetcher, self.in_flight)
        self._actions |= {Drop: self._drop}

    def open(self, now: int) -> None:
        """initTransactions() comes before the first poll()."""
        self.transactions.start(now)
        super().open(now)

    def drive(self, now: int) -> None:
        """When a batch is processed, its transaction is ended before the next poll()."""
        if not self.is_over and self.frozen is None:
            self.transactions.look(now)
        super().drive(now)

    def on_poll(self, now: int) -> None:
        """The same if nothing else happens at a poll."""
        if self.frozen is None:
            self.transactions.look(now)
        super().on_poll(now)

    def _drop(self, now: int, effect: Drop) -> None:
        self.transactions.drop(effect.positions)
        self.rebalancing.drop(now, effect)

    def skip(self, gone: Truncation) -> None:
        """What transactions have been made of stays so."""
        self.transactions.skip(gone)
        super().skip(gone)

    def lose_broker(self, now: int, node: int) -> None:
        """The producer's connection ends too."""
        super().lose_broker(now, node)
        self.transactions.requests.lose_broker(now, node)

    def cut(self, nodes: frozenset[int]) -> None:
        """Nor does what the producer sends."""
        self.transactions.requests.sever(self.env.now, nodes)
        super().cut(nodes)

    def kill(self, now: int) -> None:
        """SIGKILL: what the producer has sent is on the wire."""
        self.transactions.flush(now)
        super().kill(now)

    def fail(self, now: int, effect: Raise) -> None:
        """poll() or the producer throws something fatal."""
        self.transactions.end(effect.error)
        super().fail(now, effect)
