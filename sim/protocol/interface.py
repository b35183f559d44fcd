"""The two interfaces of every protocol: a group at its coordinator, and a member at its client. Both are pure.

A machine knows no clock, no network and no log. Whoever hosts it says what time it is, hands requests and responses in,
carries out what comes back, and calls `on_deadline` at `deadline`. The host of a group also owns the log: it appends
what a machine hands out and says when that is committed, or that it has failed. As Kafka's runtime does
(``CoordinatorShard``, ``CoordinatorResult``, ``CoordinatorRuntime``; Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from groupsim.assignors.java.regex import JavaPattern
from groupsim.sim.config import ClientConfig, CoordinatorConfig
from groupsim.sim.protocol.effects import Effects
from groupsim.sim.protocol.facts import Fact
from groupsim.sim.protocol.messages import Error, OffsetFetchResponse, Positions, Subscription

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

    ``charged_us`` is what an assignor takes: replies leave that much later, and the shard's other events wait. The
    results of ``tasks`` come back by `GroupMachine.on_task_done`.
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


class CloseOperation(Enum):
    """What close() does about the group (``CloseOptions.GroupMembershipOperation``, KIP-1092)."""

    DEFAULT = "default"
    """Dynamic members leave; static ones keep their place."""
    LEAVE_GROUP = "leave_group"
    REMAIN_IN_GROUP = "remain_in_group"


class MemberMachine(Protocol[Request, Response]):
    """One member of one protocol; times are microseconds.

    The shell calls `on_poll` for the application inside poll(): once in each pass if the member `is_paced` by passes,
    else whenever something has changed.
    """

    config: ClientConfig
    instance_id: str | None

    @property
    def is_paced(self) -> bool:
        """Whether the application acts once in a pass, and no answer wakes it."""
        ...

    def longest_wait_us(self, now: int, pass_us: int) -> int:
        """How long the application waits at most in a pass at ``now``; asked if it is paced, by passes so long."""
        ...

    @property
    def heard_us(self) -> int:
        """When a heartbeat was last sent, or answered; asked if it is paced."""
        ...

    # --- who it is, what it has ---------------------------------------------------------------------------------------

    @property
    def member_id(self) -> str:
        """Its member id; empty: none."""
        ...

    @property
    def generation(self) -> int:
        """The generation, or member epoch, that commits carry; -1: none."""
        ...

    @property
    def protocol(self) -> str | None:
        """The assignor of its generation, if members assign."""
        ...

    @property
    def is_leader(self) -> bool:
        """Whether it assigns for the others."""
        ...

    @property
    def coordinator(self) -> int | None:
        """Broker id of the coordinator."""
        ...

    @property
    def topics(self) -> tuple[str, ...]:
        """Subscribed topics, sorted."""
        ...

    @property
    def pattern(self) -> JavaPattern | None:
        """Subscribed pattern, if this client matches it."""
        ...

    @property
    def metadata(self) -> Mapping[str, int]:
        """Topic -> number of partitions, as last seen."""
        ...

    @property
    def owned(self) -> Positions:
        """The present assignment."""
        ...

    @property
    def uninitialised(self) -> Positions:
        """Partitions of it without a position."""
        ...

    def keeps(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of these it has, and is not giving up. Shape of ``positions``."""
        ...

    @property
    def is_manual(self) -> bool:
        """Whether partitions were taken by hand."""
        ...

    @property
    def failed(self) -> Error | None:
        """What the next poll() raises."""
        ...

    @failed.setter
    def failed(self, value: Error | None) -> None: ...

    # --- what is worth watching ---------------------------------------------------------------------------------------

    @property
    def deadline(self) -> int:
        """When `on_deadline` wants to be called; `FOREVER` if never."""
        ...

    @property
    def next_commit_us(self) -> int:
        """The first poll at or after it commits; `FOREVER` if none does."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether nothing is under way: the future depends on time alone."""
        ...

    @property
    def is_joining(self) -> bool:
        """Whether a rebalance is under way or wanted on this side."""
        ...

    @property
    def needs_application(self) -> bool:
        """Whether something waits for the application thread to be in poll(); a backoff is waited for elsewhere."""
        ...

    @property
    def is_worth_a_poll(self) -> bool:
        """Whether the shell has to watch for the next poll: something waits for it, and nothing else comes first."""
        ...

    @property
    def listening(self) -> bool:
        """Whether the application runs a listener, or waits inside one."""
        ...

    @property
    def reads_in_background(self) -> bool:
        """Whether some thread is there to read answers while the application is busy."""
        ...

    @property
    def rejoin_needed(self) -> bool:
        """Whether the next poll() joins."""
        ...

    @property
    def is_about_to_join(self) -> bool:
        """Whether it could begin to join now."""
        ...

    @property
    def refreshes_to_join(self) -> bool:
        """Whether it needs metadata of now for joining, and again for its assignment."""
        ...

    def max_poll_noticed_at(self, expiry: int) -> int:
        """When somebody sees that max.poll.interval.ms was over at ``expiry``; `FOREVER`: nobody will."""
        ...

    # --- what happens -------------------------------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...], pattern: str | None, broker_pattern: str | None = None) -> None:
        """``subscribe()``: takes effect at the next poll."""
        ...

    def assign(self, now: int, positions: Positions) -> None:
        """``assign()``: partitions by hand."""
        ...

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """A metadata response: topic -> number of partitions."""
        ...

    def on_poll(self, now: int, *, is_heard: bool = True) -> Effects:
        """The application is inside poll(); whether a thread in the background hears of that, where there is one."""
        ...

    def commit_processed(self, now: int) -> Effects:
        """The application commits what it has processed, outside of poll()."""
        ...

    def on_listener_done(self, now: int) -> Effects:
        """The listener has returned."""
        ...

    def on_poll_expired(self, now: int) -> Effects:
        """Somebody has seen that max.poll.interval.ms is over."""
        ...

    def close(self, now: int, operation: CloseOperation = CloseOperation.DEFAULT) -> Effects:
        """``close()``."""
        ...

    def unsubscribe(self, now: int) -> Effects:
        """``unsubscribe()``."""
        ...

    def on_response(self, now: int, request: Request, response: Response) -> Effects:
        """A request of the member's is answered."""
        ...

    def on_offsets(self, now: int, response: OffsetFetchResponse) -> Effects:
        """OffsetFetch is answered."""
        ...

    def on_coordinator(self, now: int, node: int | None) -> Effects:
        """A lookup is answered with a node that can be reached, or failed (None)."""
        ...

    def mark_coordinator_unknown(self, now: int) -> Effects:
        """The connection to the coordinator is gone."""
        ...

    def on_deadline(self, now: int) -> Effects:
        """Do whatever is due by now."""
        ...
