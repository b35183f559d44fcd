"""From the end of Stable to the JoinGroup: quiet members that learn of a rebalance and rejoin.

A quiet member's next heartbeat is answered REBALANCE_IN_PROGRESS. At its next poll it commits, gives everything up
(eager assignors; a cooperative member goes on consuming and stays loud), and sends JoinGroup, which is parked. Nothing
of that is seen by others before the last member's JoinGroup has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sim.actors.quiet import Quiet
from sim.actors.service_books import end_services
from sim.actors.wave import Plan, Wave
from sim.actors.wave_terms import may_rejoin
from sim.kernel.network import Exchange, round_trips
from sim.protocol.effects import Send
from sim.protocol.messages import Api, Error, GroupState, JoinGroup
from sim.recorder import REVOKED
from sim.units import FOREVER

if TYPE_CHECKING:
    from sim.actors.hush import Hush

REBALANCING = Error.REBALANCE_IN_PROGRESS
Times = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Rejoin(Plan):
    """One member's way back into the group. All times in microseconds.

    ``beat``: the heartbeat is sent; ``told``: its answer is read; ``poll``: the commit is sent and consumption stops;
    ``committed``: the coordinator's answer to it leaves; ``join``: JoinGroup is sent; ``quiet`` is as of ``poll``.
    """

    quiet: Quiet
    beat: int
    told: int
    poll: int
    committed: int
    join: int
    latency: tuple[int, int]


class RejoinWave(Wave[Rejoin]):
    """Quiet members of a group that has left Stable."""

    def gather(self, hushes: Sequence[Hush]) -> None:
        """Let these members rejoin, in one go as far as their way is clear."""
        group = self._group
        plans: list[Rejoin] = []
        if group.machine.state is GroupState.PREPARING_REBALANCE and group.waves.is_possible:
            plans = self._plan([hush for hush in hushes if may_rejoin(hush)])
        chosen = {plan.client for plan in plans}
        for hush in hushes:
            if hush.client in chosen:
                group.quiet.pop(hush.member_id)
            else:
                hush.wake()
        self._ledger_stops(plans)
        self.begin(plans)

    # --- planning -----------------------------------------------------------------------------------------------------

    def _plan(self, hushes: Sequence[Hush]) -> list[Rejoin]:
        moment = self._env.moment
        due = [(hush, hush.known.next_beat(moment)) for hush in hushes]
        awake = [(hush, *beat) for hush, beat in due if beat is not None]
        if not awake:
            return []
        timing, hushes = awake[0][0].client.world.timing, [hush for hush, _, _ in awake]
        beats = np.array([beat for _, beat, _ in awake], np.int64)
        numbers = np.array([number for _, _, number in awake], np.int64)
        paths = [hush.client.path for hush in hushes]
        told = beats + timing.service_us + round_trips(paths, "heartbeat", numbers).sum(axis=0)
        rows = zip(hushes, beats.tolist(), told.tolist(), strict=True)
        plans = [plan for hush, beat, at in rows if (plan := _until_poll(hush, moment[0], beat, at)) is not None]
        return self._until_join(plans, timing.service_us, timing.append_us, timing.join_prepare_us)

    def _until_join(self, plans: list[Rejoin], service_us: int, append_us: int, prepare_us: int) -> list[Rejoin]:
        """Times of the commit and of the JoinGroup that follow the poll; only of those that no pause can touch."""
        if not plans:
            return []
        paths = [plan.client.path for plan in plans]
        polls = np.array([plan.poll for plan in plans], np.int64)
        up, down = round_trips(paths, "commit", np.array([one.quiet.commits.number for one in plans], np.int64))
        committed = polls + up + service_us + append_us
        joins = committed + down
        others = np.array([plan.client.requests.numbers["other"] for plan in plans], np.int64)
        up, down = round_trips(paths, "other", others)
        ends = joins + up + prepare_us
        rows = zip(plans, committed.tolist(), joins.tolist(), up.tolist(), down.tolist(), ends.tolist(), strict=True)
        for plan, answered, join, there, back, end in rows:
            connection = plan.client.requests.connection
            assert connection is not None
            plan.committed, plan.join, plan.latency = answered, join, (there, back)
            plan.end = (end, connection.request_key)
        # Nobody may pause before the last one is through: nothing would ring for it.
        last = max(plan.end[0] for plan in plans)
        return [plan for plan in plans if plan.quiet.next_start > last]

    def _ledger_stops(self, plans: Sequence[Rejoin]) -> None:
        """Whoever samples the lag meanwhile must know that these stop."""
        self._group.ledger.stop_at([plan.client.consumer.slot for plan in plans], [plan.poll for plan in plans])

    # --- carrying out -------------------------------------------------------------------------------------------------

    def _start(self, plan: Rejoin) -> None:
        self._group.ledger.stop_at([plan.client.consumer.slot], [FOREVER])
        plan.client.hush.wake()

    def _carry_out(self, plans: Sequence[Rejoin]) -> None:
        group, clients = self._group, [plan.client for plan in plans]
        group.ledger.stop_at([client.consumer.slot for client in clients], [FOREVER] * len(plans))
        exchanges = [self._join(plan) for plan in plans]
        beats = [plan.beat for plan in plans]
        group.count_quietly(Api.HEARTBEAT, Error.NONE, beats, -1)
        group.count_quietly(Api.HEARTBEAT, REBALANCING, beats, 1)
        polls = np.array([plan.poll for plan in plans], np.int64)
        group.count_quietly(Api.OFFSET_COMMIT, Error.NONE, polls, 1)
        partitions, offsets = end_services(group, [client.service for client in clients], polls, REVOKED)
        group.ledger.commit(partitions, offsets, self.since, contested=False)
        group.waves.unarmed |= dict.fromkeys(clients)
        group.receive(exchanges, [plan.end[0] for plan in plans])

    def _join(self, plan: Rejoin) -> Exchange:
        """Take one member to where its JoinGroup is parked."""
        client = plan.client
        machine, requests, generation = client.machine, client.requests, client.machine.generation
        client.hush.leave(plan.quiet)
        machine.on_heartbeat_response(plan.told, REBALANCING, generation)
        machine.on_poll(plan.poll)
        machine.on_commit_response(plan.join, Error.NONE, generation)
        (send,) = machine.on_listener_done(plan.join)
        assert isinstance(send, Send)
        assert isinstance(send.body, JoinGroup)
        client.application.cadence = None
        requests.count_join()
        requests.take_number("commit")
        return requests.parked(
            plan.join, Api.JOIN_GROUP, send.body, plan.latency, (plan.end[0], plan.committed, plan.join)
        )


def _until_poll(hush: Hush, now: int, beat: int, told: int) -> Rejoin | None:
    """A member's way from its next heartbeat to the poll that acts on the answer; None if it is not clear."""
    quiet, client = hush.known, hush.client
    cadence = quiet.cadence
    assert cadence is not None
    poll = cadence.reaction(told)
    if poll >= beat + quiet.heartbeat_interval or quiet.next_start <= poll:
        return None
    then = quiet.fork()
    then.catch_up((poll, quiet.keys.poll))
    if not hush.goes_alone(then, now, beat):
        return None
    return Rejoin(client, (0, 0), then, beat, told, poll, 0, 0, (0, 0))
