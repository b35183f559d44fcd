"""Every client configuration that a scenario file gives to somebody at some time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from groupsim.scenarios.build.scenario import overridden
from groupsim.scenarios.build.timeline import configured
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.kafka.client_config import protocol_of
from groupsim.scenarios.kafka.client_profiles import ClientProfile
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.sim.config import GroupProtocol


@dataclass(frozen=True, slots=True)
class Configured:
    """A client configuration that some members have at some time, and where the file says so."""

    place: Place
    group: str
    profile: ClientProfile
    config: dict[str, Any]
    static: bool

    @property
    def protocol(self) -> GroupProtocol:
        """The group protocol of these members."""
        return protocol_of(self.config)


def configurations(file: ScenarioFile) -> Iterator[Configured]:
    """Those of groups, of overrides that change one (on top of earlier ones that overlap), and of ``set_config``."""
    for key, group in file.groups.items():
        static = group.members.static
        yield Configured(("groups", key), key, group.profile(), group.config, static)
        for position, override in enumerate(group.overrides):
            if not override.config and override.client is None:
                continue
            below = [other for other in range(position) if {*group.overrides[other].members} & {*override.members}]
            profile, config = overridden(group, [*below, position])
            yield Configured(("groups", key, "overrides", position), key, profile, config, static)
    for position, entry in enumerate(file.timeline):
        target = file.group_key(entry.body.target.name) if entry.verb == "set_config" else None
        if target is not None:
            profile, config, _ = configured(file, entry)
            static = file.groups[target].members.static if entry.body.static is None else entry.body.static
            yield Configured(("timeline", position, "set_config"), target, profile, config, static)
