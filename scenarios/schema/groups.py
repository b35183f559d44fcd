"""The ``groups`` of a scenario file: what members run, read and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    PrivateAttr,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails

from groupsim.scenarios.files.base_model import FileModel, error, made, refusal, version_text
from groupsim.scenarios.kafka.client_config import layered, protocol_of, unknown_to
from groupsim.scenarios.kafka.client_profiles import PROFILES, ClientProfile, newest_of
from groupsim.scenarios.kafka.config import ConsumerConfigField, GroupConfigField, OldConsumerKeys
from groupsim.scenarios.kafka.frameworks import FRAMEWORKS, Framework
from groupsim.scenarios.kafka.zookeeper_consumer import OLD_CONSUMER
from groupsim.scenarios.schema.commits import AUTO, CommitField
from groupsim.scenarios.schema.distributions import DistributionField, Duration
from groupsim.scenarios.schema.produces import ProducesFile
from groupsim.scenarios.schema.subscriptions import Name, SubscriptionField
from groupsim.scenarios.schema.targets import IndicesField
from groupsim.sim.config import ClientFamily, GroupProtocol
from groupsim.sim.model import Members, Processing, Start
from groupsim.sim.units import S

_PROCESSING = Processing()
_MEMBERS = Members(count=1)
MEMBERS_MAX = 1_000_000
GROUPS_MAX = 10_000


def _client(value: Any) -> str:
    text = version_text(value)
    if isinstance(text, str) and any(text in versions for versions in PROFILES.values()):
        return text
    raise refusal(f"must be a version of a client: {_told(PROFILES)}")


def _told(families: Mapping[ClientFamily, Mapping[str, ClientProfile]]) -> str:
    return "; ".join(f"{family} {', '.join(versions)}" for family, versions in families.items())


Client: TypeAlias = Annotated[
    str,
    BeforeValidator(_client),
    WithJsonSchema({"enum": list(dict.fromkeys(one for versions in PROFILES.values() for one in versions))}),
]
"""The version of a client (`scenarios.kafka.client_profiles`); which there are depends on its family."""


class ProcessingFile(FileModel):
    """What the application does with records (`sim.model.Processing`)."""

    per_record: DistributionField = _PROCESSING.per_record
    per_poll: Duration = _PROCESSING.per_poll_us
    poll_timeout: Duration = Field(default=_PROCESSING.poll_timeout_us, gt=0)
    commit: CommitField = AUTO
    on_revoked: Duration = _PROCESSING.on_revoked_us
    on_assigned: Duration = _PROCESSING.on_assigned_us
    on_lost: Duration = _PROCESSING.on_lost_us
    commit_on_revoked: bool = _PROCESSING.commit_on_revoked

    def build(self) -> Processing:
        """What the application does, as the simulator takes it."""
        fields = {"commit_on_revoked": self.commit_on_revoked} | self.commit.fields()
        return made(Processing, self, **fields)

    def given(self) -> dict[str, Any]:
        """Only the fields that the file gives, as plain data."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def changed_by(self, other: ProcessingFile | None) -> ProcessingFile:
        """A copy with the fields that ``other`` was given."""
        changes = {name: getattr(other, name) for name in other.model_fields_set} if other else {}
        return self.model_copy(update=changes)


ProcessingChange: TypeAlias = Annotated[ProcessingFile, PlainSerializer(ProcessingFile.given)]
"""Some fields of a group's ``processing``; the others stay as they are."""


_AGED_LEAST_US = 10 * S
_KINDS: Final[tuple[Literal["at", "every", "within", "aged"], ...]] = ("at", "every", "within", "aged")


class StartFile(FileModel):
    """When members start: all at once, one every so often, spread over a span by a draw, or long ago.

    ``aged``: for how long the group has been stable when the run begins.
    """

    bare_key: ClassVar[str] = "at"

    at: Duration | None = None
    every: Duration | None = None
    within: Duration | None = None
    aged: Duration | None = None
    from_: Duration | None = Field(default=None, alias="from")

    @model_validator(mode="after")
    def _one_kind(self) -> StartFile:
        given = [name for name in _KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            raise refusal("needs exactly one of at, every, within and aged")
        if given == ["at"] and self.from_ is not None:
            raise refusal("from goes with every or within: with at, add the two")
        if self.aged is not None and self.from_ is not None:
            raise refusal("from goes with every or within: a group that begins aged is there at 0")
        if self.aged is not None and self.aged < _AGED_LEAST_US:
            reason = "must be at least 10s: a younger group is one that starts (at, every, within)"
            raise ValidationError.from_exception_data("start", [error("aged", reason, self.aged)])
        return self

    def build(self) -> Start:
        """The start as the simulator takes it."""
        for kind in _KINDS:
            if getattr(self, kind) is not None:
                return Start(kind=kind, value_us=getattr(self, kind), offset_us=self.from_ or 0)
        raise AssertionError("the validator has seen one of them")


class MembersFile(FileModel):
    """The consumers of a group, named ``group/0`` and so on."""

    bare_key: ClassVar[str] = "count"
    keys_elsewhere: ClassVar[Mapping[str, str]] = {"replicas": "count"}

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


_NO_FAMILY = "has no consumer of the ZooKeeper protocol: that is Java's of 0.8.2"


def _old(data: Any) -> Any:
    """A mapping whose ``config`` has the keys of the consumer before 0.9."""
    if not isinstance(data, Mapping) or not isinstance(data.get("config"), Mapping):
        return data
    return {**data, "config": OldConsumerKeys(data["config"])}


class GroupFile(FileModel):
    """One consumer group, or ``count`` identical ones named ``name-0``, ``name-1`` and so on.

    ``framework`` is short for what a framework does by default (`scenarios.kafka.frameworks`), ``protocol`` for
    ``config: {group.protocol: ...}``, or ``zookeeper``: the high-level consumer of 0.8.2, whose keys ``config`` has
    then. ``group_config`` is what the broker is told about the group.
    """

    count: int = Field(default=1, ge=1, le=GROUPS_MAX)
    framework: Framework | None = None
    protocol: GroupProtocol = "classic"
    client: Client | None = None
    topics: SubscriptionField
    config: ConsumerConfigField = {}
    group_config: GroupConfigField = {}
    processing: ProcessingFile = ProcessingFile()
    members: MembersFile
    overrides: list[OverrideFile] = []
    produces: ProducesFile | None = None
    assignor_failure: Literal["rebalance", "refuse"] = "rebalance"
    client_family: ClientFamily = "java"
    java_order: bool = True

    _given: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _tell_keys(cls, data: Any) -> Any:
        """The consumer before 0.9 has keys of its own, in overrides too."""
        if not isinstance(data, Mapping) or data.get("protocol") != "zookeeper":
            return data
        overrides = data.get("overrides", [])
        marked = [_old(one) for one in overrides] if isinstance(overrides, list) else overrides
        return {**_old({"config": {}, **data}), "overrides": marked}

    @model_validator(mode="after")
    def _resolve(self) -> GroupFile:
        if self.framework is not None and self.protocol == "zookeeper":
            reason = "has defaults of today's consumer, and this group has that of 0.8.2 (protocol: zookeeper)"
            raise ValidationError.from_exception_data("group", [error("framework", reason, self.framework)])
        if self.framework is not None:
            self._begin_with(self.framework)
        if self.protocol != "zookeeper":
            self.client = self.client or newest_of(self.client_family)
        self._check_clients()
        self._given = self._with_protocol()
        self.config = layered(self.profile(), [self._given])
        for override in self.overrides:
            if override.client is not None:
                override.config = self.config_under(override.client, override.config)
        return self

    def _begin_with(self, name: Framework) -> None:
        """Lay what the file says on top of a framework's defaults."""
        defaults = FRAMEWORKS[name]
        if "client_family" not in self.model_fields_set:
            self.client_family = defaults.client_family
        elif self.client_family != defaults.client_family:
            reason = f"the client of {name} is {defaults.client_family}: leave this out"
            raise ValidationError.from_exception_data("group", [error("client_family", reason, self.client_family)])
        self.config = {**defaults.config, **self.config}
        self.processing = ProcessingFile.model_validate(defaults.processing).changed_by(self.processing)

    def _check_clients(self) -> None:
        """See that the family has the versions that are named."""
        named: list[tuple[tuple[str | int, ...], str | None]] = [(("client",), self.client)]
        named += [(("overrides", at, "client"), one.client) for at, one in enumerate(self.overrides)]
        if self.protocol == "zookeeper" and self.client_family != "java":
            raise ValidationError.from_exception_data("group", [error("client_family", _NO_FAMILY, self.client_family)])
        errors = [
            InitErrorDetails(type=refusal(reason), loc=place, input=client)
            for place, client in named
            if client is not None and (reason := self.no_version(client))
        ]
        if errors:
            raise ValidationError.from_exception_data("group", errors)

    def _with_protocol(self) -> dict[str, Any]:
        """The ``config`` as given, with what ``protocol`` is short for."""
        key, said = "group.protocol", "protocol" in self.model_fields_set
        if said and self.config.get(key, self.protocol) != self.protocol:
            reason = f"config says {key}: {self.config[key]}: the two must agree, and one of them is enough"
            raise ValidationError.from_exception_data("group", [error("protocol", reason, self.protocol)])
        if not said:
            self.protocol = protocol_of(self.config)
        return {**self.config, key: self.protocol} if self.protocol == "consumer" else self.config

    def no_version(self, client: str) -> str:
        """Why the group's family has no client of that version; empty if it has."""
        if self.protocol == "zookeeper":
            return "protocol: zookeeper is the consumer of 0.8.2: leave client out"
        own = {self.client_family: PROFILES[self.client_family]}
        return "" if client in own[self.client_family] else f"is no version of {_told(own)}"

    def profile(self, client: str | None = None) -> ClientProfile:
        """The profile of a version of the group's family; the group's own version by default."""
        if self.protocol == "zookeeper":
            return OLD_CONSUMER
        return PROFILES[self.client_family][client or self.client or newest_of(self.client_family)]

    def config_under(self, client: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The group's configuration with another client profile and some changes, all modelled keys resolved.

        What the group has and that client does not know is left out, so that a resolved file says the same again.
        """
        profile = self.profile(client)
        strange = unknown_to(profile, self._given)
        known = {key: value for key, value in self._given.items() if key not in strange}
        return layered(profile, [known, changes])

    def names(self, name: str) -> list[str]:
        """The names of the groups that an entry ``name`` of the file stands for."""
        return [name] if self.count == 1 else [f"{name}-{index}" for index in range(self.count)]
