"""One rebalance of each member, from quiet to quiet: what it did in each phase, as columns by slot.

The columns fall into three parts, one for each phase. All times are in microseconds.

rejoin
    ``learned``: the answer to the next heartbeat is read; ``polled``: the commit is sent and consumption stops;
    ``committed``: the coordinator's last answer before the JoinGroup leaves, ``acknowledged``: it arrives; ``joining``:
    JoinGroup is sent, ``join_there`` and ``join_back``: its latencies; ``arrived``: it arrives; ``joined``: the
    coordinator works on it.
    ``beat_*`` and ``commit_*`` are as of ``polled``: when the next is due, and its number; ``beats``, ``commits``: how
    many were sent within ``measure`` while it was quiet, ``sent``: commits at any time; ``beat``: when the last
    heartbeat was.
sync
    ``accepted``: the answer is read and SyncGroup is sent; ``sync_there``, ``sync_back``: its latencies; ``synced``: it
    arrives; ``first_beat``: a heartbeat is due; ``waiting_since``: the step in hand of the heartbeat thread began
    (`sim.client.polling.heartbeat_thread`), as of ``accepted``, and in the end as of ``begun``.
resume
    ``told``: the assignment is read and offsets are asked for; ``asked``: the coordinator works on that; ``answered``:
    its answer is read; ``worked``: brokers work on the request for positions; ``begun``: the first fetch is answered;
    ``next_commit``: from when on a poll commits. The rest is the poll schedule (`PollSchedule`). Of members that keep
    what they own ``told`` and ``begun`` alone count: the assignment is read, and adopted at a poll.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.client.polling.settling import Settling, SettlingColumns

Column = NDArray[np.int64]

_TIMES = (
    "beat_due", "beat_number", "commit_due", "commit_number", "beats", "commits", "sent", "beat",
    "learned", "polled", "committed", "acknowledged", "joining", "arrived", "joined",
    "join_there", "join_back",
    "accepted", "synced", "sync_there", "sync_back", "first_beat", "waiting_since",
    "told", "asked", "answered", "worked", "begun", "next_commit", "handle",
    "start", "before", "held_until", "full_us", "steady_us", "steady_wait_us", "full_passes",
)  # fmt: skip
_OBJECTS = ("join_response", "sync_response", "partitions", "offsets", "schedule")


class RoundColumns:
    """Columns of one rebalance, each of shape (n_slots,).

    Parameters
    ----------
    slots : int

    Attributes
    ----------
    join_response, sync_response : object arrays
    partitions, offsets : object arrays
        Of each member what it consumes, ascending, and from where on.
    schedule : object array
        Of those whose passes are drawn; None: the columns say it.
    """

    beat_due: Column
    beat_number: Column
    commit_due: Column
    commit_number: Column
    beats: Column
    commits: Column
    sent: Column
    beat: Column
    learned: Column
    polled: Column
    committed: Column
    acknowledged: Column
    joining: Column
    arrived: Column
    joined: Column
    join_there: Column
    join_back: Column
    accepted: Column
    synced: Column
    sync_there: Column
    sync_back: Column
    first_beat: Column
    waiting_since: Column
    told: Column
    asked: Column
    answered: Column
    worked: Column
    begun: Column
    next_commit: Column
    handle: Column
    start: Column
    before: Column
    held_until: Column
    full_us: Column
    steady_us: Column
    steady_wait_us: Column
    full_passes: Column
    join_response: NDArray[np.object_]
    sync_response: NDArray[np.object_]
    partitions: NDArray[np.object_]
    offsets: NDArray[np.object_]
    schedule: NDArray[np.object_]

    def __init__(self, slots: int) -> None:
        self._times = np.zeros((len(_TIMES), slots), np.int64)
        self._objects = np.empty((len(_OBJECTS), slots), object)
        self._settling = np.zeros((0, slots), np.int64)
        """Lengths of the passes in which each settles, as many rows as the longest row of them so far."""
        for name, column in zip(_TIMES + _OBJECTS, [*self._times, *self._objects], strict=True):
            setattr(self, name, column)

    def follow(self, slots: NDArray[np.intp] | int, schedule: PollSchedule) -> None:
        """Let the polls of one member, or of many, be those of a schedule whose first pass is not its first ever."""
        self.start[slots], self.held_until[slots] = schedule.start, schedule.held_until
        self.before[slots] = schedule.before
        self.full_us[slots], self.full_passes[slots] = schedule.full_us, schedule.full_passes
        self.steady_us[slots], self.steady_wait_us[slots] = schedule.steady_us, schedule.steady_wait_us
        self._settling[:, slots] = 0
        if schedule.settling is not None:
            lengths = schedule.settling.lengths
            self._deepen(len(lengths))
            self._settling[: len(lengths), slots] = lengths

    def _deepen(self, rows: int) -> None:
        missing = rows - len(self._settling)
        if missing > 0:
            self._settling = np.pad(self._settling, ((0, missing), (0, 0)))

    def settling(self, slots: NDArray[np.intp], wait_us: int) -> SettlingColumns | None:
        """The passes in which these settle, with a wait of ``wait_us`` in each; None: nobody has any."""
        lengths = self._settling[:, slots]
        lengths = lengths[lengths.any(axis=1)]
        return SettlingColumns(lengths, np.full_like(lengths, wait_us)) if lengths.size else None

    def settling_of(self, slot: int, wait_us: int) -> Settling | None:
        """`settling` of one member."""
        lengths = [length for length in self._settling[:, slot].tolist() if length]
        return Settling(lengths, [wait_us] * len(lengths)) if lengths else None

    def copy(self, other: RoundColumns, slots: NDArray[np.intp]) -> None:
        """Let these slots be as in other columns."""
        self._times[:, slots] = other._times[:, slots]
        self._objects[:, slots] = other._objects[:, slots]
        self._deepen(len(other._settling))
        self._settling[:, slots] = 0
        self._settling[: len(other._settling), slots] = other._settling[:, slots]
