"""Scenario files, the library of built-in ones, and what runs them. Names are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from groupsim.scenarios.build.loading import list_names, load, load_document, parse, set_path
    from groupsim.scenarios.build.notes import warnings_of
    from groupsim.scenarios.errors import Problem, ScenarioFileError
    from groupsim.scenarios.schema.scenario_file import json_schema

_HOMES: Final = {
    "Problem": "groupsim.scenarios.errors",
    "ScenarioFileError": "groupsim.scenarios.errors",
    "json_schema": "groupsim.scenarios.schema.scenario_file",
    "list_names": "groupsim.scenarios.build.loading",
    "load": "groupsim.scenarios.build.loading",
    "load_document": "groupsim.scenarios.build.loading",
    "parse": "groupsim.scenarios.build.loading",
    "set_path": "groupsim.scenarios.build.loading",
    "warnings_of": "groupsim.scenarios.build.notes",
}

__all__ = [
    "Problem",
    "ScenarioFileError",
    "json_schema",
    "list_names",
    "load",
    "load_document",
    "parse",
    "set_path",
    "warnings_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
