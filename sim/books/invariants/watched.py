"""What invariants are held of (`sim.books.invariants.invariants`), and what an invariant is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, Protocol

import numpy as np

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.interface import MemberMachine
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.protocol.mixed.group import MixedGroup


class Member(Protocol):
    """A consumer of a group."""

    name: str

    @property
    def machine(self) -> MemberMachine[Any, Any] | None:
        """The member that is open."""
        ...


class Hosted(Protocol):
    """A group at its coordinator."""

    machine: ClassicGroup | ConsumerGroup | MixedGroup
    terms: int
    is_active: bool
    books: GroupBooks


@dataclass(frozen=True, slots=True)
class Watched:
    """A group, as its coordinator, its books and its members have it."""

    host: Hosted
    members: Sequence[Member]

    @property
    def machine(self) -> ClassicGroup | ConsumerGroup | MixedGroup:
        """The group, as its coordinator has it; nobody answers for one that has none (`Hosted.is_active`)."""
        return self.host.machine

    @property
    def books(self) -> GroupBooks:
        """What is written down about it."""
        return self.host.books


def protocol_machine(group: Watched) -> ClassicGroup | ConsumerGroup:
    """The machine of the protocol that the group has now."""
    machine = group.machine
    return machine.group if isinstance(machine, MixedGroup) else machine


def twice(parts: Iterable[Positions]) -> int | None:
    """A partition that comes more than once."""
    arrays = [part for part in parts if len(part)]
    if not arrays:
        return None
    counts = np.bincount(np.concatenate(arrays))
    return int(counts.argmax()) if counts.max() > 1 else None


class Seen:
    """What an invariant was last held of, by name: as long as it is the same objects, the answer is the same.

    So it is of whatever is replaced as a whole when it changes: records, assignments, arrays of positions.
    """

    def __init__(self) -> None:
        self._last: dict[Hashable, Sequence[object]] = {}

    def is_same(self, name: Hashable, parts: Sequence[object]) -> bool:
        """Whether all of ``parts`` are what they were the last time."""
        last = self._last.get(name)
        self._last[name] = parts
        return last is not None and len(last) == len(parts) and all(map(is_, last, parts))


class Invariant(Protocol):
    """Something that must hold of a group at any time."""

    def violated(self, now: int, group: Watched) -> str | None:
        """What is wrong, or None."""
        ...
