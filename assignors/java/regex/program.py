"""From what a pattern is made of to instructions that `matcher` follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from groupsim.assignors.java.regex.nodes import (
    INFINITE,
    NAME_MAX,
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
    has_references,
    lengths,
)

SIZE_MAX: Final = 20_000
"""Instructions: repetitions are written out."""


@dataclass(frozen=True, slots=True)
class Split:
    """Two ways to go on, the first being tried first."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Go on somewhere else."""

    to: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Remember the place, where a group or a repetition begins."""

    slot: int


@dataclass(frozen=True, slots=True)
class Close:
    """A group has matched what stands between the place of that slot and here; until now it was what it was before."""

    number: int
    slot: int


@dataclass(frozen=True, slots=True)
class Advanced:
    """Go on only if something was matched since the place of that slot was remembered, otherwise elsewhere."""

    slot: int
    otherwise: int


@dataclass(frozen=True, slots=True)
class Once:
    """Match a program of its own here, the first way it can be, or look whether it can be."""

    program: Program
    look: Look | None


Instruction: TypeAlias = Chars | Edge | Reference | Split | Jump | Mark | Close | Advanced | Once | Literal["match"]


@dataclass(slots=True)
class Program:
    """Instructions, the last of which is ``match``.

    Parameters
    ----------
    groups : int
        That can be referred to.
    slots : int
        How many places are remembered: first the begin and end of each group, at twice its number.
    has_references : bool
        Whether what groups have matched decides anything.
    """

    has_references: bool
    groups: int
    slots: int = 0
    instructions: list[Instruction] = field(default_factory=list)


def program_of(node: Node, groups: int) -> Program:
    """The instructions of a pattern with so many groups.

    Raises
    ------
    PatternError
        There would be more than ``SIZE_MAX``.
    """
    writer = _Writer(groups, with_places=has_references(node))
    program = writer.program(node)
    program.slots = writer.slots
    return program


class _Writer:
    def __init__(self, groups: int, *, with_places: bool) -> None:
        self._groups = groups
        self.slots = 2 * (groups + 1) if with_places else 0
        self._with_places = with_places
        self._code: list[Instruction] = []
        self._size = 0

    def program(self, node: Node) -> Program:
        """A program for a node alone."""
        around, self._code = self._code, []
        self._write(node)
        self._add("match")
        found = Program(self._with_places, self._groups, 0, self._code)
        self._code = around
        return found

    def _add(self, instruction: Instruction) -> int:
        self._size += 1
        if self._size > SIZE_MAX:
            raise PatternError(f"takes more than {SIZE_MAX:,} steps when its repetitions are written out")
        self._code.append(instruction)
        return len(self._code) - 1

    def _write(self, node: Node) -> None:
        match node:
            case Sequence(parts):
                for part in parts:
                    self._write(part)
            case Choice(branches):
                self._choice(branches)
            case Repeat():
                self._repeat(node)
            case Group(body, number):
                self._group(body, number)
            case Atomic(body):
                self._add(Once(self.program(body), None))
            case Look(body):
                self._add(Once(self.program(body), node))
            case _:
                self._add(node)

    def _group(self, body: Node, number: int) -> None:
        if not self._with_places:
            self._write(body)
            return
        slot = self._slot()
        self._add(Mark(slot))
        self._write(body)
        self._add(Close(number, slot))

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _choice(self, branches: tuple[Node, ...]) -> None:
        ends = []
        for branch in branches[:-1]:
            split = self._add("match")
            self._write(branch)
            ends.append(self._add("match"))
            self._code[split] = Split(split + 1, len(self._code))
        self._write(branches[-1])
        for end in ends:
            self._code[end] = Jump(len(self._code))

    def _repeat(self, node: Repeat) -> None:
        takes_some = lengths(node.body)[0] > 0
        least, most = min(node.least, NAME_MAX), node.most
        if most > NAME_MAX and (takes_some or not self._with_places):
            most = INFINITE
        ends: list[int] = []
        for _ in range(least):
            ends += self._iteration(node, takes_some=takes_some)
        if most == INFINITE:
            split = self._add("match")
            ends += self._iteration(node, takes_some=takes_some)
            self._add(Jump(split))
            splits = [split]
        else:
            splits = []
            for _ in range(most - least):
                splits.append(self._add("match"))
                ends += self._iteration(node, takes_some=takes_some)
        for split in splits:
            self._code[split] = self._split(split + 1, len(self._code), node)
        for end in ends:
            self._code[end] = Advanced(self._slot_of(end), len(self._code))

    def _iteration(self, node: Repeat, *, takes_some: bool) -> list[int]:
        """Write the body once; where it is to be asked whether it has matched anything, for it is the last if not."""
        if takes_some:
            self._write(node.body)
            return []
        slot = self._slot()
        self._add(Mark(slot))
        self._write(node.body)
        return [self._add(Advanced(slot, -1))]

    def _slot_of(self, at: int) -> int:
        advanced = self._code[at]
        assert isinstance(advanced, Advanced), "written by _iteration"
        return advanced.slot

    def _split(self, inside: int, outside: int, node: Repeat) -> Split:
        return Split(outside, inside) if node.is_lazy else Split(inside, outside)
