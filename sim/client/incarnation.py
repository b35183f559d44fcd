"""One incarnation of a consumer, as its parts share it: who it is, what it was opened with, and how far it has come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import Any

from groupsim.sim.books.consumption import Consumption
from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.offsets.record_reader import Appetite
from groupsim.sim.books.record import Life
from groupsim.sim.client.alarms import Alarms
from groupsim.sim.client.interface import Elision, Identity, Surroundings
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.config import ClientConfig, Timing
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange, Path
from groupsim.sim.model import Processing
from groupsim.sim.protocol.effects import Effects, Raise
from groupsim.sim.protocol.messages import Error, OffsetCommit
from groupsim.sim.randomness import mean_of


class Command(Enum):
    """What the outside wants of the application: executed at its next poll."""

    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    CLOSE = "close"


class Incarnation(ABC):
    """A consumer from its opening to its end.

    Parameters
    ----------
    consumer : Identity
    world : Surroundings
    group : GroupHost
    alarms : Alarms
    config, processing
        What it is opened with.

    Attributes
    ----------
    label : str
        Name and incarnation: what its draws are called by.
    machine : MemberMachine
        Its side of the group protocol; the fast path of a protocol knows more of its own.
    elision : Elision
        The fast path's view of it.
    is_over : bool
        Closed, killed or failed: late events mean nothing to it.
    is_closing : bool
        Whether it is on its way out by close().
    frozen : (start, end) or None, microseconds
        The freeze under way: no thread runs.
    command : Command or None
        What the application has been told to do at its next poll.
    inbox : deque of (Exchange, response)
        Answers that have arrived, and nobody was there to read them.
    late : list of callables
        What fell due during the freeze under way, in order.
    """

    machine: Any
    elision: Elision

    def __init__(
        self, consumer: Identity, world: Surroundings, group: GroupHost, alarms: Alarms, config: ClientConfig,
        processing: Processing,
    ) -> None:  # fmt: skip
        self.consumer = consumer
        self.world = world
        self.env: Environment = world.env
        self.group = group
        self.books: GroupBooks = group.books
        self.alarms = alarms
        self.label: str = f"{consumer.name}#{consumer.incarnation}"
        self.config = config
        self.path: Path = world.path_of(consumer)
        self.processing = with_wait(processing, self.path.commit_us, world.timing)
        self.opened_us: int = self.env.now
        self.is_over = False
        self.is_closing = False
        self.frozen: tuple[int, int] | None = None
        self.command: Command | None = None
        self.inbox: deque[tuple[Exchange, Any]] = deque()
        self.late: list[Callable[[], None]] = []
        self.looks_at_each_poll = world.specs[consumer.group_name].produces is not None
        """Whether its application does something at each poll() that is no arithmetic."""
        self.consumption: Consumption = Consumption(self.books, consumer.slot)
        self.consumption.appetite = Appetite(
            config.max_poll_records,
            world.timing.records_per_fetch,
            mean_of(processing.per_record),
            self.processing.record_wait_us,
            world.timing.poll_us,
        )
        self.life = Life(
            consumer.name, consumer.incarnation, self.opened_us, rack=consumer.rack, client_rack=config.client_rack
        )
        self.books.record.begin(self.life)
        self.books.commits_ahead |= processing.commit == "before_processing"

    @abstractmethod
    def commit_ahead(self, now: int) -> None:
        """A first fetch has come: whoever commits before it processes commits what that brings."""

    @abstractmethod
    def do(self, now: int, effects: Effects) -> None:
        """Carry out what the machine wants, until that ends the incarnation."""

    @abstractmethod
    def drive(self, now: int) -> None:
        """Do whatever can be done now, then watch what comes next."""

    @abstractmethod
    def hurry(self, now: int) -> None:
        """The coordinator is known: the application's pass that follows does not wait."""

    @abstractmethod
    def commit_answered(self, now: int, request: OffsetCommit, error: Error) -> None:
        """A commit is answered, or is not going to be; the machine knows already."""

    @abstractmethod
    def fail(self, now: int, effect: Raise) -> None:
        """poll() throws something fatal: the application ends."""


def with_wait(processing: Processing, trip_us: int, timing: Timing) -> Processing:
    """What an application does that waits for its commits, with what a wait takes at this mean round trip.

    commitSync keeps the thread until the answer is there. Every wait takes the mean here: so
    passes through the poll loop stay a closed form (`sim/decisions/0019-offsets-and-commits.md`).
    """
    if not processing.commit_waits:
        return processing
    return _waiting(processing, trip_us + timing.service_us + timing.append_us)


@cache
def _waiting(processing: Processing, wait_us: int) -> Processing:
    return replace(processing, commit_wait_us=wait_us)
