"""Combinations of configuration that Kafka refuses, with its reason, and those that its documentation warns of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from groupsim.scenarios.kafka import consumer_protocol
from groupsim.scenarios.kafka.client_config import protocol_of, resolved_consumer, unknown_to
from groupsim.scenarios.kafka.client_profiles import NEWEST, PROFILES, ClientProfile
from groupsim.scenarios.kafka.consumer_protocol import consumer_refusals, forbidden_keys
from groupsim.scenarios.kafka.zookeeper_consumer import zookeeper_advice, zookeeper_refusals


def refusals(
    profile: ClientProfile, given: Mapping[str, Any], version: str, broker: Mapping[str, Any], *, static: bool
) -> Iterator[str]:
    """Why Kafka would not let a consumer with this configuration work.

    Parameters
    ----------
    profile : ClientProfile
    given : mapping
        Consumer keys with checked values.
    version : str
        Of the brokers.
    broker : mapping
        Broker keys with all modelled ones resolved.
    static : bool
        Whether members have a ``group.instance.id``.

    Source
    ------
    ``Heartbeat``, ``ConsumerConfig``, ``KafkaConsumer`` (up to 1.1), ``ConsumerCoordinator`` (constructor),
    ``GroupCoordinatorService.joinGroup``.
    """
    config = resolved_consumer(profile, given)
    yield from forbidden_keys(profile, config)
    if protocol_of(config) == "consumer":
        yield from consumer_refusals(profile, version, config, broker)
    elif protocol_of(config) == "zookeeper":
        yield from zookeeper_refusals(config)
    else:
        yield from _classic_refusals(profile, config, broker)
    if static and not profile.static_membership:
        yield f"{profile.name} knows no static membership (KIP-345 came with 2.3): members.static must be false"


def _classic_refusals(profile: ClientProfile, config: Mapping[str, Any], broker: Mapping[str, Any]) -> Iterator[str]:
    session, heartbeat = config["session.timeout.ms"], config["heartbeat.interval.ms"]
    low, high = broker["group.min.session.timeout.ms"], broker["group.max.session.timeout.ms"]
    if heartbeat >= session:
        yield (
            f"heartbeat.interval.ms ({heartbeat}) must be lower than session.timeout.ms ({session}): the consumer's"
            " constructor refuses it (IllegalArgumentException: Heartbeat must be set lower than the session timeout)"
        )
    if not low <= session <= high:
        yield (
            f"session.timeout.ms ({session}) is not within the broker's group.min.session.timeout.ms ({low}) and"
            f" group.max.session.timeout.ms ({high}): JoinGroup is answered INVALID_SESSION_TIMEOUT"
        )
    if profile.request_outlasts_session:
        yield from _short_requests(config)
    yield from _strategy(profile, config["partition.assignment.strategy"])


def _short_requests(config: Mapping[str, Any]) -> Iterator[str]:
    request = config["request.timeout.ms"]
    for key in ("session.timeout.ms", "fetch.max.wait.ms"):
        if request <= config[key]:
            yield (
                f"request.timeout.ms ({request}) must be greater than {key} ({config[key]}) with clients up to 1.1"
                " (ConfigException: request.timeout.ms should be greater than session.timeout.ms and"
                " fetch.max.wait.ms)"
            )


def _strategy(profile: ClientProfile, names: list[str]) -> Iterator[str]:
    own = profile.assignors
    for name in names:
        if name in PROFILES["java"][NEWEST].assignors and name not in own:
            yield f"{profile.name} has no {name} assignor; it has {', '.join(own)}"


def advice(profile: ClientProfile, given: Mapping[str, Any], broker: Mapping[str, Any]) -> Iterator[str]:
    """What works and is advised against, or has no effect."""
    config = resolved_consumer(profile, given)
    if protocol_of(config) == "consumer":
        yield from consumer_protocol.advice(config, broker)
    elif protocol_of(config) == "zookeeper":
        yield from zookeeper_advice(config)
    else:
        yield from _classic_advice(profile, config, broker)
    if "retry.backoff.max.ms" in config and config["retry.backoff.ms"] > config["retry.backoff.max.ms"]:
        yield (
            f"retry.backoff.ms ({config['retry.backoff.ms']}) is above retry.backoff.max.ms"
            f" ({config['retry.backoff.max.ms']}): the backoff is constant"
        )
    ignored = unknown_to(profile, given)
    if ignored:
        yield f"{profile.name} does not know {', '.join(ignored)}: no effect"


def _classic_advice(profile: ClientProfile, config: Mapping[str, Any], broker: Mapping[str, Any]) -> Iterator[str]:
    session, heartbeat = config["session.timeout.ms"], config["heartbeat.interval.ms"]
    if heartbeat * 3 > session:
        yield (
            f"heartbeat.interval.ms ({heartbeat}) is more than a third of session.timeout.ms ({session}): one lost"
            " heartbeat or two may cost the membership"
        )
    if not profile.request_outlasts_session and config["request.timeout.ms"] >= session:
        yield (
            f"request.timeout.ms ({config['request.timeout.ms']}) is not below session.timeout.ms ({session}): a hung"
            " connection to the coordinator costs the session (KIP-735)"
        )
    one_timeout = profile.behaviour.rebalance_timeout_is_session
    rebalance_key = "session.timeout.ms" if one_timeout else "max.poll.interval.ms"
    delay = broker.get("group.initial.rebalance.delay.ms", 0)
    if delay > config[rebalance_key]:
        yield (
            f"group.initial.rebalance.delay.ms ({delay}) is longer than the rebalance timeout"
            f" ({rebalance_key}, {config[rebalance_key]}): the first wait is not capped by it"
        )
