"""Ranges that a sweep varies a path over: ``{linear: [10s, 60s]}``, ``{choice: [range, sticky]}`` and three more.

A design asks for values by their place, a number from 0 to 1. Ends may be numbers or, where the path takes durations,
durations. What is between the ends is written with six significant digits: it has to be typed again in a replay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from groupsim.scenarios.errors import nearest
from groupsim.scenarios.files.base_model import refusal
from groupsim.scenarios.schema.durations import UNITS, format_duration, parse_duration

Form: TypeAlias = Literal["linear", "log", "integer", "log_integer", "choice"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)
DIGITS: Final = 6

_MEANING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "linear": "two numbers or two durations, the lower first, as [10s, 60s]",
        "log": "two numbers or two durations above zero, the lower first, as [0.1, 100]",
        "integer": "two whole numbers, the lower first, as [1, 50]",
        "log_integer": "two whole numbers above zero, the lower first, as [6000, 60000]",
        "choice": "a list of two values or more, no two the same, as [true, false]",
    }
)


@dataclass(frozen=True, slots=True)
class Range:
    """What a path may be set to.

    Parameters
    ----------
    form : {"linear", "log", "integer", "log_integer", "choice"}
    values : tuple
        choice: the values, equally likely. Otherwise the ends, microseconds for durations.
    of_durations : bool
    """

    form: Form
    values: tuple[Any, ...]
    of_durations: bool = False

    def at(self, place: float) -> Any:
        """The value at a place from 0 to 1, as a scenario file has it; whole numbers and choices are equally likely."""
        low, high = self.values[0], self.values[-1]
        match self.form:
            case "choice":
                return self.values[min(int(place * len(self.values)), len(self.values) - 1)]
            case "integer":
                return min(low + int(place * (high - low + 1)), high)
            case "log_integer":
                return min(int(low * ((high + 1) / low) ** place), high)
            case "log":
                return self._written(min(max(low * (high / low) ** place, low), high))
            case _:
                return self._written(low + (high - low) * place)

    def places(self, values: Sequence[Any]) -> list[float]:
        """Where values stand, from 0 to 1: ``at`` the other way round, as far as rounding lets it.

        Choices have no order but the one in which they come.
        """
        if self.form == "choice":
            order = list(dict.fromkeys(map(repr, values)))
            return [(order.index(repr(value)) + 0.5) / len(order) for value in values]
        return [self._place(parse_duration(value) if self.of_durations else value) for value in values]

    def _place(self, number: float) -> float:
        low, high = self.values
        if self.form in ("log", "log_integer"):
            return math.log(number / low) / math.log(high / low)
        return float((number - low) / (high - low))

    def document(self) -> dict[str, Any]:
        """Plain data that reads back to the same range."""
        values = [format_duration(value) for value in self.values] if self.of_durations else list(self.values)
        return {self.form: values}

    def _written(self, value: float) -> float | str:
        return _duration(round(value)) if self.of_durations else float(f"{value:.{DIGITS}g}")


def _duration(value_us: int) -> str:
    """A duration in s, ms or us, with six significant digits."""
    value_us = round(value_us, DIGITS - len(str(value_us))) if len(str(value_us)) > DIGITS else value_us
    unit = next((unit for unit in ("s", "ms") if value_us >= UNITS[unit]), "us")
    return f"{(Decimal(value_us) / UNITS[unit]).normalize():f}{unit}"


def read_range(value: Mapping[str, Any]) -> Range:
    """The range that a mapping of a sweep file describes.

    Raises
    ------
    PydanticCustomError
        It has not exactly one of the five keys, or that one holds something else than it should.
    """
    given = list(value)
    if len(given) != 1 or given[0] not in FORMS:
        hint = "".join(nearest(key, FORMS) for key in given[:1] if key not in FORMS)
        raise refusal(f"must be a list of values, or a mapping with one of {', '.join(FORMS)}; {hint}".rstrip("; "))
    form = given[0]
    held = value[form]
    found = _choice(held) if form == "choice" else _ends(form, held)
    if found is None:
        raise refusal(f"{form} takes {_MEANING[form]}")
    return found


def _choice(held: Any) -> Range | None:
    several = isinstance(held, list) and len(held) > 1 and len({repr(one) for one in held}) == len(held)
    return Range("choice", tuple(held)) if several else None


def _ends(form: Form, held: Any) -> Range | None:
    """The range between two ends; None if they are none."""
    if not isinstance(held, list) or len(held) != 2:
        return None
    of_durations = all(isinstance(end, str) for end in held)
    kinds = (int,) if form in ("integer", "log_integer") else (int, float)
    if of_durations and kinds != (int,):
        try:
            held = [parse_duration(end) for end in held]
        except ValueError as reason:
            raise refusal(f"{form}: {reason}") from None
    elif any(not isinstance(end, kinds) or isinstance(end, bool) for end in held):
        return None
    low, high = held
    if not low < high or (form in ("log", "log_integer") and low <= 0):
        return None
    return Range(form, (low, high), of_durations)
