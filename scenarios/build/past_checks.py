"""What cannot begin aged."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile


def check_past(file: ScenarioFile) -> Iterator[Finding]:
    """Groups that begin aged: what they do before 0 is not counted, so nothing may depend on each step of it."""
    for key, group in file.groups.items():
        if group.members.start.aged is not None:
            place: Place = ("groups", key, "members", "start", "aged")
            for message in _refusals(file, group):
                yield place, message, None


def _refusals(file: ScenarioFile, group: GroupFile) -> Iterator[str]:
    if group.protocol == "zookeeper":
        yield "is for groups at a coordinator: members of the ZooKeeper protocol start (at, every, within)"
    if group.produces is not None:
        yield "does not go with produces: transactions are followed one by one from the first on"
    if group.topics.assign is not None or any(one.topics and one.topics.assign for one in group.overrides):
        yield "is for members of a group: who takes partitions by hand (assign) starts (at, every, within)"
    if file.producers:
        yield "does not go with producers, whose records are followed from the first on: topics have a rate instead"
    if file.data == "exact":
        yield "does not go with data: exact, which follows each record from the first on: fluid is what goes with it"
