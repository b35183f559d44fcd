"""The two interfaces of every protocol: a group at its coordinator, and a member at its client. Both are pure.

A machine knows no clock, no network and no log. Whoever hosts it says what time it is, hands requests and responses in,
carries out what comes back, and calls `on_deadline` at `deadline`. The host of a group also owns the log: it appends
what a machine hands out and says when that is committed, or that it has failed. As Kafka's runtime does
(``CoordinatorShard``, ``CoordinatorResult``, ``CoordinatorRuntime``; Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.effects import Effects
from groupsim.sim.protocol.facts import Fact
from groupsim.sim.protocol.messages import Error, Positions, Subscription

Waiter = object
"""Whatever the host hands in with a request, and gets back with its reply."""

Request = TypeVar("Request", contravariant=True)
Response = TypeVar("Response", contravariant=True)
Record = TypeVar("Record", contravariant=True)


@dataclass(slots=True, eq=False)
class Reply:
    """An answer to a request that came in now or was parked earlier."""

    waiter: Waiter
    response: Any


@dataclass(slots=True, eq=False)
class Batch:
    """Records that are appended together.

    Parameters
    ----------
    number : int
        What `GroupMachine.on_appended` calls it by.
    records : tuple
        Of one without any, the replies wait for what was handed out before, as ``CoordinatorRuntime`` has them wait.
    replies : list of Reply
        Leave when the batch is committed; if it fails, the host answers with the error instead.
    is_awaited : bool
        The machine has to be told when the batch is committed. Of any other it has to be told at once only if it fails;
        that it is committed may be told late, before the machine's next call.
    """

    number: int
    records: tuple[Any, ...] = ()
    replies: list[Reply] = field(default_factory=list)
    is_awaited: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Work in the background: what ``run`` returns is the result that `GroupMachine.on_task_done` gets, by ``key``."""

    key: str
    run: Callable[[], object]


@dataclass(slots=True, eq=False)
class Outcome:
    """What a group machine wants done: append ``batch``, send ``replies`` now, charge so much time, note the facts.

    No classic outcome charges time or starts tasks, since members assign there; `GroupHost` does not carry
    ``charged_us`` and ``tasks`` out yet.
    """

    replies: list[Reply] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    batch: Batch | None = None
    charged_us: int = 0
    tasks: list[Task] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """One member of a `GroupDescription`; ``subscription`` only while the group is stable."""

    member_id: str
    instance_id: str | None
    name: str
    subscription: Subscription | None
    assignment: Positions


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """``DescribeGroups``: state by Kafka's name; ``protocol`` only while stable; no group is Dead, with an error."""

    state: str
    generation: int = 0
    protocol: str | None = None
    protocol_type: str | None = None
    members: tuple[MemberDescription, ...] = ()
    error: Error = Error.NONE


class GroupMachine(Protocol[Request, Record]):
    """One group of one protocol; times are microseconds."""

    @property
    def deadline(self) -> int:
        """When `on_deadline` wants to be called; `FOREVER` if never."""
        ...

    @property
    def generation(self) -> int:
        """Generation, or group epoch."""
        ...

    @property
    def size(self) -> int:
        """Number of members."""
        ...

    @property
    def is_stable(self) -> bool:
        """Whether no rebalance is under way and somebody is there."""
        ...

    @property
    def leader(self) -> str | None:
        """Member id of the leader; None if the protocol has none, or nobody is there."""
        ...

    def on_request(self, now: int, request: Request, waiter: Waiter) -> Outcome:
        """Answer a request, or park it."""
        ...

    def on_deadline(self, now: int) -> Outcome:
        """Do whatever is due by now."""
        ...

    def on_appended(self, now: int, batch: int, error: Error) -> Outcome:
        """The batch is committed, or has failed with ``error``; one that is no longer waited for changes nothing."""
        ...

    def on_metadata(self, now: int, image: Mapping[str, int]) -> Outcome:
        """The coordinator has learnt of a new metadata image: topic -> number of partitions."""
        ...

    def on_config(self, now: int, config: CoordinatorConfig) -> Outcome:
        """The group's configuration has changed."""
        ...

    def on_task_done(self, now: int, key: str, result: object) -> Outcome:
        """A task that was charged, or runs in the background, is done (assignors, regular expressions)."""
        ...

    def on_loaded(self, now: int) -> Outcome:
        """The log has been replayed, the coordinator is active."""
        ...

    def on_unloaded(self, now: int) -> Outcome:
        """The coordinator is somewhere else from now on."""
        ...

    def replay(self, record: Record) -> None:
        """Take over one record of the log."""
        ...

    def describe(self) -> GroupDescription:
        """What an administrator is told; changes nothing."""
        ...


class MemberMachine(Protocol[Request, Response]):
    """One member of one protocol; times are microseconds."""

    @property
    def deadline(self) -> int:
        """When `on_deadline` wants to be called; `FOREVER` if never."""
        ...

    @property
    def owned(self) -> Positions:
        """The present assignment."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether nothing is under way: the future depends on time alone."""
        ...

    def on_poll(self, now: int) -> Effects:
        """The application is inside poll()."""
        ...

    def on_response(self, now: int, request: Request, response: Response) -> Effects:
        """A request of the member's is answered."""
        ...

    def on_deadline(self, now: int) -> Effects:
        """Do whatever is due by now."""
        ...
