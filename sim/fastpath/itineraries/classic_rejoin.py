"""From the end of Stable to the JoinGroup: quiet members that learn of a rebalance and rejoin.

A quiet member's next heartbeat is answered REBALANCE_IN_PROGRESS. At its next poll it commits, gives everything up
(a cooperative member goes on consuming), and sends JoinGroup, which is parked. Nothing
of that is seen by others before the last member's JoinGroup has arrived.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.bulk_consumption import end_consumption
from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.books.record import REVOKED
from groupsim.sim.client.fetching.parked_fetch import Chains, by_connection, gathering
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.eligibility import has_cohort
from groupsim.sim.fastpath.phases.busy_members import BusyMembers
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.fastpath.phases.commit_rows import CommitRows, CommitsOfIntervals, CommitsOfPolls
from groupsim.sim.fastpath.phases.deferred import AFTER_BATCH, NO_COMMITS, PRESENT, QUIET, DeferredMembers
from groupsim.sim.fastpath.phases.paused_members import PausedMembers
from groupsim.sim.fastpath.phases.phase import CohortPhase
from groupsim.sim.fastpath.quiescence import Quiescence
from groupsim.sim.fastpath.quiet.steady_columns import SteadyColumns
from groupsim.sim.fastpath.quiet.steady_state import SteadyState
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.protocol.classic.membership import ALREADY_REBALANCING
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api, Error, Positions, Protocols
from groupsim.sim.units import FOREVER

_NOBODY: Slots = np.empty(0, np.intp)
REBALANCING = Error.REBALANCE_IN_PROGRESS


class RejoinPhase(CohortPhase):
    """Quiet members of a group that has left Stable.

    Parameters
    ----------
    env, group, deferred
        Of `CohortPhase`.
    number : int
        What it is known by: who becomes quiet when others are on their way already goes with another.
    others : dict of str to Quiescence
        The quiet members of the group, by member id.
    """

    def __init__(
        self, env: Environment, group: GroupHost, deferred: DeferredMembers, number: int,
        others: dict[str, Quiescence],
    ) -> None:  # fmt: skip
        super().__init__(env, group, deferred)
        self.NUMBER = number
        self._others = others
        self._paused = PausedMembers(deferred)

    def gather(self) -> None:
        """Let all quiet members rejoin, in one go as far as their way is clear."""
        group, deferred = self._group, self._deferred
        if group.machine.state is GroupState.PREPARING_REBALANCE and has_cohort(group):
            moment, quiet = self._env.moment, self._others.values()
            silent, paused = self._paused.part(moment)
            chosen = self._plan(
                silent, [one for one in quiet if one.may_rejoin() and not one.known.is_frozen_at(moment)], paused
            )
            for slot in chosen[deferred.stage[chosen] == PRESENT].tolist():
                self._others.pop(deferred.member_ids[slot])
        self.wake_all()

    def add_late(self, one: Quiescence) -> bool:
        """Let a member rejoin that has gone quiet only now; whether its way is clear."""
        if not (has_cohort(self._group) and one.may_rejoin() and self._plan(_NOBODY, [one], {}).size):
            return False
        self._others.pop(one.member_id)
        return True

    def wake_all(self) -> None:
        """Let all quiet members go on by themselves."""
        deferred = self._deferred
        silent = [deferred.elided[slot] for slot in deferred.silent().tolist()]
        for one in [*silent, *self._others.values()]:
            one.wake()

    def _read(self, positions: Positions) -> NDArray[np.bool_]:
        return np.isin(self._slots, self._group.books.ledger.holders(positions))

    # --- planning -----------------------------------------------------------------------------------------------------

    def _plan(self, silent: Slots, awake: Sequence[Quiescence], paused: Mapping[int, SteadyState]) -> Slots:
        """Plan the way of each, and begin with those whose way is clear."""
        deferred, moment = self._deferred, self._env.moment
        deferred.load(awake)
        for one in awake:
            one.client.metadata.resume(moment)  # a refresh that falls due on the way disturbs it
        known = {**{one.client.consumer.slot: one.known for one in awake}, **paused}
        slots = np.concatenate([silent, np.array(list(known), np.intp)])
        if not slots.size:
            return slots
        steady = deferred.steady(silent, moment)
        if known:
            trips = deferred.round_trip_us[list(known)]
            steady = steady.followed_by(SteadyColumns.of([*known.values()], trips, self._group.books.measure, moment))
        # One by one only the latest commits matter: what is in flight was sent less than two heartbeats ago.
        steady.commits.send_at_polls(steady.schedules, moment[0] - 2 * steady.heartbeats.interval)
        beats, numbers = steady.beats, steady.heartbeats.number.copy()
        learned = beats + self._group.cluster.timing.service_us
        learned += deferred.times.round_trips("heartbeat", slots, numbers).sum(axis=0)
        polled = steady.schedules.reaction(learned)
        busy = [
            BusyMembers(deferred, slots, steady, self._group.cluster.timing, beats, numbers, commits)
            for commits in self._commits(slots, steady, polled)
        ]
        for members in busy:
            learned[members.which] = members.learned
        polled = steady.schedules.reaction(learned)
        clear = (polled < beats + steady.heartbeats.interval) & (steady.next_start > polled)
        steady.send_until(polled)
        for members in busy:
            clear[members.which] &= members.follow(moment[0], polled[members.which])
        chosen = self._until_join(slots, steady, beats, learned, polled, clear, busy)
        self._paused.set_out({slot: paused[slot] for slot in chosen.tolist() if slot in paused})
        return chosen

    def _commits(self, slots: Slots, steady: SteadyColumns, polled: Column) -> tuple[CommitRows, CommitRows]:
        """Commits of those whose requests meet; ``polled``: when each rejoins that sends a heartbeat alone."""
        at_polls = self._deferred.commits[slots] == AFTER_BATCH
        return (
            CommitsOfPolls(steady, np.flatnonzero(at_polls)),
            CommitsOfIntervals(steady, polled, ~at_polls, self._env.now),
        )

    def _until_join(
        self,
        slots: Slots,
        steady: SteadyColumns,
        beats: Column,
        learned: Column,
        polled: Column,
        clear: NDArray[np.bool_],
        busy: Sequence[BusyMembers],
    ) -> Slots:
        """Times of the commit and of the JoinGroup that follow the poll; only of those that no pause can touch."""
        deferred, timing = self._deferred, self._group.cluster.timing
        up, down = deferred.times.round_trips("commit", slots, steady.commits.number)
        committed = polled + up + timing.service_us + timing.append_us
        joining = committed + down
        commits_nothing = deferred.commits[slots] == NO_COMMITS
        joining[commits_nothing] = polled[commits_nothing]
        there, back = deferred.times.prepared(Api.JOIN_GROUP, slots, deferred.other[slots])
        joined = joining + there
        acknowledged, arrived = joining.copy(), joined.copy()
        if commits_nothing.any():
            _, back_us = deferred.times.round_trips("heartbeat", slots, steady.heartbeats.number - 1)
            committed[commits_nothing] = (learned - back_us)[commits_nothing]
            acknowledged[commits_nothing] = learned[commits_nothing]
        for one in busy:
            rows = (committed, acknowledged, joining, arrived, joined)
            for row, values in zip(rows, one.join(there[one.which]), strict=True):
                row[one.which] = values
        # A heartbeat that is due before the commit is answered is sent.
        clear &= acknowledged < beats + steady.heartbeats.interval
        clear &= steady.next_start > joined
        now, which = deferred.now, slots[clear]
        now.beat_due[which], now.beat_number[which] = steady.heartbeats.due[clear], steady.heartbeats.number[clear]
        now.commit_due[which], now.commit_number[which] = steady.commits.due[clear], steady.commits.number[clear]
        now.beats[which], now.commits[which] = steady.heartbeats.measured[clear], steady.commits.measured[clear]
        now.sent[which] = steady.commits.sent[clear]
        now.beat[which], now.learned[which], now.polled[which] = beats[clear], learned[clear], polled[clear]
        now.committed[which], now.joining[which], now.joined[which] = committed[clear], joining[clear], joined[clear]
        now.acknowledged[which], now.arrived[which] = acknowledged[clear], arrived[clear]
        now.join_there[which], now.join_back[which] = there[clear], back[clear]
        # Whoever samples the lag meanwhile must know that these stop.
        stops = clear & ~deferred.is_cooperative[slots]
        self._group.books.ledger.stop_at(slots[stops], polled[stops])
        if self.is_under_way:
            for slot, end in zip(which.tolist(), joined[clear].tolist(), strict=True):
                self.add(slot, end, deferred.request_key.item(slot))
        else:
            self.begin(which, joined[clear], deferred.request_key[which])
        return which

    # --- carrying out -------------------------------------------------------------------------------------------------

    def _start(self, slot: int) -> None:
        self._paused.turn_back(slot)
        self._group.books.ledger.stop_at(np.array([slot]), FOREVER)
        self._deferred.elided[slot].wake()

    def _carry_out(self, slots: Slots) -> None:
        group, deferred, columns = self._group, self._deferred, self._deferred.now
        group.books.ledger.stop_at(slots, FOREVER)
        is_silent = deferred.stage[slots] == QUIET
        for slot in slots[~is_silent].tolist():
            deferred.elided[slot].leave()
        self._paused.arrive(slots)
        polled = columns.polled[slots]
        requests = group.books.requests
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
        deferred.rejoined(slots)
        told: dict[Hashable, Protocols] = {}
        exchanges = [self._join(*one, told) for one in zip(slots.tolist(), keeps.tolist(), strict=True)]
        given_up = np.array([exchange.given_up_us for exchange in exchanges], np.int64)
        self._deferred.barrier.add(slots, np.minimum(deferred.next_start[slots], given_up))
        group.receive(exchanges, columns.joined[slots].tolist())

    def _end_consumption(self, slots: Slots, is_silent: NDArray[np.bool_]) -> None:
        """Consumption stops, and what has been processed is committed by those who commit."""
        if not slots.size:
            return
        group, deferred, was = self._group, self._deferred, self._deferred.was
        parts: list[Positions] = list(was.partitions[slots])
        handles, begun, restarted = was.handle[slots], list(was.begun[slots]), np.zeros(len(slots), np.int64)
        for index in np.flatnonzero(~is_silent).tolist():
            client = deferred.clients[slots[index]]
            consumption, restarted[index] = client.consumption, client.connections.restarted_us
            parts[index], handles[index], begun[index] = consumption.partitions, consumption.handle, consumption.since
        lengths = np.array([len(part) for part in parts])
        since = _flat(begun, lengths)
        polled = deferred.now.polled[slots]
        self._park(slots, np.concatenate(parts), lengths, np.maximum(since, np.repeat(restarted, lengths)))
        partitions, offsets = end_consumption(group.books, slots, handles, parts, since, polled, REVOKED)
        commits = deferred.commits[slots] != NO_COMMITS
        group.log.commit_each(deferred.now.sent[slots] + commits, parts)
        committed = np.repeat(commits, lengths)
        moment = (np.repeat(self._committed_us(slots), lengths)[committed], self.since[1])
        group.books.ledger.commit(partitions[committed], offsets[committed], moment, contested=False)

    def _committed_us(self, slots: Slots) -> Column:
        """When the coordinator worked on the last commits of these, microseconds. Shape (n,)."""
        timing = self._group.cluster.timing
        return self._deferred.now.committed[slots] - timing.service_us - timing.append_us

    def _park(self, slots: Slots, partitions: Positions, lengths: Column, since: Column) -> None:
        """The fetches that are parked when these stop stay where they are until they are over."""
        deferred, books = self._deferred, self._group.books
        members, leaders = np.repeat(np.arange(len(slots)), lengths), books.partitions.leader[partitions]
        order, begins = by_connection(members, leaders)
        whose = members[order][begins]
        least = deferred.fetch_min_bytes[slots][whose]
        chains = Chains(
            books.ledger, partitions[order], begins, since[order], books.ledger.services.caught_up(slots)[whose],
            deferred.fetch_period[slots][whose],
            gathering(books.ledger, books.partitions.record_bytes, partitions[order], begins, least),
        )  # fmt: skip
        polled = deferred.now.polled[slots]
        deferred.parked.stop(
            slots, polled, whose, leaders[order][begins].astype(np.int64), chains.parked_until(polled[whose])
        )

    def _commit(self, slots: Slots) -> None:
        """What these have processed is committed; they go on."""
        if not slots.size:
            return
        ledger, deferred = self._group.books.ledger, self._deferred
        parts = [deferred.clients[slot].consumption.partitions for slot in slots.tolist()]
        partitions, lengths = np.concatenate(parts), [len(part) for part in parts]
        offsets, _ = ledger.positions_of(slots, partitions, lengths, deferred.now.polled[slots])
        self._group.log.commit_each(deferred.now.sent[slots] + 1, parts)
        ledger.commit(
            partitions, offsets, (np.repeat(self._committed_us(slots), lengths), self.since[1]), contested=False
        )

    def _join(self, slot: int, keeps: bool, told: dict[Hashable, Protocols]) -> Exchange:
        """The JoinGroup of one member, parked; ``told``: what those tell of themselves that keep nothing."""
        deferred, one = self._deferred, self._deferred.elided[slot]
        deferred.join[slot] = None
        machine = one.client.machine
        if one.has_memory or (keeps and deferred.kind[slot] < 0):
            one.look()
        else:
            protocols = machine.protocols_of(*self._kept(slot)) if keeps else self._told(machine, told)
            request = machine.join_request(protocols, ALREADY_REBALANCING)
            deferred.join[slot] = deferred.join_request(slot, request)
        exchange = deferred.join[slot]
        assert exchange is not None
        return exchange

    def _told(self, machine: ClassicMember, told: dict[Hashable, Protocols]) -> Protocols:
        """What a member tells of itself that keeps nothing: all of one configuration tell the same."""
        alike = (id(machine.config), machine.topics)
        protocols = told.get(alike)
        if protocols is None:
            protocols = told[alike] = machine.protocols_of(NO_PARTITIONS, self._group.machine.generation)
        return protocols

    def _kept(self, slot: int) -> tuple[Positions, int]:
        """What a member keeps while it rejoins, and of which generation it has that; its assignors know of it."""
        deferred, client = self._deferred, self._deferred.clients[slot]
        partitions, generation = client.consumption.partitions, client.machine.generation
        if deferred.has_round[slot]:
            joined = deferred.was.join_response[slot]
            generation = joined.generation
            # Of assignors that remember anything only cooperative-sticky comes here, and it keeps the generation alone.
            client.rebalancing.tell_assignors(joined.protocol, NO_PARTITIONS, generation)
        return partitions, generation


def _flat(times: Sequence[int | Column], lengths: Column) -> Column:
    """One time of each member, or one for each of its partitions, as one for each partition."""
    flat, end = np.empty(int(lengths.sum()), np.int64), 0
    for one, length in zip(times, lengths.tolist(), strict=True):
        begin, end = end, end + length
        flat[begin:end] = one
    return flat
