"""Kafka's producer keys -> `sim.config.ProducerConfig`, and the combinations that a producer refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from groupsim.scenarios.kafka.keys import known_keys
from groupsim.sim.config import ProducerConfig
from groupsim.sim.units import MS

MODELLED_PRODUCER: Final = frozenset(
    {"transaction.timeout.ms", "retry.backoff.ms", "retry.backoff.max.ms", "enable.idempotence", "acks", "retries",
     "max.in.flight.requests.per.connection", "delivery.timeout.ms", "linger.ms", "request.timeout.ms",
     "batch.size"}
)  # fmt: skip
"""Keys that decide something in a transaction, when batches go out, or whether a producer starts at all."""
_IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
_IN_FLIGHT_MAX: Final = 5
_TIMES: Final = MappingProxyType(
    {
        "transaction.timeout.ms": "transaction_timeout_us", "retry.backoff.ms": "retry_backoff_us",
        "retry.backoff.max.ms": "retry_backoff_max_us", "linger.ms": "linger_us",
        "request.timeout.ms": "request_timeout_us", "delivery.timeout.ms": "delivery_timeout_us",
    }
)  # fmt: skip
_NUMBERS: Final = MappingProxyType({"retries": "retries", _IN_FLIGHT: "max_in_flight", "batch.size": "batch_bytes"})
_ACKS: Final = MappingProxyType({"all": -1, "-1": -1, "0": 0, "1": 1})


def producer_config(given: Mapping[str, Any]) -> ProducerConfig:
    """A producer's configuration; 4.4's defaults where ``given`` has no value.

    Where idempotence does not go with the rest and nobody asks for it, there is none; delivery.timeout.ms that nobody
    gives is as long as it has to be (``KafkaProducer.configureDeliveryTimeout``).
    """
    fields = {field: given[key] * MS for key, field in _TIMES.items() if key in given}
    fields |= {field: given[key] for key, field in _NUMBERS.items() if key in given}
    fields["acks"] = _ACKS[given.get("acks", "all")]
    wanted = given.get("enable.idempotence", True)
    config = ProducerConfig(**fields, enable_idempotence=wanted and fields["acks"] == -1 and given.get("retries") != 0)
    least_us = 0 if "delivery.timeout.ms" in given else config.linger_us + config.request_timeout_us
    return replace(config, delivery_timeout_us=max(config.delivery_timeout_us, least_us))


def producer_refusals(given: Mapping[str, Any], *, is_transactional: bool = True) -> Iterator[tuple[str, str]]:
    """Why Kafka would not let a producer with this configuration start: key and reason.

    Source
    ------
    ``ProducerConfig.postProcessAndValidateIdempotenceConfigs``, ``KafkaProducer.configureDeliveryTimeout``, Kafka 4.4.
    """
    config = {name: key.default for name, key in known_keys("producer").items()} | dict(given)
    yield from _idempotence(config, given, is_transactional=is_transactional)
    least = config["linger.ms"] + config["request.timeout.ms"]
    if "delivery.timeout.ms" in given and given["delivery.timeout.ms"] < min(least, (1 << 31) - 1):
        yield (
            "delivery.timeout.ms",
            "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms (ConfigException;"
            f" here {least})",
        )
    if config["transaction.two.phase.commit.enable"] and "transaction.timeout.ms" in given:
        yield (
            "transaction.timeout.ms",
            "Cannot set transaction.timeout.ms when transaction.two.phase.commit.enable is set to true"
            " (ConfigException)",
        )


def _idempotence(
    config: Mapping[str, Any], given: Mapping[str, Any], *, is_transactional: bool
) -> Iterator[tuple[str, str]]:
    """An explicit wish is refused, a default silently given up; not so with too many requests in flight."""
    wanted, is_explicit = bool(config["enable.idempotence"]), "enable.idempotence" in given
    broken = []
    if wanted and config["retries"] == 0:
        broken.append(("retries", "Must set retries to non-zero when using the idempotent producer."))
    if wanted and config["acks"] not in ("all", "-1"):
        reason = (
            "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence."
        )
        broken.append(("acks", reason))
    if is_explicit:
        yield from ((key, f"{reason} (ConfigException)") for key, reason in broken)
    if wanted and config[_IN_FLIGHT] > _IN_FLIGHT_MAX:
        reason = f"Must set {_IN_FLIGHT} to at most {_IN_FLIGHT_MAX} to use the idempotent producer. (ConfigException)"
        yield _IN_FLIGHT, reason
    is_off = not wanted or (broken and not is_explicit)
    if is_transactional and is_off:
        key = "enable.idempotence" if not wanted else broken[0][0]
        yield key, "Cannot set a transactional.id without also enabling idempotence. (ConfigException)"
