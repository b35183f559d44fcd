"""Scenario files, the library of built-in ones, and what runs them. Names are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from groupsim.scenarios.errors import Problem, ScenarioFileError
    from groupsim.scenarios.loading import list_names, load, load_document, parse, set_path
    from groupsim.scenarios.notes import warnings_of
    from groupsim.scenarios.schema import json_schema

_HOMES: Final = {
    "Problem": "groupsim.scenarios.errors",
    "ScenarioFileError": "groupsim.scenarios.errors",
    "json_schema": "groupsim.scenarios.schema",
    "list_names": "groupsim.scenarios.loading",
    "load": "groupsim.scenarios.loading",
    "load_document": "groupsim.scenarios.loading",
    "parse": "groupsim.scenarios.loading",
    "set_path": "groupsim.scenarios.loading",
    "warnings_of": "groupsim.scenarios.notes",
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
