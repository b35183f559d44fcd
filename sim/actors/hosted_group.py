"""A classic group at its coordinator: the machine, the books kept about it, and the members that are quiet.

The shell hands requests to the machine, sends its replies, obeys its deadline and writes its facts down. It adds no
rule.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assignors.quality import minimal_moves
from sim.assignment import Layouts
from sim.availability import Availability, BroadcastAvailability
from sim.catalog import Catalog, Partitions
from sim.kernel.alarm import Alarm
from sim.kernel.environment import Environment, Kind, deadline_key
from sim.kernel.network import Exchange
from sim.ledger import Ledger, Offsets
from sim.model import Cluster, Scenario
from sim.protocol.classic_group import ClassicGroup, Fact, Replies
from sim.protocol.messages import (
    Acknowledgement,
    Api,
    Error,
    GroupState,
    OffsetFetchResponse,
    Positions,
)
from sim.randomness import name_hash
from sim.recorder import GroupRecord, Rebalance

if TYPE_CHECKING:
    from sim.actors.consumer import Consumer
    from sim.actors.hush import Hush
    from sim.actors.service import Service

STABLE, EMPTY = GroupState.STABLE, GroupState.EMPTY
_TRIGGERS = (
    ("Adding new member", "join"),
    ("explicit LeaveGroup", "leave"),
    ("heartbeat expiration", "expiry"),
    ("pending sync", "sync timeout"),
    ("Leader", "leader rejoined"),
    ("Updating metadata", "member rejoined"),
    ("tatic member", "static member"),
)


class HostedGroup:
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
        self._measure = (scenario.measure_from_us, measure_to)
        self.consumers: list[Consumer] = []
        self._slots: dict[str, int] = {}
        self.ended_by: NDArray[np.int64] = np.empty(0, np.int64)
        self.quiet: dict[str, Hush] = {}
        self.commits_ahead = False
        """Whether somebody commits before processing."""
        self.zombies: dict[Service, None] = {}
        """Who reads what is no longer its own."""
        self._handles: dict[str, int] = {}
        self._slot_of_handle: list[int] = []
        self._topics_of: dict[str, tuple[str, ...]] = {}
        self._topics: Counter[str] = Counter()
        self._own_frontiers: dict[int, Offsets] = {}
        self._last_owner: NDArray[np.int32] = np.empty(0, np.int32)
        self._rebalance: Rebalance | None = None
        self._entered_us = 0
        self._alarm = Alarm(env, deadline_key(name_hash("group", name), Kind.TIMER), self._ring)

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
                    self.ledger.committed[body.positions] = body.offsets
                self._answer(exchange, Acknowledgement(error), leave + self.cluster.timing.append_us)
                self._alarm.set(machine.deadline)
            case Api.OFFSET_FETCH:
                offsets = self.ledger.committed[body.positions]
                self._answer(exchange, OffsetFetchResponse(Error.NONE, offsets), leave)
            case Api.JOIN_GROUP:
                self._meet(body.member_id or body.fresh_id, body.protocols[0][1].topics if body.protocols else ())
                self._settle(machine.on_join(now, body, exchange))
            case Api.SYNC_GROUP:
                self._settle(machine.on_sync(now, body, exchange))
            case _:
                error, replies = machine.on_leave(now, body)
                self._answer(exchange, Acknowledgement(error), leave)
                self._settle(replies)

    def _answer(self, exchange: Exchange, response: Acknowledgement | OffsetFetchResponse, leave_us: int) -> None:
        self.record.requests[exchange.api.value, response.error.value] += 1
        exchange.connection.reply(exchange, response, leave_us)

    def _ring(self, now: int) -> None:
        self._settle(self.machine.on_deadline(now))

    def _settle(self, replies: Replies) -> None:
        """Write down what happened, wake who must be woken, answer, and watch the next deadline."""
        facts, self.machine.facts = self.machine.facts, []
        for fact in facts:
            self._note(fact)
        if self.quiet and self.machine.state is not STABLE:
            self.wake_all()
        leave = self._env.now + self._service_us
        for reply in replies:
            exchange = reply.waiter
            assert isinstance(exchange, Exchange)
            self.record.requests[exchange.api.value, reply.response.error.value] += 1
            exchange.connection.reply(exchange, reply.response, leave)
        self._alarm.set(self.machine.deadline)

    # --- quiet members ------------------------------------------------------------------------------------------------

    def hush(self, hush: Hush, member_id: str) -> int:
        """From now on the member's renewals are arithmetic; its last renewal so far, microseconds."""
        member = self.machine.roster.get(member_id)
        assert member is not None
        renewed_us = self.machine.session_due(member_id) - member.session_timeout_us
        self.machine.suspend(member_id)
        self.quiet[member_id] = hush
        return renewed_us

    def rouse(self, member_id: str, renewed_us: int) -> None:
        """The member is loud again; its session counts from its last renewal."""
        del self.quiet[member_id]
        self.machine.resume(member_id, renewed_us)
        self._alarm.set(self.machine.deadline)

    def wake_all(self) -> None:
        """The group has left Stable: heartbeats matter again."""
        for hush in list(self.quiet.values()):
            hush.wake()

    # --- books --------------------------------------------------------------------------------------------------------

    def cover(self, topics: tuple[str, ...]) -> None:
        """Make room for partitions of topics that somebody subscribes to."""
        if not self.partitions.cover(topics):
            return
        self.ledger.cover(self._env.now)
        self.availability.cover()
        new = len(self.partitions) - len(self.ended_by)
        self.ended_by = np.concatenate([self.ended_by, np.full(new, -1, np.int64)])
        self._last_owner = np.concatenate([self._last_owner, np.full(new, -1, np.int32)])
        self._subscribe()

    def handle_of(self, member_id: str) -> int:
        """Handle of a member id (`Availability`)."""
        return self._handles[member_id]

    def _meet(self, member_id: str, topics: tuple[str, ...]) -> None:
        """A JoinGroup has arrived: the id and its subscription are known from now on."""
        self.availability.begin(self._env.now)
        old = self._topics_of.get(member_id)
        if old != topics:
            self._forget_topics(member_id)
            self._topics_of[member_id] = topics
            self._topics.update(topics)
            self._subscribe()

    def _forget_topics(self, member_id: str) -> None:
        gone = self._topics_of.pop(member_id, ())
        self._topics.subtract(gone)

    def _subscribe(self) -> None:
        self.availability.subscribe(self._env.now, frozenset(t for t, count in self._topics.items() if count > 0))

    def _note(self, fact: Fact) -> None:
        match fact.what:
            case "transition":
                self._enter(fact)
            case "joined":
                self._admit(fact)
            case "left" | "expired" | "kicked" | "unsynced" | "fenced":
                self._dismiss(fact)
            case _:
                pass

    def _know(self, member_id: str, name: str) -> int:
        """The handle of a member id, a new one if it has none."""
        handle = self._handles.get(member_id)
        if handle is None:
            handle = self._handles[member_id] = self.availability.handle()
            self._slot_of_handle.append(self._slots.get(name, -1))
        return handle

    def _admit(self, fact: Fact) -> None:
        self._know(fact.member_id, fact.name)
        self.record.counts["joins"] += 1
        if self._rebalance is not None:
            self._rebalance.members_in += 1

    def _dismiss(self, fact: Fact) -> None:
        now, member_id = self._env.now, fact.member_id
        if fact.what == "left":
            self.record.counts["leaves"] += 1
        elif fact.what == "fenced":
            self.record.counts["fenced"] += 1
        elif fact.reason != "pending":
            self.record.counts["evictions"] += 1
        if self._rebalance is not None:
            self._rebalance.members_out += 1
            self._rebalance.kicked += fact.what in ("kicked", "unsynced", "expired")
        self._forget_topics(member_id)
        handle = self._handles.get(member_id)
        if handle is not None:
            if fact.what == "fenced":
                self.availability.succeed(now, handle, self._know(fact.reason, fact.name))
            self.availability.forget(now, handle)
            service = self._service_of(handle)
            if service is not None:
                service.become_zombie(now, service.partitions)
        self._subscribe()

    def _service_of(self, handle: int) -> Service | None:
        slot = self._slot_of_handle[handle]
        service = self.consumers[slot].service if slot >= 0 else None
        return service if service is not None and service.handle == handle else None

    def _enter(self, fact: Fact) -> None:
        now, state = self._env.now, fact.state
        shown = self._shown(state)
        self.record.states.append((now, shown, fact.generation))
        before = self.availability.state
        if self._rebalance is not None:
            spent = now - self._entered_us
            if before is GroupState.PREPARING_REBALANCE:
                self._rebalance.preparing_us += spent
            else:
                self._rebalance.completing_us += spent
        self._entered_us = now
        if state is GroupState.PREPARING_REBALANCE and self._rebalance is None:
            self._open(fact)
        if state is STABLE:
            self._synced(now)
        self.availability.enter(now, state)
        self.record.members_max = max(self.record.members_max, len(self.machine.roster))
        if state in (STABLE, EMPTY):
            self._close(now, state, fact.generation)

    def _shown(self, state: GroupState) -> str:
        if self.machine.is_old:
            return {EMPTY: "Stable", GroupState.COMPLETING_REBALANCE: "AwaitingSync"}.get(state, state.value)
        return state.value

    def _open(self, fact: Fact) -> None:
        trigger = next((name for text, name in _TRIGGERS if text in fact.reason), "other")
        known = len(self.machine.roster)
        self._rebalance = Rebalance(
            self._env.now, fact.reason, trigger, fact.generation,
            members_before=known - (trigger == "join") + (trigger in ("leave", "expiry")),
            members_in=int(trigger == "join"), members_out=int(trigger in ("leave", "expiry")),
        )  # fmt: skip
        self.record.rebalances.append(self._rebalance)

    def _close(self, now: int, state: GroupState, generation: int) -> None:
        rebalance, self._rebalance = self._rebalance, None
        if rebalance is not None:
            rebalance.end_us = now
            rebalance.ended_by = "stable" if state is STABLE else "empty"
            rebalance.generation_to = generation
            rebalance.members_after = len(self.machine.roster)

    def _synced(self, now: int) -> None:
        """An assignment has been synced: who owns what, what has moved, how balanced it is."""
        owner = np.full(len(self.partitions), -1, np.int32)
        for member in self.machine.roster:
            owner[member.assignment] = self._handles[member.member_id]
        slots = np.array([*self._slot_of_handle, -1], np.int32)[owner]
        if not self.is_broadcast:
            self._count_moves(slots)
        self._take_from_others(now, owner)
        self.availability.assign(now, owner)
        self._measure_balance(slots)

    def _count_moves(self, slots: NDArray[np.int32]) -> None:
        before, named = self._last_owner, slots >= 0
        rebalance = self._rebalance
        assert rebalance is not None
        both = named & (before >= 0)
        changed = both & (slots != before)
        rebalance.moved += int(np.count_nonzero(changed))
        rebalance.moved_min += minimal_moves(before, slots)
        rebalance.moved_rate += self.ledger.rate_of(np.flatnonzero(changed).astype(np.int32))
        self._last_owner = np.where(named, slots, before)

    def _take_from_others(self, now: int, owner: NDArray[np.int32]) -> None:
        """Who still reads what has just been given to another is a zombie of it."""
        if self.is_broadcast:
            return
        taken, servers = self.availability.taken_from(owner)
        for handle in np.unique(servers):
            service = self._service_of(int(handle))
            if service is not None:
                service.become_zombie(now, taken[servers == handle])

    def _measure_balance(self, slots: NDArray[np.int32]) -> None:
        """Over subscribed members, at the instant of Stable."""
        rebalance = self._rebalance
        members = len(self.machine.roster)
        if rebalance is None or not members:
            return
        owned = slots >= 0
        width = len(self._slot_of_handle) and max(self._slot_of_handle) + 1
        present = np.array(sorted(self._slot_of_handle[self._handles[m.member_id]] for m in self.machine.roster))
        counts = np.bincount(slots[owned], minlength=width)[present]
        rates = np.bincount(slots[owned], self.ledger.rate_mrps[owned] / 1e3, minlength=width)[present]
        rebalance.imbalance_partitions = int(counts.max() - counts.min())
        rebalance.stdev_partitions = float(counts.std())
        rebalance.imbalance_rate = float(rates.max() - rates.min())
        rebalance.stdev_rate = float(rates.std())
        if self._measure[0] <= self._env.now <= self._measure[1]:
            self.record.imbalance_max = max(self.record.imbalance_max, rebalance.imbalance_partitions)

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

    def meet_zombies(self, now: int, positions: Positions, starter: Service) -> None:
        """``starter`` begins to read: whoever still reads the same reads it twice from here on."""
        if self.is_broadcast:
            return
        for service in self.zombies:
            if service is not starter:
                service.meet(now, positions)

    def count(self, kind: str, cause: str, records: int) -> None:
        """Records read twice or never."""
        if records:
            self.record.delivery[kind, cause] += records

    def repeat_cause(self, cause: str) -> str:
        """Why records are read again."""
        return "broadcast overwrite" if self.is_broadcast else cause

    def skip_cause(self, cause: str) -> str:
        """Why records are skipped."""
        return "broadcast overwrite" if self.is_broadcast else cause

    def add_zombie(self, since: NDArray[np.int64], until: int) -> None:
        """Partition-time in which somebody processed what was no longer its own, within ``measure``."""
        low, high = self._measure
        self.record.zombie_us += int(np.maximum(np.minimum(until, high) - np.maximum(since, low), 0).sum())

    @property
    def now(self) -> int:
        """Virtual time, microseconds."""
        return self._env.now

    def finish(self, horizon: int) -> None:
        """Cut what is open at the horizon."""
        self.availability.finish(horizon)
        if self._rebalance is not None:
            spent = horizon - self._entered_us
            if self.availability.state is GroupState.PREPARING_REBALANCE:
                self._rebalance.preparing_us += spent
            else:
                self._rebalance.completing_us += spent
            self._rebalance.end_us = horizon
            self._rebalance.generation_to = self.machine.generation
            self._rebalance.members_after = len(self.machine.roster)
        self.record.generations = self.machine.generation
