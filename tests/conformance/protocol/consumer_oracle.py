"""Times of a consumer group in closed form, from the model's constants alone. All in microseconds.

A member is two trains: its heartbeats, every `BEAT` from the last that it sent out of turn (a join, an acknowledgement)
on, and its passes through poll(), by which the application paces every step of a reconciliation. The assignment
interval is 0, latency constant, nothing is produced, and no fetch is parked (``fetch.max.wait.ms=0``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from groupsim.sim.config import ClientConfig, CoordinatorConfig
from groupsim.sim.model import Processing
from groupsim.sim.units import MS, S
from tests.conformance.protocol.oracle import APPEND, SERVICE, TIMING, TRIP, WAY
from tests.support.scenarios import BOOT_US

BEAT = 5 * S
SESSION = 45 * S
TAU = TRIP + APPEND
"""tau: a request that changes something, and its answer."""
FIND = TRIP + TIMING.connect.values[0]
"""t_find: the coordinator looked up, and a connection to it."""
POLL = 10 * MS
"""poll() of the application; a pass without partitions takes `TIMING.poll_us` more."""
PROCESSING = Processing(poll_timeout_us=POLL)
BROKER = CoordinatorConfig(consumer_assignment_interval_us=0)


def consumer(**changes: Any) -> ClientConfig:
    """A consumer without auto-commit that reads from the beginning."""
    chosen: dict[str, Any] = {
        "group_protocol": "consumer", "enable_auto_commit": False, "auto_offset_reset": "earliest",
        "fetch_max_wait_us": 0, **changes,
    }  # fmt: skip
    return ClientConfig(**chosen)


def following(origin: int, every: int, at: int) -> int:
    """The first of a train that is not before ``at``."""
    return origin + max(-(-(at - origin) // every), 0) * every


@dataclass(frozen=True)
class Phase:
    """One member: a heartbeat that it sent out of turn, and one of its passes."""

    beat: int
    passed: int
    every: int = POLL

    def beats(self, at: int) -> int:
        """When the first of its heartbeats arrives that is there at ``at`` or later."""
        return following(self.beat, BEAT, at - WAY) + WAY

    def passes(self, at: int) -> int:
        """Its first pass at or after ``at``."""
        return following(self.passed, self.every, at)


@dataclass(frozen=True)
class Donor:
    """X of 13.1: it stops at its first pass, and acknowledges with the second after that."""

    phase: Phase
    told: int
    stopped: int
    freed: int


@dataclass(frozen=True)
class Receiver:
    """Y of 13.1."""

    phase: Phase
    given: int
    """Its heartbeat arrives that is answered with what is free."""
    reads: int


def opened(start: int) -> int:
    """A process that starts then polls for the first time."""
    return start + BOOT_US


def joins(start: int) -> int:
    """Its first heartbeat arrives: the group epoch is bumped, and, without an interval, a target is computed."""
    return opened(start) + FIND + WAY


def answered(arrived: int) -> int:
    """The answer to a heartbeat that has changed something is read."""
    return arrived + SERVICE + APPEND + WAY


def newcomer(start: int) -> Phase:
    """A member that has joined and acknowledged what it was given, be it nothing, at a pass."""
    idle = POLL + TIMING.poll_us
    acknowledged = following(opened(start), idle, answered(joins(start)))
    return Phase(acknowledged, opened(start), idle)


def give_up(phase: Phase, computed: int) -> Donor:
    """A donor, of a target that was computed then: told by its next heartbeat."""
    told = answered(phase.beats(computed))
    stopped = phase.passes(told)
    acknowledged = stopped + 2 * phase.every
    return Donor(Phase(acknowledged, phase.passed, phase.every), told, stopped, acknowledged + WAY)


def receive(phase: Phase, freed: int) -> Receiver:
    """A member that is given something with its first heartbeat after it was freed.

    It adopts and acknowledges at a pass, asks for the committed offset at the next; there is none, so that it asks for
    the beginning, and fetches.
    """
    given = phase.beats(freed)
    adopted = phase.passes(answered(given))
    reads = adopted + phase.every + 3 * TRIP
    return Receiver(Phase(adopted, reads), given, reads)


def first(start: int) -> Receiver:
    """The first member, which is given everything as it joins."""
    phase = newcomer(start)
    reads = phase.beat + phase.every + 3 * TRIP
    return Receiver(Phase(phase.beat, reads), joins(start), reads)


@dataclass(frozen=True)
class Join:
    """A member has joined a group: the donors, and the newcomer as it received from each of them."""

    donors: tuple[Donor, ...]
    receivers: tuple[Receiver, ...]

    @property
    def last(self) -> Receiver:
        """The newcomer, as it had everything."""
        return max(self.receivers, key=lambda one: one.given)

    @property
    def phases(self) -> list[Phase]:
        """In order of their joins."""
        return [*(donor.phase for donor in self.donors), self.last.phase]


def join(phases: Sequence[Phase], start: int) -> Join:
    """A newcomer to members all of which have something to give it: piece by piece, as it becomes free."""
    donors = tuple(give_up(phase, joins(start)) for phase in phases)
    pieces: dict[Donor, Receiver] = {}
    phase = newcomer(start)
    for donor in sorted(donors, key=lambda one: one.freed):
        before = list(pieces.values())
        pieces[donor] = before[-1] if before and donor.freed <= before[-1].given else receive(phase, donor.freed)
        phase = pieces[donor].phase
    return Join(donors, tuple(pieces[donor] for donor in donors))


def started(*starts: int) -> list[Phase]:
    """Members that started one after the other, each when everybody before it was done."""
    phases = [first(starts[0]).phase]
    for start in starts[1:]:
        phases = join(phases, start).phases
    return phases


def removed_after(phase: Phase, last: int) -> int:
    """Who is silent after ``last`` is removed S after its last heartbeat."""
    beat = phase.beats(last)
    return (beat if beat == last else beat - BEAT) + SESSION


def returned(opened_at: int) -> Receiver:
    """A static member that left with -2 and is back: everything with the answer to its join."""
    idle = POLL + TIMING.poll_us
    arrived = opened_at + FIND + WAY
    adopted = following(opened_at, idle, answered(arrived))
    reads = adopted + idle + 3 * TRIP
    return Receiver(Phase(adopted, reads), arrived, reads)
