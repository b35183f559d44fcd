"""The sweep file as its writer has it: what each key takes, and which keys belong to which design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from groupsim.scenarios.files.base_model import FileModel, FormatVersion, error, refusal
from groupsim.scenarios.sweep.design import BASE, NAME_BYTES_MAX, SEED_MAX, count_of, name_bytes
from groupsim.scenarios.sweep.points import SAMPLED, SENSITIVITY, Design, Kind
from groupsim.scenarios.sweep.ranges import FORMS, Range, read_range
from groupsim.scenarios.sweep.replications import Replications, ReplicationsField

POINTS_MAX: Final = 1_000_000
VARIANTS_MAX: Final = 20_000
"""Each is checked, and takes about 1 ms and 14 KiB, before anything runs."""
_BUNDLE_BYTES_MAX: Final = NAME_BYTES_MAX - len("%2C%20p1000000")
_SAMPLES_MAX: Final = 1_000
"""Of a path: so many values are looked at in a file that is refused anyway."""
_SIZES: Final[Mapping[str, tuple[str, ...]]] = {
    "points": ("latin_hypercube", "sobol", "sobol_indices"),
    "trajectories": ("morris",),
    "levels": ("morris",),
}
"""Keys that only some designs have."""


def _values(value: Any) -> list[Any] | Range:
    if isinstance(value, Mapping):
        return read_range(value)
    if not isinstance(value, list):
        raise refusal(f"must be a list of values, or a range: a mapping with one of {', '.join(FORMS)}")
    if not value:
        raise refusal("must have at least 1 value")
    if len({repr(one) for one in value}) < len(value):
        raise refusal("has a value twice")
    return value


def _name(value: Any) -> Any:
    if isinstance(value, str) and name_bytes(value) > _BUNDLE_BYTES_MAX:
        raise refusal(f"must be at most {_BUNDLE_BYTES_MAX} bytes long when quoted: it becomes a folder")
    return value


ValuesField = Annotated[
    list[Any] | Range,
    BeforeValidator(_values),
    PlainSerializer(lambda values: values.document() if isinstance(values, Range) else values),
]
"""What a path takes: listed values, or a range of them."""


class SweepFile(FileModel):
    """A sweep file, as the user writes it."""

    version: FormatVersion = 1
    question: str = ""
    scenario: str
    variants: dict[Annotated[str, Field(min_length=1), BeforeValidator(_name)], dict[str, Any]] = {}
    vary: dict[str, ValuesField] = {}
    design: Kind = "grid"
    points: Annotated[int, Field(ge=1, le=POINTS_MAX)] | None = None
    trajectories: Annotated[int, Field(ge=2, le=POINTS_MAX)] | None = None
    levels: Annotated[int, Field(ge=2, le=100, multiple_of=2)] | None = None
    replications: ReplicationsField = Replications.fixed(1)
    seed: Annotated[int, Field(ge=0, le=SEED_MAX)] = 1
    common_faults: bool = True
    at_most_variants: Annotated[int, Field(ge=1)] = VARIANTS_MAX

    @field_validator("vary")
    @classmethod
    def _check_vary(cls, vary: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        errors = []
        for path, values in vary.items():
            setting = [name for name, changes in info.data.get("variants", {}).items() if path in changes]
            if setting:
                shown = values.document() if isinstance(values, Range) else values
                errors.append(error(path, f"is set by variant {setting[0]!r} too: vary it or set it", shown))
        if errors:
            raise ValidationError.from_exception_data("vary", errors)
        return vary

    @model_validator(mode="after")
    def _check_design(self) -> SweepFile:
        errors = [*self._wrong_sizes(), *(self._not_sampled() if self.design in SAMPLED else self._not_listed())]
        most, count = self.at_most_variants, count_of(self.variants, self.plan)
        if not errors and count > most:
            reason = f"the sweep has {count:,} variants: take fewer, or ask for so many, at_most_variants: {count}"
            errors.append(error("at_most_variants", reason, most))
        if errors:
            raise ValidationError.from_exception_data("sweep", errors)
        return self

    @property
    def plan(self) -> Design:
        """The design as it is carried out."""
        size = self.points or self.trajectories or 0
        return Design(kind=self.design, vary=self.vary, size=size, levels=self.levels or 4, seed=self.seed)

    def document(self) -> dict[str, Any]:
        """Plain data that reads back to the same, defaults filled in."""
        return {key: value for key, value in self.model_dump(mode="json").items() if value is not None}

    def _wrong_sizes(self) -> Iterator[InitErrorDetails]:
        """Keys of another design, and the one that this design needs."""
        for key, designs in _SIZES.items():
            given = getattr(self, key)
            if given is not None and self.design not in designs:
                yield error(key, f"goes with {', '.join(designs)}, not with {self.design}", given)
            if given is None and self.design in designs and key != "levels":
                yield error(key, f"is needed by design {self.design}: how many to take")
        if self.design in ("sobol", "sobol_indices") and self.points and self.points & (self.points - 1):
            below = 1 << (self.points.bit_length() - 1)
            reason = f"must be a power of two, or Sobol's points lose their balance: {below} or {2 * below}"
            yield error("points", reason, self.points)

    def _not_sampled(self) -> Iterator[InitErrorDetails]:
        """What a design that samples ranges cannot use."""
        least = 2 if self.design in SENSITIVITY else 1
        if len(self.vary) < least:
            number = "two paths or more: it tells which matters" if least == 2 else "a path or more to sample"
            yield error("design", f"{self.design} needs {number} under vary")
        if self.design in SENSITIVITY and not self.common_faults:
            reason = f"{self.design} compares variants with each other: without common faults, chance counts as effect"
            yield error("common_faults", reason, self.common_faults)
        for path, values in self.vary.items():
            if not isinstance(values, Range):
                reason = f"is a list, for grid and list; {self.design} samples a range: {{choice: [...]}}, say"
                yield _below("vary", path, reason, values)

    def _not_listed(self) -> Iterator[InitErrorDetails]:
        """What a design of listed values cannot use."""
        lengths = {path: len(values) for path, values in self.vary.items() if not isinstance(values, Range)}
        if self.design == "list" and len(set(lengths.values())) > 1:
            counts = ", ".join(f"{path} has {count}" for path, count in lengths.items())
            yield error("design", f"takes equally many values of each path under vary; {counts}", self.design)
        for path, values in self.vary.items():
            if isinstance(values, Range):
                sampling = ", ".join(SAMPLED)
                reason = f"is a range, and {self.design} takes lists of values; ranges are for {sampling}"
                yield _below("vary", path, reason, values.document())


def _below(key: str, path: str, reason: str, value: object) -> InitErrorDetails:
    return InitErrorDetails(type=refusal(reason), loc=(key, path), input=value)


def sweep_file_of(document: Any) -> SweepFile | None:
    """The sweep file whose document a manifest holds; None if it holds something else."""
    try:
        return SweepFile.model_validate(document)
    except ValidationError:
        return None


def samples(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Some variants of a file that is refused, so that what else is wrong with it can be told too: name and changes.

    Of what can be read, every bundle, and around the first value of each path every other value, or the other end of
    its range.
    """
    axes = {path: values for path, values in readable(data).items() if values}
    first = {path: values[0] for path, values in axes.items()}
    given = data.get("variants")
    bundles = given if isinstance(given, Mapping) else {}
    usable = {name: changes for name, changes in bundles.items() if isinstance(changes, Mapping)}
    for name, changes in usable.items() or [(BASE, {})]:
        yield name, {**first, **changes}
        for path, values in axes.items():
            for value in values[1:_SAMPLES_MAX]:
                yield name, {**first, path: value, **changes}


def readable(data: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The paths under vary, with their values, or the ends of their ranges, or nothing that can be read."""
    vary = data.get("vary")
    found = {}
    for path, given in vary.items() if isinstance(vary, Mapping) else ():
        try:
            values = _values(given)
        except PydanticCustomError:
            values = []
        found[path] = [values.at(0.0), values.at(1.0)] if isinstance(values, Range) else values
    return found
