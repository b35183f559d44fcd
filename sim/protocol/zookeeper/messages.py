"""Requests to ZooKeeper, answers, and what a server says by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Op(Enum):
    """What is asked of ZooKeeper, named as its client's methods."""

    CREATE_SESSION = "ZooKeeper createSession"
    RECONNECT = "ZooKeeper reconnect"
    CLOSE_SESSION = "ZooKeeper closeSession"
    PING = "ZooKeeper ping"
    EXISTS = "ZooKeeper exists"
    GET_DATA = "ZooKeeper getData"
    GET_CHILDREN = "ZooKeeper getChildren"
    CREATE = "ZooKeeper create"
    SET_DATA = "ZooKeeper setData"
    DELETE = "ZooKeeper delete"


READS = frozenset({Op.EXISTS, Op.GET_DATA, Op.GET_CHILDREN})
NODE_WRITES = frozenset({Op.CREATE, Op.SET_DATA, Op.DELETE})
WRITES = NODE_WRITES | {Op.CREATE_SESSION, Op.CLOSE_SESSION}
"""What goes through the leader; the rest is answered by the server that is asked."""


class Code(Enum):
    """Result codes (``KeeperException.Code``, ZooKeeper 3.4)."""

    NONE = "NONE"
    NODE_EXISTS = "NODEEXISTS"
    NO_NODE = "NONODE"
    SESSION_EXPIRED = "SESSIONEXPIRED"
    BEHIND = "BEHIND"
    """Not a code of the wire: the server has seen less than the client, and closes the connection."""


class Watched(Enum):
    """What of a path a watch is set on."""

    DATA = "data"
    CHILDREN = "children"
    CREATION = "creation"
    """Of a node that is not there yet: at a server a watch of data, told apart by the client that comes back."""


Watch = tuple[Watched, str]


@dataclass(slots=True, eq=False)
class Request:
    """A request.

    Parameters
    ----------
    op : Op
    path : str
    data : object
        Of CREATE and SET_DATA.
    is_ephemeral : bool
        A node that CREATE makes goes with its session.
    watches : bool
        A read sets a watch, if the path exists; EXISTS does so anyway.
    session : int
    timeout_us : int
        Of a new session.
    seen : int
        Last transaction that the client has seen (RECONNECT).
    armed : tuple of Watch
        Watches that have not fired (RECONNECT: ``setWatches``).
    """

    op: Op
    path: str = ""
    data: Any = None
    is_ephemeral: bool = False
    watches: bool = False
    session: int = 0
    timeout_us: int = 0
    seen: int = 0
    armed: tuple[Watch, ...] = ()


@dataclass(slots=True, eq=False)
class Answer:
    """An answer; ``zxid``: last transaction that the server has applied; ``version``: of the children listed."""

    error: Code
    value: Any = None
    zxid: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True)
class Fired:
    """A watch has fired; it has to be set again."""

    session: int
    watch: Watch
    zxid: int


class Kind(Enum):
    """What a write does to a node."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Change:
    """One node's change by a committed write; ``data`` is the node's, before it is deleted."""

    kind: Kind
    path: str
    data: Any


@dataclass(frozen=True, slots=True)
class Registration:
    """Content of /consumers/G/ids/C.

    ``number``, ``name`` and ``strategy`` decide nothing: the how manieth registration of this process it is, its name
    in the scenario, and how it assigns.
    """

    topics: tuple[str, ...]
    number: int = 1
    name: str = ""
    strategy: str = "range"


@dataclass(slots=True, eq=False)
class Transaction:
    """A committed write: what it did to the tree (nothing, if it failed)."""

    zxid: int
    changes: tuple[Change, ...] = field(default=())
    session: int = 0
    is_ephemeral: bool = False
