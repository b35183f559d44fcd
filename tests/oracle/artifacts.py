"""Kafka's artifacts and our own programs: found, built by Maven if need be, put on a class path."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.oracle.failures import CannotPlay, OracleError, WentWrong

PROJECT = Path(__file__).with_name("java")
JAVA_VERSION_MIN = 17
KAFKA_VERSION = "4.4.0"
_BUILD_S = 900


def java() -> str:
    """The Java to start (``JAVA_HOME``, else ``PATH``).

    Raises
    ------
    CannotPlay
        There is none, or it is too old.
    """
    version = java_version()
    if int(version.partition(".")[0]) < JAVA_VERSION_MIN:
        raise CannotPlay(f"the oracle needs Java {JAVA_VERSION_MIN} or newer; this one is {version}")
    return _java()


def java_version() -> str:
    """What ``java -version`` says, such as 17.0.15."""
    try:
        told = subprocess.run([_java(), "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        raise CannotPlay("no Java: the oracle needs a JDK, 17 or newer (JAVA_HOME, or java on the PATH)") from None
    found = re.search(r'version "([^"]+)"', told.stderr + told.stdout)
    return found[1] if found else "0"


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def class_path(project: Path = PROJECT) -> str:
    """The class path of the built project; Maven builds it first when a source has changed.

    Raises
    ------
    CannotPlay
        No Maven, or artifacts that cannot be reached.
    WentWrong
        Sources do not compile.
    """
    target = project / "target"
    stamp, digest = target / "sources.sha256", _digest(project)
    if not stamp.exists() or stamp.read_text() != digest:
        _build(project)
        stamp.write_text(digest)
    return f"{target / 'classes'}:{target / 'dependency'}/*"


def _digest(project: Path) -> str:
    files = [project / "pom.xml", *sorted((project / "src").rglob("*.*"))]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(project).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _build(project: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise CannotPlay("no Maven: the oracle is built with mvn (Debian: maven), which is not on the PATH")
    command = [maven, "-q", "-B", "-f", str(project / "pom.xml"), "package", "dependency:copy-dependencies"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    except subprocess.TimeoutExpired:
        raise CannotPlay(f"Maven has not built the oracle within {_BUILD_S} s") from None
    if told.returncode:
        raise _failure(told.stdout + told.stderr)


def _failure(told: str) -> OracleError:
    errors = re.findall(r"\[ERROR\]\S* (.+)", re.sub(r"\x1b\[[0-9;]*m", "", told)) or ["no reason given"]
    unreachable = [one for one in errors if re.search(r"Could not (transfer|find|resolve)|cannot access|offline", one)]
    if unreachable:
        return CannotPlay(f"Kafka's artifacts are out of reach of Maven: {_short(unreachable[0])}")
    return WentWrong(f"Maven could not build the oracle: {_short(errors[0])}")


def _short(text: str) -> str:
    return text if len(text) <= 300 else text[:297] + "..."
