"""A ZooKeeper ensemble as a pure machine: copies of the tree, watches, sessions, who leads.

Whoever hosts it says when a write is committed and when a server applies it, and carries the answers.

Source: ZooKeeper 3.4, Programmer's Guide (sessions, watches, consistency guarantees); ``DataTree``, ``WatchManager``,
``SessionTrackerImpl``, ``FastLeaderElection``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from groupsim.sim.protocol.zookeeper.messages import (
    Answer,
    Change,
    Code,
    Fired,
    Kind,
    Op,
    Request,
    Transaction,
    Watch,
    Watched,
)
from groupsim.sim.protocol.zookeeper.paths import parent
from groupsim.sim.protocol.zookeeper.tree import Tree
from groupsim.sim.units import FOREVER

LEAST_TICKS, MOST_TICKS = 2, 20
"""Bounds of a session's timeout (``minSessionTimeout``, ``maxSessionTimeout``)."""


@dataclass(slots=True)
class Replica:
    """One server's copy, and the watches of its clients: of each, the sessions in the order in which they came."""

    tree: Tree = field(default_factory=Tree)
    zxid: int = 0
    is_up: bool = True
    watches: dict[Watch, dict[int, None]] = field(default_factory=dict)


@dataclass(slots=True)
class Session:
    """A client's session, kept by the leader."""

    timeout_us: int
    node: int
    expires_us: int


class Ensemble:
    """An ensemble of servers.

    Parameters
    ----------
    size : int
        Number of servers; the one with the highest number that is up leads.
    tick_us : int
        ``tickTime``: sessions expire at whole multiples of it.
    """

    def __init__(self, size: int, tick_us: int) -> None:
        self.replicas = [Replica() for _ in range(size)]
        self._tick_us = tick_us
        self.leader: int | None = size - 1
        self.tree = Tree()
        """As of the last commit: what an elected leader has."""
        self._log: list[Transaction] = []
        self.sessions: dict[int, Session] = {}
        self._last_session = 0

    # --- reads --------------------------------------------------------------------------------------------------------

    def read(self, node: int, request: Request) -> Answer:
        """What a server answers from its own copy, setting a watch if that is asked for."""
        replica, path, op = self.replicas[node], request.path, request.op
        found = replica.tree.nodes.get(path)
        if request.watches and (found is not None or op is Op.EXISTS):
            what = Watched.CHILDREN if op is Op.GET_CHILDREN else Watched.DATA
            replica.watches.setdefault((what, path), {})[request.session] = None
        if found is None:
            return Answer(Code.NO_NODE, None, replica.zxid)
        if op is Op.GET_CHILDREN:
            return Answer(Code.NONE, tuple(sorted(found.children)), replica.zxid, found.children_changed)
        return Answer(Code.NONE, found.data if op is Op.GET_DATA else None, replica.zxid, found.changed)

    def is_stale(self, node: int, path: str) -> bool:
        """Whether the children that a server would list are not those that have been committed."""
        here, truth = self.replicas[node].tree.nodes.get(path), self.tree.nodes.get(path)
        return truth is not None and (here is None or here.children_changed < truth.children_changed)

    # --- writes -------------------------------------------------------------------------------------------------------

    def commit(self, now: int, node: int, request: Request) -> tuple[Answer, tuple[Change, ...]]:
        """A write is committed that came in at ``node``: its answer, which waits until that server has applied it."""
        if request.op is Op.CREATE_SESSION:
            request.session = self._open(now, node, request.timeout_us)
        elif request.session and request.session not in self.sessions:
            return Answer(Code.SESSION_EXPIRED, None, len(self._log)), ()
        error, changes = self.tree.plan(request)
        done = Transaction(len(self._log) + 1, changes, request.session, request.is_ephemeral)
        self._log.append(done)
        self.tree.apply(done)
        if request.op is Op.CLOSE_SESSION:
            del self.sessions[request.session]
        return Answer(error, request.session, done.zxid), changes

    def apply(self, node: int, zxid: int) -> list[Fired]:
        """A server takes over all that has been committed up to a transaction: the watches that fire, in order."""
        replica, fired = self.replicas[node], []
        for done in self._log[replica.zxid : zxid]:
            replica.tree.apply(done)
            replica.zxid = done.zxid
            for change in done.changes:
                for watch in _touched(change):
                    fired += [Fired(session, watch, done.zxid) for session in replica.watches.pop(watch, ())]
        return fired

    # --- sessions -----------------------------------------------------------------------------------------------------

    def _open(self, now: int, node: int, timeout_us: int) -> int:
        least, most = LEAST_TICKS * self._tick_us, MOST_TICKS * self._tick_us
        self._last_session += 1
        self.sessions[self._last_session] = Session(min(max(timeout_us, least), most), node, FOREVER)
        self.touch(now, self._last_session)
        return self._last_session

    def touch(self, now: int, session: int) -> None:
        """Something has been heard of a client (``SessionTrackerImpl.touchSession``: rounded up to the next tick)."""
        one = self.sessions.get(session)
        if one is not None:
            one.expires_us = ((now + one.timeout_us) // self._tick_us + 1) * self._tick_us

    def reconnect(self, now: int, node: int, request: Request) -> tuple[Answer, list[Fired]]:
        """A client comes with a session that it has: watches that would have fired meanwhile fire now."""
        replica, one = self.replicas[node], self.sessions.get(request.session)
        if replica.zxid < request.seen:
            return Answer(Code.BEHIND), []
        if one is None:
            return Answer(Code.SESSION_EXPIRED, None, replica.zxid), []
        self.forget_watches(one.node, request.session)
        one.node = node
        self.touch(now, request.session)
        missed = []
        for watch in request.armed:
            kept = _kept_as(watch)
            if self._has_changed(replica, watch, request.seen):
                missed.append(Fired(request.session, kept, replica.zxid))
            else:
                replica.watches.setdefault(kept, {})[request.session] = None
        return Answer(Code.NONE, request.session, replica.zxid), missed

    def _has_changed(self, replica: Replica, watch: Watch, since: int) -> bool:
        """``DataTree.setWatches``."""
        what, path = watch
        node = replica.tree.nodes.get(path)
        if what is Watched.CREATION:
            return node is not None
        if node is None:
            return True
        return (node.children_changed if what is Watched.CHILDREN else node.changed) > since

    def forget_watches(self, node: int, session: int) -> None:
        """A client is no longer connected to a server."""
        for sessions in self.replicas[node].watches.values():
            sessions.pop(session, None)

    @property
    def deadline(self) -> int:
        """When the first session expires, microseconds; `FOREVER` while nobody leads."""
        if self.leader is None or not self.sessions:
            return FOREVER
        return min(one.expires_us for one in self.sessions.values())

    def expired(self, now: int) -> list[int]:
        """Sessions that are over, in order; closing them is a write."""
        return [number for number, one in sorted(self.sessions.items()) if one.expires_us <= now]

    # --- servers ------------------------------------------------------------------------------------------------------

    def stop(self, node: int) -> bool:
        """A server is down; whether nobody can serve until there is an election: it led, or there is no majority."""
        self.replicas[node].is_up = False
        self.replicas[node].watches.clear()
        if node != self.leader and self.has_quorum:
            return False
        self.leader = None
        for replica in self.replicas:
            replica.watches.clear()
        return True

    def start(self, node: int) -> None:
        """A server is up again, and has got from the leader what it has missed; without one it waits."""
        self.replicas[node].is_up = True
        if self.leader is not None:
            self.apply(node, len(self._log))

    @property
    def has_quorum(self) -> bool:
        """Whether most servers are up."""
        return 2 * sum(one.is_up for one in self.replicas) > len(self.replicas)

    def elect(self, now: int) -> None:
        """The servers that are up have a leader, and all that was committed; sessions begin anew."""
        living = [node for node, one in enumerate(self.replicas) if one.is_up]
        self.leader = living[-1]
        for node in living:
            self.apply(node, len(self._log))
        for session in self.sessions:
            self.touch(now, session)


def _kept_as(watch: Watch) -> Watch:
    """How a server keeps a client's watch."""
    what, path = watch
    return (Watched.DATA, path) if what is Watched.CREATION else watch


def _touched(change: Change) -> Iterator[Watch]:
    """The watches that a change fires."""
    yield Watched.DATA, change.path
    if change.kind is not Kind.CHANGED:
        yield Watched.CHILDREN, parent(change.path)
    if change.kind is Kind.DELETED:
        yield Watched.CHILDREN, change.path
