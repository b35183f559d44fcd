"""Members of one group that go from rebalance to rebalance in phases, as columns by slot.

A phase writes down what others can see: books, request counts, and what the coordinator receives. The member's own
machine, its holding and its requests take the same steps when somebody looks at the member (`catch_up`). Mostly nobody
does. So of all the rebalances that a member has gone through only the last is kept: each begins in the same state as
the one before it, but for what its own columns carry over (generation, timers, partitions, numbers).

A member is deferred from its JoinGroup on, if it was quiet before. Who comes to a barrier through events of its own,
whose passes are drawn, or whose assignor keeps state, is never deferred: its own objects take each step at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.client.consumer import Consumer
from groupsim.sim.client.polling.heartbeat_thread import Cadence
from groupsim.sim.client.polling.pace import Load, Pace, pace
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.config import ClientConfig
from groupsim.sim.fastpath.phases.barrier_wait import BarrierWait
from groupsim.sim.fastpath.phases.catch_up import replay_keep, replay_rejoin, replay_resume, replay_sync
from groupsim.sim.fastpath.phases.columns import Column, RoundColumns
from groupsim.sim.fastpath.phases.parked_fetches import ParkedFetches
from groupsim.sim.fastpath.phases.request_times import RequestTimes
from groupsim.sim.fastpath.quiet.beats_of_many import send_before
from groupsim.sim.fastpath.quiet.bounds import Bounds
from groupsim.sim.fastpath.quiet.poll_schedules import PollSchedules
from groupsim.sim.fastpath.quiet.steady_columns import SteadyColumns
from groupsim.sim.fastpath.quiet.steady_state import Keys, SteadyState
from groupsim.sim.fastpath.quiet.trains import Train
from groupsim.sim.kernel.environment import Environment, Moment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Processing
from groupsim.sim.protocol.messages import Api, JoinGroup

PRESENT, QUIET, REJOINED, SYNCED = range(4)
"""How far a member has come in phases while nobody looked: PRESENT if its own objects show everything."""
_BY_THEMSELVES = -1
AUTO, AFTER_BATCH, NO_COMMITS = range(3)
"""Who commits: the consumer, the application at each poll, or nobody."""
_COMMITS = {"auto": AUTO, "after_batch": AFTER_BATCH, "none": NO_COMMITS}


class Elided(Protocol):
    """One client of the fast path (`sim.fastpath.quiescence.Quiescence`)."""

    client: Client
    quiet: SteadyState | None
    keys: Keys
    bounds: Bounds
    is_behind: bool
    """Whether it has done something in a phase that its own objects do not show yet."""

    def fall_silent(self, heartbeat_due: int, commit_due: int, schedule: PollSchedule | None, renewed_us: int) -> None:
        """Heartbeats and commits are arithmetic from these instants on."""
        ...

    def look(self) -> bool:
        """Its own objects show everything that it has done."""
        ...


class Phase(Protocol):
    """A phase that members go through together (`sim.fastpath.phases.phase`)."""

    def release(self, slot: int) -> None:
        """One member is disturbed: it goes on by itself."""
        ...


class DeferredMembers:
    """One group's. Columns have the shape (slots,); a member's entries are valid while it is deferred or in a phase.

    Parameters
    ----------
    env : Environment
    group : GroupHost
    consumers : sequence of Consumer
        Those of the group, by slot.
    slots : int

    Attributes
    ----------
    stage : uint8 array
        `PRESENT`, or where a member is that is behind.
    phase : uint8 array
        Number of the phase that it is in, 0: none.
    now, was : RoundColumns
        The rebalance in hand, and the last complete one of deferred members.
    arrived, left, answered : int64 arrays, microseconds
        Order of the connection: arrival of the last request, departure and arrival of the last answer.
    other : int64 array
        Number of the next request that is neither heartbeat nor commit.
    next_start : int64 array, microseconds
        When the next pause begins.
    leaving : int64 array, microseconds
        When the answer in hand leaves the coordinator.
    renewed : int64 array, microseconds
        Last renewal of a quiet member's session before it fell silent.
    heartbeat_interval, commit_interval, round_trip_us, longest_us, step_us : int64 arrays, microseconds
        The last three are the longest time from a request to its answer, the longest latency, and `Cadence.step_us`.
    has_round : bool array
        Whether its own objects do not show the last complete rebalance.
    is_cooperative : bool array
        Whether it keeps consuming while it rejoins. How it polls is in ``was`` as long as it is deferred or in a phase.
    commits : int64 array
        `AUTO`, `AFTER_BATCH` or `NO_COMMITS`.
    request_key, fetched_key, heartbeat_key, poll_key : int64 arrays
        Where its events stand within an instant.
    kind : int64 array
        Index into ``kinds``, whose members pace their polls alike; -1: its passes are drawn.
    kinds : list of (ClientConfig, Processing)
    slowdown, capacity : float64 arrays
        Factor on what the application does; records per microsecond.
    most_pauses : int64 array
        So many pauses are known of.
    fetch_period : int64 array, microseconds
        `DataConnections.period_us`.
    fetch_min_bytes : int64 array
    parked : ParkedFetches
    times : RequestTimes
    may_resume : bool array
        Whether its configuration lets it be quiet after the last phase.
    clients, elided, member_ids, connections : lists
    join, sync : lists of Exchange or None
        The last request of either kind that a phase deals with.
    """

    def __init__(self, env: Environment, group: GroupHost, consumers: Sequence[Consumer], slots: int) -> None:
        def column() -> Column:
            return np.zeros(slots, np.int64)

        self._group = group
        self.consumers = consumers
        self.phases: tuple[Phase | None, ...] = (None,)
        self.rejoin_late: Callable[[Any], bool] = lambda _: False
        self._stages = bytearray(slots)
        self.stage: NDArray[np.uint8] = np.frombuffer(self._stages, np.uint8)
        self._phases = bytearray(slots)
        self.phase: NDArray[np.uint8] = np.frombuffer(self._phases, np.uint8)
        self.now, self.was = RoundColumns(slots), RoundColumns(slots)
        self.arrived, self.left, self.answered = column(), column(), column()
        self.other, self.next_start, self.leaving, self.renewed = column(), column(), column(), column()
        self.heartbeat_interval, self.commit_interval, self.round_trip_us = column(), column(), column()
        self.request_key, self.fetched_key, self.heartbeat_key, self.poll_key = column(), column(), column(), column()
        self.kind, self.most_pauses, self.longest_us, self.commits = column(), column(), column(), column()
        self.slowdown, self.capacity = np.ones(slots), np.zeros(slots)
        self.step_us, self.fetch_period, self.fetch_min_bytes, self._joins = column(), column(), column(), column()
        self.parked = ParkedFetches(slots)
        self.is_cooperative, self.may_resume, self.has_round = np.zeros((3, slots), np.bool_)
        self.times = RequestTimes(group.cluster.timing, slots)
        self.kinds: list[tuple[ClientConfig, Processing]] = []
        self.clients: list[Any] = [None] * slots
        self.elided: list[Any] = [None] * slots
        self.barrier = BarrierWait(env, self.clients, slots)
        self.member_ids: list[str] = [""] * slots
        self.connections: list[Any] = [None] * slots
        self._cadences: dict[Cadence, int] = {}
        self._cadence_of = np.zeros(slots, np.intp)
        self.join: list[Exchange | None] = [None] * slots
        self.sync: list[Exchange | None] = [None] * slots

    # --- who is where -------------------------------------------------------------------------------------------------

    @property
    def has_silent(self) -> bool:
        """Whether there are any `silent`."""
        return QUIET in self._stages and self.silent().size > 0

    def silent(self) -> Slots:
        """Quiet members that are deferred, and in no phase."""
        return np.flatnonzero((self.stage == QUIET) & (self.phase == 0))

    def stage_of(self, slot: int) -> int:
        """One member's stage."""
        return self._stages[slot]

    def is_in_phase(self, slot: int) -> bool:
        """Whether a member goes through a phase."""
        return self._phases[slot] != 0

    def phase_of(self, slot: int) -> Phase | None:
        """The phase that a member goes through."""
        return self.phases[self._phases[slot]]

    def load(self, members: Iterable[Elided]) -> None:
        """Columns of members whose own objects show everything."""
        for one in members:
            client = one.client
            slot, in_flight = client.consumer.slot, client.in_flight
            connection = in_flight.connection
            assert connection is not None
            if self.clients[slot] is not client:
                self._meet(slot, one)
            self.member_ids[slot], self.connections[slot] = client.machine.member_id, connection
            self.arrived[slot], self.left[slot], self.answered[slot] = connection.order
            self.other[slot] = in_flight.numbers["other"]
            # A quiet member has passed pauses that its timers do not know of.
            self.next_start[slot] = (one.quiet or client.suspension).next_start
            self.most_pauses[slot] = len(client.consumer.pauses)
            self.slowdown[slot] = client.consumer.slowdown()
            self.parked.load(slot, client.connections.parked)
            if self.is_cooperative[slot] and client.poll_loop.schedule is not None:
                self.was.follow(slot, client.poll_loop.schedule)

    def _meet(self, slot: int, one: Elided) -> None:
        """What stays the same for the life of a client."""
        client, keys = one.client, one.keys
        machine = client.machine
        self.clients[slot] = client
        self._cadence_of[slot] = self._cadences.setdefault(client.poll_loop.cadence, len(self._cadences))
        self.heartbeat_interval[slot] = machine.config.heartbeat_interval_us
        self.commit_interval[slot] = machine.commit_interval_us
        self.round_trip_us[slot], self.step_us[slot] = one.bounds.round_trip_us, one.bounds.step_us
        self.longest_us[slot], self.commits[slot] = client.path.longest_us, _COMMITS.get(machine.commits, AUTO)
        self.is_cooperative[slot] = machine.cooperative
        self.request_key[slot], self.heartbeat_key[slot], self.poll_key[slot] = keys.request, keys.heartbeat, keys.poll
        self.fetched_key[slot], self.fetch_period[slot] = client.fetcher.fetched_key, client.connections.period_us
        self.fetch_min_bytes[slot] = client.config.fetch_min_bytes
        self.may_resume[slot] = one.bounds.beats_apart and client.config.auto_offset_reset != "none"
        self.kind[slot] = self._kind_of(client.config, client.processing)
        self.times.meet(slot, client)

    def pace(self, kind: int, slots: Slots, partitions: Column, load: Load) -> Pace:
        """How members of one kind will poll, with so many partitions each, as columns."""
        (config, processing), timing = self.kinds[kind], self._group.cluster.timing
        most = np.minimum(config.max_poll_records, partitions * timing.records_per_fetch)
        return pace(processing, most, timing.poll_us, load, self.slowdown[slots])

    def _kind_of(self, config: ClientConfig, processing: Processing) -> int:
        """Members of one kind pace their polls alike; those whose passes are drawn are asked themselves."""
        if processing.per_record.kind != "constant":
            return _BY_THEMSELVES
        for number, (one, other) in enumerate(self.kinds):
            if one is config and other is processing:
                return number
        self.kinds.append((config, processing))
        return len(self.kinds) - 1

    def join_answer(self, slot: int) -> tuple[Exchange, Any]:
        """The last JoinGroup of a member, and what it is answered."""
        exchange = self.join[slot]
        assert exchange is not None
        return exchange, self.now.join_response[slot]

    def next_commit_number(self, columns: RoundColumns, slots: Slots | int) -> Any:
        """Number of the first commit after a rejoin, which commits unless nobody does."""
        return columns.commit_number[slots] + (self.commits[slots] != NO_COMMITS)

    def steady(self, slots: Slots, moment: Moment) -> SteadyColumns:
        """Quiet members whose objects are behind, at a moment."""
        was, measure, schedules = self.was, self._group.books.measure, self.schedules(slots)
        heartbeats = Train.begun(was.first_beat[slots], was.beat_number[slots], self.heartbeat_interval[slots], measure)
        commits = Train.begun(
            was.next_commit[slots], self.next_commit_number(was, slots), self.commit_interval[slots], measure
        )
        before = moment[0] + (self.heartbeat_key[slots] < moment[1])
        cadences = list(self._cadences), self._cadence_of[slots]
        beats = send_before(schedules, *cadences, heartbeats, was.waiting_since[slots], before)
        return SteadyColumns(heartbeats, beats, commits, schedules, self.next_start[slots], self.round_trip_us[slots])

    def schedules(self, slots: Slots) -> PollSchedules:
        """How members poll whose polls are in ``was``."""
        was, poll_us = self.was, self._group.cluster.timing.poll_us
        drawn = np.flatnonzero(self.kind[slots] == _BY_THEMSELVES).tolist()
        table = [
            was.start[slots], was.held_until[slots], was.full_passes[slots],
            was.full_us[slots], np.full(len(slots), poll_us), was.steady_us[slots], was.steady_wait_us[slots],
        ]  # fmt: skip
        asked = {one: self.clients[slots[one]].poll_loop.schedule for one in drawn}
        return PollSchedules(np.stack(table), asked, was.settling(slots, poll_us))

    # --- steps that the books have ------------------------------------------------------------------------------------

    def order(self, slots: Slots, arrived: Column, left: Column, answered: Column) -> None:
        """One request more on each connection: its arrival, and departure and arrival of the last answer."""
        self.arrived[slots], self.left[slots], self.answered[slots] = arrived, left, answered

    def rejoined(self, slots: Slots) -> None:
        """These have sent JoinGroup, and were quiet before."""
        present = slots[self.stage[slots] == PRESENT]
        self.stage[slots] = REJOINED
        self.other[slots] += 1
        self._joins[slots] += 1
        for slot in present.tolist():
            self.elided[slot].is_behind = True

    def synced(self, slots: Slots) -> None:
        """These have sent SyncGroup."""
        self.other[slots] += 1
        is_behind = self.stage[slots] == REJOINED
        self.stage[slots[is_behind]] = SYNCED
        for slot in slots[~is_behind].tolist():
            client = self.clients[slot]
            replay_sync(client, self.now, slot)
            self.member_ids[slot] = client.machine.member_id  # the answer may have told it
            client.in_flight.hold(self.sync[slot])
            self.return_order(client, slot)

    def resumed(self, slots: Slots) -> None:
        """These consume, and are quiet; they have asked for offsets, for positions, and for records."""
        self.other[slots] += 3
        behind, present = self._quiet_again(slots)
        for slot in behind[self.kind[behind] == _BY_THEMSELVES].tolist():
            self.elided[slot].look()
        for slot in present.tolist():
            client = self.clients[slot]
            replay_resume(client, self.now, slot, self.slowdown.item(slot))
            self.return_order(client, slot)
            self._fall_silent(slot, self.now)
            client.metadata.arm(self.now.told.item(slot))
            client.watch_long_pauses()

    def adopted(self, slots: Slots) -> None:
        """These have adopted what they consume already, and are quiet."""
        _, present = self._quiet_again(slots)
        for slot in present.tolist():
            client = self.clients[slot]
            self.return_order(client, slot)
            replay_keep(client, self.now, slot, self.slowdown.item(slot))
            self._fall_silent(slot, self.now)
            client.metadata.arm(self.now.begun.item(slot))
            client.watch_long_pauses()

    def _quiet_again(self, slots: Slots) -> tuple[Slots, Slots]:
        """The rebalance is over: who of these is behind, and whose own objects have to show it."""
        is_behind = self.stage[slots] == SYNCED
        behind = slots[is_behind]
        self.stage[behind] = QUIET
        self.was.copy(self.now, behind)
        self.has_round[behind] = True
        return behind, slots[~is_behind]

    # --- catching up --------------------------------------------------------------------------------------------------

    def release(self, client: Client) -> None:
        """A member that waits at a barrier goes on by itself."""
        self.barrier.release(client)

    def catch_up(self, one: Elided) -> None:
        """Somebody is about to look at a member that is behind: its own objects show everything."""
        client, slot = one.client, one.client.consumer.slot
        stage, self._stages[slot], one.is_behind = self._stages[slot], PRESENT, False
        columns = self.was
        if self.has_round[slot]:
            self.has_round[slot] = False
            replay_rejoin(client, columns, slot)
            replay_sync(client, columns, slot)
            replay_rest = replay_keep if self.is_cooperative[slot] else replay_resume
            replay_rest(client, columns, slot, self.slowdown.item(slot))
        if stage != QUIET:
            columns = self.now
            self._hold_join(client, slot, replay_rejoin(client, columns, slot))
            if stage == SYNCED:
                replay_sync(client, columns, slot)
                client.in_flight.hold(self.sync[slot])
        client.in_flight.numbers["heartbeat"] = columns.beat_number.item(slot)
        client.in_flight.numbers["commit"] = int(self.next_commit_number(columns, slot))
        self.return_order(client, slot)
        client.connections.parked = self.parked.of(slot)
        if stage == QUIET:
            self._fall_silent(slot, columns)

    def _hold_join(self, client: Client, slot: int, request: JoinGroup) -> None:
        """JoinGroup is in flight; it is the member's own if its assignor has a say in it."""
        if self.join[slot] is None:
            self.join[slot] = self.join_request(slot, request)
        client.in_flight.hold(self.join[slot])

    def join_request(self, slot: int, request: JoinGroup) -> Exchange:
        """A member's JoinGroup, on its way."""
        columns, in_flight = self.now, self.clients[slot].in_flight
        latency = (columns.join_there.item(slot), columns.join_back.item(slot))
        number = self.other.item(slot) - 1
        made: Exchange = in_flight.timed(
            columns.joining.item(slot), self.connections[slot], Api.JOIN_GROUP, request, number, latency
        )
        return made

    def return_order(self, client: Client, slot: int) -> None:
        """What only counts up, and the order of the connection."""
        connection = self.connections[slot]
        connection.order = (self.arrived.item(slot), self.left.item(slot), self.answered.item(slot))
        client.in_flight.numbers["other"] = self.other.item(slot)
        client.in_flight.count_joins(self._joins.item(slot))
        self._joins[slot] = 0

    def _fall_silent(self, slot: int, columns: RoundColumns) -> None:
        """A member is quiet, and its session is suspended."""
        client, first, commit = self.clients[slot], columns.first_beat.item(slot), columns.next_commit.item(slot)
        self.elided[slot].fall_silent(first, commit, client.poll_loop.schedule, self.renewed.item(slot))
