"""What invariants are held of (`sim.books.invariants`), and what an invariant is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.interface import MemberMachine
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


class Invariant(Protocol):
    """Something that must hold of a group at any time."""

    def violated(self, now: int, group: Watched) -> str | None:
        """What is wrong, or None."""
        ...
