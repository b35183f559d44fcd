"""Regular expressions as the coordinator takes them: RE2/J, which knows no look-around, references or possessiveness.

What RE2/J and ``java.util.regex`` both read means the same to both for names of topics.
"""

from __future__ import annotations

from groupsim.assignors.java.regex import JavaPattern, PatternError, java_pattern
from groupsim.assignors.java.regex.nodes import Atomic, Choice, Group, Look, Node, Reference, Repeat, Sequence
from groupsim.assignors.java.regex.syntax import read_pattern

__all__ = ["PatternError", "re2_pattern"]


def re2_pattern(text: str) -> JavaPattern:
    """The pattern of a text.

    Raises
    ------
    PatternError
        RE2/J refuses it.
    """
    if _is_beyond(read_pattern(text)[0]):
        raise PatternError("RE2/J knows no look-around, no references to groups and no possessive quantifiers")
    return java_pattern(text)


def _is_beyond(node: Node) -> bool:
    match node:
        case Look() | Reference() | Atomic():
            return True
        case Sequence(parts) | Choice(parts):
            return any(map(_is_beyond, parts))
        case Repeat(body=body) | Group(body=body):
            return _is_beyond(body)
        case _:
            return False
