"""One incarnation of a consumer: the protocol machine, and everything that carries out what it wants.

Threads. The application thread is inside poll() as its `PollSchedule` says, unless a job (a listener, the assignor) or
a hang keeps it away (`PollLoop`). A response is read by the application if it is inside poll(), by the heartbeat thread
if that is awake, and waits otherwise. A freeze stops both (`Suspension`).

After every event the client is *driven*: it does whatever can be done now, then goes quiet (`Elision`) or arms its
timers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from groupsim.assignors import Assignor
from groupsim.sim.books.availability import SHORT_PAUSE_US
from groupsim.sim.books.record import FAILED, KILLED
from groupsim.sim.books.truncation import Truncation
from groupsim.sim.client.alarms import Alarms
from groupsim.sim.client.coordination.commits import Commits
from groupsim.sim.client.coordination.leader import Leader
from groupsim.sim.client.coordination.refused_commits import RefusedCommits
from groupsim.sim.client.coordination.requests import Requests
from groupsim.sim.client.fetching.data_connections import DataConnections
from groupsim.sim.client.fetching.fetcher import Fetcher
from groupsim.sim.client.fetching.leader_changes import LeaderChanges
from groupsim.sim.client.fetching.metadata import Metadata
from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Command, Incarnation
from groupsim.sim.client.interface import Identity, Surroundings
from groupsim.sim.client.members import new_assignors, new_member
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.client.rebalancing import Rebalancing
from groupsim.sim.client.suspension import Suspension
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import Processing, Subscription
from groupsim.sim.protocol.effects import (
    Adopt,
    Closed,
    Commit,
    Disconnect,
    Drop,
    Effects,
    Listen,
    Raise,
    RunAssignor,
    Send,
)
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.messages import Error, OffsetCommit
from groupsim.sim.randomness import mean_of
from groupsim.sim.units import FOREVER


class Client(Incarnation):
    """An incarnation whose parts work together.

    Parameters
    ----------
    consumer, world, group, alarms, config, processing
        Of `Incarnation`.
    subscription : Subscription
    on_gone : callable
        Called at its end.
    """

    def __init__(
        self, consumer: Identity, world: Surroundings, group: GroupHost, alarms: Alarms, config: ClientConfig,
        processing: Processing, subscription: Subscription, on_gone: Callable[[], object],
    ) -> None:  # fmt: skip
        super().__init__(consumer, world, group, alarms, config, processing)
        self.subscription = subscription
        self._on_gone = on_gone
        self.close_operation = CloseOperation.DEFAULT
        self.assignors: tuple[Assignor, ...] = new_assignors(self)
        self.machine = new_member(self, self.assignors)
        self.in_flight = InFlight(self)
        self.poll_loop = PollLoop(self)
        self.connections = DataConnections(self)
        self.metadata = Metadata(self, self.in_flight, self.connections)
        self.fetcher = Fetcher(self, self.poll_loop, self.in_flight, self.connections, self.metadata)
        self.leader_changes = LeaderChanges(
            self, self.poll_loop, self.in_flight, self.connections, self.metadata, self.fetcher
        )
        self.requests = Requests(self, self.in_flight, self.poll_loop, self.fetcher, self.metadata)
        self.commits = Commits(self, self.poll_loop, self.requests)
        self.refused_commits = RefusedCommits(self, self.poll_loop, self.fetcher, self.requests, self.in_flight)
        self.suspension = Suspension(self, self.poll_loop, self.fetcher, self.requests, self.commits)
        self.rebalancing = Rebalancing(
            self, self.assignors, self.poll_loop, self.fetcher, self.commits, self.metadata, self.suspension
        )
        leader = Leader(self, self.assignors, self.poll_loop, self.metadata)
        self._actions: dict[type, Callable[[int, Any], None]] = {
            Send: self.requests.send,
            Commit: self.commits.commit,
            Listen: self.rebalancing.listen,
            RunAssignor: leader.run_assignor,
            Drop: self.rebalancing.drop,
            Adopt: self.rebalancing.adopt,
            Disconnect: self._disconnect,
            Raise: self.fail,
            Closed: self._closed,
        }

    @property
    def capacity_mrps(self) -> int:
        """Milli-records per second that its application can process; 0: unknown."""
        cost = mean_of(self.processing.per_record) * self.consumer.slowdown() + self.processing.record_wait_us
        return max(1, round(1e9 / cost)) if cost else 0

    # --- life ---------------------------------------------------------------------------------------------------------

    def open(self, now: int) -> None:
        """The application calls subscribe() and enters poll() for the first time."""
        self.metadata.subscribe(now, self.subscription)
        if self.subscription.assign is not None:
            self._assign_by_hand(now, self.subscription.assign)
        self.suspension.arm_pause()
        self.drive(now)

    def _assign_by_hand(self, now: int, partitions: Mapping[str, tuple[int, ...]]) -> None:
        """The application calls assign(): partitions that do not exist are left out."""
        books = self.books
        books.cover(tuple(partitions))
        known = [books.partitions.of(topic) for topic in sorted(partitions)]
        chosen = [
            positions[[number for number in sorted(partitions[topic]) if number < len(positions)]]
            for topic, positions in zip(sorted(partitions), known, strict=True)
        ]
        positions = np.sort(np.concatenate(chosen))
        self.consumption.handle = books.assign_by_hand(self.label, self.consumer.name, positions, tuple(partitions))
        self.life.stable_us = now
        self.machine.assign(now, positions)

    def kill(self, now: int) -> None:
        """SIGKILL."""
        self.elision.wake()
        consumption, frozen = self.consumption, self.frozen
        if frozen is not None:
            self.life.paused_us += now - frozen[0]
        else:
            self.commits.finish_records(now)
        if consumption.handle >= 0:
            self.books.availability.impair(now, consumption.handle, True)
        self.commits.lose_ahead(now)
        consumption.end_all(now, KILLED)
        self._end(now, "killed")

    def _disconnect(self, now: int, effect: Disconnect) -> None:
        self.requests.disconnect(now, effect)
        self.refused_commits.coordinator_is_lost(now)

    def commit_ahead(self, now: int) -> None:
        """A first fetch has come."""
        self.commits.commit_ahead(now)

    def commit_answered(self, now: int, request: OffsetCommit, error: Error) -> None:
        """The application hears of a commit."""
        self.refused_commits.answered(now, request, error)

    def lose_broker(self, now: int, node: int) -> None:
        """A broker's process has ended: so do connections to it."""
        self.requests.lose_broker(now, node)

    def skip(self, gone: Truncation) -> None:
        """Some of what it reads was in a log and is not any more."""
        self.fetcher.left_behind.skip(gone)

    def cut(self, nodes: frozenset[int]) -> None:
        """Nothing gets through to these brokers any more."""
        self.fetcher.cut(nodes)

    def fail(self, now: int, effect: Raise) -> None:
        """poll() throws something fatal: the application ends."""
        consumption = self.consumption
        if consumption.handle >= 0:
            self.books.availability.impair(now, consumption.handle, True)
        consumption.end_all(now, FAILED)
        self._end(now, f"failed: {effect.error.value}")

    def _closed(self, now: int, _: Closed) -> None:
        if self.is_closing:
            if self.consumption.handle >= 0:
                self._note_absence(now)
            self._end(now, "closed")
        else:
            self.poll_loop.go_by(now, None)

    @property
    def _keeps_place(self) -> bool:
        """Whether close() leaves it in the group: as it is told, or if nobody tells it, as a static member."""
        if not self.config.behaviour.close_operations or self.close_operation is CloseOperation.DEFAULT:
            return self.machine.instance_id is not None
        return self.close_operation is CloseOperation.REMAIN_IN_GROUP

    def _note_absence(self, now: int) -> None:
        """Closed on purpose: it keeps its place, or is found missing if what it says as it leaves gets lost."""
        if not self._keeps_place:
            self.books.availability.impair(now, self.consumption.handle, True)
        else:
            self.books.availability.leave_place(now, self.consumption.handle)

    def _end(self, now: int, ended_by: str) -> None:
        life = self.life
        life.ended_us, life.ended_by = now, ended_by
        life.member_id = life.member_id or self.machine.member_id
        self.is_over = True
        self.in_flight.abandon()
        self.poll_loop.drop_job()
        self.alarms.disarm()
        self._count_metadata(now)
        if self.machine.is_manual:
            self.books.release_by_hand(self.label, self.consumption.handle)
        self.frozen = None
        self._on_gone()

    def finish(self, horizon: int, code: int) -> None:
        """The horizon: catch up, and cut the books here."""
        self.elision.finish()
        life = self.life
        life.ended_us = horizon
        life.member_id = life.member_id or self.machine.member_id
        self.suspension.finish(horizon)
        self.consumption.close_books(horizon, code)
        self._count_metadata(horizon)

    def _count_metadata(self, until: int) -> None:
        self.books.record.requests["Metadata", "NONE"] += self.metadata.requests(until)

    # --- commands -----------------------------------------------------------------------------------------------------

    def issue(self, command: Command) -> None:
        """Let the application do something at its next poll."""
        self.elision.wake()
        self.command = command
        self.drive(self.env.now)

    def _execute(self, now: int) -> None:
        command, self.command = self.command, None
        if command is Command.SUBSCRIBE:
            self.metadata.subscribe(now, self.subscription)
        elif command is Command.CLOSE:
            self.commits.finish_records(now)
            self.is_closing = True
            self.do(now, self.machine.close(now, self.close_operation))
        else:
            self.is_closing = False
            self.metadata.unsubscribe(now)
            self.do(now, self.machine.unsubscribe(now))

    # --- driving ------------------------------------------------------------------------------------------------------

    def hurry(self, now: int) -> None:
        """The coordinator is known: the application's pass that follows does not wait."""
        self.poll_loop.hurry(now)

    def drive(self, now: int) -> None:
        """Do whatever can be done now, then watch what comes next."""
        if self.is_over or self.frozen is not None or not self.elision.look():
            return
        machine, inbox, reaction = self.machine, self.inbox, self.poll_loop.reaction
        while not self.is_over and reaction(now) == now:
            if inbox:
                self.requests.read(now, *inbox.popleft())
            elif self.command is not None and not machine.listening:
                self._execute(now)
            elif not (machine.needs_application and self.poll_loop.may_pass(now) and self._poll(now)):
                break
        if not self.is_over:
            self._rest(now)

    def _poll(self, now: int) -> bool:
        """A pass of the machine through poll(); whether it wanted anything."""
        machine = self.machine
        if machine.refreshes_to_join and machine.rejoin_needed:
            # A pattern subscriber refreshes its metadata before it joins (``ConsumerCoordinator.poll``).
            if self.metadata.is_stale_for_join(now):
                self._wait_for_metadata(now)
                return True
            self.metadata.refresh(now)
        return bool(self._pass(now))

    def _wait_for_metadata(self, now: int) -> None:
        """The poll() that has asked lasts until the answer, and joins then (``ensureFreshMetadata``)."""
        trip_us = self.metadata.ask(now)
        self.poll_loop.prolong(now, trip_us)
        self.poll_loop.work(now, trip_us, self.metadata.refresh)

    def _pass(self, now: int) -> Effects:
        effects: Effects = self.machine.on_poll(now, is_heard=self.poll_loop.passed(now))
        if effects:
            self.do(now, effects)
        return effects

    def _rest(self, now: int) -> None:
        """Go quiet if nothing can happen, else arm the alarms; a poll() takes up what has come."""
        self.fetcher.poll(now)
        if not self.elision.rest(now):
            self.arm(now)

    def arm(self, now: int) -> None:
        """Arm the alarms of a loud member."""
        poll_loop = self.poll_loop
        self.alarms.watch_member(
            heartbeat=FOREVER if poll_loop.holds_monitor else max(poll_loop.thread_due(now), now),
            poll=poll_loop.next_poll(now),
            max_poll=max(poll_loop.max_poll_due(now), now),
            timeout=self.in_flight.given_up_us,
        )

    def watch_long_pauses(self) -> None:
        """A quiet member has no timers of its own; of its pauses those are watched that are too long to be elided."""
        self.alarms.disarm_member()
        self.suspension.arm_pause(SHORT_PAUSE_US)

    def on_poll(self, now: int) -> None:
        """The application must be looked at."""
        poll_loop, machine = self.poll_loop, self.machine
        if self.frozen is not None or poll_loop.is_at_work:
            return
        if poll_loop.reaction(now) != now:
            self._rest(now)
            return
        is_idle = not (machine.needs_application or self.command is not None or self.inbox)
        if is_idle and not (poll_loop.may_commit(now) and self._pass(now)):
            self._rest(now)
            return
        self.drive(now)

    def on_poll_expired(self, now: int) -> None:
        """max.poll.interval.ms is over, if the application has not been inside poll() in the meantime."""
        if self.frozen is not None:
            return
        if self.poll_loop.max_poll_due(now) > now:
            self._rest(now)
            return
        self.commits.finish_records(now)
        self.do(now, self.machine.on_poll_expired(now))
        self.drive(now)

    def on_deadline(self, now: int) -> None:
        """A timer of the machine is due; a thread that wakes to beat looks first whether the application is late."""
        if self.poll_loop.max_poll_due(now) <= now:
            self.on_poll_expired(now)
        elif self.frozen is None:
            self.do(now, self.machine.on_deadline(now))
            self.drive(now)

    def on_timeout(self, now: int) -> None:
        """A request is given up."""
        self.requests.on_timeout(now)

    def on_metadata_due(self, now: int) -> None:
        """Metadata is too old."""
        self.metadata.on_due(now)

    def on_pause(self, now: int) -> None:
        """A pause begins that was known beforehand."""
        self.suspension.on_pause(now)

    # --- carrying out what the machine wants --------------------------------------------------------------------------

    def do(self, now: int, effects: Effects) -> None:
        """Carry out what the machine wants, until that ends the client."""
        actions = self._actions
        for effect in effects:
            actions[type(effect)](now, effect)
            if self.is_over:
                return
