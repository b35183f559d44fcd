"""Kafka configuration in a scenario file: a mapping of Kafka's keys, or the name of a properties file, or both."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, GetJsonSchemaHandler, ValidationError, ValidationInfo
from pydantic_core import CoreSchema, InitErrorDetails

from groupsim.scenarios.files.base_model import error, folder_of, refusal
from groupsim.scenarios.files.properties_text import lines_of, read_properties, repeated_keys
from groupsim.scenarios.kafka.assignor_names import assignor_name, server_assignor_name
from groupsim.scenarios.kafka.keys import HIDDEN, Kind, UnknownKey, Value, find_key, is_mistyped, known_keys

_ERRORS_MAX: Final = 100
"""Of one mapping: to find the nearest of Kafka's keys takes time."""
FILE: Final = "file"
"""The one key of a ``config`` mapping that is no key of Kafka's."""


class OldConsumerKeys(dict[str, Any]):
    """A ``config`` mapping whose keys are those of the consumer before 0.9."""


def read_config(kind: Kind) -> Callable[[Any, ValidationInfo], dict[str, Value]]:
    """A validator for a ``config`` mapping: keys known to Kafka, values of Kafka's types.

    With ``{file: consumer.properties}`` the file's pairs come first; keys beside ``file`` win over them, and one
    without a value takes a pair away. Keys of a file that Kafka does not know are kept without their values: Kafka logs
    them and goes on (``AbstractConfig.logUnused``).
    """

    def validate(value: Any, info: ValidationInfo) -> dict[str, Value]:
        if not isinstance(value, Mapping):
            raise refusal(f"must be a mapping of Kafka's {kind} keys, or {{file: NAME.properties}}")
        of = "old consumer" if isinstance(value, OldConsumerKeys) else kind
        source = _file_of(value, info)
        given = {**source.pairs, **{key: one for key, one in value.items() if key != FILE}}
        parsed: dict[str, Value] = {}
        errors: list[InitErrorDetails] = []
        for key, raw in given.items():
            try:
                if raw is None and FILE in value:
                    source.check_removed(of, key)
                else:
                    parsed[key] = source.parse(of, key, raw) if key not in value else _parse(of, key, raw)
                    parsed[key] = _checked(of, key, parsed[key], info)
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


@dataclass(frozen=True, slots=True)
class _PropertiesFile:
    """What stands in a properties file; without one, nothing."""

    path: Path = Path()
    pairs: Mapping[str, str] = field(default_factory=dict)

    def parse(self, kind: Kind, key: str, raw: str) -> Value:
        """The value of a pair; of a key that Kafka would ignore, since nobody has mistyped it, a secret.

        Raises
        ------
        ValueError
            With the line.
        """
        try:
            return find_key(kind, key).parse(raw)
        except UnknownKey as reason:
            if not is_mistyped(kind, key):
                return HIDDEN
            mark = "" if str(reason).endswith("?") else ";"
            raise UnknownKey(self._with_line(key, f"{reason}{mark} write that, or leave it out")) from None
        except ValueError as reason:
            raise ValueError(self._with_line(key, str(reason))) from None

    def check_removed(self, kind: Kind, key: str) -> None:
        """See that a key without a value, which takes it out of the file's, is one of these or known to Kafka."""
        if key not in self.pairs:
            find_key(kind, key)

    def _with_line(self, key: str, reason: str) -> str:
        said, mark, rest = reason.partition("; ")
        return f"{said} (line {lines_of(self.path)[key]} of {self.path.name}){mark}{rest}"


def _file_of(value: Mapping[str, Any], info: ValidationInfo) -> _PropertiesFile:
    if FILE not in value:
        return _PropertiesFile()
    try:
        if not isinstance(value[FILE], str):
            raise ValueError("must be the name of a properties file")
        if value[FILE].endswith((".yaml", ".yml")):
            raise ValueError("is YAML, no properties file: write Kafka's keys that are in it here")
        path = folder_of(info) / value[FILE]
        found = _PropertiesFile(path, read_properties(path))
    except ValueError as reason:
        raise ValidationError.from_exception_data("config", [error(FILE, str(reason), value[FILE])]) from None
    for key, lines in repeated_keys(path).items():
        told = f"{value[FILE]}: {key} is on lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
        (info.context or {}).get("remarks", []).append(f"{told}: Java takes the last")
    return found


def _parse(kind: Kind, key: str, raw: object) -> Value:
    if raw is None:
        raise ValueError("has no value")
    try:
        return find_key(kind, key).parse(raw)
    except UnknownKey:
        if raw == HIDDEN:
            return HIDDEN  # a resolved document says so of what a properties file held
        raise


def _checked(kind: Kind, key: str, value: Value, info: ValidationInfo) -> Value:
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


_FORMER_RESETS: Final = {"smallest": "earliest", "beginning": "earliest", "largest": "latest", "end": "latest"}
"""What consumers before 0.9 and librdkafka call them."""


def _offset_reset(value: Value, allow_code: Sequence[str]) -> Value:
    duration = r"by_duration:P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?"
    if value in ("latest", "earliest", "none") or re.fullmatch(duration, str(value), re.ASCII):
        return value
    hint = f"write {_FORMER_RESETS[str(value)]}: " if value in _FORMER_RESETS else ""
    raise ValueError(f"{hint}must be latest, earliest, none or by_duration:PnDTnHnMn.nS")


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
