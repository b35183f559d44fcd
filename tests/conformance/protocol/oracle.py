"""Times of a classic group in closed form, from the model's constants alone. All in microseconds."""

from __future__ import annotations

from groupsim.sim.cluster.groups.assignor_costs import Task, cost_us
from groupsim.sim.units import MS, S
from tests.support.scenarios import LATENCY_US, TIMING

WAY = LATENCY_US
SERVICE = TIMING.service_us
TRIP = 2 * WAY + SERVICE
"""r: a request and its answer."""
APPEND = TIMING.append_us
PREPARE = TIMING.join_prepare.values[0]
FETCH = 500 * MS + TRIP
"""From one fetch to the next, if there is no record."""
H = 3 * S + TIMING.heartbeat_late_us
D = 3 * S


def first_full_join(opened: int, *, static: bool = False) -> int:
    """a_i: arrival of the JoinGroup that counts, of a consumer that polls for the first time at ``opened``."""
    found = opened + TRIP + TIMING.connect.values[0]
    once = PREPARE + WAY
    return found + once if static else found + once + SERVICE + WAY + once


def assignor(members: int, partitions: int = 12) -> int:
    """a: the leader's assignor (range), by the model of its cost."""
    return cost_us("range", "java", Task(members, partitions, 1))


def sticky(members: int, partitions: int = 12) -> int:
    """a of cooperative-sticky where somebody owns something."""
    return cost_us("cooperative-sticky", "java", Task(members, partitions, 1, owned=True))


def stable(joined: int, cost: int) -> int:
    """T_S from T_J: join response, assignor, SyncGroup, append."""
    return joined + TRIP + cost + APPEND


def parked(begun: int, at: int) -> int:
    """When the fetch is answered that is parked at ``at``, of a member that has read since ``begun``: no records."""
    return begun + ((at - begun) // FETCH + 1) * FETCH


def consuming(stable_at: int, parked_until: int = 0) -> int:
    """C_i: sync response, OffsetFetch, OffsetsForLeaderEpoch or ListOffsets behind what is parked, first fetch."""
    return max(stable_at + SERVICE + WAY + TRIP + WAY, parked_until) + SERVICE + WAY + TRIP


def refreshed(begun: int, due: int) -> int:
    """When a metadata request is answered that is due at ``due``, of a member that has read since ``begun``."""
    return parked(begun, due + WAY) + SERVICE + WAY


def beats_from(joined: int) -> int:
    """When the heartbeats of a generation begin to arrive: one interval after the join response was handled."""
    return joined + SERVICE + WAY + H + WAY


def next_beat(joined: int, at: int) -> int:
    """The first heartbeat of the generation of ``joined`` that arrives at or after ``at``."""
    first = beats_from(joined)
    return first if at <= first else first + -(-(at - first) // H) * H


def rejoined(beat: int) -> int:
    """Arrival of the JoinGroup of a member that learnt of the rebalance by the heartbeat that arrived at ``beat``."""
    return beat + SERVICE + WAY + PREPARE + WAY
