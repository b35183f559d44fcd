"""Who is meant: targets (``billing/random:3``, ``broker:1``) and index ranges (``0-3,7``), to `sim.model` and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema

from groupsim.scenarios.files.base_model import checked, spend
from groupsim.sim.model import Target

NAME_PATTERN: Final = r"[A-Za-z0-9._-]{1,249}"
"""Names of topics, groups and racks: Kafka's rule for topics (``Topic.validate``)."""
INDEX_MAX: Final = 1_000_000
_DIGITS: Final = 9
_MEMBERS: Final = "group/3, group/0-9, group/leader, group/random, group/random:3 or group/share:0.1"
_BROKERS: Final = (
    "broker:1, broker:0-2, broker:all, broker:random, broker:controller, broker:coordinator/GROUP or "
    "broker:leader/TOPIC/PARTITION"
)
_SERVERS: Final = "zookeeper:0, zookeeper:0-2 or zookeeper:leader"
FORMS: Final = f"group, {_MEMBERS}; {_BROKERS}; rack:a; {_SERVERS}"
_SOME_BROKERS: Final = ("all", "random", "controller")
_PLACED_BROKER: Final = re.compile(rf"coordinator/{NAME_PATTERN}|leader/{NAME_PATTERN}/\d{{1,7}}", re.ASCII)
_GROUP: Final = re.compile(rf"({NAME_PATTERN})(?:/(.+))?")


def parse_indices(text: object) -> tuple[int, ...]:
    """The ascending indices of a text such as ``0-3,7``.

    Raises
    ------
    ValueError
        The text is not made of numbers and ranges, or a range runs backwards.
    """
    text = str(text) if isinstance(text, int) and not isinstance(text, bool) else text
    if not isinstance(text, str) or not re.fullmatch(r"\d+(-\d+)?(, ?\d+(-\d+)?)*", text, re.ASCII):
        raise ValueError("must be numbers from 0 on and ranges, such as 0-3,7")
    runs = [_run(part.strip()) for part in text.split(",")]
    if sum(map(len, runs)) > INDEX_MAX:
        raise ValueError(f"must not name more than {INDEX_MAX}")
    return tuple(sorted({index for run in runs for index in run}))


def _run(part: str) -> range:
    first, _, last = part.partition("-")
    if max(len(first), len(last)) <= _DIGITS and int(first) <= int(last or first) <= INDEX_MAX:
        return range(int(first), int(last or first) + 1)
    raise ValueError(f"{part[:40]} must run upwards and end at {INDEX_MAX} at most")


def format_indices(indices: Iterable[int]) -> str:
    """The shortest text for a set of indices: ``0-3,7``."""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in runs)


def parse_target(text: object) -> Target:
    """The target a text names; whether it exists is checked with the whole scenario.

    Raises
    ------
    ValueError
        The text has none of the known forms.
    """
    if not isinstance(text, str):
        raise ValueError(f"must be a target: {FORMS}")
    kind, colon, name = text.partition(":")
    if kind == "broker":
        return _broker_target(name)
    if kind == "rack" and re.fullmatch(NAME_PATTERN, name):
        return Target("rack", name)
    if kind == "zookeeper" and colon:
        return _server_target(name)
    match = _GROUP.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a target: {FORMS}")
    return _group_target(match[1], match[2])


def _broker_target(name: str) -> Target:
    if re.fullmatch(r"\d{1,9}", name, re.ASCII):
        return Target("broker", str(int(name)))
    if name in _SOME_BROKERS or _PLACED_BROKER.fullmatch(name):
        return Target("broker", name)
    try:
        indices = parse_indices(name)
    except ValueError as error:
        raise ValueError(f"{name!r} picks no brokers ({error}): write {_BROKERS}") from None
    return Target("broker", format_indices(indices), indices=indices)


def _server_target(name: str) -> Target:
    if name == "leader":
        return Target("zookeeper", name, "leader")
    try:
        indices = parse_indices(name)
    except ValueError as error:
        raise ValueError(f"{name!r} names no ZooKeeper servers ({error}): write {_SERVERS}") from None
    return Target("zookeeper", format_indices(indices), "index", indices=indices)


def _group_target(group: str, pick: str | None) -> Target:
    if pick is None:
        return Target("group", group)
    word, _, argument = pick.partition(":")
    if pick == "leader":
        return Target("group", group, "leader")
    if pick == "random" or (word == "random" and re.fullmatch(r"[1-9]\d{0,8}", argument, re.ASCII)):
        return Target("group", group, "random", count=int(argument or 1))
    if word == "share" and re.fullmatch(r"\d{0,9}\.?\d{1,30}", argument, re.ASCII) and 0 < float(argument) <= 1:
        return Target("group", group, "share", share=float(argument))
    try:
        return Target("group", group, "index", indices=parse_indices(pick))
    except ValueError as error:
        raise ValueError(f"{pick!r} picks no members ({error}): write {_MEMBERS}") from None


def format_target(target: Target) -> str:
    """The text that reads back to the same target (`Target.__str__` spells out every index)."""
    is_some = target.kind == "group" and target.pick == "index"
    return f"{target.name}/{format_indices(target.indices)}" if is_some else str(target)


def _target(value: Any, info: ValidationInfo) -> Target:
    spend(info, 0)  # once there are too many, no more are made
    target = checked(parse_target)(value)
    spend(info, len(target.indices))
    return target


def read_indices(value: Any, info: ValidationInfo) -> tuple[int, ...]:
    """The indices of a text of the file, counted with all others that it stands for."""
    spend(info, 0)
    indices = checked(parse_indices)(value)
    spend(info, len(indices))
    return indices


TargetField = Annotated[
    Target,
    BeforeValidator(_target),
    PlainSerializer(format_target, return_type=str),
    WithJsonSchema({"type": "string", "description": FORMS}),
]
"""A target in the file; `sim.model.Target` inside."""

IndicesField = Annotated[
    tuple[int, ...],
    BeforeValidator(read_indices),
    PlainSerializer(format_indices, return_type=str),
    WithJsonSchema({"type": ["string", "integer"], "description": "numbers and ranges, such as 0-3,7"}),
]
"""Indices in the file; an ascending tuple inside."""
