"""What a member subscribes to: names, a pattern of its own, or a pattern that the broker resolves.

Source: ``SubscriptionState`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.assignors.java.regex import JavaPattern, java_pattern


class MemberSubscription:
    """Topics of one member.

    Attributes
    ----------
    topics : tuple of str
        Sorted; of a `java.util.regex` pattern those that matched when the metadata was last seen. A new consumer has
        seen none when it subscribes: it knows no topic until `match`.
    pattern : JavaPattern or None
        Matched by the client.
    broker_pattern : str or None
        RE2/J, matched by the coordinator (``SubscriptionPattern``); needs no metadata here.
    metadata : mapping
        Topic -> number of partitions, as last seen.
    is_news : bool
        subscribe() was called: the next poll() joins, if the member is not in the group (``onSubscriptionUpdated``).
    """

    __slots__ = ("_has_matched", "broker_pattern", "is_news", "metadata", "pattern", "topics")

    def __init__(self) -> None:
        self.topics: tuple[str, ...] = ()
        self.pattern: JavaPattern | None = None
        self.broker_pattern: str | None = None
        self.metadata: Mapping[str, int] = {}
        self.is_news = False
        self._has_matched = False

    def subscribe(self, topics: tuple[str, ...], pattern: str | None, broker_pattern: str | None) -> None:
        """``subscribe()``; to nothing at all, as of a consumer that takes partitions by hand: it joins no group."""
        self.pattern = java_pattern(pattern) if pattern is not None else None
        self.broker_pattern = broker_pattern
        self.topics = tuple(sorted(topics))
        if self.pattern is not None and self._has_matched:
            self.match()
        self.is_news = self.is_wanted

    def unsubscribe(self) -> None:
        """``unsubscribe()``."""
        self.topics, self.pattern, self.broker_pattern, self.is_news = (), None, None, False

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """A metadata response (``maybeUpdatePatternSubscription``)."""
        self.metadata = counts
        if self.pattern is not None:
            self.match()

    @property
    def is_unmatched(self) -> bool:
        """Whether a pass through poll() is the first that can look at metadata: the one before that sent for them."""
        return self.pattern is not None and not self._has_matched and not self.is_news

    def match(self) -> None:
        """Look at the metadata (``ApplicationEventProcessor.process(UpdatePatternSubscriptionEvent)``, Kafka 4.4)."""
        assert self.pattern is not None
        self._has_matched = True
        self.topics = tuple(sorted(topic for topic in self.metadata if self.pattern.matches(topic)))

    @property
    def is_wanted(self) -> bool:
        """Whether the consumer is subscribed to anything."""
        return bool(self.topics) or self.pattern is not None or self.broker_pattern is not None
