"""Classes of characters in brackets: unions, intersections, negations, one inside the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from groupsim.assignors.java.regex.classes import ALL, any_case, between
from groupsim.assignors.java.regex.cursor import Cursor
from groupsim.assignors.java.regex.escapes import char_behind, set_behind, single

_Set: TypeAlias = Callable[[], int]
"""Asked when the class is whole."""
_DEPTH_MAX: Final = 20


class CharClass:
    """Reads one class behind its bracket.

    Single characters are collected apart from ranges and classes, and join them at ``&&`` or at the end; those that
    come after an ``&&`` join the side before it, too.

    Source: java.util.regex.Pattern.clazz, range, BitClass (OpenJDK 17).
    """

    def __init__(self, cursor: Cursor, depth: int = 1) -> None:
        if depth > _DEPTH_MAX:
            cursor.refuse("Classes are nested too deeply")
        self._cursor, self._depth = cursor, depth
        self._bits = 0
        self._has_bits = False
        self._whole: _Set | None = None
        self._last: _Set | None = None

    def read(self, *, closes: bool = True) -> int:
        """The set; the cursor is behind the closing bracket, or before it where another class ends there."""
        is_negated = self._cursor.raw() == "^" and closes
        if is_negated:
            self._cursor.skip()
        while not self._is_over(closes=closes):
            if self._cursor.peek() == "[":
                self._cursor.skip()
                self._join(_constant(CharClass(self._cursor, self._depth + 1).read()))
            elif self._cursor.peek() == "&" and self._cursor.raw(1) == "&":
                self._intersect()
            else:
                self._element()
        found = self._whole() if self._whole is not None else 0
        found |= self._bits if self._has_bits else 0
        return ALL & ~found if is_negated else found

    def _is_over(self, *, closes: bool) -> bool:
        char = self._cursor.peek()
        if not char:
            self._cursor.refuse("Unclosed character class")
        if char != "]" or (self._whole is None and not self._has_bits):
            return False
        if closes:
            self._cursor.skip()
        return True

    def _join(self, found: _Set) -> None:
        self._last = found
        self._whole = found if self._whole is None else _union(self._whole, found)

    def _intersect(self) -> None:
        self._cursor.skip(2)
        right: _Set | None = None
        while (char := self._cursor.peek()) not in ("]", "&"):
            nested = char == "["
            if nested:
                self._cursor.skip()
            mask = _constant(CharClass(self._cursor, self._depth + 1).read(closes=nested))
            right = mask if right is None else _union(right, mask)
        if self._has_bits:
            last = self._last if self._whole is not None else self._singles
            self._join(self._singles)
            self._last, self._has_bits = last, False
        self._last = right or self._last
        if self._last is None:  # a NullPointerException of Java's, when there is something to match
            self._cursor.refuse("Bad class syntax")
        self._whole = self._last if self._whole is None else _intersection(self._whole, self._last)

    def _singles(self) -> int:
        return self._bits

    def _element(self) -> None:
        cursor = self._cursor
        if cursor.peek() == "\\":
            cursor.skip()
            if (found := set_behind(cursor)) is not None:
                self._join(_constant(found))
                return
            first = char_behind(cursor)
        else:
            first = cursor.take()[-1:]
        if cursor.peek() == "-" and cursor.raw(1) not in ("[", "]"):
            self._range(first)
        else:
            self._bits |= single(first, cursor)
            self._has_bits = True
            self._last = None

    def _range(self, first: str) -> None:
        cursor = self._cursor
        cursor.skip()
        if cursor.peek() == "\\":
            cursor.skip()
            last = char_behind(cursor)
        else:
            last = cursor.take()[-1:]
        if not last or last < first:
            cursor.refuse("Illegal character range")
        mask = between(ord(first), ord(last))
        self._join(_constant(any_case(mask) if "i" in cursor.flags else mask))


def _constant(mask: int) -> _Set:
    return lambda: mask


def _union(one: _Set, other: _Set) -> _Set:
    return lambda: one() | other()


def _intersection(one: _Set, other: _Set) -> _Set:
    return lambda: one() & other()
