"""Which topics somebody in a group wants: members, and who is about to become one."""

from __future__ import annotations

from collections import Counter


class Interest:
    """Subscriptions of one group, by member id."""

    def __init__(self) -> None:
        self._topics_of: dict[str, tuple[str, ...]] = {}
        self._count: Counter[str] = Counter()
        self._told: frozenset[str] = frozenset()

    def of(self, member_id: str) -> tuple[str, ...]:
        """What a member is subscribed to, as far as the coordinator has been told."""
        return self._topics_of.get(member_id, ())

    def tell(self, member_id: str, topics: tuple[str, ...]) -> None:
        """A member is subscribed to ``topics`` from now on."""
        self.forget(member_id)
        self._topics_of[member_id] = topics
        self._count.update(topics)

    def forget(self, member_id: str) -> None:
        """The member is gone."""
        self._count.subtract(self._topics_of.pop(member_id, ()))

    def has_changed(self) -> bool:
        """Whether `topics` is another set than when this was last asked."""
        before, self._told = self._told, self.topics
        return before != self._told

    @property
    def topics(self) -> frozenset[str]:
        """What somebody wants."""
        return frozenset(topic for topic, count in self._count.items() if count > 0)
