"""What the consumer does to nodes, request by request: its client library's calls, and those of ``ZkUtils``.

Source: ``ZkClient`` 0.3 (``exists``, ``getChildren``, ``createPersistent``, ``fireChildChangedEvents``); ``ZkUtils`` of
Kafka 0.8.2 (``createEphemeralPathExpectConflict``, ``updatePersistentPath``, ``deletePath``).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from groupsim.sim.protocol.zookeeper.messages import Answer, Code, Op, Request
from groupsim.sim.protocol.zookeeper.paths import parent
from groupsim.sim.protocol.zookeeper.waits import Ask

Call = Generator[Any, Any, Any]


class NoNode(Exception):
    """``ZkNoNodeException``: a node that was read is not there."""


class NodeExists(Exception):
    """``ZkNodeExistsException``: somebody else has made the node."""


def _ask(op: Op, path: str, data: object = None, *, ephemeral: bool = False, watches: bool = False) -> Call:
    answer: Answer = yield Ask(Request(op, path, data, ephemeral, watches))
    return answer


def exists(path: str) -> Call:
    """Whether there is a node; watched."""
    answer = yield from _ask(Op.EXISTS, path, watches=True)
    return answer.error is Code.NONE


def get_data(path: str, *, watches: bool = False) -> Call:
    """A node's content. Raises `NoNode`."""
    answer = yield from _ask(Op.GET_DATA, path, watches=watches)
    if answer.error is not Code.NONE:
        raise NoNode(path)
    return answer.value


def get_children(path: str, *, watches: bool = False) -> Call:
    """Names below a node, none if it does not exist, and the version of the list."""
    answer = yield from _ask(Op.GET_CHILDREN, path, watches=watches)
    return (answer.value or ()), answer.version


def delete(path: str) -> Call:
    """Delete a node; one that is gone already is fine."""
    yield from _ask(Op.DELETE, path)


def make_persistent(path: str) -> Call:
    """Make a node and, from below, whatever is missing above it (``ZkClient.createPersistent``)."""
    answer = yield from _ask(Op.CREATE, path)
    if answer.error is Code.NO_NODE:
        yield from make_persistent(parent(path))
        yield from make_persistent(path)


def make_ephemeral(path: str, data: object) -> Call:
    """Make a node of this session. Raises `NodeExists` if there is one with other content."""
    answer = yield from _ask(Op.CREATE, path, data, ephemeral=True)
    if answer.error is Code.NO_NODE:
        yield from make_persistent(parent(path))
        answer = yield from _ask(Op.CREATE, path, data, ephemeral=True)
    if answer.error is Code.NODE_EXISTS:
        found = yield from _ask(Op.GET_DATA, path)
        if found.value != data:
            raise NodeExists(path)


def update(path: str, data: object) -> Call:
    """Write a persistent node, which need not exist."""
    answer = yield from _ask(Op.SET_DATA, path, data)
    if answer.error is Code.NO_NODE:
        yield from make_persistent(parent(path))
        answer = yield from _ask(Op.CREATE, path, data)
        if answer.error is Code.NODE_EXISTS:
            yield from _ask(Op.SET_DATA, path, data)


def close() -> Call:
    """Close the session: its ephemeral nodes go at once."""
    yield Ask(Request(Op.CLOSE_SESSION))
