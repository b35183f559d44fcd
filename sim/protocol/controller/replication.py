"""Leaders, in-sync replicas and leader epochs of all partitions, and the elections (tables are in the package)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

Name = tuple[str, int]
"""Topic and number of a partition."""

NO_LEADER: Final = -1
OFFSETS_TOPIC: Final = "__consumer_offsets"


@dataclass(slots=True, eq=False)
class PartitionState:
    """One partition (``PartitionRegistration``).

    Parameters
    ----------
    replicas : tuple of int
        Broker ids; the first is the preferred leader.
    min_insync : int
        ``min.insync.replicas``.
    isr : tuple of int
        Those in sync, in the order of the replicas.
    leader : int
        `NO_LEADER` if there is none.
    epoch : int
        Leader epoch.
    """

    replicas: tuple[int, ...]
    min_insync: int
    isr: tuple[int, ...]
    leader: int
    epoch: int = 0

    def advances(self, dead: Iterable[int]) -> bool:
        """Whether the high watermark follows what is appended: somebody leads, and everybody in the ISR fetches."""
        return self.leader != NO_LEADER and len(self.isr) >= self.min_insync and not set(self.isr) & set(dead)


class ReplicationControl:
    """All partitions of a cluster (``ReplicationControlManager``, Kafka 4.4).

    Every method that changes something returns the partitions that it has changed.

    Attributes
    ----------
    partitions : dict of Name to PartitionState
    fenced, leaving : set of int
        Brokers whose sessions are over, and brokers in controlled shutdown.
    """

    def __init__(self) -> None:
        self.partitions: dict[Name, PartitionState] = {}
        self.fenced: set[int] = set()
        self.leaving: set[int] = set()

    def is_active(self, broker: int) -> bool:
        """Whether a broker may lead."""
        return broker not in self.fenced and broker not in self.leaving

    def add(self, name: Name, replicas: tuple[int, ...], min_insync: int) -> None:
        """A partition comes into being: its active replicas are in sync, all of them if none is."""
        isr = tuple(one for one in replicas if self.is_active(one)) or replicas
        leader = next((one for one in isr if self.is_active(one)), NO_LEADER)
        self.partitions[name] = PartitionState(replicas, min(min_insync, len(replicas)), isr, leader)

    def shut_down(self, broker: int) -> list[Name]:
        """The broker has asked for a controlled shutdown."""
        self.leaving.add(broker)
        return self._change(self._with_replica(broker), lambda state: _without(state.isr, broker))

    def fence(self, broker: int) -> list[Name]:
        """The broker's session is over, or it is down."""
        self.fenced.add(broker)
        self.leaving.discard(broker)
        return self._change(self._with_replica(broker), lambda state: _without(state.isr, broker))

    def unfence(self, broker: int) -> list[Name]:
        """The broker is back."""
        self.fenced.discard(broker)
        self.leaving.discard(broker)
        return self._change(
            [name for name, state in self.partitions.items() if state.leader == NO_LEADER], lambda state: state.isr
        )

    def catch_up(self, broker: int) -> list[Name]:
        """The broker has what the leaders have: it is in sync again."""
        if not self.is_active(broker):
            return []
        led = [name for name in self._with_replica(broker) if self.partitions[name].leader != NO_LEADER]
        return self._change(led, lambda state: tuple(one for one in state.replicas if one in {*state.isr, broker}))

    def elect_preferred(self) -> list[Name]:
        """Preferred leaders lead again, as far as they are active and in sync."""
        changed = []
        for name, state in self.partitions.items():
            preferred = state.replicas[0]
            if state.leader != preferred and preferred in state.isr and self.is_active(preferred):
                state.leader, state.epoch = preferred, state.epoch + 1
                changed.append(name)
        return changed

    def led_by(self, broker: int) -> list[Name]:
        """Partitions that a broker leads."""
        return [name for name, state in self.partitions.items() if state.leader == broker]

    def _with_replica(self, broker: int) -> list[Name]:
        return [name for name, state in self.partitions.items() if broker in state.replicas]

    def _change(self, names: Iterable[Name], isr_of: Callable[[PartitionState], tuple[int, ...]]) -> list[Name]:
        """Another ISR, unless nobody would be left in it; a leader that may not lead is replaced."""
        changed = []
        for name in names:
            state = self.partitions[name]
            isr = isr_of(state) or state.isr
            leader = self._elect(state, isr)
            if isr != state.isr or leader != state.leader:
                state.epoch += leader != state.leader
                state.isr, state.leader = isr, leader
                changed.append(name)
        return changed

    def _elect(self, state: PartitionState, isr: tuple[int, ...]) -> int:
        """``PartitionChangeBuilder.electAnyLeader``: who leads goes on if it may."""
        candidates = (state.leader, *state.replicas)
        return next((one for one in candidates if one in isr and self.is_active(one)), NO_LEADER)


def _without(isr: tuple[int, ...], broker: int) -> tuple[int, ...]:
    return tuple(one for one in isr if one != broker)
