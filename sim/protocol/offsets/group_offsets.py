"""The offsets of one group at its coordinator, beside the machine of the group itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.facts import OffsetsRemoved
from groupsim.sim.protocol.interface import Outcome
from groupsim.sim.protocol.messages import (
    NO_PARTITIONS,
    Error,
    OffsetDelete,
    OffsetDeleteResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Positions,
)
from groupsim.sim.protocol.offsets.expiration import ExpirationCondition, next_check_us
from groupsim.sim.protocol.offsets.records import NOBODY, CommittedOffsets, OffsetRecord, OffsetTombstones
from groupsim.sim.protocol.offsets.table import Column, OffsetTable
from groupsim.sim.protocol.offsets.transactions import PendingOffsets
from groupsim.sim.units import FOREVER


class OffsetGroup(Protocol):
    """What offsets ask of their group, whichever protocol it speaks."""

    @property
    def exists(self) -> bool:
        """Whether there is such a group."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether nobody is a member, or about to be one."""
        ...

    @property
    def offset_expiration(self) -> ExpirationCondition | None:
        """Which offsets may expire now; None: none."""
        ...

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads this topic."""
        ...

    def check_fetch(self, request: OffsetFetch) -> Error:
        """Whether whoever asks may know offsets."""
        ...

    def check_offset_delete(self) -> Error:
        """Whether offsets of single topics may be deleted."""
        ...

    def check_delete(self) -> Error:
        """Whether the group may be deleted."""
        ...

    def log_offsets(self, record: OffsetRecord) -> None:
        """Write a record of offsets with the next batch."""
        ...

    def take(self) -> Outcome:
        """Everything since the last time."""
        ...

    def forget(self) -> Outcome:
        """There is no such group any more; its tombstone goes with the next batch."""
        ...


class OffsetTopics(Protocol):
    """Where topics' partitions are in the group's partition vector."""

    @property
    def topics(self) -> Iterable[str]:
        """All that have positions."""
        ...

    def of(self, topic: str) -> Positions:
        """Positions of a topic's partitions."""
        ...


class GroupOffsets:
    """Offsets of one group (``OffsetMetadataManager``, Kafka 4.4).

    Parameters
    ----------
    group : OffsetGroup
    topics : OffsetTopics
    config : CoordinatorConfig
    table : OffsetTable
        Where committed offsets are kept; others may write into it what they know to have been committed.

    Attributes
    ----------
    pending : PendingOffsets
    due : int, microseconds
        The first check at which an offset can expire, or the group; `FOREVER`: none as things are (`watch`).
    """

    def __init__(self, group: OffsetGroup, topics: OffsetTopics, config: CoordinatorConfig, table: OffsetTable) -> None:
        self._group = group
        self._topics = topics
        self._config = config
        self.table = table
        self.pending = PendingOffsets()
        self.due = FOREVER
        self._written = 1
        """Place in the log of the next offset of a transaction; what is committed plainly counts as older."""

    # --- requests -----------------------------------------------------------------------------------------------------

    def fetch(self, request: OffsetFetch) -> OffsetFetchResponse:
        """``fetchOffsets``; who asks with ``requireStable`` takes none of what a transaction has written to."""
        error = self._group.check_fetch(request)
        if error is Error.GROUP_ID_NOT_FOUND:
            return OffsetFetchResponse(Error.NONE, np.full(len(request.positions), -1))
        if error is not Error.NONE:
            return OffsetFetchResponse(error, self.table.offset[:0])
        pending = self.pending.positions()
        unstable = np.intersect1d(request.positions, pending).astype(np.int32) if pending.size else pending
        return OffsetFetchResponse(error, self.table.offset[request.positions], unstable)

    def delete(self, request: OffsetDelete) -> tuple[OffsetDeleteResponse, Outcome]:
        """``deleteOffsets``: tombstones of what there is; of topics that are subscribed to, nothing is deleted."""
        error = self._group.check_offset_delete() if self._group.exists else Error.GROUP_ID_NOT_FOUND
        if error is not Error.NONE:
            return OffsetDeleteResponse(error), Outcome()
        subscribed = self._positions(subscribed=True)
        refused = request.positions[np.isin(request.positions, subscribed)]
        there = np.intersect1d(request.positions, self._all())
        gone = there[~np.isin(there, refused)].astype(np.int32)
        return OffsetDeleteResponse(error, refused), self._remove(gone, "deleted")

    def delete_group(self) -> tuple[Error, Outcome]:
        """``GroupCoordinatorShard.deleteGroups``: all offsets, also those that a transaction has pending; the group."""
        error = self._group.check_delete() if self._group.exists else Error.GROUP_ID_NOT_FOUND
        if error is not Error.NONE:
            return error, Outcome()
        return error, self._remove(self._all(), "deleted", with_group=True)

    def delete_all(self) -> tuple[Positions, Outcome]:
        """``deleteAllOffsets``: which partitions had any, committed or pending."""
        gone = self._all()
        return gone, self._remove(gone, "deleted")

    def topics_deleted(self, positions: Positions) -> Outcome:
        """``onTopicsDeleted``: partitions of topics that are gone have no offsets."""
        return self._remove(np.intersect1d(positions, self._all()).astype(np.int32), "deleted")

    def _all(self) -> Positions:
        return np.union1d(self.table.known(), self.pending.positions()).astype(np.int32)

    def _positions(self, *, subscribed: bool) -> Positions:
        """Partitions of topics that the group does, or does not, subscribe to."""
        chosen = [
            self._topics.of(one) for one in self._topics.topics if self._group.is_subscribed_to(one) == subscribed
        ]
        return np.concatenate(chosen) if chosen else NO_PARTITIONS

    def _remove(self, positions: Positions, why: str, *, with_group: bool = False) -> Outcome:
        """Write tombstones, and carry them out; the group's own follows theirs."""
        if positions.size:
            tombstones = OffsetTombstones(positions)
            self._group.log_offsets(tombstones)
            self.replay(tombstones)
        outcome = self._group.forget() if with_group else self._group.take()
        if positions.size:
            outcome.facts.append(OffsetsRemoved(positions, why))
        return outcome

    # --- time ---------------------------------------------------------------------------------------------------------

    def watch(self, now: int) -> None:
        """Something has changed that may change when offsets expire: the group, its topics, an offset."""
        due = self._expiry_us()
        self.due = due if due == FOREVER else next_check_us(due, self._config.offsets_retention_check_interval_us, now)

    def committed(self, now: int, positions: Positions) -> None:
        """Offsets of these are in the table: what the first of them, or a later one, does to when offsets expire."""
        condition = self._group.offset_expiration
        if self.due < FOREVER or (condition is not None and not self._are_spared(condition, positions)):
            self.watch(now)

    def _are_spared(self, condition: ExpirationCondition, positions: Positions) -> bool:
        """Whether the group subscribes to all of these, and that saves them."""
        if not condition.spares_subscribed:
            return False
        unread = self._positions(subscribed=False)
        return not unread.size or not np.isin(positions, unread).any()

    def _expiry_us(self) -> int:
        """When the first offset, or the group itself, is due to go, microseconds; `FOREVER`: nothing is."""
        group, condition = self._group, self._group.offset_expiration
        if condition is None:
            return FOREVER
        positions = self._expirable(condition)
        if positions.size:
            return int(condition.due_us(self.table, positions, self._config.offsets_retention_us).min())
        is_free = group.exists and group.is_empty and not (self.table.known().size or self.pending.positions().size)
        return 0 if is_free else FOREVER

    def _expirable(self, condition: ExpirationCondition) -> Positions:
        """Partitions whose offsets expire sooner or later, as things are."""
        candidates = self._positions(subscribed=False) if condition.spares_subscribed else self.table.known()
        candidates = candidates[self.table.offset[candidates] >= 0]
        if not (candidates.size and self.pending.is_open):
            return candidates
        return candidates[~np.isin(candidates, self.pending.positions())]

    def expire(self, now: int, *, with_group: bool = False) -> tuple[bool, Outcome]:
        """``cleanupExpiredOffsets``: whether nothing is left that keeps the group, and tombstones of what is expired.

        ``with_group``: an empty group that nothing keeps goes as well.
        """
        group, condition = self._group, self._group.offset_expiration
        known, positions = self.table.known(), NO_PARTITIONS
        if known.size and condition is None:
            return False, Outcome()
        if condition is not None:
            positions = self._expirable(condition)
            due = condition.due_us(self.table, positions, self._config.offsets_retention_us)
            positions = positions[due <= now]
        is_free = len(positions) == len(known) and not self.pending.is_open
        goes = with_group and is_free and group.exists and group.is_empty
        return is_free, self._remove(positions, "expired", with_group=goes)

    def on_deadline(self, now: int) -> Outcome:
        """``GroupCoordinatorShard.cleanupGroupMetadata`` for this group."""
        if self.due > now:
            return Outcome()
        _, outcome = self.expire(now, with_group=True)
        self.watch(now)
        return outcome

    # --- the log ------------------------------------------------------------------------------------------------------

    def replay(self, record: OffsetRecord, written: int = 0) -> None:
        """One record of the log, the first of whose partitions stands at ``written``."""
        if isinstance(record, OffsetTombstones):
            self.table.forget(record.positions)
            self.pending.forget(record.positions)
        elif record.producer_id != NOBODY:
            self.pending.add(record, written)
        else:
            places = written + np.arange(len(record.positions))
            self.table.commit(record.positions, record.offsets, record.commit_us, record.expire_us, places)

    def add_pending(self, records: Iterable[CommittedOffsets]) -> None:
        """Offsets of a transaction are in the log, after all that was committed plainly before."""
        for record in records:
            self.replay(record, self._written)
            self._written += len(record.positions)

    def commit_in_transaction(self, positions: Positions, offsets: Column, commit_us: int) -> None:
        """Offsets of a transaction have been written, and its marker too."""
        places = self._written + np.arange(len(positions))
        self.table.commit(positions, offsets, commit_us, written=places)
        self._written += len(positions)

    def after(self, former: GroupOffsets) -> GroupOffsets:
        """The same log, read by another coordinator: what was pending is."""
        self.pending, self._written = former.pending, former._written
        return self

    def end_transaction(self, producer_id: int, *, is_committed: bool) -> Positions:
        """A transaction marker on the offsets partition: which partitions have another committed offset now."""
        return self.pending.end(producer_id, self.table, is_committed=is_committed)
