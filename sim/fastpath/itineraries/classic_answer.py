"""Phases that begin with answers of the coordinator: many parked requests, answered at one instant."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.availability import SHORT_PAUSE_US
from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.eligibility import is_parked
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.fastpath.phases.deferred import PRESENT, DeferredMembers
from groupsim.sim.fastpath.phases.phase import CohortPhase
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.interface import Reply


class AnswerPhase(CohortPhase):
    """Members that are answered."""

    STAGE: ClassVar[int]
    """Of members that are behind, and wait for such an answer (`sim.fastpath.phases.deferred`)."""

    def gather(self, replies: Sequence[Reply], leave_us: int) -> list[Reply]:
        """Take on whom nothing stands in the way; the answers to the others.

        Nobody in a replay: whoever has that done is about to look at the member.
        """
        if self._env.is_replaying:
            return list(replies)
        deferred = self._deferred
        found: list[tuple[int, Reply]] = []
        rest: list[Reply] = []
        for reply in replies:
            slot = self._slot_of(reply)
            if slot < 0:
                rest.append(reply)
            else:
                found.append((slot, reply))
        if not found:
            return rest
        found.sort(key=lambda one: one[0])
        slots = np.array([slot for slot, _ in found], np.intp)
        # Whoever a phase has brought to the barrier has not moved since: its columns hold.
        present = slots[(deferred.stage[slots] == PRESENT) & ~deferred.barrier.is_here(slots)]
        deferred.load(deferred.elided[slot] for slot in present.tolist())
        clear = self._plan(slots, [reply for _, reply in found], leave_us)
        return rest + [reply for (_, reply), is_clear in zip(found, clear.tolist(), strict=True) if not is_clear]

    def _slot_of(self, reply: Reply) -> int:
        """Whose answer that is; -1 if that member cannot go with the others."""
        exchange: Any = reply.waiter
        member_id = self._whose(exchange, reply.response)
        slot = self._group.books.handles.slot_of(member_id) if member_id is not None else -1
        if slot < 0:
            return slot
        stage = self._deferred.stage_of(slot)
        if stage != PRESENT:
            return slot if self._takes_on(slot, stage) else -1
        client = self._deferred.consumers[slot].incumbent
        if client is None or not self._deferred.elided[slot].is_plain or not self._follows(client):
            return -1
        waits = self._deferred.barrier.holds(slot) or is_parked(client, exchange, self._env.now)
        return slot if waits else -1

    def _takes_on(self, slot: int, stage: int) -> bool:
        """Whether a member that is behind, at this stage, goes on as the phase does."""
        return stage == self.STAGE

    @abstractmethod
    def _whose(self, exchange: Exchange, response: Any) -> str | None:
        """Whose answer that is; None if the phase has no use for it."""

    @abstractmethod
    def _follows(self, client: Client) -> bool:
        """Whether a member, whose own objects show everything, goes on as the phase does."""

    @abstractmethod
    def _plan(self, slots: Slots, replies: Sequence[Reply], leave_us: int) -> NDArray[np.bool_]:
        """Work out the times, and begin with those with which nothing interferes; who that is."""

    def _told(self, slots: Slots, exchanges: Sequence[Exchange], leave_us: int) -> Column:
        """When the answers are read."""
        self._deferred.leaving[slots] = leave_us
        back = np.array([exchange.down_us for exchange in exchanges], np.int64)
        return np.maximum(self._deferred.answered[slots] + 1, leave_us + back)

    def _load_beats(self, slots: Slots) -> None:
        """What the heartbeat threads of those do whose own objects show everything."""
        deferred, now = self._deferred, self._deferred.now
        for slot in slots[deferred.stage[slots] == PRESENT].tolist():
            machine = deferred.clients[slot].machine
            now.first_beat[slot], now.waiting_since[slot] = machine.heartbeat_due, machine.waiting_since

    def _depart(self, slots: Slots, ends: Column, keys: Column) -> None:
        """These leave the barrier in this phase."""
        self._deferred.barrier.take(slots)
        self.begin(slots, ends, keys)

    def _start(self, slot: int) -> None:
        deferred = self._deferred
        exchange, response = self._answer(slot)
        deferred.clients[slot].suspension.arm_pause()
        exchange.connection.reply(exchange, response, deferred.leaving.item(slot))

    @abstractmethod
    def _answer(self, slot: int) -> tuple[Exchange, Any]:
        """The request of a member, and what it is answered."""


def sessions_last(group: GroupHost, deferred: DeferredMembers, slots: Slots) -> NDArray[np.bool_]:
    """Whose session lasts until they beat (`Elided` asks the same of one); ``first_beat`` is known.

    Who stood still after the JoinGroup was answered has used up some of it, and a SyncGroup in Stable renews nothing.
    """
    late_us = deferred.step_us[slots] + SHORT_PAUSE_US + deferred.round_trip_us[slots]
    due = [group.machine.session_due(deferred.member_ids[slot]) for slot in slots.tolist()]
    lasts: NDArray[np.bool_] = np.array(due, np.int64) > deferred.now.first_beat[slots] + late_us
    return lasts
