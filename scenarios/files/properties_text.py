"""Java properties files, read as ``java.util.Properties.load`` reads them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from groupsim.scenarios.files.text_files import read_text

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANK: Final = " \t\f"
BYTES_MAX: Final = 1 << 20


def read_properties(path: Path) -> dict[str, str]:
    r"""Keys and values of a file; of a key given twice the last value holds, as in Java.

    Raises
    ------
    ValueError
        The file cannot be read, is longer than 1 MiB, is no UTF-8, or has a malformed ``\u`` escape, or half of a
        surrogate pair, which Java reads and no table can hold.
    """
    text = read_text(path, BYTES_MAX)
    try:
        return parse_properties(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def parse_properties(text: str) -> dict[str, str]:
    r"""Keys and values of a text: comments by ``#`` or ``!``, separators ``=``, ``:`` or blanks, ``\`` to go on.

    A backslash with nothing to go on with is no pair; Java makes one of two empty texts of it.

    Source: ``java.util.Properties.load``.
    """
    pairs = [_split(line) for _, line in _logical_lines(text)]
    return {_unescape(key): _unescape(value) for key, value in pairs}


def lines_of(path: Path) -> dict[str, int]:
    """The line on which each key of a file that `read_properties` has read begins, counted from 1."""
    return {key: lines[-1] for key, lines in _lines_by_key(path).items()}


def repeated_keys(path: Path) -> dict[str, list[int]]:
    """Keys that a file gives more than once, each with its lines, counted from 1: the last holds."""
    return {key: lines for key, lines in _lines_by_key(path).items() if len(lines) > 1}


def _lines_by_key(path: Path) -> dict[str, list[int]]:
    lines: dict[str, list[int]] = {}
    for number, line in _logical_lines(read_text(path, BYTES_MAX)):
        lines.setdefault(_unescape(_split(line)[0]), []).append(number)
    return lines


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines with what continues them, each with the number of the first."""
    lines: list[tuple[int, str]] = []
    parts: list[str] = []
    first = 0
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        stripped = natural.lstrip(_BLANK)
        if not parts and (not stripped or stripped[0] in "#!"):
            continue
        first = first if parts else number
        goes_on = (len(stripped) - len(stripped.rstrip("\\"))) % 2
        parts.append(stripped[:-1] if goes_on else stripped)
        if not goes_on:
            lines.append((first, "".join(parts)))
            parts = []
        elif not any(parts):
            parts = []  # a backslash alone: what comes next begins a line
    return [*lines, (first, "".join(parts))] if parts else lines


def _split(line: str) -> tuple[str, str]:
    """The first unescaped ``=``, ``:`` or blank ends the key; blanks and one separator after it are skipped."""
    match = re.match(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", line, re.DOTALL)
    assert match is not None, "every part of the pattern may be empty"
    return match[1], match[2]


def _unescape(text: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        body = match[1]
        if body[0] == "u":
            if len(body) != 5:
                raise ValueError("malformed \\uxxxx escape")
            return chr(int(body[1:], 16))
        return _ESCAPES.get(body, body)

    units = re.sub(r"\\(u[0-9A-Fa-f]{4}|.)", replacement, text, flags=re.DOTALL)
    try:
        return units.encode("utf-16", "surrogatepass").decode("utf-16")  # Java's escapes are units of UTF-16
    except UnicodeDecodeError:
        raise ValueError("holds half of a surrogate pair, which is no character") from None
