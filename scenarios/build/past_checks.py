"""What cannot begin aged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.build.scenario import build_groups
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.sim.model import Topic


def check_past(file: ScenarioFile) -> Iterator[Finding]:
    """Groups that begin aged: what they do before 0 is not counted, so nothing may depend on each step of it."""
    for key, group in file.groups.items():
        if group.members.start.aged is not None:
            place: Place = ("groups", key, "members", "start", "aged")
            for message in _refusals(file, group):
                yield place, message, None
            if group.protocol != "zookeeper" and (message := _lag(file, key, group)):
                yield place, message, None


def places(file: ScenarioFile, groups: Mapping[str, str]) -> Iterator[Finding]:
    """Where it says that groups begin aged that a run has shown cannot, and why; once for identical ones."""
    reasons: dict[str, str] = {}
    for name, reason in groups.items():
        reasons.setdefault(str(file.group_key(name)), reason)
    for key, reason in reasons.items():
        yield ("groups", key, "members", "start", "aged"), f"cannot be: {reason}", None


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
        yield (
            "does not go with data: exact, which follows each record from the first on: say fluid, or let the group"
            " start (at, every, within) and count from later on (measure.from)"
        )


def _lag(file: ScenarioFile, key: str, group: GroupFile) -> str:
    """Why a group would begin with lag whoever gets which partitions; the empty string if it might keep up."""
    from groupsim.sim import overload

    read = [group.topics, *(one.topics for one in group.overrides if one.topics is not None)]
    if any(not one.topics for one in read):
        return ""  # Of patterns a run tells.
    topics = [_topic(file, name) for name in sorted({name for one in read for name in one.topics} & file.topics.keys())]
    found = overload(build_groups(key, group)[0], topics, file.cluster.timing.poll)
    if found is None:
        return ""
    least, most = f"{found.produced:,.0f} records/s", f"{found.processed:,.0f}"
    if found.of_one:
        why = f"one of its members has to process at least {least}, and none processes more than {most}"
    else:
        why = f"{least} are produced for it, and its members process at most {most} together"
    return f"cannot be: it would begin with lag, for {why}"


def _topic(file: ScenarioFile, name: str) -> Topic:
    try:
        return file.topics[name].build(name, file.cluster.config, file.horizon)
    except ValueError:
        return Topic(name=name, partitions=0)  # `scenarios.build.checks` says what is wrong with its rate.
