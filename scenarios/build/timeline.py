"""The entries of a scenario file's timeline -> `sim.model.Entry`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from groupsim.scenarios.files.base_model import made
from groupsim.scenarios.kafka.client_config import client_config
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
    for entry in file.timeline:
        for suffix, body in _for_each_group(file, entry.body):
            yield model.Entry(
                id=f"{entry.id}{suffix}",
                verb=_verb(file, entry, body),
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


def _verb(file: ScenarioFile, entry: EntryFile, body: Any) -> model.Verb:
    match body:
        case CreateTopicFile():
            return model.CreateTopic(topic=body.build(body.name, file.cluster.config, file.horizon))
        case SetRateFile():
            return model.SetRate(topic=body.topic, rate=body.rate.rate(partitions_at(file, entry), file.horizon))
        case SetConfigFile():
            return _set_config(file, entry, body)
        case _:
            verb: model.Verb = body.build()
            return verb


def partitions_at(file: ScenarioFile, entry: EntryFile) -> int:
    """How many partitions the topic of a ``set_rate`` has when the entry fires, as far as the file tells."""
    name, now = entry.body.topic, entry.at or 0
    count = file.topics[name].partitions if name in file.topics else 0
    for other in sorted(file.timeline, key=lambda one: one.at or 0):
        if (other.at or 0) > now:
            break
        if other.verb == "create_topic" and other.body.name == name:
            count = other.body.partitions
        elif other.verb == "add_partitions" and other.body.topic == name:
            count = max(count, other.body.to)
    return count


# --- set_config -------------------------------------------------------------------------------------------------------


def _set_config(file: ScenarioFile, entry: EntryFile, body: SetConfigFile) -> model.SetConfig:
    client, config, processing = configured(file, entry)
    return model.SetConfig(
        target=body.target,
        client=client_config(client, config),
        processing=made(model.Processing, processing) if processing is not None else None,
        static=body.static,
    )


def configured(file: ScenarioFile, entry: EntryFile) -> tuple[str, dict[str, Any], ProcessingFile | None]:
    """Client profile, configuration and processing (None: unchanged) after a ``set_config`` entry."""
    target = entry.body.target
    group = file.groups[file.group_key(target.name) or target.name]
    client, config, processing = group.client, dict(group.config), None
    for other in sorted(file.timeline, key=lambda one: one.at or 0):
        if other.verb != "set_config" or other.body.target not in (target, model.Target("group", target.name)):
            continue
        body: SetConfigFile = other.body
        client, config = (client, {**config, **body.config}) if body.client is None else (body.client, body.config)
        if body.processing is not None:
            processing = (processing or group.processing).changed_by(body.processing)
        if other is entry:
            break
    return client, config, processing
