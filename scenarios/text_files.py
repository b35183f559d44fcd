"""Files that users name: their text, or in a sentence why there is none."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Final

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
