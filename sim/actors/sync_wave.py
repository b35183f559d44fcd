"""From the end of the join phase to the SyncGroup: members that are answered, all but the leader.

A JoinGroup response is read at once, because the application waits for it inside poll(), and SyncGroup follows at once.
It is parked until the leader's assignment is in the log. Before that, or before the first of them would send a
heartbeat, nothing of it is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.actors.wave import Plan, Wave
from sim.actors.wave_terms import is_parked
from sim.kernel.environment import Moment
from sim.kernel.network import Exchange, latencies
from sim.protocol.effects import Send
from sim.protocol.membership import PREPARING
from sim.protocol.messages import Api, Error, JoinResponse, SyncGroup
from sim.protocol.rebalance import Reply


@dataclass(slots=True, eq=False)
class Sync(Plan):
    """One member's SyncGroup.

    Parameters
    ----------
    exchange : Exchange
        Its JoinGroup.
    response : JoinResponse
    left : int, microseconds
        The answer leaves the coordinator.
    told : int, microseconds
        It is read, and SyncGroup is sent.
    latency : (int, int), microseconds
        Of that, there and back.
    """

    exchange: Exchange
    response: JoinResponse
    left: int
    told: int
    latency: tuple[int, int]


class SyncWave(Wave[Sync]):
    """Members between their JoinGroup response and their SyncGroup."""

    def gather(self, replies: Sequence[Reply], leave_us: int) -> list[Reply]:
        """Take on whom nothing stands in the way; the answers to the others."""
        plans: list[Sync] = []
        rest: list[Reply] = []
        now, unarmed = self._env.now, self._group.waves.unarmed
        for reply in replies:
            exchange, response = reply.waiter, reply.response
            assert isinstance(exchange, Exchange)
            assert isinstance(response, JoinResponse)
            client = self._group.client_of(response.member_id)
            if (
                client is not None
                and response.error is Error.NONE
                and response.leader != response.member_id
                and client.machine.state is PREPARING
                and (client in unarmed or is_parked(client, exchange, now))
            ):
                plans.append(Sync(client, (0, 0), exchange, response, leave_us, 0, (0, 0)))
            else:
                rest.append(reply)
        if plans:
            self._time(plans, leave_us)
            over = self._over(plans)
            self.begin(
                [one for one in plans if one.end < over and one.client.standstill.next_start > self._horizon(one)]
            )
            rest += [Reply(plan.exchange, plan.response) for plan in plans if plan.client.hush.wave is not self]
        return rest

    def _horizon(self, plan: Sync) -> int:
        return plan.told + plan.client.machine.config.heartbeat_interval_us

    def _time(self, plans: Sequence[Sync], leave_us: int) -> None:
        paths = [plan.client.path for plan in plans]
        numbers = np.array([plan.client.requests.numbers["other"] for plan in plans], np.int64)
        up, down = latencies(paths, "other", 2 * numbers), latencies(paths, "other", 2 * numbers + 1)
        for plan, there, back in zip(plans, up.tolist(), down.tolist(), strict=True):
            connection = plan.exchange.connection
            plan.told = max(connection.down_us + 1, leave_us + plan.exchange.down_us)
            plan.latency = (there, back)
            plan.end = (max(connection.up_us + 1, plan.told + there), connection.request_key)

    def _over(self, plans: Sequence[Sync]) -> Moment:
        """Just before the first heartbeat."""
        return (min(self._horizon(plan) for plan in plans) - 1, 0)

    def _start(self, plan: Sync) -> None:
        plan.exchange.connection.reply(plan.exchange, plan.response, plan.left)

    def _carry_out(self, plans: Sequence[Sync]) -> None:
        exchanges: list[Exchange] = []
        for plan in plans:
            client, requests = plan.client, plan.client.requests
            (send,) = client.machine.on_join_response(plan.told, plan.response)
            assert isinstance(send, Send)
            assert isinstance(send.body, SyncGroup)
            plan.exchange.answered = True
            order = (plan.end[0], plan.left, plan.told)
            exchanges.append(requests.parked(plan.told, Api.SYNC_GROUP, send.body, plan.latency, order))
        self._group.waves.unarmed |= dict.fromkeys(plan.client for plan in plans)
        # The last may arrive at the very instant at which the leader's assignment is in the log.
        self._group.receive(exchanges, [plan.end[0] for plan in plans])
