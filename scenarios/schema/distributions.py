"""Distributions of durations as users write them, to `sim.model.Distribution` and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from groupsim.scenarios.files.base_model import FileModel, checked, folder_of, one_form, refusal, spend
from groupsim.scenarios.files.text_files import plain_number, read_csv
from groupsim.scenarios.schema.durations import LONGEST_US, UNITS, format_duration, parse_duration
from groupsim.sim.model import Distribution

DURATION_SCHEMA: Final[dict[str, Any]] = {"type": "string", "pattern": r"^\d+(\.\d+)? ?(us|ms|s|min|h|d)$"}

Duration = Annotated[
    int,
    BeforeValidator(checked(parse_duration)),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(DURATION_SCHEMA),
]
"""A duration in the file; microseconds as an int inside."""


class _Bounds(FileModel):
    low: Duration
    high: Duration

    @model_validator(mode="after")
    def _ordered(self) -> _Bounds:
        if self.low > self.high:
            raise refusal("low must not be above high")
        return self


class _Mean(FileModel):
    mean: Duration


class _MedianAndTail(FileModel):
    """The median and one quantile above it."""

    median: Duration
    p95: Duration | None = None
    p99: Duration | None = None

    @model_validator(mode="after")
    def _ordered(self) -> _MedianAndTail:
        if (self.p95 is None) == (self.p99 is None):
            raise refusal("needs exactly one of p95 and p99: a lognormal has two parameters, and the median is one")
        if not 0 < self.median <= self._tail:
            raise refusal("must have 0 < median <= p95 or p99")
        if self.p99_us > LONGEST_US:
            raise refusal("must have a 99th percentile of at most 36500d")
        return self

    @property
    def _tail(self) -> int:
        return (self.p99 if self.p95 is None else self.p95) or 0

    @property
    def p99_us(self) -> int:
        """The 99th percentile: ``log(p99 / median) / z(0.99) = log(p95 / median) / z(0.95)``."""
        quantile = NormalDist().inv_cdf
        exponent = 1.0 if self.p95 is None else quantile(0.99) / quantile(0.95)
        return round(self.median * math.pow(self._tail / self.median, exponent))


def _pair(value: Any) -> Any:
    return dict(zip(("low", "high"), value, strict=True)) if isinstance(value, list) and len(value) == 2 else value


class _Uniform(FileModel):
    uniform: Annotated[_Bounds, BeforeValidator(_pair)]

    def read(self, folder: Path) -> Distribution:
        return Distribution("uniform", (self.uniform.low, self.uniform.high))


class _Exponential(FileModel):
    exponential: _Mean

    def read(self, folder: Path) -> Distribution:
        return Distribution("exponential", (self.exponential.mean,))


class _Lognormal(FileModel):
    lognormal: _MedianAndTail

    def read(self, folder: Path) -> Distribution:
        return Distribution("lognormal", (self.lognormal.median, self.lognormal.p99_us))


class _Empirical(FileModel):
    empirical: list[Duration] = Field(min_length=1)

    def read(self, folder: Path) -> Distribution:
        return Distribution("empirical", tuple(self.empirical))


class _Csv(FileModel):
    csv: str

    def read(self, folder: Path) -> Distribution:
        return Distribution("empirical", _observed(folder / self.csv))


_FORMS: Final[Mapping[str, type[FileModel]]] = MappingProxyType(
    {
        "uniform": _Uniform,
        "exponential": _Exponential,
        "lognormal": _Lognormal,
        "empirical": _Empirical,
        "csv": _Csv,
    }
)

DISTRIBUTION_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [DURATION_SCHEMA, *({"type": "object", "required": [key], "maxProperties": 1} for key in _FORMS)]
}


def read_distribution(value: Any, info: ValidationInfo) -> Distribution:
    """The distribution a value of the file describes: a duration, or a mapping with one of five keys."""
    if isinstance(value, Mapping):
        form: Any = one_form(value, _FORMS, "a distribution", info)
        distribution: Distribution = form.read(folder_of(info))
        spend(info, len(distribution.values))
        return distribution
    return Distribution.constant(checked(parse_duration)(value))


def write_distribution(distribution: Distribution) -> Any:
    """Plain data that reads back to the same distribution."""
    texts = [format_duration(value) for value in distribution.values]
    match distribution.kind:
        case "constant":
            return texts[0]
        case "uniform":
            return {"uniform": {"low": texts[0], "high": texts[1]}}
        case "exponential":
            return {"exponential": {"mean": texts[0]}}
        case "lognormal":
            return {"lognormal": {"median": texts[0], "p99": texts[1]}}
        case _:
            return {"empirical": texts}


DistributionField = Annotated[
    Distribution,
    BeforeValidator(read_distribution),
    PlainSerializer(write_distribution),
    WithJsonSchema(DISTRIBUTION_SCHEMA),
]
"""A distribution in the file; `sim.model.Distribution` inside."""


def _observed(path: Path) -> tuple[int, ...]:
    """Microseconds in the first column of a CSV file whose header ends in a unit, such as ``pause_ms``."""
    rows = checked(read_csv)(path)
    unit = rows[0][0].rpartition("_")[2] if rows else ""
    if unit not in UNITS:
        raise refusal(f"{path}: the first column's header must end in a unit, as pause_ms ({', '.join(UNITS)})")
    values = [_microseconds(row[0], unit, f"{path}: row {line}") for line, row in enumerate(rows[1:], start=2)]
    if not values:
        raise refusal(f"{path}: holds no values")
    return tuple(values)


def _microseconds(text: str, unit: str, where: str) -> int:
    """Measured values may be finer than a microsecond: they are rounded."""
    try:
        value_us = plain_number(text) * UNITS[unit]
    except ValueError:
        value_us = math.nan
    if not 0 <= value_us <= LONGEST_US:
        raise refusal(f"{where}: {text!r} is no duration in {unit}")
    return round(value_us)
