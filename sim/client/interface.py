"""What a consumer asks of what is around it: the cluster and the fast path. Neither is imported here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from groupsim.assignors import Assignor, AssignorError
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.bandwidth import Bandwidth
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.cluster.zookeeper import Zookeeper
from groupsim.sim.config import Timing
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Connection, Exchange, Path
from groupsim.sim.model import CrashPoint, Group
from groupsim.sim.randomness import Streams


class Identity(Protocol):
    """Who a consumer is, for whoever draws for it, names it or cuts it off."""

    name: str
    group_name: str
    slot: int
    rack: str
    entity: int
    incarnation: int
    pauses: list[tuple[int, int]]
    """Every pause that is known beforehand, (start, end) in microseconds, ascending and disjoint."""

    @property
    def instance_id(self) -> str | None:
        """``group.instance.id`` of the next incarnation."""
        ...

    def reaches(self, now: int, point: CrashPoint) -> bool:
        """It comes to a point of its transaction; whether it has died there."""
        ...

    def slowdown(self, *, host_only: bool = False) -> float:
        """Factor on what the application does; ``host_only``: on what is not processing."""
        ...


class Elision(Protocol):
    """One client as the fast path sees it (`sim.fastpath.quiescence`): quiet, or loud."""

    def look(self) -> bool:
        """Somebody looks at the member: its own objects show everything that it has done.

        Whether it acts by itself: it does not while it goes through a phase of a rebalance with others.
        """
        ...

    def wake(self) -> None:
        """Somebody disturbs the member: it is loud, as of the moment that is being carried out."""
        ...

    def finish(self) -> None:
        """The run ends: what the member has done is in the books, and nothing follows."""
        ...

    def rest(self, now: int) -> bool:
        """Nothing is left to do now: go quiet, if nothing can happen but what can be computed; whether it is."""
        ...

    def park(self, now: int) -> bool:
        """The thread of a member that produces is back from a commit.

        Whether it waits, since what follows is worked out ahead.
        """
        ...

    def absorb(self, now: int, until: int) -> bool:
        """Take a sudden pause into the computation; whether that was possible."""
        ...

    def be_loud(self) -> None:
        """It never goes quiet again."""
        ...


class Surroundings(Protocol):
    """What a consumer may ask of the run that it is part of (`sim.world.World`)."""

    env: Environment
    streams: Streams
    timing: Timing
    catalog: Catalog
    bandwidth: Bandwidth
    is_loud: bool
    is_still: bool
    broker_ids: tuple[int, ...]
    specs: dict[str, Group]

    @property
    def live_nodes(self) -> tuple[int, ...]:
        """Brokers whose process runs, ascending."""
        ...

    @property
    def staying_nodes(self) -> tuple[int, ...]:
        """Those of them that are not about to go, ascending."""
        ...

    def boot_us(self, consumer: Identity) -> int:
        """Process start to first poll, microseconds."""
        ...

    def path_of(self, consumer: Identity) -> Path:
        """Latencies between this incarnation and the brokers."""
        ...

    def new_assignor(self, name: str, group: str) -> Assignor:
        """An instance of an assignor for one consumer of a group."""
        ...

    def assignor_failed(self, consumer: Identity, error: AssignorError) -> None:
        """The leader's assignor threw."""
        ...

    def capacity_of(self, group: str, member_id: str) -> int:
        """Milli-records per second that a member can process, 0: unknown."""
        ...

    def connect(self, consumer: Identity, node: int, deliver: Callable[[Exchange, Any], None]) -> Connection:
        """A new connection to a broker; dead from the start if the broker is, or the two are cut off."""
        ...

    transactions: Transactions | None
    """Only in runs with a group that produces."""
    zookeeper: Zookeeper | None
    """Only in runs with a group of the ZooKeeper protocol."""

    def path_to_zookeeper(self, consumer: Identity) -> Path:
        """Latencies between this incarnation and ZooKeeper's servers."""
        ...

    def is_cut_from_zookeeper(self, consumer: Identity, node: int) -> bool:
        """Whether nothing gets through between a consumer and a server of ZooKeeper."""
        ...

    def cut_off(self, consumer: Identity) -> frozenset[int]:
        """Brokers that this consumer cannot reach now."""
        ...

    def is_cut(self, consumer: Identity, node: int) -> bool:
        """Whether nothing gets through between a consumer and a broker."""
        ...
