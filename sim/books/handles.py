"""Members as the books number them: a handle for each time that the coordinator has taken a member id in.

A restarted pod has another member id, and so another handle: it is not mistaken for the process that died. A consumer
of the consumer protocol joins again under the same id when it was removed, and has another handle too.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.record import Life
from groupsim.sim.protocol.messages import Positions


class Reading(Protocol):
    """What an incarnation of a consumer reads (`sim.books.consumption.Consumption`)."""

    slot: int
    handle: int

    def become_zombie(self, now: int, positions: Positions) -> None:
        """The coordinator has taken these away; the consumer does not know yet."""
        ...

    def processed(self, now: int) -> Offsets:
        """Processed by this consumer, every partition of the group. Shape (n_partitions,), -1: never."""
        ...

    def meet(self, now: int, positions: Positions) -> None:
        """Somebody else starts to read these."""
        ...

    def inherit(self, now: int, positions: Positions) -> None:
        """Nobody else reads these any longer."""
        ...

    @property
    def partitions(self) -> Positions:
        """Partitions being consumed, ascending."""
        ...


class Reader(Protocol):
    """A consumer that may become a member."""

    name: str
    slot: int

    @property
    def consumption(self) -> Reading | None:
        """What it reads, if it is open."""
        ...


class Handles:
    """Member ids of one group -> handles, and handles -> consumers."""

    def __init__(self) -> None:
        self._readers: list[Reader] = []
        self._slots: dict[str, int] = {}
        self._handles: dict[str, int] = {}
        self._slot_of_handle: list[int] = []
        self._life_of_handle: list[Life | None] = []

    def enrol(self, reader: Reader) -> None:
        """A consumer that may become a member; called in order of slots."""
        self._slots[reader.name] = reader.slot
        self._readers.append(reader)

    @property
    def names(self) -> list[str]:
        """Names of the consumers, by slot."""
        return [reader.name for reader in self._readers]

    def find(self, member_id: str) -> int | None:
        """The handle of a member id; None if it has none."""
        return self._handles.get(member_id)

    def __getitem__(self, member_id: str) -> int:
        """The handle of a member id that has one."""
        return self._handles[member_id]

    def add(self, member_id: str, name: str, handle: int, life: Life | None) -> None:
        """A member id of the consumer ``name`` has this handle from now on, the next in order; ``life``: as whom."""
        assert handle == len(self._slot_of_handle)
        self._handles[member_id] = handle
        self._slot_of_handle.append(self._slots.get(name, -1))
        self._life_of_handle.append(life)

    def slot_of(self, member_id: str) -> int:
        """Slot of the consumer that has this member id, or had it last; -1: unknown."""
        handle = self._handles.get(member_id, -1)
        return self._slot_of_handle[handle] if handle >= 0 else -1

    def life_of(self, member_id: str) -> Life | None:
        """The incarnation that the coordinator has taken in under this member id, if one has lived."""
        handle = self._handles.get(member_id, -1)
        return self._life_of_handle[handle] if handle >= 0 else None

    @property
    def slots(self) -> NDArray[np.int32]:
        """Slot of each handle; the last element, -1, belongs to nobody (handle -1). Shape (n_handles + 1,)."""
        return np.array([*self._slot_of_handle, -1], np.int32)

    def reading(self, handle: int) -> Reading | None:
        """What the incarnation reads that has this handle, if it still lives."""
        slot = self._slot_of_handle[handle]
        found = self._readers[slot].consumption if slot >= 0 else None
        return found if found is not None and found.handle == handle else None

    def readings(self) -> list[tuple[int, Reading | None]]:
        """Slot of every consumer, and what it reads."""
        return [(reader.slot, reader.consumption) for reader in self._readers]
