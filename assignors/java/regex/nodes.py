"""What a pattern is made of, and how long the texts are that it can match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

INFINITE: Final = 1 << 30
"""Longer than every text, and more often than anything is repeated."""
NAME_MAX: Final = 250
"""Longer than every topic (249): what takes a character each time cannot be repeated so often."""


class PatternError(ValueError):
    """The text is no pattern; the message says why, in Java's words where it has any."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set: bit n stands for the character of code n."""

    mask: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; matches nothing but the empty text if there is none."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first that leads to a match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Again and again, ``least`` to ``most`` times; possessive is a greedy one in `Atomic`."""

    body: Node
    least: int
    most: int
    is_lazy: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A group that can be referred to, numbered from 1."""

    body: Node
    number: int


@dataclass(frozen=True, slots=True)
class Atomic:
    """Only the first way to match counts: ``(?>...)``."""

    body: Node


@dataclass(frozen=True, slots=True)
class Look:
    """Whether something stands here, or ends here, without going on: ``(?=``, ``(?!``, ``(?<=``, ``(?<!``."""

    body: Node
    is_behind: bool
    is_negative: bool
    lengths: range = range(0)
    """How long what ends here may be, the shortest first."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a group has matched, once more."""

    number: int
    any_case: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A place between characters: the begin or end of the text, a word's edge, or none of a word."""

    kind: Literal["begin", "end", "word", "no word"]


Node: TypeAlias = Chars | Sequence | Choice | Repeat | Group | Atomic | Look | Reference | Edge

NOTHING: Final = Sequence(())


def lengths(node: Node) -> tuple[int, int]:
    """The least and the greatest length of what a node matches; ``INFINITE`` and above where there is no bound."""
    match node:
        case Chars():
            return 1, 1
        case Sequence(parts):
            each = [lengths(part) for part in parts]
            return sum(low for low, _ in each), min(sum(high for _, high in each), INFINITE)
        case Choice(branches):
            each = [lengths(branch) for branch in branches]
            return min(low for low, _ in each), max(high for _, high in each)
        case Repeat(body, least, most):
            low, high = lengths(body)
            return min(low * least, INFINITE), min(high * most, INFINITE)
        case Group(body) | Atomic(body):
            return lengths(body)
        case Reference():
            return 0, INFINITE
        case _:
            return 0, 0


def is_obvious(node: Node) -> bool:
    """Whether Java lets a node stand in a look-behind, which "must have an obvious maximum length".

    It takes ``a*`` for one, since it adds up the greatest counts (2**31 - 1), and refuses what can be matched in
    several ways, or overflows when it is multiplied. (It also refuses some sums that overflow, ``xa*b?``: here they are
    taken.)

    Source: java.util.regex.Pattern: `TreeInfo.maxValid` and `deterministic` as the nodes' `study` sets them
    (OpenJDK 17).
    """
    match node:
        case Reference():
            return False
        case Sequence(parts) | Choice(parts):
            return all(map(is_obvious, parts))
        case Repeat(body, _, most):
            own = most < INFINITE or (_has_one_way(body) and lengths(body)[1] <= 1)
            return own and is_obvious(body) and (most <= 1 or lengths(body)[1] < INFINITE)
        case Group(body) | Atomic(body):
            return is_obvious(body)
        case _:
            return True


def _has_one_way(node: Node) -> bool:
    match node:
        case Choice():
            return False
        case Repeat(body, least, most):
            return least == most and _has_one_way(body)
        case Sequence(parts):
            return all(map(_has_one_way, parts))
        case Group(body):
            return _has_one_way(body)
        case _:
            return True


def has_references(node: Node) -> bool:
    """Whether a group is referred to anywhere in a node."""
    match node:
        case Reference():
            return True
        case Sequence(parts) | Choice(parts):
            return any(map(has_references, parts))
        case Repeat(body) | Group(body) | Atomic(body) | Look(body):
            return has_references(body)
        case _:
            return False
