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

from sim.actors.crowd import Crowd
from sim.actors.quiet import Train
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

    ``told``: the answer to its next heartbeat is read; ``poll``: the commit is sent and consumption stops;
    ``committed``: the coordinator's answer to it leaves; ``join``: JoinGroup is sent. ``heartbeats`` and ``commits``
    are as of ``poll``; ``beat`` is when the last of those heartbeats was sent.
    """

    heartbeats: Train
    commits: Train
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
        awake = [hush for hush in hushes if not hush.known.is_frozen_at(moment)]
        if not awake:
            return []
        crowd = Crowd([hush.known for hush in awake], [hush.round_trip_us for hush in awake])
        paths = [hush.client.path for hush in awake]
        service_us = awake[0].client.world.timing.service_us
        beats, numbers = crowd.next_beats(moment)
        told = beats + service_us + round_trips(paths, "heartbeat", numbers).sum(axis=0)
        polls = crowd.reactions(told)
        clear = (polls < beats + crowd.heartbeats.interval) & (crowd.next_start > polls)
        crowd.catch_up(beats, polls)
        alone = crowd.go_alone(moment[0], beats)
        for index in np.flatnonzero(clear & ~alone).tolist():
            clear[index] = awake[index].goes_alone(moment[0], int(beats[index]), int(polls[index]))
        return self._until_join(awake, crowd, beats, told, polls, clear)

    def _until_join(
        self, hushes: Sequence[Hush], crowd: Crowd, beats: Times, told: Times, polls: Times, clear: NDArray[np.bool_]
    ) -> list[Rejoin]:
        """Times of the commit and of the JoinGroup that follow the poll; only of those that no pause can touch."""
        timing, paths = hushes[0].client.world.timing, [hush.client.path for hush in hushes]
        up, down = round_trips(paths, "commit", crowd.commits.number)
        committed = polls + up + timing.service_us + timing.append_us
        joins = committed + down
        others = np.array([hush.client.requests.numbers["other"] for hush in hushes], np.int64)
        up, down = round_trips(paths, "other", others)
        ends = joins + up + timing.join_prepare_us
        # Nobody may pause before the last one is through: nothing would ring for it.
        clear &= crowd.next_start > ends[clear].max(initial=0)
        times = (column.tolist() for column in (ends, beats, told, polls, committed, joins, up, down))
        rows = zip(hushes, crowd.heartbeats.single(), crowd.commits.single(), clear.tolist(), *times, strict=True)
        return [
            Rejoin(
                hush.client, (end, hush.known.keys.request),
                heartbeats, commits, beat, at, poll, answered, join, (there, back),
            )
            for hush, heartbeats, commits, is_clear, end, beat, at, poll, answered, join, there, back in rows
            if is_clear
        ]  # fmt: skip

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
        group.requests.count_quietly(Api.HEARTBEAT, Error.NONE, beats, -1)
        group.requests.count_quietly(Api.HEARTBEAT, REBALANCING, beats, 1)
        polls = np.array([plan.poll for plan in plans], np.int64)
        group.requests.count_quietly(Api.OFFSET_COMMIT, Error.NONE, polls, 1)
        partitions, offsets = end_services(group, [client.service for client in clients], polls, REVOKED)
        group.ledger.commit(partitions, offsets, self.since, contested=False)
        due = [
            min(client.standstill.next_start, one.given_up_us) for client, one in zip(clients, exchanges, strict=True)
        ]
        group.waves.parked.add(clients, due)
        group.receive(exchanges, [plan.end[0] for plan in plans])

    def _join(self, plan: Rejoin) -> Exchange:
        """Take one member to where its JoinGroup is parked."""
        client = plan.client
        machine, requests, generation = client.machine, client.requests, client.machine.generation
        client.hush.leave(plan.heartbeats, plan.commits)
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
