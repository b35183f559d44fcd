"""A consumer: a SimPy process for its whole life, and the shell around its client machine.

The process tells the story: started, booted, open, gone, perhaps started again. Between those, the shell carries out what
the machine wants, keeps the application thread's whereabouts (inside poll(), or away until some instant), and decides
when the member may be quiet.

Threads. The application thread is inside poll() as its `Cadence` says, unless a job (a listener, the assignor) or a hang
keeps it away. A response is read by the application if it is inside poll(), by the heartbeat thread if that is awake, and
waits otherwise. A freeze stops both.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from assignors import Assignor, AssignorError, create
from assignors import Protocol as RebalanceProtocol
from sim.actors.quiet import SHORT_PAUSE_US, Quiet, Train, densest, may_be_quiet
from sim.actors.service import Service
from sim.assignment import assign, cost_us
from sim.cadence import Cadence, DrawnCadence, Load, pace
from sim.config import ClientConfig
from sim.kernel.alarm import Alarm
from sim.kernel.environment import Kind, deadline_key, process_key
from sim.kernel.network import Connection, Exchange, Path
from sim.model import Processing, Subscription
from sim.protocol.classic_member import ClassicMember
from sim.protocol.effects import (
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
from sim.protocol.messages import (
    NO_PARTITIONS,
    Acknowledgement,
    Api,
    Error,
    FindCoordinatorResponse,
    GroupState,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    OffsetCommit,
    OffsetFetch,
    OffsetFetchResponse,
    Positions,
    SyncResponse,
)
from sim.randomness import Draw, hash64, name_hash
from sim.recorder import CLOSED, CUT, FAILED, KILLED, LOST, REVOKED, Life
from sim.units import FOREVER

if TYPE_CHECKING:
    from sim.actors.hosted_group import HostedGroup
    from sim.actors.world import World

_LATENCY_KIND = {Api.HEARTBEAT: "heartbeat", Api.OFFSET_COMMIT: "commit"}


class Consumer:
    """One named consumer of a group, through all its incarnations.

    Parameters
    ----------
    world : World
    group : HostedGroup
    slot : int
        Index in the group.
    name : str
        ``group/index``.
    client, processing, subscription
        Of the next incarnation.
    static : bool
        ``group.instance.id`` is the name.
    """

    def __init__(
        self,
        world: World,
        group: HostedGroup,
        slot: int,
        name: str,
        *,
        client: ClientConfig,
        processing: Processing,
        subscription: Subscription,
        static: bool,
        process: str,
    ) -> None:
        self.world = world
        self.env = world.env
        self.group = group
        self.slot = slot
        self.name = name
        self.client = client
        self.processing = processing
        self.subscription = subscription
        self.static = static
        self.process = process
        self.rack = ""
        self.entity = name_hash("member", name)
        self.incarnation = 0
        self.service: Service | None = None
        self.machine: ClassicMember | None = None
        self.life: Life | None = None
        self.slowdowns: dict[str, tuple[float, bool]] = {}
        """Entry -> (factor, whole host): what makes this consumer slow right now."""
        env, entity = self.env, self.entity
        self._heartbeat_alarm = Alarm(env, deadline_key(entity, Kind.HEARTBEAT), self._on_deadline)
        self._poll_alarm = Alarm(env, deadline_key(entity, Kind.POLL), self._on_poll)
        self._max_poll_alarm = Alarm(env, deadline_key(entity, Kind.MAX_POLL), self._on_poll_expired)
        self._timeout_alarm = Alarm(env, deadline_key(entity, Kind.TIMER), self._on_request_timeout)
        self._metadata_alarm = Alarm(env, deadline_key(entity, Kind.METADATA), self._on_metadata_due)
        self._pause_alarm = Alarm(env, process_key(entity, Kind.PAUSE), self._on_pause)
        self._wanted: simpy.Event = env.event()
        self.gone: simpy.Event = env.event()
        self._start_asked = False
        self.pauses: list[tuple[int, int]] = []
        self._clear()

    def _clear(self) -> None:
        """What an incarnation starts with."""
        self._connection: Connection | None = None
        self._lookups: dict[int, Connection] = {}
        self._pending: dict[Exchange, None] = {}
        self._inbox: deque[tuple[Exchange, Any]] = deque()
        self._numbers = {"heartbeat": 0, "commit": 0, "other": 0}
        self._joins = 0
        self._cadence: Cadence | None = None
        self._polls = 0
        self._job: tuple[int, Callable[[int], None], Any] | None = None
        self._stuck_until = 0
        self._fetch_token = 0
        self._frozen: tuple[int, int] | None = None
        self._late: list[Callable[[int], None]] = []
        self._next_pause = 0
        self._quiet: Quiet | None = None
        self._seen_version = 0
        self._wish: str | None = None
        self._opened_us = 0
        self._layout: Any = None
        self._cut_off: frozenset[int] = frozenset()
        self._unreachable: dict[int, int] = {}

    # --- life ---------------------------------------------------------------------------------------------------------

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Wait to be started, boot, live; then the same again."""
        while True:
            yield self._wanted
            self.incarnation += 1
            boot = self.world.boot_us(self)
            yield self.env.until(self.env.now + boot, process_key(self.entity, Kind.START))
            if self._start_asked:
                self._open(self.env.now)
                yield self.gone
            self._wanted, self.gone = self.env.event(), self.env.event()
            self._start_asked = False

    @property
    def is_open(self) -> bool:
        """Whether the process runs and has a consumer."""
        return self.machine is not None

    @property
    def is_running(self) -> bool:
        """Whether the process exists (booting or open)."""
        return self._start_asked

    @property
    def is_assigned(self) -> bool:
        """Whether the member is in the group, settled, with an assignment that it has taken over."""
        return self.machine is not None and self.machine.is_settled and self._fetch_token == 0

    def start(self) -> None:
        """Start the process, if it is not running."""
        if not self._start_asked:
            self._start_asked = True
            self._wanted.succeed()

    def _open(self, now: int) -> None:
        """The application calls subscribe() and enters poll() for the first time."""
        self._clear()
        world, group = self.world, self.group
        self.life = Life(self.name, self.incarnation, now)
        group.record.lives.append(self.life)
        self.service = Service(group, self.slot)
        self._opened_us = now
        self._path = world.path_of(self)
        self._other = f"{self.name}#{self.incarnation}"
        self._jitter_key = world.streams.key("backoff", self._other)
        self.assignors: tuple[Assignor, ...] = tuple(
            world.new_assignor(name, self) for name in self.client.partition_assignment_strategy
        )
        commits = {"auto": "auto" if self.client.enable_auto_commit else "none", "none": "none"}
        self._live_client, self._live_processing = self.client, self.processing
        self.machine = ClassicMember(
            group_id=group.name,
            name=self.name,
            config=self.client,
            instance_id=self.name if self.static else None,
            assignors=self.assignors,
            cooperative=all(RebalanceProtocol.COOPERATIVE in one.protocols for one in self.assignors),
            jitter=lambda number: 800 + hash64(self._jitter_key, number) % 401,
            commits=commits.get(self.processing.commit, "each_poll"),
            commit_on_revoked=self.processing.commit_on_revoked,
        )
        self.machine.topic_of = self._topic_of
        self._subscribe_now(now, self.subscription)
        self._next_pause = world.first_pause(self, now)
        self._arm_pause()
        self._drive(now)

    def _topic_of(self, position: int) -> str:
        return self.group.partitions.topic[position]

    def _subscribe_now(self, now: int, subscription: Subscription) -> None:
        machine = self.machine
        assert machine is not None
        self._seen_version = self.world.catalog.version
        machine.on_metadata(self.world.catalog.counts_at(now))
        machine.subscribe(subscription.topics, subscription.pattern)
        self.group.cover(machine.topics)
        self._arm_metadata(now)

    def kill(self, now: int, ended_by: str = "killed", code: int = KILLED) -> None:
        """SIGKILL: nothing is said to anybody; requests on the wire still arrive."""
        if self.machine is None:
            self._start_asked = False
            return
        self.wake()
        service, life = self.service, self.life
        assert service is not None and life is not None
        if self._frozen is not None:
            life.paused_us += now - self._frozen[0]
        availability = self.group.availability
        if service.handle >= 0:
            availability.impair(now, service.handle, True)
        self._lose_before_processing(now)
        service.end_all(now, code)
        self._finish(now, ended_by)

    def _lose_before_processing(self, now: int) -> None:
        """Commit before processing: what was committed and is not processed is gone with the process."""
        if self._live_processing.commit != "before_processing" or self.service is None:
            return
        held = self.service.partitions
        if held.size and self._cadence is not None:
            ahead = self.group.ledger.positions(self.service.holding, self._cadence.next_poll(now))
            done = self.group.ledger.positions(self.service.holding, now)
            self.group.count("loss", "kill", int(np.maximum(ahead - done, 0).sum()))
            self.group.ledger.frontier[held] = np.maximum(self.group.ledger.frontier[held], ahead)

    def _finish(self, now: int, ended_by: str) -> None:
        life = self.life
        assert life is not None
        life.ended_us, life.ended_by = now, ended_by
        if self.machine is not None:
            life.member_id = life.member_id or self.machine.member_id
        self.machine = None
        for exchange in self._pending:
            exchange.abandoned = True
        self._pending.clear()
        if self._job is not None:
            self._job[2].drop()
            self._job = None
        for alarm in (
            self._heartbeat_alarm, self._poll_alarm, self._max_poll_alarm, self._timeout_alarm, self._metadata_alarm,
            self._pause_alarm,
        ):  # fmt: skip
            alarm.set(FOREVER)
        self.world.count_metadata(self, self._opened_us, now)
        self._frozen = None
        self.gone.succeed()

    def finish(self, horizon: int, code: int) -> None:
        """The horizon: catch up, and cut the books here."""
        if self.machine is None:
            return
        self.wake()
        service, life = self.service, self.life
        assert service is not None and life is not None
        life.ended_us = horizon
        life.member_id = life.member_id or self.machine.member_id
        if self._frozen is not None:
            life.paused_us += horizon - self._frozen[0]
            if horizon - self._frozen[0] < SHORT_PAUSE_US and service.handle >= 0:
                self.group.availability.thaw(horizon, service.handle, service.partitions)
        service.close_books(horizon, code)
        self.world.count_metadata(self, self._opened_us, horizon)

    # --- wishes of the outside: carried out by the application at its next poll ----------------------------------------

    def close(self) -> None:
        """SIGTERM: the application finishes its batch, then calls close()."""
        self._wish_for("close")

    def unsubscribe(self) -> None:
        """The application calls unsubscribe() at its next poll."""
        self._wish_for("unsubscribe")

    def resubscribe(self, subscription: Subscription) -> None:
        """The application calls subscribe() with something else at its next poll."""
        self.subscription = subscription
        self._wish_for("subscribe")

    def _wish_for(self, wish: str) -> None:
        if self.machine is None:
            self._start_asked = self._start_asked and wish != "close"
            return
        self.wake()
        self._wish = wish
        self._drive(self.env.now)

    def _grant(self, now: int) -> None:
        """Inside poll(), with a wish pending."""
        machine, wish = self.machine, self._wish
        assert machine is not None
        if machine.listening:
            return
        self._wish = None
        if wish == "subscribe":
            self._subscribe_now(now, self.subscription)
        elif wish == "close":
            self._closing = True
            self._do(now, machine.close(now))
        else:
            self._closing = False
            self._do(now, machine.close(now, "the consumer unsubscribed from all topics"))

    _closing = False

    # --- the application thread ---------------------------------------------------------------------------------------

    def _reaction(self, now: int) -> int:
        """The first instant at which the application is inside poll(), microseconds; `FOREVER` while a job runs."""
        if self._job is not None or self._frozen is not None:
            return FOREVER
        at = max(now, self._stuck_until)
        return at if self._cadence is None else self._cadence.reaction(at)

    def _drive(self, now: int) -> None:
        """Do whatever can be done now, then watch what comes next."""
        machine = self.machine
        if machine is None or self._frozen is not None:
            return
        while self.machine is not None and self._reaction(now) == now:
            if self._inbox:
                self._read(now, *self._inbox.popleft())
            elif self._wish is not None and not machine.listening:
                self._grant(now)
            elif machine.needs_application:
                if machine.pattern is not None and machine.rejoin_needed:
                    # A pattern subscriber refreshes its metadata before it joins (``ConsumerCoordinator.poll``).
                    machine.on_metadata(self.world.catalog.counts_at(now))
                    self.group.cover(machine.topics)
                effects = machine.on_poll(now)
                if not effects:
                    break
                self._do(now, effects)
            else:
                break
        if self.machine is not None:
            self._rest(now)

    def _rest(self, now: int) -> None:
        """Go quiet if nothing can happen, else arm the alarms."""
        if self._may_hush():
            self._hush(now)
            return
        machine = self.machine
        assert machine is not None
        due = machine.deadline
        if due < FOREVER and not machine.config.behaviour.background_heartbeat:
            due = self._reaction(max(due, now))
        self._heartbeat_alarm.set(FOREVER if self._monitor_held() else max(due, now))
        self._poll_alarm.set(self._next_poll(now))
        self._max_poll_alarm.set(self._max_poll_due(now))
        self._timeout_alarm.set(self._given_up_at())

    def _given_up_at(self) -> int:
        """When the first request in flight is given up."""
        return min(exchange.given_up_us for exchange in self._pending) if self._pending else FOREVER

    def _monitor_held(self) -> bool:
        """The leader's assignor runs under the monitor that the heartbeat thread needs."""
        return self._job is not None and self._job[1] == self._assigned

    def _next_poll(self, now: int) -> int:
        """When the application must be looked at again."""
        machine = self.machine
        assert machine is not None
        if self._job is not None:
            return FOREVER
        due = FOREVER
        if self._inbox or self._wish is not None or (machine.needs_application and machine.coordinator is not None):
            due = self._reaction(now + 1)
        if self._cadence is not None:
            if machine.commit_due < FOREVER and machine.owned.size and not machine.is_joining:
                due = min(due, self._cadence.next_poll(max(machine.commit_due, now + 1)))
            if self.world.is_loud:
                due = min(due, self._cadence.next_poll(now + 1))
        return due

    def _max_poll_due(self, now: int) -> int:
        """max.poll.interval.ms after the last pass inside poll(), if the next one would be too late."""
        machine = self.machine
        assert machine is not None
        if not machine.heartbeats_enabled:
            return FOREVER
        if self._job is not None:
            return self._job_since + machine.config.max_poll_interval_us
        next_ = self._reaction(now)
        if next_ == now:
            return FOREVER
        last = self._last_poll(now)
        due = last + machine.config.max_poll_interval_us
        return due if due < next_ else FOREVER

    _job_since = 0

    def _last_poll(self, now: int) -> int:
        if self._cadence is None:
            return min(now, self._stuck_since) if now < self._stuck_until else now
        last = self._cadence.last_poll(min(now, self._stuck_since) if now < self._stuck_until else now)
        return last if last is not None else now

    _stuck_since = 0

    def _on_poll(self, now: int) -> None:
        machine = self.machine
        if machine is None or self._frozen is not None or self._job is not None:
            return
        if self._reaction(now) != now:
            self._rest(now)
            return
        if not machine.needs_application and self._wish is None and not self._inbox:
            self._do(now, machine.on_poll(now))
        self._drive(now)

    def _on_poll_expired(self, now: int) -> None:
        machine = self.machine
        if machine is None or self._frozen is not None or not machine.heartbeats_enabled:
            return
        if self._max_poll_due(now) > now:
            self._rest(now)
            return
        self._do(now, machine.on_poll_expired(now))
        self._drive(now)

    def _on_deadline(self, now: int) -> None:
        machine = self.machine
        if machine is None or self._frozen is not None:
            return
        self._do(now, machine.on_deadline(now))
        self._drive(now)

    # --- carrying out what the machine wants --------------------------------------------------------------------------

    def _do(self, now: int, effects: Effects) -> None:
        for effect in effects:
            self._ACTIONS[type(effect)](self, now, effect)
            if self.machine is None:
                return

    def _do_send(self, now: int, effect: Send) -> None:
        if effect.api is Api.FIND_COORDINATOR:
            self._look_up(now, effect)
            return
        body = effect.body
        if isinstance(body, JoinGroup):
            body.fresh_id = self._fresh_id()
            if self.service is not None and self.life is not None:
                self.life.rejoins += 1
        self._request(now, effect.api, body)

    def _fresh_id(self) -> str:
        """A member id as a broker makes it up: client id and a UUID, named by who asks and how often."""
        self._joins += 1
        client = self.name if self.static else f"consumer-{self.group.name}-1"
        key = self.world.streams.key("member-id", self._other, self._joins)
        text = f"{hash64(key, 0):016x}{hash64(key, 1):016x}"
        return f"{client}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def _request(self, now: int, api: Api, body: Any) -> None:
        connection = self._connection
        if connection is None:
            return
        exchange = self._exchange(now, connection, api, body)
        self._pending[exchange] = None
        connection.send(exchange)
        if connection.broken and not self.world.is_cut(self, connection.node):
            # The broker is back and knows nothing of this connection: it answers with a reset.
            self.env.at(now + exchange.up_us, deadline_key(self.entity, Kind.TIMER), self._reset_by_peer, connection)

    def _reset_by_peer(self, connection: Connection) -> None:
        now, machine = self.env.now, self.machine
        if machine is None or connection is not self._connection:
            return
        if self._frozen is not None:
            self._late.append(lambda _: self._reset_by_peer(connection))
            return
        self._do(now, machine.mark_coordinator_unknown(now))
        self._drive(now)

    def _exchange(self, now: int, connection: Connection, api: Api, body: Any) -> Exchange:
        kind = _LATENCY_KIND.get(api, "other")
        number = self._numbers[kind]
        self._numbers[kind] += 1
        config = self._live_client
        timeout = config.request_timeout_us
        extra = 0
        if api is Api.JOIN_GROUP:
            timeout = max(timeout, config.rebalance_timeout_us + 5_000_000)
            extra = self.world.timing.join_prepare_us
        up, down = self._path.latency(kind, 2 * number), self._path.latency(kind, 2 * number + 1)
        return Exchange(connection, api, body, self.group.name, number, now, up + extra, down, now + timeout)

    def _do_commit(self, now: int, effect: Commit) -> None:
        service = self.service
        assert service is not None
        held = service.partitions
        whole = effect.positions is self.machine_owned()
        mine = held if whole else np.intersect1d(held, effect.positions)
        if not mine.size:
            self._nothing_to_commit(now)
            return
        at = now
        if self._live_processing.commit == "before_processing" and self._cadence is not None:
            at = self._cadence.next_poll(now + 1)
        offsets = self.group.ledger.positions(service.holding, at)
        if not whole:
            offsets = offsets[np.isin(held, mine)]
        machine = self.machine
        assert machine is not None
        body = OffsetCommit(effect.member_id, machine.instance_id, effect.generation, mine, offsets)
        self._request(now, Api.OFFSET_COMMIT, body)

    def machine_owned(self) -> Positions:
        """What the client believes it owns."""
        return self.machine.owned if self.machine is not None else NO_PARTITIONS

    def _nothing_to_commit(self, now: int) -> None:
        """No position is known yet: the client sends nothing, and whoever waited goes on."""
        machine = self.machine
        assert machine is not None
        self._do(now, machine.on_commit_response(now, Error.NONE, machine.generation))

    def _do_listen(self, now: int, effect: Listen) -> None:
        processing = self._live_processing
        duration = {
            "revoked": processing.on_revoked_us,
            "assigned": processing.on_assigned_us,
            "lost": processing.on_lost_us,
        }[effect.callback]
        duration = round(duration * self.slowdown(host_only=True)) if effect.positions.size else 0
        if duration:
            self._work(now, duration, self._listened)
        else:
            self._listened(now)

    def _listened(self, now: int) -> None:
        machine = self.machine
        if machine is not None:
            self._do(now, machine.on_listener_done(now))

    def _work(self, now: int, duration: int, done: Callable[[int], None]) -> None:
        """Keep the application thread busy, then call ``done``."""
        due = now + duration
        self._job_since = now
        occurrence = self.env.at(due, deadline_key(self.entity, Kind.FETCH), self._worked)
        self._job = (due, done, occurrence)

    def _worked(self, _: Any) -> None:
        job, now = self._job, self.env.now
        if job is None or self.machine is None:
            return
        self._job = None
        job[1](now)
        self._drive(now)

    def _do_assign(self, now: int, effect: RunAssignor) -> None:
        """The leader: metadata first if the group wants topics that it does not know, then the assignor."""
        machine = self.machine
        assert machine is not None
        response = effect.response
        catalog = self.world.catalog
        own = set(machine.topics)
        delay = 0
        if any(topic not in own for topic in machine.group_topics):
            delay = 2 * self._path.latency("other", 2 * self._numbers["other"]) + self.world.timing.service_us
            machine.on_metadata(catalog.counts_at(now))
        else:
            machine.on_metadata(self._metadata_now(now))
        counts = {topic: machine.metadata[topic] for topic in machine.group_topics if topic in machine.metadata}
        self.group.cover(tuple(counts))
        layout = self.group.layouts.of(counts)
        cost = cost_us(response.protocol or "", len(response.members), layout.topics.n_partitions)
        assignor = next(one for one in self.assignors if one.name == response.protocol)
        self._assignment = (assignor, layout, response, counts)
        self._work(now, round((delay + cost) * self.slowdown(host_only=True)), self._assigned)

    _assignment: Any = None

    def _assigned(self, now: int) -> None:
        machine = self.machine
        if machine is None:
            return
        assignor, layout, response, counts = self._assignment
        try:
            assignments = assign(assignor, layout, response)
        except AssignorError as error:
            self.world.assignor_failed(self, error)
            self._do(now, machine.on_assignor_failed(now))
            return
        self._do(now, machine.on_assignments(now, assignments, counts))

    def _do_drop(self, now: int, effect: Drop) -> None:
        service = self.service
        assert service is not None
        if effect.lost:
            self._lose_before_processing(now)
        code = LOST if effect.lost else REVOKED
        if self._wish is None and self._closing:
            code = CLOSED
        self._fetch_token = 0
        self._fetch_id += 1
        if self._unreachable:
            for position in effect.positions.tolist():
                self._unreachable.pop(position, None)
        service.end(now, effect.positions, code)
        self._repace(now)

    _fetch_id = 0

    def _do_adopt(self, now: int, effect: Adopt) -> None:
        machine, service, group = self.machine, self.service, self.group
        assert machine is not None and service is not None
        service.handle = group.handle_of(machine.member_id)
        group.availability.receive(now, service.handle, effect.positions)
        layout = group.layouts.of(
            {topic: machine.metadata[topic] for topic in machine.topics if topic in machine.metadata}
        )
        for assignor in self.assignors:
            if assignor.name == machine.protocol:
                assignor.on_assignment(layout.topics, layout.local(effect.positions), machine.generation)
        if self.life is not None and self.life.stable_us < 0:
            self.life.stable_us = now
            self.life.member_id = machine.member_id
        self._repace(now)
        self._arm_metadata(now)

    def _do_disconnect(self, now: int, effect: Disconnect) -> None:
        """Everything in flight to the coordinator fails with a disconnect."""
        machine = self.machine
        assert machine is not None
        failed = [exchange for exchange in self._pending if exchange.connection is self._connection]
        self._connection = None
        for exchange in failed:
            exchange.abandoned = True
            del self._pending[exchange]
        for exchange in failed:
            self._read_failure(now, exchange)

    def _read_failure(self, now: int, exchange: Exchange) -> None:
        machine, body = self.machine, exchange.body
        if machine is None:
            return
        lost = Error.DISCONNECTED
        match exchange.api:
            case Api.JOIN_GROUP:
                self._do(now, machine.on_join_response(now, JoinResponse(lost)))
            case Api.SYNC_GROUP:
                self._do(now, machine.on_sync_response(now, SyncResponse(lost), body.generation))
            case Api.HEARTBEAT:
                self._do(now, machine.on_heartbeat_response(now, lost, body.generation))
            case Api.OFFSET_COMMIT:
                self._do(now, machine.on_commit_response(now, lost, body.generation))
            case Api.OFFSET_FETCH:
                self._do(now, machine.on_offsets(now, OffsetFetchResponse(lost, np.empty(0, np.int64))))
            case _:
                pass

    def _do_raise(self, now: int, effect: Raise) -> None:
        """poll() throws something fatal: the application ends."""
        service = self.service
        assert service is not None
        if service.handle >= 0:
            self.group.availability.impair(now, service.handle, True)
        service.end_all(now, FAILED)
        self._finish(now, f"failed: {effect.error.value}")

    def _do_closed(self, now: int, effect: Closed) -> None:
        if not self._closing:
            self._cadence = None
            return
        for exchange in self._pending:
            exchange.abandoned = True
        self._pending.clear()
        self._finish(now, "closed")

    _ACTIONS: dict[type, Callable[..., None]] = {}

    # --- coordinator lookup -------------------------------------------------------------------------------------------

    def _look_up(self, now: int, effect: Send) -> None:
        """Ask the least loaded node: with idle connections that is any, so one is drawn."""
        number = self._numbers["other"]
        nodes = self.world.broker_ids
        node = nodes[hash64(self.world.streams.key("node", self._other), number) % len(nodes)]
        connection = self._lookups.get(node)
        if connection is None or connection.broken:
            connection = self._lookups[node] = self.world.connect(self, node)
        exchange = self._exchange(now, connection, Api.FIND_COORDINATOR, effect.body)
        if self.world.is_cut(self, node):
            exchange.given_up_us = now + self._live_client.connection_setup_timeout_us
        self._pending[exchange] = None
        connection.send(exchange)

    def _found(self, now: int, response: FindCoordinatorResponse) -> None:
        """A coordinator is named: connect to it."""
        machine = self.machine
        assert machine is not None
        if response.error is not Error.NONE:
            self._do(now, machine.on_coordinator(now, None))
            return
        if self.world.is_cut(self, response.node):
            wait = self._live_client.connection_setup_timeout_us
            self.env.at(now + wait, deadline_key(self.entity, Kind.TIMER), self._connected, (machine, None))
            return
        self.env.at(
            now + self.world.timing.connect_us,
            deadline_key(self.entity, Kind.TIMER),
            self._connected,
            (machine, response.node),
        )

    def _connected(self, arrived: tuple[ClassicMember, int | None]) -> None:
        machine, node = arrived
        now = self.env.now
        if machine is not self.machine:
            return
        if self._frozen is not None:
            self._late.append(lambda _: self._connected(arrived))
            return
        if node is not None and machine.coordinator is None:
            self._connection = self.world.connect(self, node)
        self._do(now, machine.on_coordinator(now, node))
        self._drive(now)

    # --- responses ----------------------------------------------------------------------------------------------------

    def deliver(self, exchange: Exchange, response: Any) -> None:
        """An answer has arrived at this machine."""
        now, machine = self.env.now, self.machine
        if exchange.abandoned or machine is None:
            return
        if self._frozen is not None:
            self._inbox.append((exchange, response))
            return
        background = machine.config.behaviour.background_heartbeat and machine.heartbeats_enabled
        if (background and not self._monitor_held()) or self._reaction(now) == now:
            self._read(now, exchange, response)
        else:
            self._inbox.append((exchange, response))
        self._drive(now)

    def _read(self, now: int, exchange: Exchange, response: Any) -> None:
        machine, body = self.machine, exchange.body
        if machine is None or exchange.abandoned:
            return
        self._pending.pop(exchange, None)
        if isinstance(response, Acknowledgement):
            if isinstance(body, Heartbeat):
                self._do(now, machine.on_heartbeat_response(now, response.error, body.generation))
            elif isinstance(body, OffsetCommit):
                self._do(now, machine.on_commit_response(now, response.error, body.generation))
        elif isinstance(response, JoinResponse):
            self._do(now, machine.on_join_response(now, response))
        elif isinstance(response, SyncResponse):
            self._do(now, machine.on_sync_response(now, response, body.generation))
        elif isinstance(response, OffsetFetchResponse):
            self._positions_known(now, body, response)
        elif isinstance(response, FindCoordinatorResponse):
            self._found(now, response)

    def _on_request_timeout(self, now: int) -> None:
        """Requests that were not answered in time take their connection with them (``NetworkClient``)."""
        machine = self.machine
        if machine is None or self._frozen is not None:
            return
        late = [exchange for exchange in self._pending if exchange.given_up_us <= now]
        for exchange in late:
            exchange.abandoned = True
            self._pending.pop(exchange, None)
            if exchange.api is Api.FIND_COORDINATOR:
                self._do(now, machine.on_coordinator(now, None))
            elif exchange.connection is self._connection:
                self._read_failure(now, exchange)
                if self.machine is not None:
                    self._do(now, machine.mark_coordinator_unknown(now))
        self._drive(now)

    # --- positions and the cadence ------------------------------------------------------------------------------------

    def _positions_known(self, now: int, body: OffsetFetch, response: OffsetFetchResponse) -> None:
        """Committed offsets have come; the reset policy fills the gaps; the first fetch follows."""
        machine = self.machine
        assert machine is not None
        positions = body.positions
        unchanged = positions is machine.uninitialised
        still = np.ones(len(positions), np.bool_) if unchanged else np.isin(positions, machine.owned)
        self._do(now, machine.on_offsets(now, response))
        if response.error is not Error.NONE or self.machine is None or not still.any():
            return
        offsets = response.offsets.copy()
        delay = self.world.timing.fetch_us
        if (offsets < 0).any():
            reset = self._live_client.auto_offset_reset
            if reset == "none":
                machine.failed = Error.UNKNOWN_SERVER_ERROR
                self._do_raise(now, Raise(Error.UNKNOWN_SERVER_ERROR))
                return
            number = self._numbers["other"]
            self._numbers["other"] += 1
            asked = now + self._path.latency("other", 2 * number)
            latest = self.group.ledger.produced(asked, positions)
            offsets = np.where(offsets < 0, latest if reset == "latest" else 0, offsets)
            delay += asked - now + self.world.timing.service_us + self._path.latency("other", 2 * number + 1)
        self._fetch_token = self._fetch_id = self._fetch_id + 1
        arrived = (self._fetch_token, positions[still], offsets[still])
        self.env.at(now + delay, deadline_key(self.entity, Kind.FETCH), self._fetched, arrived)

    def _fetched(self, arrived: tuple[int, Positions, Any]) -> None:
        token, positions, offsets = arrived
        now, machine, service = self.env.now, self.machine, self.service
        if machine is None or token != self._fetch_token:
            return
        if self._frozen is not None:
            self._late.append(lambda _: self._fetched(arrived))
            return
        assert service is not None
        self._fetch_token = 0
        if self._cut_off:
            reachable = ~np.isin(self.group.partitions.leader[positions], list(self._cut_off))
            self._unreachable.update(zip(positions[~reachable].tolist(), offsets[~reachable].tolist(), strict=True))
            positions, offsets = positions[reachable], offsets[reachable]
        if positions.size:
            service.begin(now, positions, offsets, 0.0)
        self._repace(now)
        self._drive(now)

    def slowdown(self, *, host_only: bool = False) -> float:
        """Factor on what the application does; ``host_only``: on what is not processing."""
        factor = 1.0
        for one, host in self.slowdowns.values():
            if host or not host_only:
                factor *= one
        return factor

    def repace(self, now: int) -> None:
        """Rates or costs have changed from outside."""
        if self.machine is not None:
            self.wake()
            self._repace(now)
            self._drive(now)

    def _repace(self, now: int) -> None:
        """Work out cadence and capacity anew, from the next poll on."""
        service = self.service
        assert service is not None
        held = service.partitions
        if not held.size:
            self._cadence = None
            return
        ledger, processing, config = self.group.ledger, self._live_processing, self._live_client
        slowdown = self.slowdown()
        at = ledger.positions(service.holding, now)
        load = Load(ledger.rate_of(held), float(np.maximum(ledger.produced(now, held) - at, 0).sum()))
        timing = self.world.timing
        most = min(config.max_poll_records, len(held) * timing.records_per_fetch)
        paced = pace(processing, most, timing.poll_us, load, slowdown)
        service.repace(now, paced.capacity)
        old = self._cadence
        before = old.last_poll(now) if old is not None else now
        start = now if old is None else old.next_poll(now)
        if isinstance(old, DrawnCadence):
            self._polls = old.number_at(start)
        if self._stuck_until > now:
            start = max(start, self._stuck_until)
        if not service.holding.running and self._frozen is None and self._stuck_until <= now:
            service.go_on(now, paced.capacity)
        if processing.per_record.kind == "constant":
            self._cadence = Cadence(start, paced, load, before)
        else:
            cost = Draw(self.world.streams.key("per-record", self._other), processing.per_record)
            fixed = round(processing.per_poll_us * slowdown)
            self._cadence = DrawnCadence(
                start, paced, load, before, cost=cost, first=self._polls, fixed_us=fixed, slowdown=slowdown
            )

    # --- quiet --------------------------------------------------------------------------------------------------------

    def _may_hush(self) -> bool:
        machine, group = self.machine, self.group
        if (
            self.world.is_loud
            or machine is None
            or self._pending
            or self._inbox
            or self._job is not None
            or self._wish is not None
            or self._fetch_token
            or self._cut_off
            or self._connection is None
            or self._connection.broken
            or self._frozen is not None
            or self._stuck_until > self.env.now
            or machine.deadline <= self.env.now
            or not machine.is_settled
            or group.machine.state is not GroupState.STABLE
            or group.machine.generation != machine.generation
        ):
            return False
        member = group.machine.roster.get(machine.member_id)
        if member is None or (machine.instance_id and group.machine.roster.static[machine.instance_id] != machine.member_id):
            return False
        interval = machine._commit_interval_us
        within = may_be_quiet(machine.config, self.world.timing, self._path, self._cadence, interval)
        return within and self._polls_in_time()

    def _polls_in_time(self) -> bool:
        """Whether no pass, stretched by the short pauses that can fall into it, can exceed max.poll.interval.ms."""
        if self._cadence is None:
            return True
        longest = self._cadence.longest_us
        return 2 * longest + densest(self.pauses, self._next_pause, longest) < self._live_client.max_poll_interval_us

    def _hush(self, now: int) -> None:
        machine, connection = self.machine, self._connection
        assert machine is not None and connection is not None
        entity = self.entity
        commits = machine.commit_due if machine.owned.size and self._cadence is not None else FOREVER
        self._quiet = Quiet(
            heartbeats=Train(machine.heartbeat_due, self._numbers["heartbeat"]),
            commits=Train(max(commits, now + 1) if commits < FOREVER else FOREVER, self._numbers["commit"]),
            cadence=self._cadence,
            heartbeat_interval=machine.config.heartbeat_interval_us,
            commit_interval=machine._commit_interval_us,
            pauses=self.pauses,
            next_pause=self._next_pause,
            order=(connection.up_us, connection.free_us, connection.down_us),
            heartbeat_key=deadline_key(entity, Kind.HEARTBEAT),
            poll_key=deadline_key(entity, Kind.POLL),
            pause_key=process_key(entity, Kind.PAUSE),
            thaw_key=process_key(entity, Kind.THAW),
        )
        self._renewed_us = self.group.hush(self, machine.member_id)
        for alarm in (self._heartbeat_alarm, self._poll_alarm, self._max_poll_alarm, self._timeout_alarm):
            alarm.set(FOREVER)
        self._arm_pause()

    _renewed_us = 0

    def wake(self) -> None:
        """Become loud, as of the moment that is being carried out."""
        quiet, machine, connection = self._quiet, self.machine, self._connection
        if quiet is None or machine is None or connection is None:
            return
        self._quiet = None
        moment = self.env.moment
        quiet.catch_up(moment)
        self._restore(quiet)
        renewed = self._replay(quiet, moment)
        self.group.rouse(machine.member_id, renewed)
        self._rest_loud(quiet)

    def _restore(self, quiet: Quiet) -> None:
        """Timers and numbers as they are by now."""
        machine, service, life = self.machine, self.service, self.life
        assert machine is not None and service is not None and life is not None
        machine.heartbeat_due = quiet.heartbeats.due
        if machine.commit_due < FOREVER and quiet.commits.due < FOREVER:
            machine.commit_due = quiet.commits.due
        self._numbers["heartbeat"] = quiet.heartbeats.number
        self._numbers["commit"] = quiet.commits.number
        self._next_pause = quiet.next_pause
        serving = self.group.availability.serving(service.handle, service.partitions) if quiet.paused else 0
        for start, end in quiet.paused:
            self.group.availability.pause(serving, start, end)
            life.paused_us += end - start
        requests = self.group.record.requests
        requests[Api.HEARTBEAT.value, Error.NONE.value] += quiet.heartbeats.count
        requests[Api.OFFSET_COMMIT.value, Error.NONE.value] += quiet.commits.count

    def _replay(self, quiet: Quiet, moment: tuple[int, int]) -> int:
        """Requests on the way become messages; the last renewal and the last commit go into the books."""
        machine, connection, group, service = self.machine, self._connection, self.group, self.service
        assert machine is not None and connection is not None and service is not None
        request_key = connection.request_key
        renewed = self._renewed_us
        committed: Any = None
        requests = group.record.requests
        for beat in quiet.beats(self._path, self.world.timing):
            is_commit = beat.kind == "commit"
            if (beat.worked, request_key) < moment:
                renewed = max(renewed, beat.worked)
                committed = beat if is_commit else committed
                connection.up_us, connection.free_us = beat.arrived, beat.left
                connection.down_us = beat.answered
                if (beat.answered, connection.response_key) < moment:
                    if not is_commit:
                        machine.session_due = self._read_at(quiet, beat.answered) + machine.config.session_timeout_us
                else:
                    exchange = self._remake(beat.number, is_commit, beat.sent)
                    exchange.answered = True
                    self._pending[exchange] = None
                    connection.answer_at(beat.answered, exchange, Acknowledgement(Error.NONE))
            else:
                api = Api.OFFSET_COMMIT if is_commit else Api.HEARTBEAT
                requests[api.value, Error.NONE.value] -= 1
                exchange = self._remake(beat.number, is_commit, beat.sent)
                self._pending[exchange] = None
                connection.up_us = beat.arrived
                connection.arrive_at(max(beat.arrived, moment[0]), exchange)
        if committed is not None:
            group.ledger.committed[service.partitions] = self._committed_at(committed.sent)
        return renewed

    def _read_at(self, quiet: Quiet, answered: int) -> int:
        """When an answer is read: a pause keeps it waiting."""
        for start, end in [*quiet.paused, *([quiet.frozen] if quiet.frozen is not None else [])]:
            if start <= answered < end:
                return end
        return answered

    def _committed_at(self, poll: int) -> Any:
        """Positions that a commit sent at ``poll`` carries."""
        service = self.service
        assert service is not None
        at = poll
        if self._live_processing.commit == "before_processing" and self._cadence is not None:
            at = self._cadence.next_poll(poll + 1)
        return self.group.ledger.positions(service.holding, at)

    def _remake(self, number: int, is_commit: bool, sent: int) -> Exchange:
        """The exchange that this quiet request would have been."""
        machine, connection, service = self.machine, self._connection, self.service
        assert machine is not None and connection is not None and service is not None
        kind = "commit" if is_commit else "heartbeat"
        body: Heartbeat | OffsetCommit
        if is_commit:
            offsets = self._committed_at(sent)
            body = OffsetCommit(
                machine.member_id, machine.instance_id, machine.generation, service.partitions, offsets
            )
        else:
            body = Heartbeat(machine.member_id, machine.instance_id, machine.generation)
        up, down = self._path.latency(kind, 2 * number), self._path.latency(kind, 2 * number + 1)
        api = Api.OFFSET_COMMIT if is_commit else Api.HEARTBEAT
        timeout = machine.config.request_timeout_us
        return Exchange(connection, api, body, self.group.name, number, sent, up, down, sent + timeout)

    def _rest_loud(self, quiet: Quiet) -> None:
        """Alarms of a member that has just been woken; a pause may be under way."""
        if quiet.frozen is not None:
            start, end = quiet.frozen
            self._frozen = quiet.frozen
            self.group.availability.freeze(start, self.service.handle if self.service is not None else -1)
            self.env.at(end, process_key(self.entity, Kind.THAW), self._on_thaw)
            return
        self._arm_pause()
        self._rest_now()

    def _rest_now(self) -> None:
        now, machine = self.env.now, self.machine
        assert machine is not None
        self._heartbeat_alarm.set(max(machine.deadline, now))
        self._poll_alarm.set(self._next_poll(now))
        self._max_poll_alarm.set(self._max_poll_due(now))
        self._timeout_alarm.set(self._given_up_at())

    # --- pauses, hangs, cuts ------------------------------------------------------------------------------------------

    def _arm_pause(self) -> None:
        """Loud: the next pause is an event. Quiet: only the next one that is too long to be elided."""
        due = FOREVER
        for start, end in self.pauses[self._next_pause :]:
            if self._quiet is None or end - start >= SHORT_PAUSE_US:
                due = start
                break
        self._pause_alarm.set(due)

    def _on_pause(self, now: int) -> None:
        if self.machine is None:
            return
        self.wake()
        if self._next_pause < len(self.pauses) and self.pauses[self._next_pause][0] == now:
            end = self.pauses[self._next_pause][1]
            self._next_pause += 1
            self._freeze(now, end)
        self._arm_pause()

    def freeze(self, until: int) -> None:
        """The process stands still from now on: a pause that nobody knew of."""
        now, quiet = self.env.now, self._quiet
        if self.machine is None or until <= now:
            return
        if quiet is not None and until - now < SHORT_PAUSE_US and not quiet.overlaps(now, until):
            insort(self.pauses, (now, until))
            if self._polls_in_time():
                return
            self.pauses.remove((now, until))
        self.wake()
        self._freeze(now, until)

    def _freeze(self, now: int, until: int) -> None:
        service = self.service
        assert service is not None
        if self._frozen is not None:
            self._frozen = (self._frozen[0], max(self._frozen[1], until))
        else:
            self._frozen = (now, until)
            if service.handle >= 0:
                self.group.availability.freeze(now, service.handle)
            if self._job is not None:
                self._job[2].drop()
            self.env.at(until, process_key(self.entity, Kind.THAW), self._on_thaw)
        if self._frozen[1] - self._frozen[0] >= SHORT_PAUSE_US:
            service.stand_still(now)

    def _on_thaw(self, _: Any) -> None:
        frozen, machine, service, now = self._frozen, self.machine, self.service, self.env.now
        if frozen is None or machine is None or service is None:
            return
        start, end = frozen
        if end > now:
            self.env.at(end, process_key(self.entity, Kind.THAW), self._on_thaw)
            return
        self._frozen = None
        length = now - start
        if self.life is not None:
            self.life.paused_us += length
        self._shift(now, start, length)
        if service.handle >= 0:
            self.group.availability.thaw(now, service.handle, service.partitions)
        if length >= SHORT_PAUSE_US and self._stuck_until <= now:
            self._repace(now)
        late, self._late = self._late, []
        for action in late:
            action(now)
        self._read_waiting(now)
        self._arm_pause()
        self._drive(now)

    def _shift(self, now: int, start: int, length: int) -> None:
        """The application's clock has stood still: all its work is that much later."""
        if self._cadence is not None:
            self._cadence.shift(start, length)
        if self._stuck_until > start:
            self._stuck_until += length
        if self._job is not None:
            due, done, _ = self._job
            occurrence = self.env.at(due + length, deadline_key(self.entity, Kind.FETCH), self._worked)
            self._job = (due + length, done, occurrence)

    def _read_waiting(self, now: int) -> None:
        """What came during the freeze, in order of arrival, as far as a thread is there to read it."""
        waiting, self._inbox = self._inbox, deque()
        for exchange, response in waiting:
            machine = self.machine
            if machine is None:
                return
            background = machine.config.behaviour.background_heartbeat and machine.heartbeats_enabled
            if (background and not self._monitor_held()) or self._reaction(now) == now:
                self._read(now, exchange, response)
            else:
                self._inbox.append((exchange, response))

    def hang(self, length: int) -> None:
        """The processing thread hangs for a while; the heartbeat thread lives."""
        now, service = self.env.now, self.service
        if self.machine is None or service is None:
            return
        self.wake()
        until = now + length
        if self._stuck_until <= now:
            self._stuck_since = now
        self._stuck_until = max(self._stuck_until, until)
        if self._cadence is not None:
            self._cadence.shift(now, length)
        service.stand_still(now)
        if service.handle >= 0:
            self.group.availability.suspend_service(now, service.handle, service.partitions)
        self.env.at(until, process_key(self.entity, Kind.FAULT), self._on_unstuck)
        self._drive(now)

    def _on_unstuck(self, _: Any) -> None:
        now, service = self.env.now, self.service
        if self.machine is None or service is None or self._stuck_until > now or self._frozen is not None:
            return
        if service.handle >= 0:
            self.group.availability.impair(now, service.handle, False)
            self.group.availability.serve(now, service.handle, service.partitions)
        self._repace(now)
        self._drive(now)

    def cut(self, nodes: frozenset[int]) -> None:
        """Nothing gets through to these brokers any more: connections to them are dead, and nobody says so."""
        now, service = self.env.now, self.service
        if self.machine is None or service is None:
            return
        self.wake()
        self._cut_off |= nodes
        for connection in (self._connection, *self._lookups.values()):
            if connection is not None and connection.node in nodes:
                connection.end()
        held = service.partitions
        lost = held[np.isin(self.group.partitions.leader[held], list(nodes))]
        at = self.group.ledger.positions(service.holding, now)[np.isin(held, lost)]
        self._unreachable.update(zip(lost.tolist(), at.tolist(), strict=True))
        self.group.availability.sever(lost, severed=True)
        service.end(now, lost, CUT)
        self._repace(now)
        self._drive(now)

    def heal(self, nodes: frozenset[int]) -> None:
        """The brokers can be reached again; partitions they lead are fetched from where the consumer was."""
        now, service, machine = self.env.now, self.service, self.machine
        if machine is None or service is None:
            return
        self._cut_off -= nodes
        back = np.array([p for p in self._unreachable if int(self.group.partitions.leader[p]) not in self._cut_off], np.int32)
        self.group.availability.sever(back, severed=False)
        at = np.array([self._unreachable.pop(int(p)) for p in back], np.int64)
        owned = np.isin(back, machine.owned) & ~np.isin(back, machine.uninitialised)
        if owned.any() and self._frozen is None and self._stuck_until <= now:
            service.begin(now, back[owned], at[owned], 0.0)
            self._repace(now)
        self._drive(now)

    # --- metadata -----------------------------------------------------------------------------------------------------

    def _refresh_due(self, now: int) -> int:
        """The next metadata refresh after ``now``: metadata.max.age.ms apart, from the opening on."""
        age = self._live_client.metadata_max_age_us
        return self._opened_us + ((now - self._opened_us) // age + 1) * age

    def _metadata_now(self, now: int) -> Any:
        """What the last refresh before ``now`` has seen."""
        return self.world.catalog.counts_at(max(self._refresh_due(now) - self._live_client.metadata_max_age_us, self._opened_us))

    @property
    def _watches_metadata(self) -> bool:
        """Only leaders and pattern subscribers act on what a refresh brings."""
        machine = self.machine
        return machine is not None and (machine.is_leader or machine.pattern is not None)

    def _arm_metadata(self, now: int) -> None:
        stale = self._seen_version < self.world.catalog.version and self._watches_metadata
        self._metadata_alarm.set(self._refresh_due(now) if self.world.is_loud or stale else FOREVER)

    def metadata_changed(self) -> None:
        """Topics have changed in the cluster: the next refresh will tell."""
        if self.machine is not None:
            self._arm_metadata(self.env.now)

    def _on_metadata_due(self, now: int) -> None:
        """A refresh: answered by a broker as of now, read one round trip later."""
        machine = self.machine
        if machine is None:
            return
        number = (now - self._opened_us) // self._live_client.metadata_max_age_us
        trip = self._path.latency("metadata", 2 * number) + self._path.latency("metadata", 2 * number + 1)
        seen = (machine, self.world.catalog.version, self.world.catalog.counts)
        self.env.at(now + trip + self.world.timing.service_us, deadline_key(self.entity, Kind.METADATA), self._refreshed, seen)

    def _refreshed(self, seen: tuple[ClassicMember, int, Any]) -> None:
        machine, version, counts = seen
        now = self.env.now
        if machine is not self.machine:
            return
        if self._frozen is not None:
            self._late.append(lambda _: self._refreshed(seen))
            return
        news = version > self._seen_version
        self._seen_version = version
        if news and self._watches_metadata:
            self.wake()
            machine.on_metadata(counts)
            self.group.cover(machine.topics)
        self._arm_metadata(now)
        if news:
            self._drive(now)


Consumer._ACTIONS = {
    Send: Consumer._do_send,
    Commit: Consumer._do_commit,
    Listen: Consumer._do_listen,
    RunAssignor: Consumer._do_assign,
    Drop: Consumer._do_drop,
    Adopt: Consumer._do_adopt,
    Disconnect: Consumer._do_disconnect,
    Raise: Consumer._do_raise,
    Closed: Consumer._do_closed,
}
