"""What does not go with ``protocol: zookeeper``: what that consumer cannot do, and servers that are not there."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.build.entry_targets import entry_targets
from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.schema.groups import GroupFile, ProcessingFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.targets import format_target
from groupsim.scenarios.schema.verbs import CutFile, KillFile, StartMembersFile, TargetedFile
from groupsim.sim.model import Subscription, Target

_ONLY_NAMES = "protocol: zookeeper reads topics by name here: patterns, and partitions by hand, are not modelled"
_FOREIGN_VERBS = {
    "subscribe": "the consumer of 0.8.2 names its topics once, when it starts (MessageStreamsExistException)",
    "unsubscribe": "the consumer of 0.8.2 names its topics once, when it starts: close is what it has",
    "delete_offsets": "offsets of protocol: zookeeper are nodes in ZooKeeper: no broker deletes them",
    "delete_group": "no broker knows of a group of protocol: zookeeper",
    "set_config": "a change of configuration is not modelled with protocol: zookeeper",
}


def check_zookeeper(file: ScenarioFile) -> Iterator[Finding]:
    """Groups of this protocol, what is done to them, and targets among ZooKeeper's servers."""
    held = [key for key, group in file.groups.items() if group.protocol == "zookeeper"]
    for key in held:
        yield from _check_group(key, file.groups[key])
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb)
        body = entry.body
        if isinstance(body, TargetedFile) and entry.verb in _FOREIGN_VERBS and file.group_key(body.target.name) in held:
            yield (*place, "target"), _FOREIGN_VERBS[entry.verb], format_target(body.target)
        for where, target in entry_targets(body, place):
            yield from _check_server(file, body, where, target, is_held=bool(held))


def _check_group(key: str, group: GroupFile) -> Iterator[Finding]:
    place: Place = ("groups", key)
    for name in group.group_config:
        message = "no broker knows of a group of protocol: zookeeper; group_config is for the consumer protocol"
        yield (*place, "group_config", name), message, group.group_config[name]
    yield from _check_subscription(group.topics, (*place, "topics"))
    yield from _check_processing(group.processing, (*place, "processing"))
    for position, override in enumerate(group.overrides):
        below: Place = (*place, "overrides", position)
        if override.topics is not None:
            yield from _check_subscription(override.topics, (*below, "topics"))
        if override.processing is not None:
            yield from _check_processing(override.processing, (*below, "processing"))


def _check_subscription(topics: Subscription, place: Place) -> Iterator[Finding]:
    for form in ("pattern", "re2", "assign"):
        if getattr(topics, form) is not None:
            yield (*place, form), _ONLY_NAMES, None


def _check_processing(processing: ProcessingFile, place: Place) -> Iterator[Finding]:
    if processing.commit.how not in ("auto", "none"):
        message = "commits of the application are not modelled with protocol: zookeeper: auto or none"
        yield (*place, "commit"), message, processing.commit.how
    for listener in ("on_revoked", "on_assigned", "on_lost", "commit_on_revoked"):
        if getattr(processing, listener):
            yield (*place, listener), "the consumer of 0.8.2 has no rebalance listeners", None


def _check_server(
    file: ScenarioFile, body: object, place: Place, target: Target, *, is_held: bool
) -> Iterator[Finding]:
    if target.kind != "zookeeper":
        return
    text, nodes = format_target(target), file.cluster.zookeeper.nodes
    if not is_held:
        yield place, "nobody asks ZooKeeper: none of the groups has protocol: zookeeper", text
    elif target.indices and target.indices[-1] >= nodes:
        servers = f"servers 0 to {nodes - 1}" if nodes > 1 else "one server, number 0"
        yield place, f"there is no server {target.indices[-1]}: cluster.zookeeper has {servers}", text
    elif not isinstance(body, CutFile | KillFile | StartMembersFile):
        yield place, "ZooKeeper's servers are targets of kill, start and cut only", text
    elif isinstance(body, StartMembersFile) and target.pick == "leader":
        yield place, "who is down does not lead: name servers by number, such as zookeeper:0", text
