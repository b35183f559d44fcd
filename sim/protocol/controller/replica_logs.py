"""What each replica's log lacks, as times: a log is all that was appended up to some moment.

What was appended is not counted here: whoever knows how much is produced when asks which stretch of time is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from groupsim.sim.protocol.controller.partition import NO_LEADER, Name, PartitionState
from groupsim.sim.units import FOREVER

Acks = Literal["0", "1", "all"]
"""What producers of a topic wait for."""


class Gap(NamedTuple):
    """What was appended after ``from_us`` and up to ``to_us`` is in no log any more, microseconds.

    What was appended after ``read_us`` had not come under the high watermark, so nobody can have read it.
    """

    from_us: int
    to_us: int
    read_us: int


class ReplicaLogs:
    """Of all partitions of a cluster.

    A leader answers a follower's fetch as soon as there is anything to tell; what is appended until the next fetch has
    come is on the leader only, for so long as the two ways take. Producers that wait for all in sync send again
    what the leader has taken and not acknowledged; others believe that it is there.
    """

    def __init__(self) -> None:
        self._behind: dict[Name, dict[int, int]] = {}
        self._stopped: dict[Name, int] = {}
        self._held: dict[Name, int] = {}

    def fall_behind(self, name: Name, broker: int, since_us: int) -> None:
        """A replica does not follow any more, because it is dead or cut off from the leader."""
        self._behind.setdefault(name, {}).setdefault(broker, since_us)

    def catch_up(self, name: Name, broker: int) -> None:
        """A replica has all that the leader has."""
        self._behind.get(name, {}).pop(broker, None)

    def observe(self, now: int, name: Name, state: PartitionState, dead: Iterable[int]) -> None:
        """Who leads, and whether the high watermark follows, may have changed."""
        if state.leader != NO_LEADER and state.leader not in dead:
            self._stopped.pop(name, None)
        else:
            self._stopped.setdefault(name, now)
        if state.advances(dead):
            self._held.pop(name, None)
        else:
            self._held.setdefault(name, now)

    def is_behind(self, name: Name, broker: int) -> bool:
        """Whether a replica lacks something."""
        return broker in self._behind.get(name, {})

    def elect(self, name: Name, leader: int, acks: Acks, unanswered_us: int, *, has_lost: bool) -> Gap | None:
        """Another replica leads: what it lacks is gone.

        Parameters
        ----------
        name : Name
        leader : int
        acks : {"0", "1", "all"}
        unanswered_us : int, microseconds
            For so long before it died the former leader had appended what no follower has.
        has_lost : bool
            The leader was neither in sync nor eligible.
        """
        stopped = self._stopped.get(name)
        if stopped is None:
            return None
        from_us = self._behind.get(name, {}).get(leader, FOREVER)
        read_us = min(self._held.get(name, stopped), stopped)
        if acks == "all":
            gap = Gap(from_us if has_lost else read_us, read_us, read_us)
        else:
            alone_us = stopped - unanswered_us
            gap = Gap(min(from_us, alone_us), stopped, min(read_us, alone_us))
        return gap if gap.from_us < gap.to_us else None
