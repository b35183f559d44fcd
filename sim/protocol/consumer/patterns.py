"""Regular expressions that the coordinator resolves itself (``SubscribedTopicRegex``, KIP-848).

Resolving takes a background task; until its result is there, a new regular expression matches nothing. Source:
``GroupMetadataManager.maybeUpdateRegularExpressions``, ``refreshRegularExpressions``,
``handleRegularExpressionsResult`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.assignors.java.re2_pattern import Re2Error, check_pattern, matching
from groupsim.sim.protocol.consumer.core import GroupCore
from groupsim.sim.protocol.consumer.records import ConsumerGroupRegularExpression, MemberMetadata, ResolvedPattern
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.topics import SubscribedTopics
from groupsim.sim.protocol.facts import MemberSeen
from groupsim.sim.protocol.interface import Task
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import S

BATCH_REFRESH_MIN_INTERVAL_US = 10 * S
"""``GMM.REGEX_BATCH_REFRESH_MIN_INTERVAL_MS``."""

Matches = Mapping[str, tuple[str, ...]]
"""Regular expression -> topics that it matches, sorted: the result of a task."""


class Patterns:
    """Regular expressions of one group.

    Parameters
    ----------
    core : GroupCore
    topics : SubscribedTopics
    """

    def __init__(self, core: GroupCore, topics: SubscribedTopics) -> None:
        self._core = core
        self._topics = topics
        self._running: tuple[int, int] | None = None
        """Version of the image that a task looks at, and when it began (``TopicRegexResolver``)."""

    @property
    def task_key(self) -> str:
        """What Kafka's executor calls the task."""
        return f"{self._core.group_id}-regex"

    def forget(self) -> None:
        """The coordinator is somewhere else: what is running comes to nothing."""
        self._running = None

    # --- subscriptions ------------------------------------------------------------------------------------------------

    def update(self, now: int, before: MemberMetadata, after: MemberMetadata) -> tuple[bool, bool]:
        """A member has been written as ``after``: start a task if one is due.

        Returns
        -------
        tuple of bool
            Whether its regular expression has changed; whether its new one is resolved already, so that a target can
            be computed at once. One that is dropped counts as resolved.
        """
        was_resolved = dict(self._core.roster.patterns)
        changed = before.pattern != after.pattern
        is_new = changed and bool(after.pattern) and self._core.roster.n_subscribers(after.pattern) == 1
        if is_new:
            _check(after.pattern)
        if changed:
            self.drop_unused((before.pattern,))
        self._maybe_start(now, was_resolved, is_new)
        return changed, changed and (not after.pattern or after.pattern in was_resolved)

    def look(self, now: int) -> None:
        """A heartbeat that changes no subscription: start a task if one is due."""
        if self._core.roster.has_patterns:
            self._maybe_start(now, self._core.roster.patterns, is_new=False)

    def drop_unused(self, patterns: tuple[str, ...]) -> None:
        """Forget what these have been resolved to, if nobody subscribes to them any more."""
        roster = self._core.roster
        for pattern in patterns:
            if pattern and not roster.n_subscribers(pattern):
                self._core.write(ConsumerGroupRegularExpression(pattern, None))

    def _maybe_start(self, now: int, resolved: Mapping[str, ResolvedPattern], is_new: bool) -> None:
        """All are resolved together, at most every 10 s, and only if one is not resolved or may be out of date."""
        if self._running is not None:
            return
        first = next(iter(resolved.values()), None)
        if first is not None and now <= first.timestamp_us + BATCH_REFRESH_MIN_INTERVAL_US:
            return
        wanted = sorted({pattern for _, pattern in self._core.roster.subscriptions if pattern})
        is_missing = is_new or len(wanted) != len(resolved)
        if wanted and (is_missing or (first is not None and self._is_old(now, first))):
            self._start(now, tuple(wanted))

    def _is_old(self, now: int, resolved: ResolvedPattern) -> bool:
        config, refreshes = self._core.config, self._core.rules.refreshes_patterns
        is_late = now > resolved.timestamp_us + config.consumer_regex_refresh_interval_us
        return resolved.version < self._topics.new_topics_version or (refreshes and is_late)

    # --- the task -----------------------------------------------------------------------------------------------------

    def _start(self, now: int, patterns: tuple[str, ...]) -> None:
        self._running = self._topics.version, now
        names = tuple(sorted(self._topics.image))
        self._core.start_task(Task(self.task_key, lambda: matches(patterns, names)))

    def resolved(self, now: int, result: Matches) -> None:
        """The task is done: write what has been found; other topics than before, or topics that have changed, bump."""
        core, roster = self._core, self._core.roster
        if self._running is None:
            return
        (version, began_us), self._running, others = self._running, None, set()
        for pattern in sorted(result):
            if not roster.n_subscribers(pattern):
                continue
            former = roster.patterns.get(pattern)
            if (former.topics if former is not None else ()) != result[pattern]:
                others.add(pattern)
            core.write(ConsumerGroupRegularExpression(pattern, ResolvedPattern(result[pattern], version, began_us)))
        metadata_hash = self._topics.metadata_hash()
        if others or metadata_hash != roster.group.metadata_hash:
            what = "a regular expression matches other topics" if others else "subscribed topics have changed"
            core.bump(metadata_hash, what)
            self._topics.refreshed(now)
        for member in roster:
            if member.metadata.pattern in others:
                core.note(MemberSeen(member.member_id, self._topics.names_of(member.subscribed)))


def matches(patterns: tuple[str, ...], names: tuple[str, ...]) -> Matches:
    """Topics that each of some regular expressions matches as a whole."""
    return {one: matching(one, names) for one in patterns}


def _check(pattern: str) -> None:
    try:
        check_pattern(pattern)
    except Re2Error as error:
        raise Refused(Error.INVALID_REGULAR_EXPRESSION, str(error)) from None
