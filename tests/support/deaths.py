"""Work in a process of its own that dies, as by SIGKILL, just before one of the changes it makes to files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link")
_WRITING = os.O_WRONLY | os.O_RDWR


def killed_before_change(work: Callable[[], Any], below: Path, number: int) -> bool:
    """Whether the process died: before the ``number``-th change below a folder, counted from 0.

    Nothing is tidied up and no buffer is written, as after SIGKILL.
    """
    pid = os.fork()
    if pid == 0:
        try:
            _die_before(below, number)
            work()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 137), f"the process itself failed: {code}"
    return code == 137


def _die_before(below: Path, number: int) -> None:
    left = number

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        is_change = event in _CHANGES or (event == "open" and bool(arguments[2] & _WRITING))
        if is_change and str(below) in os.fsdecode(
            arguments[0] if isinstance(arguments[0], str | bytes | Path) else b""
        ):
            if left == 0:
                os._exit(137)
            left -= 1

    sys.addaudithook(look)
