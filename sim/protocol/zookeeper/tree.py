"""ZooKeeper's tree of nodes, as one server has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from groupsim.sim.protocol.zookeeper.messages import Change, Code, Kind, Op, Request, Transaction
from groupsim.sim.protocol.zookeeper.paths import parent


@dataclass(slots=True)
class Node:
    """One node; ``changed`` and ``children_changed`` are transactions (``mzxid``, ``pzxid``)."""

    data: Any
    session: int = 0
    changed: int = 0
    children_changed: int = 0
    children: set[str] = field(default_factory=set)


class Tree:
    """Nodes by path. A path begins with a slash and ends without; the root is the empty path."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {"": Node(None)}
        self._ephemerals: dict[int, dict[str, None]] = {}

    def plan(self, request: Request) -> tuple[Code, tuple[Change, ...]]:
        """What a write would come to here, and what it would change (``PrepRequestProcessor``)."""
        path, node = request.path, self.nodes.get(request.path)
        match request.op:
            case Op.CREATE:
                if node is not None:
                    return Code.NODE_EXISTS, ()
                if parent(path) not in self.nodes:
                    return Code.NO_NODE, ()
                return Code.NONE, (Change(Kind.CREATED, path, request.data),)
            case Op.CLOSE_SESSION:
                return Code.NONE, self._closing(request.session)
            case Op.CREATE_SESSION:
                return Code.NONE, ()
        if node is None:
            return Code.NO_NODE, ()
        if request.op is Op.SET_DATA:
            return Code.NONE, (Change(Kind.CHANGED, path, request.data),)
        return Code.NONE, (Change(Kind.DELETED, path, node.data),)

    def _closing(self, session: int) -> tuple[Change, ...]:
        """A session's ephemeral nodes all go at once."""
        return tuple(
            Change(Kind.DELETED, path, self.nodes[path].data) for path in sorted(self._ephemerals.get(session, ()))
        )

    def apply(self, done: Transaction) -> None:
        """Take a committed write over."""
        for change in done.changes:
            if change.kind is Kind.CHANGED:
                node = self.nodes[change.path]
                node.data, node.changed = change.data, done.zxid
                continue
            above, name = parent(change.path), change.path.rsplit("/", 1)[1]
            self.nodes[above].children_changed = done.zxid
            if change.kind is Kind.CREATED:
                session = done.session if done.is_ephemeral else 0
                self.nodes[change.path] = Node(change.data, session, done.zxid, done.zxid)
                self.nodes[above].children.add(name)
                if session:
                    self._ephemerals.setdefault(session, {})[change.path] = None
            else:
                gone = self.nodes.pop(change.path)
                self.nodes[above].children.discard(name)
                self._ephemerals.get(gone.session, {}).pop(change.path, None)
