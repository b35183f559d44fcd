"""All that is written down about one group, fed by what its coordinator and its consumers report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.availability import Availability, BroadcastAvailability
from groupsim.sim.books.consumer_assignments import ConsumerAssignments
from groupsim.sim.books.delivery import Delivery
from groupsim.sim.books.double_readers import DoubleReaders
from groupsim.sim.books.handles import Handles
from groupsim.sim.books.interest import Interest
from groupsim.sim.books.meanings import MEANINGS
from groupsim.sim.books.offsets.exact_ledger import ExactLedger
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.books.producing.transactions import TransactionBooks
from groupsim.sim.books.rebalances import RebalanceLog
from groupsim.sim.books.record import DELETED, EXPIRED, GroupRecord
from groupsim.sim.books.requests import RequestCounts
from groupsim.sim.books.zookeeper_claims import ZookeeperClaims
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.model import RECORDS_MAX, Group, Scenario
from groupsim.sim.protocol.facts import (
    AssignmentSynced,
    Cause,
    Fact,
    GroupConverted,
    GroupEpochBumped,
    MemberAdmitted,
    MemberMoved,
    MemberReconciled,
    MemberRemoved,
    MemberReplaced,
    MemberSeen,
    OffsetsRemoved,
    StateChanged,
    TargetComputed,
)
from groupsim.sim.protocol.messages import Positions


def _nothing_to_settle(_: Positions) -> None:
    """Everybody writes down at once what it does."""


class GroupBooks:
    """The books of one group.

    Parameters
    ----------
    env : Environment
    scenario : Scenario
    spec : Group
    catalog : Catalog
    slots : int
        Number of consumers that the group can have.

    Attributes
    ----------
    measure : (int, int), microseconds
        Metrics count in it.
    is_broadcast : bool
        Whether every member gets every partition: moves and owners are then undefined.
    assigns_by_hand : bool
        Whether somebody takes partitions without being a member.
    commits_ahead : bool
        Whether somebody commits before processing.
    double_readers : DoubleReaders or None
        Only of a group that no coordinator keeps from having them.
    settle : callable
        Somebody writes what becomes of some partitions: what their readers have done by now is in the books after that.
    """

    def __init__(self, env: Environment, scenario: Scenario, spec: Group, catalog: Catalog, slots: int) -> None:
        self._env = env
        self.name = spec.name
        self.is_broadcast = spec.client.partition_assignment_strategy[:1] == ("broadcast",)
        to = scenario.measure_to_us if scenario.measure_to_us is not None else scenario.horizon_us
        self.measure = (scenario.measure_from_us, to)
        self.record = GroupRecord()
        self.partitions = Partitions(catalog)
        self.ledger = (
            ExactLedger(catalog, self.partitions, slots, RECORDS_MAX // len(scenario.groups))
            if scenario.data == "exact"
            else Ledger(catalog, self.partitions, slots)
        )
        self.ledger.isolation = spec.client.isolation_level
        # Topics have no history for groups that begin at 0 or later.
        self.ledger.begins_us = 0 if spec.is_aged else scenario.origin_us
        kind = BroadcastAvailability if self.is_broadcast else Availability
        self.availability = kind(self.partitions, self.record, *self.measure)
        self.requests = RequestCounts(self.record, self.measure)
        self.rebalances = RebalanceLog(self.record, self.ledger, self.measure, is_broadcast=self.is_broadcast)
        self.delivery = Delivery(
            self.partitions, self.ledger, self.availability, self.record, self.measure,
            is_broadcast=self.is_broadcast, clock=lambda: env.now,
        )  # fmt: skip
        is_held_by_zookeeper = spec.client.group_protocol == "zookeeper"
        self.double_readers = DoubleReaders(self.measure) if is_held_by_zookeeper else None
        self.zookeeper = ZookeeperClaims(self.availability)
        self.consumers = self.zookeeper if is_held_by_zookeeper else ConsumerAssignments(self.availability)
        self.transactions = TransactionBooks(follows_records=scenario.data == "exact" and spec.produces is not None)
        self.handles = Handles()
        self.interest = Interest()
        self.assigns_by_hand = False
        self._by_hand: set[int] = set()
        self.commits_ahead = False
        self.settle: Callable[[Positions], None] = _nothing_to_settle
        self._work: dict[type[Fact], Callable[[Any], None]] = {
            MemberSeen: self._see,
            MemberAdmitted: self._admit,
            MemberRemoved: self._dismiss,
            MemberReplaced: self._replace,
            AssignmentSynced: self._sync,
            StateChanged: self._enter,
            OffsetsRemoved: self._forget_offsets,
            GroupConverted: self._convert,
            GroupEpochBumped: self._bump,
            TargetComputed: self._retarget,
            MemberReconciled: self._reconcile,
            MemberMoved: self._move,
        }

    def cover(self, topics: Sequence[str]) -> None:
        """Make room for partitions of topics that somebody subscribes to."""
        if not self.partitions.cover(topics):
            return
        self.ledger.cover(self._env.now)
        self.availability.cover()
        self.consumers.cover(len(self.partitions))
        if self.double_readers is not None:
            self.double_readers.cover(len(self.partitions))
        self.delivery.cover()
        self.rebalances.cover(len(self.partitions))
        self.availability.subscribe(self._env.now, self.interest.topics)

    def is_measured(self, time: int) -> bool:
        """Whether metrics count at ``time``."""
        return self.measure[0] <= time <= self.measure[1]

    def tally(self, what: str, number: int = 1) -> None:
        """So many more of something that is counted happen now."""
        if self.is_measured(self._env.now):
            self.record.counts[what] += number

    # --- who there is -------------------------------------------------------------------------------------------------

    def meet(self, member_id: str, topics: tuple[str, ...]) -> None:
        """A request to join has arrived: the id and its subscription are known from now on."""
        self.availability.begin(self._env.now)
        if self.interest.of(member_id) != topics:
            self.interest.tell(member_id, topics)
            self._subscribe()

    @property
    def is_contested(self) -> bool:
        """Whether several members may commit the same partitions: by broadcast, or by hand."""
        return self.is_broadcast or self.assigns_by_hand

    def assign_by_hand(self, label: str, name: str, positions: Positions, topics: tuple[str, ...]) -> int:
        """A consumer takes partitions without being a member; its handle."""
        self.assigns_by_hand = True
        self.meet(label, topics)
        handle = self._know(label, name)
        self._by_hand.add(handle)
        for other in np.unique(self.availability.owner[positions]).tolist():
            reading = self.handles.reading(other) if other >= 0 else None
            if reading is not None:
                reading.become_zombie(self._env.now, positions)
        self.availability.own(self._env.now, handle, positions)
        return handle

    def release_by_hand(self, label: str, handle: int) -> None:
        """It is gone: there is no coordinator that has to find out, and who reads the same by hand goes on alone."""
        now, owner = self._env.now, self.availability.owner
        left = np.flatnonzero(owner == handle).astype(np.int32)
        self.interest.forget(label)
        self.availability.disown(now, handle)
        for other in [one for one in self.delivery.zombies if one.handle in self._by_hand and one.handle != handle]:
            common = left[np.isin(left, other.partitions) & (owner[left] < 0)]
            if common.size:
                self.availability.own(now, other.handle, common)
                other.inherit(now, common)
        self._by_hand.discard(handle)
        self._subscribe()

    def _subscribe(self) -> None:
        """Tell the availability which topics somebody wants, if that has changed."""
        if self.interest.has_changed():
            self.availability.subscribe(self._env.now, self.interest.topics)

    def _know(self, member_id: str, name: str) -> int:
        """The handle of a member id; a new one if it has none, or if the coordinator had removed it before."""
        handle = self.handles.find(member_id)
        if handle is None or not self.availability.knows(handle):
            handle = self.availability.handle()
            self.handles.add(member_id, name, handle, self.record.latest.get(name))
        return handle

    # --- facts of the coordinator -------------------------------------------------------------------------------------

    def note(self, facts: Sequence[Fact]) -> None:
        """What has happened in the group at this instant."""
        for fact in facts:
            work = self._work.get(type(fact))
            if work is not None:
                work(fact)

    def _see(self, fact: MemberSeen) -> None:
        self.cover(fact.topics)
        self.meet(fact.member_id, fact.topics)

    def _admit(self, fact: MemberAdmitted) -> None:
        self._know(fact.member_id, fact.name)
        self.tally("joins")
        self.rebalances.came()

    def _dismiss(self, fact: MemberRemoved) -> None:
        if fact.cause is Cause.LEFT:
            self.tally("leaves")
        elif not fact.is_pending and fact.cause is not Cause.LOST:
            self.tally("evictions")
            life = self.handles.life_of(fact.member_id)
            if life is not None:
                life.evicted += 1
        self.rebalances.went(kicked=fact.cause is not Cause.LEFT, is_pending=fact.is_pending)
        self._forget_member(fact.member_id)

    def _replace(self, fact: MemberReplaced) -> None:
        if fact.successor == fact.member_id:
            return  # It was away for a while (max.poll.interval.ms), and everything of it is still here.
        self.tally("fenced")
        self.rebalances.went(kicked=False, is_pending=False)
        handle = self.handles.find(fact.member_id)
        if handle is not None:
            successor = self._know(fact.successor, fact.name)
            self.consumers.replace(handle, successor)
            self.availability.succeed(self._env.now, handle, successor)
        self._forget_member(fact.member_id)

    def _forget_member(self, member_id: str) -> None:
        now, handle = self._env.now, self.handles.find(member_id)
        self.interest.forget(member_id)
        if handle is not None:
            self.consumers.remove(now, handle)
            self.availability.forget(now, handle)
            reading = self.handles.reading(handle)
            if reading is not None:
                reading.become_zombie(now, reading.partitions)
        self._subscribe()

    def _forget_offsets(self, fact: OffsetsRemoved) -> None:
        """Whoever begins to read these finds no offset; their removal is what that comes of."""
        self.delivery.ended_by[fact.positions] = EXPIRED if fact.why == "expired" else DELETED

    def note_commit(self, positions: Positions) -> None:
        """A transaction has committed offsets of these."""
        if isinstance(self.ledger, ExactLedger):
            self.ledger.note_commit(self._env.now, positions)

    def _enter(self, fact: StateChanged) -> None:
        now, meaning = self._env.now, MEANINGS[fact.state]
        self.record.states.append((now, fact.shown or fact.state.value, fact.generation))
        self.rebalances.enter(now, fact, meaning)
        self.availability.enter(now, meaning)

    def _sync(self, fact: AssignmentSynced) -> None:
        """An assignment has been synced: who owns what, what has moved, how balanced it is."""
        now, members = self._env.now, fact.assignments
        handles = np.array([self.handles[member_id] for member_id, _ in members], np.int32)
        owner = np.full(len(self.partitions), -1, np.int32)
        owner[np.concatenate([positions for _, positions in members])] = np.repeat(
            handles, [len(positions) for _, positions in members]
        )
        slots = self.handles.slots
        self.rebalances.count_moves(slots[owner])
        self._take_from_others(now, owner)
        self.availability.assign(now, owner)
        by_slot = np.argsort(slots[handles], kind="stable")
        assignments = [members[index][1] for index in by_slot.tolist()]
        self.rebalances.measure_balance(assignments, measured=self.is_measured(now))

    def _take_from_others(self, now: int, owner: NDArray[np.int32]) -> None:
        """Who still reads what has just been given to another is a zombie of it."""
        if self.is_broadcast:
            return
        taken, servers = self.availability.taken_from(owner)
        for handle in np.unique(servers):
            reading = self.handles.reading(int(handle))
            if reading is not None:
                reading.become_zombie(now, taken[servers == handle])

    def _convert(self, fact: GroupConverted) -> None:
        """The group uses the other protocol: what its members own stays theirs."""
        self.consumers.forget()
        self.rebalances.members = fact.size

    def _bump(self, fact: GroupEpochBumped) -> None:
        self.consumers.bump(fact.epoch)
        self.rebalances.begin(self._env.now, fact.reason, fact.epoch - 1)
        self.rebalances.report(self._env.now, is_reported=False)

    def _retarget(self, fact: TargetComputed) -> None:
        """A target has been computed: what has moved, how balanced it is."""
        now, consumers = self._env.now, self.consumers
        consumers.retarget(now, {self.handles[member_id]: positions for member_id, positions in fact.targets})
        slots = self.handles.slots
        self.rebalances.count_moves(slots[consumers.target])
        by_slot = sorted(consumers.targets().items(), key=lambda one: int(slots[one[0]]))
        self.rebalances.measure_balance([positions for _, positions in by_slot], measured=self.is_measured(now))

    def _reconcile(self, fact: MemberReconciled) -> None:
        """A member's own part of the assignment has changed."""
        now, handle = self._env.now, self.handles[fact.member_id]
        self.consumers.reconcile(now, handle, fact.epoch, fact.assigned, fact.pending)
        self.rebalances.report(now, is_reported=self.consumers.is_reported)

    def _move(self, fact: MemberMoved) -> None:
        """A member of the ZooKeeper protocol is at something else."""
        self.zookeeper.move(self._env.now, self.handles[fact.member_id], fact.phase)
        self.tally(f"zookeeper {fact.phase.value}")
        self.tally("stale_settlements", fact.is_stale)

    def fail_assignment(self) -> None:
        """The leader's assignor threw."""
        self.tally("failed_assignments")

    # --- the end ------------------------------------------------------------------------------------------------------

    @property
    def first_service_us(self) -> int | None:
        """When the first partition was served; None if none ever was. Known at the end."""
        return self.record.ownership.least(2)

    def clock_us(self, horizon: int) -> NDArray[np.int64]:
        """When each partition's clock starts, by `sim.books.availability`; `FOREVER` if not by the horizon."""
        if self.first_service_us is None:
            begins: int | NDArray[np.int64] = self.ledger.first_record_us(horizon)
        else:
            begins = self.availability.first_join_us
        return np.maximum(np.maximum(self.partitions.created_us, begins), self.measure[0])

    def finish(self, horizon: int, generation: int) -> None:
        """Cut what is open at the horizon."""
        self.availability.finish(horizon)
        self.ledger.finish(horizon)
        if self.double_readers is not None:
            self.double_readers.finish(horizon)
        self.rebalances.finish(horizon, generation)
        self.record.generations = generation
