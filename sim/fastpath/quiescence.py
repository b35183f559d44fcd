"""Going quiet and waking up.

A member may be quiet when nothing of it is under way and nothing of it will overtake anything else. While it is,
nothing of it is an event (`sim.fastpath.quiet.steady_state`). Whoever touches it wakes it first: what would have
happened by then is put into the books, and what would be on its way becomes messages.
"""

from __future__ import annotations

from bisect import insort
from typing import Protocol

from groupsim.sim.books.availability import SHORT_PAUSE_US
from groupsim.sim.client.client import Client
from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.fastpath.eligibility import has_memory, is_plain
from groupsim.sim.fastpath.phases.catch_up import set_timers
from groupsim.sim.fastpath.phases.deferred import Elided, Phase
from groupsim.sim.fastpath.quiet.bounds import Bounds
from groupsim.sim.fastpath.quiet.heartbeats import Heartbeats
from groupsim.sim.fastpath.quiet.resending import Resending
from groupsim.sim.fastpath.quiet.steady_state import Beat, Keys, SteadyState, reach
from groupsim.sim.fastpath.quiet.trains import RecentTrain
from groupsim.sim.fastpath.transactions.parking import Parking
from groupsim.sim.kernel.environment import Kind, deadline_key, message_key, process_key
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.messages import Api, Positions
from groupsim.sim.units import FOREVER


class Phases(Protocol):
    """Phases that members of a group go through together (`sim.fastpath.phases.deferred.DeferredMembers`)."""

    def phase_of(self, slot: int) -> Phase | None:
        """What a member goes with."""
        ...

    def is_in_phase(self, slot: int) -> bool:
        """Whether it goes with others."""
        ...

    def catch_up(self, one: Elided) -> None:
        """A member that is behind takes the steps that it is behind by."""
        ...

    def release(self, client: Client) -> None:
        """A member that waits with others goes on by itself."""
        ...

    def rejoin_late(self, one: Elided) -> bool:
        """The group prepares a rebalance, and a member has fallen silent: whether it goes with those who rejoin."""
        ...


class Quiescence:
    """One client, quiet or not.

    Parameters
    ----------
    client : Client
    deferred : Phases
    others : dict of str to Quiescence
        The quiet members of the group, by member id.
    parking : Parking, optional
        Of a group whose members produce.
    is_loud : bool
        Message fidelity: nobody is ever quiet.

    Attributes
    ----------
    quiet : Quiet or None
        What is known of a quiet member; None: it is loud.
    keys : Keys
        Where its events stand within an instant.
    bounds : Bounds
        Within which it may be quiet.
    """

    def __init__(
        self, client: Client, deferred: Phases, others: dict[str, Quiescence], parking: Parking | None = None, *,
        is_loud: bool,
    ) -> None:  # fmt: skip
        entity = client.consumer.entity
        self.client = client
        self._deferred = deferred
        self._others = others
        self._parking = parking
        self._env = client.env
        self._group = client.group
        self._machine = client.machine
        self._pauses = client.consumer.pauses
        self._is_loud = is_loud
        self.is_plain = not is_loud and is_plain(client)
        self.has_memory = has_memory(client)
        self.is_behind = False
        self.keys = Keys(
            heartbeat=deadline_key(entity, Kind.HEARTBEAT),
            poll=deadline_key(entity, Kind.POLL),
            pause=process_key(entity, Kind.PAUSE),
            thaw=process_key(entity, Kind.THAW),
            request=message_key(entity, Kind.REQUEST),
        )
        self.bounds = Bounds(client, self._session_us)
        self._resending = Resending(client)
        self._renewed_us = 0
        self.quiet: SteadyState | None = None

    def _session_us(self) -> int:
        """How long its session is, microseconds."""
        us: int = self._machine.session_timeout_us
        return us

    @property
    def phase(self) -> Phase | None:
        """What the member goes with: what it has done since that began is not in the books yet."""
        return self._deferred.phase_of(self.client.consumer.slot)

    def look(self) -> bool:
        """Somebody is about to look: the member's own objects show everything. Whether it acts by itself."""
        if self.is_behind:
            self._deferred.catch_up(self)
        return not self._deferred.is_in_phase(self.client.consumer.slot)

    @property
    def known(self) -> SteadyState:
        """What is known of a member that is quiet."""
        assert self.quiet is not None
        return self.quiet

    @property
    def member_id(self) -> str:
        """Id of the member."""
        member_id: str = self._machine.member_id
        return member_id

    def may_rejoin(self) -> bool:
        """Whether a quiet member can go through a phase with others, if nothing of it is on its way."""
        client, quiet = self.client, self.known
        if (
            not self.is_plain
            or client.machine.pattern is not None
            or quiet.schedule is None
            or client.in_flight.pending
            # Too many commits are on their way to be told apart.
            or (client.machine.commits == "after_batch" and isinstance(quiet.schedule, DrawnPollSchedule))
        ):
            return False
        consumption, group, machine = client.consumption, client.group, client.machine
        return (
            consumption.holding.running
            and len(consumption.partitions) == len(machine.owned)
            and consumption not in group.books.delivery.zombies
            and client.fetcher.reaches_everything
            and group.books.interest.of(machine.member_id) == machine.topics
        )

    def _beats(self, quiet: SteadyState, now: int) -> list[Beat]:
        """What can have been on its way at ``now``, all that follows, and the last of either kind before that."""
        client, connection = self.client, self.client.in_flight.connection
        assert connection is not None
        return quiet.beats(client.path, client.world.timing, connection.order, now - self.bounds.round_trip_us)

    # --- going quiet --------------------------------------------------------------------------------------------------

    def rest(self, now: int) -> bool:
        """Nothing is left to do now: go quiet, if nothing can happen but what can be computed; whether it is."""
        if self._is_loud:
            return False
        if self.quiet is None and self._may_begin():
            self._begin(now)
            if self._is_overtaken and not self._deferred.rejoin_late(self):
                self.wake()
        return self.quiet is not None

    def _may_begin(self) -> bool:
        client = self.client
        if not (self._nothing_is_under_way() and self._is_settled()):
            return False
        schedule = client.poll_loop.schedule
        return self.bounds.may_poll_like(schedule) and self.bounds.end_of_pass_is_in_time(schedule)

    def _nothing_is_under_way(self) -> bool:
        client = self.client
        in_flight, poll_loop, fetcher = client.in_flight, client.poll_loop, client.fetcher
        connection = in_flight.connection
        return not (
            client.inbox
            or not self._only_commits_are_pending()
            or not client.group.is_calm
            # What is committed before it is processed depends on pauses that come after the commit.
            or client.processing.commit == "before_processing"
            or poll_loop.is_at_work
            or poll_loop.is_held
            or client.command is not None
            or fetcher.is_under_way
            or not client.leader_changes.waits_to_be_told
            or connection is None
            or connection.broken
            or connection.node != client.group.node
            or client.frozen is not None
            or poll_loop.stuck_until > self._env.now
        )

    @property
    def _is_overtaken(self) -> bool:
        """Whether the group prepares a rebalance: a member that is quiet goes with those who rejoin, or not at all."""
        is_preparing = self._group.machine.state is GroupState.PREPARING_REBALANCE
        return self.is_plain and is_preparing and not self._env.is_replaying

    def _only_commits_are_pending(self) -> bool:
        """Whether nothing is in flight but commits, for which nobody waits: these stay messages."""
        in_flight, generation = self.client.in_flight, self._machine.generation
        return all(
            exchange.api is Api.OFFSET_COMMIT
            and exchange.body.generation == generation
            and exchange.connection is in_flight.connection
            for exchange in in_flight.pending
        )

    def _is_settled(self) -> bool:
        """Whether member and coordinator agree that all is well."""
        machine, group = self._machine, self._group.machine
        if not machine.is_settled or machine.deadline <= self._env.now:
            return False
        whose = (machine.member_id, machine.instance_id, machine.generation)
        if not (group.is_steady(*whose) or (self._is_overtaken and group.awaits_rejoin(*whose))):
            return False
        # The first heartbeat of the silence must come in time too (a cut may have eaten most of the session).
        first = machine.heartbeat_due + self.bounds.step_us + SHORT_PAUSE_US + self.bounds.round_trip_us
        return bool(group.session_due(machine.member_id) > first)

    def _begin(self, now: int) -> None:
        client, machine, schedule = self.client, self._machine, self.client.poll_loop.schedule
        is_consuming = machine.owned.size and schedule is not None
        commits = max(machine.commit_due, client.poll_loop.upcoming(now)) if is_consuming else FOREVER
        self.fall_silent(machine.heartbeat_due, commits, schedule, self._group.suspend(machine.member_id))
        client.watch_long_pauses()

    def fall_silent(self, heartbeat_due: int, commit_due: int, schedule: PollSchedule | None, renewed_us: int) -> None:
        """Heartbeats and commits are arithmetic from these instants on; alarms are the caller's affair.

        ``renewed_us``: last renewal of the session, which the coordinator no longer watches.
        """
        client, numbers = self.client, self.client.in_flight.numbers
        heartbeat, commit = (heartbeat_due, numbers["heartbeat"]), (commit_due, numbers["commit"])
        self.quiet = self.known_from(heartbeat, commit, schedule, self._waiting_since)
        self._renewed_us = renewed_us
        client.metadata.rest()
        if self.phase is None:
            self._others[self._machine.member_id] = self

    def known_from(
        self, heartbeat: tuple[int, int], commit: tuple[int, int], schedule: PollSchedule | None, since: int
    ) -> SteadyState:
        """What is known of a member that falls silent.

        Parameters
        ----------
        heartbeat, commit : (int, int)
            When the next is due, microseconds, and its number.
        since : int, microseconds
            When the step in hand of the heartbeat thread began.
        """
        client, machine, measure = self.client, self._machine, self._group.books.measure
        heartbeat_us = machine.heartbeat_interval_us
        stride = self.bounds.stride(schedule, commit[0])
        reach_us = reach(client.path.longest_us, stride, heartbeat_us, client.world.timing)
        # The last answered request of either kind, and what had a part in it.
        gap = max(
            heartbeat_us + self.bounds.step_us,
            machine.commit_interval_us
            + self.bounds.longest_unheard(schedule.longest_us if schedule is not None else 0),
        )
        keep_us = reach_us + 2 * (gap + SHORT_PAUSE_US + self.bounds.round_trip_us)

        def train(due: int, number: int, interval: int) -> RecentTrain:
            return RecentTrain(due, number, number, interval, measure, keep_us=keep_us)

        return SteadyState(
            beating=self._beating(train(*heartbeat, heartbeat_us), since),
            commits=train(*commit, machine.commit_interval_us),
            schedule=schedule,
            pauses=self._pauses,
            next_pause=client.suspension.next_pause,
            reach_us=reach_us,
            keys=self.keys,
        )

    @property
    def _waiting_since(self) -> int:
        """When the step in hand of its heartbeat thread began, microseconds."""
        since: int = self._machine.waiting_since
        return since

    def _beating(self, train: RecentTrain, since: int) -> Heartbeats:
        """Its heartbeats, which go with its polls."""
        return Heartbeats(train, self.client.poll_loop.cadence, since)

    def park(self, now: int) -> bool:
        """Its thread is back from a commit: whether it waits, since what follows is worked out ahead."""
        return self._parking is not None and self._parking.park(self.client, now)

    def absorb(self, now: int, until: int) -> bool:
        """Take a sudden pause into the computation; whether that was possible."""
        quiet = self.quiet
        if quiet is None or self.phase is not None or until - now >= SHORT_PAUSE_US or quiet.overlaps(now, until):
            return False
        insort(self._pauses, (now, until))
        schedule = self.client.poll_loop.schedule
        if schedule is None or self.bounds.polls_in_time(schedule.longest_us):
            quiet.sudden |= {now}
            return True
        self._pauses.remove((now, until))
        return False

    # --- waking up ----------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Become loud, as of the moment that is being carried out."""
        if (phase := self.phase) is not None:
            phase.release(self.client.consumer.slot)
        self.look()
        quiet, client = self.quiet, self.client
        if quiet is None:
            self._deferred.release(client)
            return
        self.quiet = None
        moment = self._env.moment
        client.metadata.resume(moment)
        quiet.catch_up(moment)
        self._restore(quiet)
        renewed = self._resending.resend(quiet, self._beats(quiet, moment[0]), moment, self._renewed_us)
        self._others.pop(self._machine.member_id, None)
        self._group.rouse(self._machine.member_id, renewed)
        client.suspension.arm_pause()
        if quiet.frozen is not None:
            client.suspension.resume_freeze(*quiet.frozen)
        elif client.suspension.next_start > moment[0]:
            client.arm(moment[0])  # else a pause is about to begin, and nobody would look

    def finish(self) -> None:
        """The run ends: what has been sent is counted; timers and answers on their way concern nobody any more."""
        moment, round_trip_us = self._env.moment, self.bounds.round_trip_us
        self.look()
        quiet = self.quiet
        if quiet is None or self.phase is not None or self.client.in_flight.pending:
            self.wake()
            return
        quiet.catch_up(moment)
        if quiet.frozen is not None or quiet.last_sent + round_trip_us >= moment[0]:
            self.wake()  # not everything that has been sent is answered
        else:
            self._count(quiet)

    def be_loud(self) -> None:
        """Never go quiet again."""
        self.wake()
        self._is_loud, self.is_plain = True, False

    def renew(self, now: int) -> None:
        """A commit that was in flight when the member fell silent has renewed the session: it stays suspended."""
        self._renewed_us = now
        self._group.machine.suspend(self.member_id)

    def leave(self) -> None:
        """Go into a phase, which counts what has been sent: no pause has begun, and nothing is on its way."""
        quiet, self.quiet = self.known, None
        self._pass_pauses(quiet)

    def _restore(self, quiet: SteadyState) -> None:
        """Timers, numbers and books as they are by now."""
        numbers = self.client.in_flight.numbers
        set_timers(self._machine, quiet.heartbeats.due, quiet.commits.due, quiet.beating.since)
        numbers["heartbeat"], numbers["commit"] = quiet.heartbeats.number, quiet.commits.number
        self._count(quiet)

    def _count(self, quiet: SteadyState) -> None:
        """Pauses, and requests that have been sent."""
        self._pass_pauses(quiet)
        self._group.books.requests.count_measured(self._machine.heartbeat_api, quiet.heartbeats.measured)
        self._group.books.requests.count_measured(Api.OFFSET_COMMIT, quiet.commits.measured)
        self._group.log.commit_quietly(quiet.commits.sent, self.client.consumption.partitions)

    def _pass_pauses(self, quiet: SteadyState) -> None:
        """Pauses that are over are behind it."""
        self.pass_pauses(quiet, self.client.consumption.handle, self.client.consumption.partitions)

    def pass_pauses(self, quiet: SteadyState, handle: int, partitions: Positions) -> None:
        """The same of a member with that handle that consumes these."""
        client, availability = self.client, self._group.books.availability
        client.suspension.next_pause = quiet.next_pause
        serving = availability.serving(handle, partitions) if quiet.paused else 0
        for start, end in quiet.paused:
            availability.pause(serving, start, end)
            client.poll_loop.shift_passes(start, end - start)
            client.life.paused_us += end - start
