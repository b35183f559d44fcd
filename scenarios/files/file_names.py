"""Names of files inside changes of a scenario, and the folder that they are relative to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

KEYS: Final = ("file", "csv")
"""Keys of a scenario file whose text is the name of another file."""


def located(changes: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The changes, with every name of a file in them as a path through ``folder``.

    Parameters
    ----------
    changes : mapping of str to plain data
        Values by path inside a scenario.
    folder : Path
    """
    last_steps = {path: re.split(r"[.\[\]]", path.rstrip("]"))[-1] for path in changes}
    return {path: _located(value, folder, last_steps[path]) for path, value in changes.items()}


def _located(value: Any, folder: Path, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _located(one, folder, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_located(one, folder) for one in value]
    return str(folder / value) if key in KEYS and isinstance(value, str) else value
