"""How long the assignor of a leader or of a group coordinator takes, in simulated time.

Charged by a model and never by measuring this machine: results must not depend on it. Large groups fail exactly here,
because the leader sends no heartbeat while its assignor runs, and a coordinator works on nothing else meanwhile.

With M members, P partitions and T topics a cost is ``a M + b P + c M T + d P log2(P)``, or ``s M^m P^p`` where nothing
faster is tried. Each form is fitted to what somebody measured:

* *Java*, equal subscriptions: CPU times of Kafka 4.4.0's own classes on OpenJDK 17, warm, on the grid of Kafka's
  assignor benchmarks (M 100 to 10,000, P 500 to 500,000, T 10 to 1,000). Round robin has two points of the same kind:
  100 members with 1,000 partitions (0.4 ms), 2,000 with 2,000 topics of one partition (192 ms). What is not Kafka's
  (random, broadcast, leader-rack, weighted, a user's own) is charged as range.
* *Java*, unequal subscriptions: the general algorithm of the sticky assignors, through the two published points of
  Kafka PR 11578 (1,000,000 partitions: 16 s with 1,000 members, 44 s with 2,000), in proportion to P.
* *kafka-python* 3.0.12 on CPython 3.11, the same machine as Java's. Its sticky assignors have one way for everything.
* *librdkafka* up to 2.8, cooperative-sticky: through the two published points of PR 5085 (30 s at 3,160 partitions
  and 2,125 members, and at 5,253 and 530; measured when consumers leave, charged for every assignment). They leave
  the exponent of P open; it is 1 because that agrees with what users report in issue 4629. Its other assignors were
  not timed and are charged as Java's.
* *The coordinator's* range and uniform: Kafka's own classes again, same machine and grid; uniform with unequal
  subscriptions on ten of its shapes. Range with unequal ones was not timed and is charged as with equal ones; a user's
  own as range.

The errors are in decision 0006; `tests/conformance/assignors/test_time_charged.py` holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2
from types import MappingProxyType
from typing import Final

from groupsim.sim.config import ClientFamily
from groupsim.sim.protocol.messages import JoinResponse
from groupsim.sim.units import MS

_FIXED_US: Final = MS // 4
"""Metadata, decoding and encoding for a handful of partitions."""

_LINEAR: Final[Mapping[tuple[ClientFamily, str], tuple[float, float, float, float]]] = MappingProxyType(
    {
        ("java", "range"): (540, 79, 144, 0),
        ("java", "roundrobin"): (0, 400, 48, 0),
        ("java", "sticky"): (314, 32, 19, 0),
        ("java", "sticky again"): (0, 0, 23, 33),
        ("kafka-python", "range"): (2_326, 0, 868, 0),
        ("kafka-python", "roundrobin"): (2_213, 731, 54, 0),
    }
)
"""a, b, c and d in nanoseconds; *again*: somebody owns something already."""
_COORDINATOR: Final[Mapping[str, tuple[float, float, float, float]]] = MappingProxyType(
    {
        "range": (165, 0, 4.26, 0.11),
        "uniform": (57, 31, 0.04, 0),
        "uniform again": (41, 12, 0.07, 0),
        "uniform unequal": (0, 0, 17.7, 3.99),
        "uniform unequal again": (0, 0, 14.8, 2.94),
    }
)
"""The same of assignors of the group coordinator."""
_POWER: Final[Mapping[tuple[ClientFamily, str], tuple[float, float, float]]] = MappingProxyType(
    {
        ("java", "sticky unequal"): (0.667, 1.46, 1.0),
        ("kafka-python", "sticky"): (579, 0.878, 1.198),
        ("librdkafka", "cooperative-sticky"): (575_000, 0.366, 1.0),
    }
)
"""s in nanoseconds, m and p."""


@dataclass(frozen=True, slots=True)
class Task:
    """What an assignor is asked for.

    Parameters
    ----------
    members, partitions, topics : int
    equal : bool
        Whether all members have the same subscription.
    owned : bool
        Whether somebody owns partitions already.
    """

    members: int
    partitions: int
    topics: int
    equal: bool = True
    owned: bool = False

    @classmethod
    def of(cls, response: JoinResponse, partitions: int, topics: int) -> Task:
        """What a leader's JoinGroup response asks for."""
        subscriptions = [one for _, _, one in response.members]
        first = subscriptions[0].topics if subscriptions else ()
        equal = all(one.topics is first or one.topics == first for one in subscriptions)
        owned = any(one.owned.size or one.user_data is not None for one in subscriptions)
        return cls(len(subscriptions), partitions, topics, equal, owned)


def cost_us(name: str, family: ClientFamily, task: Task) -> int:
    """How long an assignor takes, microseconds.

    Parameters
    ----------
    name : str
        Of the assignor.
    family : {"java", "librdkafka", "kafka-python"}
        Whose implementation the leader runs.
    task : Task
    """
    key = _kind(name, family, task)
    members, partitions = task.members, task.partitions
    if key in _POWER:
        scale, m, p = _POWER[key]
        cost_ns: float = scale * members**m * partitions**p
    else:
        cost_ns = _linear_ns(_LINEAR[key], task)
    return _FIXED_US + round(cost_ns / 1000)


def coordinator_cost_us(name: str, task: Task) -> int:
    """How long an assignor of the group coordinator takes, microseconds; nothing is decoded or encoded for it.

    Parameters
    ----------
    name : str
        Of the assignor.
    task : Task
        ``owned``: whether somebody has a target already.
    """
    kind = "range"
    if name == "uniform":
        kind = f"uniform{'' if task.equal else ' unequal'}{' again' if task.owned else ''}"
    return round(_linear_ns(_COORDINATOR[kind], task) / 1000)


def _linear_ns(coefficients: tuple[float, float, float, float], task: Task) -> float:
    a, b, c, d = coefficients
    members, partitions = task.members, task.partitions
    return a * members + b * partitions + c * members * task.topics + d * partitions * log2(max(partitions, 1))


def _kind(name: str, family: ClientFamily, task: Task) -> tuple[ClientFamily, str]:
    """Whose points a task is charged by."""
    if (family, name) in _POWER:
        return family, name
    timed = family if family == "kafka-python" else "java"
    if name not in ("sticky", "cooperative-sticky"):
        return timed, "roundrobin" if name == "roundrobin" else "range"
    if timed == "kafka-python":
        return timed, "sticky"
    if not task.equal:
        return "java", "sticky unequal"
    return "java", "sticky again" if task.owned else "sticky"
