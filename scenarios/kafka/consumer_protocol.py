"""What Kafka refuses of the consumer protocol's configuration, with its reasons, and what is advised against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from groupsim.scenarios.kafka.broker_config import ASSIGNORS, COORDINATORS, POLICY, PROTOCOLS
from groupsim.scenarios.kafka.client_config import FORBIDDEN, protocol_of
from groupsim.scenarios.kafka.client_profiles import ClientProfile

_BOUNDED: Final = ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
RE2_REFUSED: Final = (
    "Subscribe to RE2/J pattern is not supported when using the CLASSIC protocol defined in config group.protocol"
    " (ClassicKafkaConsumer: UnsupportedOperationException): say protocol: consumer, or pattern"
)
_NOT_SUPPORTED: Final = "The cluster does not support the new CONSUMER group protocol (UnsupportedVersionException)"


def forbidden_keys(profile: ClientProfile, given: Mapping[str, Any]) -> Iterator[str]:
    """Why a client does not take some of these keys together with its protocol.

    Source
    ------
    ``ConsumerConfig.checkUnsupportedConfigsPostProcess``, Kafka 4.4; librdkafka refuses those of the consumer protocol
    too.
    """
    protocol = protocol_of(given)
    found = [key for key in FORBIDDEN[protocol] if key in given]
    if found:
        whose = "" if profile.name.startswith("client ") else f" with {profile.name} either"
        yield (
            f"{', '.join(found)} cannot be set when group.protocol={protocol.upper()}{whose}"
            f" (ConfigException): {_remedy(protocol)}"
        )


def _remedy(protocol: str) -> str:
    if protocol == "classic":
        return "the group's leader assigns, by partition.assignment.strategy"
    return "the broker decides, by group_config (consumer.session.timeout.ms and so on) and group.remote.assignor"


def consumer_refusals(
    profile: ClientProfile, version: str, config: Mapping[str, Any], broker: Mapping[str, Any]
) -> Iterator[str]:
    """Why a consumer of the consumer protocol would not work with these brokers.

    Parameters
    ----------
    profile : ClientProfile
    version : str
        Of the brokers.
    config, broker : mapping
        Keys with all modelled ones resolved.

    Source
    ------
    ``AbstractHeartbeatRequestManager``, ``GroupCoordinatorService.consumerGroupHeartbeat``,
    ``throwIfConsumerGroupHeartbeatRequestIsInvalid``, Kafka 4.4.
    """
    if profile.no_consumer_protocol:
        yield f"{profile.name} {profile.no_consumer_protocol}: use a newer client, or group.protocol=classic"
    if ASSIGNORS not in COORDINATORS[version]:
        yield f"brokers of {version} have no consumer protocol (KIP-848 came with 4.0): {_NOT_SUPPORTED}"
    elif "consumer" not in broker.get(PROTOCOLS, ("consumer",)):
        yield f"{PROTOCOLS} ({', '.join(broker[PROTOCOLS])}) does not name consumer: {_NOT_SUPPORTED}"
    wanted, known = config.get("group.remote.assignor"), broker.get(ASSIGNORS, ())
    if wanted is not None and known and wanted not in known:
        yield (
            f"ServerAssignor {wanted} is not supported. Supported assignors: {', '.join(known)}. (group.remote.assignor"
            f" must be one of the brokers' {ASSIGNORS}: UNSUPPORTED_ASSIGNOR)"
        )


def broker_refusals(broker: Mapping[str, Any]) -> Iterator[str]:
    """Why a broker would not start.

    Source
    ------
    ``GroupCoordinatorConfig`` (constructor), Kafka 4.4: IllegalArgumentException.
    """
    for name in _BOUNDED:
        value, least, most = (f"group.consumer.{part}{name}" for part in ("", "min.", "max."))
        if value in broker:
            yield from _ordered(broker, most, least)
            yield from _ordered(broker, value, least)
            yield from _ordered(broker, most, value)
    heartbeat, session = "group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"
    if heartbeat in broker and broker[heartbeat] >= broker[session]:
        yield f"{heartbeat} ({broker[heartbeat]}) must be less than {session} ({broker[session]}): no broker starts so"


def _ordered(broker: Mapping[str, Any], larger: str, smaller: str) -> Iterator[str]:
    if broker[larger] < broker[smaller]:
        yield (
            f"{larger} ({broker[larger]}) must be greater than or equal to {smaller} ({broker[smaller]}): no broker"
            " starts so (IllegalArgumentException)"
        )


def group_refusals(version: str, given: Mapping[str, Any], broker: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Key and reason, for what brokers would not take as the configuration of a group.

    Parameters
    ----------
    version : str
        Of the brokers.
    given : mapping
        Group keys with checked values.
    broker : mapping
        Broker keys with all modelled ones resolved.

    Source
    ------
    ``GroupConfig.validate``, Kafka 4.4: InvalidConfigurationException.
    """
    for key, value in given.items():
        name = key.removeprefix("consumer.")
        if f"group.consumer.{name}" not in COORDINATORS[version]:
            yield key, f"Unknown group config name: {key} (brokers of {version}: InvalidConfigurationException)"
            continue
        low, high = broker[f"group.consumer.min.{name}"], broker[f"group.consumer.max.{name}"]
        if not low <= value <= high:
            yield (
                key,
                f"must be in the range {low} to {high} inclusive (InvalidConfigurationException):"
                f" group.consumer.min.{name} and group.consumer.max.{name} of the brokers",
            )
    yield from _session_outlasts_heartbeat(given, broker)


def _session_outlasts_heartbeat(given: Mapping[str, Any], broker: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    session, heartbeat = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
    present = [key for key in (session, heartbeat) if key in given]
    if present and f"group.{session}" in broker:
        effective = {key: given.get(key, broker[f"group.{key}"]) for key in (session, heartbeat)}
        if effective[session] <= effective[heartbeat]:
            yield (
                present[0],
                f"{session} ({effective[session]}) must be greater than {heartbeat} ({effective[heartbeat]}):"
                " what is not set for the group is the brokers' (InvalidConfigurationException)",
            )


def advice(config: Mapping[str, Any], broker: Mapping[str, Any]) -> Iterator[str]:
    """What works with the consumer protocol and has no effect.

    Source
    ------
    Kafka 4.4's documentation, "Consumer Rebalance Protocol", limitations.
    """
    if config.get("client.rack") and not {*broker.get(ASSIGNORS, ())} - {"uniform", "range"}:
        yield "client.rack has no effect on assignments: no assignor of the brokers looks at racks"


def migration_advice(broker: Mapping[str, Any]) -> Iterator[str]:
    """What to expect of a group whose members have different protocols.

    Source
    ------
    ``ConsumerGroupMigrationPolicy``, Kafka 4.4.
    """
    policy = broker.get(POLICY, "bidirectional")
    if policy in ("disabled", "downgrade"):
        yield (
            f"{POLICY} is {policy}: while a member of the classic protocol is there, one of the consumer protocol is"
            " refused (GROUP_ID_NOT_FOUND), which ends it"
        )
    if policy in ("disabled", "upgrade"):
        yield f"{POLICY} is {policy}: the group stays a consumer group when the last member of that protocol leaves"
