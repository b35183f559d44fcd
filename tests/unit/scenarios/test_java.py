"""Which Java Spark would start, and what is said where there is none. Needs no Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.scenarios.spark.java import NoJava, java_version, require_java


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25-ea" 2025-09-16', 25),
        ("nonsense", None),
    ],
)
def test_version_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, version: object) -> None:
    pretend_java(tmp_path, f"cat >&2 <<'EOF'\n{says}\nEOF")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version() == version


@pytest.mark.parametrize("script", ["exit 1", "kill -9 $$"])
def test_a_java_that_does_not_start_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    pretend_java(tmp_path, script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version() is None


def test_missing_and_old_ones_are_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoJava, match=r"17 or 21.*there is none.*--inline"):
        require_java()
    pretend_java(tmp_path, """echo 'openjdk version "11.0.2"' >&2""")
    with pytest.raises(NoJava, match="this one is Java 11"):
        require_java()


def pretend_java(home: Path, script: str) -> None:
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
