"""YAML without its traps: safe loading that refuses what reads differently from how it looks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import yaml

from groupsim.scenarios.errors import Problem, ScenarioFileError, shown
from groupsim.scenarios.files.text_files import read_bytes
from groupsim.scenarios.files.yaml_errors import in_words

Place: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the top of a document to a value."""

NODES_MAX: Final = 100_000
"""Values in a document, each alias counted with all that it stands for; longer tables are CSV files."""
DEPTH_MAX: Final = 50
BYTES_MAX: Final = 2 << 20
_DIGITS_MAX: Final = 40
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_TEXT: Final = "tag:yaml.org,2002:str"
_KEYS: Final = (_TEXT, "tag:yaml.org,2002:merge")
_SIGNED_ZERO: Final = re.compile(r"-[0_.]*0[0_.]*([eE][-+]?\d+)?")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Python's strings can hold it, and no file or terminal can."""
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
            re.compile(r"[-+]?\d[\d_]*(:\d+)+(\.[\d_]*)?"),
            "YAML reads this in base 60, for its colons: write a plain number, a duration such as 90s, or quotes",
        ),
        "tag:yaml.org,2002:timestamp": (
            re.compile(r".*", re.DOTALL),
            "YAML reads this as a date: put it in quotes",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """Plain data, and the line on which each value begins (counted from 1).

    Parameters
    ----------
    data : plain data
        Keys that are no text are text here; a key that is given twice has the first value, completed by the second.
    lines : mapping of place to int
    traps : sequence of Problem
        What the document has fallen into.
    unread : sequence of places
        Where the data has a text instead of a value that is not what it looks like.
    """

    data: Any
    lines: Mapping[Place, int]
    traps: tuple[Problem, ...] = ()
    unread: tuple[Place, ...] = ()


def read_yaml(path: Path) -> YamlDocument:
    """The document in a UTF-8 file.

    Raises
    ------
    ScenarioFileError
        As `read_trapped`, and where the document has fallen into a trap.
    """
    return _free_of_traps(read_trapped(path), str(path))


def read_trapped(path: Path) -> YamlDocument:
    """The document in a UTF-8 file, with the traps that it has fallen into, to be told with everything else.

    Raises
    ------
    ScenarioFileError
        The file cannot be read, is longer than 2 MiB, is no UTF-8 or no YAML.
    """
    try:
        raw = read_bytes(path, BYTES_MAX)
    except ValueError as reason:
        raise ScenarioFileError(str(path), [Problem("", str(reason))]) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise ScenarioFileError(str(path), [Problem("", message, line=line)]) from None
    return _document(text, str(path))


def parse_yaml(text: str, file: str) -> YamlDocument:
    """The document in a text.

    Raises
    ------
    ScenarioFileError
        With the line of each problem; ``file`` names the text in it.
    """
    return _free_of_traps(_document(text, file), file)


def _free_of_traps(document: YamlDocument, file: str) -> YamlDocument:
    if document.traps:
        raise ScenarioFileError(file, document.traps)
    return document


def _document(text: str, file: str) -> YamlDocument:
    """The document in a text, with its traps.

    Traps are duplicate keys, keys that are not text, ``1e3`` (text), ``1:30`` (90), ``010`` (8), yes, no, on and off,
    dates, infinities, numbers of more than 40 digits and half of a surrogate pair. Refused at once are tags, and of
    course what is no YAML at all, such as tabs. So are documents of more than ``NODES_MAX`` values or nested deeper
    than ``DEPTH_MAX``: aliases count with all that they stand for, and before anything is made of them.

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
        raise ScenarioFileError(file, [Problem("", in_words(error), line=mark.line + 1 if mark else 0)]) from None
    except _Refused as reason:
        raise ScenarioFileError(file, [Problem("", str(reason), line=reason.line)]) from None
    except (yaml.YAMLError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise ScenarioFileError(file, [Problem("", f"is not YAML: {first}")]) from None
    return YamlDocument(data, reader.lines, tuple(reader.traps), tuple(reader.unread))


class _Refused(Exception):
    """A document beyond the limits, or with tags, and the line where that shows."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Loader(yaml.SafeLoader):
    """Counts nodes as they are composed, each after those below it: an alias costs a look-up, however much it means."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._sizes: dict[int, tuple[int, int]] = {}
        """Of each node that is whole, by its identity: values with all below it, aliases unfolded, and levels."""
        self._level = self._written = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node, within the limits."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        line, alias = event.start_mark.line + 1, event.anchor if isinstance(event, yaml.AliasEvent) else None
        if alias in self.anchors and id(self.anchors[alias]) not in self._sizes:
            raise _Refused("aliases unfold without end", line)
        if getattr(event, "tag", None) is not None:
            raise _Refused("a tag (!!int, !name) tells how to read a value: write the value alone", line)
        self._level += 1
        self._written += 1
        self._check(self._written, self._level, line)
        node = super().compose_node(parent, index)
        self._level -= 1
        if node is not None and id(node) not in self._sizes:
            self._sizes[id(node)] = self._size(node, line)
        return node

    def _size(self, node: yaml.Node, line: int) -> tuple[int, int]:
        below = [self._sizes[id(child)] for child in _below(node)]
        count, depth = 1 + sum(size[0] for size in below), 1 + max((size[1] for size in below), default=0)
        self._check(count, depth, line)
        return count, depth

    def _check(self, count: int, depth: int, line: int) -> None:
        if depth > DEPTH_MAX:
            raise _Refused(f"is nested too deeply: at most {DEPTH_MAX} levels, aliases unfolded", line)
        if count > NODES_MAX:
            raise _Refused(f"holds more than {NODES_MAX:,} values, aliases unfolded", line)


def _below(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair


class _Reader:
    """Walks the nodes once: notes lines, collects traps."""

    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self.traps: list[Problem] = []
        self.unread: list[Place] = []

    def read(self, text: str) -> Any:
        """The data of a text; None if there is none."""
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return None
        self._visit(root, ())
        return loader.construct_document(root)

    def _visit(self, node: yaml.Node, place: Place) -> None:
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            self._check_scalar(node, place)
        for step, child in self._children(node, place):
            self._visit(child, (*place, step))

    def _children(self, node: yaml.Node, place: Place) -> Iterator[tuple[str | int, yaml.Node]]:
        if isinstance(node, yaml.SequenceNode):
            yield from enumerate(node.value)
        elif isinstance(node, yaml.MappingNode):
            first: dict[str, tuple[yaml.Node, yaml.Node]] = {}
            node.value = [pair for pair in node.value if self._check_key(pair, place, first)]
            yield from ((key.value, child) for key, child in node.value)

    def _check_key(
        self, pair: tuple[yaml.Node, yaml.Node], place: Place, first: dict[str, tuple[yaml.Node, yaml.Node]]
    ) -> bool:
        """Whether the pair is one of the mapping: of a key that is given twice, the first."""
        key, child = pair
        if not isinstance(key, yaml.ScalarNode) or key.tag not in _KEYS or _SURROGATE.search(key.value):
            self._add(place, "a key must be text: put it in quotes", key)
            if not isinstance(key, yaml.ScalarNode) or _SURROGATE.search(key.value):
                return False
            key.tag = _TEXT
        if key.value in first:
            there, value = first[key.value]
            self._add(
                (*place, key.value), f"is given twice, first in line {there.start_mark.line + 1}", key, shows=False
            )
            _complete(value, child)
            return False
        first[key.value] = pair
        return True

    def _check_scalar(self, node: yaml.ScalarNode, place: Place) -> None:
        if message := _wrong(node):
            self._add(place, message, node)
            self.unread.append(place)
            node.tag = _TEXT  # nothing is made of it: a date that is none, a number of 5,000 digits

    def _add(self, place: Place, message: str, node: yaml.Node, *, shows: bool = True) -> None:
        value = shown(node.value) if shows and isinstance(node, yaml.ScalarNode) else ""
        self.traps.append(Problem(path_text(place), message, value, node.start_mark.line + 1))


def _complete(mapping: yaml.Node, by: yaml.Node) -> None:
    """Add what the second of two values of one key has besides: mostly somebody meant to go on with the first."""
    if isinstance(mapping, yaml.MappingNode) and isinstance(by, yaml.MappingNode):
        there = {key.value for key, _ in mapping.value if isinstance(key, yaml.ScalarNode)}
        mapping.value += [
            pair for pair in by.value if isinstance(pair[0], yaml.ScalarNode) and pair[0].value not in there
        ]


def _wrong(node: yaml.ScalarNode) -> str:
    """Why a value is not what it looks like; empty if it is."""
    if _SURROGATE.search(node.value):
        return "holds half of a surrogate pair, which is no character"
    if node.tag in _NUMBERS and len(node.value) > _DIGITS_MAX:
        return f"is a number of more than {_DIGITS_MAX} characters"
    pattern, message = _TRAPS.get(node.tag, (None, "")) if node.style is None else (None, "")
    if pattern is not None and pattern.fullmatch(node.value):
        return message
    if node.style is None and node.tag in _NUMBERS and _SIGNED_ZERO.fullmatch(node.value):
        return "is zero: write 0, without a sign"
    return "must be a finite number" if node.style is None and _is_infinite(node) else ""


def _is_infinite(node: yaml.ScalarNode) -> bool:
    """Whether a number is none, infinite, or in decimal digits beyond what a float can hold: ``1.0e+400``."""
    plain = node.tag == "tag:yaml.org,2002:float" and ":" not in node.value
    return plain and not isfinite(
        float(node.value.lower().replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
    )


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
