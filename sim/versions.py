"""Which model this is: the versions of what has a part in the numbers, and a digest of the rules themselves."""

from __future__ import annotations

import platform
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import groupsim

_PACKAGES = ("sim", "assignors")
"""Whose sources decide what a run gives."""


@cache
def versions() -> dict[str, str]:
    """Of Python and of everything that has a part in the numbers."""
    found = {"python": platform.python_version()}
    for package in ("groupsim", "simpy", "numpy", "pandas"):
        try:
            found[package] = _version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _version(package: str) -> str:
    """What `importlib.metadata.version` says, which reads a package's whole description for it."""
    head, _, _ = (distribution(package).read_text("METADATA") or "").partition("\n\n")
    told = next((line for line in head.splitlines() if line.startswith("Version: ")), None)
    return told.removeprefix("Version: ") if told is not None else version(package)


@cache
def source_digest() -> str:
    """SHA-256 over the sources of the model: it differs as soon as a rule does, whatever the version says."""
    top = Path(groupsim.__file__).parent
    state = sha256()
    for file in sorted(file for package in _PACKAGES for file in (top / package).rglob("*.py")):
        state.update(f"{file.relative_to(top).as_posix()}\x1e".encode() + file.read_bytes())
    return state.hexdigest()
