"""Goals of a scenario: a bound on a column of the summary, such as ``unavailable_gap_s_max: "< 60"``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, ValidationError, WithJsonSchema

from groupsim.scenarios.files.base_model import error, refusal
from groupsim.scenarios.schema.durations import UNITS, parse_duration
from groupsim.scenarios.schema.summary_columns import column_meant
from groupsim.sim.tables import FLOAT, INT, SUMMARY
from groupsim.sim.units import S

RECOVERY_LAG: Final = "recovery_lag_records"
"""The one goal that is no bound: the lag at which a group counts as recovered."""
RECOVERY: Final = "recovery_s"
"""The column that has values only where that lag is given."""
COLUMNS: Final = tuple(name for name, dtype in SUMMARY.items() if dtype in (INT, FLOAT))

_OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
)
_BOUND: Final = re.compile(r"(<=?|>=?|==) *(-?\d{1,30}(?:\.\d{1,30})?)", re.ASCII)

_TIMED: Final = re.compile(rf"(<=?|>=?|==) *(\d{{1,9}}(?:\.\d{{1,6}})? ?(?:{'|'.join(UNITS)}))", re.ASCII)


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound that a column of the summary must keep, in the column's own unit."""

    column: str
    operator: str
    bound: float

    def met(self, value: float | None) -> bool:
        """Whether a value keeps the bound; a null (never recovered, undefined) does not."""
        return value is not None and value == value and _OPERATORS[self.operator](value, self.bound)

    def met_by(self, row: Mapping[str, Any]) -> bool:
        """Whether a group's row of the summary keeps the bound; a group that never served a partition keeps none."""
        return row["first_service_s"] is not None and self.met(row[self.column])

    def told(self, row: Mapping[str, Any], unit: str) -> str:
        """What there is in a row instead of what the goal asks for, in the column's unit."""
        if row["first_service_s"] is None:
            return "never read a partition"
        value = row[self.column]
        return "null" if value is None else f"{value:g} {unit}".rstrip()

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {self.bound:g}"


def parse_goal(column: str, text: object) -> Goal:
    """The goal of a column and a text such as ``< 60``.

    Raises
    ------
    ValueError
        No numeric column of the summary, or no bound.
    """
    if column not in COLUMNS:
        known = (RECOVERY_LAG, *COLUMNS)
        raise ValueError(f"is no numeric column of the summary; {column_meant(column, known)}known: {', '.join(known)}")
    match = _BOUND.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(_no_bound(column, text))
    return Goal(column, match[1], float(match[2]))


def _no_bound(column: str, text: object) -> str:
    """What to write instead of a text that is no bound."""
    timed = _TIMED.fullmatch(text.strip()) if isinstance(text, str) and re.search(r"_s(_|$)", column) else None
    if timed is not None:
        seconds = parse_duration(timed[2]) / S
        return f'must be a number of seconds, without a unit: write "{timed[1]} {seconds:g}"'
    return f'must be a bound in quotes, such as "< 60" or "== 0" ({" ".join(_OPERATORS)}), without a unit'


def goals_of(document: Mapping[str, Any]) -> tuple[Goal, ...]:
    """The goals of a resolved scenario (`sim.model.Scenario.document`), in the file's order."""
    goals = document.get("goals", {})
    return tuple(parse_goal(column, text) for column, text in goals.items() if column != RECOVERY_LAG)


def _read(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise refusal('must be a mapping such as {unavailable_gap_s_max: "< 60"}')
    errors = []
    for column, text in value.items():
        if column == RECOVERY_LAG:
            if not isinstance(text, int) or isinstance(text, bool) or not 0 <= text < 2**63:
                errors.append(error(column, "must be a number of records, from 0 on", text))
            continue
        try:
            parse_goal(column, text)
        except ValueError as reason:
            errors.append(error(column, str(reason), text))
    if errors:
        raise ValidationError.from_exception_data("goals", errors)
    return dict(value)


GoalsField = Annotated[
    dict[str, Any],
    BeforeValidator(_read),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                RECOVERY_LAG: {"type": "integer", "minimum": 0},
                **{column: {"type": "string", "pattern": r"^(<=?|>=?|==) *-?\d+(\.\d+)?$"} for column in COLUMNS},
            },
            "additionalProperties": False,
        }
    ),
]
"""The ``goals`` of a scenario file, checked and kept as they are."""
