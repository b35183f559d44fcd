"""The entries of a scenario file's timeline -> `sim.model.Entry`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import product
from operator import itemgetter
from typing import Any

from groupsim.scenarios.kafka.client_config import client_config, layered
from groupsim.scenarios.kafka.client_profiles import ClientProfile
from groupsim.scenarios.schema.groups import ProcessingFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.timeline import EntryFile
from groupsim.scenarios.schema.verbs import CreateTopicFile, CutFile, SetConfigFile, SetRateFile, TargetedFile
from groupsim.sim import model
from groupsim.sim.units import FOREVER


def build_timeline(file: ScenarioFile) -> Iterator[model.Entry]:
    """The entries in the file's order.

    An entry whose target is a family of identical groups (``count`` above 1) becomes one entry for each of them, with
    the group's name added to its id, so that each has draws of its own.
    """
    history = PartitionHistory(file)
    for entry in file.timeline:
        for suffix, body in _for_each_group(file, entry.body):
            yield model.Entry(
                id=f"{entry.id}{suffix}",
                verb=_verb(file, history, entry, body),
                at_us=entry.at if entry.at is not None else entry.from_ or 0,
                every=entry.every,
                until_us=FOREVER if entry.until is None else entry.until,
                per_member=bool(entry.per_member),
            )


def _for_each_group(file: ScenarioFile, body: Any) -> Iterator[tuple[str, Any]]:
    """(suffix of the id, body with that group as target)."""
    if isinstance(body, CutFile):
        sides = [_targets(file, target) for target in body.between]
        for pair in product(*sides):
            yield "".join(suffix for suffix, _ in pair), body.model_copy(update={"between": [one for _, one in pair]})
    elif isinstance(body, TargetedFile):
        for suffix, target in _targets(file, body.target):
            yield suffix, body.model_copy(update={"target": target})
    else:
        yield "", body


def _targets(file: ScenarioFile, target: model.Target) -> list[tuple[str, model.Target]]:
    group = file.groups.get(target.name) if target.kind == "group" else None
    if group is None or group.count == 1:
        return [("", target)]
    return [(f".{name}", _renamed(target, name)) for name in group.names(target.name)]


def _renamed(target: model.Target, name: str) -> model.Target:
    return model.Target(target.kind, name, target.pick, target.indices, target.count, target.share)


def _verb(file: ScenarioFile, history: PartitionHistory, entry: EntryFile, body: Any) -> model.Verb:
    match body:
        case CreateTopicFile():
            return model.CreateTopic(topic=body.build(body.name, file.cluster.config, file.horizon))
        case SetRateFile():
            return model.SetRate(topic=body.topic, rate=body.rate.rate(history.at(entry), file.horizon))
        case SetConfigFile():
            return _set_config(file, entry, body)
        case _:
            verb: model.Verb = body.build()
            return verb


class PartitionHistory:
    """How many partitions topics have over time, as far as the file tells."""

    def __init__(self, file: ScenarioFile) -> None:
        self._counts = {name: [(0, topic.partitions)] for name, topic in file.topics.items()}
        for entry in sorted(file.timeline, key=_begin_us):
            if entry.verb == "create_topic":
                self._add(entry.body.name, _begin_us(entry), entry.body.partitions)
            elif entry.verb == "delete_topic":
                self._add(entry.body.topic, _begin_us(entry), 0)
            elif entry.verb == "add_partitions":
                known = self._counts.get(entry.body.topic, [(0, 0)])
                self._add(entry.body.topic, _begin_us(entry), max(known[-1][1], entry.body.to))

    def _add(self, topic: str, at_us: int, count: int) -> None:
        self._counts.setdefault(topic, []).append((at_us, count))

    def at(self, entry: EntryFile) -> int:
        """Partitions of the topic of a ``set_rate`` when the entry fires."""
        known = self._counts.get(entry.body.topic, [])
        before = bisect_right(known, _begin_us(entry), key=itemgetter(0))
        return known[before - 1][1] if before else 0


def _begin_us(entry: EntryFile) -> int:
    return entry.at or 0


# --- set_config -------------------------------------------------------------------------------------------------------


def _set_config(file: ScenarioFile, entry: EntryFile, body: SetConfigFile) -> model.SetConfig:
    profile, config, processing = configured(file, entry)
    return model.SetConfig(
        target=body.target,
        client=client_config(profile, config),
        processing=processing.build() if processing is not None else None,
        static=body.static,
    )


def configured(file: ScenarioFile, entry: EntryFile) -> tuple[ClientProfile, dict[str, Any], ProcessingFile | None]:
    """Client profile, configuration and processing (None: unchanged) after a ``set_config`` entry."""
    target = entry.body.target
    group = file.groups[file.group_key(target.name) or target.name]
    profile, layers, processing = group.profile(), [group.config], None
    wanted = (target, model.Target("group", target.name))
    changes = [one for one in file.timeline if one.verb == "set_config" and one.body.target in wanted]
    for other in sorted(changes, key=_begin_us):
        body: SetConfigFile = other.body
        if body.client is not None:
            profile, layers = group.profile(body.client), []
        layers.append(body.config)
        if body.processing is not None:
            processing = (processing or group.processing).changed_by(body.processing)
        if other is entry:
            break
    return profile, layered(profile, layers), processing
