"""What does not go with the group protocol that members have: brokers' patterns, and a leader where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groupsim.scenarios.build.configurations import Configured
from groupsim.scenarios.build.entry_targets import entry_targets
from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.build.scenario import overridden
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.kafka.client_config import protocol_of
from groupsim.scenarios.kafka.consumer_protocol import RE2_REFUSED
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.targets import format_target
from groupsim.sim.model import Subscription

_LEADERLESS = {
    "consumer": "the coordinator assigns (KIP-848)",
    "zookeeper": "each member assigns for itself",
}
"""Who assigns where no member does it for the others."""


def check_protocols(file: ScenarioFile, found: Sequence[Configured]) -> Iterator[Finding]:
    """Subscriptions and targets that members' protocols do not have.

    Parameters
    ----------
    file : ScenarioFile
    found : sequence of Configured
        Every client configuration of the file.
    """
    for key, group in file.groups.items():
        yield from _check_patterns(key, group)
    for position, entry in enumerate(file.timeline):
        place: Place = ("timeline", position, entry.verb)
        if entry.verb == "set_config":
            yield from _check_new_protocol(file, found, place)
        if entry.verb == "subscribe" and entry.body.topics.re2 is not None:
            group_key = file.group_key(entry.body.target.name)
            if any(one.group == group_key and one.protocol == "classic" for one in found):
                yield (*place, "topics", "re2"), RE2_REFUSED, entry.body.topics.re2
        yield from _check_leader(file, entry.body, place)


def _check_patterns(key: str, group: GroupFile) -> Iterator[Finding]:
    """Members of the classic protocol whose subscription is a pattern of the broker's."""
    told = set()
    for positions in _combinations(group):
        subscription, place = _subscription(group, positions)
        classic = protocol_of(overridden(group, positions)[1]) == "classic"
        if subscription.re2 is not None and classic and place not in told:
            told.add(place)
            yield ("groups", key, *place, "re2"), RE2_REFUSED, subscription.re2


def _combinations(group: GroupFile) -> list[tuple[int, ...]]:
    """Which overrides hold together for some member; none of them for members that have none."""
    applying: dict[int, tuple[int, ...]] = {}
    for position, override in enumerate(group.overrides):
        for index in override.members:
            applying[index] = (*applying.get(index, ()), position)
    plain = [()] if len(applying) < group.members.count else []
    return [*plain, *dict.fromkeys(applying.values())]


def _subscription(group: GroupFile, positions: Sequence[int]) -> tuple[Subscription, Place]:
    """What members under some overrides read, and where in the group that is said."""
    said = [position for position in positions if group.overrides[position].topics is not None]
    if not said:
        return group.topics, ("topics",)
    return group.overrides[said[-1]].topics or group.topics, ("overrides", said[-1], "topics")


def _check_new_protocol(file: ScenarioFile, found: Sequence[Configured], place: Place) -> Iterator[Finding]:
    """A ``set_config`` after which members of the classic protocol would subscribe by a pattern of the broker's."""
    for one in found:
        if one.place == place and one.protocol == "classic":
            group = file.groups[one.group]
            read = [group.topics, *(override.topics for override in group.overrides if override.topics)]
            patterns = [subscription.re2 for subscription in read if subscription.re2 is not None]
            if patterns:
                yield (*place, "config"), f"{one.group} reads {{re2: {patterns[0]!r}}}: {RE2_REFUSED}", None


def _check_leader(file: ScenarioFile, body: object, place: Place) -> Iterator[Finding]:
    for where, target in entry_targets(body, place):
        key = file.group_key(target.name) if target.kind == "group" and target.pick == "leader" else None
        if key is not None and file.groups[key].protocol in _LEADERLESS:
            protocol = file.groups[key].protocol
            message = f"a group of the {protocol} protocol has no leader: {_LEADERLESS[protocol]}"
            yield where, f"{message}; {key}/random is one of its members", format_target(target)
