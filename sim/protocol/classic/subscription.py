"""What a member is subscribed to, what it has seen of the metadata, and what it tells the leader.

Source: ``SubscriptionState``, ``ConsumerCoordinator`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from groupsim.assignors.guarded_call import AssignorMemory, user_data
from groupsim.assignors.java.regex import JavaPattern, java_pattern
from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions, Subscription


class SubscriptionState:
    """Topics of one member.

    Attributes
    ----------
    topics : tuple of str
        Subscribed, sorted.
    pattern : JavaPattern or None
    metadata : mapping
        Topic -> number of partitions, as last seen.
    joined_topics : tuple of str
        ``topics`` as the last JoinGroup said them.
    group_topics : tuple of str
        What anybody in the group subscribes to, as the leader has been told.
    topic_of : callable
        Name of the topic of a partition position; set by the shell.
    """

    __slots__ = ("_watched", "group_topics", "joined_topics", "metadata", "pattern", "topic_of", "topics")

    def __init__(self) -> None:
        self.topics: tuple[str, ...] = ()
        self.pattern: JavaPattern | None = None
        self.metadata: Mapping[str, int] = {}
        self.group_topics: tuple[str, ...] = ()
        self.topic_of: Callable[[int], str] = lambda position: ""
        self.joined_topics: tuple[str, ...] = ()
        self._watched: dict[str, int] | None = None

    # --- topics -------------------------------------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        """``subscribe()``: takes effect at the next poll."""
        self.pattern = java_pattern(pattern) if pattern is not None else None
        self.topics = self._matched() if self.pattern is not None else tuple(sorted(topics))

    def unsubscribe(self) -> None:
        """``unsubscribe()``."""
        self.topics, self.pattern = (), None

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """A metadata response: topic -> number of partitions (``maybeUpdateSubscriptionMetadata``)."""
        self.metadata = counts
        if self.pattern is not None:
            self.topics = self._matched()

    def _matched(self) -> tuple[str, ...]:
        """Topics that the pattern matches as a whole (``SubscriptionState.matchesSubscribedPattern``)."""
        assert self.pattern is not None
        return tuple(sorted(topic for topic in self.metadata if self.pattern.matches(topic)))

    @property
    def wants_group(self) -> bool:
        """Whether the consumer is subscribed to anything."""
        return bool(self.topics) or self.pattern is not None

    @property
    def has_changed(self) -> bool:
        """Whether it is not what the last JoinGroup said."""
        return self.topics != self.joined_topics

    def joins(self) -> None:
        """JoinGroup goes out with the topics of now."""
        self.joined_topics = self.topics

    # --- what the leader watches --------------------------------------------------------------------------------------

    def _view(self) -> dict[str, int]:
        return {topic: self.metadata[topic] for topic in self.group_topics if topic in self.metadata}

    def watch(self, counts: Mapping[str, int] | None = None) -> None:
        """Remember partition counts of all topics of the group (``MetadataSnapshot``); None: those of now."""
        seen = self.metadata if counts is None else counts
        self._watched = {topic: seen[topic] for topic in self.group_topics if topic in seen}

    @property
    def has_other_counts(self) -> bool:
        """Whether the leader has seen other partition counts since it assigned."""
        return self._watched is not None and self._watched != self._view()

    # --- partitions ---------------------------------------------------------------------------------------------------

    def outside(self, owned: Positions) -> Positions:
        """Owned partitions of topics that are no longer subscribed."""
        if not self.has_changed or not owned.size:
            return NO_PARTITIONS
        return np.array([p for p in owned if self.topic_of(int(p)) not in self.topics], dtype=np.int32)

    def is_matched_by(self, new: Positions, *, is_static: bool) -> bool:
        """``checkAssignmentMatchedSubscription``; a static member may be handed what its predecessor wanted."""
        if not self.has_changed and not is_static:
            return True
        return all(self.topic_of(position) in self.topics for position in new.tolist())

    def metadata_for(
        self, assignor: AssignorMemory, owned: Positions, generation: int, config: ClientConfig
    ) -> Subscription:
        """``ConsumerCoordinator.metadata``: topics, owned partitions, generation, rack."""
        behaviour = config.behaviour
        knows_generation = behaviour.generation_in_subscription and generation >= 0
        return Subscription(
            topics=self.topics,
            owned=np.sort(owned) if owned.size else owned,
            generation=generation if knows_generation else None,
            user_data=user_data(assignor),
            rack=(config.client_rack or None) if behaviour.rack_in_subscription else None,
        )
