"""What members read: by name, by pattern (the client's or the broker's) or by hand; `sim.model.Subscription` inside."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationInfo,
    WithJsonSchema,
)

from groupsim.assignors.java.re2_pattern import Re2Error, check_pattern
from groupsim.assignors.java.regex import PatternError, java_pattern
from groupsim.scenarios.files.base_model import FileModel, checked, one_form, refusal, refuse_repeated
from groupsim.scenarios.schema.targets import NAME_PATTERN, format_indices, read_indices
from groupsim.sim.model import Subscription

Name: TypeAlias = Annotated[str, Field(pattern=rf"^{NAME_PATTERN}$")]
"""The name of a topic, group or rack."""


def _no_dots(name: str) -> str:
    if name in (".", ".."):
        raise refusal("must not be '.' or '..' (Kafka: InvalidTopicException, Topic.validate)")
    return name


TopicName: TypeAlias = Annotated[Name, AfterValidator(_no_dots)]
"""The name of a topic. Source: ``org.apache.kafka.common.internals.Topic.validate``, Kafka 4.4."""


def _pattern(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a regular expression in quotes")
    try:
        java_pattern(value)
    except PatternError as reason:
        raise ValueError(f"is no pattern of java.util.regex: {reason}") from None
    return value


def _re2(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a regular expression in quotes")
    try:
        check_pattern(value)
    except Re2Error as reason:
        raise ValueError(f"{reason} (INVALID_REGULAR_EXPRESSION)") from None
    return value


def _partitions(value: Any, info: ValidationInfo) -> tuple[int, ...]:
    return read_indices(",".join(map(str, value)) if isinstance(value, list) else value, info)


class _ByPattern(FileModel):
    pattern: Annotated[str, BeforeValidator(checked(_pattern))]

    def read(self) -> Subscription:
        return Subscription(pattern=self.pattern)


class _ByRe2(FileModel):
    re2: Annotated[str, BeforeValidator(checked(_re2)), Field(min_length=1)]

    def read(self) -> Subscription:
        return Subscription(re2=self.re2)


class _ByHand(FileModel):
    assign: dict[TopicName, Annotated[tuple[int, ...], BeforeValidator(_partitions)]] = Field(min_length=1)

    def read(self) -> Subscription:
        return Subscription(assign=self.assign)


_FORMS: Final[Mapping[str, type[FileModel]]] = MappingProxyType(
    {"pattern": _ByPattern, "re2": _ByRe2, "assign": _ByHand}
)
_NAMES: Final = TypeAdapter(Annotated[list[TopicName], Field(min_length=1)])


def read_subscription(value: Any, info: ValidationInfo) -> Subscription:
    """The subscription a value of the file describes: a list of topics, a pattern of either kind, or partitions."""
    if isinstance(value, list):
        names = _NAMES.validate_python(value)
        refuse_repeated(names, "must not name a topic twice")
        return Subscription(topics=tuple(names))
    if isinstance(value, Mapping):
        form: Any = one_form(value, _FORMS, "what is read", info)
        subscription: Subscription = form.read()
        return subscription
    raise refusal('must be a list of topics, {pattern: "ord.*"}, {re2: "ord.*"} or {assign: {orders: "0-3"}}')


def write_subscription(subscription: Subscription) -> Any:
    """Plain data that reads back to the same subscription."""
    if subscription.pattern is not None:
        return {"pattern": subscription.pattern}
    if subscription.re2 is not None:
        return {"re2": subscription.re2}
    if subscription.assign is not None:
        return {"assign": {topic: format_indices(indices) for topic, indices in subscription.assign.items()}}
    return list(subscription.topics)


SubscriptionField = Annotated[
    Subscription,
    BeforeValidator(read_subscription),
    PlainSerializer(write_subscription),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
                {"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]},
                {"type": "object", "properties": {"re2": {"type": "string"}}, "required": ["re2"]},
                {"type": "object", "properties": {"assign": {"type": "object"}}, "required": ["assign"]},
            ]
        }
    ),
]
"""What is read, in the file; `sim.model.Subscription` inside."""
