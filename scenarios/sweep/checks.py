"""Scenarios of variants: each built and checked, and everything that is wrong with them told together."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from groupsim.scenarios.build.loading import load_document, parse, path_of
from groupsim.scenarios.build.paths import set_path
from groupsim.scenarios.errors import Problem, ScenarioFileError, shown
from groupsim.scenarios.files.config_paths import bracketed
from groupsim.scenarios.files.file_names import located
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.sweep.design import Changes
from groupsim.sim.model import Scenario

_LOOKS_MAX: Final = 20
"""Variants of which everything is told; of further ones, which are many and much alike, what is refused first."""


class VariantCheck:
    """Builds the scenarios of variants, and collects what is wrong with them.

    Parameters
    ----------
    scenario : str
        As ``groupsim run`` takes it.
    folder : Path
        Where the files are that variants name.
    allow_code : sequence of str
    lines : mapping of place to int
        Lines of the sweep file, whose ``vary`` and ``variants`` set what is wrong.
    """

    def __init__(self, scenario: str, folder: Path, allow_code: Sequence[str], lines: Mapping[Place, int]) -> None:
        self._scenario, self._folder, self._allow_code = scenario, folder, allow_code
        self._lines = lines
        self._path, self._base = path_of(scenario), load_document(scenario)
        self._refused = 0
        self._found: dict[tuple[str, str], list[tuple[Problem, str]]] = {}

    def check(self, name: str, own: Changes) -> Iterator[tuple[Changes, Scenario]]:
        """The changes of a variant, names of files in them looked up, and its scenario; nothing if it has problems."""
        changes = located(own, self._folder)
        try:
            yield changes, self._parsed(changes)
        except ScenarioFileError as refused:
            self._keep(refused, name)

    def check_path(self, path: str, value: object) -> None:
        """Look whether a path exists, whatever it is set to."""
        try:
            set_path(copy.deepcopy(self._base), path, value)
        except ScenarioFileError as refused:
            self._keep(refused, "")

    def problems(self) -> list[Problem]:
        """What was found so far: each problem once, with its values and variants."""
        return [_together(some) for some in self._found.values()]

    def _keep(self, refused: ScenarioFileError, name: str) -> None:
        for problem in refused.problems:
            alike = re.sub(r"\d[\d.,]*", "#", problem.message)  # messages repeat the value
            here = replace(problem, line=self._line(problem.path, name))
            self._found.setdefault((problem.path, alike), []).append((here, name))

    def _line(self, path: str, name: str) -> int:
        """The line of the sweep file that sets a path for a variant, or what it is in, or in it, or its own."""
        places = [(line, str(place[-1])) for place, line in self._lines.items() if _sets(place, name)]
        around = [line for line, place in places if _is_within(path, place)]
        inside = [line for line, place in places if _is_within(place, path)]
        named = [line for place, line in self._lines.items() if len(place) == 2 and _sets((*place, ""), name)]
        return next(iter([*around, *inside, *named]), 0)

    def _parsed(self, changes: Changes) -> Scenario:
        """The scenario with ``changes``; paths that lead nowhere and values that are refused are told together."""
        document = copy.deepcopy(self._base)
        problems: list[Problem] = []
        for place, value in located(changes, Path.cwd()).items():
            try:
                set_path(document, place, value)
            except ScenarioFileError as refused:
                problems += refused.problems
        name, folder = self._path.stem, self._path.parent
        try:
            found = parse(
                document, file=self._scenario, name=name, folder=folder, allow_code=self._allow_code,
                looks_on=self._refused < _LOOKS_MAX,
            )  # fmt: skip
        except ScenarioFileError as refused:
            self._refused += 1
            problems += [_of_a_part(one, changes) for one in refused.problems]
        if problems:
            raise ScenarioFileError(self._scenario, problems)
        return found


def _together(found: Sequence[tuple[Problem, str]]) -> Problem:
    """One problem of several values and variants."""
    first, names = found[0][0], list(dict.fromkeys(name for _, name in found if name))
    values = list(dict.fromkeys(problem.value for problem, _ in found))
    value = f"{values[0]} and {len(values) - 1} more" if len(values) > 1 else values[0]
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    where = f" [variant {'; '.join(names[:2])}{more}]" if names else ""
    return replace(first, message=f"{first.message}{where}", value=value)


def _of_a_part(problem: Problem, changes: Changes) -> Problem:
    """What is missing in a mapping that a variant has set as a whole, and how to set a part of it."""
    wholes = (path for path, value in changes.items() if isinstance(value, Mapping) and _is_within(problem.path, path))
    if not problem.message.startswith("is required") or (path := next(wholes, None)) is None:
        return problem
    part, value = path, changes[path]
    while isinstance(value, Mapping) and value:
        key, value = next(iter(value.items()))
        part = f"{part}[{key}]" if "." in str(key) else f"{part}.{key}"
    hint = f"{path} is replaced as a whole: a part is set by its path, such as {part}: {shown(value)}"
    return replace(problem, message=f"{problem.message}; {hint}")


def _sets(place: Place, name: str) -> bool:
    """Whether a place in a sweep file sets a path of the variant ``name``, which begins with that of its bundle."""
    match place:
        case ("vary", _):
            return True
        case ("variants", bundle, _):
            return f"{name}, ".startswith(f"{bundle}, ")
    return False


def _is_within(path: str, above: str) -> bool:
    path, above = bracketed(path), bracketed(above)
    return path == above or path.startswith((f"{above}.", f"{above}["))
