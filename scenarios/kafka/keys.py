"""Every configuration key of Kafka 4.4.0, and of the consumer of 0.8.2, with types and bounds as Kafka checks them.

The keys are data (``kafka-4.4.0-keys.json``, ``kafka-0.8.2-keys.json``), the former printed from Kafka's own
``ConfigDef`` objects. Those of groups are the
ones of the consumer protocol alone (``GroupConfig``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from groupsim.scenarios.errors import nearest, nearest_name
from groupsim.scenarios.files.text_files import plain_number
from groupsim.scenarios.kafka.librdkafka_keys import OF_KAFKA, kafkas_name_for

Kind: TypeAlias = Literal["consumer", "broker", "topic", "group", "producer", "old consumer"]
Value: TypeAlias = int | float | bool | str | list[str]

HIDDEN: Final = "[hidden]"
"""Stands for secrets in resolved documents, as Kafka prints them."""

_KEYS_FILES: Final = ("kafka-4.4.0-keys.json", "kafka-4.4.0-producer-keys.json", "kafka-0.8.2-keys.json")
_BOUNDS: Final = {"SHORT": (-(1 << 15), (1 << 15) - 1), "INT": (-(1 << 31), (1 << 31) - 1),
                  "LONG": (-(1 << 63), (1 << 63) - 1)}  # fmt: skip
_LISTENER: Final = re.compile(
    r"listener\.name\.[^.]+\.(?:(?:plain|gssapi|oauthbearer|scram-sha-256|scram-sha-512)\.)?(.+)"
)
"""``DynamicBrokerConfig``, ``ListenerName.configPrefix``, ``saslMechanismPrefix``: a broker key for one listener."""
_PLUGIN_PREFIXES: Final[Mapping[Kind, tuple[str, ...]]] = {
    "consumer": ("config.providers.",),
    "broker": ("config.providers.", "rsm.config.", "rlmm.config.", "remote.log.metadata.common.client.",
               "remote.log.metadata.producer.", "remote.log.metadata.consumer."),
    "topic": (),
    "group": (),
    "producer": ("config.providers.",),
    "old consumer": (),
}  # fmt: skip
"""Keys that Kafka hands to a plug-in without knowing them."""
_OR_ONE: Final = re.compile(r"\[(-?\d+),\.\.\.,(-?\d+)\] or (-?\d+)")
"""How ``CompressionType.levelValidator`` describes itself: ``[1,...,9] or -1`` of gzip."""
_MS_OF: Final = {"ms": 1, "s": 1_000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(rf"(\d{{1,9}}) ?({'|'.join(_MS_OF)})", re.ASCII)
_AUTHORIZER_KEYS: Final = ("super.users", "allow.everyone.if.no.acl.found")
"""Broker keys that ``StandardAuthorizer`` reads and ``KafkaConfig`` does not declare."""


_GONE_EVERYWHERE: Final = ("auto.include.jmx.reporter",)
_GONE: Final[Mapping[Kind, tuple[str, ...]]] = {
    "consumer": _GONE_EVERYWHERE,
    "broker": (
        *_GONE_EVERYWHERE, "broker.id.generation.enable", "control.plane.listener.name",
        "controlled.shutdown.max.retries", "controlled.shutdown.retry.backoff.ms", "delegation.token.master.key",
        "eligible.leader.replicas.enable", "inter.broker.protocol.version", "leader.imbalance.per.broker.percentage",
        "log.message.downconversion.enable", "log.message.format.version", "log.message.timestamp.difference.max.ms",
        "offsets.commit.required.acks", "password.encoder.", "reserved.broker.max.id", "zookeeper.",
    ),
    "topic": ("message.downconversion.enable", "message.format.version", "message.timestamp.difference.max.ms"),
    "group": (),
    "producer": _GONE_EVERYWHERE,
    "old consumer": (),
}  # fmt: skip
"""Keys that 4.0 has removed, and what such begin with: many a ``server.properties`` has them still.

Source: what ``KafkaConfig.configDef``, ``ConsumerConfig``, ``ProducerConfig`` and ``LogConfig`` of 3.9.1 declare, and
those of 4.0.0 do not.
"""
_INTERNAL_BEFORE: Final = "internal.leave.group.on.close"
"""What consumers up to 4.0 have for Kafka Streams (``ConsumerConfig.LEAVE_GROUP_ON_CLOSE_CONFIG``), 4.4 not."""
_MISTYPED: Final = 0.85
"""How alike (of 1) a key in a file and one of Kafka's are that was meant: a letter too many, a last part forgotten."""
_SPRING: Final = re.compile(r"spring\.kafka\.(?:consumer\.|producer\.)?(?:properties\.)?(.+)")
"""Spring Boot's names for Kafka's keys, which have hyphens for dots."""
_LISTENER_OF_SPRING: Final = "spring.kafka.listener."
_LEAVE_OUT: Final = "leave it out: Kafka would ignore it"


class UnknownKey(ValueError):
    """A key that Kafka does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaKey:
    """One configuration key, as ``ConfigDef.ConfigKey`` declares it."""

    name: str
    type: str
    default: Any = None
    valid: str = ""
    minimum: float | None = None
    maximum: float | None = None
    one_of: tuple[str, ...] = ()
    any_case: bool = False
    not_empty: bool = False

    def parse(self, raw: object) -> Value:
        """The value as Kafka reads it from YAML or from the text of a properties file.

        Raises
        ------
        ValueError
            Of another type, or outside what Kafka's validator allows.

        Source
        ------
        ``ConfigDef.parseType`` and ``ConfigDef.Validator``, 4.4.0.
        """
        try:
            value = _typed(self.type, raw.strip() if isinstance(raw, str) else raw)
        except ValueError as reason:
            raise ValueError(f"{reason}{self._meant(raw)}") from None
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._check_bounds(value)
        elif isinstance(value, list):
            self._check_list(value)
        elif isinstance(value, str):
            self._check_text(value)
        return value

    def _meant(self, raw: object) -> str:
        """What to write instead of a duration with a unit, where Kafka counts milliseconds."""
        match = _DURATION.fullmatch(raw.strip()) if isinstance(raw, str) and self.name.endswith(".ms") else None
        return f", of milliseconds: write {int(match[1]) * _MS_OF[match[2]]}" if match else ""

    def _check_bounds(self, value: float) -> None:
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"must be at least {self.minimum}")
        if self.maximum is not None and value > self.maximum:
            raise ValueError(f"must be at most {self.maximum}")
        apart = _OR_ONE.fullmatch(self.valid)
        if apart is not None and value != int(apart[3]) and not int(apart[1]) <= value <= int(apart[2]):
            raise ValueError(f"must be from {apart[1]} to {apart[2]}, or {apart[3]}")

    def _check_list(self, values: list[str]) -> None:
        for value in values:
            self._check_text(value)
        if len(set(values)) < len(values):
            raise ValueError("must not name anything twice")
        if self.not_empty and not values:
            raise ValueError("must not be empty")

    def _check_text(self, value: str) -> None:
        known = [one.lower() for one in self.one_of] if self.any_case else self.one_of
        if known and (value.lower() if self.any_case else value) not in known:
            raise ValueError(f"{nearest(value, self.one_of)}must be one of {', '.join(self.one_of)}")
        if self.valid.startswith("non-empty") and not value:
            raise ValueError("must not be empty")


@cache
def known_keys(kind: Kind) -> Mapping[str, KafkaKey]:
    """The keys of a consumer, of a broker (``server.properties``), of a topic, a group or an old consumer, by name."""
    return {name: _key(name, one) for name, one in _declared()[kind].items()}


@cache
def _declared() -> Mapping[str, Any]:
    """What the files say, by kind of key."""
    texts = [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in _KEYS_FILES]
    return {key: value for text in texts for key, value in json.loads(text).items()}


def _key(name: str, declared: Mapping[str, Any]) -> KafkaKey:
    return KafkaKey(
        name=name,
        type=declared["type"],
        default=declared.get("default"),
        valid=declared.get("valid", ""),
        minimum=declared.get("min"),
        maximum=declared.get("max"),
        one_of=tuple(declared.get("one_of", ())),
        any_case=declared.get("any_case", False),
        not_empty=declared.get("not_empty", False),
    )


def find_key(kind: Kind, name: str) -> KafkaKey:
    """The declaration of a key, also of one with a listener's or a plug-in's prefix (a secret, for all we know).

    Raises
    ------
    UnknownKey
        Kafka knows no such key; the message names the nearest.
    """
    known = known_keys(kind)
    if name in known:
        return known[name]
    listener = _LISTENER.fullmatch(name) if kind == "broker" else None
    if listener and listener[1] in known:
        return known[listener[1]]
    if name.startswith(_PLUGIN_PREFIXES[kind]) or (kind == "broker" and name in _AUTHORIZER_KEYS):
        return KafkaKey(name=name, type="PASSWORD")
    if kind == "consumer" and name == _INTERNAL_BEFORE:
        return KafkaKey(name=name, type="BOOLEAN", default=True)
    raise UnknownKey(_unknown(kind, name, known))


def is_known(kind: Kind, name: str) -> bool:
    """Whether Kafka knows a key."""
    try:
        find_key(kind, name)
    except UnknownKey:
        return False
    return True


def is_mistyped(kind: Kind, name: str) -> bool:
    """Whether an unknown key is likely to be a known one that was mistyped, and not one for somebody else's code.

    Files hold keys for serializers, metrics and frameworks too, and those of producers beside those of consumers. What
    librdkafka calls otherwise than Kafka would be missed.
    """
    if kind == "consumer" and name in OF_KAFKA:
        return True
    if name.startswith(_GONE[kind]) or any(name in known_keys(other) for other in _PLUGIN_PREFIXES):
        return False
    springs = _SPRING.fullmatch(name)
    return bool(nearest_name(springs[1] if springs else name, known_keys(kind), _MISTYPED))


def _unknown(kind: Kind, name: str, known: Mapping[str, KafkaKey]) -> str:
    """What to say of a key that Kafka does not know, and what to do about it."""
    what = "consumer key of Kafka 0.8.2" if kind == "old consumer" else f"{kind} key of Kafka 4.4"
    if name.startswith(_GONE[kind]):
        return f"is no {what}: 4.0 has removed it; leave it out"
    if name.startswith(_LISTENER_OF_SPRING):
        return f"is no {what}: framework of the group (spring-batch, spring-record) says how its listeners commit"
    if kind == "consumer" and (hint := kafkas_name_for(name)):
        return f"is no {what}: {hint}"
    springs = _SPRING.fullmatch(name)
    return f"is no {what}; {nearest(springs[1] if springs else name, known) or _LEAVE_OUT}".rstrip()


def _typed(kind: str, raw: object) -> Value:
    if kind == "PASSWORD":
        return HIDDEN
    if kind == "LIST":
        return _list(raw)
    if kind == "BOOLEAN":
        return _boolean(raw)
    if kind in _BOUNDS:
        return _integer(raw, *_BOUNDS[kind])
    if kind == "DOUBLE":
        return _double(raw)
    if isinstance(raw, str | int) and not isinstance(raw, bool):
        return str(raw)
    raise ValueError("must be text" + (": put it in quotes" if isinstance(raw, float) else ""))


def _list(raw: object) -> list[str]:
    if isinstance(raw, str):
        return [part.strip() for part in raw.split(",")] if raw else []
    if isinstance(raw, list) and all(isinstance(one, str) for one in raw):
        return list(raw)
    raise ValueError("must be a list of names, or one text with commas")


def _boolean(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.lower() in ("true", "false"):
        return raw.lower() == "true"
    raise ValueError("must be true or false")


def _integer(raw: object, low: int, high: int) -> int:
    if isinstance(raw, str) and re.fullmatch(r"[-+]?\d{1,20}", raw, re.ASCII):
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool):
        raise ValueError("must be a whole number")
    if not low <= raw <= high:
        raise ValueError(f"must be from {low} to {high}")
    return raw


def _double(raw: object) -> float:
    try:
        if isinstance(raw, str | int | float) and not isinstance(raw, bool):
            number = plain_number(raw) if isinstance(raw, str) else float(raw)
            if isfinite(number):
                return number
    except (ValueError, OverflowError):
        pass
    raise ValueError("must be a number, not infinite")
