"""The ``groups`` of a scenario file: what members run, read and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, PrivateAttr, model_validator

from groupsim.scenarios.files.base_model import FileModel, refusal, version_text
from groupsim.scenarios.kafka.client_config import resolved_consumer, unknown_to
from groupsim.scenarios.kafka.client_profiles import NEWEST
from groupsim.scenarios.kafka.config import ConsumerConfigField
from groupsim.scenarios.schema.distributions import DistributionField, Duration
from groupsim.scenarios.schema.subscriptions import Name, SubscriptionField
from groupsim.scenarios.schema.targets import IndicesField
from groupsim.sim.config import ClientFamily
from groupsim.sim.model import Members, Processing, Start

_PROCESSING = Processing()
_MEMBERS = Members(count=1)
MEMBERS_MAX = 1_000_000
GROUPS_MAX = 10_000


Client: TypeAlias = Annotated[Literal["0.9", "0.11", "2.x", "3.x", "4.4"], BeforeValidator(version_text)]
"""A client profile (`scenarios.kafka.client_profiles`)."""


def _protocol(value: Any) -> Any:
    if value == "consumer":
        raise refusal("the consumer protocol (KIP-848) is not in yet: use classic")
    return value


class ProcessingFile(FileModel):
    """What the application does with records (`sim.model.Processing`)."""

    per_record: DistributionField = _PROCESSING.per_record
    per_poll: Duration = _PROCESSING.per_poll_us
    poll_timeout: Duration = _PROCESSING.poll_timeout_us
    commit: Literal["auto", "after_batch", "before_processing", "none"] = _PROCESSING.commit
    on_revoked: Duration = _PROCESSING.on_revoked_us
    on_assigned: Duration = _PROCESSING.on_assigned_us
    on_lost: Duration = _PROCESSING.on_lost_us
    commit_on_revoked: bool = _PROCESSING.commit_on_revoked

    def given(self) -> dict[str, Any]:
        """Only the fields that the file gives, as plain data."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def changed_by(self, other: ProcessingFile | None) -> ProcessingFile:
        """A copy with the fields that ``other`` was given."""
        changes = {name: getattr(other, name) for name in other.model_fields_set} if other else {}
        return self.model_copy(update=changes)


ProcessingChange: TypeAlias = Annotated[ProcessingFile, PlainSerializer(ProcessingFile.given)]
"""Some fields of a group's ``processing``; the others stay as they are."""


class StartFile(FileModel):
    """When members start: all at once, one every so often, or spread over a span by a draw."""

    at: Duration | None = None
    every: Duration | None = None
    within: Duration | None = None
    from_: Duration | None = Field(default=None, alias="from")

    @model_validator(mode="after")
    def _one_kind(self) -> StartFile:
        given = [name for name in ("at", "every", "within") if getattr(self, name) is not None]
        if len(given) != 1:
            raise refusal("needs exactly one of at, every and within")
        if given == ["at"] and self.from_ is not None:
            raise refusal("from goes with every or within: with at, add the two")
        return self

    def build(self) -> Start:
        """The start as the simulator takes it."""
        for kind in ("at", "every", "within"):
            if getattr(self, kind) is not None:
                return Start(kind=kind, value_us=getattr(self, kind), offset_us=self.from_ or 0)
        raise AssertionError("the validator has seen one of the three")


class MembersFile(FileModel):
    """The consumers of a group, named ``group/0`` and so on."""

    count: int = Field(ge=0, le=MEMBERS_MAX)
    per_process: int = Field(default=1, ge=1, le=MEMBERS_MAX)
    static: bool = False
    boot: DistributionField = _MEMBERS.boot
    start: StartFile = StartFile.model_validate({"at": "0s"})


class OverrideFile(FileModel):
    """Members that differ from the rest of their group.

    With a ``client`` of its own an override starts from that profile and the group's ``config``; without, its keys go
    on top of whatever the group and earlier overrides say.
    """

    members: IndicesField
    rack: Name | None = None
    client: Client | None = None
    config: ConsumerConfigField = {}
    processing: ProcessingChange | None = None
    topics: SubscriptionField | None = None
    instance: Name | None = None
    """``group.instance.id`` of static members instead of their names: two that share one fence each other."""


class GroupFile(FileModel):
    """One consumer group, or ``count`` identical ones named ``name-0``, ``name-1`` and so on."""

    count: int = Field(default=1, ge=1, le=GROUPS_MAX)
    protocol: Annotated[Literal["classic"], BeforeValidator(_protocol)] = "classic"
    client: Client = NEWEST
    topics: SubscriptionField
    config: ConsumerConfigField = {}
    processing: ProcessingFile = ProcessingFile()
    members: MembersFile
    overrides: list[OverrideFile] = []
    assignor_failure: Literal["rebalance", "refuse"] = "rebalance"
    client_family: ClientFamily = "java"
    java_order: bool = True

    _given: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _resolve(self) -> GroupFile:
        self._given = self.config
        self.config = resolved_consumer(self.client, self.config)
        for override in self.overrides:
            if override.client is not None:
                override.config = self.config_under(override.client, override.config)
        return self

    def config_under(self, client: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The group's configuration with another client profile and some changes, all modelled keys resolved.

        What the group has and that client does not know is left out, so that a resolved file says the same again.
        """
        strange = unknown_to(client, self._given)
        known = {key: value for key, value in self._given.items() if key not in strange}
        return resolved_consumer(client, {**known, **changes})

    def names(self, name: str) -> list[str]:
        """The names of the groups that an entry ``name`` of the file stands for."""
        return [name] if self.count == 1 else [f"{name}-{index}" for index in range(self.count)]
