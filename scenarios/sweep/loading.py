"""Sweep files: one scenario, the variants of it, and how often each is run.

Every path and every value of every variant is checked before anything runs, and everything that is wrong is told at
once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from groupsim.scenarios.build.loading import SWEEPS, list_names, path_of
from groupsim.scenarios.build.notes import warnings_of
from groupsim.scenarios.build.problems import findings_of, problems_of
from groupsim.scenarios.errors import Problem, ScenarioFileError, nearest, shown
from groupsim.scenarios.files.text_files import is_there
from groupsim.scenarios.files.yaml_text import YamlDocument, read_yaml
from groupsim.scenarios.sweep.checks import VariantCheck
from groupsim.scenarios.sweep.design import Changes, seed_of, variants
from groupsim.scenarios.sweep.file import SweepFile, readable, samples
from groupsim.scenarios.sweep.replications import Replications
from groupsim.sim.model import Scenario

LIBRARY: Final = SWEEPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A scenario of a sweep, and what makes it differ from the sweep's own."""

    name: str
    changes: Changes
    scenario: Scenario
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A checked sweep file.

    Parameters
    ----------
    name : str
        Of the file, without its folder and ending.
    source : str
        The scenario, as ``groupsim run`` takes it.
    document : mapping
        The file's content, defaults filled in.
    allow_code : tuple of str
        Assignors of the user's that the scenarios may name, as ``module:Class``.
    """

    name: str
    source: str
    variants: tuple[Variant, ...]
    replications: Replications
    document: Mapping[str, Any]
    allow_code: tuple[str, ...] = ()

    def warnings(self) -> tuple[str, ...]:
        """What a user should know about the variants, once where sentences differ in numbers alone."""
        alike: dict[str, dict[str, int]] = {}
        for one in self.variants:
            for sentence in warnings_of(one.scenario):
                some = alike.setdefault(re.sub(r"\d+", "#", sentence), {})
                some[sentence] = some.get(sentence, 0) + 1
        return tuple(_alike(some) for some in alike.values())

    def replay(self, variant: Variant) -> str:
        """The command that repeats a run of a variant, without its replication."""
        return replay_line(self.source, variant.changes, variant.seed, self.allow_code)


def _alike(sentences: Mapping[str, int]) -> str:
    """The first of some sentences, and how many variants have another one."""
    first, *others = sentences
    count = sum(sentences[other] for other in others)
    return f"{first} [{count} more variants alike, with other numbers]" if count else first


def replay_line(source: str, changes: Changes, seed: int, allow_code: Sequence[str] = ()) -> str:
    """The command that repeats a run, without its replication: ``groupsim run SCENARIO --set PATH=VALUE --seed N``."""
    words = ["groupsim", "run", source]
    for path, value in changes.items():
        words += ["--set", f"{path}={_yaml(value)}"]
    for one in allow_code:
        words += ["--allow-code", one]
    return shlex.join([*words, "--seed", str(seed)])


class _Dumper(yaml.SafeDumper):
    """Quotes every text that a reader might take for something else."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        plain = re.fullmatch(r"[A-Za-z_][\w./-]*|\d+(\.\d+)?(us|ms|s|min|h|d)", data)
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if plain else "'")


_Dumper.add_representer(str, _Dumper.represent_str)


def _yaml(value: Any) -> str:
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, width=1_000_000, allow_unicode=True)
    return text.removesuffix("...\n").strip()


def load_sweep(source: str | Path, *, allow_code: Sequence[str] = ()) -> Sweep:
    """The sweep in a file, or a built-in one, with every variant checked.

    Parameters
    ----------
    source : str or Path
        The name of a built-in sweep, or the path of a file. A scenario and other files that it names are looked for
        beside it.
    allow_code : sequence of str
        Assignors that may be imported, as ``module:Class``: this runs their code.

    Raises
    ------
    ScenarioFileError
        With everything that is wrong: the file, the path inside it, the value, and what is allowed.
    MissingExtra
        The design needs a package that is not installed.
    """
    path = path_of(source, LIBRARY, "sweep")
    read = read_yaml(path)
    file = _sweep_file(read, path, str(source), allow_code)
    scenario = _scenario(file.scenario, path.parent, read, str(source))
    checker = VariantCheck(scenario, path.parent, allow_code, read.lines)
    built = [
        Variant(name=name, changes=changes, scenario=parsed, seed=_seed(file, name))
        for name, own in variants(file.variants, file.plan).items()
        for changes, parsed in checker.check(name, own)
    ]
    if problems := checker.problems():
        raise ScenarioFileError(str(source), problems)
    return Sweep(
        name=path.stem, source=scenario, variants=tuple(built), replications=file.replications,
        document=file.document(), allow_code=tuple(allow_code),
    )  # fmt: skip


def _seed(file: SweepFile, name: str) -> int:
    return seed_of(file.seed, name, common_faults=file.common_faults)


def _sweep_file(read: YamlDocument, path: Path, file: str, allow_code: Sequence[str]) -> SweepFile:
    if not isinstance(read.data, Mapping):
        raise ScenarioFileError(file, [Problem("", "must be a mapping that names a scenario and what varies")])
    if "groups" in read.data and "scenario" not in read.data:
        raise ScenarioFileError(file, [Problem("", "has groups: it is a scenario, for groupsim run")])
    try:
        return SweepFile.model_validate(read.data)
    except ValidationError as refused:
        problems = problems_of(findings_of(refused), read)
    try:
        scenario = _scenario(read.data.get("scenario"), path.parent, read, file)
    except ScenarioFileError as missing:
        known = {problem.path for problem in problems}
        problems += [problem for problem in missing.problems if problem.path not in known]
    else:
        problems += _problems_inside(read.data, VariantCheck(scenario, path.parent, allow_code, read.lines))
    raise ScenarioFileError(file, problems)


def _problems_inside(data: Mapping[str, Any], checker: VariantCheck) -> list[Problem]:
    """What is wrong with paths and values of a file that is refused for another reason already."""
    for path, values in readable(data).items():
        if not values:
            checker.check_path(path, data["vary"][path])
    for name, changes in samples(data):
        for _ in checker.check(name, changes):
            pass
    return checker.problems()


def _scenario(name: object, folder: Path, read: YamlDocument, file: str) -> str:
    """What a sweep varies, as ``groupsim run`` takes it: a built-in scenario, or a file beside the sweep."""
    if not isinstance(name, str):
        raise ScenarioFileError(file, [Problem("scenario", "must name a scenario", shown(name))])
    path = folder / name
    if name in list_names() or is_there(path):
        return name if name in list_names() else str(path)
    message = f"is neither built in nor a file: there is no {path}; {nearest(name, list_names())}".rstrip("; ")
    raise ScenarioFileError(file, [Problem("scenario", message, shown(name), read.lines.get(("scenario",), 0))])
