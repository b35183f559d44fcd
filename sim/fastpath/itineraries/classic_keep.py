"""From Stable to silence: cooperative members that are assigned what they own already.

A SyncGroup response is read at once; at its next poll the member adopts the assignment, works out its pace anew, and is
quiet from then on. It has consumed all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.itineraries.classic_adoption import adopt, keeps
from groupsim.sim.fastpath.itineraries.classic_answer import AnswerPhase
from groupsim.sim.fastpath.phases.deferred import SYNCED, DeferredMembers
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.classic.membership import COMPLETING
from groupsim.sim.protocol.interface import Reply
from groupsim.sim.protocol.messages import Error


class KeepPhase(AnswerPhase):
    """Members between their SyncGroup response and the poll at which they adopt it."""

    NUMBER = 4
    STAGE = SYNCED

    def __init__(
        self, env: Environment, group: GroupHost, deferred: DeferredMembers, gather: Callable[[], None]
    ) -> None:
        super().__init__(env, group, deferred)
        self._gather = gather

    def _whose(self, exchange: Exchange, response: Any) -> str | None:
        is_current = exchange.body.generation == self._group.machine.generation
        return exchange.body.member_id if is_current and response.error is Error.NONE else None

    def _takes_on(self, slot: int, stage: int) -> bool:
        return super()._takes_on(slot, stage) and bool(self._deferred.is_cooperative[slot])

    def _follows(self, client: Client) -> bool:
        machine = client.machine
        return machine.cooperative and machine.state is COMPLETING and not machine.is_leader and not machine.has_news

    def _answer(self, slot: int) -> tuple[Exchange, Any]:
        exchange = self._deferred.sync[slot]
        assert exchange is not None
        return exchange, self._deferred.now.sync_response[slot]

    def _plan(self, slots: Slots, replies: Sequence[Reply], leave_us: int) -> NDArray[np.bool_]:
        deferred, now = self._deferred, self._deferred.now
        exchanges: list[Any] = [reply.waiter for reply in replies]
        for slot, exchange, reply in zip(slots.tolist(), exchanges, replies, strict=True):
            deferred.sync[slot], now.sync_response[slot] = exchange, reply.response
        self._load_beats(slots)
        told = now.told[slots] = self._told(slots, exchanges, leave_us)
        adopted = now.begun[slots] = deferred.schedules(slots).reaction(told)
        clear: NDArray[np.bool_] = adopted < now.first_beat[slots]
        clear &= keeps(deferred, slots, [response.assignment for response in now.sync_response[slots]])
        # Nobody may pause before the last one is through: nothing would ring for it.
        clear &= deferred.next_start[slots] > adopted[clear].max(initial=0)
        self._depart(slots[clear], adopted[clear], deferred.poll_key[slots[clear]])
        return clear

    def _carry_out(self, slots: Slots) -> None:
        deferred = self._deferred
        deferred.order(slots, deferred.arrived[slots], deferred.leaving[slots], deferred.now.told[slots])
        for slot in slots.tolist():
            self._answer(slot)[0].answered = True
        adopt(self._group, deferred, slots)
        # Another rebalance may have begun.
        self._gather()
