"""Files that users name: their text, or in a sentence why there is none; and texts written to them."""

from __future__ import annotations

import csv
import io
import os
import re
from contextlib import suppress
from io import FileIO
from pathlib import Path
from stat import S_ISFIFO
from typing import Final

from groupsim.sim.errors import ConfigError

BYTES_MAX: Final = 16 << 20
"""No file that means to be text is longer; a device may never end."""
ROWS_MAX: Final = 1_000_000
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def read_bytes(path: Path, most: int = BYTES_MAX) -> bytes:
    """The content of a file.

    Raises
    ------
    ValueError
        It cannot be read, is a pipe or device that may never answer, or has more than ``most`` bytes.
    """
    try:
        with open(path, "rb", buffering=0, opener=_opened_at_once) as file:
            content = _content(file, most + 1)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ValueError(f"cannot be read: {reason}") from None
    if len(content) > most:
        raise ValueError(f"is longer than {most >> 20} MiB")
    return content


def is_there(path: Path) -> bool:
    """Whether there is something at a path; there is nothing where no file can be, such as below a name too long."""
    try:
        return path.exists()
    except OSError:
        return False


def _opened_at_once(name: str, flags: int) -> int:
    """A descriptor: to open a pipe that nobody writes into would take for ever."""
    return os.open(name, flags | os.O_NONBLOCK)


def _content(file: FileIO, most: int) -> bytes:
    """The first bytes of a file; of a pipe with a writer (``<(...)`` in a shell), what it will have written."""
    begin = file.read(most)  # None: there is a writer, which has not written yet
    if begin == b"" and S_ISFIFO(os.fstat(file.fileno()).st_mode):
        raise ValueError("it is a pipe into which nobody writes")
    os.set_blocking(file.fileno(), True)
    parts = [begin or b""]
    while (missing := most - sum(map(len, parts))) and (more := file.read(missing)):
        parts.append(more)
    return b"".join(parts)


def read_text(path: Path, most: int = BYTES_MAX) -> str:
    """The text of a UTF-8 file, with or without a byte order mark.

    Raises
    ------
    ValueError
        It cannot be read, is too long, or is no UTF-8; the message begins with the path.
    """
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not UTF-8") from None
    except ValueError as reason:
        raise ValueError(f"{path}: {reason}") from None


def read_csv(path: Path) -> list[list[str]]:
    """The rows of a CSV file without blank ones, cells without blanks around them.

    Raises
    ------
    ValueError
        As `read_text`, or it is no CSV, or has more than a million rows.
    """
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(read_text(path), newline="")):
            if row:
                rows.append([cell.strip() for cell in row])
            if len(rows) > ROWS_MAX:
                raise ValueError(f"{path}: has more than {ROWS_MAX:,} rows")
    except csv.Error as reason:
        raise ValueError(f"{path}: is no CSV: {reason}") from None
    return rows


def plain_number(text: str) -> float:
    """The number that a text is, as everybody writes them: what Python reads as one besides (``1_0``, ``٣``) is none.

    Raises
    ------
    ValueError
        It is none.
    """
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no number")
    return float(text)


def refuse_foreign(path: Path, mark: str) -> None:
    """Check that a text may be written to ``path``: there is nothing, or what groupsim wrote before, or nothing in it.

    Parameters
    ----------
    path : Path
    mark : str
        How such a text begins.

    Raises
    ------
    ConfigError
        Something else is there, or no file can be.
    """
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is no file: name another")
        begin = path.read_bytes()[: len(mark.encode())] if path.exists() else b""
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    if begin and begin != mark.encode():
        raise ConfigError(f"{path} exists and was not written by groupsim: left alone; name another")


def write_text(path: Path, text: str, mark: str) -> None:
    """Write a text, all of it or nothing; what groupsim wrote before is replaced.

    Raises
    ------
    ConfigError
        It may not be written there (`refuse_foreign`), or cannot.
    """
    refuse_foreign(path, mark)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            scratch.unlink()
