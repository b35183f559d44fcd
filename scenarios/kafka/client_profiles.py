"""Generations of the Java consumer: what their defaults were, what they did differently, which assignors they had.

A profile stands for the last release of its line: 0.9.0.1, 0.11.0.3, 2.8.2, 3.9.1 and 4.4.0. Defaults were printed from
the ``ConsumerConfig`` of these releases; behaviour follows the KIPs and tickets named in `sim.config.ClientBehaviour`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from groupsim.scenarios.kafka.keys import Value
from groupsim.sim.config import ClientBehaviour

_4_4: Final[Mapping[str, Value]] = MappingProxyType(
    {
        "session.timeout.ms": 45_000,
        "heartbeat.interval.ms": 3_000,
        "max.poll.interval.ms": 300_000,
        "max.poll.records": 500,
        "partition.assignment.strategy": ["range", "cooperative-sticky"],
        "enable.auto.commit": True,
        "auto.commit.interval.ms": 5_000,
        "auto.offset.reset": "latest",
        "request.timeout.ms": 30_000,
        "retry.backoff.ms": 100,
        "retry.backoff.max.ms": 1_000,
        "socket.connection.setup.timeout.ms": 10_000,
        "metadata.max.age.ms": 300_000,
        "fetch.max.wait.ms": 500,
        "client.id": "",
        "client.rack": "",
    }
)

_BEFORE_3_2: Final = {
    "bounded_join_prepare": False,
    "keep_id_on_illegal_generation": False,
    "skip_assignment": False,
    "generation_in_subscription": False,
    "rack_in_subscription": False,
    "exponential_backoff": False,
}
_BEFORE_2_2: Final = {
    **_BEFORE_3_2,
    "member_id_required": False,
    "poll_returns_in_rebalance": False,
    "heartbeat_in_completing": False,
}
_EAGER: Final = ("range", "roundrobin", "sticky")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProfile:
    """One generation of clients.

    Parameters
    ----------
    defaults : mapping
        Of the modelled keys, under Kafka's names; a key this generation does not know is missing.
    behaviour : ClientBehaviour
    assignors : tuple of str
        Those of Kafka's that came with it.
    static_membership : bool
        KIP-345 (2.3).
    request_outlasts_session : bool
        Up to 1.1 the constructor demands request.timeout.ms > session.timeout.ms and > fetch.max.wait.ms.
    """

    defaults: Mapping[str, Value]
    behaviour: ClientBehaviour
    assignors: tuple[str, ...]
    static_membership: bool = True
    request_outlasts_session: bool = False


def _changed(base: Mapping[str, Value], *absent: str, **values: Value) -> Mapping[str, Value]:
    """Defaults without some keys and with other values (``_`` in a name stands for ``.``)."""
    changed = {name.replace("_", "."): value for name, value in values.items()}
    return MappingProxyType({name: value for name, value in {**base, **changed}.items() if name not in absent})


_2_8: Final = _changed(_4_4, "retry.backoff.max.ms", session_timeout_ms=10_000, partition_assignment_strategy=["range"])
_0_11: Final = _changed(_2_8, "socket.connection.setup.timeout.ms", "client.rack", request_timeout_ms=305_000)
_0_9: Final = _changed(
    _0_11,
    "max.poll.interval.ms",
    "max.poll.records",
    session_timeout_ms=30_000,
    request_timeout_ms=40_000,
)

PROFILES: Final[Mapping[str, ClientProfile]] = MappingProxyType(
    {
        "0.9": ClientProfile(
            defaults=_0_9,
            behaviour=ClientBehaviour(background_heartbeat=False, rebalance_timeout_is_session=True, **_BEFORE_2_2),
            assignors=("range", "roundrobin"),
            static_membership=False,
            request_outlasts_session=True,
        ),
        "0.11": ClientProfile(
            defaults=_0_11,
            behaviour=ClientBehaviour(**_BEFORE_2_2),
            assignors=_EAGER,
            static_membership=False,
            request_outlasts_session=True,
        ),
        "2.x": ClientProfile(
            defaults=_2_8, behaviour=ClientBehaviour(**_BEFORE_3_2), assignors=(*_EAGER, "cooperative-sticky")
        ),
        "3.x": ClientProfile(defaults=_4_4, behaviour=ClientBehaviour(), assignors=(*_EAGER, "cooperative-sticky")),
        "4.4": ClientProfile(defaults=_4_4, behaviour=ClientBehaviour(), assignors=(*_EAGER, "cooperative-sticky")),
    }
)
"""By the name a scenario gives as ``client``."""

NEWEST: Final = "4.4"

JAVA_CLASSES: Final = MappingProxyType(
    {
        "org.apache.kafka.clients.consumer.RangeAssignor": "range",
        "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
        "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
    }
)
"""Kafka's assignor classes (``partition.assignment.strategy``) and the names under which members agree on them."""
