"""The models of a scenario file -> `sim.model.Scenario`; `scenarios.build.checks` has checked what is built here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from groupsim.scenarios.build.timeline import build_timeline
from groupsim.scenarios.files.base_model import made
from groupsim.scenarios.kafka.client_config import client_config, layered
from groupsim.scenarios.kafka.client_profiles import ClientProfile
from groupsim.scenarios.kafka.group_config import group_config
from groupsim.scenarios.schema.goals import RECOVERY_LAG
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.sim import model


def build_scenario(
    file: ScenarioFile, *, name: str, allow_code: Sequence[str], document: Mapping[str, Any]
) -> model.Scenario:
    """The scenario that a checked file describes."""
    return model.Scenario(
        name=name,
        question=file.question,
        horizon_us=file.horizon,
        cluster=file.cluster.build(),
        topics=tuple(_topics(file)),
        groups=tuple(group for key, one in file.groups.items() for group in build_groups(key, one)),
        producers=tuple(one.build(key) for key, one in file.producers.items()),
        timeline=tuple(build_timeline(file)),
        measure_from_us=file.measure.from_,
        measure_to_us=file.measure.to,
        recovery_lag_records=file.goals.get(RECOVERY_LAG),
        sample_every_us=file.sample_every,
        event_budget=file.event_budget,
        data=file.data,
        allow_assignors=tuple(allow_code),
        document=document,
    )


def _topics(file: ScenarioFile) -> Iterator[model.Topic]:
    """What producers wait for is theirs to say."""
    acks: dict[str, Any] = {topic: one.acks for one in file.producers.values() for topic in one.topics}
    for key, one in file.topics.items():
        topic = one.build(key, file.cluster.config, file.horizon)
        yield replace(topic, acks=acks[key]) if key in acks else topic


# --- groups -----------------------------------------------------------------------------------------------------------


def build_groups(key: str, file: GroupFile) -> list[model.Group]:
    """The groups that one entry of the file stands for, the same but for their names."""
    first = model.Group(
        name=key,
        subscription=file.topics,
        members=made(model.Members, file.members, start=file.members.start.build()),
        client=client_config(file.profile(), file.config),
        processing=file.processing.build(),
        overrides=tuple(_overrides(file)),
        produces=file.produces.build() if file.produces is not None else None,
        group_config=group_config(file.group_config),
        assignor_failure=file.assignor_failure,
        client_family=file.client_family,
        java_order=file.java_order,
    )
    return [replace(first, name=name) for name in file.names(key)]


def _overrides(file: GroupFile) -> Iterator[model.Override]:
    """Overrides that do not overlap: members to whom the same entries apply, with all that these say together."""
    applying: dict[int, list[int]] = {}
    for position, override in enumerate(file.overrides):
        for index in override.members:
            applying.setdefault(index, []).append(position)
    members: dict[tuple[int, ...], list[int]] = {}
    for index in sorted(applying):
        members.setdefault(tuple(applying[index]), []).append(index)
    for positions, indices in members.items():
        yield _merged(file, positions, frozenset(indices))


def _merged(file: GroupFile, positions: tuple[int, ...], indices: frozenset[int]) -> model.Override:
    profile, config = overridden(file, positions)
    processing, subscription, rack, instance = file.processing, None, None, None
    for position in positions:
        one = file.overrides[position]
        processing = processing.changed_by(one.processing)
        subscription = one.topics or subscription
        rack = one.rack or rack
        instance = one.instance or instance
    return model.Override(
        members=indices,
        client=client_config(profile, config) if (profile, config) != (file.profile(), file.config) else None,
        processing=processing.build() if processing != file.processing else None,
        subscription=subscription,
        rack=rack,
        instance_id=instance,
    )


def overridden(file: GroupFile, positions: Sequence[int]) -> tuple[ClientProfile, dict[str, Any]]:
    """Client profile and configuration of the members to whom these overrides apply."""
    profile, layers = file.profile(), [file.config]
    for position in positions:
        one = file.overrides[position]
        if one.client is not None:
            profile, layers = file.profile(one.client), []
        layers.append(one.config)
    return profile, layered(profile, layers)
