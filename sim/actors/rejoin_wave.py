"""From the end of Stable to the JoinGroup: quiet members that learn of a rebalance and rejoin.

A quiet member's next heartbeat is answered REBALANCE_IN_PROGRESS. At its next poll it commits, gives everything up
(eager assignors; a cooperative member goes on consuming and stays loud), and sends JoinGroup, which is parked. Nothing
of that is seen by others before the last member's JoinGroup has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.actors.crowd import Crowd
from groupsim.sim.actors.lap import Column
from groupsim.sim.actors.laps import PRESENT, QUIET
from groupsim.sim.actors.service_books import end_services
from groupsim.sim.actors.wave import Wave
from groupsim.sim.actors.wave_terms import may_rejoin
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.ledger import Slots
from groupsim.sim.protocol.membership import ALREADY_REBALANCING
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api, Error, GroupState, Positions
from groupsim.sim.recorder import REVOKED
from groupsim.sim.units import FOREVER

if TYPE_CHECKING:
    from groupsim.sim.actors.client import Client
    from groupsim.sim.actors.hush import Hush

REBALANCING = Error.REBALANCE_IN_PROGRESS


class RejoinWave(Wave):
    """Quiet members of a group that has left Stable."""

    NUMBER = 1

    def gather(self) -> None:
        """Let all quiet members rejoin, in one go as far as their way is clear."""
        group, laps = self._group, self._laps
        silent = self._still_silent()
        if group.machine.state is GroupState.PREPARING_REBALANCE and group.waves.is_possible:
            moment, quiet = self._env.moment, group.quiet.values()
            chosen = self._plan(
                silent, [one for one in quiet if may_rejoin(one) and not one.known.is_frozen_at(moment)]
            )
            for slot in chosen[laps.stage[chosen] == PRESENT].tolist():
                group.quiet.pop(laps.member_ids[slot])
        stay = [laps.clients[slot].hush for slot in laps.silent().tolist()]
        for hush in [*stay, *group.quiet.values()]:
            hush.wake()

    def _still_silent(self) -> Slots:
        """Those whose objects are behind and can be: who has paused since must know of that itself."""
        laps = self._laps
        silent = laps.silent()
        paused = laps.next_start[silent] <= self._env.now
        for slot in silent[paused].tolist():
            laps.clients[slot].catch_up()
        return silent[~paused]

    # --- planning -----------------------------------------------------------------------------------------------------

    def _plan(self, silent: Slots, awake: Sequence[Hush]) -> Slots:
        """Plan the way of each, and begin with those whose way is clear."""
        laps, moment = self._laps, self._env.moment
        if not silent.size and not awake:
            return silent
        laps.load([hush.client for hush in awake])
        slots = np.concatenate([silent, np.array([hush.client.consumer.slot for hush in awake], np.intp)])
        crowd = laps.crowd(silent)
        if awake:
            known, trips = [hush.known for hush in awake], [hush.round_trip_us for hush in awake]
            crowd = crowd.followed_by(Crowd.of(known, trips, self._group.measure))
        beats, numbers = crowd.next_beats(moment)
        learned = beats + self._group.cluster.timing.service_us
        learned += laps.round_trips("heartbeat", slots, numbers).sum(axis=0)
        polled = crowd.reactions(learned)
        clear = (polled < beats + crowd.heartbeats.interval) & (crowd.next_start > polled)
        crowd.catch_up(beats, polled)
        for index in np.flatnonzero(clear & ~crowd.go_alone(moment[0], beats)).tolist():
            client: Client = laps.clients[slots[index]]
            client.catch_up()
            clear[index] = client.hush.goes_alone(moment[0], int(beats[index]), int(polled[index]))
        return self._until_join(slots, crowd, beats, learned, polled, clear)

    def _until_join(
        self, slots: Slots, crowd: Crowd, beats: Column, learned: Column, polled: Column, clear: NDArray[np.bool_]
    ) -> Slots:
        """Times of the commit and of the JoinGroup that follow the poll; only of those that no pause can touch."""
        laps, timing = self._laps, self._group.cluster.timing
        up, down = laps.round_trips("commit", slots, crowd.commits.number)
        committed = polled + up + timing.service_us + timing.append_us
        joining = committed + down
        there, back = laps.round_trips("other", slots, laps.other[slots])
        joined = joining + there + timing.join_prepare_us
        # Nobody may pause before the last one is through: nothing would ring for it.
        clear &= crowd.next_start > joined[clear].max(initial=0)
        now, which = laps.now, slots[clear]
        now.beat_due[which], now.beat_number[which] = crowd.heartbeats.due[clear], crowd.heartbeats.number[clear]
        now.commit_due[which], now.commit_number[which] = crowd.commits.due[clear], crowd.commits.number[clear]
        now.beats[which], now.commits[which] = crowd.heartbeats.measured[clear], crowd.commits.measured[clear]
        now.beat[which], now.learned[which], now.polled[which] = beats[clear], learned[clear], polled[clear]
        now.committed[which], now.joining[which], now.joined[which] = committed[clear], joining[clear], joined[clear]
        now.join_there[which], now.join_back[which] = there[clear], back[clear]
        # Whoever samples the lag meanwhile must know that these stop.
        self._group.ledger.stop_at(which, polled[clear])
        self.begin(which, joined[clear], laps.request_key[which])
        return which

    # --- carrying out -------------------------------------------------------------------------------------------------

    def _start(self, slot: int) -> None:
        self._group.ledger.stop_at(np.array([slot]), FOREVER)
        self._laps.clients[slot].hush.wake()

    def _carry_out(self, slots: Slots) -> None:
        group, laps, lap = self._group, self._laps, self._laps.now
        group.ledger.stop_at(slots, FOREVER)
        is_silent = laps.stage[slots] == QUIET
        for slot in slots[~is_silent].tolist():
            laps.clients[slot].hush.leave()
        polled = lap.polled[slots]
        requests = group.requests
        requests.count_measured(Api.HEARTBEAT, int(lap.beats[slots].sum()))
        requests.count_measured(Api.OFFSET_COMMIT, int(lap.commits[slots].sum()))
        requests.count_quietly(Api.HEARTBEAT, Error.NONE, lap.beat[slots], -1)
        requests.count_quietly(Api.HEARTBEAT, REBALANCING, lap.beat[slots], 1)
        requests.count_quietly(Api.OFFSET_COMMIT, Error.NONE, polled, 1)
        self._end_services(slots, is_silent)
        laps.order(slots, lap.joined[slots], lap.committed[slots], lap.joining[slots])
        laps.rejoined(slots)
        exchanges = [self._join(slot) for slot in slots.tolist()]
        given_up = np.array([exchange.given_up_us for exchange in exchanges], np.int64)
        group.waves.parked.add(slots, np.minimum(laps.next_start[slots], given_up))
        group.receive(exchanges, lap.joined[slots].tolist())

    def _end_services(self, slots: Slots, is_silent: NDArray[np.bool_]) -> None:
        """Consumption stops, and what has been processed is committed."""
        group, laps, was = self._group, self._laps, self._laps.was
        parts: list[Positions] = list(was.partitions[slots])
        handles, since = was.handle[slots], list(was.begun[slots])
        for index in np.flatnonzero(~is_silent).tolist():
            service = laps.clients[slots[index]].service
            parts[index], handles[index], since[index] = service.partitions, service.handle, service.since
        polled = laps.now.polled[slots]
        partitions, offsets = end_services(group, slots, handles, parts, since, polled, REVOKED)
        group.ledger.commit(partitions, offsets, self.since, contested=False)

    def _join(self, slot: int) -> Exchange:
        """The JoinGroup of one member, parked."""
        laps, client = self._laps, self._laps.clients[slot]
        laps.join[slot] = None
        if client.has_memory:
            client.catch_up()
        else:
            request = client.machine.join_request(NO_PARTITIONS, self._group.machine.generation, ALREADY_REBALANCING)
            laps.join[slot] = laps.join_request(slot, request)
        exchange = laps.join[slot]
        assert exchange is not None
        return exchange
