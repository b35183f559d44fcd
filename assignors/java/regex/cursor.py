"""A place in the text of a pattern, flags included, since they decide what is read next."""

from __future__ import annotations

from typing import Final, NoReturn

from groupsim.assignors.java.regex.nodes import PatternError

LETTERS_OF_FLAGS: Final = "idmsuxU"
_BLANKS: Final = " \t\n\x0b\f\r"


class Cursor:
    r"""Reads a pattern from left to right.

    Attributes
    ----------
    flags : frozenset of str
        Letters of the flags that hold here: ``i`` for any case, ``x`` for comments.
    """

    def __init__(self, text: str) -> None:
        self.flags: frozenset[str] = frozenset()
        self._chars = _unquoted(text)
        self._at = 0

    def peek(self) -> str:
        """The next character that has a meaning, behind blanks and comments where these may stand; "" at the end.

        A quoted character is told as a backslash and itself.
        """
        if "x" in self.flags:
            self._skip_comments()
        return self.raw()

    def raw(self, ahead: int = 0) -> str:
        """The next character as it is, or that many further on."""
        at = self._at + ahead
        return self._chars[at] if at < len(self._chars) else ""

    def take(self) -> str:
        """The next character that has a meaning; the cursor goes on."""
        char = self.peek()
        self._at += 1
        return char

    def skip(self, count: int = 1) -> str:
        """The next character as it is; the cursor goes on, by so many in all."""
        char = self.raw()
        self._at += count
        return char

    def takes(self, char: str) -> bool:
        """Whether this comes next; if so, the cursor goes on."""
        if self.peek() != char:
            return False
        self._at += 1
        return True

    def expect(self, char: str, otherwise: str) -> None:
        """Take a character that must come next."""
        if not self.takes(char):
            self.refuse(otherwise)

    def refuse(self, reason: str) -> NoReturn:
        """Raise `PatternError` with this place."""
        raise PatternError(f"{reason} near index {min(self._at, len(self._chars))}")

    def _skip_comments(self) -> None:
        while (char := self.raw()) and char in _BLANKS + "#":
            self._at += 1
            if char == "#":
                while self.raw() not in ("", "\n", "\r"):
                    self._at += 1


def _unquoted(text: str) -> list[str]:
    r"""The characters, those between ``\Q`` and ``\E`` with a backslash each: they mean themselves.

    Source: java.util.regex.Pattern.RemoveQEQuoting (OpenJDK 17).
    """
    found: list[str] = []
    at, quoting = 0, False
    while at < len(text):
        pair = text[at : at + 2]
        if pair == ("\\E" if quoting else "\\Q"):
            quoting, at = not quoting, at + 2
        elif pair[0] == "\\" and not quoting:
            found += pair
            at += len(pair)
        else:
            found.append(f"\\{text[at]}" if quoting else text[at])
            at += 1
    return found
