"""A consumer, for its whole life: a SimPy process for each incarnation.

The process goes through its states: started, booted, open, gone. What is open is a `Client`. What the outside does to
a consumer, living or not, comes in here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy

from groupsim.sim.books.consumption import Consumption
from groupsim.sim.client.alarms import Alarms
from groupsim.sim.client.client import Client
from groupsim.sim.client.incarnation import Command
from groupsim.sim.client.interface import Elision, Surroundings
from groupsim.sim.client.producing.transactional_client import TransactionalClient
from groupsim.sim.client.zookeeper.zookeeper_client import ZookeeperClient
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.config import ClientConfig
from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.model import CrashPoint, Processing, Subscription
from groupsim.sim.protocol.interface import CloseOperation, MemberMachine
from groupsim.sim.randomness import name_hash


class Consumer:
    """One named consumer of a group, through all its incarnations.

    Parameters
    ----------
    world : Surroundings
    group : GroupHost
    slot : int
        Index in the group.
    name : str
        ``group/index``.
    config, processing, subscription
        Of the next incarnation.
    static : bool
        Has a ``group.instance.id``.
    process : str
        Consumers of one process share pauses and kills.
    elide : callable
        The fast path's view of an incarnation that is about to open.

    Attributes
    ----------
    named_instance : str
        What that is: the name, unless the scenario gives another.
    incumbent : Client or None
        The incarnation that is open; its own objects can be behind (`client`).
    is_running : bool
        Whether the process exists (booting or open).
    pauses : list of (start, end), microseconds
        Every pause that is known beforehand, ascending and disjoint.
    slowdowns : dict of str to (factor, whole host)
        Entry -> what makes this consumer slow right now.
    gone : simpy.Event
        Triggered at the end of this incarnation.
    """

    def __init__(
        self,
        world: Surroundings,
        group: GroupHost,
        slot: int,
        name: str,
        *,
        config: ClientConfig,
        processing: Processing,
        subscription: Subscription,
        static: bool,
        process: str,
        elide: Callable[[Client], Elision],
    ) -> None:
        self.world = world
        self.env = world.env
        self.group = group
        self.slot = slot
        self.name = name
        self.group_name = group.name
        self.config = config
        self.processing = processing
        self.subscription = subscription
        self.static = static
        self.process = process
        self._elide = elide
        self.rack = ""
        self.named_instance = name
        self.entity = name_hash("member", name)
        self.incarnation = 0
        self.incumbent: Client | None = None
        self.is_running = False
        self.pauses: list[tuple[int, int]] = []
        self.slowdowns: dict[str, tuple[float, bool]] = {}
        self.crash: tuple[CrashPoint, Callable[[], None]] | None = None
        """At which point of its next transaction it dies, and what is done then."""
        self.alarms = Alarms(self.env, self.entity)
        self.gone = self.env.event()

    # --- life ---------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the process, if it is not running."""
        if not self.is_running:
            self.is_running = True
            self.incarnation += 1
            self.env.process(self._run(self.incarnation))

    def _run(self, incarnation: int) -> Generator[simpy.Event, Any, None]:
        """Boot, and live until it is gone, unless it is stopped before it has booted: then it has done nothing yet."""
        yield self.env.until(self.env.now + self.world.boot_us(self), process_key(self.entity, Kind.START))
        if self.is_running and self.incarnation == incarnation:
            self._open()
            yield self.gone
            self.gone = self.env.event()
            self.is_running = False

    def _open(self) -> None:
        """The application makes its consumer and enters poll() for the first time."""
        kind: type[Client] = ZookeeperClient if self.config.group_protocol == "zookeeper" else Client
        if self.world.specs[self.group_name].produces is not None:
            kind = TransactionalClient
        client = self.incumbent = kind(
            self, self.world, self.group, self.alarms, self.config, self.processing, self.subscription, self._gone
        )
        self.alarms.ring_for(client)
        client.elision = self._elide(client)
        client.open(self.env.now)

    def _gone(self) -> None:
        self.incumbent = None
        self.alarms.ring_for(None)
        self.gone.succeed()

    def kill(self, now: int) -> None:
        """SIGKILL: nothing is said to anybody; requests on the wire still arrive."""
        if self.client is not None:
            self.client.kill(now)
        else:
            self.is_running = False

    def reaches(self, now: int, point: CrashPoint) -> bool:
        """It comes to a point of its transaction; whether it has died there."""
        if self.crash is None or self.crash[0] != point:
            return False
        _, then = self.crash
        self.crash = None
        self.kill(now)
        then()
        return True

    def finish(self, horizon: int, code: int) -> None:
        """The horizon: catch up, and cut the books here."""
        if self.client is not None:
            self.client.finish(horizon, code)

    # --- what others may know -----------------------------------------------------------------------------------------

    @property
    def client(self) -> Client | None:
        """The incarnation that is open, for whoever looks at it: it shows everything that it has done."""
        client = self.incumbent
        if client is not None:
            client.elision.look()
        return client

    @property
    def is_open(self) -> bool:
        """Whether the process runs and has a consumer."""
        return self.incumbent is not None

    @property
    def is_assigned(self) -> bool:
        """Whether the member is settled in the group and owns partitions (if there are enough for everybody)."""
        client = self.incumbent
        if client is None:
            return False
        if not client.elision.look():
            client.elision.wake()
        if client.fetcher.is_under_way:
            return False
        if client.machine.is_manual:
            return not client.machine.uninitialised.size
        if not client.machine.is_settled:
            return False
        return bool(client.machine.owned.size) or self.group.books.partitions.count < self.group.machine.size

    @property
    def instance_id(self) -> str | None:
        """``group.instance.id`` of the next incarnation."""
        return self.named_instance if self.static else None

    @property
    def machine(self) -> MemberMachine[Any, Any] | None:
        """The member that is open; its id is true even when it is behind."""
        return self.incumbent.machine if self.incumbent is not None else None

    @property
    def consumption(self) -> Consumption | None:
        """What is consumed, if something is open."""
        client = self.client
        return client.consumption if client is not None else None

    def slowdown(self, *, host_only: bool = False) -> float:
        """Factor on what the application does; ``host_only``: on what is not processing."""
        factor = 1.0
        for one, is_whole_host in self.slowdowns.values():
            if is_whole_host or not host_only:
                factor *= one
        return factor

    # --- what the outside does ----------------------------------------------------------------------------------------

    def close(self, operation: CloseOperation = CloseOperation.DEFAULT) -> None:
        """SIGTERM: the application finishes its batch, then calls close(), with what it is to do about the group."""
        if self.client is not None:
            self.client.close_operation = operation
            self.client.issue(Command.CLOSE)
        else:
            self.is_running = False

    def unsubscribe(self) -> None:
        """The application calls unsubscribe() at its next poll."""
        if self.client is not None:
            self.client.issue(Command.UNSUBSCRIBE)

    def resubscribe(self, subscription: Subscription) -> None:
        """The application calls subscribe() with something else at its next poll."""
        self.subscription = subscription
        if self.client is not None:
            self.client.subscription = subscription
            self.client.issue(Command.SUBSCRIBE)

    def be_loud(self) -> None:
        """Each of its steps is an event from now on."""
        if self.client is not None:
            self.client.elision.be_loud()
            self.client.poll_loop.be_loud()
            self.client.metadata.arm(self.env.now)
            self.client.drive(self.env.now)

    # --- as a reader of topics ----------------------------------------------------------------------------------------

    def wake(self) -> None:
        """What it has read and committed by now is in the books."""
        if self.client is not None:
            self.client.elision.wake()

    def reads(self, positions: frozenset[int]) -> bool:
        """Whether it consumes any of these."""
        consumption = self.consumption
        return consumption is not None and not positions.isdisjoint(consumption.partitions.tolist())

    def is_out_of_range(self, now: int) -> bool:
        """Whether its next fetch asks for something that is deleted."""
        return self.client is not None and self.client.fetcher.is_out_of_range(now)

    def drive(self, now: int) -> None:
        """Do whatever can be done now."""
        if self.client is not None:
            self.client.drive(now)

    def repace(self, now: int) -> None:
        """Rates, costs or the log's start have changed."""
        if self.client is not None:
            self.client.elision.wake()
            self.client.fetcher.repace(now)
            self.client.drive(now)

    def receive(self, now: int) -> None:
        """Records have come to what it reads: a poll() that waits returns them, or else the next one."""
        if self.client is not None:
            self.client.elision.wake()
            self.client.poll_loop.has_news = True
            self.client.drive(now)
