"""How often each variant is run: a fixed number, or until the mean of a metric is known well enough.

Runs come in batches of one size, and only between batches is it asked whether there are enough: so which runs a sweep
has depends on their results alone, never on which of them ended first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, model_validator

from groupsim.scenarios.files.base_model import FileModel, checked, refusal
from groupsim.scenarios.files.text_files import plain_number
from groupsim.scenarios.schema.goals import COLUMNS
from groupsim.scenarios.schema.summary_columns import column_meant
from groupsim.scenarios.sweep.design import REPLICATIONS_MAX

BATCH: Final = 10
LEAST: Final = 10
MOST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Replications:
    """A rule for how many runs are enough.

    Parameters
    ----------
    at_least, at_most : int
        Equal: that many runs, whatever comes out.
    metric : str
        A column of ``summary``, whose mean is wanted; empty if the number is fixed.
    half_width : float
        Of the 95 % interval of that mean, as a share of the mean; reached in every group, it is enough.
    """

    at_least: int
    at_most: int
    metric: str = ""
    half_width: float = 0.0

    @classmethod
    def fixed(cls, count: int) -> Replications:
        """So many runs."""
        return cls(at_least=count, at_most=count)

    @property
    def is_fixed(self) -> bool:
        """Whether the number of runs is known before."""
        return not self.metric

    @property
    def batch(self) -> int:
        """How many runs are carried out before it is asked again, after the first ``at_least``."""
        return self.at_most if self.is_fixed else BATCH

    def enough(self, samples: Mapping[str, Sequence[float | None]]) -> bool:
        """Whether a variant has been run often enough.

        Parameters
        ----------
        samples : mapping of group to values
            The metric of every run so far, None for null. Runs that failed have none and do not count.

        Notes
        -----
        Null values are left out of the mean. A group with nothing but null values has no mean to wait for, and one
        whose values are all equal, or whose mean is zero, gains nothing by more runs: both are enough.
        """
        counts = [len(values) for values in samples.values()] or [0]
        if min(counts) < self.at_least:
            return False
        return min(counts) >= self.at_most or all(self._is_known(values) for values in samples.values())

    def _is_known(self, values: Sequence[float | None]) -> bool:
        from groupsim.analysis.stats.statistics import estimate

        found = estimate([float("nan") if value is None else value for value in values])
        if found.n == 0:
            return True
        if found.half_width is None:
            return False
        return found.mean == 0 or found.half_width <= self.half_width * abs(found.mean)


# --- in a file ----------------------------------------------------------------------------------------------------


def _share(text: object) -> float:
    """5 % as 0.05."""
    number = text.removesuffix("%").strip() if isinstance(text, str) and text.endswith("%") else ""
    try:
        share = plain_number(number) / 100
    except ValueError:
        raise ValueError("must be a share of the mean, such as 5%") from None
    if not 0 < share < 1:
        raise ValueError("must be a share of the mean above 0% and below 100%")
    return share


def _metric(name: object) -> str:
    if name not in COLUMNS:
        known = ", ".join(COLUMNS)
        raise ValueError(f"is no numeric column of the summary; {column_meant(name, COLUMNS)}known: {known}")
    return str(name)


class PrecisionFile(FileModel):
    """Which mean is to be known, and how well."""

    metric: Annotated[str, BeforeValidator(checked(_metric))]
    half_width: Annotated[float, BeforeValidator(checked(_share))]


class UntilFile(FileModel):
    """Runs until a mean is known."""

    until: PrecisionFile
    at_least: int = Field(default=LEAST, ge=2, le=REPLICATIONS_MAX)
    at_most: int = Field(default=MOST, ge=2, le=REPLICATIONS_MAX)

    @model_validator(mode="after")
    def _ordered(self) -> UntilFile:
        if self.at_least > self.at_most:
            raise refusal("at_least must not be above at_most")
        return self


def _read(value: Any, info: ValidationInfo) -> Replications:
    if isinstance(value, Mapping):
        file = UntilFile.model_validate(value, context=info.context)
        return Replications(
            at_least=file.at_least, at_most=file.at_most, metric=file.until.metric, half_width=file.until.half_width
        )
    if isinstance(value, bool) or not isinstance(value, int):
        raise refusal("must be a whole number, or {until: {metric: unavailable_gap_s_max, half_width: 5%}}")
    if not 1 <= value <= REPLICATIONS_MAX:
        raise refusal(f"must be greater than or equal to 1 and at most {REPLICATIONS_MAX:,}")
    return Replications.fixed(value)


def _write(rule: Replications) -> Any:
    if rule.is_fixed:
        return rule.at_most
    precision = {"metric": rule.metric, "half_width": f"{rule.half_width * 100:.10g}%"}
    return {"until": precision, "at_least": rule.at_least, "at_most": rule.at_most}


ReplicationsField = Annotated[Replications, BeforeValidator(_read), PlainSerializer(_write)]
"""The ``replications`` of a sweep file."""
