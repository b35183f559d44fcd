"""Paths into a document: ``groups.billing.config[session.timeout.ms]``, ``timeline[deploy].rolling_restart.batch``.

A path is made of names joined by dots; a name in brackets is taken as it is, dots and all. Kafka's keys and names of
topics and groups need no brackets. Entries of the timeline go by their id or position, elements of other lists by
position.
"""

from __future__ import annotations

import re
import types
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, NoReturn, Union, get_args, get_origin

from groupsim.scenarios.errors import Problem, ScenarioFileError, listed, nearest, shown
from groupsim.scenarios.files.base_model import FileModel
from groupsim.scenarios.files.config_paths import bracketed
from groupsim.scenarios.files.yaml_text import Place, path_text
from groupsim.scenarios.kafka.config import FILE
from groupsim.scenarios.schema.key_places import belongs, homes
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.timeline import ENTRIES, EntryFile
from groupsim.scenarios.schema.verbs import VERBS

_PATH: Final = re.compile(r"[^\s.\[\]]+(?:\.[^\s.\[\]]+|\[[^\[\]]+\])*")
_DIGITS: Final = 9
_STEP: Final = re.compile(r"\[([^\[\]]+)\]|([^.\[\]]+)")


def parse_path(path: str) -> tuple[str, ...]:
    """The steps of a path.

    Raises
    ------
    ValueError
        The text is no path.
    """
    if not _PATH.fullmatch(path):
        raise ValueError("is no path: names joined by dots, keys with dots in brackets, as a.config[max.poll.records]")
    return tuple(match[1] or match[2] for match in _STEP.finditer(bracketed(path)))


def set_path(document: dict[str, Any], path: str, value: Any, *, file: str = "the scenario") -> Place:
    """Set one value of a scenario document, in place; mappings on the way that the file leaves out are created.

    None removes a key, with all that is below it; a key that is not there needs no removing.

    Parameters
    ----------
    document : dict
        Plain data, as `scenarios.build.loading.load_document` returns it.
    path : str
    value : plain data
        Not checked here: `scenarios.build.loading.parse` does it with everything else.
    file : str
        What an error calls the document.

    Returns
    -------
    tuple of str or int
        The place that was set.

    Raises
    ------
    ScenarioFileError
        The path is none, or cannot exist in this document; the nearest name is told.
    """
    walk = _Walk(file, path, value, document)
    try:
        steps: Sequence[str] = parse_path(path)
    except ValueError as reason:
        walk.refuse(str(reason))
    here: Any = document
    kind: Any = ScenarioFile
    while True:
        step, *steps = _joined(here, kind, steps)
        key, kind = walk.step(here, kind, step, steps)
        if not steps and value is None:
            walk.remove(here, key)
        elif not steps:
            here[key] = value
        if not steps:
            return tuple(walk.place)
        here = _below(here, key, create=value is not None)


def _below(here: Any, key: Any, *, create: bool) -> Any:
    """What stands at a key; where nothing does, a mapping, which is put there if it is to be filled."""
    if not isinstance(here, dict):
        return here[key]
    return here.setdefault(key, {}) if create else here.get(key, {})


def _joined(here: Any, kind: Any, steps: Sequence[str]) -> Sequence[str]:
    """The steps, the first of them joined where together they are a name with dots that is there."""
    if isinstance(here, dict) and get_origin(kind) is dict and steps[0] not in here:
        for length in range(len(steps), 1, -1):
            if (name := ".".join(steps[:length])) in here:
                return [name, *steps[length:]]
    return steps


class _Walk:
    """One way down a document, along the models that its parts must fit."""

    def __init__(self, file: str, path: str, value: Any, document: Mapping[str, Any]) -> None:
        self.place: list[str | int] = []
        self._names: dict[Place, str] = {}
        self._rest: Sequence[str] = ()
        self._file, self._path, self._value, self._document = file, path, value, document

    def step(self, here: Any, kind: Any, step: str, rest: Sequence[str]) -> tuple[str | int, Any]:
        """(key or position of the step, what stands there: a model, an annotation, or Any)."""
        self._rest = rest
        key: str | int
        if isinstance(here, dict):
            key, below = self._into_mapping(here, kind, step)
        elif isinstance(here, list):
            key, below = self._into_list(here, kind, step)
        else:
            self.refuse(f"{self._where()} is {shown(here)}, which has no parts: set it as a whole")
        self.place.append(key)
        self._names[tuple(self.place)] = step
        return key, below

    def _into_mapping(self, here: dict[str, Any], kind: Any, step: str) -> tuple[str, Any]:
        if _is_model(kind):
            model = _entry_model(here) if kind is EntryFile else kind
            fields = {field.alias or name: field.annotation for name, field in model.model_fields.items()}
            if step in model.former_keys:
                self.refuse(f"{self._where()}.{step} is called {model.former_keys[step]} now")
            if step in model.keys_elsewhere:
                self.refuse(f"{self._where()} has no {step!r}; did you mean {model.keys_elsewhere[step]!r}?")
            if step not in fields:
                self.refuse(self._no_such(step, fields))
            return step, _plain(fields[step])
        below = _plain(get_args(kind)[1]) if get_origin(kind) is dict else Any
        if _is_model(below) and step not in here and self._rest:
            self.refuse(self._no_such(step, here))
        return step, below

    def _into_list(self, here: list[Any], kind: Any, step: str) -> tuple[int, Any]:
        below = _plain(get_args(kind)[0]) if get_origin(kind) is list else Any
        if _is_model(below) and issubclass(below, EntryFile):
            ids = entry_ids(here)
            if step in ids:
                return ids.index(step), below
            if not step.isdecimal() or len(step) > _DIGITS or int(step) >= len(here):
                self.refuse(self._no_such(step, ids))
            return int(step), below
        if not step.isdecimal() or len(step) > _DIGITS or int(step) >= len(here):
            self.refuse(f"{self._where()} has positions 0 to {len(here) - 1}")
        return int(step), below

    def _no_such(self, step: str, known: Iterable[str]) -> str:
        names = sorted(known)
        where = self._where() or "a scenario"
        whole = ".".join([step, *self._rest])
        for key in (whole, step):
            if (hint := belongs(key)) and ("." in key or not nearest(step, names)):
                return f"{where} has no {key!r}: {self._at_home(key) or hint}"
        if not self.place and (section := self._section_of(whole)):
            return f"{where} has no {step!r}: write {section}.{whole}"
        return f"{where} has no {step!r}; {nearest(step, names)}known: {listed(names) or 'nothing'}"

    def _at_home(self, key: str) -> str:
        """What to write for a key that belongs elsewhere; empty where that has no one place in this document."""
        home, *others = homes(key)
        section, named, below = home.partition(".NAME")
        if others or " " in home or "[" in home:
            return ""
        there = [str(one) for one in self.place[1:2]] if self.place[:1] == [section] else []
        names = there or list(self._document.get(section, {}))
        if not named or len(names) == 1:
            return f"write {section}{f'.{names[0]}' if named else ''}{below}.{key}"
        return f"write {home}.{key} (NAME: {listed(names)})" if names else ""

    def _section_of(self, path: str) -> str:
        """The section of the document that has a name with which a path begins; empty if none has."""
        names = ((key, name) for key in ("groups", "topics", "producers") for name in self._document.get(key, {}))
        return next((key for key, name in names if f"{path}.".startswith(f"{name}.")), "")

    def remove(self, here: Any, key: Any) -> None:
        """Take a key out of its mapping, if it is there."""
        if not isinstance(here, dict):
            self.refuse("null removes a key of a mapping, and this is an element of a list: set the list as a whole")
        if key != FILE and FILE in here:
            here[key] = None  # the properties file may have it
        else:
            here.pop(key, None)

    def _where(self) -> str:
        named = {place: name for place, name in self._names.items() if isinstance(place[-1], int)}
        return path_text(tuple(self.place), named)

    def refuse(self, message: str) -> NoReturn:
        raise ScenarioFileError(self._file, [Problem(self._path, message, shown(self._value))])


def entry_ids(timeline: Iterable[Any]) -> list[str]:
    """The ids of timeline entries; those without one are called verb-n, as in `schema.scenario_file.ScenarioFile`."""
    seen: Counter[str] = Counter()
    ids = []
    for entry in timeline:
        verb = next((key for key in entry if key in VERBS), "entry") if isinstance(entry, Mapping) else "entry"
        seen[verb] += 1
        own = entry.get("id") if isinstance(entry, Mapping) else None
        ids.append(own if isinstance(own, str) else f"{verb}-{seen[verb]}")
    return ids


def _entry_model(entry: Mapping[str, Any]) -> type[FileModel]:
    return next((ENTRIES[key] for key in entry if key in ENTRIES), EntryFile)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, FileModel)


def _plain(annotation: Any) -> Any:
    """An annotation without its metadata and without None; Any for a choice of several."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        some = [one for one in get_args(annotation) if one is not types.NoneType]
        return _plain(some[0]) if len(some) == 1 else Any
    return annotation
