"""``--set PATH=VALUE``: changes to a scenario, their values read as YAML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from scenarios.errors import Problem, ScenarioFileError


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """The values by path.

    Raises
    ------
    ScenarioFileError
        With everything that is no ``PATH=VALUE``, or whose value is no YAML.
    """
    from scenarios.yaml_text import parse_yaml

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
