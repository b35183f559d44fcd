"""Follows a pattern's instructions along a name, within a budget of steps."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

from groupsim.assignors.java.regex.classes import WORD
from groupsim.assignors.java.regex.nodes import Chars, Edge, Look, Reference
from groupsim.assignors.java.regex.program import (
    Advanced,
    Close,
    Instruction,
    Jump,
    Mark,
    Once,
    Program,
    Split,
    program_of,
)
from groupsim.assignors.java.regex.syntax import read_pattern

STEPS_MAX: Final = 1_000_000
"""For one name: about a second. A pattern without references needs more only with thousands of instructions."""

_Places: TypeAlias = tuple[int, ...]
_Way: TypeAlias = tuple[int, int, _Places]
"""Instruction, place in the name, what is remembered."""


class TooManySteps(ValueError):
    """The pattern takes too long for a name; on a real client it would, too."""


class JavaPattern:
    """A pattern of ``java.util.regex``.

    Parameters
    ----------
    text : str

    Raises
    ------
    PatternError
        It is none.
    """

    __slots__ = ("_known", "_program", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._program = program_of(*read_pattern(text))
        self._known: dict[str, bool] = {}

    def matches(self, name: str) -> bool:
        """Whether the pattern matches the whole of a topic's name.

        Raises
        ------
        TooManySteps
            That takes more than ``STEPS_MAX`` steps.
        """
        if name not in self._known:
            self._known[name] = _Run(name).matches(self._program)
        return self._known[name]


@lru_cache(maxsize=1024)
def java_pattern(text: str) -> JavaPattern:
    """The pattern of a text; one for all members that have it, so that each name is matched once."""
    return JavaPattern(text)


class _Run:
    """One name and one pattern."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._codes = [ord(char) for char in name]
        self._steps = 0
        self._inner: dict[tuple[int, int], int | None] = {}
        """Where a program of its own ends, by its identity and begin; None: nowhere."""

    def matches(self, program: Program) -> bool:
        """Whether a program leads from the begin of the name to its end."""
        return self._first(program, 0, (-1,) * program.slots, len(self._name)) is not None

    def _first(self, program: Program, at: int, places: _Places, end: int | None) -> tuple[int, _Places] | None:
        """Where the first way through a program ends, and what is remembered then.

        Without references, what can still be matched depends on the instruction, the place, and whether the repetitions
        that are under way have advanced: a way that comes to where another has been fails as that one did.
        """
        ways: list[_Way] = [(0, at, places)]
        seen: set[tuple[int, ...]] = set()
        while ways:
            way = ways.pop()
            found = self._follow(program, way, ways, seen)
            if found is not None and end in (None, found[0]):
                return found
        return None

    def _follow(
        self, program: Program, way: _Way, ways: list[_Way], seen: set[tuple[int, ...]]
    ) -> tuple[int, _Places] | None:
        """One way until it ends or fails; others that branch off it are put on the pile ``ways``."""
        code, (pc, at, places) = program.instructions, way
        while True:
            self._step()
            match code[pc]:
                case Split(first, second):
                    if not program.has_references:
                        state = pc, at, *(place == at for place in places)
                        if state in seen:
                            return None
                        seen.add(state)
                    ways.append((second, at, places))
                    pc = first
                case Jump(to):
                    pc = to
                case Advanced(slot, otherwise):
                    pc = otherwise if places[slot] == at else pc + 1
                case "match":
                    return at, places
                case Reference(number) if number > program.groups:
                    return None
                case instruction:
                    if (moved := self._moved(instruction, at, places)) is None:
                        return None
                    at, places = moved
                    pc += 1

    def _moved(self, instruction: Instruction, at: int, places: _Places) -> tuple[int, _Places] | None:
        """Place and what is remembered after one instruction; None if it fails."""
        match instruction:
            case Chars(mask):
                return (at + 1, places) if at < len(self._codes) and mask >> self._codes[at] & 1 else None
            case Mark(slot):
                return at, _with(places, slot, at)
            case Close(number, slot):
                return at, _with(_with(places, 2 * number, places[slot]), 2 * number + 1, at)
            case Edge(kind):
                return (at, places) if self._is_edge(kind, at) else None
            case Reference() as reference:
                after = self._again(reference, at, places)
                return (after, places) if after is not None else None
            case Once() as once:
                return self._once(once, at, places)
        raise AssertionError(instruction)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > STEPS_MAX:
            message = f"takes more than {STEPS_MAX:,} steps to be held against {self._name!r}"
            raise TooManySteps(f"{message}: repetitions inside repetitions, which a client would try one by one, too")

    def _is_edge(self, kind: str, at: int) -> bool:
        if kind in ("begin", "end"):
            return at == (0 if kind == "begin" else len(self._name))
        before, after = self._is_word(at - 1), self._is_word(at)
        return (before != after) == (kind == "word")

    def _is_word(self, at: int) -> bool:
        return 0 <= at < len(self._codes) and bool(WORD >> self._codes[at] & 1)

    def _again(self, reference: Reference, at: int, places: _Places) -> int | None:
        """Where a repetition of what a group has matched ends; a group that has matched nothing is not repeated."""
        slot = 2 * reference.number
        if places[slot] < 0:
            return None
        wanted = self._name[places[slot] : places[slot + 1]]
        found = self._name[at : at + len(wanted)]
        same = wanted.lower() == found.lower() if reference.any_case else wanted == found
        return at + len(wanted) if same else None

    def _once(self, once: Once, at: int, places: _Places) -> tuple[int, _Places] | None:
        """Where to go on after a program of its own; where it began, after one that only looks."""
        if once.program.has_references:
            found = self._inside(once, at, places)
        else:
            key = id(once), at
            if key not in self._inner:
                own = self._inside(once, at, places)
                self._inner[key] = own[0] if own is not None else None
            end = self._inner[key]
            found = (end, places) if end is not None else None
        if once.look is None:
            return found
        if once.look.is_negative:
            return (at, places) if found is None else None
        return (at, found[1]) if found is not None else None

    def _inside(self, once: Once, at: int, places: _Places) -> tuple[int, _Places] | None:
        look: Look | None = once.look
        if look is None or not look.is_behind:
            return self._first(once.program, at, places, None)
        ways = (self._first(once.program, at - length, places, at) for length in look.lengths if length <= at)
        return next((way for way in ways if way is not None), None)


def _with(places: _Places, slot: int, at: int) -> _Places:
    return (*places[:slot], at, *places[slot + 1 :])
