r"""What stands behind a backslash: characters by their code, and sets of them."""

from __future__ import annotations

import unicodedata
from typing import Final

from groupsim.assignors.java.regex.classes import ALL, ESCAPES, LETTERS, any_case, mask_of, property_of
from groupsim.assignors.java.regex.cursor import Cursor
from groupsim.assignors.java.regex.nodes import PatternError

_HEX: Final = "0123456789abcdefABCDEF"
_OCTAL: Final = "01234567"
_CASES: Final = ("LOWER", "UPPER", "LU", "LL", "LT", "LOWERCASE", "UPPERCASE", "TITLECASE")
"""Properties that are those of every letter with a case where case does not matter."""
_PLAIN: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


def set_behind(cursor: Cursor) -> int | None:
    r"""The set of ``\d``, ``\p{Lu}`` and the like, if one comes next behind a backslash; the cursor goes on then.

    Source: java.util.regex.Pattern.escape, family (OpenJDK 17).
    """
    letter = cursor.raw()
    if letter in ("p", "P"):
        cursor.skip()
        mask = _property(cursor)
    elif letter and letter.lower() in ESCAPES:
        cursor.skip()
        mask = ESCAPES[letter.lower()]
    else:
        return None
    return ALL & ~mask if letter.isupper() else mask


def _property(cursor: Cursor) -> int:
    if cursor.raw() != "{":
        name = cursor.skip()
    else:
        cursor.skip()
        name = _until("}", cursor, "Unclosed character family")
        if not name:
            cursor.refuse("Empty character family")
    try:
        mask = property_of(name)
    except PatternError as reason:
        cursor.refuse(str(reason))
    own = name.rpartition("=")[2].removeprefix("Is").removeprefix("java").upper()
    return LETTERS if "i" in cursor.flags and own in _CASES else mask


def _until(end: str, cursor: Cursor, otherwise: str) -> str:
    found = ""
    while (char := cursor.skip()) != end:
        if not char:
            cursor.refuse(otherwise)
        found += char
    return found


def char_behind(cursor: Cursor) -> str:
    r"""The character that stands behind a backslash, by its code or as it is.

    Source: java.util.regex.Pattern.escape, o, x, u, c, N (OpenJDK 17).
    """
    letter = cursor.skip()
    match letter:
        case "0":
            return chr(int(_octal(cursor), 8))
        case "x":
            return _hexadecimal(cursor)
        case "u":
            return chr(int(_digits(4, cursor, "Illegal Unicode escape sequence"), 16))
        case "c":
            if not (control := cursor.skip()):
                cursor.refuse("Illegal control escape sequence")
            return chr(ord(control) ^ 64)
        case "N":
            return _named(cursor)
        case _ if letter in _PLAIN:
            return _PLAIN[letter]
        case _ if not letter:
            cursor.refuse("Unexpected internal error")
        case _ if letter.isascii() and letter.isalnum():
            cursor.refuse("Illegal/unsupported escape sequence")
    return letter


def _octal(cursor: Cursor) -> str:
    """One digit to three, the first of three not above 3."""
    digits = ""
    while cursor.raw() and cursor.raw() in _OCTAL and len(digits) < (3 if digits[:1] in ("", *"0123") else 2):
        digits += cursor.skip()
    if not digits:
        cursor.refuse("Illegal octal escape sequence")
    return digits


def _digits(count: int, cursor: Cursor, otherwise: str) -> str:
    digits = "".join(cursor.skip() for _ in range(count))
    if len(digits) < count or not set(digits) <= set(_HEX):
        cursor.refuse(otherwise)
    return digits


def _hexadecimal(cursor: Cursor) -> str:
    if cursor.raw() != "{":
        return chr(int(_digits(2, cursor, "Illegal hexadecimal escape sequence"), 16))
    cursor.skip()
    digits = _until("}", cursor, "Unclosed hexadecimal escape sequence")
    if not digits or not set(digits) <= set(_HEX):
        cursor.refuse("Unclosed hexadecimal escape sequence")
    if len(digits) > 20 or int(digits, 16) > 0x10FFFF:
        cursor.refuse("Hexadecimal codepoint is too big")
    return chr(int(digits, 16))


def _named(cursor: Cursor) -> str:
    if cursor.skip() != "{":
        cursor.refuse("Illegal character name escape sequence")
    name = _until("}", cursor, "Unclosed character name escape sequence")
    try:
        return unicodedata.lookup(name)
    except KeyError:
        cursor.refuse(f"Unknown character name [{name}]")


def single(char: str, cursor: Cursor) -> int:
    """The set of one character, in both cases where the flags say so."""
    if "i" not in cursor.flags:
        return mask_of(char)
    folded = char.upper()[:1].lower()[:1] if "u" in cursor.flags else char
    return any_case(mask_of(folded))
