"""Leaders, in-sync replicas and leader epochs of all partitions, and the elections (tables are in the package)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from groupsim.sim.protocol.controller.partition import NO_LEADER, Name, PartitionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicated:
    """What a topic's configuration says about its replicas.

    Parameters
    ----------
    min_insync : int
        ``min.insync.replicas``.
    is_unclean : bool
        ``unclean.leader.election.enable``.
    """

    min_insync: int = 1
    is_unclean: bool = False


ONE_IN_SYNC: Final = Replicated()


class ReplicationControl:
    """All partitions of a cluster (``ReplicationControlManager``, Kafka 4.4).

    Every method that changes something returns the partitions that it has changed.

    Parameters
    ----------
    has_elr : bool
        Eligible leader replicas (KIP-966) are kept: clusters that were made by 4.1 or newer.

    Attributes
    ----------
    partitions : dict of Name to PartitionState
    fenced, leaving : set of int
        Brokers whose sessions are over, and brokers in controlled shutdown.
    """

    def __init__(self, *, has_elr: bool = True) -> None:
        self._has_elr = has_elr
        self.partitions: dict[Name, PartitionState] = {}
        self.fenced: set[int] = set()
        self.leaving: set[int] = set()

    def is_active(self, broker: int) -> bool:
        """Whether a broker may lead."""
        return broker not in self.fenced and broker not in self.leaving

    def add(self, name: Name, replicas: tuple[int, ...], config: Replicated = ONE_IN_SYNC) -> None:
        """A partition comes into being: its active replicas are in sync, all of them if none is."""
        isr = tuple(one for one in replicas if self.is_active(one)) or replicas
        leader = next((one for one in isr if self.is_active(one)), NO_LEADER)
        self.partitions[name] = PartitionState(replicas, config.min_insync, isr, leader, is_unclean=config.is_unclean)

    # --- brokers that go and come -------------------------------------------------------------------------------------

    def shut_down(self, broker: int) -> list[Name]:
        """The broker has asked for a controlled shutdown."""
        self.leaving.add(broker)
        return self._leave_isr(broker)

    def fence(self, broker: int) -> list[Name]:
        """The broker's session is over, or it is down."""
        self.fenced.add(broker)
        self.leaving.discard(broker)
        return self._leave_isr(broker)

    def shut_down_uncleanly(self, broker: int) -> list[Name]:
        """The broker registers and cannot say that it was closed: it is eligible no more (``BrokerRegistration``).

        Source: ``ReplicationControlManager.handleUncleanBrokerShutdown``. Without ELR nobody asks.
        """
        if not self._has_elr:
            return []
        return self._change(self._with_replica(broker), _without(broker), unclean=broker)

    def unfence(self, broker: int) -> list[Name]:
        """The broker is back."""
        self.fenced.discard(broker)
        self.leaving.discard(broker)
        return self._change(self._leaderless(), _same)

    def catch_up(self, broker: int, names: Iterable[Name] | None = None) -> list[Name]:
        """The broker has what the leaders have: it is in sync again (``alterPartition``), in some or all partitions."""
        if not self.is_active(broker):
            return []
        held = self._with_replica(broker) if names is None else names
        led = [name for name in held if self.partitions[name].leader != NO_LEADER]
        return self._change(led, lambda state: tuple(one for one in state.replicas if one in {*state.isr, broker}))

    def shrink(self, name: Name, silent: Iterable[int]) -> list[Name]:
        """The leader has not been asked by these for ``replica.lag.time.max.ms`` (``Partition.maybeShrinkIsr``)."""
        gone = set(silent) - {self.partitions[name].leader}
        return self._change([name], lambda state: tuple(one for one in state.isr if one not in gone))

    def _leave_isr(self, broker: int) -> list[Name]:
        return self._change(self._with_replica(broker), _without(broker))

    # --- elections on demand, and reassignments -----------------------------------------------------------------------

    def elect_preferred(self, names: Iterable[Name] | None = None) -> list[Name]:
        """Preferred leaders lead again, as far as they are active and in sync; of some or all partitions."""
        changed = []
        for name in self.partitions if names is None else names:
            state = self.partitions[name]
            preferred = state.replicas[0]
            if state.leader != preferred and preferred in state.isr and self.is_active(preferred):
                state.leader, state.epoch = preferred, state.epoch + 1
                changed.append(name)
        return changed

    def elect_unclean(self, names: Iterable[Name]) -> list[Name]:
        """Those of some partitions that nobody leads get any leader that is active (``ElectionType.UNCLEAN``)."""
        waiting = [name for name in names if self.partitions[name].leader == NO_LEADER]
        return self._change(waiting, _same, may_lose=True)

    def reassign(self, name: Name, replicas: tuple[int, ...]) -> None:
        """Other replicas are to be added; those that there are stay until these are in sync."""
        state = self.partitions[name]
        state.replicas = (*replicas, *(one for one in state.replicas if one not in replicas))

    def complete(self, name: Name, replicas: tuple[int, ...]) -> list[Name]:
        """All replicas that were to be added are in sync: the others go (``PartitionReassignmentReplicas``)."""
        state = self.partitions[name]
        if not set(replicas) <= set(state.isr):
            return []
        state.replicas = replicas
        self._change([name], lambda state: tuple(one for one in replicas if one in state.isr))
        return [name]

    # --- who is concerned ---------------------------------------------------------------------------------------------

    def led_by(self, broker: int) -> list[Name]:
        """Partitions that a broker leads."""
        return [name for name, state in self.partitions.items() if state.leader == broker]

    def _with_replica(self, broker: int) -> list[Name]:
        return [name for name, state in self.partitions.items() if broker in state.replicas]

    def _leaderless(self) -> list[Name]:
        return [name for name, state in self.partitions.items() if state.leader == NO_LEADER]

    # --- one change ---------------------------------------------------------------------------------------------------

    def _change(
        self, names: Iterable[Name], isr_of: Callable[[PartitionState], tuple[int, ...]], *,
        unclean: int | None = None, may_lose: bool = False,
    ) -> list[Name]:  # fmt: skip
        """Another ISR, and a leader that may lead (``PartitionChangeBuilder.build``)."""
        changed = []
        for name in names:
            state = self.partitions[name]
            before = state.standing
            self._renew(state, isr_of(state), unclean)
            self._elect(state, may_lose=may_lose or state.is_unclean)
            if state.standing != before:
                state.epoch += state.leader != before.leader
                changed.append(name)
        return changed

    def _renew(self, state: PartitionState, isr: tuple[int, ...], unclean: int | None) -> None:
        """``maybePopulateTargetElr``: who leaves while too few are in sync stays eligible, unless it was killed."""
        if not self._has_elr:
            state.isr = isr or state.isr
            return
        had, state.isr = state.isr, isr
        if len(isr) >= state.needed:
            state.eligible = ()
        else:
            known = {*state.eligible, *had} - {*isr} - {unclean}
            state.eligible = tuple(one for one in state.replicas if one in known)
        if had and not isr and state.leader != NO_LEADER:
            state.last_leader = state.leader

    def _elect(self, state: PartitionState, *, may_lose: bool) -> None:
        """``electAnyLeader``: who leads goes on if it may; else the first in sync, or eligible if nobody is."""
        former, pool = state.leader, state.isr or state.eligible
        leader = next((one for one in (former, *state.replicas) if one in pool and self.is_active(one)), NO_LEADER)
        state.leader, state.has_lost = leader, False
        if leader != NO_LEADER:
            state.isr = state.isr or (leader,)
            state.eligible = tuple(one for one in state.eligible if one not in state.isr)
            state.last_leader = NO_LEADER
        elif (found := self._resort(state, may_lose=may_lose)) != NO_LEADER:
            state.leader, state.isr, state.eligible, state.last_leader = found, (found,), (), NO_LEADER
            state.has_lost = True

    def _resort(self, state: PartitionState, *, may_lose: bool) -> int:
        """Who leads if nobody is in sync: the last one that led (``canElectLastKnownLeader``), or anybody."""
        nobody = not state.isr and not state.eligible
        if nobody and state.last_leader != NO_LEADER and self.is_active(state.last_leader):
            return state.last_leader
        return next((one for one in state.replicas if may_lose and self.is_active(one)), NO_LEADER)


def _without(broker: int) -> Callable[[PartitionState], tuple[int, ...]]:
    return lambda state: tuple(one for one in state.isr if one != broker)


def _same(state: PartitionState) -> tuple[int, ...]:
    return state.isr
