"""Sweep files: one scenario, the variants of it, and how often each is run.

Every path and every value of every variant is checked before anything runs, and everything that is wrong is told at
once.
"""

from __future__ import annotations

import copy
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import Field, ValidationError, ValidationInfo, field_validator

from scenarios.design import REPLICATIONS_MAX, SEED_MAX, Changes, seed_of, variants
from scenarios.errors import Problem, ScenarioFileError, nearest, shown
from scenarios.file_names import located
from scenarios.loading import built_in, list_names, load_document, parse, path_of
from scenarios.notes import warnings_of
from scenarios.paths import set_path
from scenarios.problems import findings_of, problems_of
from scenarios.schema_base import FileModel, error, refusal
from scenarios.yaml_text import YamlDocument, read_yaml
from sim.model import Scenario

LIBRARY: Final = Path(__file__).with_name("library") / "sweeps"


class SweepFile(FileModel):
    """A sweep file, as the user writes it."""

    version: Literal[1] = 1
    question: str = ""
    scenario: str
    variants: dict[Annotated[str, Field(min_length=1)], dict[str, Any]] = {}
    vary: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    design: Literal["grid", "list"] = "grid"
    replications: Annotated[int, Field(ge=1, le=REPLICATIONS_MAX)] = 1
    seed: Annotated[int, Field(ge=0, le=SEED_MAX)] = 1
    common_faults: bool = True

    @field_validator("vary")
    @classmethod
    def _check_vary(cls, vary: dict[str, list[Any]], info: ValidationInfo) -> dict[str, list[Any]]:
        errors = []
        for path, values in vary.items():
            if len({repr(value) for value in values}) < len(values):
                errors.append(error(path, "has a value twice", values))
            setting = [name for name, changes in info.data.get("variants", {}).items() if path in changes]
            if setting:
                errors.append(error(path, f"is set by variant {setting[0]!r} too: vary it or set it", values))
        if errors:
            raise ValidationError.from_exception_data("vary", errors)
        return vary

    @field_validator("design")
    @classmethod
    def _check_design(cls, design: str, info: ValidationInfo) -> str:
        lengths = {path: len(values) for path, values in info.data.get("vary", {}).items()}
        if design == "list" and len(set(lengths.values())) > 1:
            counts = ", ".join(f"{path} has {count}" for path, count in lengths.items())
            raise refusal(f"takes equally many values of each path under vary; {counts}")
        return design


@dataclass(frozen=True, slots=True)
class Replications:
    at_least: int
    at_most: int
    batch: int = 1


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
        """What a user should know about the variants (`scenarios.notes.warnings_of`), each sentence once."""
        return tuple(dict.fromkeys(sentence for one in self.variants for sentence in warnings_of(one.scenario)))

    def replay(self, variant: Variant) -> str:
        """The command that repeats a run of a variant, without its replication."""
        return replay_line(self.source, variant.changes, variant.seed, self.allow_code)


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
    """
    path = path_of_sweep(source)
    read = read_yaml(path)
    file = _sweep_file(read, str(source))
    scenario = _scenario(file.scenario, path.parent, read, str(source))
    base = load_document(scenario)
    built: list[Variant] = []
    found: dict[Problem, list[str]] = {}
    for name, own in variants(file.variants, file.vary, file.design).items():
        changes = located(own, path.parent)
        try:
            parsed = _parsed(base, changes, scenario, allow_code)
            seed = seed_of(file.seed, name, common_faults=file.common_faults)
            built.append(Variant(name=name, changes=changes, scenario=parsed, seed=seed))
        except ScenarioFileError as refused:
            for problem in refused.problems:
                found.setdefault(problem, []).append(name)
    if found:
        raise ScenarioFileError(str(source), [_in_variants(problem, names) for problem, names in found.items()])
    return Sweep(
        name=path.stem, source=scenario, variants=tuple(built), replications=Replications(file.replications, file.replications),
        document=file.model_dump(mode="json"), allow_code=tuple(allow_code),
    )  # fmt: skip


def list_sweeps() -> list[str]:
    """The names of the built-in sweeps."""
    return sorted(path.stem for path in LIBRARY.glob("*.yaml"))


def path_of_sweep(source: str | Path) -> Path:
    """The file of a built-in sweep's name, or the path as it is.

    Raises
    ------
    ScenarioFileError
        There is neither a built-in sweep nor a file of that name.
    """
    text, path = str(source), Path(source)
    if text not in list_sweeps() and (path.suffix or path.exists() or len(path.parts) > 1):
        return path
    return built_in(text, LIBRARY, "is neither a file nor a built-in sweep")


def _sweep_file(read: YamlDocument, file: str) -> SweepFile:
    if not isinstance(read.data, Mapping):
        raise ScenarioFileError(file, [Problem("", "must be a mapping that names a scenario and what varies")])
    if "groups" in read.data and "scenario" not in read.data:
        raise ScenarioFileError(file, [Problem("", "has groups: it is a scenario, for groupsim run")])
    try:
        return SweepFile.model_validate(read.data)
    except ValidationError as refused:
        raise ScenarioFileError(file, problems_of(findings_of(refused), read)) from None


def _scenario(name: str, folder: Path, read: YamlDocument, file: str) -> str:
    """What a sweep varies, as ``groupsim run`` takes it: a built-in scenario, or a file beside the sweep."""
    path = folder / name
    if name in list_names() or path.exists():
        return name if name in list_names() else str(path)
    message = f"is neither built in nor a file: there is no {path}; {nearest(name, list_names())}".rstrip("; ")
    raise ScenarioFileError(file, [Problem("scenario", message, shown(name), read.lines.get(("scenario",), 0))])


def _parsed(base: Mapping[str, Any], changes: Changes, scenario: str, allow_code: Sequence[str]) -> Scenario:
    """The scenario with ``changes``; all paths that lead nowhere are told together."""
    path, document = path_of(scenario), copy.deepcopy(dict(base))
    problems: list[Problem] = []
    for place, value in located(changes, Path.cwd()).items():
        try:
            set_path(document, place, value)
        except ScenarioFileError as refused:
            problems += refused.problems
    if problems:
        raise ScenarioFileError(scenario, problems)
    return parse(document, file=scenario, name=path.stem, folder=path.parent, allow_code=allow_code)


def _in_variants(problem: Problem, names: Sequence[str]) -> Problem:
    """The problem, and in which variants it is one."""
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return replace(problem, message=f"{problem.message} [variant {'; '.join(names[:2])}{more}]", line=0)
