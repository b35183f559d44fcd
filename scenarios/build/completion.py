"""What else is wrong with a file of which some values are refused: it is completed without them, and looked at again.

A file is completed in ways that differ wherever something was refused: with the least, with much, for one protocol, for
the other. What is found in all holds whatever the refused values were meant to be; the rest may follow from them and is
not told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import ValidationError

from groupsim.scenarios.build.problems import Finding, findings_of
from groupsim.scenarios.files.yaml_text import Place

T = TypeVar("T")

_LEFT_OUT: Final = object()
_GROUP: Final = {"topics": {"pattern": ".*"}, "members": {"count": 1}}
_TOPIC: Final = {"partitions": 1}
_BIG_GROUP: Final = {"topics": {"pattern": ".+"}, "members": {"count": 1000}}
_BIG_TOPIC: Final = {"partitions": 1000}
_LEAST: Final = (_LEFT_OUT, 1, "1s", {"pattern": ".*"}, {"count": 1}, {"x": _TOPIC}, {"x": _GROUP}, _TOPIC, _GROUP)
_MUCH: Final = (
    1000, "broker:all", "30d", "consumer", "0.11", "4.0", {"group.protocol": "consumer"}, {"pattern": ".+"},
    {"count": 1000}, {"x": _BIG_TOPIC}, {"x": _BIG_GROUP}, _BIG_TOPIC, _BIG_GROUP, 1, _LEFT_OUT,
)  # fmt: skip
_CLASSIC: Final = tuple("classic" if one == "consumer" else one for one in _MUCH)
"""What is tried in the place of a refused value, in this order; then all that it stands in is exchanged likewise."""
_MEANT: Final = re.compile(r"did you mean '([^']+)'\?")
_MISSING: Final = re.compile(r"there is no (topic|group|broker|rack|producer)\b|is not there then, or no more")
"""Of a name that leads nowhere; what comes and goes are topics."""
_REFUSED_MAX: Final = 50
_ROUNDS_MAX: Final = 60
_VALUES_MAX: Final = 20_000
"""Beyond these a file is not looked at again: it would take seconds."""


def found_beside(
    refused: Sequence[Finding], data: Mapping[str, Any], validate: Callable[[Any], T],
    check: Callable[[T], Iterable[Finding]],
) -> list[Finding]:  # fmt: skip
    """What is wrong beside what is refused already.

    Parameters
    ----------
    refused : sequence of (place, message, value)
        What ``validate`` says of the document as it is.
    data : mapping
        The document.
    validate : callable
        The model of a document; raises ``ValidationError``.
    check : callable
        What is wrong with a model whose single values are fine.
    """
    if len(refused) > _REFUSED_MAX or not _is_small(data):
        return []
    places = {place for place, _, _ in refused}
    least = _Completion(data, _LEAST, validate)
    in_all = {_key(one) for one in least.findings(refused, check)}
    found: list[Finding] = []
    for options in (_CLASSIC, _MUCH) if in_all else ():
        found = _Completion(data, options, validate).findings(refused, check)
        in_all &= {_key(one) for one in found}
    lost = least.lost_names()
    return [one for one in found if _key(one) in in_all and not is_within(one[0], places) and not _is_lost(one, lost)]


def _key(finding: Finding) -> tuple[Place, str]:
    """What makes two findings the same: what is allowed may differ, as the lists of known names do."""
    return finding[0], finding[1].partition(";")[0]


def _is_small(data: Any) -> bool:
    left, trees = _VALUES_MAX, [data]
    while trees and left:
        tree, left = trees.pop(), left - 1
        trees += tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ()
    return not trees


def is_within(place: Place, others: Iterable[Place]) -> bool:
    """Whether a place is one of the others, or in it."""
    return any(place[: len(other)] == other for other in others)


def _touches(place: Place, others: Iterable[Place]) -> bool:
    """Whether a place is in one of the others, or one of them in it."""
    return any(place[: len(other)] == other[: len(place)] for other in others)


def _is_lost(finding: Finding, lost: set[tuple[str, str]]) -> bool:
    """Whether a name leads nowhere that what is refused may have given."""
    _, message, value = finding
    missing = _MISSING.match(message)
    kind = (missing[1] or "topic") if missing is not None else ""
    return bool(kind) and not lost.isdisjoint({(kind, ""), (kind, str(value).partition("/")[0])})


class _Completion(Generic[T]):
    """A document with something else in the place of what is refused, until the rest is valid."""

    def __init__(self, data: Mapping[str, Any], options: Sequence[object], validate: Callable[[Any], T]) -> None:
        self._data = data
        self._options = options
        self._validate = validate
        self._changes: dict[Place, object] = {}
        self._tried: dict[Place, int] = {}
        self._kept: dict[Place, list[int]] = {}
        """Of lists that are shorter now: where their elements were."""

    def findings(self, refused: Sequence[Finding], check: Callable[[T], Iterable[Finding]]) -> list[Finding]:
        """What is wrong with the rest; places are those of the document as it was."""
        found: list[Finding] = []
        latest: Sequence[Finding] = refused
        for _ in range(_ROUNDS_MAX):
            for place, message, _ in latest:
                if not self._change(place, message):
                    return found
            document = self._made(self._data, (), ())
            try:
                model = self._validate(document)
            except ValidationError as error:
                latest = [*self._originals(findings_of(error))]
                found += [one for one in latest if not _touches(one[0], self._changes)]
                continue
            return [*found, *self._originals(check(model))]
        return found

    def lost_names(self) -> set[tuple[str, str]]:
        """Kinds and names of what was left out; an empty name: any of that kind may be missing."""
        return {one for place in self._changes for one in self._lost_with(place)}

    def _lost_with(self, place: Place) -> Iterator[tuple[str, str]]:
        match place:
            case ("topics" | "groups" as kind,):
                yield kind[:-1], ""
            case ("topics" | "groups" as kind, str() as name):
                yield kind[:-1], name
            case ("cluster",) | ("cluster", "brokers", *_):
                yield from (("broker", ""), ("rack", ""))
            case ("groups", _, "produces", *_):
                yield "producer", ""
            case ("groups", _, "overrides", *_):
                yield "rack", ""
            case ("timeline",) | ("timeline", _) | ("timeline", _, "create_topic") | ("timeline", _, _, "name"):
                if "create_topic" in str(self._at(place[:2])):
                    yield "topic", ""

    # --- what is refused ----------------------------------------------------------------------------------------------

    def _change(self, place: Place, message: str) -> bool:
        """Exchange what is at a place for the next thing to try, or at last all that it stands in."""
        place = self._present(place)
        while place:
            step = self._tried.get(place, -1)
            self._tried[place] = step + 1
            if step < 0 and self._rename(place, message):
                return True
            if step + 1 < len(self._options):
                self._changes[place] = self._options[step + 1]
                return True
            self._changes.pop(place, None)
            place = place[:-1]
            self._changes = {one: value for one, value in self._changes.items() if one[: len(place)] != place}
        return False

    def _present(self, place: Place) -> Place:
        """The place, or that in which it would be: no deeper than what is there, or is put there, reaches."""
        tree: Any = self._data
        for depth, step in enumerate(place):
            if place[:depth] in self._changes:
                return place[:depth]
            if isinstance(tree, Mapping):
                if step not in tree:
                    return place[: depth + 1] if isinstance(step, str) else place[:depth]
                tree = tree[step]
            elif isinstance(tree, list) and isinstance(step, int):
                tree = tree[step]
            else:
                return place[:depth]
        return place

    def _rename(self, place: Place, message: str) -> bool:
        """Take what is misspelt for what it may mean, where much is taken."""
        meant = _MEANT.search(message)
        above = self._at(place[:-1])
        if meant is None or self._options[0] is _LEFT_OUT or not isinstance(above, Mapping) or place[-1] not in above:
            return False
        key, value = meant.group(1), above[place[-1]]
        if "is no key" not in message:
            self._changes[place] = key
        elif key not in above:
            self._changes[place], self._changes[(*place[:-1], key)] = _LEFT_OUT, value
        return key not in above

    def _at(self, place: Place) -> Any:
        return reduce(getitem, place, cast("Any", self._data))

    # --- the document -------------------------------------------------------------------------------------------------

    def _made(self, tree: Any, old: Place, new: Place) -> Any:
        """The tree that stood at ``old``, with what is exchanged in it, at ``new``."""
        if isinstance(tree, Mapping):
            changed = {one[-1]: value for one, value in self._changes.items() if one[:-1] == old}
            made = {key: self._made(tree[key], (*old, key), (*new, key)) for key in tree if key not in changed}
            return made | {key: value for key, value in changed.items() if value is not _LEFT_OUT}
        if isinstance(tree, list):
            kept = [number for number in range(len(tree)) if self._changes.get((*old, number)) is not _LEFT_OUT]
            self._kept[new] = kept
            return [self._element(tree, old, number, (*new, position)) for position, number in enumerate(kept)]
        return tree

    def _element(self, tree: list[Any], old: Place, number: int, new: Place) -> Any:
        place = (*old, number)
        return self._changes[place] if place in self._changes else self._made(tree[number], place, new)

    def _originals(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings with places in the document as it was."""
        for place, message, value in findings:
            yield tuple(self._steps(place)), message, value

    def _steps(self, place: Place) -> Iterator[str | int]:
        for depth, step in enumerate(place):
            kept = self._kept.get(place[:depth])
            yield kept[step] if kept is not None and isinstance(step, int) and step < len(kept) else step
