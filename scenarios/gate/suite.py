"""Suite files: scenarios whose numbers are guarded, with a tolerance for each metric that matters, and goals.

Everything that is wrong with a suite and with the scenarios in it is told at once, before anything runs.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from groupsim.scenarios.build.loading import list_names, load
from groupsim.scenarios.build.notes import warnings_of
from groupsim.scenarios.build.problems import Finding, findings_of, problems_of
from groupsim.scenarios.errors import Problem, ScenarioFileError, nearest
from groupsim.scenarios.files.base_model import FileModel, FormatVersion
from groupsim.scenarios.files.file_names import located
from groupsim.scenarios.files.text_files import is_there
from groupsim.scenarios.files.yaml_text import Place, YamlDocument, read_yaml
from groupsim.scenarios.gate.tolerances import Tolerance, TolerancesField
from groupsim.scenarios.schema.goals import RECOVERY_LAG, GoalsField
from groupsim.scenarios.schema.subscriptions import Name
from groupsim.scenarios.sweep.design import REPLICATIONS_MAX, SEED_MAX, Changes
from groupsim.sim.model import Scenario

Seed = Annotated[int, Field(ge=0, le=SEED_MAX)]
Replications = Annotated[int, Field(ge=1, le=REPLICATIONS_MAX)]

_ENTRIES: Final = "scenarios"
_FORM: Final = "a suite is a mapping with scenarios, each held to metrics or goals"


class EntryFile(FileModel):
    """One scenario of a suite; its name is that of a built-in scenario unless ``scenario`` names another."""

    scenario: Annotated[str, Field(min_length=1)] | None = None
    set_: dict[str, Any] = Field(default={}, alias="set")
    seed: Seed | None = None
    replications: Replications | None = None
    groups: Annotated[list[str], Field(min_length=1)] | None = None
    metrics: TolerancesField = {}
    goals: GoalsField = {}


class SuiteFile(FileModel):
    """A suite file; its seed, replications and metrics are those of scenarios that do not say otherwise."""

    version: FormatVersion = 1
    question: str = ""
    seed: Seed = 1
    replications: Replications = 1
    metrics: TolerancesField = {}
    scenarios: dict[Name, dict[str, Any]] = Field(min_length=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A scenario of a suite, and what its numbers are held to.

    Parameters
    ----------
    source : str
        The scenario, as ``groupsim run`` takes it.
    changes : mapping
        Values by path that are set in it.
    scenario : Scenario
        With the changes; its document has the goals, the suite's own among them.
    groups : tuple of str
        Those that are held to anything.
    tolerances : mapping of str to Tolerance
        By metric.
    """

    name: str
    source: str
    changes: Changes
    scenario: Scenario
    seed: int
    replications: int
    groups: tuple[str, ...]
    tolerances: Mapping[str, Tolerance]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A checked suite file."""

    path: Path
    question: str
    entries: tuple[Entry, ...]
    allow_code: tuple[str, ...] = ()

    @property
    def baseline(self) -> Path:
        """The file beside the suite that holds its baseline."""
        return self.path.with_name(f"{self.path.stem}.baseline.yaml")

    @property
    def needs_baseline(self) -> bool:
        """Whether any metric has a tolerance; goals stand alone."""
        return any(entry.tolerances for entry in self.entries)

    @property
    def update_command(self) -> str:
        """The command that writes the baseline."""
        allowed = [word for one in self.allow_code for word in ("--allow-code", one)]
        return shlex.join(["groupsim", "check", str(self.path), *allowed, "--update"])

    def warnings(self) -> tuple[str, ...]:
        """What a user should know about the scenarios (`notes.warnings_of`), each with its entry's name."""
        return tuple(f"{entry.name}: {one}" for entry in self.entries for one in warnings_of(entry.scenario))

    def replay(self, entry: Entry, replication: int) -> str:
        """The command that repeats one run."""
        from groupsim.scenarios.sweep.loading import replay_line

        line = replay_line(entry.source, entry.changes, entry.seed, self.allow_code)
        return f"{line} --replication {replication}"


def load_suite(path: Path, *, allow_code: Sequence[str] = ()) -> Suite:
    """The suite in a file. Scenarios and other files that it names are looked for beside it.

    Parameters
    ----------
    path : Path
    allow_code : sequence of str
        Assignors that may be imported, as ``module:Class``: this runs their code.

    Raises
    ------
    ScenarioFileError
        With everything that is wrong: the file, the path inside it, the value, and what is allowed.
    """
    read = read_yaml(path)
    if (reason := _no_suite(read.data)) is not None:
        raise ScenarioFileError(str(path), [Problem("", f"{reason}: {_FORM}")])
    return _Reader(path, read, tuple(allow_code)).suite()


def _no_suite(data: object) -> str | None:
    """Why a document is another kind of file; None if it may be a suite."""
    if isinstance(data, Mapping) and "baseline" in data:
        return "is a baseline, which belongs to the suite beside it"
    if not isinstance(data, Mapping) or {"groups", "scenario"} & set(data):
        return "is no suite"
    return None


class _Reader:
    """Reads a suite, and goes on where something is wrong."""

    def __init__(self, path: Path, read: YamlDocument, allow_code: tuple[str, ...]) -> None:
        self._path, self._read, self._allow_code = path, read, allow_code
        self._problems: list[Problem] = []

    def suite(self) -> Suite:
        """The suite, or the refusal with all problems."""
        try:
            file = SuiteFile.model_validate(self._read.data)
        except ValidationError as refused:
            self._note(findings_of(refused))
            file = None
        bodies = self._read.data.get(_ENTRIES)
        known = bodies.items() if isinstance(bodies, Mapping) else ()
        entries = [self._entry(name, body, file) for name, body in known if isinstance(body, Mapping)]
        if self._problems or file is None:
            raise ScenarioFileError(str(self._path), self._problems)
        found = tuple(entry for entry in entries if entry is not None)
        return Suite(path=self._path, question=file.question, entries=found, allow_code=self._allow_code)

    def _entry(self, name: str, body: Mapping[str, Any], defaults: SuiteFile | None) -> Entry | None:
        """An entry; None if anything is wrong with it, or with the suite's defaults."""
        place = (_ENTRIES, name)
        try:
            file = EntryFile.model_validate(body)
        except ValidationError as refused:
            self._note((((*place, *where), message, value) for where, message, value in findings_of(refused)))
            return None
        source = self._source(name, file, place)
        changes = located(file.set_, self._path.parent)
        scenario = self._scenario(source, changes, file.goals, place) if source else None
        if defaults is None or scenario is None:
            return None
        entry = Entry(
            name=name, source=source, changes=_to_replay(changes, file.goals), scenario=scenario,
            seed=defaults.seed if file.seed is None else file.seed,
            replications=file.replications or defaults.replications,
            groups=tuple(file.groups or sorted(group.name for group in scenario.groups)),
            tolerances=defaults.metrics | file.metrics,
        )  # fmt: skip
        self._note(_doubts(entry, place))
        return entry

    def _source(self, name: str, file: EntryFile, place: Place) -> str:
        """A built-in scenario, or a file beside the suite, as ``groupsim run`` takes it; empty if there is neither."""
        wanted, known = file.scenario or name, list_names()
        path = self._path.parent / wanted
        if wanted in known or is_there(path):
            return wanted if wanted in known else str(path)
        message = f"is neither a built-in scenario nor a file beside the suite; {nearest(wanted, known)}".rstrip("; ")
        if file.scenario is None:
            self._note([(place, f"{message}; any other name needs scenario: NAME or FILE", None)])
        else:
            self._note([((*place, "scenario"), message, wanted)])
        return ""

    def _scenario(self, source: str, changes: Changes, goals: Mapping[str, Any], place: Place) -> Scenario | None:
        wanted = {**changes, **{f"goals.{column}": bound for column, bound in goals.items()}}
        try:
            return load(source, set_=wanted, allow_code=self._allow_code)
        except ScenarioFileError as refused:
            self._problems += [self._within(one, source, changes, place) for one in refused.problems]
            return None

    def _within(self, problem: Problem, source: str, changes: Changes, place: Place) -> Problem:
        """A problem of a scenario as one of the suite: at the value that the suite sets, if that is to blame."""
        here = problem.path
        setting = [path for path in changes if here == path or here.startswith((f"{path}.", f"{path}["))]
        if setting:
            (found,) = problems_of([((*place, "set", setting[0]), problem.message, None)], self._read)
            return Problem(found.path, found.message, problem.value, found.line)
        line = f" (line {problem.line})" if problem.line else ""
        told = ": ".join(filter(None, (f"in {source}{line}", problem.path, problem.message)))
        (found,) = problems_of([(place, told, None)], self._read)
        return Problem(found.path, found.message, problem.value, found.line)

    def _note(self, findings: Iterator[Finding] | Sequence[Finding]) -> None:
        self._problems += problems_of(findings, self._read)


def _to_replay(changes: Changes, goals: Mapping[str, Any]) -> Changes:
    """What a run needs in order to be the same: of the goals only the lag at which a group counts as recovered."""
    return {**changes, **{f"goals.{column}": bound for column, bound in goals.items() if column == RECOVERY_LAG}}


def _doubts(entry: Entry, place: Place) -> Iterator[Finding]:
    """What is wrong between the parts of an entry."""
    names = sorted(group.name for group in entry.scenario.groups)
    for position, name in enumerate(entry.groups):
        if name not in names:
            message = f"is no group of {entry.source}; {nearest(name, names)}known: {', '.join(names)}"
            yield (*place, "groups", position), message, name
    if len(set(entry.groups)) < len(entry.groups):
        yield (*place, "groups"), "names a group twice", list(entry.groups)
    if not entry.tolerances and set(entry.scenario.document.get("goals", ())) <= {RECOVERY_LAG}:
        yield place, "is held to nothing: give metrics or goals", None
    for metric, tolerance in entry.tolerances.items():
        if tolerance.kind == "overlap" and entry.replications < 2:
            message = "can never be met: one run has no interval; give 2 replications or more"
            yield (*place, "metrics", metric), message, tolerance.kind
