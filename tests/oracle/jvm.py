"""A JVM that is talked to in lines: commands go in as JSON, one a line; what it tells goes to a file that is read here.

Output goes through a file, not through a pipe, so that a JVM never waits for its reader. A JVM ends with its input, so
with whoever holds the other end; since one that is stopped does not notice, the kernel also kills it when its parent
dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.oracle.failures import WentWrong

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _keep_priority()


def _keep_priority() -> None:
    """Where the kernel schedules sessions (autogroup), a new one begins at nice 0, whatever its processes have."""
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))


class Jvm:
    """One running program of ours.

    Parameters
    ----------
    name : str
        For messages and for the files of its output.
    command : sequence of str
        Java, its options, the main class and the arguments.
    folder : Path
        Where its output goes.
    """

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self.is_frozen = False
        self.is_expected_to_end = False
        self.log = folder / f"{name}.out"
        self._errors = folder / f"{name}.err"
        with self.log.open("wb") as out, self._errors.open("wb") as err:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=out, stderr=err,
                start_new_session=True, preexec_fn=_die_with_parent, cwd=folder,
            )  # fmt: skip
        self._reader = self.log.open("rb")
        self._rest = b""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self.exit_code is None

    @property
    def exit_code(self) -> int | None:
        """What it has ended with; None: it has not."""
        return self._process.poll()

    def tell(self, do: str, **rest: Any) -> None:
        """Give a command.

        Raises
        ------
        WentWrong
            Nobody listens any more.
        """
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps({"do": do, **rest}).encode() + b"\n")
            stdin.flush()
        except OSError:
            raise WentWrong(self.last_words()) from None

    def text_lines(self) -> list[str]:
        """The complete lines that have come since the last call."""
        *lines, self._rest = (self._rest + self._reader.read()).split(b"\n")
        return [line.decode(errors="replace") for line in lines]

    def lines(self) -> list[dict[str, Any]]:
        """What it has told since the last call."""
        return [json.loads(line) for line in self.text_lines()]

    def check(self) -> None:
        """Raise `WentWrong` if it has ended and nobody wanted that."""
        if not self.is_expected_to_end and not self.is_alive:
            raise WentWrong(self.last_words())

    def last_words(self) -> str:
        """One line on an end that was not asked for."""
        said = [line for line in self._errors.read_text(errors="replace").splitlines() if line.strip()]
        causes = [line for line in said if "Exception" in line or "Error" in line] or said[-1:]
        code = self.exit_code
        return f"{self.name} has ended unasked (exit code {code})" + (f": {causes[-1].strip()[:300]}" if causes else "")

    # --- signals ------------------------------------------------------------------------------------------------------

    def freeze(self) -> None:
        """SIGSTOP: all its threads stand still."""
        self.is_frozen = True
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self.is_frozen = False
        os.kill(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM, and nobody waits until it is gone."""
        self.is_expected_to_end = True
        self._process.terminate()

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone; what it told until then can still be read."""
        self.is_expected_to_end = True
        self._process.kill()
        self._process.wait()

    def end(self, patience_s: float = 0) -> None:
        """Close its input and, if that has not ended it in time, kill it. Nothing of it stays open."""
        self.is_expected_to_end = True
        if self.is_frozen and self.is_alive:
            self.thaw()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
        self._reader.close()
