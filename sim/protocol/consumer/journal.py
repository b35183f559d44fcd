"""The records of one request, and how what they did is undone.

Every change of a consumer group is a record that is replayed at once, while the answer waits for the log. A request
that is refused half-way leaves nothing behind, and neither does a batch that cannot be appended
(``CoordinatorRuntime``, Kafka 4.4). What would undo a record is a record again: the one with the value before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groupsim.sim.protocol.classic.records import GroupMetadata, GroupTombstone
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupRecord,
    ConsumerGroupTargetAssignmentMember,
    StateRecord,
)
from groupsim.sim.protocol.consumer.roster import Roster
from groupsim.sim.protocol.interface import Batch

OF_A_MEMBER = (
    ConsumerGroupMemberMetadata,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupCurrentMemberAssignment,
)


@dataclass(slots=True)
class Undo:
    """What undoes the records of one batch, in the order of the records.

    Parameters
    ----------
    existed : bool
        Whether the group was known before.
    inverses : list of record
    expired : tuple of str
        Members whose timer has made the batch: the timer is tried again.
    replaced : tuple of str
        Member ids that the batch has given to nobody: their timers end when the log has it.
    """

    existed: bool
    inverses: list[StateRecord]
    expired: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    @property
    def member_ids(self) -> tuple[str, ...]:
        """Members that the batch was about."""
        return tuple(dict.fromkeys(one.member_id for one in self.inverses if isinstance(one, OF_A_MEMBER)))


class Journal:
    """Writes records, and keeps of each batch what undoes it until the log has it.

    Parameters
    ----------
    roster : Roster
        What records are replayed into.
    batches : iterator of int
        Numbers that no batch of this group has had.

    Attributes
    ----------
    uncommitted : dict
        Number of a batch -> what undoes it.
    """

    def __init__(self, roster: Roster, batches: Iterator[int]) -> None:
        self._roster = roster
        self._batches = batches
        self._records: list[ConsumerGroupRecord | GroupMetadata | GroupTombstone] = []
        self._undo = Undo(roster.exists, [])
        self.uncommitted: dict[int, Undo] = {}

    def write(self, record: StateRecord) -> None:
        """Write a record that changes the group."""
        existed = self._roster.exists
        inverse = self._roster.apply(record)
        self._open(existed).append(inverse)
        self._records.append(record)

    def write_aside(self, record: ConsumerGroupRecord | GroupMetadata | GroupTombstone) -> None:
        """Write a record of something that is kept elsewhere."""
        self._open(self._roster.exists)
        self._records.append(record)

    def _open(self, existed: bool) -> list[StateRecord]:
        if not self._records:
            self._undo = Undo(existed, [])
        return self._undo.inverses

    def abort(self) -> None:
        """The request is refused: whatever it has written is undone."""
        if self._records:
            self._records.clear()
            self._revert(self._undo)

    def seal(
        self, expired: tuple[str, ...] = (), replaced: tuple[str, ...] = (), *, is_awaited: bool = False
    ) -> Batch | None:
        """Hand out what has been written; None if that is nothing, unless something waits for the log all the same."""
        if not self._records and not is_awaited:
            return None
        if not self._records:
            self._undo = Undo(self._roster.exists, [])
        number = next(self._batches)
        self._undo.expired, self._undo.replaced = expired, replaced
        self.uncommitted[number] = self._undo
        batch = Batch(number, tuple(self._records), is_awaited=is_awaited)
        self._records = []
        return batch

    def committed(self, number: int) -> list[Undo]:
        """The log has this batch, and all before it: what would have undone them."""
        return [self.uncommitted.pop(one) for one in sorted(self.uncommitted) if one <= number]

    def failed(self, number: int) -> list[Undo]:
        """The log refused this batch: it and all that were built upon it are undone; newest first."""
        undone = [self.uncommitted.pop(one) for one in sorted(self.uncommitted, reverse=True) if one >= number]
        for undo in undone:
            self._revert(undo)
        return undone

    def _revert(self, undo: Undo) -> None:
        for inverse in reversed(undo.inverses):
            self._roster.apply(inverse)
        self._roster.exists = undo.existed
