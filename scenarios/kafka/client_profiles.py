"""Families and generations of consumers: their defaults, what they do differently, which assignors they have.

A profile of the Java client stands for the last release of its line: 0.9.0.1, 0.11.0.3, 2.8.2, 3.9.1 and so on; from
4.0 on each line has its own. Defaults were printed from the ``ConsumerConfig`` of these releases, but for 4.0 to 4.3,
which are taken to have those of 4.4; behaviour follows the KIPs and tickets named in `sim.config.ClientBehaviour`.

Other families go under the Java client's names of keys. Their defaults are their own where they have the same key, or
one of the same meaning; librdkafka's are from its CONFIGURATION.md, franz-go's from ``kgo.defaultCfg``, kafka-python's
from ``KafkaConsumer.DEFAULT_CONFIG``. librdkafka 2.14 stands for 2.12 to 2.14, in which the consumer protocol was
new. What a family's member does differently beyond that is in its behaviour; everything else is as in Java.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from groupsim.scenarios.kafka.keys import Value
from groupsim.sim.config import ClientBehaviour, ClientFamily

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
        "default.api.timeout.ms": 60_000,
        "socket.connection.setup.timeout.ms": 10_000,
        "metadata.max.age.ms": 300_000,
        "fetch.max.wait.ms": 500,
        "client.id": "",
        "client.rack": "",
        "isolation.level": "read_uncommitted",
    }
)

_BEFORE_4_3: Final = {"revokes_in_poll": False, "ignores_missing_group_after_leave": False}
_BEFORE_4_2: Final = {
    **_BEFORE_4_3,
    "sound_heartbeat_jitter": False,
    "positions_before_listeners": False,
    "refers_to_poll_event": False,
}
_BEFORE_4_1: Final = {**_BEFORE_4_2, "rack_in_heartbeat": False, "close_operations": False}
_BEFORE_3_2: Final = {
    **_BEFORE_4_1,
    "bounded_join_prepare": False,
    "keep_id_on_illegal_generation": False,
    "skip_assignment": False,
    "reason_in_request": False,
    "generation_in_subscription": False,
    "rack_in_subscription": False,
    "exponential_backoff": False,
    "leader_in_fetch_response": False,
}
_BEFORE_2_2: Final = {
    **_BEFORE_3_2,
    "member_id_required": False,
    "poll_returns_in_rebalance": False,
    "heartbeat_in_completing": False,
    "repeats_deleted_commits": False,
}
EAGER: Final = ("range", "roundrobin", "sticky")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProfile:
    """One generation of a family of clients.

    Parameters
    ----------
    name : str
        What messages call it, such as ``client 2.x``.
    defaults : mapping
        Of the modelled keys, under Kafka's names; a key this generation does not know is missing.
    behaviour : ClientBehaviour
    assignors : tuple of str
        Those of Kafka's that came with it.
    static_membership : bool
        KIP-345 (2.3).
    request_outlasts_session : bool
        Up to 1.1 the constructor demands request.timeout.ms > session.timeout.ms and > fetch.max.wait.ms.
    no_consumer_protocol : str
        Why it has no consumer protocol (KIP-848); empty if it has.
    """

    name: str
    defaults: Mapping[str, Value]
    behaviour: ClientBehaviour
    assignors: tuple[str, ...]
    static_membership: bool = True
    request_outlasts_session: bool = False
    no_consumer_protocol: str = ""


def _changed(base: Mapping[str, Value], *absent: str, **values: Value) -> Mapping[str, Value]:
    """Defaults without some keys and with other values (``_`` in a name stands for ``.``)."""
    changed = {name.replace("_", "."): value for name, value in values.items()}
    return MappingProxyType({name: value for name, value in {**base, **changed}.items() if name not in absent})


_2_8: Final = _changed(_4_4, "retry.backoff.max.ms", session_timeout_ms=10_000, partition_assignment_strategy=["range"])
_0_11: Final = _changed(
    _2_8, "default.api.timeout.ms", "socket.connection.setup.timeout.ms", "client.rack", request_timeout_ms=305_000
)
_0_9: Final = _changed(
    _0_11,
    "max.poll.interval.ms",
    "max.poll.records",
    "isolation.level",
    session_timeout_ms=30_000,
    request_timeout_ms=40_000,
)

_ALL: Final = (*EAGER, "cooperative-sticky")
_UNKNOWN: Final = "does not know group.protocol (KIP-848 came with 4.0)"
_PREVIEW: Final = "has the consumer protocol as early access and preview only (3.7 to 3.9): it came with 4.0"

_JAVA: Final[Mapping[str, ClientProfile]] = MappingProxyType(
    {
        "0.9": ClientProfile(
            name="client 0.9",
            defaults=_0_9,
            behaviour=ClientBehaviour(background_heartbeat=False, rebalance_timeout_is_session=True, **_BEFORE_2_2),
            assignors=("range", "roundrobin"),
            static_membership=False,
            request_outlasts_session=True,
            no_consumer_protocol=_UNKNOWN,
        ),
        "0.11": ClientProfile(
            name="client 0.11",
            defaults=_0_11,
            behaviour=ClientBehaviour(**_BEFORE_2_2),
            assignors=EAGER,
            static_membership=False,
            request_outlasts_session=True,
            no_consumer_protocol=_UNKNOWN,
        ),
        "2.x": ClientProfile(
            name="client 2.x",
            defaults=_2_8,
            behaviour=ClientBehaviour(**_BEFORE_3_2),
            assignors=_ALL,
            no_consumer_protocol=_UNKNOWN,
        ),
        "3.x": ClientProfile(
            name="client 3.x",
            defaults=_4_4,
            behaviour=ClientBehaviour(**_BEFORE_4_1),
            assignors=_ALL,
            no_consumer_protocol=_PREVIEW,
        ),
        "4.0": ClientProfile(
            name="client 4.0", defaults=_4_4, behaviour=ClientBehaviour(**_BEFORE_4_1), assignors=_ALL
        ),
        "4.1": ClientProfile(
            name="client 4.1", defaults=_4_4, behaviour=ClientBehaviour(**_BEFORE_4_2), assignors=_ALL
        ),
        "4.2": ClientProfile(
            name="client 4.2", defaults=_4_4, behaviour=ClientBehaviour(**_BEFORE_4_3), assignors=_ALL
        ),
        "4.3": ClientProfile(name="client 4.3", defaults=_4_4, behaviour=ClientBehaviour(), assignors=_ALL),
        "4.4": ClientProfile(name="client 4.4", defaults=_4_4, behaviour=ClientBehaviour(), assignors=_ALL),
    }
)

_RDKAFKA: Final = _changed(
    _4_4,
    partition_assignment_strategy=["range", "roundrobin"],
    socket_connection_setup_timeout_ms=30_000,
    isolation_level="read_committed",
)
_KGO: Final = _changed(
    _4_4,
    partition_assignment_strategy=["cooperative-sticky"],
    auto_offset_reset="earliest",
    retry_backoff_ms=250,
    retry_backoff_max_ms=2_500,
    fetch_max_wait_ms=5_000,
)
_PYTHON: Final = _changed(_4_4, partition_assignment_strategy=["range", "roundrobin"])
_RDKAFKA_BEHAVIOUR: Final = ClientBehaviour(
    paces_polls=False, looks_at_polls=True, repeats_user_data=True, repeats_deleted_commits=False,
    reason_in_request=False,
)  # fmt: skip
_RDKAFKA_ASSIGNORS: Final = ("range", "roundrobin", "cooperative-sticky")

PROFILES: Final[Mapping[ClientFamily, Mapping[str, ClientProfile]]] = MappingProxyType(
    {
        "java": _JAVA,
        "librdkafka": MappingProxyType(
            {
                "2.14": ClientProfile(
                    name="librdkafka 2.14",
                    defaults=_RDKAFKA,
                    behaviour=replace(_RDKAFKA_BEHAVIOUR, ignores_missing_group=True, says_all_after_expiry=False),
                    assignors=_RDKAFKA_ASSIGNORS,
                ),
                "2.15": ClientProfile(
                    name="librdkafka 2.15",
                    defaults=_RDKAFKA,
                    behaviour=_RDKAFKA_BEHAVIOUR,
                    assignors=_RDKAFKA_ASSIGNORS,
                ),
            }
        ),
        "franz-go": MappingProxyType(
            {
                "1.22": ClientProfile(
                    name="franz-go 1.22",
                    defaults=_KGO,
                    behaviour=ClientBehaviour(repeats_deleted_commits=False),
                    assignors=_ALL,
                ),
            }
        ),
        "kafka-python": MappingProxyType(
            {
                "3.0": ClientProfile(
                    name="kafka-python 3.0",
                    defaults=_PYTHON,
                    behaviour=ClientBehaviour(),
                    assignors=_ALL,
                    no_consumer_protocol="has no consumer protocol (KIP-848)",
                ),
            }
        ),
    }
)
"""By the family and the version that a scenario gives as ``client_family`` and ``client``; the newest version last."""

NEWEST: Final = "4.4"


def newest_of(family: ClientFamily) -> str:
    """The version of a family that is meant where none is given."""
    return list(PROFILES[family])[-1]


JAVA_CLASSES: Final = MappingProxyType(
    {
        "org.apache.kafka.clients.consumer.RangeAssignor": "range",
        "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
        "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
    }
)
"""Kafka's assignor classes (``partition.assignment.strategy``) and the names under which members agree on them."""

SERVER_CLASSES: Final = MappingProxyType(
    {
        "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
        "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
    }
)
"""Kafka's assignor classes of the group coordinator (``group.consumer.assignors``) and their names."""
