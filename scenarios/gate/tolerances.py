"""Tolerances of a suite: how far a metric may move from its baseline, such as ``{relative: 0.05}``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from pydantic import BeforeValidator, ValidationError

from groupsim.scenarios.errors import nearest
from groupsim.scenarios.files.base_model import error, refusal
from groupsim.scenarios.schema.goals import COLUMNS
from groupsim.scenarios.schema.summary_columns import column_meant

Kind: TypeAlias = Literal["exact", "absolute", "relative", "overlap"]

METRICS: Final = tuple(name for name in COLUMNS if name not in ("seed", "replication", "horizon_s"))
"""The columns of the summary that a run decides."""
_ALONE: Final = ("exact", "overlap")
_WITH_BOUND: Final = ("absolute", "relative")
_LARGEST: Final = 1e15
_FORMS: Final = (
    "must be exact, overlap (of 95 % intervals), {absolute: NUMBER} in the metric's own unit, or {relative: SHARE},"
    " such as 0.05 for 5 %"
)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far the mean of a metric may move from the baseline's.

    Parameters
    ----------
    kind : {"exact", "absolute", "relative", "overlap"}
        exact: no run may give another number. overlap: the 95 % intervals of the replications must overlap.
    bound : float
        absolute: in the metric's own unit; relative: a share of the baseline's mean.
    """

    kind: Kind
    bound: float = 0.0

    def allowed(self, mean: float, half_widths: float) -> float:
        """The largest difference of means that is tolerated, in the metric's own unit.

        Parameters
        ----------
        mean : float
            Of the baseline.
        half_widths : float
            Of the baseline's interval and the present one, together.
        """
        if self.kind == "relative":
            return self.bound * abs(mean)
        return half_widths if self.kind == "overlap" else self.bound

    def __str__(self) -> str:
        if self.kind == "relative":
            return f"± {100 * self.bound:g} %"
        return {"exact": "exact", "overlap": "intervals overlap"}.get(self.kind) or f"± {self.bound:g}"


def parse_tolerance(metric: str, value: object) -> Tolerance:
    """The tolerance of a metric as a suite says it.

    Raises
    ------
    ValueError
        No metric, no tolerance, or one that nothing or everything would meet.
    """
    if metric not in METRICS:
        raise ValueError(f"is no metric; {column_meant(metric, METRICS)}known: {', '.join(METRICS)}")
    if isinstance(value, str):
        if value not in _ALONE:
            raise ValueError(f"{nearest(value, _ALONE)}{_FORMS}")
        return Tolerance(cast("Kind", value))
    if not isinstance(value, Mapping) or len(value) != 1:
        raise ValueError(_FORMS)
    ((kind, bound),) = value.items()
    if kind not in _WITH_BOUND:
        raise ValueError(f"{nearest(kind, _WITH_BOUND)}{_FORMS}")
    return Tolerance(cast("Kind", kind), _bound(kind, bound))


def _bound(kind: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ValueError(f"{kind} must be a number")
    if value == 0:
        raise ValueError(f"{kind}: 0 allows nothing: write exact")
    most = 1 if kind == "relative" else _LARGEST
    if not 0 < value <= most:
        what = "a share above 0 and up to 1 (0.05 is 5 %)" if kind == "relative" else "above 0, and no more than 1e15"
        raise ValueError(f"{kind} must be {what}")
    return float(value)


def _read(value: Any) -> dict[str, Tolerance]:
    if not isinstance(value, Mapping):
        raise refusal("must be a mapping such as {unavailable_gap_s_max: {relative: 0.05}, rebalances: exact}")
    found, errors = {}, []
    for metric, tolerance in value.items():
        try:
            found[metric] = parse_tolerance(metric, tolerance)
        except ValueError as reason:
            errors.append(error(metric, str(reason), tolerance))
    if errors:
        raise ValidationError.from_exception_data("metrics", errors)
    return found


TolerancesField = Annotated[dict[str, Any], BeforeValidator(_read)]
"""The ``metrics`` of a suite: a `Tolerance` for each."""
