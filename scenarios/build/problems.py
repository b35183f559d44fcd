"""From findings and pydantic's errors to `scenarios.errors.Problem`: with path, line and a sentence for the writer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from groupsim.scenarios.build.paths import entry_ids
from groupsim.scenarios.errors import Problem, shown
from groupsim.scenarios.files.yaml_text import Place, YamlDocument, path_text

Finding: TypeAlias = tuple[Place, str, object]
"""Where, what is wrong, and the value (None for none to show)."""
Home: TypeAlias = Callable[[Place, bool], str]

_MISSING: Final = "is required"
_ENTRY: Final = re.compile(r"^timeline\[(\d{1,9})\]")
_EXAMPLES: Final[Mapping[str | int, str]] = MappingProxyType(
    {
        "version": "version: 1",
        "question": "question: How long does nobody read?",
        "horizon": "horizon: 5min",
        "topics": "topics: {orders: {partitions: 12}}",
        "groups": "groups: {billing: {topics: [orders], members: {count: 3}}}",
    }
)
"""Of the keys that a scenario must have."""
_SENTENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missing": _MISSING,
        "model_type": "must be a mapping",
        "dict_type": "must be a mapping",
        "list_type": "must be a list",
        "string_type": "must be text",
        "bool_type": "must be true or false",
        "int_type": "must be a whole number",
        "float_type": "must be a number",
        "string_pattern_mismatch": "must be 1 to 249 letters, digits, dots, underscores and hyphens",
    }
)
"""What pydantic says of these would not help the writer of a file."""


def findings_of(error: ValidationError, home: Home = lambda place, is_near: "") -> Iterator[Finding]:
    """What pydantic has found, in the words of the file.

    Parameters
    ----------
    error : ValidationError
    home : callable
        What to do about a key that is unknown at a place, where one that is nearly the same is known or not; empty if
        that is unknown too.
    """
    for one in error.errors(include_url=False):
        place: Place = one["loc"]
        sentence = _sentence(one)
        if one["type"] == "unknown_key" and ": " not in sentence.partition(";")[0]:
            sentence = _with_home(sentence, place, home)
        yield place[:-1] if place[-1:] == ("[key]",) else place, sentence, _value(one)


def _with_home(sentence: str, place: Place, home: Home) -> str:
    """Where an unknown key belongs, in words; of Kafka's keys, which have dots, rather than what is near to it.

    Not that it belongs where it is: that is so of keys that consumers of 0.8.2 do not have yet.
    """
    is_near = "did you mean" in sentence
    hint = home(place, is_near)
    if hint.endswith(" " + ".".join((str(place[0]), "NAME", *map(str, place[2:-1])))):
        return sentence
    said, mark, rest = sentence.partition("; ")
    allowed = mark + rest if rest.startswith("allowed") else ""
    return f"{said}: {hint}{allowed}" if hint else sentence


def problems_of(findings: Iterable[Finding], document: YamlDocument, scenario: str = "") -> list[Problem]:
    """The findings as problems, with paths as users write them and the lines on which they are.

    Parameters
    ----------
    findings : iterable of (place, message, value)
    document : YamlDocument
    scenario : str
        What errors call the document, if it is a scenario; empty for other files.
    """
    names, changed = _entry_names(document.data), _changed(document.lines)
    return [
        Problem(
            path_text(place, names),
            _lacking(document, place[0], scenario) if (message, len(place)) == (_MISSING, 1) else message,
            "" if value is None else shown(value),
            0 if place in changed else _line(document.lines, place),
        )
        for place, message, value in findings
    ]


def with_ids(problems: Iterable[Problem], data: Mapping[str, Any]) -> list[Problem]:
    """Problems that were found before entries of the timeline had names, with these in their paths."""
    names = _entry_names(data)
    return [replace(one, path=_ENTRY.sub(lambda found: _entry(names, found), one.path)) for one in problems]


def _entry(names: Mapping[Place, str], found: re.Match[str]) -> str:
    return f"timeline[{names.get(('timeline', int(found[1])), found[1])}]"


def _lacking(document: YamlDocument, key: str | int, scenario: str) -> str:
    """What to do about a key that the file as a whole lacks: it has no line of its own."""
    if (key,) in document.lines:
        return f"{_MISSING}, and --set takes it away"
    if not scenario:
        return f"{_MISSING} at the top of the file"
    return f"{_MISSING} at the top of {scenario}: write {_EXAMPLES[key]}, say"


def _entry_names(data: Mapping[str, Any]) -> dict[Place, str]:
    """Ids of timeline entries by place."""
    entries = data.get("timeline")
    ids = entry_ids(entries) if isinstance(entries, list) else []
    return {("timeline", position): name for position, name in enumerate(ids)}


def _changed(lines: Mapping[Place, int]) -> set[Place]:
    """What the command line has set, and all that it is in: what is wrong with these is in no line."""
    return {place[:depth] for place, line in lines.items() if not line for depth in range(1, len(place) + 1)}


def _line(lines: Mapping[Place, int], place: Place) -> int:
    """The line of a place, or of what is nearest around it."""
    for depth in range(len(place), 0, -1):
        if place[:depth] in lines:
            return lines[place[:depth]]
    return 0


def _sentence(error: Any) -> str:
    text = re.sub(r"^(Input|String|List|Dictionary|Value) should ", "must ", str(error["msg"]))
    text = re.sub(r" after validation, not \d+$", "", text)
    return _SENTENCES.get(error["type"], text)


def _value(error: Any) -> object:
    """The offending value where it helps: never a whole mapping."""
    return None if isinstance(error["input"], Mapping) else error["input"]
