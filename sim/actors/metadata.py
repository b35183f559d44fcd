"""What a client knows of topics: a refresh every metadata.max.age.ms, counted from the opening.

Only leaders and pattern subscribers act on what a refresh brings, and only if something has changed: no other refresh
is an event, unless the run is loud.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from sim.kernel.environment import Kind, deadline_key
from sim.model import Subscription
from sim.units import FOREVER

if TYPE_CHECKING:
    from sim.actors.client import Client


class Metadata:
    """Metadata of one client.

    Parameters
    ----------
    client : Client
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._machine = client.machine
        self._world = client.world
        self._catalog = client.world.catalog
        self._opened_us = client.opened_us
        self._age_us = client.config.metadata_max_age_us
        self._refreshed_key = deadline_key(client.consumer.entity, Kind.METADATA)
        self._seen_version = 0
        self._refreshed_us = client.opened_us

    def subscribe(self, now: int, subscription: Subscription) -> None:
        """The application calls subscribe(), with metadata as of now."""
        machine = self._machine
        self._seen_version = self._catalog.version
        self._refreshed_us = now
        machine.on_metadata(self._catalog.counts_at(now))
        machine.subscribe(subscription.topics, subscription.pattern)
        self._client.group.cover(machine.topics)
        self.arm(now)

    def refresh(self, now: int) -> None:
        """A refresh that could not wait."""
        self._refreshed_us = now
        self._update(self._catalog.counts_at(now))

    def _update(self, counts: Mapping[str, int]) -> None:
        """A metadata response: topic -> number of partitions."""
        self._machine.on_metadata(counts)
        self._client.group.cover(self._machine.topics)

    def last_seen(self, now: int) -> Mapping[str, int]:
        """What the last refresh before ``now`` has seen."""
        return self._catalog.counts_at(max(self._due(now) - self._age_us, self._refreshed_us))

    def _due(self, now: int) -> int:
        """The next refresh after ``now``."""
        return self._opened_us + ((now - self._opened_us) // self._age_us + 1) * self._age_us

    @property
    def _is_watched(self) -> bool:
        return self._machine.is_leader or self._machine.pattern is not None

    def arm(self, now: int) -> None:
        """Watch the next refresh, if it can bring anything."""
        stale = self._seen_version < self._catalog.version and self._is_watched
        self._client.alarms.metadata.set(self._due(now) if self._world.is_loud or stale else FOREVER)

    def on_due(self, now: int) -> None:
        """A refresh: answered by a broker as of now, read one round trip later."""
        number, latency = (now - self._opened_us) // self._age_us, self._client.path.latency
        trip = latency("metadata", 2 * number) + latency("metadata", 2 * number + 1)
        seen = (self._catalog.version, self._catalog.counts)
        self._client.env.at(now + trip + self._world.timing.service_us, self._refreshed_key, self._refreshed, seen)

    def _refreshed(self, seen: tuple[int, Mapping[str, int]]) -> None:
        client, now = self._client, self._client.env.now
        if client.is_over:
            return
        if client.standstill.frozen is not None:
            client.standstill.postpone(partial(self._refreshed, seen))
            return
        version, counts = seen
        news = version > self._seen_version
        self._seen_version = version
        if news and self._is_watched:
            client.hush.wake()
            self._update(counts)
        self.arm(now)
        if news:
            client.drive(now)
