r"""Sets of ASCII characters by name, as ``java.util.regex`` has them: ``\w``, ``\p{Alpha}``, ``\p{Lu}``.

Source: java.util.regex.Pattern, CharPredicates (OpenJDK 17).
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final
from unicodedata import category

from groupsim.assignors.java.regex.nodes import PatternError

ALL: Final = (1 << 128) - 1


def mask_of(chars: Iterable[str]) -> int:
    """The set of some characters; those beyond ASCII, which no topic has, are left out."""
    mask = 0
    for char in chars:
        mask |= 1 << ord(char) if ord(char) < 128 else 0
    return mask


def between(first: int, last: int) -> int:
    """The set of the characters with codes from ``first`` to ``last``."""
    return mask_of(map(chr, range(first, min(last, 127) + 1)))


LOWER: Final = mask_of(string.ascii_lowercase)
UPPER: Final = mask_of(string.ascii_uppercase)
DIGITS: Final = mask_of(string.digits)
LETTERS: Final = LOWER | UPPER
WORD: Final = LETTERS | DIGITS | mask_of("_")
PUNCTUATION: Final = mask_of(string.punctuation)
CONTROL: Final = between(0, 31) | 1 << 127
LINE_ENDS: Final = mask_of("\n\r")

ESCAPES: Final[Mapping[str, int]] = MappingProxyType(
    {"d": DIGITS, "w": WORD, "s": mask_of(" \t\n\x0b\f\r"), "h": mask_of(" \t"), "v": mask_of("\n\x0b\f\r")}
)
r"""What a backslash and a small letter stand for; with the capital letter it is all others."""

_POSIX: Final = {
    "Lower": LOWER, "Upper": UPPER, "ASCII": ALL, "Alpha": LETTERS, "Digit": DIGITS, "Alnum": LETTERS | DIGITS,
    "Punct": PUNCTUATION, "Graph": LETTERS | DIGITS | PUNCTUATION, "Print": LETTERS | DIGITS | PUNCTUATION | 1 << 32,
    "Blank": mask_of(" \t"), "Cntrl": CONTROL, "XDigit": mask_of(string.hexdigits), "Space": ESCAPES["s"],
    "L1": ALL, "all": ALL,
}  # fmt: skip
_JAVA: Final = {
    "LowerCase": LOWER, "UpperCase": UPPER, "TitleCase": 0, "Alphabetic": LETTERS, "Ideographic": 0, "Digit": DIGITS,
    "Defined": ALL, "Letter": LETTERS, "LetterOrDigit": LETTERS | DIGITS, "SpaceChar": 1 << 32, "Mirrored":
    mask_of("()<>[]{}"), "ISOControl": CONTROL, "Whitespace": between(9, 13) | between(28, 32),
    "JavaIdentifierStart": LETTERS | mask_of("_$"), "UnicodeIdentifierStart": LETTERS,
    "JavaIdentifierPart": WORD | mask_of("$") | between(0, 8) | between(14, 27) | 1 << 127,
    "UnicodeIdentifierPart": WORD | between(0, 8) | between(14, 27) | 1 << 127,
    "IdentifierIgnorable": between(0, 8) | between(14, 27) | 1 << 127,
}  # fmt: skip
_PUNCTUATION_MARKS: Final = mask_of(one for one in string.punctuation if category(one).startswith("P"))
_BINARY: Final = {
    "ALPHABETIC": LETTERS, "LETTER": LETTERS, "IDEOGRAPHIC": 0, "LOWERCASE": LOWER, "UPPERCASE": UPPER, "TITLECASE": 0,
    "WHITE_SPACE": between(9, 13) | 1 << 32, "WHITESPACE": between(9, 13) | 1 << 32, "CONTROL": CONTROL,
    "PUNCTUATION": _PUNCTUATION_MARKS, "PUNCT": _PUNCTUATION_MARKS,
    "HEX_DIGIT": mask_of(string.hexdigits), "HEXDIGIT": mask_of(string.hexdigits), "ASSIGNED": ALL,
    "NONCHARACTER_CODE_POINT": 0, "NONCHARACTERCODEPOINT": 0, "DIGIT": DIGITS, "ALNUM": LETTERS | DIGITS,
    "BLANK": mask_of(" \t"), "GRAPH": LETTERS | DIGITS | PUNCTUATION, "PRINT": LETTERS | DIGITS | PUNCTUATION | 1 << 32,
    "WORD": WORD, "JOIN_CONTROL": 0, "JOINCONTROL": 0, "ALPHA": LETTERS, "LOWER": LOWER, "UPPER": UPPER,
    "SPACE": between(9, 13) | 1 << 32, "CNTRL": CONTROL, "XDIGIT": mask_of(string.hexdigits),
}  # fmt: skip
_SCRIPTS: Final = {"LATIN": LETTERS, "LATN": LETTERS, "COMMON": ALL & ~LETTERS, "ZYYY": ALL & ~LETTERS}
_OTHER_SCRIPTS: Final = ("GREEK", "CYRILLIC", "HAN", "HIRAGANA", "KATAKANA", "HANGUL", "ARABIC", "HEBREW", "THAI")
_BLOCKS: Final = {"BASICLATIN": ALL, "GREEK": 0, "CYRILLIC": 0}
_CATEGORIES: Final = (
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs",
    "Pd", "Ps", "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf",
)  # fmt: skip


def property_of(name: str) -> int:
    r"""The set of a property: what stands in the braces of ``\p{...}``.

    Raises
    ------
    PatternError
        Java knows no such property; or it does, of characters that no topic has.
    """
    key, found, value = name.partition("=")
    if found:
        table = {"sc": _script, "script": _script, "blk": _block, "block": _block}
        table |= {"gc": _general, "general_category": _general}
        mask = table[key.lower()](value) if key.lower() in table else None
    elif name.startswith("In"):
        mask = _block(name[2:])
    elif name.startswith("Is"):
        own = name[2:]
        mask = next((one for one in (_BINARY.get(own.upper()), _general(own), _script(own)) if one is not None), None)
    else:
        mask = _POSIX[name] if name in _POSIX else _general(name)
        mask = _JAVA.get(name[4:]) if mask is None and name.startswith("java") else mask
    if mask is None:
        raise PatternError(f"unknown character property name {{{name}}}")
    return mask


def _general(name: str) -> int | None:
    """A general category: ``Lu``, all of ``L``, or ``LC`` and ``LD``."""
    own = {"LC": ("Lu", "Ll", "Lt"), "LD": ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd")}.get(name)
    wanted = own or tuple(one for one in _CATEGORIES if one == name or (len(name) == 1 and one.startswith(name)))
    return mask_of(char for char in map(chr, range(128)) if category(char) in wanted) if wanted else None


def _script(name: str) -> int | None:
    return 0 if name.upper() in _OTHER_SCRIPTS else _SCRIPTS.get(name.upper())


def _block(name: str) -> int | None:
    return _BLOCKS.get(name.upper().replace(" ", "").replace("_", "").replace("-", ""))


def any_case(mask: int) -> int:
    """The set with the other case of every letter in it."""
    return mask | (mask & UPPER) << 32 | (mask & LOWER) >> 32
