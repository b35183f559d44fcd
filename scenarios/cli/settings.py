"""``--set PATH=VALUE``, its value read as YAML, and ``--allow-code MODULE:CLASS``."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """The values by path.

    Raises
    ------
    ScenarioFileError
        With everything that is no ``PATH=VALUE``, or whose value is no YAML.
    """
    from groupsim.scenarios.errors import Problem, ScenarioFileError
    from groupsim.scenarios.files.yaml_text import parse_yaml

    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for text in texts:
        match = re.fullmatch(r"\s*((?:[^=\[]|\[[^\]]*\])+)=(.*)", text, re.DOTALL)
        if match is None:
            problems.append(Problem(f"--set {text}", "must be PATH=VALUE, such as groups.billing.members.count=20"))
            continue
        path = match[1].strip()
        try:
            values[path] = parse_yaml(match[2], f"--set {text}").data
        except ScenarioFileError as refused:
            problems += [Problem(f"--set {path}", one.message, match[2]) for one in refused.problems]
    if problems:
        raise ScenarioFileError("command line", problems)
    return values


def listed(names: Sequence[str] | None) -> list[str]:
    """Names of options that may be given again, ``--metric a --metric b``, or with commas, ``--metric a,b``.

    Raises
    ------
    ConfigError
        One is given and names nothing, such as a variable of a shell that is not set: no option would mean all.
    """
    from groupsim.sim.errors import ConfigError

    found = [[name.strip() for name in text.split(",") if name.strip()] for text in names or ()]
    if not all(found):
        raise ConfigError("an option for names has none: write a name, or several with commas, or leave it out")
    return [name for some in found for name in some]


def import_allowed(paths: Sequence[str]) -> None:
    """Import the assignors that the user allows to run, from the working directory too.

    Raises
    ------
    ConfigError
        If one cannot be loaded.
    """
    from groupsim.assignors import AssignorError, load_classes
    from groupsim.assignors.guarded_call import thrown
    from groupsim.sim.errors import ConfigError

    if paths:
        sys.path.insert(0, str(Path.cwd()))
    for at, path in enumerate(paths):
        try:
            load_classes(paths[: at + 1])
        except AssignorError as error:
            raise ConfigError(f"--allow-code {path}: {error}") from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it is the user's code: whatever it raises, the user is told
            raise ConfigError(f"--allow-code {path}: {thrown(error)}") from error
