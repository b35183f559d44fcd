"""YAML without its traps: safe loading that refuses what reads differently from how it looks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import yaml

from groupsim.scenarios.errors import Problem, ScenarioFileError, shown
from groupsim.scenarios.files.text_files import read_bytes

Place: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the top of a document to a value."""

NODES_MAX: Final = 1_000_000
_TEXT: Final = "tag:yaml.org,2002:str"
_TRAPS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = MappingProxyType(
    {
        _TEXT: (
            re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)[eE][-+]?\d+"),
            "YAML reads this as text: write it without an exponent",
        ),
        "tag:yaml.org,2002:bool": (
            re.compile(r"yes|no|on|off|y|n", re.IGNORECASE),
            "YAML reads this as a truth value: write true or false, or put text in quotes",
        ),
        "tag:yaml.org,2002:int": (
            re.compile(r"[-+]?\d[\d_]*(:\d+)+|[-+]?0\d[\d_]*"),
            "YAML reads this in base 60 (with colons) or base 8 (with a leading zero): write a plain number,"
            " a duration such as 90s, or quotes",
        ),
        "tag:yaml.org,2002:float": (
            re.compile(r"[-+]?\d[\d_]*(:\d+)+(\.[\d_]*)?|[-+]?\.(inf|nan)", re.IGNORECASE),
            "must be a plain, finite number (YAML reads colons in base 60)",
        ),
        "tag:yaml.org,2002:timestamp": (
            re.compile(r".*", re.DOTALL),
            "YAML reads this as a date: put it in quotes",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """Plain data, and the line on which each value begins (counted from 1)."""

    data: Any
    lines: Mapping[Place, int]


def read_yaml(path: Path) -> YamlDocument:
    """The document in a UTF-8 file.

    Raises
    ------
    ScenarioFileError
        The file cannot be read, is no UTF-8, no YAML, or falls into a trap (`parse_yaml`).
    """
    try:
        raw = read_bytes(path)
    except ValueError as reason:
        raise ScenarioFileError(str(path), [Problem("", str(reason))]) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise ScenarioFileError(str(path), [Problem("", message, line=line)]) from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, file: str) -> YamlDocument:
    """The document in a text.

    Refused are duplicate keys, keys that are not text, ``1e3`` (text), ``1:30`` (90), ``010`` (8), yes, no, on and
    off, dates, infinities, tags, endless aliases, and of course what is no YAML at all, such as tabs.

    Raises
    ------
    ScenarioFileError
        With the line of each problem; ``file`` names the text in it.
    """
    reader = _Reader()
    try:
        data = reader.read(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"is not YAML: {error.problem or error.context}"
        if "\\t" in message:
            message += " (indent with spaces, never with tabs)"
        raise ScenarioFileError(file, [Problem("", message, line=mark.line + 1 if mark else 0)]) from None
    except RecursionError:
        raise ScenarioFileError(file, [Problem("", "is nested too deeply")]) from None
    except (yaml.YAMLError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise ScenarioFileError(file, [Problem("", f"is not YAML: {first}")]) from None
    if reader.problems:
        raise ScenarioFileError(file, reader.problems)
    return YamlDocument(data, reader.lines)


class _Reader:
    """Walks the nodes once: notes lines, collects problems."""

    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self.problems: list[Problem] = []
        self._visited = 0

    def read(self, text: str) -> Any:
        """The data of a text; None if there is none, or if there are problems."""
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            return None
        self._visit(root, (), frozenset())
        return None if self.problems else loader.construct_document(root)

    def _visit(self, node: yaml.Node, place: Place, above: frozenset[int]) -> None:
        self._visited += 1
        if self._visited > NODES_MAX or id(node) in above:
            raise yaml.YAMLError("aliases unfold without end")
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            self._check_scalar(node, place)
        above = above | {id(node)}
        for step, child in self._children(node, place):
            self._visit(child, (*place, step), above)

    def _children(self, node: yaml.Node, place: Place) -> Iterator[tuple[str | int, yaml.Node]]:
        if isinstance(node, yaml.SequenceNode):
            yield from enumerate(node.value)
        elif isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            for key, child in node.value:
                if self._check_key(key, place, seen):
                    yield key.value, child

    def _check_key(self, key: yaml.Node, place: Place, seen: dict[str, int]) -> bool:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag not in (_TEXT, "tag:yaml.org,2002:merge"):
            self._add(place, "a key must be text: put it in quotes", key, line)
            return False
        if key.value in seen:
            self._add((*place, key.value), f"is given twice, first in line {seen[key.value]}", None, line)
            return False
        seen[key.value] = line
        return True

    def _check_scalar(self, node: yaml.ScalarNode, place: Place) -> None:
        if node.style is not None or node.tag not in _TRAPS:
            return
        pattern, message = _TRAPS[node.tag]
        if pattern.fullmatch(node.value):
            self._add(place, message, node, node.start_mark.line + 1)

    def _add(self, place: Place, message: str, node: yaml.Node | None, line: int) -> None:
        value = shown(node.value) if isinstance(node, yaml.ScalarNode) else ""
        self.problems.append(Problem(path_text(place), message, value, line))


def path_text(place: Place, names: Mapping[Place, str] = MappingProxyType({})) -> str:
    """A place as users write it: ``groups.billing.config[session.timeout.ms]``, ``timeline[deploy].at``.

    Parameters
    ----------
    place : tuple of str or int
    names : mapping
        Names of list elements (ids of timeline entries) to be shown instead of their positions.
    """
    text = ""
    for depth, step in enumerate(place, start=1):
        step = names.get(place[:depth], step)
        plain = isinstance(step, str) and re.fullmatch(r"[\w-]+", step) and place[:depth] not in names
        text += f".{step}" if plain and text else str(step) if plain else f"[{step}]"
    return text
