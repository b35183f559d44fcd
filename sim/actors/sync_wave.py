"""From the end of the join phase to the SyncGroup: members that are answered, all but the leader.

A JoinGroup response is read at once, because the application waits for it inside poll(), and SyncGroup follows at once.
It is parked until the leader's assignment is in the log. Before that, or before the first of them would send a
heartbeat, nothing of it is seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.actors.answer_wave import Answered, AnswerWave
from sim.kernel.environment import Moment
from sim.kernel.network import Exchange, round_trips
from sim.protocol.effects import Send
from sim.protocol.membership import PREPARING
from sim.protocol.messages import Api, Error, SyncGroup


@dataclass(slots=True, eq=False)
class Sync(Answered):
    """One member's SyncGroup. All times in microseconds.

    ``latency``: of that, there and back; ``first_beat``: the next heartbeat is due.
    """

    latency: tuple[int, int] = (0, 0)
    first_beat: int = 0


class SyncWave(AnswerWave[Sync]):
    """Members between their JoinGroup response and their SyncGroup."""

    def _candidate(self, exchange: Exchange, response: Any, leave_us: int) -> Sync | None:
        client = self._group.client_of(response.member_id)
        follows = response.error is Error.NONE and response.leader != response.member_id
        if client is None or not follows or client.machine.state is not PREPARING:
            return None
        return Sync(client, (0, 0), exchange, response, leave_us) if self._waits(client, exchange) else None

    def _clear(self, plans: Sequence[Sync]) -> list[Sync]:
        numbers = np.array([plan.client.requests.numbers["other"] for plan in plans], np.int64)
        up, down = round_trips([plan.client.path for plan in plans], "other", numbers)
        for plan, there, back in zip(plans, up.tolist(), down.tolist(), strict=True):
            connection = plan.exchange.connection
            plan.latency = (there, back)
            plan.end = (max(connection.up_us + 1, plan.told + there), connection.request_key)
            plan.first_beat = plan.told + plan.client.machine.config.heartbeat_interval_us
        over = self._over(plans)
        return [plan for plan in plans if plan.end < over and plan.client.standstill.next_start > plan.first_beat]

    def _over(self, plans: Iterable[Sync]) -> Moment:
        """Just before the first heartbeat."""
        return (min(plan.first_beat for plan in plans) - 1, 0)

    def _carry_out(self, plans: Sequence[Sync]) -> None:
        exchanges: list[Exchange] = []
        due: list[int] = []
        for plan in plans:
            client, requests = plan.client, plan.client.requests
            (send,) = client.machine.on_join_response(plan.told, plan.response)
            assert isinstance(send, Send)
            assert isinstance(send.body, SyncGroup)
            plan.exchange.answered = True
            order = (plan.end[0], plan.left, plan.told)
            exchanges.append(requests.parked(plan.told, Api.SYNC_GROUP, send.body, plan.latency, order))
            due.append(min(plan.first_beat, exchanges[-1].given_up_us))
        self._group.waves.parked.add([plan.client for plan in plans], due)
        # The last may arrive at the very instant at which the leader's assignment is in the log.
        self._group.receive(exchanges, [plan.end[0] for plan in plans])
