"""A group to try assignors on, from a file of topics and members -> `assignors.GroupSnapshot`.

    topics:
      orders: 60                                   # partitions
      stock: {partitions: 12, rate: 100, replicas: [[a, b], [b, c], [c, a]]}
    members:
      consumer: {count: 15, topics: [orders, stock], rack: [a, b, c]}
      slow: {topics: [orders], rack: a, capacity: 50}

``rate`` is that of each partition, or a list, in any one unit: give bytes a second to have them counted across racks.
``replicas`` are the racks of a partition's replicas, its leader's first, for the partitions in turn; so is a list under
``rack`` for the members of one entry. Who names no topics reads all.
Nobody owns anything yet. Kafka lets members subscribe to topics that do not exist; here that is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from groupsim.scenarios.build.problems import Finding, findings_of, problems_of
from groupsim.scenarios.errors import Problem, ScenarioFileError, nearest
from groupsim.scenarios.files.base_model import FileModel, refusal
from groupsim.scenarios.files.yaml_text import YamlDocument, read_yaml
from groupsim.scenarios.schema.subscriptions import Name, TopicName

if TYPE_CHECKING:
    from groupsim.assignors import GroupSnapshot

MEMBERS_MAX: Final = 100_000
PARTITIONS_MAX: Final = 1_000_000


def _in_full(value: Any) -> Any:
    return {"partitions": value} if isinstance(value, int) and not isinstance(value, bool) else value


def _one_or_more(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Whole = Annotated[int, Field(ge=0, le=1_000_000_000)]


class TopicEntry(FileModel):
    """One topic."""

    partitions: int = Field(ge=1, le=PARTITIONS_MAX)
    rate: Annotated[list[Whole], BeforeValidator(_one_or_more), Field(min_length=1)] | None = None
    replicas: Annotated[list[Annotated[list[Name], Field(min_length=1)]], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _check_lengths(self) -> TopicEntry:
        if self.rate is not None and len(self.rate) not in (1, self.partitions):
            raise refusal(f"rate must be a number, or one for each of the {self.partitions} partitions")
        if self.replicas is not None and len(self.replicas) > self.partitions:
            raise refusal(f"replicas are those of {len(self.replicas)} partitions, there are {self.partitions}")
        return self

    def rates(self) -> list[int]:
        """Rate of each partition; 0 where none is told."""
        rate = self.rate or [0]
        return rate if len(rate) == self.partitions else rate * self.partitions

    def racks(self) -> list[tuple[str, ...]]:
        """Racks of each partition's replicas."""
        replicas = self.replicas or [[]]
        return [tuple(replicas[number % len(replicas)]) for number in range(self.partitions)]


class MemberEntry(FileModel):
    """One member, or ``count`` that are numbered from 1."""

    count: int = Field(default=1, ge=1, le=MEMBERS_MAX)
    topics: Annotated[list[Name], Field(min_length=1)] | None = None
    rack: Annotated[list[Name], BeforeValidator(_one_or_more), Field(min_length=1)] | None = None
    capacity: int | None = Field(default=None, ge=1, le=1_000_000_000_000)

    @model_validator(mode="after")
    def _check_racks(self) -> MemberEntry:
        if self.rack is not None and len(self.rack) > self.count:
            raise refusal(f"rack names those of {len(self.rack)} members, there are {self.count}")
        return self

    def names(self, key: str) -> list[str]:
        """The ids of these members."""
        width = len(str(self.count))
        return [key] if self.count == 1 else [f"{key}-{number:0{width}}" for number in range(1, self.count + 1)]


class SnapshotFile(FileModel):
    """Topics and the members that read them."""

    topics: dict[TopicName, Annotated[TopicEntry, BeforeValidator(_in_full)]] = Field(min_length=1)
    members: dict[Name, MemberEntry] = Field(min_length=1)


def load_snapshot(path: Path) -> GroupSnapshot:
    """The group that a file describes.

    Raises
    ------
    ScenarioFileError
        With everything that is wrong.
    """
    read = read_yaml(path)
    if not isinstance(read.data, dict):
        raise ScenarioFileError(str(path), [Problem("", "must be a mapping of topics and members")])
    try:
        file = SnapshotFile.model_validate(read.data)
    except ValidationError as error:
        raise ScenarioFileError(str(path), problems_of(findings_of(error), read)) from None
    _refuse(_findings(file), read, path)
    return _built(file)


def _refuse(found: Iterator[Finding], read: YamlDocument, path: Path) -> None:
    problems = problems_of(found, read)
    if problems:
        raise ScenarioFileError(str(path), problems)


def _findings(file: SnapshotFile) -> Iterator[Finding]:
    """What makes no sense although every single value is fine."""
    seen: dict[str, str] = {}
    for key, member in file.members.items():
        for at, topic in enumerate(member.topics or ()):
            if topic not in file.topics:
                hint = nearest(topic, file.topics)
                yield ("members", key, "topics", at), f"is no topic of this file; {hint}".rstrip("; "), topic
        if len(set(member.topics or ())) < len(member.topics or ()):
            yield ("members", key, "topics"), "must not name a topic twice", None
        for name in member.names(key):
            if name in seen:
                yield ("members", key), f"gives a member the id {name}, which {seen[name]} gives too", None
            seen[name] = key
    for field in ("rate", "replicas"):
        yield from _some_without("topics", file.topics, field)
    yield from _some_without("members", file.members, "capacity")
    yield from _too_many(file)


def _some_without(where: str, entries: Mapping[str, object], field: str) -> Iterator[Finding]:
    """The first entry without a field that others have: what it has there nobody could tell."""
    told = [name for name, entry in entries.items() if getattr(entry, field) is not None]
    if told and len(told) < len(entries):
        missing = next(name for name in entries if name not in told)
        yield (where, missing), f"has no {field}, and {told[0]} has: give it to all {where}, or to none", None


def _too_many(file: SnapshotFile) -> Iterator[Finding]:
    partitions, members = sum(t.partitions for t in file.topics.values()), sum(m.count for m in file.members.values())
    if partitions > PARTITIONS_MAX:
        yield ("topics",), f"must have at most {PARTITIONS_MAX} partitions in all, not {partitions}", None
    if members > MEMBERS_MAX:
        yield ("members",), f"must be at most {MEMBERS_MAX}, not {members}", None


def _built(file: SnapshotFile) -> GroupSnapshot:
    from groupsim.assignors import GroupSnapshot, MemberSubscription, Topics

    order = Topics.of({name: topic.partitions for name, topic in file.topics.items()}).names
    entries = [file.topics[name] for name in order]
    racks = tuple(rack for one in entries for rack in one.racks()) if entries[0].replicas is not None else None
    rates = tuple(rate for one in entries for rate in one.rates()) if entries[0].rate is not None else None
    topics = Topics(order, tuple(one.partitions for one in entries), racks, rates)
    members = []
    for key, entry in file.members.items():
        read = order if entry.topics is None else tuple(entry.topics)
        for at, name in enumerate(entry.names(key)):
            rack = entry.rack[at % len(entry.rack)] if entry.rack else None
            members.append(MemberSubscription(name, read, rack=rack, capacity=entry.capacity))
    return GroupSnapshot(topics, tuple(members))
