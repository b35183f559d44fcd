"""From the end of the join phase to the SyncGroup: members that are answered, all but the leader.

A JoinGroup response is read at once, because the application waits for it inside poll(), and SyncGroup follows at once.
It is parked until the leader's assignment is in the log. Before that, or before the first of them would send a
heartbeat, nothing of it is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.fastpath.itineraries.classic_answer import AnswerPhase
from groupsim.sim.fastpath.itineraries.classic_late import LatePhase
from groupsim.sim.fastpath.itineraries.classic_late_resume import LateResumePhase
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.fastpath.phases.deferred import REJOINED
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.classic.membership import PREPARING
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.interface import Reply
from groupsim.sim.protocol.messages import Api, Error


class SyncPhase(AnswerPhase):
    """Members between their JoinGroup response and their SyncGroup."""

    NUMBER = 2
    STAGE = REJOINED

    def _whose(self, exchange: Exchange, response: Any) -> str | None:
        follows = response.error is Error.NONE and response.leader != response.member_id
        return response.member_id if follows else None

    def _follows(self, client: Client) -> bool:
        return client.machine.state is PREPARING

    def _plan(self, slots: Slots, replies: Sequence[Reply], leave_us: int) -> NDArray[np.bool_]:
        deferred, now = self._deferred, self._deferred.now
        exchanges: list[Any] = [reply.waiter for reply in replies]
        for slot, exchange, reply in zip(slots.tolist(), exchanges, replies, strict=True):
            deferred.join[slot] = exchange
            now.join_response[slot] = reply.response
        accepted = now.accepted[slots] = self._told(slots, exchanges, leave_us)
        consuming = np.flatnonzero(deferred.is_cooperative[slots])
        if consuming.size:
            # Nobody but the application reads it, at its next poll.
            schedules = deferred.schedules(slots[consuming])
            accepted[consuming] = schedules.reaction(accepted[consuming])
            now.accepted[slots] = accepted
        there, back = deferred.times.prepared(Api.SYNC_GROUP, slots, deferred.other[slots])
        now.sync_there[slots], now.sync_back[slots] = there, back
        synced = now.synced[slots] = np.maximum(deferred.arrived[slots] + 1, accepted + there)
        now.waiting_since[slots] = accepted
        first_beat = now.first_beat[slots] = accepted + deferred.heartbeat_interval[slots]
        over = first_beat.min() - 1
        clear: NDArray[np.bool_] = (synced < over) & (deferred.next_start[slots] > synced)
        self._depart(slots[clear], synced[clear], deferred.request_key[slots[clear]])
        return clear

    def _over(self, slots: Slots, ends: Column, keys: Column) -> Moment:
        """Just before the first heartbeat."""
        return (int(self._deferred.now.first_beat[slots].min()) - 1, 0)

    def _answer(self, slot: int) -> tuple[Exchange, Any]:
        return self._deferred.join_answer(slot)

    def precede_decision(self) -> None:
        """Who is through is through; who is not can be late, and goes on for now."""
        self.settle_done()

    def pass_late(self, late: LatePhase, resume: LateResumePhase) -> None:
        """The coordinator has decided: who is late goes on with those who are answered at once, or alone."""
        if self._group.machine.state is GroupState.STABLE and self.is_under_way:
            self._pass_on(late, self._deferred.is_cooperative[self._slots])
            self._pass_on(resume, ~self._deferred.is_cooperative[self._slots])
        self.settle()

    def _pass_on(self, late: LatePhase | LateResumePhase, which: NDArray[np.bool_]) -> None:
        """These go on, as far as nothing interferes."""
        if late.is_under_way or not which.any():
            return
        slots, since = self._slots[which], self.since
        clear = which.copy()
        clear[which] = late.plan_late(slots)
        going, _, _ = self._take(clear)
        self._await_end()
        late.begin_late(going, since)

    def _carry_out(self, slots: Slots) -> None:
        deferred, now = self._deferred, self._deferred.now
        exchanges = [self._sync(slot) for slot in slots.tolist()]
        deferred.order(slots, now.synced[slots], deferred.leaving[slots], now.accepted[slots])
        deferred.synced(slots)
        given_up = np.array([exchange.given_up_us for exchange in exchanges], np.int64)
        due = np.minimum(np.minimum(now.first_beat[slots], given_up), deferred.next_start[slots])
        deferred.barrier.add(slots, due)
        # The last may arrive at the very instant at which the leader's assignment is in the log.
        self._group.receive(exchanges, now.synced[slots].tolist())

    def _sync(self, slot: int) -> Exchange:
        """The SyncGroup of one member, parked."""
        deferred, now, client = self._deferred, self._deferred.now, self._deferred.clients[slot]
        join = deferred.join[slot]
        assert join is not None
        join.answered = True
        request = client.machine.sync_request(now.join_response[slot])
        latency = (now.sync_there.item(slot), now.sync_back.item(slot))
        sync: Exchange = client.in_flight.timed(
            now.accepted.item(slot),
            deferred.connections[slot],
            Api.SYNC_GROUP,
            request,
            deferred.other.item(slot),
            latency,
        )
        deferred.sync[slot] = sync
        return sync
