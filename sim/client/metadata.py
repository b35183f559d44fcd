"""What a client knows of topics: a refresh when the last answer is metadata.max.age.ms old (``timeToNextUpdate``).

Only leaders and pattern subscribers act on what a refresh brings, and only if something has changed: no other refresh
is an event, unless the run is loud. A pattern subscriber asks again and again while it joins
(``ConsumerCoordinator.poll``): what it knows then is as old as its assignment.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.model import Subscription
from groupsim.sim.units import FOREVER


class Metadata:
    """Metadata of one client.

    Parameters
    ----------
    client : Incarnation
    """

    def __init__(self, client: Incarnation) -> None:
        self._client = client
        self._machine = client.machine
        self._world = client.world
        self._catalog = client.world.catalog
        self._age_us = client.config.metadata_max_age_us
        self._refreshed_key = deadline_key(client.consumer.entity, Kind.METADATA)
        self._seen_version = 0
        self._asked_us = client.opened_us
        self._due_us = client.opened_us + self._age_us
        self._number = 1
        self._requests = 0

    def subscribe(self, now: int, subscription: Subscription) -> None:
        """The application calls subscribe(), with metadata as of now."""
        machine = self._machine
        self._seen_version = self._catalog.version
        self._asked_us = now
        machine.on_metadata(self._catalog.counts_at(now))
        machine.subscribe(subscription.topics, subscription.pattern)
        self._client.books.cover(machine.topics)
        self.arm(now)

    def refresh(self, now: int) -> None:
        """A refresh that could not wait."""
        self._pass_by(now)
        self._asked_us, self._due_us = now, now + self._age_us
        self._update(self._catalog.counts_at(now))

    def _update(self, counts: Mapping[str, int]) -> None:
        """A metadata response: topic -> number of partitions."""
        self._machine.on_metadata(counts)
        self._client.books.cover(self._machine.topics)

    def last_seen(self, now: int) -> Mapping[str, int]:
        """What the last refresh before ``now`` has seen."""
        self._pass_by(now)
        return self._catalog.counts_at(self._asked_us)

    def requests(self, until: int) -> int:
        """Requests sent before ``until`` and within ``measure``: one at the opening, then one whenever it is time."""
        self._pass_by(until - 1)
        return int(self._client.books.is_measured(self._client.opened_us)) + self._requests

    def _pass_by(self, now: int) -> None:
        """Refreshes up to ``now`` at which nobody looked."""
        while self._due_us <= now:
            self._requests += self._client.books.is_measured(self._due_us)
            self._asked_us = self._due_us
            self._due_us += self._trip_us() + self._age_us
            self._number += 1

    def _trip_us(self) -> int:
        """From the next request to its answer."""
        latency, timing = self._client.path.latency, self._world.timing
        there, back = latency("metadata", 2 * self._number), latency("metadata", 2 * self._number + 1)
        return there + back + timing.service_us

    @property
    def _is_watched(self) -> bool:
        return self._machine.is_leader or self._machine.pattern is not None

    def arm(self, now: int) -> None:
        """Watch the next refresh, if it can bring anything."""
        self._pass_by(now)
        stale = self._seen_version < self._catalog.version and self._is_watched
        self._client.alarms.metadata.set(self._due_us if self._world.is_loud or stale else FOREVER)

    def on_due(self, now: int) -> None:
        """A refresh: answered by a broker as of now, read one round trip later."""
        seen = (self._catalog.version, self._catalog.counts)
        self._client.env.at(now + self._trip_us(), self._refreshed_key, self._refreshed, seen)

    def _refreshed(self, seen: tuple[int, Mapping[str, int]]) -> None:
        client, now = self._client, self._client.env.now
        if client.is_over:
            return
        client.elision.look()
        if client.frozen is not None:
            client.late.append(partial(self._refreshed, seen))
            return
        version, counts = seen
        news = version > self._seen_version
        self._seen_version = version
        if news and self._is_watched:
            client.elision.wake()
            self._update(counts)
        self.arm(now)
        if news:
            client.drive(now)
