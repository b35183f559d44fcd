"""From the end of Stable to the JoinGroup: quiet members that learn of a rebalance and rejoin.

A quiet member's next heartbeat is answered REBALANCE_IN_PROGRESS. At its next poll it commits, gives everything up
(a cooperative member goes on consuming), and sends JoinGroup, which is parked. Nothing
of that is seen by others before the last member's JoinGroup has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.ledger import Slots
from groupsim.sim.books.record import REVOKED
from groupsim.sim.fastpath.bulk_consumption import end_consumption
from groupsim.sim.fastpath.busy_members import BusyMembers
from groupsim.sim.fastpath.cohort import CohortPhase
from groupsim.sim.fastpath.columns import Column
from groupsim.sim.fastpath.deferred import NO_COMMITS, PRESENT, QUIET
from groupsim.sim.fastpath.eligibility import may_rejoin
from groupsim.sim.fastpath.steady_columns import SteadyColumns
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.classic.membership import ALREADY_REBALANCING
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api, Error, GroupState, Positions
from groupsim.sim.units import FOREVER

if TYPE_CHECKING:
    from groupsim.sim.client.client import Client
    from groupsim.sim.cluster.group_host import GroupHost
    from groupsim.sim.fastpath.deferred import DeferredMembers
    from groupsim.sim.fastpath.quiescence import Quiescence
    from groupsim.sim.kernel.environment import Environment

REBALANCING = Error.REBALANCE_IN_PROGRESS


class RejoinPhase(CohortPhase):
    """Quiet members of a group that has left Stable.

    Parameters
    ----------
    env, group, deferred
        Of `CohortPhase`.
    number : int
        What it is known by: who becomes quiet when others are on their way already goes with another.
    """

    def __init__(self, env: Environment, group: GroupHost, deferred: DeferredMembers, number: int) -> None:
        super().__init__(env, group, deferred)
        self.NUMBER = number

    def gather(self) -> None:
        """Let all quiet members rejoin, in one go as far as their way is clear."""
        group, deferred = self._group, self._laps
        silent = self._still_silent()
        if group.machine.state is GroupState.PREPARING_REBALANCE and group.cohort.is_possible:
            moment, quiet = self._env.moment, group.quiet.values()
            chosen = self._plan(
                silent, [one for one in quiet if may_rejoin(one) and not one.known.is_frozen_at(moment)]
            )
            for slot in chosen[deferred.stage[chosen] == PRESENT].tolist():
                group.quiet.pop(deferred.member_ids[slot])
        wake_all(group)

    def _still_silent(self) -> Slots:
        """Those whose objects are behind and can be: who has paused since must know of that itself."""
        deferred = self._laps
        silent = deferred.silent()
        paused = deferred.next_start[silent] <= self._env.now
        for slot in silent[paused].tolist():
            deferred.clients[slot].catch_up()
        return silent[~paused]

    # --- planning -----------------------------------------------------------------------------------------------------

    def _plan(self, silent: Slots, awake: Sequence[Quiescence]) -> Slots:
        """Plan the way of each, and begin with those whose way is clear."""
        deferred, moment = self._laps, self._env.moment
        if not silent.size and not awake:
            return silent
        deferred.load([quiescence.client for quiescence in awake])
        slots = np.concatenate([silent, np.array([quiescence.client.consumer.slot for quiescence in awake], np.intp)])
        steady = deferred.steady(silent)
        if awake:
            known, trips = (
                [quiescence.known for quiescence in awake],
                [quiescence.round_trip_us for quiescence in awake],
            )
            steady = steady.followed_by(SteadyColumns.of(known, trips, self._group.measure))
        beats, numbers = steady.next_beats(moment)
        learned = beats + self._group.cluster.timing.service_us
        learned += deferred.round_trips("heartbeat", slots, numbers).sum(axis=0)
        busy = BusyMembers(deferred, slots, steady, self._group.cluster.timing, beats, numbers)
        learned[busy.which] = busy.learned
        polled = steady.reactions(learned)
        clear = (polled < beats + steady.heartbeats.interval) & (steady.next_start > polled)
        steady.catch_up(beats, polled)
        clear[busy.which] &= busy.follow(moment[0], polled[busy.which])
        clear[busy.others] = False
        alone = steady.go_alone(moment[0], beats)
        alone[busy.which] = True
        for index in np.flatnonzero(clear & ~alone).tolist():
            client: Client = deferred.clients[slots[index]]
            client.catch_up()
            clear[index] = client.quiescence.goes_alone(moment[0], int(beats[index]), int(polled[index]))
        return self._until_join(slots, steady, beats, learned, polled, clear, busy)

    def _until_join(
        self,
        slots: Slots,
        steady: SteadyColumns,
        beats: Column,
        learned: Column,
        polled: Column,
        clear: NDArray[np.bool_],
        busy: BusyMembers,
    ) -> Slots:
        """Times of the commit and of the JoinGroup that follow the poll; only of those that no pause can touch."""
        deferred, timing = self._laps, self._group.cluster.timing
        up, down = deferred.round_trips("commit", slots, steady.commits.number)
        committed = polled + up + timing.service_us + timing.append_us
        joining = committed + down
        commits_nothing = deferred.commits[slots] == NO_COMMITS
        joining[commits_nothing] = polled[commits_nothing]
        there, back = deferred.round_trips("other", slots, deferred.other[slots])
        joined = joining + there + timing.join_prepare_us
        acknowledged, arrived = joining.copy(), joined.copy()
        if commits_nothing.any():
            _, back_us = deferred.round_trips("heartbeat", slots, steady.heartbeats.number - 1)
            committed[commits_nothing] = (learned - back_us)[commits_nothing]
            acknowledged[commits_nothing] = learned[commits_nothing]
        which = busy.which
        joining[which] = polled[which]
        arrived[which], joined[which], committed[which], acknowledged[which] = busy.join(there[which])
        # Nobody may pause before the last one is through: nothing would ring for it.
        clear &= steady.next_start > joined[clear].max(initial=0)
        now, which = deferred.now, slots[clear]
        now.beat_due[which], now.beat_number[which] = steady.heartbeats.due[clear], steady.heartbeats.number[clear]
        now.commit_due[which], now.commit_number[which] = steady.commits.due[clear], steady.commits.number[clear]
        now.beats[which], now.commits[which] = steady.heartbeats.measured[clear], steady.commits.measured[clear]
        now.beat[which], now.learned[which], now.polled[which] = beats[clear], learned[clear], polled[clear]
        now.committed[which], now.joining[which], now.joined[which] = committed[clear], joining[clear], joined[clear]
        now.acknowledged[which], now.arrived[which] = acknowledged[clear], arrived[clear]
        now.join_there[which], now.join_back[which] = there[clear], back[clear]
        # Whoever samples the lag meanwhile must know that these stop.
        stops = clear & ~deferred.is_cooperative[slots]
        self._group.ledger.stop_at(slots[stops], polled[stops])
        self.begin(which, joined[clear], deferred.request_key[which])
        return which

    # --- carrying out -------------------------------------------------------------------------------------------------

    def _start(self, slot: int) -> None:
        self._group.ledger.stop_at(np.array([slot]), FOREVER)
        self._laps.clients[slot].quiescence.wake()

    def _carry_out(self, slots: Slots) -> None:
        group, deferred, columns = self._group, self._laps, self._laps.now
        group.ledger.stop_at(slots, FOREVER)
        is_silent = deferred.stage[slots] == QUIET
        for slot in slots[~is_silent].tolist():
            deferred.clients[slot].quiescence.leave()
        polled = columns.polled[slots]
        requests = group.requests
        requests.count_measured(Api.HEARTBEAT, int(columns.beats[slots].sum()))
        requests.count_measured(Api.OFFSET_COMMIT, int(columns.commits[slots].sum()))
        requests.count_quietly(Api.HEARTBEAT, Error.NONE, columns.beat[slots], -1)
        requests.count_quietly(Api.HEARTBEAT, REBALANCING, columns.beat[slots], 1)
        commits = deferred.commits[slots] != NO_COMMITS
        requests.count_quietly(Api.OFFSET_COMMIT, Error.NONE, polled[commits], 1)
        keeps = deferred.is_cooperative[slots]
        self._end_consumption(slots[~keeps], is_silent[~keeps])
        self._commit(slots[keeps & commits])
        deferred.order(slots, columns.arrived[slots], columns.committed[slots], columns.acknowledged[slots])
        deferred.rejoined(slots[~keeps])
        deferred.rejoined_consuming(slots[keeps])
        exchanges = [self._join(slot) for slot in slots.tolist()]
        given_up = np.array([exchange.given_up_us for exchange in exchanges], np.int64)
        group.cohort.barrier.add(slots, np.minimum(deferred.next_start[slots], given_up))
        group.receive(exchanges, columns.joined[slots].tolist())

    def _end_consumption(self, slots: Slots, is_silent: NDArray[np.bool_]) -> None:
        """Consumption stops, and what has been processed is committed by those who commit."""
        if not slots.size:
            return
        group, deferred, was = self._group, self._laps, self._laps.was
        parts: list[Positions] = list(was.partitions[slots])
        handles, since = was.handle[slots], list(was.begun[slots])
        for index in np.flatnonzero(~is_silent).tolist():
            consumption = deferred.clients[slots[index]].consumption
            parts[index], handles[index], since[index] = consumption.partitions, consumption.handle, consumption.since
        polled = deferred.now.polled[slots]
        partitions, offsets = end_consumption(group, slots, handles, parts, since, polled, REVOKED)
        committed = np.repeat(deferred.commits[slots] != NO_COMMITS, [len(part) for part in parts])
        group.ledger.commit(partitions[committed], offsets[committed], self.since, contested=False)

    def _commit(self, slots: Slots) -> None:
        """What these have processed is committed; they go on."""
        if not slots.size:
            return
        ledger, deferred = self._group.ledger, self._laps
        parts = [deferred.clients[slot].consumption.partitions for slot in slots.tolist()]
        partitions, lengths = np.concatenate(parts), [len(part) for part in parts]
        offsets, _ = ledger.positions_of(slots, partitions, lengths, deferred.now.polled[slots])
        ledger.commit(partitions, offsets, self.since, contested=False)

    def _join(self, slot: int) -> Exchange:
        """The JoinGroup of one member, parked."""
        deferred, client = self._laps, self._laps.clients[slot]
        if deferred.is_cooperative[slot]:
            joined = deferred.join[slot]
            assert joined is not None
            return joined
        deferred.join[slot] = None
        if client.has_memory:
            client.catch_up()
        else:
            request = client.machine.join_request(NO_PARTITIONS, self._group.machine.generation, ALREADY_REBALANCING)
            deferred.join[slot] = deferred.join_request(slot, request)
        exchange = deferred.join[slot]
        assert exchange is not None
        return exchange


def wake_all(group: GroupHost) -> None:
    """Let all quiet members go on by themselves."""
    silent = [group.deferred.clients[slot].quiescence for slot in group.deferred.silent().tolist()]
    for quiescence in [*silent, *group.quiet.values()]:
        quiescence.wake()
