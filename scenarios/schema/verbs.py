"""The verbs of the timeline: one model for the body of each, all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from groupsim.scenarios.files.base_model import FileModel, checked, made, refusal, refuse_repeated
from groupsim.scenarios.kafka.config import ConsumerConfigField
from groupsim.scenarios.schema.distributions import DURATION_SCHEMA, DistributionField, Duration
from groupsim.scenarios.schema.durations import format_duration, parse_duration
from groupsim.scenarios.schema.groups import MEMBERS_MAX, Client, ProcessingChange
from groupsim.scenarios.schema.rates import RateField
from groupsim.scenarios.schema.sizes import Size
from groupsim.scenarios.schema.subscriptions import SubscriptionField, TopicName
from groupsim.scenarios.schema.targets import IndicesField, TargetField
from groupsim.scenarios.schema.topics import PARTITIONS_MAX, TopicFile
from groupsim.sim import model
from groupsim.sim.units import S

_GRACE_US: Final = 30 * S
FACTOR_MAX: Final = 1_000_000
_DOWN: Final = model.Distribution.constant(20 * S)
EVERYBODY: Final = frozenset({"group", "rack", "broker", "zookeeper"})
PROCESSES: Final = frozenset({"group", "rack"})
"""Of verbs that are done to processes of members, those of a rack too."""
GROUPS: Final = frozenset({"group"})


class VerbFile(FileModel):
    """The body of a verb; ``makes`` is what it is called inside."""

    makes: ClassVar[Any] = None

    def build(self) -> Any:
        """The verb as the simulator takes it."""
        return made(self.makes, self)


class TargetedFile(VerbFile):
    """The body of a verb that is done to somebody; ``kinds`` are those of the targets that it can be done to."""

    kinds: ClassVar[frozenset[str]] = EVERYBODY

    target: TargetField


class ForAWhileFile(TargetedFile):
    """The body of a verb that lasts."""

    duration: DistributionField = Field(alias="for")


class GcPauseFile(ForAWhileFile):
    """All threads of the targets' processes stand still."""

    makes = model.GcPause
    kinds = PROCESSES


class StuckFile(ForAWhileFile):
    """The processing thread hangs; the heartbeat thread lives."""

    makes = model.Stuck
    kinds = GROUPS


class SlowFile(ForAWhileFile):
    """Processing of records takes ``factor`` times as long."""

    makes = model.Slow
    kinds = GROUPS

    factor: float = Field(gt=0, le=FACTOR_MAX, allow_inf_nan=False)


class SlowHostFile(ForAWhileFile):
    """Everything the targets' processes do takes ``factor`` times as long."""

    makes = model.SlowHost
    kinds = PROCESSES

    factor: float = Field(gt=0, le=FACTOR_MAX, allow_inf_nan=False)


class KillFile(TargetedFile):
    """SIGKILL; with ``down`` the process starts again that much later."""

    makes = model.Kill

    down: DistributionField | None = None


class CrashAtFile(TargetedFile):
    """SIGKILL at a point of the targets' next transaction; with ``down`` the process starts again that much later."""

    makes = model.CrashAt
    kinds = GROUPS

    point: model.CrashPoint
    down: DistributionField | None = None


class CloseFile(TargetedFile):
    """SIGTERM and a graceful close; SIGKILL after ``grace``."""

    makes = model.Close

    grace: Duration = _GRACE_US
    close: model.Closing = "default"


class StartMembersFile(TargetedFile):
    """Start members (or brokers) that are not running."""

    makes = model.StartMembers

    every: Duration = 0


class StopFile(TargetedFile):
    """The body of a verb that stops members: by close(), told what to do about the group, or by SIGKILL."""

    stop: Literal["close", "kill"] = "close"
    grace: Duration = _GRACE_US
    close: model.Closing = "default"

    @model_validator(mode="after")
    def _nobody_is_told_who_is_killed(self) -> Self:
        if self.stop == "kill" and self.close != "default":
            raise refusal(f"close: {self.close} and stop: kill exclude each other: who is killed calls no close()")
        return self


class RestartFile(StopFile):
    """Stop all targets at once, start each again after its own ``down``."""

    makes = model.Restart

    down: DistributionField = _DOWN


_NEXT: Final = ("running", "assigned", "stable", "in_sync")


def _next(value: Any) -> tuple[str, int]:
    """(running, assigned, stable, in_sync or gap; microseconds of the gap)."""
    if value in _NEXT:
        return value, 0
    if isinstance(value, dict) and set(value) == {"gap"}:
        return "gap", checked(parse_duration)(value["gap"])
    raise refusal("must be running, assigned, stable or {gap: 30s}, or of brokers in_sync or {gap: 60s}")


NextField: TypeAlias = Annotated[
    tuple[str, int],
    BeforeValidator(_next),
    PlainSerializer(lambda value: {"gap": format_duration(value[1])} if value[0] == "gap" else value[0]),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(_NEXT)},
                {"type": "object", "properties": {"gap": DURATION_SCHEMA}, "required": ["gap"]},
            ]
        }
    ),
]


class RollingRestartFile(StopFile):
    """Restart a group batch by batch as Kubernetes does, or brokers one by one (`sim.model.RollingRestart`)."""

    batch: int = Field(default=1, ge=1, le=MEMBERS_MAX)
    surge: int = Field(default=0, ge=0, le=MEMBERS_MAX)
    down: DistributionField = _DOWN
    next_: NextField = Field(default=("assigned", 0), alias="next")

    @model_validator(mode="before")
    @classmethod
    def _wait_for_brokers(cls, value: Any) -> Any:
        """Of brokers the default is in_sync."""
        if isinstance(value, dict) and str(value.get("target")).startswith("broker:"):
            return {"next": "in_sync", **value}
        return value

    def build(self) -> model.RollingRestart:
        """The verb as the simulator takes it."""
        return made(model.RollingRestart, self, next_=self.next_[0], gap_us=self.next_[1])


class ScaleFile(TargetedFile):
    """Scale a group out or in to ``to`` members; the highest indices go first."""

    makes = model.Scale
    kinds = GROUPS
    keys_elsewhere: ClassVar[Mapping[str, str]] = {"replicas": "to", "count": "to"}

    to: int = Field(ge=0, le=MEMBERS_MAX)
    every: Duration = 0
    grace: Duration = _GRACE_US


class CutFile(VerbFile):
    """No traffic between two sets of nodes for a while."""

    between: list[TargetField] = Field(min_length=2, max_length=2)
    duration: DistributionField = Field(alias="for")

    def build(self) -> model.Cut:
        """The verb as the simulator takes it."""
        return made(model.Cut, self, between=(self.between[0], self.between[1]))


class AddPartitionsFile(VerbFile):
    """A topic grows to ``to`` partitions."""

    makes = model.AddPartitions

    topic: TopicName
    to: int = Field(ge=1, le=PARTITIONS_MAX)


class CreateTopicFile(TopicFile):
    """A topic comes into being."""

    bare_key: ClassVar[str] = "name"

    name: TopicName


class DeleteTopicFile(VerbFile):
    """A topic is deleted with all that is in it; another one may get its name."""

    makes = model.DeleteTopic

    topic: TopicName


class SubscribeFile(TargetedFile):
    """Members call subscribe() with something else, at their next poll."""

    kinds = GROUPS

    topics: SubscriptionField

    def build(self) -> model.Subscribe:
        """The verb as the simulator takes it."""
        return made(model.Subscribe, self, subscription=self.topics)


class UnsubscribeFile(TargetedFile):
    """Members call unsubscribe() at their next poll."""

    makes = model.Unsubscribe
    kinds = GROUPS


class SetRateFile(FileModel):
    """A topic's production rate changes; instants in the new rate count from here."""

    topic: TopicName
    rate: RateField


class SetConfigFile(TargetedFile):
    """Members get another configuration, each with its next restart.

    Keys go on top of the group's ``config`` and of earlier ``set_config`` entries for the same target or for the whole
    group. With ``client`` they start from that profile and the group's ``config`` instead.
    """

    kinds = GROUPS

    client: Client | None = None
    config: ConsumerConfigField = {}
    processing: ProcessingChange | None = None
    static: bool | None = None


class DeleteOffsetsFile(TargetedFile):
    """An administrator deletes a group's committed offsets of some topics."""

    kinds = GROUPS

    topics: list[TopicName] = Field(min_length=1)

    def build(self) -> model.DeleteOffsets:
        """The verb as the simulator takes it."""
        return made(model.DeleteOffsets, self, topics=tuple(self.topics))


class DeleteGroupFile(TargetedFile):
    """An administrator deletes a group, with all its offsets."""

    makes = model.DeleteGroup
    kinds = GROUPS


class ElectLeadersFile(VerbFile):
    """An administrator asks for the preferred leaders of some topics (or all), or for any where nobody leads."""

    topics: list[TopicName] = []
    election: Literal["preferred", "unclean"] = "preferred"

    def build(self) -> model.ElectLeaders:
        """The verb as the simulator takes it."""
        return made(model.ElectLeaders, self, topics=tuple(self.topics))


class ReassignFile(VerbFile):
    """An administrator moves partitions of a topic to other brokers; ``throttle`` is what each copies in a second."""

    topic: TopicName
    partitions: IndicesField
    replicas: list[int] = Field(min_length=1, max_length=100)
    throttle: Size = 100 << 20

    @model_validator(mode="after")
    def _check(self) -> Self:
        reason = "replicas must be different brokers (InvalidReplicaAssignmentException)"
        refuse_repeated(self.replicas, reason, at=("replicas",))
        if not self.throttle:
            raise refusal("throttle must be more than nothing, or nothing is ever copied")
        return self

    def build(self) -> model.Reassign:
        """The verb as the simulator takes it."""
        replicas = tuple(self.replicas)
        return made(model.Reassign, self, replicas=replicas, throttle_bytes_per_s=self.throttle)


VERBS: Final = MappingProxyType(
    {
        "gc_pause": GcPauseFile,
        "stuck": StuckFile,
        "slow": SlowFile,
        "kill": KillFile,
        "crash_at": CrashAtFile,
        "close": CloseFile,
        "start": StartMembersFile,
        "restart": RestartFile,
        "rolling_restart": RollingRestartFile,
        "scale": ScaleFile,
        "cut": CutFile,
        "slow_host": SlowHostFile,
        "add_partitions": AddPartitionsFile,
        "create_topic": CreateTopicFile,
        "delete_topic": DeleteTopicFile,
        "subscribe": SubscribeFile,
        "unsubscribe": UnsubscribeFile,
        "set_rate": SetRateFile,
        "set_config": SetConfigFile,
        "delete_offsets": DeleteOffsetsFile,
        "delete_group": DeleteGroupFile,
        "elect_leaders": ElectLeadersFile,
        "reassign": ReassignFile,
    }
)
"""Verb -> model of its body."""
