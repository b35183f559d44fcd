"""Many quiet members at once: what `SteadyState` computes for one, for all that rejoin together.

Only for a stretch in which none of them pauses. Of the members themselves the heartbeats are sent up to that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.fastpath.quiet.heartbeats import heartbeats_before
from groupsim.sim.fastpath.quiet.poll_schedules import PollSchedules, Times
from groupsim.sim.fastpath.quiet.steady_state import SteadyState
from groupsim.sim.fastpath.quiet.trains import Train
from groupsim.sim.kernel.environment import Moment


@dataclass(slots=True)
class SteadyColumns:
    """Quiet members that consume.

    Parameters
    ----------
    heartbeats : Train
        With those that are sent before the moment for which this is made.
    beats : int64 array, shape (n,), microseconds
        When the next is sent.
    commits : Train
    schedules : PollSchedules
    next_start : int64 array, shape (n,), microseconds
        When the next pause begins.
    round_trip_us : int64 array, shape (n,)
        The longest time from a request to its answer.
    """

    heartbeats: Train
    beats: Times
    commits: Train
    schedules: PollSchedules
    next_start: Times
    round_trip_us: Times

    @classmethod
    def of(
        cls,
        quiets: Sequence[SteadyState],
        round_trips_us: Sequence[int] | Times,
        measure: tuple[int, int],
        moment: Moment,
    ) -> SteadyColumns:
        """Columns of these at a moment."""
        schedules: list[PollSchedule] = [one.schedule for one in quiets if one.schedule is not None]
        sent, beats = heartbeats_before(
            [one.beating for one in quiets], schedules, [one.keys.heartbeat for one in quiets], moment
        )
        return cls(
            Train.of(sent, measure),
            beats,
            Train.of([one.commits for one in quiets], measure),
            PollSchedules.of(schedules),
            np.array([one.next_start for one in quiets], np.int64),
            np.asarray(round_trips_us, np.int64),
        )

    def followed_by(self, other: SteadyColumns) -> SteadyColumns:
        """These, and then others."""
        return SteadyColumns(
            self.heartbeats.followed_by(other.heartbeats),
            np.concatenate([self.beats, other.beats]),
            self.commits.followed_by(other.commits),
            self.schedules.followed_by(other.schedules),
            np.concatenate([self.next_start, other.next_start]),
            np.concatenate([self.round_trip_us, other.round_trip_us]),
        )

    def send_until(self, polls: Times) -> None:
        """Let each send its next heartbeat, and the commits before its poll at ``polls``."""
        self.heartbeats.add(self.beats, self.heartbeats.interval, np.ones_like(self.beats))
        self.commits.send_at_polls(self.schedules, polls)
