"""From Stable to silence: cooperative members that are assigned what they own already.

A SyncGroup response is read at once; at its next poll the member adopts the assignment, works out its pace anew, and is
quiet from then on. It has consumed all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.ledger import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.cluster.group_host import GroupHost
from groupsim.sim.fastpath.deferred import DeferredMembers
from groupsim.sim.fastpath.itineraries.classic_adoption import adopt, keeps
from groupsim.sim.fastpath.itineraries.classic_answer import AnswerPhase
from groupsim.sim.fastpath.poll_schedules import PollSchedules
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.classic.membership import COMPLETING
from groupsim.sim.protocol.interface import Reply
from groupsim.sim.protocol.messages import Error


class KeepPhase(AnswerPhase):
    """Members between their SyncGroup response and the poll at which they adopt it."""

    NUMBER = 4
    STAGE = -1  # nobody is left behind

    def __init__(
        self, env: Environment, group: GroupHost, deferred: DeferredMembers, gather: Callable[[], None]
    ) -> None:
        super().__init__(env, group, deferred)
        self._gather = gather

    def _whose(self, exchange: Exchange, response: Any) -> str | None:
        is_current = exchange.body.generation == self._group.machine.generation
        return exchange.body.member_id if is_current and response.error is Error.NONE else None

    def _follows(self, client: Client) -> bool:
        machine = client.machine
        follows = machine.cooperative and machine.state is COMPLETING and not machine.is_leader
        return follows and not machine.has_news and self._deferred.elided[client.consumer.slot].bounds.may_poll_always()

    def _answer(self, slot: int) -> tuple[Exchange, Any]:
        exchange = self._deferred.sync[slot]
        assert exchange is not None
        return exchange, self._deferred.now.sync_response[slot]

    def _plan(self, slots: Slots, replies: Sequence[Reply], leave_us: int) -> NDArray[np.bool_]:
        deferred, now = self._deferred, self._deferred.now
        exchanges: list[Any] = [reply.waiter for reply in replies]
        clients: list[Client] = [deferred.clients[slot] for slot in slots.tolist()]
        for slot, client, exchange, reply in zip(slots.tolist(), clients, exchanges, replies, strict=True):
            deferred.sync[slot], now.sync_response[slot] = exchange, reply.response
            now.first_beat[slot] = client.machine.heartbeat_due
        told = now.told[slots] = self._told(slots, exchanges, leave_us)
        schedules = PollSchedules.of([client.poll_loop.known_schedule for client in clients])
        adopted = now.begun[slots] = schedules.reactions(told, np.arange(len(slots)))
        clear: NDArray[np.bool_] = adopted < now.first_beat[slots]
        clear &= [keeps(client, now.sync_response[client.consumer.slot].assignment) for client in clients]
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
