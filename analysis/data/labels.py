"""What tells the variants of a sweep apart, in columns: the bundle, and the value of each path that differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from groupsim.analysis.data.design import Design
from groupsim.analysis.data.metrics import number
from groupsim.analysis.data.parameters import value_text

VARIANT = "variant"


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of some variants.

    Parameters
    ----------
    columns : mapping of str to mapping
        What differs -> variant -> its value, as a text.
    shared : mapping of str to str
        What is varied and has one value among these variants.
    points : mapping of str to str
        Variant -> the number of its point, where points have numbers.
    """

    columns: Mapping[str, Mapping[str, str]]
    shared: Mapping[str, str] = field(default_factory=dict)
    points: Mapping[str, str] = field(default_factory=dict)

    def of(self, variant: str) -> tuple[str, ...]:
        """The labels of a variant, column by column."""
        return tuple(texts[variant] for texts in self.columns.values())

    def with_gap(self, text: str) -> Labels:
        """The same with a variant of no name that stands for those left out: ``text`` in the first column."""
        first = next(iter(self.columns))
        gap = {name: text if name == first else "" for name in self.columns}
        columns = {name: {**texts, "": gap[name]} for name, texts in self.columns.items()}
        return Labels(columns, self.shared, self.points)

    @property
    def note(self) -> str:
        """What all of them share; empty for nothing."""
        told = (f"{value} ({VARIANT})" if name == VARIANT else f"{name}={value}" for name, value in self.shared.items())
        return f"all with {', '.join(told)}" if self.shared else ""


def labels(variants: Iterable[str], design: Design | None) -> Labels:
    """The labels of some variants; their names, where no design says what they are."""
    listed = list(dict.fromkeys(variants))
    if design is None or any(one not in design.places for one in listed):
        return Labels({VARIANT: {one: one for one in listed}})
    found = {VARIANT: {one: design.places[one].bundle for one in listed}}
    for at, path in enumerate(design.paths):
        found[design.name_of(path)] = {one: _text(design.places[one].values[at]) for one in listed}
    differing = {name: texts for name, texts in found.items() if len(set(texts.values())) > 1}
    shared = {name: next(iter(texts.values())) for name, texts in found.items() if len(set(texts.values())) == 1}
    if len(set(zip(*(texts.values() for texts in differing.values()), strict=True))) < len(listed):
        differing = {VARIANT: {one: one for one in listed}} | differing  # points of a sample may fall together
        shared.pop(VARIANT, None)
    points = {one: design.number_of(one) for one in listed}
    shared = {name: text for name, text in shared.items() if text}
    return Labels(differing, shared, points if all(points.values()) else {})


def _text(value: object) -> str:
    if isinstance(value, float) and not isinstance(value, bool):
        return number(value, None if value != round(value) else 0)
    return value_text(value)


def heading(name: str, room: int) -> str:
    """A name as the heading of a column ``room`` characters wide: in lines that end with its dots, if it is longer."""
    lines: list[str] = []
    for part in _parts(name):
        if lines and len(lines[-1] + part) <= room:
            lines[-1] += part
        else:
            lines.append(part)
    return "\n".join(lines)


def _parts(name: str) -> Sequence[str]:
    """A dotted name in parts, each with the dot behind it."""
    pieces = name.split(".")
    return [f"{piece}." for piece in pieces[:-1]] + pieces[-1:]
