"""A classic group at its coordinator: the machine, the books kept about it, and the members that are quiet.

The shell hands requests to the machine, sends its replies, obeys its deadline and writes its facts down. It adds no
rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.availability import Availability, BroadcastAvailability
from groupsim.sim.books.interest import Interest
from groupsim.sim.books.ledger import Ledger
from groupsim.sim.books.production import Offsets
from groupsim.sim.books.rebalances import RebalanceLog
from groupsim.sim.books.record import EXPIRED, GroupRecord
from groupsim.sim.books.requests import RequestCounts
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.client.assignment import Layouts
from groupsim.sim.fastpath.cohorts import Cohort
from groupsim.sim.fastpath.deferred import DeferredMembers
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Cluster, Scenario
from groupsim.sim.protocol.classic.group import ClassicGroup, Fact, Replies
from groupsim.sim.protocol.messages import (
    Acknowledgement,
    Api,
    Error,
    GroupState,
    OffsetFetchResponse,
    Positions,
)
from groupsim.sim.randomness import name_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groupsim.sim.client.client import Client
    from groupsim.sim.client.consumer import Consumer
    from groupsim.sim.client.consumption import Consumption
    from groupsim.sim.fastpath.quiescence import Quiescence

STABLE, EMPTY = GroupState.STABLE, GroupState.EMPTY


class GroupHost:
    """One group and everything that is known about it.

    Parameters
    ----------
    env : Environment
    scenario : Scenario
    name : str
    catalog : Catalog
    slots : int
        Number of consumers that it can have.
    """

    def __init__(self, env: Environment, scenario: Scenario, name: str, catalog: Catalog, slots: int) -> None:
        self._env = env
        self.name = name
        self.cluster: Cluster = scenario.cluster
        self._service_us = scenario.cluster.timing.service_us
        self.machine = ClassicGroup(name, scenario.cluster.config, scenario.cluster.timing.append_us)
        self.record = GroupRecord()
        self.catalog = catalog
        self.partitions = Partitions(catalog)
        self.layouts = Layouts(self.partitions)
        self.ledger = Ledger(catalog, self.partitions, slots)
        measure_to = scenario.measure_to_us if scenario.measure_to_us is not None else scenario.horizon_us
        spec = next(group for group in scenario.groups if group.name == name)
        self.is_broadcast = spec.client.partition_assignment_strategy[:1] == ("broadcast",)
        """Whether every member gets every partition: moves and owners are then undefined."""
        kind = BroadcastAvailability if self.is_broadcast else Availability
        self.availability = kind(self.partitions, self.record, scenario.measure_from_us, measure_to)
        self.measure = (scenario.measure_from_us, measure_to)
        self.requests = RequestCounts(self.record, self.measure)
        self.consumers: list[Consumer] = []
        self._slots: dict[str, int] = {}
        self.ended_by: NDArray[np.int64] = np.empty(0, np.int64)
        self.quiet: dict[str, Quiescence] = {}
        self.assigns_by_hand = False
        """Whether somebody takes partitions without being a member."""
        self.commits_ahead = False
        """Whether somebody commits before processing."""
        self.zombies: dict[Consumption, None] = {}
        """Who reads what is no longer its own."""
        self._handles: dict[str, int] = {}
        self._slot_of_handle: list[int] = []
        self.interest = Interest()
        self._own_frontiers: dict[int, Offsets] = {}
        self.deferred: DeferredMembers = DeferredMembers(self, slots)
        self.cohort: Cohort = Cohort(env, self, slots)
        self.rebalances = RebalanceLog(self.record, self.ledger, is_broadcast=self.is_broadcast)
        self._alarm = Alarm(env, deadline_key(name_hash("group", name), Kind.TIMER), self._fire)

    def enrol(self, consumer: Consumer) -> None:
        """A consumer that may become a member."""
        self._slots[consumer.name] = consumer.slot
        self.consumers.append(consumer)

    # --- requests -----------------------------------------------------------------------------------------------------

    def handle(self, exchange: Exchange) -> None:
        """Work on a request; what is not answered now is parked in the machine."""
        now, body = self._env.now, exchange.body
        machine, leave = self.machine, self._env.now + self._service_us
        match exchange.api:
            case Api.HEARTBEAT:
                self._answer(exchange, Acknowledgement(machine.on_heartbeat(now, body)), leave)
                self._alarm.set(machine.deadline)
            case Api.OFFSET_COMMIT:
                error = machine.on_commit(now, body)
                if error is Error.NONE:
                    moment = (now, exchange.connection.request_key)
                    self.ledger.commit(body.positions, body.offsets, moment, contested=self.is_broadcast)
                    if body.member_id in self.quiet:
                        self.quiet[body.member_id].renew(now)
                self._answer(exchange, Acknowledgement(error), leave + self.cluster.timing.append_us)
                self._alarm.set(machine.deadline)
            case Api.OFFSET_FETCH:
                if self.is_broadcast:
                    # Everybody commits the same partitions: what quiet members have committed by now counts.
                    for quiescence in list(self.quiet.values()):
                        quiescence.wake()
                offsets = self.ledger.committed[body.positions]
                self._answer(exchange, OffsetFetchResponse(Error.NONE, offsets), leave)
            case Api.JOIN_GROUP:
                self.cohort.precede_decision()
                self._wake_namesake(body)
                self._meet(body.member_id or body.fresh_id, body.protocols[0][1].topics if body.protocols else ())
                self._settle(machine.on_join(now, body, exchange))
            case Api.SYNC_GROUP:
                if body.assignments is not None and not machine.append_us:
                    self.cohort.precede_decision()  # the assignment is in the log at once
                self._settle(machine.on_sync(now, body, exchange))
            case _:
                self.cohort.precede_decision()
                error, replies = machine.on_leave(now, body)
                self._answer(exchange, Acknowledgement(error), leave)
                self._settle(replies)

    def _answer(self, exchange: Exchange, response: Acknowledgement | OffsetFetchResponse, leave_us: int) -> None:
        self.requests.count(exchange, response.error)
        exchange.connection.reply(exchange, response, leave_us)

    def _fire(self, now: int) -> None:
        self.cohort.precede_decision()
        if self.machine.join_due <= now:
            self.cohort.settle_rejoins()
        self._settle(self.machine.on_deadline(now))

    def receive(self, exchanges: Sequence[Exchange], times: Sequence[int]) -> None:
        """JoinGroups or SyncGroups that have arrived by now, of members that are known here."""
        replies: Replies = []
        arrivals = list(zip(exchanges, times, strict=True))
        # The latest may end the phase; the order of the others decides nothing.
        arrivals.append(arrivals.pop(max(range(len(times)), key=times.__getitem__)))
        for exchange, time in arrivals:
            work = self.machine.on_join if exchange.api is Api.JOIN_GROUP else self.machine.on_sync
            replies += work(time, exchange.body, exchange)
        if replies:
            self._settle(replies)

    def _settle(self, replies: Replies) -> None:
        """Write down what happened, wake who must be woken, answer, and watch the next deadline."""
        facts, self.machine.facts = self.machine.facts, []
        for fact in facts:
            self._note(fact)
        self.cohort.gather()
        leave = self._env.now + self._service_us
        self.requests.count_answers(replies)
        for reply in self.cohort.take(replies, leave):
            assert isinstance(reply.waiter, Exchange)
            reply.waiter.connection.reply(reply.waiter, reply.response, leave)
        self.cohort.barrier.watch()
        self._alarm.set(self.machine.deadline)

    def _wake_namesake(self, body: Any) -> None:
        """A static instance joins anew: the member that has its id so far is about to be fenced."""
        client = self.client_of(self.machine.roster.static.get(body.instance_id or "", ""))
        if client is not None and not body.member_id:
            client.quiescence.wake()

    # --- quiet members ------------------------------------------------------------------------------------------------

    def suspend(self, member_id: str) -> int:
        """From now on the member's renewals are arithmetic; its last renewal so far, microseconds."""
        member = self.machine.roster.get(member_id)
        assert member is not None
        renewed_us = self.machine.session_due(member_id) - member.session_timeout_us
        self.machine.suspend(member_id)
        return renewed_us

    def rouse(self, member_id: str, renewed_us: int) -> None:
        """The member is loud again; its session counts from its last renewal."""
        self.quiet.pop(member_id, None)
        self.machine.resume(member_id, renewed_us)
        self._alarm.set(self.machine.deadline)

    # --- books --------------------------------------------------------------------------------------------------------

    def cover(self, topics: tuple[str, ...]) -> None:
        """Make room for partitions of topics that somebody subscribes to."""
        if not self.partitions.cover(topics):
            return
        self.ledger.cover(self._env.now)
        self.availability.cover()
        new = len(self.partitions) - len(self.ended_by)
        self.ended_by = np.concatenate([self.ended_by, np.full(new, -1, np.int64)])
        self.rebalances.cover(len(self.partitions))
        self.availability.subscribe(self._env.now, self.interest.topics)

    def is_measured(self, time: int) -> bool:
        """Whether metrics count at ``time``."""
        return self.measure[0] <= time <= self.measure[1]

    def _tally(self, what: str) -> None:
        if self.is_measured(self._env.now):
            self.record.counts[what] += 1

    def handle_of(self, member_id: str) -> int:
        """Handle of a member id (`Availability`)."""
        return self._handles[member_id]

    def slot_of(self, member_id: str) -> int:
        """Slot of the consumer that has this member id, or had it last; -1: unknown."""
        handle = self._handles.get(member_id, -1)
        return self._slot_of_handle[handle] if handle >= 0 else -1

    def client_of(self, member_id: str) -> Client | None:
        """The client that has this member id, if it lives; after waves its own objects can be behind."""
        slot = self.slot_of(member_id)
        client = self.consumers[slot].incumbent if slot >= 0 else None
        return client if client is not None and client.machine.member_id == member_id else None

    def _meet(self, member_id: str, topics: tuple[str, ...]) -> None:
        """A JoinGroup has arrived: the id and its subscription are known from now on."""
        self.availability.begin(self._env.now)
        if self.interest.of(member_id) != topics:
            self.interest.tell(member_id, topics)
            self._subscribe()

    def assign_by_hand(self, label: str, name: str, positions: Positions, topics: tuple[str, ...]) -> int:
        """A consumer takes partitions without being a member; its handle."""
        self.assigns_by_hand = True
        self._meet(label, topics)
        handle = self._know(label, name)
        self.availability.own(self._env.now, handle, positions)
        return handle

    def release_by_hand(self, label: str, handle: int) -> None:
        """It is gone: there is no coordinator that has to find out."""
        self.interest.forget(label)
        self.availability.disown(self._env.now, handle)
        self._subscribe()

    def _subscribe(self) -> None:
        """Tell the availability which topics somebody wants, if that has changed."""
        if self.interest.has_changed():
            self.availability.subscribe(self._env.now, self.interest.topics)

    def _note(self, fact: Fact) -> None:
        match fact.what:
            case "transition":
                self._enter(fact)
            case "joined":
                self._admit(fact)
            case "left" | "expired" | "kicked" | "unsynced" | "fenced":
                self._dismiss(fact)
            case "forgotten":
                self.ledger.committed[:] = -1
                self.ended_by[:] = EXPIRED

    def _know(self, member_id: str, name: str) -> int:
        """The handle of a member id, a new one if it has none."""
        handle = self._handles.get(member_id)
        if handle is None:
            handle = self._handles[member_id] = self.availability.handle()
            self._slot_of_handle.append(self._slots.get(name, -1))
        return handle

    def _admit(self, fact: Fact) -> None:
        self._know(fact.member_id, fact.name)
        self._tally("joins")
        self.rebalances.came()

    def _dismiss(self, fact: Fact) -> None:
        now, member_id = self._env.now, fact.member_id
        if fact.what == "left":
            self._tally("leaves")
        elif fact.what == "fenced":
            self._tally("fenced")
        elif fact.reason != "pending":
            self._tally("evictions")
        self.rebalances.went(kicked=fact.what in ("kicked", "unsynced", "expired"))
        self.interest.forget(member_id)
        handle = self._handles.get(member_id)
        if handle is not None:
            if fact.what == "fenced":
                self.availability.succeed(now, handle, self._know(fact.reason, fact.name))
            self.availability.forget(now, handle)
            if (consumption := self._service_of(handle)) is not None:
                consumption.become_zombie(now, consumption.partitions)
        self._subscribe()

    def _service_of(self, handle: int) -> Consumption | None:
        slot = self._slot_of_handle[handle]
        consumption = self.consumers[slot].consumption if slot >= 0 else None
        return consumption if consumption is not None and consumption.handle == handle else None

    def _enter(self, fact: Fact) -> None:
        now, state, members = self._env.now, fact.state, len(self.machine.roster)
        self.record.states.append((now, self._shown(state), fact.generation))
        self.rebalances.leave(now, self.availability.state)
        if state is GroupState.PREPARING_REBALANCE:
            self.rebalances.begin(now, fact, members)
        if state is STABLE:
            self._synced(now)
        self.availability.enter(now, state)
        if state in (STABLE, EMPTY):
            self.rebalances.end(now, "stable" if state is STABLE else "empty", fact.generation, members)

    def _shown(self, state: GroupState) -> str:
        if self.machine.is_old:
            return {EMPTY: "Stable", GroupState.COMPLETING_REBALANCE: "AwaitingSync"}.get(state, state.value)
        return state.value

    def _synced(self, now: int) -> None:
        """An assignment has been synced: who owns what, what has moved, how balanced it is."""
        members = list(self.machine.roster)
        handles = np.array([self._handles[member.member_id] for member in members], np.int32)
        owner = np.full(len(self.partitions), -1, np.int32)
        owner[np.concatenate([member.assignment for member in members])] = np.repeat(
            handles, [len(member.assignment) for member in members]
        )
        slots = np.array([*self._slot_of_handle, -1], np.int32)[owner]
        self.rebalances.count_moves(slots)
        self._take_from_others(now, owner)
        self.availability.assign(now, owner)
        by_slot = np.argsort(np.array(self._slot_of_handle)[handles], kind="stable")
        assignments = [members[index].assignment for index in by_slot.tolist()]
        self.rebalances.measure_balance(assignments, measured=self.is_measured(now))

    def _take_from_others(self, now: int, owner: NDArray[np.int32]) -> None:
        """Who still reads what has just been given to another is a zombie of it."""
        if self.is_broadcast:
            return
        taken, servers = self.availability.taken_from(owner)
        for handle in np.unique(servers):
            consumption = self._service_of(int(handle))
            if consumption is not None:
                consumption.become_zombie(now, taken[servers == handle])

    # --- delivery -----------------------------------------------------------------------------------------------------

    def frontier_of(self, slot: int) -> Offsets:
        """Processed by anybody (in a broadcast group: by this consumer). Shape (n_partitions,), -1: never."""
        if not self.is_broadcast:
            return self.ledger.frontier
        own = self._own_frontiers.get(slot, self.ledger.frontier[:0])
        if len(own) < len(self.partitions):
            own = np.concatenate([own, np.full(len(self.partitions) - len(own), -1, np.int64)])
            self._own_frontiers[slot] = own
        return own

    def meet_zombies(self, now: int, positions: Positions, starter: Consumption) -> None:
        """``starter`` begins to read: whoever still reads the same reads it twice from here on."""
        if self.is_broadcast:
            return
        for consumption in self.zombies:
            if consumption is not starter:
                consumption.meet(now, positions)

    def count(self, kind: str, cause: str, records: int) -> None:
        """Records read twice or never, as of now: they count within ``measure``."""
        if self.is_measured(self._env.now):
            self.record.add_delivery(kind, cause, records)

    def add_zombie(self, since: NDArray[np.int64], until: int) -> None:
        """Partition-time in which somebody processed what was no longer its own, within ``measure``."""
        low, high = self.measure
        self.record.zombie_us += int(np.maximum(np.minimum(until, high) - np.maximum(since, low), 0).sum())

    @property
    def now(self) -> int:
        """Virtual time, microseconds."""
        return self._env.now

    def finish(self, horizon: int) -> None:
        """Cut what is open at the horizon."""
        self.availability.finish(horizon)
        self.rebalances.leave(horizon, self.availability.state)
        self.rebalances.end(horizon, "horizon", self.machine.generation, len(self.machine.roster))
        self.record.generations = self.machine.generation
