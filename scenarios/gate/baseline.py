"""Baselines: what the runs of a suite gave when somebody last looked, as YAML with a value a line, sorted.

Every line says whole what it is about, so that a difference of two versions reads without its surroundings::

    scenarios:
      kill-detection/replications: 2
      kill-detection/resolved: 'c0ffee123456'
      kill-detection/seed: 1
    values:
      kill-detection/billing/duplicates/0: 352
      kill-detection/billing/duplicates/1: 818
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator, ValidationError

from groupsim.scenarios.build.problems import Finding, findings_of, problems_of
from groupsim.scenarios.errors import Problem, ScenarioFileError
from groupsim.scenarios.files.base_model import FileModel, FormatVersion, checked
from groupsim.scenarios.files.text_files import read_bytes
from groupsim.scenarios.files.yaml_text import YamlDocument, read_yaml
from groupsim.scenarios.gate.tolerances import METRICS
from groupsim.scenarios.schema.goals import RECOVERY_LAG
from groupsim.scenarios.sweep.design import REPLICATIONS_MAX, SEED_MAX

Key: TypeAlias = tuple[str, str, str]
"""Entry of the suite, group, metric."""
Values: TypeAlias = tuple[float | None, ...]
"""Of one metric: element r is replication r; None for null."""

MARK: Final = "# groupsim baseline"
"""How every baseline begins; a file that begins otherwise is somebody else's."""
_LARGEST: Final = 1e18
_FACTS: Final = {"replications": REPLICATIONS_MAX, "resolved": 0, "seed": SEED_MAX}
_RESOLVED: Final = 12
_REPLICATION: Final = re.compile(r"0|[1-9]\d{0,6}", re.ASCII)


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise ValueError("must be a number or null")
    return value


class BaselineFile(FileModel):
    """A baseline, as it is written."""

    baseline: FormatVersion
    versions: dict[str, str]
    scenarios: dict[str, int | str]
    values: dict[str, Annotated[Any, BeforeValidator(checked(_number))]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Which runs of an entry a baseline holds; ``resolved`` is the `fingerprint` of their scenario."""

    resolved: str
    seed: int
    replications: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What runs gave, and which runs of what these were.

    Parameters
    ----------
    versions : mapping of str to str
        Of groupsim and of the packages that have a part in the numbers, as in manifests.
    entries : mapping of str to Recorded
    values : mapping of Key to Values
    """

    versions: Mapping[str, str]
    entries: Mapping[str, Recorded]
    values: Mapping[Key, Values]

    def text(self, suite: str) -> str:
        """The file, for a suite of that name."""
        lines = [
            f"{MARK} of {suite}: what its runs gave, a value a line.",
            f"# Written by: groupsim check {shlex.quote(suite)} --update",
            "baseline: 1",
            *_section("versions", {name: f"'{version}'" for name, version in self.versions.items()}),
            *_section("scenarios", {f"{name}/{fact}": text for name, fact, text in self._facts()}),
            "values:" if self.values else "values: {}",
        ]
        for key in sorted(self.values):
            lines += [f"  {'/'.join(key)}/{r}: {_text(value)}" for r, value in enumerate(self.values[key])]
        return "\n".join(lines) + "\n"

    def _facts(self) -> Iterator[tuple[str, str, str]]:
        for name, one in self.entries.items():
            yield name, "replications", str(one.replications)
            yield name, "resolved", f"'{one.resolved}'"
            yield name, "seed", str(one.seed)


NOTHING: Final = Baseline(versions={}, entries={}, values={})


def fingerprint(document: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits that tell resolved scenarios apart where their runs may differ.

    The question and the goals are left out, but for the lag at which a group counts as recovered.
    """
    content = {key: value for key, value in document.items() if key not in ("question", "goals")}
    content[RECOVERY_LAG] = document.get("goals", {}).get(RECOVERY_LAG)
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_RESOLVED]


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file.

    Raises
    ------
    ScenarioFileError
        With everything that is wrong; a merge that was left half done is told as one.
    """
    try:
        read = read_yaml(path)
    except ScenarioFileError as refused:
        raise ScenarioFileError(str(path), [*refused.problems, *_conflict(path)]) from None
    if not isinstance(read.data, Mapping) or "baseline" not in read.data:
        raise ScenarioFileError(str(path), [Problem("", "is no baseline of a suite")])
    if isinstance(read.data["baseline"], int) and read.data["baseline"] > 1:
        message = "is the form of a later groupsim; this one reads form 1"
        raise ScenarioFileError(str(path), [Problem("baseline", message, str(read.data["baseline"]))])
    try:
        file = BaselineFile.model_validate(read.data)
    except ValidationError as refused:
        raise ScenarioFileError(str(path), problems_of(findings_of(refused), read)) from None
    return _checked(file, read, path)


def _conflict(path: Path) -> list[Problem]:
    """What to say of a file that git could not merge."""
    try:
        content = read_bytes(path)
    except ValueError:
        return []
    if not any(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in content.splitlines()):
        return []
    return [Problem("", "holds the marks of a merge: take either side, then write it anew with --update")]


def _checked(file: BaselineFile, read: YamlDocument, path: Path) -> Baseline:
    found: list[Finding] = []
    entries = _entries(file, found)
    values = _values(file, entries, found)
    if found:
        raise ScenarioFileError(str(path), problems_of(found, read))
    return Baseline(versions=file.versions, entries=entries, values=values)


def _entries(file: BaselineFile, found: list[Finding]) -> dict[str, Recorded]:
    """The entries; ``found`` takes what is wrong with them."""
    facts: dict[str, dict[str, Any]] = {}
    for key, value in file.scenarios.items():
        name, _, fact = key.rpartition("/")
        most = _FACTS.get(fact)
        fits = isinstance(value, str) if fact == "resolved" else isinstance(value, int) and 0 <= value <= (most or 0)
        if not name or most is None or not fits:
            message = "must be NAME/replications or NAME/seed with a whole number, or NAME/resolved with a text"
            found.append((("scenarios", key), message, value))
        facts.setdefault(name, {})[fact] = value
    for name, known in facts.items():
        missing = [fact for fact in _FACTS if fact not in known]
        if missing and name:
            found.append((("scenarios",), f"lacks {', '.join(f'{name}/{fact}' for fact in missing)}", None))
    return {} if found else {name: Recorded(**known) for name, known in facts.items()}


def _values(file: BaselineFile, entries: Mapping[str, Recorded], found: list[Finding]) -> dict[Key, Values]:
    """The values by key; ``found`` takes what is wrong with them."""
    gathered: dict[Key, dict[int, float | None]] = {}
    for line, value in file.values.items():
        parts = line.split("/")
        if len(parts) != 4 or parts[2] not in METRICS or not _REPLICATION.fullmatch(parts[3]):
            found.append((("values", line), "must be ENTRY/GROUP/METRIC/REPLICATION", value))
            continue
        gathered.setdefault((parts[0], parts[1], parts[2]), {})[int(parts[3])] = value
    for key, some in () if found else gathered.items():
        runs = entries[key[0]].replications if key[0] in entries else 0
        if sorted(some) != list(range(runs)):
            message = f"{'/'.join(key)} must have a value for each of {runs} replications, counted from 0"
            found.append((("values",), message, None))
    return {key: tuple(some[r] for r in sorted(some)) for key, some in gathered.items()}


def _section(name: str, content: Mapping[str, str]) -> list[str]:
    return [f"{name}:", *(f"  {key}: {content[key]}" for key in sorted(content))] if content else [f"{name}: {{}}"]


_DIGITS_SHOWN = 40
"""Longer numbers, which are tiny, have an exponent: files are refused that hold more (`scenarios.files.yaml_text`)."""


def _text(value: float | None) -> str:
    """A number that YAML reads as the same number: without an exponent, and zero without a sign."""
    if value is None:
        return "null"
    text = format(Decimal(repr(value + 0)), "f")
    return text if len(text) <= _DIGITS_SHOWN else f"{value:.16e}"
