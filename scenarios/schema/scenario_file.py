"""The scenario file as a whole, and its JSON Schema for editors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from groupsim.scenarios.files.base_model import FileModel, FormatVersion, error, refusal
from groupsim.scenarios.schema.cluster import ClusterFile
from groupsim.scenarios.schema.distributions import Duration
from groupsim.scenarios.schema.durations import format_duration
from groupsim.scenarios.schema.goals import RECOVERY, RECOVERY_LAG, GoalsField
from groupsim.scenarios.schema.groups import GROUPS_MAX, MEMBERS_MAX, GroupFile
from groupsim.scenarios.schema.producers import ProducersFile
from groupsim.scenarios.schema.subscriptions import Name, TopicName
from groupsim.scenarios.schema.timeline import EntryField
from groupsim.scenarios.schema.topics import PARTITIONS_MAX, TopicFile
from groupsim.sim.units import S

SET_CONFIGS_MAX: Final = 1_000
"""Each is held against all before it."""
SAMPLES_MAX: Final = 1_000_000


class MeasureFile(FileModel):
    """The span in which metrics count; the whole run by default."""

    bare_key: ClassVar[str] = "from"

    from_: Duration = Field(default=0, alias="from")
    to: Duration | None = None


def _entries(value: Any) -> Any:
    """What a timeline holds, unless it is no list."""
    if isinstance(value, Mapping):
        example = "- {id: crash, at: 1min, kill: {target: billing/0}}"
        raise refusal(f"must be a list: an entry begins with a dash and has its name as id, such as {example}")
    return value


class ScenarioFile(FileModel):
    """A scenario: one question, a cluster, topics, groups, and what happens to them."""

    version: FormatVersion
    question: str = Field(min_length=1)
    horizon: Duration = Field(gt=0)
    measure: MeasureFile = MeasureFile()
    goals: GoalsField = {}
    cluster: ClusterFile = ClusterFile()
    topics: dict[TopicName, TopicFile] = Field(min_length=1)
    groups: dict[Name, GroupFile] = Field(min_length=1)
    producers: dict[Name, ProducersFile] = {}
    timeline: Annotated[list[EntryField], BeforeValidator(_entries)] = []
    sample_every: Duration = Field(default=10 * S, gt=0)
    data: Literal["fluid", "exact"] = "fluid"
    event_budget: int = Field(default=50_000_000, ge=1, le=10**15)

    @model_validator(mode="after")
    def _check_spans(self) -> ScenarioFile:
        end = self.horizon if self.measure.to is None else self.measure.to
        if not self.measure.from_ < end <= self.horizon:
            wrong = error("measure", "must have measure.from < measure.to <= horizon")
            raise ValidationError.from_exception_data("scenario", [wrong])
        return self

    @model_validator(mode="after")
    def _check_recovery(self) -> ScenarioFile:
        """Of a lag that nobody has named nothing recovers, and none is below 0: such a goal could only be missed."""
        if RECOVERY in self.goals and not self.goals.get(RECOVERY_LAG):
            reason = f"needs {RECOVERY_LAG} beside it, from 1 on: a group has recovered once its lag is below that"
            wrong = InitErrorDetails(type=refusal(reason), loc=("goals", RECOVERY), input=self.goals[RECOVERY])
            raise ValidationError.from_exception_data("scenario", [wrong])
        return self

    @model_validator(mode="after")
    def _check_sizes(self) -> ScenarioFile:
        """Bounds of single entries are bounds of all entries together, or many small lines are one large run."""
        groups = self.groups.values()
        made = [entry.body.partitions for entry in self.timeline if entry.verb == "create_topic"]
        sizes = (
            ("groups", sum(group.count for group in groups), GROUPS_MAX, "groups"),
            ("groups", sum(group.count * group.members.count for group in groups), MEMBERS_MAX, "members"),
            ("topics", sum(one.partitions for one in self.topics.values()) + sum(made), PARTITIONS_MAX, "partitions"),
            (
                "timeline",
                sum(entry.verb == "set_config" for entry in self.timeline),
                SET_CONFIGS_MAX,
                "set_config entries",
            ),
        )
        wrong = [
            error(key, f"must be at most {most} {noun} in all, not {n}") for key, n, most, noun in sizes if n > most
        ]
        if wrong:
            raise ValidationError.from_exception_data("scenario", wrong)
        return self

    @model_validator(mode="after")
    def _check_samples(self) -> ScenarioFile:
        if self.horizon > SAMPLES_MAX * self.sample_every:
            reason = f"must give at most {SAMPLES_MAX} samples within the horizon"
            wrong = error("sample_every", reason, format_duration(self.sample_every))
            raise ValidationError.from_exception_data("scenario", [wrong])
        return self

    @model_validator(mode="after")
    def _name_entries(self) -> ScenarioFile:
        """Give entries without an id the name verb-n, n counted from 1 over the entries of that verb."""
        seen: Counter[str] = Counter()
        first: dict[str, int] = {}
        wrong: list[InitErrorDetails] = []
        for position, entry in enumerate(self.timeline):
            seen[entry.verb] += 1
            entry.id = entry.id or f"{entry.verb}-{seen[entry.verb]}"
            if first.setdefault(entry.id, position) != position:
                reason = f"ids must differ: timeline[{first[entry.id]}] has this one too"
                wrong.append(InitErrorDetails(type=refusal(reason), loc=("timeline", position, "id"), input=entry.id))
        if wrong:
            raise ValidationError.from_exception_data("scenario", wrong)
        return self

    @model_validator(mode="after")
    def _resolve_new_clients(self) -> ScenarioFile:
        for position, entry in enumerate(self.timeline):
            if entry.verb == "set_config" and entry.body.client is not None:
                group = self.groups.get(self.group_key(entry.body.target.name) or "")
                if group is not None:
                    self._check_client(group, position, entry.body.client)
                    entry.body.config = group.config_under(entry.body.client, entry.body.config)
        return self

    @staticmethod
    def _check_client(group: GroupFile, position: int, client: str) -> None:
        if reason := group.no_version(client):
            wrong = InitErrorDetails(
                type=refusal(reason), loc=("timeline", position, "set_config", "client"), input=client
            )
            raise ValidationError.from_exception_data("scenario", [wrong])

    def group_key(self, name: str) -> str | None:
        """The key under ``groups`` of a group's name, which for one of several identical groups ends in its number."""
        if name in self.groups:
            return name
        key = name.rpartition("-")[0]
        return key if key in self.groups and name in self.groups[key].names(key) else None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, for editors."""
    return ScenarioFile.model_json_schema(by_alias=True, mode="validation")
