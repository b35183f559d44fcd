"""The fast path of a group all of whose members use the consumer protocol.

There is no barrier to go through together. A member whose epoch is the group's, and who has what it is to have, is
quiet (`sim.fastpath.quiescence`). Two things concern quiet members though nothing disturbs them:

* *Work waits*: the group epoch is ahead of the target, or metadata have changed. The first heartbeat of anybody does
  the work, from a certain time on (`Outlook.work_us`). The member whose heartbeat that is is woken.
* *A target was computed*. Who is to have something else is woken. For all others the next heartbeat only brings the
  new epoch: they are *behind*, and stay quiet. The one whose heartbeat comes last is woken too, so that the moment at
  which everybody has reported is an event; by then the others have, and are told so all at once.

A heartbeat's place in time is known, as long as no pause comes into its way. Whoever has a pause there is woken: slow,
never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.client import Client
from groupsim.sim.client.polling.heartbeat_thread import Cadence
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.phases.deferred import Elided, Phase
from groupsim.sim.fastpath.quiescence import Quiescence
from groupsim.sim.fastpath.quiet.heartbeats import Heartbeats, PunctualHeartbeats
from groupsim.sim.fastpath.quiet.trains import RecentTrain
from groupsim.sim.fastpath.transactions.parking import Parking
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, Moment, deadline_key
from groupsim.sim.protocol.interface import Reply
from groupsim.sim.protocol.messages import OffsetCommit, TxnOffsetCommit
from groupsim.sim.randomness import name_hash
from groupsim.sim.units import FOREVER


class NoPhases:
    """Members of this protocol go through nothing together (`Phases`)."""

    def phase_of(self, slot: int) -> Phase | None:
        """None."""
        return None

    def is_in_phase(self, slot: int) -> bool:
        """Never."""
        return False

    def catch_up(self, one: Elided) -> None:
        """Nobody is behind by more than an epoch."""

    def release(self, client: Client) -> None:
        """Nobody waits with others."""

    def rejoin_late(self, one: Elided) -> bool:
        """Never."""
        return False


class ConsumerQuiescence(Quiescence):
    """One client: quiet, perhaps behind by an epoch, or loud."""

    behind_since: Moment | None = None
    """When the target was computed whose epoch it has not been told yet; None: it has."""
    has_reported = False
    """Whether its heartbeat with that epoch is in the books; the answer may be on its way."""

    def _session_us(self) -> int:
        us: int = self._group.machine.session_timeout_us
        return us

    @property
    def _waiting_since(self) -> int:
        return 0

    def _beating(self, train: RecentTrain, since: int) -> Heartbeats:
        """Its heartbeats: the thread that sends them waits for nobody."""
        return PunctualHeartbeats(train, Cadence(train.interval, 0, FOREVER), since)

    def _may_begin(self) -> bool:
        machine = self._machine
        if not (super()._may_begin() and machine.has_said_all):
            return False
        # No commit is sent while another is under way.
        return machine.commits != "auto" or bool(machine.commit_interval_us > self.bounds.round_trip_us)

    def _only_commits_are_pending(self) -> bool:
        """Nothing may be in flight: with every answer the background thread takes a turn."""
        return not self.client.in_flight.pending

    def absorb(self, now: int, until: int) -> bool:
        """Take a sudden pause into the computation; not of who is behind, whose next heartbeat it can delay."""
        return self.behind_since is None and super().absorb(now, until)

    def wake(self) -> None:
        """Become loud; a heartbeat that has come since the target was computed has reported the epoch."""
        since, self.behind_since = self.behind_since, None
        if since is not None and self.quiet is not None:
            self._report(since, self._env.moment)
        super().wake()

    def finish(self) -> None:
        """The run ends."""
        if self.behind_since is not None:
            self.wake()
        else:
            super().finish()

    def _report(self, since: Moment, moment: Moment) -> None:
        quiet, connection = self.known, self.client.in_flight.connection
        assert connection is not None
        quiet.catch_up(moment)
        for beat in self._beats(quiet, since[0]):
            place = (beat.worked, connection.request_key)
            if beat.kind != "commit" and since <= place < moment:
                if not self.has_reported:
                    self._group.advance(beat.worked, (self.member_id,), (beat.sent,))
                if (quiet.read_at(beat.answered), connection.response_key) < moment:
                    self.learn()
                break
        self.has_reported = False

    def worked_on(self, sent: int) -> Moment:
        """When the heartbeat that is sent at ``sent`` is worked on; no pause comes before that."""
        quiet, client = self.known, self.client
        connection = client.in_flight.connection
        assert connection is not None
        quiet.catch_up(self._env.moment)
        if quiet.travels_alone(sent):
            up, free, _ = connection.order
            number = quiet.heartbeats.number_of(sent)
            return max(up + 1, sent + client.path.latency("heartbeat", 2 * number), free), connection.request_key
        if quiet.heartbeats.due <= sent:
            quiet = quiet.fork()
            quiet.catch_up((sent + 1, 0))
        return quiet.worked_at(client.path, client.world.timing, connection.order, sent), connection.request_key

    def learn(self) -> None:
        """The answer has come: it knows the new epoch."""
        self._machine.membership.epoch = self._group.machine.roster.members[self.member_id].epoch


class ConsumerEngine:
    """Of one group.

    Parameters
    ----------
    env : Environment
    group : GroupHost
    is_loud : bool
        Nobody is ever quiet.
    """

    def __init__(self, env: Environment, group: GroupHost, *, is_loud: bool) -> None:
        self._env = env
        self._group = group
        self._is_loud = is_loud
        self.parking: Parking | None = None
        """Of a group whose members produce."""
        self._quiet: dict[str, ConsumerQuiescence] = {}
        self._behind: list[tuple[ConsumerQuiescence, int]] = []
        """Each with when it sends the heartbeat that reports the epoch."""
        self._target_epoch = -1
        self._settles_us = FOREVER
        """When all who are behind and still quiet have reported."""
        self._unread: list[tuple[ConsumerQuiescence, int]] = []
        """Those who have reported it, and may not have been answered yet."""
        self._reads_us = FOREVER
        """When all of these have been answered."""
        self._alarm = Alarm(env, deadline_key(name_hash("engine", group.name), Kind.TIMER), self._fire)
        self._watches_us = FOREVER
        """Until when somebody must have done the work that waits."""

    def elide(self, client: Client) -> ConsumerQuiescence:
        """The fast path's view of a client that is about to open."""
        return ConsumerQuiescence(client, NoPhases(), self._quiet, self.parking, is_loud=self._is_loud)  # type: ignore[arg-type]

    def be_loud(self) -> None:
        """Nobody who opens from now on is ever quiet."""
        self.settle()
        self._is_loud = True

    # --- what the group's host asks -----------------------------------------------------------------------------------

    def before_request(self, request: Any, *, is_given_up: bool) -> bool:
        """A request is about to be worked on: if a target can be computed by it, who has reported the last one has."""
        if is_given_up and (one := self._quiet.get(request.member_id)) is not None:
            one.wake()
        if self._settles_us <= self._env.now:
            self._settle_behind()
        elif self._behind and self._may_compute(request):
            self._part_behind()
        return False

    def _may_compute(self, request: Any) -> bool:
        is_plain = type(request) in (OffsetCommit, TxnOffsetCommit) or (
            request.topics is None and request.pattern is None
        )
        return not is_plain or self._group.machine.outlook.work_us <= self._env.now

    def before_deadline(self, now: int) -> None:
        """A timer of the group is due."""
        if self._settles_us <= now:
            self._settle_behind()

    def renewed(self, now: int, member_id: str) -> None:
        """Commits renew nothing."""

    def after_decision(self, replies: Sequence[Reply], leave_us: int) -> Sequence[Reply]:
        """Something has changed: whoever is concerned by it is awake."""
        if self._is_loud:
            return replies
        roster = self._group.machine.roster
        if roster.target.epoch != self._target_epoch:
            self._target_epoch = roster.target.epoch
            self._retarget()
        self._watch_work()
        return replies

    def wake_all(self) -> None:
        """Somebody looks at every member."""
        for one in list(self._quiet.values()):
            one.wake()

    def settle_readers(self) -> bool:
        """Whoever has begun to consume has begun."""
        return False

    def settle(self) -> None:
        """Somebody looks at the books: they do not say who knows an epoch."""

    def finish(self) -> None:
        """The run ends: each member brings itself to its end."""

    # --- work that waits ----------------------------------------------------------------------------------------------

    def _watch_work(self) -> None:
        """Wake those of whom one may be the first to find that there is work."""
        work_us = self._group.machine.outlook.work_us
        if work_us == FOREVER or not self._quiet:
            self._watches_us = FOREVER
        elif self._watches_us == FOREVER:
            self._wake_first(max(self._env.now, work_us))
        self._set_alarm()

    def _wake_first(self, work_us: int) -> None:
        """Wake the first; while requests wait in the shard, all who may be the next: each would be held up too."""
        members, sent, is_sure = self._next_beats(work_us)
        trips = np.array([one.bounds.round_trip_us for one in members], np.int64)
        known = (sent + trips)[is_sure]
        self._watches_us = int(known.min()) if len(known) else work_us
        near = np.flatnonzero(is_sure & (sent <= self._watches_us))
        if self._group.is_free:
            worked = np.array([members[index].worked_on(int(sent[index]))[0] for index in near.tolist()], np.int64)
            self._watches_us = int(worked.min(initial=self._watches_us))
            near = near[worked <= self._watches_us]
        for index in [*near.tolist(), *np.flatnonzero(~is_sure).tolist()]:
            members[index].wake()
        if self._watches_us <= self._env.now or not self._quiet:
            self._watches_us = FOREVER

    def _next_beats(self, since: int) -> tuple[list[ConsumerQuiescence], NDArray[np.int64], NDArray[np.bool_]]:
        """When each quiet member first sends a heartbeat that is worked on at ``since`` or later; not in the past.

        Returns
        -------
        members : list of ConsumerQuiescence
        sent : int64 array, shape (n,), microseconds
            No earlier than this.
        is_sure : bool array, shape (n,)
            No pause comes into its way: exactly then.
        """
        members, moment = list(self._quiet.values()), self._env.moment
        due, every, longest = np.empty((3, len(members)), np.int64)
        is_sure = np.ones(len(members), np.bool_)
        for index, one in enumerate(members):
            quiet = one.known
            if quiet.next_start <= moment[0]:
                quiet.catch_up(moment)
            beats, longest[index] = quiet.heartbeats, one.bounds.round_trip_us
            # The last one that was passed over can still be on its way.
            last = beats.newer
            due[index], every[index] = last if last >= since - longest[index] else beats.due, beats.interval
            is_sure[index] = quiet.frozen is None
        sent = due + -(-np.maximum(since - longest - due, 0) // every) * every
        self._clear(is_sure, members, np.flatnonzero(is_sure), sent + 2 * longest)
        moment = max(moment, (since, 0))
        early = np.flatnonzero(is_sure & (sent <= since))
        worked = [members[index].worked_on(at) for index, at in zip(early.tolist(), sent[early].tolist(), strict=True)]
        missed = early[[one < moment for one in worked]]
        sent[missed] += every[missed]
        self._clear(is_sure, members, missed, sent + 2 * longest)
        return members, sent, is_sure

    def _clear(
        self, is_sure: NDArray[np.bool_], members: Sequence[ConsumerQuiescence], which: NDArray[np.intp],
        until: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Nobody of these is sure any more who pauses between now and then."""
        now = self._env.now
        for index, end in zip(which.tolist(), until[which].tolist(), strict=True):
            is_sure[index] = not members[index].known.overlaps(now, end)

    # --- members that are behind by an epoch --------------------------------------------------------------------------

    def _retarget(self) -> None:
        """A target was computed: who has news is woken, the others are behind until their next heartbeat."""
        self._forget_behind()
        outlook, now = self._group.machine.outlook, self._env.now
        if not outlook.accepts_older_epochs:
            self.wake_all()  # a commit on its way would be refused
            return
        for member_id, one in list(self._quiet.items()):
            if outlook.has_news(member_id):
                one.wake()
        if self._quiet:
            self._fall_behind(*self._next_beats(now))

    def _fall_behind(
        self, members: Sequence[ConsumerQuiescence], sent: NDArray[np.int64], is_sure: NDArray[np.bool_]
    ) -> None:
        """All are behind but the last to report, whose heartbeat is an event, and who may be later than thought."""
        trips = np.array([one.bounds.round_trip_us for one in members], np.int64)
        stays, moment = is_sure.copy(), self._env.moment
        near = np.flatnonzero(is_sure & (sent + trips >= sent[is_sure].max(initial=0))).tolist()
        last = max(((*members[index].worked_on(int(sent[index])), index) for index in near), default=(FOREVER,))
        stays[list(last[2:])] = False
        for one, at, is_quiet in zip(members, sent.tolist(), stays.tolist(), strict=True):
            if is_quiet:
                one.behind_since = moment
                self._behind.append((one, at))
            else:
                one.wake()
        self._settles_us = last[0] if self._behind else FOREVER

    def _forget_behind(self) -> None:
        """Another target: nobody who is left has been told the last one, unless the answer is on its way."""
        for one, _ in self._behind:
            one.behind_since = None
        self._behind.clear()
        self._settles_us = FOREVER
        for one, _ in self._unread:
            if one.behind_since is not None:
                one.wake()
        self._unread.clear()

    def _part_behind(self) -> None:
        """Whoever has certainly reported has; who may have is woken; who has certainly not is still behind."""
        now = self._env.now
        waiting = [(one, sent) for one, sent in self._behind if one.behind_since is not None]
        self._behind = [(one, sent) for one, sent in waiting if sent > now]
        self._report([(one, sent) for one, sent in waiting if sent + 2 * one.bounds.round_trip_us <= now])
        for one, sent in waiting:
            if sent <= now and one.behind_since is not None:
                one.wake()

    def _settle_behind(self) -> None:
        """All heartbeats of members that are behind have come."""
        behind = [(one, sent) for one, sent in self._behind if one.behind_since is not None]
        self._behind.clear()
        self._settles_us = FOREVER
        self._report(behind)

    def _report(self, members: Sequence[tuple[ConsumerQuiescence, int]]) -> None:
        """Heartbeats of these have come."""
        if members:
            self._group.advance(self._env.now, [one.member_id for one, _ in members], [sent for _, sent in members])
        for one, _ in members:
            one.has_reported = True
        self._unread += members
        self._read()

    def _read(self) -> None:
        """Whoever has certainly been answered knows the epoch; the others will."""
        now, unread = self._env.now, [(one, sent) for one, sent in self._unread if one.behind_since is not None]
        read = [sent + 2 * one.bounds.round_trip_us for one, sent in unread]
        for (one, _), by in zip(unread, read, strict=True):
            if by <= now:
                one.behind_since, one.has_reported = None, False
                one.learn()
        self._unread = [one for one, by in zip(unread, read, strict=True) if by > now]
        self._reads_us = max(read) if self._unread else FOREVER

    # --- time ---------------------------------------------------------------------------------------------------------

    def _set_alarm(self) -> None:
        self._alarm.set(min(self._settles_us, self._reads_us, self._watches_us))

    def _fire(self, now: int) -> None:
        if self._settles_us <= now:
            self._settle_behind()
        if self._reads_us <= now:
            self._read()
        if self._watches_us <= now:
            self._watches_us = FOREVER
            self._watch_work()
        self._set_alarm()
