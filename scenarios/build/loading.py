"""A scenario file or the name of a built-in one -> `sim.model.Scenario`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from groupsim.scenarios.build.checks import check_names
from groupsim.scenarios.build.cluster_checks import check_cluster
from groupsim.scenarios.build.completion import found_beside, is_within
from groupsim.scenarios.build.data_checks import check_data
from groupsim.scenarios.build.kafka_checks import check_kafka_rules
from groupsim.scenarios.build.past_checks import places
from groupsim.scenarios.build.paths import set_path
from groupsim.scenarios.build.problems import Finding, findings_of, problems_of, with_ids
from groupsim.scenarios.build.scenario import build_scenario
from groupsim.scenarios.build.target_checks import check_targets
from groupsim.scenarios.errors import PROBLEMS_MAX, Problem, ScenarioFileError, nearest, shown
from groupsim.scenarios.files.file_names import located
from groupsim.scenarios.files.text_files import is_there
from groupsim.scenarios.files.yaml_text import YamlDocument, read_trapped, read_yaml
from groupsim.scenarios.kafka.assignor_names import why_not_loaded, why_not_together
from groupsim.scenarios.schema.key_places import home
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.sim.errors import CannotBeginAged
from groupsim.sim.model import Scenario

__all__ = ["LIBRARY", "list_names", "load", "load_document", "parse", "path_of", "set_path"]

LIBRARY: Final = Path(__file__).parents[1] / "library"
SWEEPS: Final = LIBRARY / "sweeps"
_OF_THE_OTHER_KIND: Final = {
    LIBRARY: "is a scenario and no sweep: groupsim run {0}",
    SWEEPS: "is a sweep and no scenario: groupsim sweep {0} --out DIR (groupsim scenarios show {0} --sweep prints it)",
}
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def list_names() -> list[str]:
    """The names of the built-in scenarios."""
    return names_in(LIBRARY)


def names_in(library: Path) -> list[str]:
    """The names of the files in a library."""
    return sorted(path.stem for path in library.glob("*.yaml"))


def load(source: str | Path, *, set_: Mapping[str, Any] = _NOTHING, allow_code: Sequence[str] = ()) -> Scenario:
    """The scenario in a file, or a built-in one.

    Parameters
    ----------
    source : str or Path
        The name of a built-in scenario, or the path of a file.
    set_ : mapping of str to plain data
        Values by path, set before the file is checked (`scenarios.build.paths.set_path`). Files that they name are
        looked up from the working directory; those that the scenario names, beside it.
    allow_code : sequence of str
        Assignors of the user's own as ``module:Class``, which are imported, and so run.

    Raises
    ------
    ScenarioFileError
        With every problem found.
    TypeError
        ``set_`` is no mapping.
    """
    if not isinstance(set_, Mapping):
        raise TypeError(f"set_ takes values by path, such as {{'groups.billing.members.count': 20}}, not {set_!r}")
    path = path_of(source)
    read = read_trapped(path)
    document = YamlDocument(_mapping(read, str(source)), dict(read.lines), read.traps, read.unread)
    problems: list[Problem] = []
    for where, value in located(set_, Path.cwd()).items():
        try:
            place = set_path(document.data, where, value)
        except ScenarioFileError as refused:
            problems += refused.problems
            continue
        kept = {one: line for one, line in document.lines.items() if one[: len(place)] != place}
        document = replace(document, lines={**kept, place: 0})
    try:
        found = _parse(document, file=str(source), name=path.stem, folder=path.parent, allow_code=allow_code)
    except ScenarioFileError as refused:
        raise ScenarioFileError(refused.file, [*problems, *refused.problems]) from None
    if problems:
        raise ScenarioFileError(str(source), problems)
    return found


def not_aged(source: str | Path, scenario: Scenario, refused: CannotBeginAged) -> ScenarioFileError:
    """What a run of a loaded scenario has shown not to be as its file says, with lines."""
    file = ScenarioFile.model_validate(scenario.document, context={"allow_code": scenario.allow_assignors})
    return ScenarioFileError(str(source), problems_of(places(file, refused.groups), read_yaml(path_of(source))))


def load_document(source: str | Path) -> dict[str, Any]:
    """The plain data of a scenario file, not checked beyond YAML's traps."""
    return _mapping(read_yaml(path_of(source)), str(source))


def path_of(source: str | Path, library: Path = LIBRARY, kind: str = "scenario") -> Path:
    """The file of a built-in scenario's name, or the path as it is.

    Parameters
    ----------
    source : str or Path
    library : Path
        Where built-in ones are.
    kind : str
        What errors call them.

    Raises
    ------
    ScenarioFileError
        There is neither a built-in one nor a file of that name, or the name is no UTF-8: manifests could not hold it.
    """
    text, path = str(source), Path(source)
    if not text:
        raise ScenarioFileError("the name", [Problem("", f"is empty: name a built-in {kind}, or a file")])
    if re.search("[\ud800-\udfff]", text):
        raise ScenarioFileError(text, [Problem("", "has a name that is not UTF-8: rename the file")])
    if text not in names_in(library) and (path.suffix or is_there(path) or len(path.parts) > 1):
        return path
    return built_in(text, library, f"is neither a file nor a built-in {kind}")


def built_in(name: str, library: Path, refusal: str = "is not built in") -> Path:
    """The file of a name in a library.

    Raises
    ------
    ScenarioFileError
        There is none; it says so in the words of ``refusal`` and lists the names.
    """
    known = names_in(library)
    if name in known:
        return library / f"{name}.yaml"
    for other, hint in _OF_THE_OTHER_KIND.items():
        if name in names_in(other):
            raise ScenarioFileError(name, [Problem("", hint.format(name))])
    raise ScenarioFileError(name, [Problem("", f"{refusal}; {nearest(name, known)}built-in: {', '.join(known)}")])


def parse(
    document: Mapping[str, Any], *, file: str, name: str, folder: Path | None = None, allow_code: Sequence[str] = (),
    looks_on: bool = True,
) -> Scenario:  # fmt: skip
    """The scenario of a document.

    Parameters
    ----------
    document : mapping
        Plain data, as `load_document` returns it.
    file : str
        What errors call the document.
    name : str
        The scenario's name.
    folder : Path
        Where the files that the document names are; the working directory by default.
    allow_code : sequence of str
    looks_on : bool
        Where single values are refused, look for what is wrong beside them too: takes ten times as long.

    Raises
    ------
    ScenarioFileError
        With every problem found.
    """
    whole = YamlDocument(dict(document), {})
    return _parse(whole, file=file, name=name, folder=folder or Path(), allow_code=allow_code, looks_on=looks_on)


def _parse(
    document: YamlDocument, *, file: str, name: str, folder: Path, allow_code: Sequence[str], looks_on: bool = True
) -> Scenario:
    _check_code(allow_code)
    data = _mapping(document, file)
    if "scenario" in data:
        raise ScenarioFileError(
            file, [Problem("", "names a scenario: it is a sweep, for groupsim sweep FILE --out DIR")]
        )

    remarks: list[str] = []

    def validate(data: Any) -> ScenarioFile:
        context = {"folder": folder, "allow_code": tuple(allow_code), "remarks": remarks}
        return ScenarioFile.model_validate(data, context=context)

    def check(scenario: ScenarioFile) -> list[Finding]:
        return _check(scenario, allow_code)

    refused: list[Finding] = [(place, "", None) for place in document.unread]
    unread = len(refused)
    try:
        scenario = validate(data)
        found = check(scenario) if not refused else []
    except ValidationError as error:
        refused += [one for one in findings_of(error, home) if not is_within(one[0], document.unread)]
        found = []
    if refused:
        found = [*refused[unread:], *(found_beside(refused, data, validate, check) if looks_on else ())]
    if found or document.traps:
        raise ScenarioFileError(file, [*with_ids(document.traps, data), *problems_of(found, document, file)])
    resolved = scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
    built = build_scenario(scenario, name=name, allow_code=allow_code, document=resolved)
    return replace(built, remarks=tuple(dict.fromkeys(remarks)))


def _check(scenario: ScenarioFile, allow_code: Sequence[str]) -> list[Finding]:
    """What is wrong with a file whose single values are fine."""
    found = chain(
        check_names(scenario),
        check_targets(scenario),
        check_cluster(scenario),
        check_kafka_rules(scenario, allow_code),
        check_data(scenario),
    )
    return [*islice(found, PROBLEMS_MAX)]


def _check_code(allow_code: Sequence[str]) -> None:
    problems = [Problem(path, reason) for path in allow_code if (reason := why_not_loaded(path))]
    if not problems and (reason := why_not_together(allow_code)):
        problems = [Problem(allow_code[-1], reason)]
    if problems:
        raise ScenarioFileError("--allow-code", problems)


def _mapping(document: YamlDocument, file: str) -> dict[str, Any]:
    if isinstance(document.data, dict):
        return document.data
    what = "is empty" if document.data is None else f"holds {shown(document.data)}"
    raise ScenarioFileError(file, [Problem("", f"{what}: a scenario is a mapping that begins with version: 1")])
