"""The files: gzip-compressed JSON lines, one conversation each."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

_NEEDED = frozenset(["name", "kind", "needs", "initial", "steps"])


class WrongFolder(Exception):
    """The folder holds no conversations, or one that cannot be read."""


def read_folder(folder: Path) -> list[dict[str, Any]]:
    """Every conversation of every file, in order of the files' names.

    Raises
    ------
    WrongFolder
        In one line, if there is no such folder, no such file in it, or a file that is none.
    """
    if not folder.is_dir():
        raise WrongFolder(f"{folder}: there is no such folder")
    files = sorted(folder.glob("*.jsonl.gz"))
    if not files:
        raise WrongFolder(f"{folder}: there is no file named *.jsonl.gz")
    return [one for file in files for one in _read_file(file)]


def _read_file(file: Path) -> list[dict[str, Any]]:
    conversations = []
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                one = json.loads(line)
                if not isinstance(one, dict) or not one.keys() >= _NEEDED:
                    raise WrongFolder(f"{file}, line {number}: not a conversation with a group coordinator")
                conversations.append(one)
    except (OSError, EOFError, ValueError, RecursionError) as error:
        raise WrongFolder(f"{file}: cannot be read ({str(error).splitlines()[0]})") from None
    return conversations
