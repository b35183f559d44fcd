"""Kafka configuration in a scenario file: a mapping of Kafka's keys, or the name of a properties file, or both."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, GetJsonSchemaHandler, ValidationError, ValidationInfo
from pydantic_core import CoreSchema, InitErrorDetails

from groupsim.scenarios.files.base_model import error, folder_of, refusal
from groupsim.scenarios.files.properties_text import read_properties
from groupsim.scenarios.kafka.assignor_names import assignor_name, server_assignor_name
from groupsim.scenarios.kafka.keys import Kind, UnknownKey, Value, find_key, known_keys

_ERRORS_MAX: Final = 100
"""Of one mapping: to find the nearest of Kafka's keys takes time."""
FILE: Final = "file"
"""The one key of a ``config`` mapping that is no key of Kafka's."""


class OldConsumerKeys(dict[str, Any]):
    """A ``config`` mapping whose keys are those of the consumer before 0.9."""


def read_config(kind: Kind) -> Callable[[Any, ValidationInfo], dict[str, Value]]:
    """A validator for a ``config`` mapping: keys known to Kafka, values of Kafka's types.

    With ``{file: consumer.properties}`` the file's pairs come first; keys beside ``file`` win over them.
    """

    def validate(value: Any, info: ValidationInfo) -> dict[str, Value]:
        if not isinstance(value, Mapping):
            raise refusal(f"must be a mapping of Kafka's {kind} keys, or {{file: NAME.properties}}")
        of = "old consumer" if isinstance(value, OldConsumerKeys) else kind
        given = {**_from_file(value, info), **{key: one for key, one in value.items() if key != FILE}}
        parsed: dict[str, Value] = {}
        errors: list[InitErrorDetails] = []
        for key, raw in given.items():
            try:
                parsed[key] = _parse(of, key, raw, info)
            except UnknownKey as reason:
                errors.append(error(key, refusal(str(reason), "unknown_key"), raw))
            except ValueError as reason:
                errors.append(error(key, str(reason), raw))
            if len(errors) == _ERRORS_MAX:
                break
        if errors:
            raise ValidationError.from_exception_data("config", errors)
        return parsed

    return validate


def _from_file(value: Mapping[str, Any], info: ValidationInfo) -> dict[str, str]:
    if FILE not in value:
        return {}
    try:
        if not isinstance(value[FILE], str):
            raise ValueError("must be the name of a properties file")
        if value[FILE].endswith((".yaml", ".yml")):
            raise ValueError("is YAML, no properties file: write Kafka's keys that are in it here")
        return read_properties(folder_of(info) / value[FILE])
    except ValueError as reason:
        raise ValidationError.from_exception_data("config", [error(FILE, str(reason), value[FILE])]) from None


def _parse(kind: Kind, key: str, raw: object, info: ValidationInfo) -> Value:
    if raw is None:
        raise ValueError("has no value")
    value = find_key(kind, key).parse(raw)
    check = _CHECKS.get((kind, key))
    return check(value, (info.context or {}).get("allow_code", ())) if check else value


# --- keys with rules of their own -----------------------------------------------------------------------------------


def _strategy(value: Value, allow_code: Sequence[str]) -> Value:
    """Assignors by the names on which members agree, whatever spelling was used."""
    if not isinstance(value, list) or not value:
        raise ValueError("must name at least one assignor")
    names = [assignor_name(one, allow_code) for one in value]
    if len(set(names)) < len(names):
        raise ValueError("must not name an assignor twice")
    return names


def _server_assignors(value: Value, allow_code: Sequence[str]) -> Value:
    """Assignors of the group coordinator by name, whatever spelling was used."""
    if not isinstance(value, list) or not value:
        raise ValueError("must name at least one assignor")
    names = [server_assignor_name(one, allow_code) for one in value]
    if len(set(names)) < len(names):
        raise ValueError("must not name an assignor twice")
    return names


def _lower(value: Value, allow_code: Sequence[str]) -> Value:
    """A word that Kafka takes in any case."""
    return str(value).lower()


def _instance_id(value: Value, allow_code: Sequence[str]) -> Value:
    raise ValueError(
        "would be the same for every member, and each newcomer would fence the one before (FENCED_INSTANCE_ID):"
        " remove it and set members.static: true, which gives each member its own name as group.instance.id (to see a"
        " duplicate, say so in overrides: {members: 3, instance: twin})"
    )


def _offset_reset(value: Value, allow_code: Sequence[str]) -> Value:
    duration = r"by_duration:P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?"
    if value in ("latest", "earliest", "none") or re.fullmatch(duration, str(value), re.ASCII):
        return value
    raise ValueError("must be latest, earliest, none or by_duration:PnDTnHnMn.nS")


_CHECKS: Final[Mapping[tuple[Kind, str], Callable[[Value, Sequence[str]], Value]]] = {
    ("consumer", "partition.assignment.strategy"): _strategy,
    ("consumer", "group.protocol"): _lower,
    ("consumer", "group.instance.id"): _instance_id,
    ("consumer", "auto.offset.reset"): _offset_reset,
    ("old consumer", "offsets.storage"): _lower,
    ("broker", "group.consumer.assignors"): _server_assignors,
    ("broker", "group.consumer.migration.policy"): _lower,
}


# --- fields -----------------------------------------------------------------------------------------------------------


class _KeysForEditors:
    """JSON Schema of a ``config`` mapping: every known key, so that editors complete them."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        properties: dict[str, Any] = {FILE: {"type": "string", "description": "a Java properties file"}}
        for name, key in known_keys(self._kind).items():
            properties[name] = {"description": f"{key.type}, default {key.default!r} {key.valid}".rstrip()}
        return {"type": "object", "properties": properties}


ConsumerConfigField = Annotated[dict[str, Any], BeforeValidator(read_config("consumer")), _KeysForEditors("consumer")]
BrokerConfigField = Annotated[dict[str, Any], BeforeValidator(read_config("broker")), _KeysForEditors("broker")]
TopicConfigField = Annotated[dict[str, Any], BeforeValidator(read_config("topic")), _KeysForEditors("topic")]
ProducerConfigField = Annotated[dict[str, Any], BeforeValidator(read_config("producer")), _KeysForEditors("producer")]
GroupConfigField = Annotated[dict[str, Any], BeforeValidator(read_config("group")), _KeysForEditors("group")]
