"""One consumer of the ZooKeeper protocol as its client sees it: the surface of `sim.protocol.interface.MemberMachine`.

The application thread has nothing to do but make it; everything happens in threads of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.config import ClientConfig
from groupsim.sim.errors import ProtocolMisuse
from groupsim.sim.protocol.effects import Effects
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, OffsetFetchResponse, Positions
from groupsim.sim.protocol.zookeeper.connector import Connector, Places
from groupsim.sim.protocol.zookeeper.messages import Answer
from groupsim.sim.protocol.zookeeper.offsets import Offsets
from groupsim.sim.protocol.zookeeper.states import Phase
from groupsim.sim.protocol.zookeeper.threads import Threads
from groupsim.sim.units import FOREVER


class ZookeeperMember:
    """One member.

    Parameters
    ----------
    group_id, name : str
    consumer_id : str
        ``G_host-millis-8 hex digits``.
    config : ClientConfig
    places : Places
    """

    pattern = None
    generation = -1
    protocol = None
    is_leader = False
    is_paced = False
    is_manual = False
    reads_in_background = True
    listening = False
    is_worth_a_poll = False
    rejoin_needed = False
    is_about_to_join = False
    refreshes_to_join = False
    next_commit_us = FOREVER
    heard_us = 0
    uninitialised = NO_PARTITIONS

    def __init__(self, group_id: str, name: str, consumer_id: str, config: ClientConfig, places: Places) -> None:
        self.config = config
        self.instance_id: str | None = None
        self.failed: Error | None = None
        self.metadata: Mapping[str, int] = {}
        self._consumer_id = consumer_id
        self._is_open = False
        self._threads = Threads()
        self._offsets = Offsets(group_id, config.zookeeper, places)
        self._connector = Connector(group_id, consumer_id, name, config, places, self._offsets, self._threads)

    # --- who it is, what it has ---------------------------------------------------------------------------------------

    @property
    def member_id(self) -> str:
        """Its consumer id; registered again under another session, with the number of that registration."""
        return registered_id(self._consumer_id, self._connector.registrations)

    @property
    def coordinator(self) -> int | None:
        """The broker that keeps its offsets."""
        return self._offsets.coordinator

    @property
    def topics(self) -> tuple[str, ...]:
        """Subscribed topics that exist, sorted."""
        return self._connector.topics

    @property
    def owned(self) -> Positions:
        """What it owns, as far as it knows."""
        return self._connector.owned

    def keeps(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of these it has. Shape of ``positions``."""
        return np.isin(positions, self.owned)

    # --- what is worth watching ---------------------------------------------------------------------------------------

    @property
    def deadline(self) -> int:
        """When a thread wakes, microseconds."""
        return self._threads.deadline

    @property
    def is_settled(self) -> bool:
        """Whether it owns what it has worked out, and nothing is under way."""
        return self._connector.phase is Phase.SETTLED

    @property
    def is_joining(self) -> bool:
        """Whether a rebalance is under way."""
        return self._connector.phase in (Phase.TRYING, Phase.BACKOFF)

    @property
    def needs_application(self) -> bool:
        """Whether the application has not made its consumer yet."""
        return not self._is_open

    def longest_wait_us(self, now: int, pass_us: int) -> int:
        """It is not paced."""
        return pass_us

    def max_poll_noticed_at(self, expiry: int) -> int:
        """Nobody watches the application."""
        return FOREVER

    # --- what happens -------------------------------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...], pattern: str | None, broker_pattern: str | None = None) -> None:
        """``createMessageStreams``: once, by name."""
        self._connector.topics = tuple(sorted(topics))

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """Topics are read in ZooKeeper, not from brokers."""
        self.metadata = counts

    def on_poll(self, now: int, *, is_heard: bool = True) -> Effects:
        """The application makes its consumer."""
        self._threads.now = now
        if not self._is_open:
            self._is_open = True
            self._connector.open()
        return self._threads.take()

    def close(self, now: int, operation: CloseOperation = CloseOperation.DEFAULT) -> Effects:
        """``shutdown()``."""
        self._threads.now = now
        self._connector.close()
        self._threads.settle()
        return self._threads.take()

    def on_session(self, now: int) -> Effects:
        """There is a session: the first, or a new one after the last has expired."""
        self._threads.now = now
        self._connector.is_connected = True
        self._connector.notice(None)
        self._threads.settle()
        return self._threads.take()

    def on_watch(self, now: int, path: str) -> Effects:
        """A watch has fired."""
        self._threads.now = now
        self._connector.notice(path)
        self._threads.settle()
        return self._threads.take()

    def on_answer(self, now: int, number: int, answer: Answer) -> Effects:
        """ZooKeeper has answered."""
        self._threads.now = now
        self._threads.answer(number, answer)
        return self._threads.take()

    def on_positions(self, now: int, positions: Positions, offsets: NDArray[np.int64]) -> Effects:
        """Where consumption has got to. Shapes (n,)."""
        self._threads.now = now
        self._threads.measured((positions, offsets))
        return self._threads.take()

    def on_deadline(self, now: int) -> Effects:
        """A thread wakes."""
        self._threads.now = now
        self._threads.wake()
        return self._threads.take()

    # --- the broker that keeps offsets --------------------------------------------------------------------------------

    def on_response(self, now: int, request: object, response: Any) -> Effects:
        """A commit is answered."""
        return self._on_reply(now, response.error)

    def on_offsets(self, now: int, response: OffsetFetchResponse) -> Effects:
        """Committed offsets have come; those that were read in ZooKeeper come this way too, and nobody waits."""
        return self._on_reply(now, response.offsets if response.error is Error.NONE else None)

    def on_coordinator(self, now: int, node: int | None) -> Effects:
        """The broker is found, or (None) was not."""
        return self._on_reply(now, node)

    def mark_coordinator_unknown(self, now: int) -> Effects:
        """The connection to it is gone."""
        self._offsets.coordinator = None
        return []

    def _on_reply(self, now: int, value: object) -> Effects:
        self._threads.now = now
        self._threads.reply(value)
        return self._threads.take()

    # --- what this consumer does not have -----------------------------------------------------------------------------

    def assign(self, now: int, positions: Positions) -> None:
        """Partitions by hand: what ``SimpleConsumer`` is for."""
        raise ProtocolMisuse("the high-level consumer takes no partitions by hand")

    def unsubscribe(self, now: int) -> Effects:
        """Topics are named once."""
        raise ProtocolMisuse("the high-level consumer names its topics once")

    def on_listener_done(self, now: int) -> Effects:
        """There are no listeners."""
        return []

    def commit_processed(self, now: int) -> Effects:
        """Streams commit by themselves."""
        return []

    def on_poll_expired(self, now: int) -> Effects:
        """Nobody watches the application."""
        return []


def registered_id(consumer_id: str, number: int) -> str:
    """What the books call a consumer that has registered so often: an expired session makes it somebody else."""
    return consumer_id if number <= 1 else f"{consumer_id}#{number}"
