"""From Stable to consumption: members that get their assignment, fetch their offsets, and begin to read.

A SyncGroup response is read at once; the assignment is adopted, the committed offsets are asked for, and with the first
fetch consumption begins. From then on the member is quiet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.actors.answer_wave import Answered, AnswerWave
from sim.actors.quiet import may_be_quiet
from sim.actors.service_books import begin_services
from sim.cadence import Cadence, Load
from sim.kernel.network import Exchange, round_trips
from sim.production import Offsets
from sim.protocol.effects import Adopt
from sim.protocol.membership import COMPLETING
from sim.protocol.messages import NO_PARTITIONS, Api, Error, OffsetFetchResponse, Positions


@dataclass(slots=True, eq=False)
class Resume(Answered):
    """One member's way from the assignment to the first fetch. All times in microseconds.

    ``told``: the assignment is read, and the offsets are asked for; ``asked``: the coordinator works on that;
    ``answered``: its answer is read; ``listed``: where to begin is found out, if nothing is committed (-1: it is); the
    end: the first fetch. ``partitions`` (ascending) are read from ``offsets`` on.
    """

    handle: int = -1
    asked: int = 0
    answered: int = 0
    listed: int = -1
    partitions: Positions | None = None
    offsets: Offsets | None = None
    cadence: Cadence | None = None
    capacity: float = 0.0


class ResumeWave(AnswerWave[Resume]):
    """Members between their SyncGroup response and their first fetch."""

    # --- planning -----------------------------------------------------------------------------------------------------

    def _candidate(self, exchange: Exchange, response: Any, leave_us: int) -> Resume | None:
        client = self._group.client_of(exchange.body.member_id)
        if client is None or response.error is not Error.NONE or not response.assignment.size:
            return None
        machine = client.machine
        follows = machine.state is COMPLETING and not machine.is_leader and not machine.has_news
        if not follows or machine.generation != self._group.machine.generation:
            return None
        if client.config.auto_offset_reset == "none" or not self._waits(client, exchange):
            return None
        return Resume(client, (0, 0), exchange, response, leave_us, handle=self._group.handle_of(machine.member_id))

    def _clear(self, plans: Sequence[Resume]) -> list[Resume]:
        clear = self._with_positions(plans)
        # Nobody may pause before the last one is through: nothing would ring for it.
        last = max((plan.end[0] for plan in clear), default=0)
        return [plan for plan in clear if plan.client.standstill.next_start > last]

    def _time(self, plans: Sequence[Resume], is_reset: Sequence[bool]) -> None:
        """When offsets are known, and when the first fetch is answered.

        ``is_reset``: nothing is committed yet, and where to begin is asked for once more (ListOffsets).
        """
        timing, paths = plans[0].client.world.timing, [plan.client.path for plan in plans]
        numbers = np.array([plan.client.requests.numbers["other"] for plan in plans], np.int64)
        asking = round_trips(paths, "other", numbers).tolist()
        listing = round_trips(paths, "other", numbers + 1).tolist()
        for plan, up, down, up_again, down_again, again in zip(plans, *asking, *listing, is_reset, strict=True):
            plan.asked = max(plan.exchange.connection.up_us + 1, plan.told + up)
            plan.answered = known = max(plan.told + 1, plan.asked + timing.service_us + down)
            if again:
                plan.listed = known + up_again
                known = plan.listed + timing.service_us + down_again
            plan.end = (known + timing.fetch_us, plan.client.fetching.fetched_key)

    def _with_positions(self, plans: Sequence[Resume]) -> list[Resume]:
        """What they will consume, from where, and how fast; only of those in the plain case."""
        ledger = self._group.ledger
        lengths = np.array([len(plan.response.assignment) for plan in plans])
        which = np.repeat(np.arange(len(plans)), lengths)
        partitions = np.concatenate([plan.response.assignment for plan in plans])
        partitions = partitions[np.lexsort((partitions, which))]
        begins = np.cumsum(lengths) - lengths
        offsets = ledger.committed[partitions]
        is_reset = np.logical_or.reduceat(offsets < 0, begins)
        self._time(plans, is_reset.tolist())
        if is_reset.any():
            offsets = self._reset(plans, partitions, offsets, lengths)
        plain = np.logical_and.reduceat(self._is_plain(partitions), begins)
        ends = np.repeat(np.array([plan.end[0] for plan in plans], np.int64), lengths)
        backlogs = np.add.reduceat(np.maximum(ledger.produced(ends, partitions) - offsets, 0), begins).tolist()
        rates = (np.add.reduceat(ledger.rate_mrps[partitions], begins) / 1e9).tolist()
        clear: list[Resume] = []
        rows = zip(plans, begins.tolist(), lengths.tolist(), plain.tolist(), rates, backlogs, strict=True)
        for plan, begin, length, is_plain, rate, backlog in rows:
            plan.partitions, plan.offsets = partitions[begin : begin + length], offsets[begin : begin + length]
            if is_plain and self._pace(plan, Load(rate, float(backlog))):
                clear.append(plan)
        return clear

    def _reset(
        self, plans: Sequence[Resume], partitions: Positions, offsets: Offsets, lengths: NDArray[np.int64]
    ) -> Offsets:
        """``auto.offset.reset`` where nothing is committed."""
        listed = np.repeat(np.array([plan.listed for plan in plans], np.int64), lengths)
        latest = np.repeat([plan.client.config.auto_offset_reset == "latest" for plan in plans], lengths)
        start = np.where(latest, self._group.ledger.produced(listed, partitions), 0)
        return np.where(offsets < 0, start, offsets)

    def _is_plain(self, partitions: Positions) -> NDArray[np.bool_]:
        """Read by nobody else."""
        group = self._group
        haunted = [NO_PARTITIONS, *(service.partitions for service in group.zombies)]
        plain: NDArray[np.bool_] = ~group.partitions.mask(np.concatenate(haunted))[partitions]
        return plain

    def _pace(self, plan: Resume, load: Load) -> bool:
        """How the member will poll; whether it can go quiet then, before it has to say anything."""
        client, (end, _) = plan.client, plan.end
        machine = client.machine
        paced = client.fetching.pace(len(plan.response.assignment), load)
        plan.capacity = paced.capacity
        plan.cadence = client.fetching.new_cadence(end, paced, load, end)
        interval = machine.commit_interval_us
        return (
            end < machine.heartbeat_due
            and may_be_quiet(machine.config, client.world.timing, client.path, plan.cadence, interval)
            and client.hush.polls_in_time(plan.cadence)
        )

    # --- carrying out -------------------------------------------------------------------------------------------------

    def _carry_out(self, plans: Sequence[Resume]) -> None:
        group = self._group
        for plan in plans:
            self._adopt(plan)
        group.requests.count_quietly(Api.OFFSET_FETCH, Error.NONE, [plan.told for plan in plans], 1)
        lengths = [len(plan.response.assignment) for plan in plans]
        partitions: Positions = np.concatenate([plan.partitions for plan in plans])
        offsets: Offsets = np.concatenate([plan.offsets for plan in plans])
        told = np.repeat(np.array([plan.told for plan in plans], np.int64), lengths)
        handles = np.repeat(np.array([plan.handle for plan in plans], np.int32), lengths)
        group.availability.receive(told, handles, partitions)
        begun = np.array([plan.end[0] for plan in plans], np.int64)
        services = [plan.client.service for plan in plans]
        begin_services(group, services, begun, partitions, offsets, lengths, [plan.capacity for plan in plans])
        for plan in plans:
            plan.client.hush.begin(plan.end[0])

    def _adopt(self, plan: Resume) -> None:
        """Take one member to where it consumes."""
        client = plan.client
        machine, requests = client.machine, client.requests
        machine.on_sync_response(plan.told, plan.response, machine.generation)
        adopt, _ = machine.on_poll(plan.told)
        assert isinstance(adopt, Adopt)
        assert plan.offsets is not None
        client.service.handle = plan.handle
        client.remember(plan.told, adopt)
        machine.on_listener_done(plan.told)
        machine.on_offsets(plan.answered, OffsetFetchResponse(Error.NONE, plan.offsets))
        plan.exchange.answered = True
        requests.take_number("other")
        if plan.listed >= 0:
            requests.take_number("other")
        service_us = client.world.timing.service_us
        requests.at_rest((plan.asked, plan.asked + service_us, plan.answered))
        client.fetching.count_first()
        client.application.cadence = plan.cadence
        client.metadata.arm(plan.told)
