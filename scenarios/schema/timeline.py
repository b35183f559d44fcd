"""The ``timeline`` of a scenario file: when, how often, and exactly one verb."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)

from groupsim.scenarios.errors import nearest
from groupsim.scenarios.files.base_model import FileModel, error, refusal
from groupsim.scenarios.schema.distributions import DistributionField, Duration
from groupsim.scenarios.schema.subscriptions import Name
from groupsim.scenarios.schema.verbs import VERBS, TargetedFile
from groupsim.sim.model import Distribution


class EntryFile(FileModel):
    """What every entry has beside its verb: a name and a clock."""

    id: Name | None = None
    at: Duration | None = None
    every: DistributionField | None = None
    from_: Duration | None = Field(default=None, alias="from")
    until: Duration | None = None
    per_member: bool | None = None

    @property
    def verb(self) -> str:
        """The verb's name."""
        return _VERB_OF[type(self)]

    @property
    def body(self) -> Any:
        """What stands under the verb."""
        return getattr(self, self.verb)

    @model_validator(mode="after")
    def _one_clock(self) -> EntryFile:
        if (self.at is None) == (self.every is None):
            raise refusal("needs exactly one of at and every")
        if self.every is None and any(one is not None for one in (self.from_, self.until, self.per_member)):
            raise refusal("from, until and per_member go with every")
        if self.every is not None and _may_stand_still(self.every):
            raise refusal("every must be above 0s, or time stands still")
        if self.until is not None and self.until <= (self.from_ or 0):
            raise refusal("until must be after from")
        if self.per_member:
            self._check_per_member()
        return self

    def _check_per_member(self) -> None:
        target = self.body.target if isinstance(self.body, TargetedFile) else None
        if target is None or target.kind != "group" or target.pick not in ("all", "index"):
            raise refusal("per_member goes with a target that names members, such as billing or billing/0-9")
        if self.verb == "rolling_restart":
            raise refusal("per_member does not go with a rolling restart, which is of all members, one after the other")


def _may_stand_still(every: Distribution) -> bool:
    return every.values[-1] == 0 if every.kind == "uniform" else min(every.values) == 0


def _entry_model(verb: str, body: Any) -> type[EntryFile]:
    fields: dict[str, Any] = {verb: (body, ...)}
    return create_model(f"{body.__name__.removesuffix('File')}Entry", __base__=EntryFile, **fields)


ENTRIES: Final[Mapping[str, type[EntryFile]]] = MappingProxyType(
    {verb: _entry_model(verb, body) for verb, body in VERBS.items()}
)
"""Verb -> model of an entry with that verb."""
_VERB_OF: Final = {model: verb for verb, model in ENTRIES.items()}


def _read(value: Any, info: ValidationInfo) -> EntryFile:
    """The verb is picked before anything else is looked at, so that errors speak of one verb."""
    if not isinstance(value, Mapping):
        raise refusal("must be a mapping with at or every, and one verb")
    verbs = [key for key in value if key in VERBS]
    if len(verbs) == 1:
        _refuse_bare_target(verbs[0], value[verbs[0]])
        return ENTRIES[verbs[0]].model_validate(value, context=info.context)
    if verbs:
        raise refusal(f"has more than one verb: {', '.join(verbs)}; make an entry of each")
    known = EntryFile.keys()
    strange = [key for key in value if key not in known]
    hint = next((found for key in strange if (found := nearest(key, VERBS) or _begun(key))), "")
    wrong = f"{', '.join(map(repr, strange))} is no verb; " if strange else ""
    raise refusal(f"{wrong}{hint}needs one verb of {', '.join(VERBS)}")


def _begun(key: object) -> str:
    """A hint that names the verb of which the first word was written: ``elect``."""
    found = next((verb for verb in VERBS if verb.startswith(f"{key}_")), "")
    return f"did you mean {found!r}? " if found else ""


def _refuse_bare_target(verb: str, body: Any) -> None:
    if isinstance(body, str) and issubclass(VERBS[verb], TargetedFile):
        wrong = error(verb, f"must be a mapping: write {verb}: {{target: {body}}}", body)
        raise ValidationError.from_exception_data("entry", [wrong])


EntryField: TypeAlias = Annotated[
    SerializeAsAny[EntryFile], BeforeValidator(_read, json_schema_input_type=reduce(or_, ENTRIES.values()))
]
"""An entry of the timeline: a model made for its verb."""
