"""From Stable to consumption: members that get their assignment, fetch their offsets, and begin to read.

A SyncGroup response is read at once; the assignment is adopted, the committed offsets are asked for, and with the first
fetch consumption begins. From then on the member is quiet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.availability import SHORT_PAUSE_US
from groupsim.sim.books.bulk_consumption import begin_consumption
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.client.fetching.data_connections import Trips, first_fetch
from groupsim.sim.client.fetching.offset_reset import where_to_begin
from groupsim.sim.client.polling.heartbeat_thread import after_wait
from groupsim.sim.client.polling.pace import Load
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.fastpath.itineraries.classic_answer import AnswerPhase, sessions_last
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.fastpath.phases.deferred import NO_COMMITS, SYNCED
from groupsim.sim.fastpath.quiet.poll_schedules import Floats
from groupsim.sim.fastpath.quiet.steady_state import commits_apart
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.classic.membership import COMPLETING
from groupsim.sim.protocol.interface import Reply
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api, Error, Positions, within
from groupsim.sim.units import FOREVER


class ResumePhase(AnswerPhase):
    """Members between their SyncGroup response and their first fetch."""

    NUMBER = 3
    STAGE = SYNCED

    def _whose(self, exchange: Exchange, response: Any) -> str | None:
        is_current = exchange.body.generation == self._group.machine.generation
        follows = is_current and response.error is Error.NONE and response.assignment.size
        return exchange.body.member_id if follows else None

    def _takes_on(self, slot: int, stage: int) -> bool:
        return super()._takes_on(slot, stage) and not self._deferred.is_cooperative[slot]

    def _follows(self, client: Client) -> bool:
        machine = client.machine
        follows = machine.state is COMPLETING and not machine.is_leader and not machine.has_news
        return follows and not machine.cooperative

    def _answer(self, slot: int) -> tuple[Exchange, Any]:
        exchange = self._deferred.sync[slot]
        assert exchange is not None
        return exchange, self._deferred.now.sync_response[slot]

    def _read(self, positions: Positions) -> NDArray[np.bool_]:
        parts = self._deferred.now.partitions[self._slots]
        begins = np.cumsum([0, *map(len, parts[:-1])])
        found: NDArray[np.bool_] = np.logical_or.reduceat(within(np.concatenate(parts), positions), begins)
        return found

    # --- planning -----------------------------------------------------------------------------------------------------

    def _plan(self, slots: Slots, replies: Sequence[Reply], leave_us: int) -> NDArray[np.bool_]:
        deferred, now, group = self._deferred, self._deferred.now, self._group
        exchanges: list[Any] = [reply.waiter for reply in replies]
        for slot, exchange, reply in zip(slots.tolist(), exchanges, replies, strict=True):
            deferred.sync[slot] = exchange
            now.sync_response[slot] = reply.response
            now.handle[slot] = group.books.handles[exchange.body.member_id]
        self._load_beats(slots)
        now.told[slots] = self._told(slots, exchanges, leave_us)
        clear = self._with_positions(slots, deferred.arrived[slots], deferred.other[slots])
        clear &= sessions_last(group, deferred, slots)
        which = slots[clear]
        self._depart(which, now.begun[which], deferred.fetched_key[which])
        return clear

    def _with_positions(self, slots: Slots, synced: Column, other: Column) -> NDArray[np.bool_]:
        """What they will consume, from where, and how fast; with whom nothing interferes.

        ``synced``: arrival of their SyncGroups, microseconds; ``other``: number of the request that follows it.
        """
        ledger, now = self._group.books.ledger, self._deferred.now
        assigned: list[Positions] = [response.assignment for response in now.sync_response[slots]]
        lengths = np.array([len(one) for one in assigned])
        partitions: Positions = np.concatenate(assigned)
        partitions = partitions[np.lexsort((partitions, np.repeat(np.arange(len(slots)), lengths)))]
        begins = np.cumsum(lengths) - lengths
        offsets = ledger.committed[partitions]
        is_alike = self._time(slots, lengths, partitions, synced, other)
        if (offsets < 0).any():
            offsets = self._reset(slots, partitions, offsets, lengths)
        for slot, begin, end in zip(slots.tolist(), begins.tolist(), (begins + lengths).tolist(), strict=True):
            now.partitions[slot], now.offsets[slot] = partitions[begin:end], offsets[begin:end]
        rates, backlogs = ledger.loads_of(np.repeat(now.begun[slots], lengths), partitions, offsets, begins)
        clear: NDArray[np.bool_] = np.logical_and.reduceat(self._is_plain(partitions), begins)
        clear &= is_alike & (now.begun[slots] < now.first_beat[slots])
        clear &= [self._wants(slot) for slot in slots.tolist()]
        clear &= self._pace(slots, lengths, rates, backlogs)
        # Nobody may pause before the last one is through: nothing would ring for it.
        clear &= self._deferred.next_start[slots] > now.begun[slots[clear]].max(initial=0)
        return clear

    def _time(
        self, slots: Slots, lengths: Column, partitions: Positions, synced: Column, other: Column
    ) -> NDArray[np.bool_]:
        """When offsets are known, and when the first fetch is answered; who begins to read everything at that time."""
        deferred, now, timing = self._deferred, self._deferred.now, self._group.cluster.timing
        three = deferred.times.round_trips("other", np.tile(slots, 3), np.add.outer(range(3), other).ravel())
        offsets, positions, fetch = three.reshape(2, 3, -1).swapaxes(0, 1)
        asked = now.asked[slots] = np.maximum(synced + 1, now.told[slots] + offsets[0])
        known = now.answered[slots] = np.maximum(now.told[slots] + 1, asked + timing.service_us + offsets[1])
        leaders = self._group.books.partitions.leader[partitions]
        worked, is_alike = deferred.parked.worked(slots, known + positions[0], lengths, leaders)
        begun = first_fetch(worked, worked + timing.service_us, Trips(*positions, *fetch), timing.service_us).begun
        now.worked[slots], now.begun[slots] = worked, begun
        return is_alike

    def _reset(self, slots: Slots, partitions: Positions, offsets: Offsets, lengths: NDArray[np.int64]) -> Offsets:
        """``auto.offset.reset`` where nothing is committed."""
        deferred, ledger, begin = self._deferred, self._group.books.ledger, 0
        start = np.zeros(len(partitions), np.int64)
        for slot, length in zip(slots.tolist(), lengths.tolist(), strict=True):
            part = slice(begin, begin + length)
            config, worked = deferred.clients[slot].config, int(deferred.now.worked[slot])
            start[part] = where_to_begin(config, ledger, worked, partitions[part])
            begin += length
        return np.where(offsets < 0, start, offsets)

    def _wants(self, slot: int) -> bool:
        """Whether a member is subscribed to what it is assigned: a static one can get what its predecessor wanted."""
        machine, partitions = self._deferred.clients[slot].machine, self._group.books.partitions
        if machine.instance_id is None or set(partitions.topics) <= set(machine.topics):
            return True
        topics = {partitions.topic[position] for position in self._deferred.now.partitions[slot].tolist()}
        return topics <= set(machine.topics)

    def _is_plain(self, partitions: Positions) -> NDArray[np.bool_]:
        """Read by nobody else."""
        group = self._group
        zombie_owned = [NO_PARTITIONS, *(consumption.partitions for consumption in group.books.delivery.zombies)]
        plain: NDArray[np.bool_] = ~group.books.partitions.mask(np.concatenate(zombie_owned))[partitions]
        return plain

    # --- pace ---------------------------------------------------------------------------------------------------------

    def _pace(self, slots: Slots, lengths: NDArray[np.int64], rates: Floats, backlogs: Floats) -> NDArray[np.bool_]:
        """How the members will poll; whether each can go quiet then, before it has to say anything."""
        deferred = self._deferred
        fits = np.zeros(len(slots), np.bool_)
        for kind in np.unique(deferred.kind[slots]).tolist():
            which = np.flatnonzero(deferred.kind[slots] == kind)
            pace = self._pace_alike if kind >= 0 else self._pace_alone
            fits[which] = pace(slots[which], lengths[which], rates[which], backlogs[which])
        return fits

    def _pace_alike(self, slots: Slots, lengths: NDArray[np.int64], rates: Floats, backlogs: Floats) -> Any:
        """Members of one kind: in closed form, all at once."""
        deferred, now, timing = self._deferred, self._deferred.now, self._group.cluster.timing
        kind = int(deferred.kind[slots[0]])
        config, _ = deferred.kinds[kind]
        load = Load(rates, backlogs)
        paced = deferred.pace(kind, slots, lengths, load)
        schedule = PollSchedule(now.begun[slots], paced, load, now.begun[slots])
        now.follow(slots, schedule)
        now.schedule[slots] = None
        deferred.capacity[slots] = paced.capacity
        longest, strides = schedule.longest_us, np.maximum(schedule.shortest_us, deferred.commit_interval[slots])
        apart = commits_apart(strides, deferred.heartbeat_interval[slots], timing)
        apart |= deferred.commits[slots] == NO_COMMITS
        fits = 2 * longest + deferred.most_pauses[slots] * SHORT_PAUSE_US < config.max_poll_interval_us
        for index in np.flatnonzero(~fits).tolist():
            # Only if all pauses fell into one pass: does that happen?
            one = deferred.elided[slots[index]]
            fits[index] = one.bounds.polls_in_time(int(longest[index]))
        return fits & apart & deferred.may_resume[slots]

    def _pace_alone(self, slots: Slots, lengths: NDArray[np.int64], rates: Floats, backlogs: Floats) -> Any:
        """Members whose passes are drawn: each is asked itself."""
        deferred, fits = self._deferred, []
        rows = zip(slots.tolist(), lengths.tolist(), rates.tolist(), backlogs.tolist(), strict=True)
        for slot, length, rate, backlog in rows:
            client, load, begun = deferred.clients[slot], Load(rate, backlog), deferred.now.begun.item(slot)
            paced = client.fetcher.pacing.pace(length, load)
            schedule = deferred.now.schedule[slot] = client.fetcher.pacing.new_schedule(begun, paced, load, begun)
            deferred.capacity[slot] = paced.capacity
            fits.append(bool(deferred.may_resume[slot]) and deferred.elided[slot].bounds.may_poll_like(schedule))
        return fits

    # --- carrying out -------------------------------------------------------------------------------------------------

    def _carry_out(self, slots: Slots) -> None:
        group, deferred, now = self._group, self._deferred, self._deferred.now
        told, begun, handles = now.told[slots], now.begun[slots], now.handle[slots].astype(np.int32)
        group.books.requests.count_quietly(Api.OFFSET_FETCH, Error.NONE, told, 1)
        lengths = np.array([len(one) for one in now.partitions[slots]])
        partitions: Positions = np.concatenate(list(now.partitions[slots]))
        offsets: Offsets = np.concatenate(list(now.offsets[slots]))
        group.books.availability.receive(np.repeat(told, lengths), np.repeat(handles, lengths), partitions)
        begin_consumption(group.books, slots, handles, begun, partitions, offsets, lengths, deferred.capacity[slots])
        asked = now.asked[slots]
        deferred.order(slots, asked, asked + group.cluster.timing.service_us, now.answered[slots])
        # The first fetch is answered after a poll of that instant.
        upcoming = begun + (deferred.fetched_key[slots] >= deferred.poll_key[slots])
        due = np.where(deferred.commits[slots] == NO_COMMITS, FOREVER, told + deferred.commit_interval[slots])
        now.next_commit[slots] = np.maximum(due, upcoming)
        steps_us = deferred.step_us[slots]
        # poll() returns twice: with the assignment, and with the first records.
        adopted = after_wait(now.waiting_since[slots], told, steps_us)
        now.waiting_since[slots] = after_wait(adopted, begun, steps_us)
        for slot in slots.tolist():
            self._answer(slot)[0].answered = True
            deferred.renewed[slot] = group.suspend(deferred.member_ids[slot])
        deferred.resumed(slots)
