"""Where a consumer of 0.8.2 keeps its offsets: in ZooKeeper, at a broker, or at both.

Source: ``ZookeeperConsumerConnector.commitOffsets``, ``fetchOffsets``, ``ensureOffsetManagerConnected`` (0.8.2.2).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.config import ZookeeperConsumerConfig
from groupsim.sim.protocol.effects import Send
from groupsim.sim.protocol.messages import (
    NO_PARTITIONS,
    Api,
    Error,
    FindCoordinator,
    OffsetCommit,
    OffsetFetch,
    Positions,
)
from groupsim.sim.protocol.zookeeper import nodes, paths
from groupsim.sim.protocol.zookeeper.nodes import Call, NoNode
from groupsim.sim.protocol.zookeeper.waits import Checkpoint, Sleep, Until

Values = NDArray[np.int64]


class Named(Protocol):
    """Names of partitions, by position."""

    topic: list[str]
    number: Positions


class Offsets:
    """Committed offsets of one consumer.

    Parameters
    ----------
    group : str
    config : ZookeeperConsumerConfig
    places : Named

    Attributes
    ----------
    coordinator : int or None
        Broker that keeps the group's offsets, if a connection to it is there.
    """

    def __init__(self, group: str, config: ZookeeperConsumerConfig, places: Named) -> None:
        self._group = group
        self._config = config
        self._places = places
        self.coordinator: int | None = None
        self._known: dict[int, int] = {}
        """Last offset written to, or read from, ZooKeeper (``checkpointedZkOffsets``)."""
        self._is_busy = False
        """``offsetsChannelLock``."""

    @property
    def _is_at_broker(self) -> bool:
        return self._config.offsets_storage == "kafka"

    def connect(self) -> Call:
        """Find the broker that keeps the offsets, however long that takes."""
        while self._is_at_broker and self.coordinator is None:
            self.coordinator = yield Send(Api.FIND_COORDINATOR, FindCoordinator(self._group))
            if self.coordinator is None:
                yield Sleep(self._config.offsets_backoff_us)

    def measure(self, owned: Positions) -> Call:
        """Positions of what is consumed and owned, as of now."""
        if not owned.size:
            return NO_PARTITIONS, np.empty(0, np.int64)
        positions, offsets = yield Checkpoint()
        mine = np.isin(positions, owned)
        return positions[mine], offsets[mine]

    # --- commit -------------------------------------------------------------------------------------------------------

    def commit(self, positions: Positions, offsets: Values) -> Call:
        """Write offsets; a broker's error is left to the next commit."""
        if not positions.size:
            return
        yield from self._lock()
        if not self._is_at_broker:
            yield from self._write(positions, offsets)
        else:
            yield from self.connect()
            body = OffsetCommit("", None, -1, positions, offsets)
            error = yield Send(Api.OFFSET_COMMIT, body)
            if error is Error.NONE and self._config.dual_commit:
                yield from self._write(positions, offsets)
        self._is_busy = False

    def _lock(self) -> Call:
        yield Until(lambda: not self._is_busy)
        self._is_busy = True

    def _write(self, positions: Positions, offsets: Values) -> Call:
        """A write for each partition whose offset has changed."""
        for position, offset in zip(positions.tolist(), offsets.tolist(), strict=True):
            if self._known.get(position) != offset:
                yield from nodes.update(self._path(position), offset)
                self._known[position] = offset

    def _path(self, position: int) -> str:
        return paths.offset(self._group, self._places.topic[position], int(self._places.number[position]))

    # --- fetch --------------------------------------------------------------------------------------------------------

    def fetch(self, positions: Positions) -> Call:
        """Committed offsets, -1 where there is none; of both stores, the larger. Shape (n,)."""
        found = np.full(len(positions), -1, np.int64)
        if self._is_at_broker and positions.size:
            found = yield from self._ask_broker(positions)
        if not self._is_at_broker or self._config.dual_commit:
            found = np.maximum(found, (yield from self._read(positions)))
        self._known |= dict(zip(positions.tolist(), found.tolist(), strict=True))
        return found

    def _read(self, positions: Positions) -> Call:
        found = np.full(len(positions), -1, np.int64)
        for index, position in enumerate(positions.tolist()):
            try:
                found[index] = yield from nodes.get_data(self._path(position))
            except NoNode:
                continue
        return found

    def _ask_broker(self, positions: Positions) -> Call:
        yield from self._lock()
        answer: Any = None
        while answer is None:
            yield from self.connect()
            answer = yield Send(Api.OFFSET_FETCH, OffsetFetch(positions))
            if answer is None:
                yield Sleep(self._config.offsets_backoff_us)
        self._is_busy = False
        return answer
