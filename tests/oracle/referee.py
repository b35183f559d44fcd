"""Kafka's own assignors, asked over a pipe: one Java process, a line of JSON out, a line in.

Maven fetches Kafka's artifacts and compiles the program the first time. The process ends with its input, so it ends
with whoever asked, however that one ends.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from types import TracebackType
from typing import Any

from tests.oracle import artifacts

_MAIN = "groupsim.oracle.referee.Referee"
_ANSWERS_S = 300
_END_S = 10
# after many exceptions of one kind the compiled code throws them without a message, and messages are compared
_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:-OmitStackTraceInFastThrow", "-Dlog4j2.level=OFF")


class RefereeFailed(Exception):
    """The Java program has ended."""


class Referee:
    """Kafka's assignors, as long as the block lasts.

    Raises
    ------
    CannotPlay
        No Java, no Maven, or no artifacts.
    WentWrong
        The program does not compile.
    """

    def __enter__(self) -> Referee:
        self._last_words = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [artifacts.java(), *_OPTIONS, "-cp", artifacts.class_path(), _MAIN],
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
