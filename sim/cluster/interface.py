"""What the broker side asks of others: of the fast path, and of consumers. Neither is imported here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.cluster.shard.worker_threads import WorkerThreads
from groupsim.sim.protocol.controller.partition import Name
from groupsim.sim.protocol.controller.replica_logs import Gap
from groupsim.sim.protocol.interface import Reply


class FastPath(Protocol):
    """One group's members that nobody looks at (`sim.fastpath`): what they do is computed late, or many at a time."""

    def before_request(self, request: Any, *, is_given_up: bool) -> bool:
        """A request is about to be worked on: who is disturbed by it is awake. Whether the group may move on by it.

        ``is_given_up``: it was sent by a connection that its sender has left, and may have been overtaken.
        """
        ...

    def before_deadline(self, now: int) -> None:
        """A timer of the group is due: what members have done by now is done."""
        ...

    def renewed(self, now: int, member_id: str) -> None:
        """A commit that was sent as a message has renewed this member's session."""
        ...

    def after_decision(self, replies: Sequence[Reply], leave_us: int) -> Sequence[Reply]:
        """It has decided, and answers at ``leave_us`` (microseconds): the answers that go out as messages."""
        ...

    def wake_all(self) -> None:
        """Somebody looks at every member."""
        ...

    def settle_readers(self) -> bool:
        """Somebody looks at the lag: whoever has begun to consume has begun. Whether others are about to."""
        ...

    def settle(self) -> None:
        """Somebody looks at the books: what everybody has done by now is in them."""
        ...

    def finish(self) -> None:
        """The run ends: what everybody has done is in the books, but for what a member writes down itself."""
        ...

    def be_loud(self) -> None:
        """Who opens from now on never goes quiet; who is open is told by others."""
        ...


class Shard(Protocol):
    """A coordinator of one partition, of groups or of transactions, as brokers that lead it or not see it."""

    @property
    def name(self) -> Name:
        """Its partition."""
        ...

    @property
    def node(self) -> int:
        """Broker where it is, or is being loaded; `NO_LEADER`: nowhere."""
        ...

    @property
    def is_loading(self) -> bool:
        """Whether its log is being read."""
        ...

    @property
    def groups(self) -> Iterable[str]:
        """Whose members have to be loud if it changes."""
        ...

    @property
    def watermark(self) -> Watermark:
        """Of its partition."""
        ...

    def resign(self) -> None:
        """Another broker leads from now on, or nobody."""
        ...

    def elect(self, node: int) -> None:
        """A broker leads from now on, and begins to read the log."""
        ...

    def load(self, threads: WorkerThreads, image: Mapping[str, int]) -> None:
        """The log has been read, on a broker with these threads that knows these topics."""
        ...

    def stall(self, *, is_stalled: bool, refuses: bool) -> None:
        """The high watermark stands still, or follows what is appended again."""
        ...


class Audience(Protocol):
    """Clients, as far as brokers that come and go concern them."""

    def broker_lost(self, node: int) -> None:
        """A broker's process has ended, and all connections to it with it."""
        ...

    def records_lost(self, gaps: Mapping[Name, Gap]) -> None:
        """Some of what was appended to data partitions is gone."""
        ...

    def log_cut(self, name: Name, after_us: int, *, is_unclean: bool) -> None:
        """Who leads a data partition now lacks what its former leader wrote after ``after_us``."""
        ...

    def transactions_lost(self, name: Name, node: int) -> None:
        """A broker is to lead a partition of ``__transaction_state``, and may lack something."""
        ...

    def partitions_changed(self, names: Iterable[tuple[str, int]]) -> None:
        """Data partitions have other leaders, or none, or can be read again (`sim.catalog.Catalog`)."""
        ...

    def quorum_lost(self, controllers: Sequence[int]) -> None:
        """So few of these brokers are up and in touch with one another that nobody decides anything."""
        ...

    def disturb(self, groups: Iterable[str]) -> None:
        """What these groups append is not committed from now on: nobody's commits are arithmetic."""
        ...


class Reader(Protocol):
    """A consumer, as its topics' logs and producers see it."""

    def wake(self) -> None:
        """What it has read and committed by now is in the books."""
        ...

    def reads(self, positions: frozenset[int]) -> bool:
        """Whether it consumes any of these."""
        ...

    def repace(self, now: int) -> None:
        """Rates, costs or the log's start have changed: it goes on from here."""
        ...

    def receive(self, now: int) -> None:
        """Records have come to what it reads, at this very instant."""
        ...

    def drive(self, now: int) -> None:
        """Do whatever can be done now, and go quiet again."""
        ...

    def is_out_of_range(self, now: int) -> bool:
        """Whether its next fetch asks for something that is deleted."""
        ...
