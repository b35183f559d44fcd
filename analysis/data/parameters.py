"""What a sweep varies, on an axis: numbers as they are, durations in one unit, everything else by category."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from groupsim.analysis.data.design import Design
from groupsim.analysis.data.durations import seconds_of
from groupsim.analysis.data.metrics import SECONDS, number, scale

_SKEWED: Final = 0.25
"""Values whose median lies in the lowest quarter of their range are laid out by their logarithms."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A path that varies.

    Parameters
    ----------
    name : str
        As the design calls it.
    unit : str
        Empty where the name says it or there is none.
    positions : mapping of str to float
        Where each variant stands on the axis.
    labels : tuple of str
        Of the positions 0, 1, ... of categories; empty for numbers.
    is_drawn_by_logarithm : bool
        Whether the sweep spread the values evenly by their logarithms.
    """

    name: str
    unit: str
    positions: Mapping[str, float]
    labels: tuple[str, ...] = ()
    is_drawn_by_logarithm: bool = False

    @property
    def levels(self) -> list[float]:
        """The distinct positions, in order."""
        return sorted(set(self.positions.values()))

    @property
    def is_logarithmic(self) -> bool:
        """Whether the values were drawn so, or crowd at the low end of a range above zero."""
        levels = self.levels
        if self.labels or len(levels) < 3 or levels[0] <= 0:
            return False
        if self.is_drawn_by_logarithm:
            return True
        return bool((np.median(levels) - levels[0]) / (levels[-1] - levels[0]) < _SKEWED)

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def told(self, position: float) -> str:
        """A position as its value."""
        return self.labels[int(position)] if self.labels else f"{number(position)} {self.unit}".strip()


def parameters(design: Design, variants: Iterable[str]) -> list[Parameter]:
    """What has more than one value among some variants, in the order of the sweep file."""
    places = {one: design.places[one] for one in variants if one in design.places}
    found = [
        replace(
            _parameter(design.name_of(path), {one: place.values[i] for one, place in places.items()}),
            is_drawn_by_logarithm=path in design.logarithmic,
        )
        for i, path in enumerate(design.paths)
    ]
    return [one for one in found if len(one.levels) > 1]


def _parameter(name: str, values: Mapping[str, Any]) -> Parameter:
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values()):
        return Parameter(name, "", {one: float(value) for one, value in values.items()})
    seconds = {one: seconds_of(value) for one, value in values.items()}
    known = {one: value for one, value in seconds.items() if value is not None}
    if len(known) == len(values):
        measure = scale(known.values(), SECONDS)
        return Parameter(name, measure.unit, {one: value * measure.factor for one, value in known.items()})
    return _categories(name, values)


def _categories(name: str, values: Mapping[str, Any]) -> Parameter:
    texts = {one: value_text(value) for one, value in values.items()}
    labels: Sequence[str] = list(dict.fromkeys(texts.values()))
    return Parameter(name, "", {one: float(labels.index(text)) for one, text in texts.items()}, tuple(labels))


def value_text(value: Any) -> str:
    """A value as a text; a list of one as what it holds."""
    if isinstance(value, list) and len(value) == 1:
        return value_text(value[0])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
