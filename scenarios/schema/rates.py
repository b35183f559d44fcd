"""Production rates as users write them, to `sim.model.Rate`: whole milli-records per second and partition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from groupsim.scenarios.files.base_model import FileModel, folder_of, one_form, refusal, spend
from groupsim.scenarios.schema.distributions import Duration
from groupsim.scenarios.schema.rate_csv import read_rate_csv
from groupsim.sim.model import Rate

RATE_MAX: Final = 1e9
DIURNAL_STEPS: Final = 96
"""Steps of a period unless ``step`` says otherwise: 15 min of a day."""
STEPS_MAX: Final = 100_000

Records = Annotated[float, Field(ge=0, le=RATE_MAX, allow_inf_nan=False)]
"""Records per second; at most a thousand million, so that sums in milli-records stay within an int64."""


class PerPartition(FileModel):
    """The same constant rate for each partition, also for those added later."""

    per_partition: Records

    def rate(self, partitions: int, horizon_us: int) -> Rate:
        """One step, one rate."""
        return _steps_rate([0], [[self.per_partition]])


class Total(FileModel):
    """A constant rate of the whole topic, however many partitions it has or gets.

    With ``zipf: s`` partition i has a share proportional to (i + 1)**-s.
    """

    total: Records
    zipf: Annotated[float, Field(ge=0, le=10)] = 0.0

    def rate(self, partitions: int, horizon_us: int) -> Rate:
        """One step, a rate for each partition."""
        return Rate.of_topic(self.total, self.zipf, partitions)


def _row(value: Any) -> list[float]:
    row = value if isinstance(value, list) else [value]
    if row and all(isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one <= RATE_MAX for one in row):
        return [float(one) for one in row]
    raise refusal(f"must be records per second (0 to {RATE_MAX:.0f}), or a list of them, one for each partition")


def _step(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 2:
        return tuple(value)
    raise refusal("must be a pair of an instant and a rate, such as [10min, 50]")


Step: TypeAlias = Annotated[tuple[Duration, Annotated[list[float], BeforeValidator(_row)]], BeforeValidator(_step)]


class Steps(FileModel):
    """Rates from an instant on, for every partition or one for each: ``[[0s, 50], [10min, [50, 60, 70]]]``."""

    steps: list[Step] = Field(min_length=1, max_length=STEPS_MAX)

    @model_validator(mode="after")
    def _ascending(self) -> Steps:
        times = [at for at, _ in self.steps]
        if times[0] != 0:
            raise refusal("the first step must be at 0s")
        if any(later <= earlier for earlier, later in pairwise(times)):
            raise refusal("steps must be in ascending order, each instant once")
        return self

    def rate(self, partitions: int, horizon_us: int) -> Rate:
        """The steps as they are.

        Raises
        ------
        ValueError
            A step gives another number of rates than there are partitions.
        """
        for _, row in self.steps:
            if len(row) not in (1, partitions):
                raise ValueError(f"a step has {len(row)} rates for {partitions} partitions: give one, or one for each")
        return _steps_rate([at for at, _ in self.steps], [row for _, row in self.steps])


class _Csv(FileModel):
    csv: str


class _Wave(FileModel):
    mean: Records
    amplitude: Annotated[float, Field(ge=0, le=1)] = 0.5
    period: Duration = 86_400_000_000
    phase: Duration = 0
    step: Duration | None = None

    @model_validator(mode="after")
    def _some_steps(self) -> _Wave:
        self.step = self.step or self.period // DIURNAL_STEPS
        if not 0 < 2 * self.step <= self.period:
            raise refusal("step must be above 0s and at most half of period")
        return self


class Diurnal(FileModel):
    """A sine of each partition: mean x (1 + amplitude x sin(2 pi (t + phase) / period)), amplitude from 0 to 1.

    It is cut into steps of ``step`` (a 96th of the period by default); each has the sine's mean over it, so that no
    records are gained or lost.
    """

    diurnal: _Wave

    def rate(self, partitions: int, horizon_us: int) -> Rate:
        """Steps until the horizon."""
        wave = self.diurnal
        assert wave.step is not None, "set by the validator"
        times = _instants(wave.step, horizon_us)
        return _steps_rate(times, [[self._mean_over(at, at + wave.step)] for at in times])

    def _mean_over(self, start_us: int, end_us: int) -> float:
        wave = self.diurnal
        turn = 2 * math.pi / wave.period
        rise = math.cos(turn * (start_us + wave.phase)) - math.cos(turn * (end_us + wave.phase))
        return wave.mean * (1 + wave.amplitude * rise / (turn * (end_us - start_us)))


class _Bursts(FileModel):
    base: Records
    peak: Records
    at: Duration | None = None
    every: Duration | None = None
    length: Duration = Field(alias="for", gt=0)

    @model_validator(mode="after")
    def _one_clock(self) -> _Bursts:
        if (self.at is None) == (self.every is None):
            raise refusal("needs exactly one of at and every")
        if self.every is not None and self.every <= self.length:
            raise refusal("every must be above for, or the bursts touch")
        return self


class Burst(FileModel):
    """``base`` records per second and partition, and ``peak`` for a while: once (``at``) or after each ``every``."""

    burst: _Bursts

    def rate(self, partitions: int, horizon_us: int) -> Rate:
        """Steps at the edges of the bursts, until the horizon."""
        burst = self.burst
        starts = [burst.at] if burst.at is not None else _instants(burst.every or 0, horizon_us)[1:]
        changes = {0: burst.base}
        for start in starts:
            changes |= {start: burst.peak, start + burst.length: burst.base}
        return _steps_rate(list(changes), [[records] for records in changes.values()])


_FORMS: Final[Mapping[str, type[FileModel]]] = MappingProxyType(
    {
        "per_partition": PerPartition,
        "total": Total,
        "steps": Steps,
        "csv": _Csv,
        "diurnal": Diurnal,
        "burst": Burst,
    }
)

RateForm: TypeAlias = PerPartition | Total | Steps | Diurnal | Burst


def _read(value: Any, info: ValidationInfo) -> FileModel:
    if isinstance(value, FileModel):
        return value
    form = one_form(value, _FORMS, "a rate", info)
    if isinstance(form, _Csv):
        steps = read_rate_csv(folder_of(info) / form.csv)
        spend(info, sum(len(row) if isinstance(row, list) else 1 for _, row in steps))
        return Steps.model_validate({"steps": steps}, context=info.context)
    return form


RateField = Annotated[RateForm, BeforeValidator(_read, json_schema_input_type=RateForm | _Csv)]
"""A rate in the file; one of the forms inside, a CSV file being read into steps."""


def _instants(step_us: int, horizon_us: int) -> list[int]:
    """0, step, 2 step, ... below the horizon."""
    if horizon_us > step_us * STEPS_MAX:
        raise ValueError(f"needs more than {STEPS_MAX} steps until the horizon: make them longer")
    return list(range(0, max(horizon_us, 1), step_us))


def _steps_rate(times: Sequence[int], rows: Sequence[Sequence[float]]) -> Rate:
    return Rate(
        times_us=tuple(times),
        per_partition_mrps=tuple(tuple(round(records * 1000) for records in row) for row in rows),
    )
