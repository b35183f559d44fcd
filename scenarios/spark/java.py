"""The Java runtime that Spark needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

JAVA_VERSION_MIN: Final = 17


class NoJava(Exception):
    """Spark cannot start: there is no Java runtime, or one that is too old."""


def java_version() -> int | None:
    """Major version of the Java that Spark would start (``JAVA_HOME``, else ``PATH``); None if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else shutil.which("java")
    try:
        told = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found[1]) if found else None


def java_missing() -> str | None:
    """What to install so that Spark can start here; None if it can."""
    found = java_version()
    if found is not None and found >= JAVA_VERSION_MIN:
        return None
    state = "there is none" if found is None else f"this one is Java {found}"
    return (
        f"Spark needs a Java runtime, version 17 or 21 (JAVA_HOME, or java on the PATH): {state}. "
        "Install one (Debian: openjdk-17-jre-headless), or run sweeps in one process with --inline."
    )


def require_java() -> None:
    """Check that Spark can start here.

    Raises
    ------
    NoJava
        If there is no Java runtime, or one older than Spark asks for.
    """
    if missing := java_missing():
        raise NoJava(missing)
