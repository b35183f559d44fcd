"""Kafka's own assignors, asked over a pipe: one Java process, a line of JSON out, a line in.

Maven fetches Kafka's artifacts and compiles the program the first time. The process ends with its input, so it ends
with whoever asked, however that one ends.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

PROJECT = Path(__file__).parent / "java"
JAVA_VERSION_MIN = 17
_LIBRARIES = PROJECT / "target" / "lib"
_STAMP = PROJECT / "target" / "referee.stamp"
_MAIN = "groupsim.oracle.referee.Referee"
_BUILD_S = 900
_ANSWERS_S = 300
_END_S = 10
# after many exceptions of one kind the compiled code throws them without a message, and messages are compared
_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:-OmitStackTraceInFastThrow", "-Dlog4j2.level=OFF")


class RefereeMissing(Exception):
    """Kafka's assignors cannot be had here; the message says what for want of."""


class RefereeFailed(Exception):
    """The Java program does not compile, or it has ended."""


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise RefereeMissing(f"no {program} on the PATH: Kafka's own assignors need Java {JAVA_VERSION_MIN} and Maven")
    return path


def _java() -> str:
    java = _found("java")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < JAVA_VERSION_MIN:
        first = said.strip().partition("\n")[0] or "java says nothing"
        raise RefereeMissing(f"Kafka's own assignors need Java {JAVA_VERSION_MIN} or newer: {first}")
    return java


def _build() -> None:
    """Compile what has changed since the last time.

    Raises
    ------
    RefereeMissing
        No Maven, or Maven cannot get the artifacts.
    RefereeFailed
        The program does not compile.
    """
    sources = [PROJECT / "pom.xml", *(PROJECT / "src").rglob("*.java")]
    if _STAMP.exists() and _STAMP.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return
    command = [_found("mvn"), "-q", "-B", "compile", "dependency:copy-dependencies", f"-DoutputDirectory={_LIBRARIES}"]
    try:
        built = subprocess.run(
            command, cwd=PROJECT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=_BUILD_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RefereeMissing(f"Maven has not got Kafka's artifacts within {_BUILD_S} s") from None
    if built.returncode:
        said = re.findall(r"^.*\[ERROR\].*?(\w.*)$", built.stdout + built.stderr, re.MULTILINE)
        if any("Compilation failure" in line or "COMPILATION ERROR" in line for line in said):
            raise RefereeFailed("\n".join(said[:10]))
        raise RefereeMissing(f"Maven cannot get Kafka's artifacts: {(said or ['it says nothing'])[0][:300]}")
    _STAMP.touch()


class Referee:
    """Kafka's assignors, as long as the block lasts.

    Raises
    ------
    RefereeMissing
        No Java, no Maven, or no artifacts.
    RefereeFailed
        The program does not compile.
    """

    def __enter__(self) -> Referee:
        java = _java()
        _build()
        class_path = f"{PROJECT / 'target' / 'classes'}:{_LIBRARIES}/*"
        self._last_words = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [java, *_OPTIONS, "-cp", class_path, _MAIN],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._last_words, text=True, encoding="utf-8",
        )  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(_END_S)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._last_words.close()

    def answers(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What Kafka's assignors answer.

        Parameters
        ----------
        calls : list of dict
            In the form of tests/golden/assignors. The user data of sticky may also be `{"received", "generation"}`:
            what Kafka's assignor sends once it was assigned that list.

        Returns
        -------
        list of dict
            Of each call: `assignment`, or `error` and `error_message` where Kafka throws.

        Raises
        ------
        RefereeFailed
            The Java program has ended, or was ended because it did not answer: some inputs keep Kafka busy for ever.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        limit = threading.Timer(_ANSWERS_S, self._process.kill)
        limit.start()
        try:
            self._process.stdin.write(json.dumps(calls) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            limit.cancel()
        if not line:
            asked = f"{calls[0]['id']} .. {calls[-1]['id']}"
            self._last_words.seek(0)
            raise RefereeFailed(f"Kafka's assignors have ended over {asked}: {self._last_words.read()[:2000]}")
        answers: list[dict[str, Any]] = json.loads(line)
        return answers
