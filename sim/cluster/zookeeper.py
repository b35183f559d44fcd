"""ZooKeeper: a SimPy process for each server, with a queue, and what goes on between them.

Reads are answered by the server that is asked. A write goes to the leader, which orders it, and counts when most
servers have it on disk; each server applies it when it hears so, a follower ``follower_lag`` later, and its client is
answered then. So a client sees its own writes at once, and others' when its server does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import simpy

from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key
from groupsim.sim.kernel.network import Connection, Exchange
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.zookeeper import paths
from groupsim.sim.protocol.zookeeper.ensemble import Ensemble
from groupsim.sim.protocol.zookeeper.messages import READS, Answer, Change, Code, Fired, Op, Request
from groupsim.sim.protocol.zookeeper.messages import Kind as ChangeKind
from groupsim.sim.randomness import Draw, Streams, name_hash
from groupsim.sim.units import FOREVER


class Server:
    """One server.

    Attributes
    ----------
    free_us : int
        When it has worked off what it has taken in.
    applied_us : int
        When it has applied, or will, the last write that is committed.
    busy_us : int
        How long it has worked within ``measure``.
    clients : dict of int to Connection
        By session.
    """

    def __init__(self, env: Environment, number: int, measure: tuple[int, int]) -> None:
        self._env = env
        self._measure = measure
        self.number = number
        self.key = deadline_key(name_hash("zookeeper", number), Kind.TIMER)
        self.free_us = self.applied_us = self.busy_us = 0
        self.clients: dict[int, Connection] = {}
        self.connections: dict[Connection, Callable[[], None]] = {}
        """All that are open, and what tells the client that one is not."""
        self.stopped = env.event()
        env.process(self.run())

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Up from the start, until somebody stops it; `start` makes it run again."""
        yield self.stopped

    @property
    def is_up(self) -> bool:
        """Whether its process runs."""
        return not self.stopped.triggered

    def stop(self) -> None:
        """The process ends, and with it every connection."""
        self.stopped.succeed()
        self.hang_up()

    def start(self) -> None:
        """The process runs again, and has nothing to do."""
        self.stopped = self._env.event()
        self._env.process(self.run())
        self.free_us = self.applied_us = self._env.now

    def take(self, work_us: int) -> int:
        """One more request is queued; when it has been worked on."""
        begin = max(self._env.now, self.free_us)
        self.free_us = begin + work_us
        low, high = self._measure
        self.busy_us += max(0, min(self.free_us, high) - max(begin, low))
        return self.free_us

    def hang_up(self) -> None:
        """Every connection is closed, and the clients hear of it."""
        connections, self.connections = self.connections, {}
        self.clients.clear()
        for connection, tell in connections.items():
            if not connection.broken:
                connection.end()
                tell()


class Zookeeper:
    """The ensemble of one run.

    Parameters
    ----------
    env : Environment
    cluster : Cluster
    streams : Streams
    measure : (int, int), microseconds
    groups : sequence of GroupHost
        Those that are held together by it.
    """

    def __init__(
        self, env: Environment, cluster: Cluster, streams: Streams, measure: tuple[int, int],
        groups: Sequence[GroupHost],
    ) -> None:  # fmt: skip
        self._env = env
        self._streams = streams
        self.spec = cluster.zookeeper
        self._latency = cluster.network.latency
        self._groups = {group.name: group for group in groups}
        self._measure = measure
        self.ensemble = Ensemble(self.spec.nodes, self.spec.tick_us)
        self.servers = [Server(env, number, measure) for number in range(self.spec.nodes)]
        self._draws: dict[tuple[object, ...], Draw] = {}
        self._committed_us = 0
        self._key = deadline_key(name_hash("zookeeper"), Kind.TIMER)
        self._expiry = Alarm(env, self._key, self._expire)
        self._term = 0

    def fill(self, catalog: Catalog, brokers: Sequence[int]) -> None:
        """What brokers have written before anything happens."""
        for path in ("/brokers", paths.BROKERS, paths.TOPICS, "/consumers"):
            self._put(Op.CREATE, path)
        for broker in brokers:
            self._put(Op.CREATE, paths.broker(broker))
        for topic, count in catalog.counts.items():
            self._put(Op.CREATE, paths.topic(topic), count)

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """The controller writes topics that have been created, or have grown: topic -> number of partitions."""
        for topic, count in counts.items():
            node = self.ensemble.tree.nodes.get(paths.topic(topic))
            if node is None or node.data != count:
                self._put(Op.SET_DATA if node is not None else Op.CREATE, paths.topic(topic), count)

    def _put(self, op: Op, path: str, data: object = None) -> None:
        self._commit_now(0, Request(op, path, data), None)

    # --- connections --------------------------------------------------------------------------------------------------

    def is_serving(self, node: int) -> bool:
        """Whether a server takes clients: it is up, and somebody leads."""
        return self.servers[node].is_up and self.ensemble.leader is not None

    def connect(
        self, node: int, entity: int, deliver: Callable[[Exchange, Any], None], lost: Callable[[], None]
    ) -> Connection:
        """A new connection to a server; ``lost`` is called when the server closes it."""
        connection = Connection(self._env, node, entity, self._receive, deliver)
        self.servers[node].connections[connection] = lost
        return connection

    def forget(self, connection: Connection) -> None:
        """A client has closed a connection."""
        connection.end()
        server = self.servers[connection.node]
        server.connections.pop(connection, None)
        for session, one in list(server.clients.items()):
            if one is connection:
                del server.clients[session]
                self.ensemble.forget_watches(server.number, session)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _receive(self, exchange: Exchange) -> None:
        server = self.servers[exchange.connection.node]
        self._env.at(server.take(self.spec.read_us), server.key, self._work, exchange)

    def _work(self, exchange: Exchange) -> None:
        if exchange.connection.broken:
            return
        now, request, node = self._env.now, exchange.body, exchange.connection.node
        self.ensemble.touch(now, request.session)
        self._expiry.set(self.ensemble.deadline)
        if request.op in READS:
            self._read(node, exchange)
        elif request.op is Op.PING:
            self._answer(exchange, Answer(Code.NONE, None, self.ensemble.replicas[node].zxid))
        elif request.op is Op.RECONNECT:
            self._reconnect(node, exchange)
        else:
            self._forward(node, exchange)

    def _read(self, node: int, exchange: Exchange) -> None:
        request = exchange.body
        books = self._groups[exchange.group_id].books
        if request.path == paths.ids(exchange.group_id) and self.ensemble.is_stale(node, request.path):
            books.tally("stale_reads")
        self._answer(exchange, self.ensemble.read(node, request))

    def _reconnect(self, node: int, exchange: Exchange) -> None:
        answer, missed = self.ensemble.reconnect(self._env.now, node, exchange.body)
        if answer.error is Code.NONE:
            self.servers[node].clients[exchange.body.session] = exchange.connection
        self._answer(exchange, answer)
        self._tell(node, missed)

    def _answer(self, exchange: Exchange, answer: Answer) -> None:
        self._groups[exchange.group_id].books.requests.count(exchange, answer.error)
        exchange.connection.reply(exchange, answer, self._env.now)

    # --- writes -------------------------------------------------------------------------------------------------------

    def _hop_us(self, node: int, number: int, *names: object) -> int:
        """One message between the leader and another server."""
        if node == self.ensemble.leader:
            return 0
        return self._draw("hop", node, *names)(number)

    def _draw(self, *names: object) -> Draw:
        if names not in self._draws:
            law = self.spec.follower_lag if names[0] == "lag" else self._latency
            self._draws[names] = self._streams.draw(law, "zookeeper", *names)
        return self._draws[names]

    def _forward(self, node: int, exchange: Exchange) -> None:
        leader = self.ensemble.leader
        assert leader is not None
        at = self._env.now + self._hop_us(node, exchange.number, exchange.connection.request_key)
        self._env.at(at, self.servers[leader].key, self._propose, (self._term, exchange))

    def _propose(self, sent: tuple[int, Exchange]) -> None:
        """The leader orders a write; it counts when most servers have it on disk."""
        if sent[0] == self._term:
            self._env.at(self._counts_us(), self._key, self._commit, sent)

    def _counts_us(self) -> int:
        """When the write that comes now counts, if nobody else's does later."""
        assert self.ensemble.leader is not None
        done_us = self.servers[self.ensemble.leader].take(self.spec.write_us)
        majority = 2 * self._draw("quorum")(done_us) if len(self.servers) > 1 else 0
        self._committed_us = max(self._committed_us, done_us + self.spec.sync_us + majority)
        return self._committed_us

    def _commit(self, sent: tuple[int, Exchange]) -> None:
        term, exchange = sent
        if term == self._term:
            self._commit_now(exchange.connection.node, exchange.body, exchange)

    def _commit_now(self, node: int, request: Request, exchange: Exchange | None, *, has_expired: bool = False) -> None:
        now = self._env.now
        answer, changes = self.ensemble.commit(now, node, request)
        self._expiry.set(self.ensemble.deadline)
        self._write_down(changes, answer.zxid, has_expired=has_expired)
        for server in self.servers:
            if server.is_up:
                server.applied_us = max(server.applied_us, now + self._behind_us(server.number, answer.zxid))
                asked = exchange if exchange is not None and server.number == node else None
                work = (self._term, server, answer, asked)
                if server.applied_us == now:
                    self._apply(work)
                else:
                    self._env.at(server.applied_us, server.key, self._apply, work)

    def _behind_us(self, node: int, zxid: int) -> int:
        """How much later than the leader a server applies a write, unless it has still to apply another."""
        return 0 if node == self.ensemble.leader else self._hop_us(node, zxid, "commit") + self._draw("lag", node)(zxid)

    def _apply(self, work: tuple[int, Server, Answer, Exchange | None]) -> None:
        term, server, answer, exchange = work
        if term != self._term or not server.is_up:
            return
        self._tell(server.number, self.ensemble.apply(server.number, answer.zxid))
        if exchange is not None and not exchange.connection.broken:
            if exchange.body.op is Op.CREATE_SESSION:
                server.clients[exchange.body.session] = exchange.connection
            self._answer(exchange, answer)

    def _tell(self, node: int, fired: Sequence[Fired]) -> None:
        """Watches have fired: their clients are told, before anything that they read afterwards."""
        for one in fired:
            connection = self.servers[node].clients.get(one.session)
            if connection is not None:
                connection.push(one, self._env.now, self._draw("event", one.session)(one.zxid) or 1)

    def _write_down(self, changes: Sequence[Change], zxid: int, *, has_expired: bool) -> None:
        for group in self._groups.values():
            mine = [one for one in changes if one.path.startswith((f"/consumers/{group.name}/", f"{paths.TOPICS}/"))]
            for change in mine:
                if change.path.startswith(f"/consumers/{group.name}/offsets/"):
                    self._commit_offset(group, change)
                elif change.path.startswith(paths.TOPICS) and group.machine.reads(change.path.rsplit("/", 1)[1]):
                    group.books.cover((change.path.rsplit("/", 1)[1],))
            if mine:
                group.books.note(group.machine.on_written(mine, zxid, has_expired=has_expired))

    def _commit_offset(self, group: GroupHost, change: Change) -> None:
        *_, topic, number = change.path.split("/")
        if change.data is not None and change.kind is not ChangeKind.DELETED:
            position = group.books.partitions.of(topic)[[int(number)]]
            moment = self._env.moment
            group.books.ledger.commit(position, np.array([change.data], np.int64), moment, contested=False)

    # --- sessions and servers -----------------------------------------------------------------------------------------

    def _expire(self, now: int) -> None:
        """Sessions are over: the leader closes each, which is a write."""
        for session in self.ensemble.expired(now):
            self.ensemble.sessions[session].expires_us = FOREVER
            self._env.at(self._counts_us(), self._key, self._close, (self._term, session))
        self._expiry.set(self.ensemble.deadline)

    def _close(self, sent: tuple[int, int]) -> None:
        term, session = sent
        if term == self._term and session in self.ensemble.sessions:
            node = self.ensemble.sessions[session].node
            self._commit_now(node, Request(Op.CLOSE_SESSION, session=session), None, has_expired=True)
            connection = self.servers[node].clients.pop(session, None)
            if connection is not None and not connection.broken:
                tell = self.servers[node].connections.pop(connection)
                connection.end()
                tell()

    def stop(self, node: int) -> None:
        """A server dies. Its clients look for another; without the leader, or a majority, everybody's do."""
        server = self.servers[node]
        if not server.is_up:
            return
        server.stop()
        if self.ensemble.stop(node):
            self._end_term()

    def _end_term(self) -> None:
        """Nobody leads: what is not committed is lost, and an election begins if there is a majority."""
        self._term += 1
        self._expiry.set(FOREVER)
        for server in self.servers:
            server.hang_up()
        if self.ensemble.has_quorum:
            self._env.at(self._env.now + self.spec.election_us, self._key, self._elect, self._term)

    def _elect(self, term: int) -> None:
        if term == self._term and self.ensemble.has_quorum:
            self.ensemble.elect(self._env.now)
            for server in self.servers:
                server.applied_us = server.free_us = self._env.now
            self._committed_us = self._env.now
            self._expiry.set(self.ensemble.deadline)

    def start(self, node: int) -> None:
        """A server is there again; it may make a majority."""
        server = self.servers[node]
        if server.is_up:
            return
        server.start()
        had_leader = self.ensemble.leader is not None
        self.ensemble.start(node)
        if not had_leader:
            self._end_term()

    def finish(self, horizon: int) -> None:
        """What each server has worked, for the books of every group."""
        low, high = self._measure
        span_us = max(1, min(high, horizon) - low)
        for group in self._groups.values():
            group.books.record.zookeeper_busy = [server.busy_us / span_us for server in self.servers]
