"""Scenario files, the library of built-in ones, and what runs them. Names are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from scenarios.errors import Problem, ScenarioFileError
    from scenarios.loading import list_names, load, load_document, parse, set_path
    from scenarios.notes import warnings_of
    from scenarios.schema import json_schema

_HOMES: Final = {
    "Problem": "scenarios.errors",
    "ScenarioFileError": "scenarios.errors",
    "json_schema": "scenarios.schema",
    "list_names": "scenarios.loading",
    "load": "scenarios.loading",
    "load_document": "scenarios.loading",
    "parse": "scenarios.loading",
    "set_path": "scenarios.loading",
    "warnings_of": "scenarios.notes",
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
