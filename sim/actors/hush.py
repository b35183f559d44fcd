"""Going quiet and waking up.

A member may be quiet when nothing of it is under way and `may_be_quiet` holds. While it is, nothing of it is an event
(`sim.actors.quiet`). Whoever touches it wakes it first: what would have happened by then is put into the books, and
what would be on its way becomes messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.actors.quiet import Beat, Keys, Quiet, Train, densest, longest_round_trip, may_be_quiet
from sim.availability import SHORT_PAUSE_US
from sim.kernel.environment import Kind, Moment, deadline_key, message_key, process_key
from sim.kernel.network import Connection, Exchange
from sim.protocol.effects import Request
from sim.protocol.messages import Acknowledgement, Api, Error, GroupState, Heartbeat, OffsetCommit
from sim.units import FOREVER

if TYPE_CHECKING:
    from sim.actors.client import Client
    from sim.actors.wave import Wave
    from sim.cadence import Cadence

_HEARTBEATS = (Api.HEARTBEAT.value, Error.NONE.value)
_COMMITS = (Api.OFFSET_COMMIT.value, Error.NONE.value)


class Hush:
    """One client, quiet or not.

    Parameters
    ----------
    client : Client

    Attributes
    ----------
    quiet : Quiet or None
        What is known of a quiet member; None: it is loud.
    round_trip_us : int
        The longest time from a request to its answer.
    """

    def __init__(self, client: Client) -> None:
        entity = client.consumer.entity
        self.client = client
        self._env = client.env
        self._group = client.group
        self._machine = client.machine
        self._pauses = client.consumer.pauses
        self._is_loud = client.world.is_loud
        self._keys = Keys(
            heartbeat=deadline_key(entity, Kind.HEARTBEAT),
            poll=deadline_key(entity, Kind.POLL),
            pause=process_key(entity, Kind.PAUSE),
            thaw=process_key(entity, Kind.THAW),
            request=message_key(entity, Kind.REQUEST),
        )
        self.round_trip_us = longest_round_trip(client.path, client.world.timing)
        self._renewed_us = 0
        self.quiet: Quiet | None = None
        self.wave: Wave[Any] | None = None
        """What the member goes with (`sim.actors.wave`): what it has done since then is not in the books yet."""

    @property
    def known(self) -> Quiet:
        """What is known of a member that is quiet."""
        assert self.quiet is not None
        return self.quiet

    @property
    def member_id(self) -> str:
        """Id of the member."""
        return self._machine.member_id

    def goes_alone(self, now: int, beat: int, poll: int) -> bool:
        """Whether the heartbeat sent at ``beat`` meets no other request: neither at ``now`` nor then is one under way.

        No pause begins before ``poll``, a poll that comes after the heartbeat.
        """
        then = self.known.fork()
        then.catch_up((poll, self._keys.poll))
        return all(
            one.answered < (now if one.sent <= now else beat)
            for one in then.beats(self.client.path, self.client.world.timing)
            if one.sent != beat or one.kind == "commit"
        )

    # --- going quiet --------------------------------------------------------------------------------------------------

    def is_possible(self) -> bool:
        """Whether nothing can happen to this member but what can be computed."""
        client = self.client
        if self._is_loud or not (self._nothing_is_under_way() and self._is_settled()):
            return False
        cadence, interval = client.application.cadence, self._machine.commit_interval_us
        within = may_be_quiet(self._machine.config, client.world.timing, client.path, cadence, interval)
        return within and self.polls_in_time(cadence) and self._ends_its_pass_in_time(cadence)

    def _nothing_is_under_way(self) -> bool:
        client = self.client
        requests, application, fetching = client.requests, client.application, client.fetching
        connection = requests.connection
        return not (
            requests.pending
            or requests.inbox
            # What is committed before it is processed depends on pauses that come after the commit.
            or client.processing.commit == "before_processing"
            or application.is_at_work
            or client.wish is not None
            or fetching.is_under_way
            or fetching.cut_off
            or connection is None
            or connection.broken
            or client.standstill.frozen is not None
            or application.stuck_until > self._env.now
        )

    def _is_settled(self) -> bool:
        """Whether member and coordinator agree that all is well."""
        machine, group = self._machine, self._group.machine
        if machine.deadline <= self._env.now or not machine.is_settled:
            return False
        if group.state is not GroupState.STABLE or group.generation != machine.generation:
            return False
        roster, member_id = group.roster, machine.member_id
        if roster.get(member_id) is None:
            return False
        # The first heartbeat of the silence must come in time too (a cut may have eaten most of the session).
        first = machine.heartbeat_due + SHORT_PAUSE_US + self.round_trip_us
        if group.session_due(member_id) <= first:
            return False
        return not machine.instance_id or roster.static[machine.instance_id] == member_id

    def polls_in_time(self, cadence: Cadence | None) -> bool:
        """Whether no pass, stretched by the short pauses that can fall into it, can exceed max.poll.interval.ms."""
        if cadence is None:
            return True
        longest = cadence.longest_us
        return 2 * longest + self._stretch(longest) < self._machine.config.max_poll_interval_us

    def _stretch(self, longest: int) -> int:
        return densest(self._pauses, self.client.standstill.next_pause, longest)

    def _ends_its_pass_in_time(self, cadence: Cadence | None) -> bool:
        """Whether the pass in hand, which a long pause may have stretched, ends within max.poll.interval.ms."""
        now = self._env.now
        last = cadence.last_poll(now) if cadence is not None else None
        if cadence is None or last is None:
            return True
        longest, in_hand = cadence.longest_us, cadence.next_poll(now) - last
        # One that no long pause has stretched is covered by `polls_in_time`.
        return in_hand <= longest or in_hand + self._stretch(longest) < self._machine.config.max_poll_interval_us

    def begin(self, now: int) -> None:
        """Go quiet."""
        client, machine = self.client, self._machine
        requests, cadence, connection = client.requests, client.application.cadence, client.requests.connection
        assert connection is not None
        is_consuming = machine.owned.size and cadence is not None
        commits = max(machine.commit_due, client.application.upcoming(now)) if is_consuming else FOREVER
        self.quiet = Quiet(
            heartbeats=Train(machine.heartbeat_due, requests.numbers["heartbeat"], self._group.measure),
            commits=Train(commits, requests.numbers["commit"], self._group.measure),
            cadence=cadence,
            heartbeat_interval=machine.config.heartbeat_interval_us,
            commit_interval=machine.commit_interval_us,
            pauses=self._pauses,
            next_pause=client.standstill.next_pause,
            order=(connection.up_us, connection.free_us, connection.down_us),
            keys=self._keys,
        )
        self._renewed_us = self._group.hush(self, machine.member_id)
        client.alarms.disarm_member()
        client.standstill.arm_pause()

    # --- waking up ----------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Become loud, as of the moment that is being carried out."""
        if self.wave is not None:
            self.wave.release(self.client)
        quiet, client = self.quiet, self.client
        if quiet is None:
            self._group.waves.parked.release(client)
            return
        self.quiet = None
        moment = self._env.moment
        quiet.catch_up(moment)
        self._restore(quiet)
        renewed = self._replay(quiet, moment)
        self._group.rouse(self._machine.member_id, renewed)
        client.standstill.arm_pause()
        if quiet.frozen is not None:
            client.standstill.resume_freeze(*quiet.frozen)
        else:
            client.arm(self._env.now)

    def leave(self, heartbeats: Train, commits: Train) -> None:
        """Become loud when this has been sent and no pause has begun: nothing is on its way."""
        quiet, self.quiet = self.known, None
        quiet.heartbeats, quiet.commits = heartbeats, commits
        self._restore(quiet)

    def _restore(self, quiet: Quiet) -> None:
        """Timers, numbers and books as they are by now."""
        client, machine, service = self.client, self._machine, self.client.service
        machine.heartbeat_due = quiet.heartbeats.due
        if machine.commit_due < FOREVER and quiet.commits.due < FOREVER:
            machine.commit_due = quiet.commits.due
        client.requests.numbers["heartbeat"] = quiet.heartbeats.number
        client.requests.numbers["commit"] = quiet.commits.number
        client.standstill.next_pause = quiet.next_pause
        availability = self._group.availability
        serving = availability.serving(service.handle, service.partitions) if quiet.paused else 0
        for start, end in quiet.paused:
            availability.pause(serving, start, end)
            client.life.paused_us += end - start
        requests = self._group.record.requests
        requests[_HEARTBEATS] += quiet.heartbeats.measured
        requests[_COMMITS] += quiet.commits.measured

    def _replay(self, quiet: Quiet, moment: Moment) -> int:
        """Requests on the way become messages, the last commit goes into the books; the last renewal, microseconds."""
        connection = self.client.requests.connection
        assert connection is not None
        renewed = self._renewed_us
        committed: Beat | None = None
        for beat in quiet.beats(self.client.path, self.client.world.timing):
            if (beat.worked, connection.request_key) >= moment:
                self._resend(connection, beat, moment)
                continue
            if beat.kind != "commit" or not self._group.machine.is_old:
                renewed = max(renewed, beat.worked)
            committed = beat if beat.kind == "commit" else committed
            connection.up_us, connection.free_us, connection.down_us = beat.arrived, beat.left, beat.answered
            if (beat.answered, connection.response_key) >= moment:
                self._await_answer(connection, beat)
            elif beat.kind != "commit":
                read = quiet.read_at(beat.answered)
                self._machine.session_due = read + self._machine.config.session_timeout_us
        if committed is not None:
            self._group.ledger.commit(
                self.client.service.partitions,
                self.client.commits.offsets(committed.sent),
                (committed.worked, connection.request_key),
                contested=self._group.is_broadcast,
            )
        return renewed

    def _resend(self, connection: Connection, beat: Beat, moment: Moment) -> None:
        """The broker has not worked on it yet."""
        exchange = self._remake(connection, beat)
        if self._group.is_measured(exchange.sent_us):
            self._group.record.requests[exchange.api.value, Error.NONE.value] -= 1
        connection.up_us = beat.arrived
        connection.arrive_at(max(beat.arrived, moment[0]), exchange)

    def _await_answer(self, connection: Connection, beat: Beat) -> None:
        """The answer is on its way."""
        exchange = self._remake(connection, beat)
        exchange.answered = True
        connection.answer_at(beat.answered, exchange, Acknowledgement(Error.NONE))

    def _remake(self, connection: Connection, beat: Beat) -> Exchange:
        """The exchange that this quiet request would have been."""
        machine, client = self._machine, self.client
        api = Api.OFFSET_COMMIT if beat.kind == "commit" else Api.HEARTBEAT
        member_id, instance_id, generation = machine.member_id, machine.instance_id, machine.generation
        body: Request = Heartbeat(member_id, instance_id, generation)
        if api is Api.OFFSET_COMMIT:
            offsets = client.commits.offsets(beat.sent)
            body = OffsetCommit(member_id, instance_id, generation, client.service.partitions, offsets)
        exchange = client.requests.numbered(beat.sent, connection, api, body, beat.number)
        client.requests.pending[exchange] = None
        return exchange
