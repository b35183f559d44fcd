"""Files that users name: their text, or in a sentence why there is none; and texts written to them."""

from __future__ import annotations

import csv
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from groupsim.sim.errors import ConfigError

BYTES_MAX: Final = 1 << 26
"""No file that means to be text is longer; a device may never end."""


def read_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises
    ------
    ValueError
        It cannot be read, or is longer than 64 MiB.
    """
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ValueError(f"cannot be read: {reason}") from None
    if len(content) > BYTES_MAX:
        raise ValueError(f"is longer than {BYTES_MAX >> 20} MiB")
    return content


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark.

    Raises
    ------
    ValueError
        It cannot be read, is too long, or is no UTF-8; the message begins with the path.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not UTF-8") from None
    except ValueError as reason:
        raise ValueError(f"{path}: {reason}") from None


def read_csv(path: Path) -> list[list[str]]:
    """The rows of a CSV file without blank ones, cells without blanks around them.

    Raises
    ------
    ValueError
        As `read_text`, or it is no CSV.
    """
    text = read_text(path)
    try:
        return [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text, newline="")) if row]
    except csv.Error as reason:
        raise ValueError(f"{path}: is no CSV: {reason}") from None


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
