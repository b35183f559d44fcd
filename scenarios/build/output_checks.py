"""Output topics of groups that produce: nobody reads them, and nothing else is produced to them."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.assignors.java.re2_pattern import matching
from groupsim.assignors.java.regex import TooManySteps, java_pattern
from groupsim.scenarios.build.problems import Finding
from groupsim.scenarios.files.yaml_text import Place
from groupsim.scenarios.schema.groups import GroupFile
from groupsim.scenarios.schema.scenario_file import ScenarioFile
from groupsim.scenarios.schema.verbs import SetRateFile, SubscribeFile
from groupsim.sim.model import Subscription

_READ = "groups that read output are not modelled"
_RATE = "is what a group produces to: it has no rate of its own"


def check_output_use(file: ScenarioFile, outputs: set[str]) -> Iterator[Finding]:
    """Subscriptions that take in an output topic, under whatever name or pattern, and rates that it is given later.

    Such a reader would find the topic empty for ever (`sim.books.production` knows rates alone).
    """
    for place, subscription in _subscriptions(file):
        for topic in sorted(outputs):
            if _takes_in(subscription, topic):
                yield place, f"reads {topic}, which a group produces to: {_READ}", topic
    for position, entry in enumerate(file.timeline):
        if isinstance(entry.body, SetRateFile) and entry.body.topic in outputs:
            yield ("timeline", position, entry.verb, "topic"), _RATE, entry.body.topic


def _subscriptions(file: ScenarioFile) -> Iterator[tuple[Place, Subscription]]:
    """All that members ever ask for, and where the file says so."""
    for key, group in file.groups.items():
        yield from _of_group(key, group)
    for position, entry in enumerate(file.timeline):
        if isinstance(entry.body, SubscribeFile):
            yield ("timeline", position, entry.verb, "topics"), entry.body.topics


def _of_group(key: str, group: GroupFile) -> Iterator[tuple[Place, Subscription]]:
    yield ("groups", key, "topics"), group.topics
    for position, override in enumerate(group.overrides):
        if override.topics is not None:
            yield ("groups", key, "overrides", position, "topics"), override.topics


def _takes_in(subscription: Subscription, topic: str) -> bool:
    if subscription.pattern is not None:
        return _matches(subscription.pattern, topic)
    if subscription.re2 is not None:
        return bool(matching(subscription.re2, (topic,)))
    return topic in subscription.topics or topic in (subscription.assign or {})


def _matches(pattern: str, topic: str) -> bool:
    """A pattern that takes too long is refused as such (`checks`)."""
    try:
        return java_pattern(pattern).matches(topic)
    except TooManySteps:
        return False
