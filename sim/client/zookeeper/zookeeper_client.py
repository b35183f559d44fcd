"""One incarnation of a consumer of the ZooKeeper protocol: a client with a session."""

from __future__ import annotations

from typing import Any

from groupsim.sim.client.client import Client
from groupsim.sim.client.zookeeper.zookeeper_session import ZookeeperSession
from groupsim.sim.protocol.messages import Error, OffsetFetch, OffsetFetchResponse
from groupsim.sim.protocol.zookeeper.waits import Ask, Begin, Checkpoint, Connect, Report


class ZookeeperClient(Client):
    """A client with a session with ZooKeeper; parameters are those of `Client`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.session: ZookeeperSession | None = None
        self._actions |= {
            Connect: self._connect,
            Ask: self._ask,
            Checkpoint: self._measure,
            Begin: self._begin,
            Report: self._report,
        }

    def _connect(self, now: int, effect: Connect) -> None:
        self.session = ZookeeperSession(self, effect.timeout_us)

    def _ask(self, now: int, effect: Ask) -> None:
        assert self.session is not None
        self.session.ask(now, effect)

    def _measure(self, now: int, _: Checkpoint) -> None:
        held = self.consumption.partitions
        self.do(now, self.machine.on_positions(now, held, self.commits.offsets(now)))

    def _begin(self, now: int, effect: Begin) -> None:
        """Fetchers start: they look up leaders, and where to begin if nobody has committed."""
        response = OffsetFetchResponse(Error.NONE, effect.offsets)
        self.fetcher.on_offsets(now, OffsetFetch(effect.positions), response)

    def _report(self, now: int, effect: Report) -> None:
        """What nobody else sees goes into the books."""
        self.books.tally("conflicts", effect.conflicts)
        facts = self.group.machine.on_report(self.machine.member_id, effect.phase, effect.view)
        self.books.note(facts)

    def _end(self, now: int, ended_by: str) -> None:
        if self.session is not None:
            self.session.end()
        super()._end(now, ended_by)
