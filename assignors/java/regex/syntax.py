"""From the text of a pattern to what it is made of.

Source: java.util.regex.Pattern: expr, sequence, atom, group0, closure, escape, ref (OpenJDK 17). What it says of lines
has no meaning in the name of a topic, which has none: ``^`` and ``$`` are its begin and end under every flag.
"""

from __future__ import annotations

import string
from typing import Final

from groupsim.assignors.java.regex.char_class import CharClass
from groupsim.assignors.java.regex.classes import ALL, ESCAPES, LINE_ENDS
from groupsim.assignors.java.regex.cursor import LETTERS_OF_FLAGS, Cursor
from groupsim.assignors.java.regex.escapes import char_behind, set_behind, single
from groupsim.assignors.java.regex.nodes import (
    INFINITE,
    NAME_MAX,
    NOTHING,
    Atomic,
    Chars,
    Choice,
    Edge,
    Group,
    Look,
    Node,
    PatternError,
    Reference,
    Repeat,
    Sequence,
    is_obvious,
    lengths,
)

LENGTH_MAX: Final = 4_000
_DEPTH_MAX: Final = 50
_REPEATS_MAX: Final = 2**31 - 1
_NAME: Final = string.ascii_letters + string.digits
_EDGES: Final = {"A": "begin", "G": "begin", "Z": "end", "z": "end", "b": "word", "B": "no word"}


def read_pattern(text: str) -> tuple[Node, int]:
    """What a pattern is made of, and how many groups it has that can be referred to.

    Raises
    ------
    PatternError
        Java does not compile it, or it is longer or nested deeper than any name of a topic asks for.
    """
    if len(text) > LENGTH_MAX:
        raise PatternError(f"is longer than {LENGTH_MAX:,} characters")
    reader = _Reader(text)
    return reader.whole(), reader.groups


class _Reader:
    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self.groups = 0
        self._names: dict[str, int] = {}
        self._depth = 0

    def whole(self) -> Node:
        """The whole pattern."""
        node = self._choice()
        if self._cursor.peek():
            self._cursor.refuse("Unmatched closing ')'")
        return node

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            self._cursor.refuse("Groups are nested too deeply")
        branches = [self._sequence()]
        while self._cursor.takes("|"):
            branches.append(self._sequence())
        self._depth -= 1
        return Choice(tuple(branches)) if len(branches) > 1 else branches[0]

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while (char := self._cursor.peek()) and char not in ("|", ")"):
            if char in ("*", "+", "?"):
                self._cursor.refuse(f"Dangling meta character '{char}'")
            node = self._atom(char)
            if node is not None:
                parts.append(self._repeated(node))
        return Sequence(tuple(parts))

    def _atom(self, char: str) -> Node | None:
        """The next thing that can be repeated; None for flags alone."""
        cursor = self._cursor
        if char == "{":
            return NOTHING  # Java has an empty text here, which may be repeated
        cursor.skip()
        match char:
            case "(":
                return self._group()
            case "[":
                return Chars(CharClass(cursor).read())
            case "\\":
                return self._escape()
            case "^":
                return Edge("begin")
            case "$":
                return Edge("end")
            case ".":
                return Chars(ALL if "s" in cursor.flags else ALL & ~LINE_ENDS)
        return Chars(single(char[-1], cursor))

    # --- repetitions --------------------------------------------------------------------------------------------------

    def _repeated(self, node: Node) -> Node:
        cursor = self._cursor
        if cursor.takes("?"):
            least, most = 0, 1
        elif cursor.takes("*"):
            least, most = 0, INFINITE
        elif cursor.takes("+"):
            least, most = 1, INFINITE
        elif cursor.peek() == "{":
            least, most = self._counts()
        else:
            return node
        if cursor.takes("+"):
            return Atomic(Repeat(node if isinstance(node, Chars) else Atomic(node), least, most))
        return Repeat(node, least, most, is_lazy=cursor.takes("?"))

    def _counts(self) -> tuple[int, int]:
        cursor = self._cursor
        cursor.skip()
        if (digits := self._number()) is None:
            cursor.refuse("Illegal repetition")
        least = most = digits
        if cursor.takes(","):
            most = INFINITE if cursor.peek() == "}" else self._number() or 0
        cursor.expect("}", "Unclosed counted closure")
        if most < least:
            cursor.refuse("Illegal repetition range")
        return min(least, INFINITE), min(most, INFINITE)

    def _number(self) -> int | None:
        digits = ""
        while (char := self._cursor.raw()) and char in string.digits and len(digits) < 11:
            digits += self._cursor.skip()
        if digits and int(digits) > _REPEATS_MAX:
            self._cursor.refuse("Illegal repetition range")
        return int(digits) if digits else None

    # --- groups -------------------------------------------------------------------------------------------------------

    def _group(self) -> Node | None:
        cursor = self._cursor
        before = cursor.flags
        if cursor.peek() != "?":
            node = self._numbered()
        else:
            cursor.skip()
            kind = cursor.skip()
            if kind == "<" and cursor.raw() not in ("=", "!"):
                self._named()
                node = self._numbered()
            elif kind in ("=", "!", "<", ">", ":"):
                node = self._special(kind)
            elif (inner := self._flagged(kind)) is not None:
                node = inner
            else:
                return None
        cursor.expect(")", "Unclosed group")
        cursor.flags = before
        return node

    def _numbered(self) -> Node:
        self.groups += 1
        number = self.groups
        return Group(self._choice(), number)

    def _named(self) -> None:
        name = self._name()
        if name in self._names:
            self._cursor.refuse(f"Named capturing group <{name}> is already defined")
        self._names[name] = self.groups + 1

    def _name(self) -> str:
        cursor, name = self._cursor, ""
        while (char := cursor.raw()) and char in _NAME:
            name += cursor.skip()
        if not name or name[0] in string.digits:
            cursor.refuse("capturing group name does not start with a Latin letter")
        if cursor.skip() != ">":
            cursor.refuse("named capturing group is missing trailing '>'")
        return name

    def _special(self, kind: str) -> Node:
        if kind == ":":
            return self._choice()
        if kind == ">":
            return Atomic(self._choice())
        is_behind = kind == "<"
        sign = self._cursor.skip() if is_behind else kind
        body = self._choice()
        if not is_behind:
            return Look(body, is_behind=False, is_negative=sign == "!")
        if not is_obvious(body):
            self._cursor.refuse("Look-behind group does not have an obvious maximum length")
        low, high = lengths(body)
        return Look(body, is_behind=True, is_negative=sign == "!", lengths=range(low, min(high, NAME_MAX) + 1))

    def _flagged(self, char: str) -> Node | None:
        """Flags that hold for a group, ``(?i:...)``, or until the end of the group around them, ``(?i)``."""
        cursor, on = self._cursor, True
        while char and (char in LETTERS_OF_FLAGS or (char == "-" and on)):
            if char == "-":
                on = False
            else:
                cursor.flags = cursor.flags | {char} if on else cursor.flags - {char}
            char = cursor.skip()
        if char == ")":
            return None
        if char != ":":
            cursor.refuse("Unknown inline modifier" if char else "Unknown group type")
        return self._choice()

    # --- behind a backslash -------------------------------------------------------------------------------------------

    def _escape(self) -> Node:
        cursor = self._cursor
        letter = cursor.raw()
        if (found := set_behind(cursor)) is not None:
            return Chars(found)
        if letter in _EDGES:
            cursor.skip()
            return Edge(_EDGES[letter])  # type: ignore[arg-type]  # values are the kinds
        if letter == "R":
            cursor.skip()
            return Chars(ESCAPES["v"])
        if letter == "X":
            cursor.skip()
            return Chars(ALL)
        if letter == "k":
            return self._reference_by_name()
        if letter and letter in "123456789":
            return self._reference()
        return Chars(single(char_behind(cursor), cursor))

    def _reference_by_name(self) -> Node:
        self._cursor.skip()
        if self._cursor.skip() != "<":
            self._cursor.refuse("\\k is not followed by '<' for named capturing group")
        name = self._name()
        if name not in self._names:
            self._cursor.refuse(f"named capturing group <{name}> does not exist")
        return Reference(self._names[name], "i" in self._cursor.flags)

    def _reference(self) -> Node:
        """Further digits belong to the number as long as there are so many groups."""
        number = int(self._cursor.skip())
        while (char := self._cursor.raw()) and char in string.digits and number * 10 + int(char) <= self.groups:
            number = number * 10 + int(self._cursor.skip())
        return Reference(number, "i" in self._cursor.flags)
