"""What a client knows of topics: a refresh when the last answer is metadata.max.age.ms old (``timeToNextUpdate``).

Only leaders and pattern subscribers act on what a refresh brings. Theirs are events, because each waits behind the
fetch that is parked on the connection that it takes, and the next one is due that much later; those of others are
arithmetic, and wait for nothing. Where topics and brokers stay as they are (`Surroundings.is_still`) those of a quiet
member are arithmetic too, with the same waits. A pattern subscriber asks before it joins, and again and again while it
joins (``ConsumerCoordinator.poll``): what it knows then is as old as its assignment.

Who subscribes by name to a topic that does not exist is told UNKNOWN_TOPIC_OR_PARTITION and asks again with backoff,
until it is there (``Metadata.handleMetadataResponse``, ``timeToAllowUpdate``; Kafka 4.4). None of these requests finds
anything, so they are arithmetic and wait for nothing, up to the first one after the topic was created.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from groupsim.sim.client.fetching.data_connections import DataConnections
from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.kernel.environment import Kind, Moment, deadline_key
from groupsim.sim.model import Subscription
from groupsim.sim.protocol.controller.partition import NO_LEADER
from groupsim.sim.protocol.interface import MemberMachine
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.randomness import backoff_factor, hash64
from groupsim.sim.units import FOREVER


class Metadata:
    """Metadata of one client.

    Parameters
    ----------
    client : Incarnation
    in_flight : InFlight
    connections : DataConnections
    """

    def __init__(self, client: Incarnation, in_flight: InFlight, connections: DataConnections) -> None:
        self._client = client
        self._in_flight = in_flight
        self._connections = connections
        self._machine: MemberMachine[Any, Any] = client.machine
        self._world = client.world
        self._catalog = client.world.catalog
        self._age_us = client.config.metadata_max_age_us
        self._node_key = client.world.streams.key("metadata-node", client.label)
        self._refresh_key = deadline_key(client.consumer.entity, Kind.METADATA)
        self._seen_version = 0
        self._asked_us = client.opened_us
        self._due_us = client.opened_us + self._age_us
        self._number = 1
        self._requests = 0
        self._is_resting = False
        jitter = client.world.streams.key("metadata-jitter", client.label)
        self._backoff = Backoff.of(client.config, backoff_factor(jitter))
        missing = client.world.streams.key("metadata-missing", client.label)
        self._missing_backoff = Backoff.of(client.config, backoff_factor(missing))
        self._names: tuple[str, ...] = ()
        self._n_in_vain = 0

    def subscribe(self, now: int, subscription: Subscription) -> None:
        """The application calls subscribe(); what a pattern can match is what there is now."""
        self._pass_by(now)
        machine, counts = self._machine, self._catalog.counts_at(now)
        self._seen_version = self._catalog.version
        self._asked_us = now
        machine.on_metadata(counts)
        machine.subscribe(subscription.topics, subscription.pattern, subscription.re2)
        pattern = machine.pattern
        self._names = () if pattern is not None else machine.topics
        self._n_in_vain = 0
        if self._lacks_topics:
            self._due_us = now + self._pause_us()
        self._client.books.cover(machine.topics if pattern is None else [one for one in counts if pattern.matches(one)])
        self.arm(now)

    def unsubscribe(self, now: int) -> None:
        """The application calls unsubscribe(): no topic is asked for any more."""
        self._pass_by(now)
        self._names = ()

    def refresh(self, now: int) -> None:
        """A refresh that could not wait."""
        self._pass_by(now)
        self._asked_us = now
        self._due_us = now + self._pause_us()
        self._update(self._catalog.counts_at(now))
        self.arm(now)

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
        books = self._client.books
        passed = self._passed_between(max(books.measure[0], self._due_us), min(books.measure[1], until - 1))
        if passed is None:
            self._pass_by(until - 1)
            passed = 0
        return int(books.is_measured(self._client.opened_us)) + self._requests + passed

    def _passed_between(self, first: int, last: int) -> int | None:
        """How many refreshes at which nobody looked were sent within; None: that takes the time of each to say."""
        before, by = self._passed(first - 1), self._passed(last)
        is_even = not self._n_in_vain and self._catalog.has_gone.isdisjoint(self._names)
        return max(by - before, 0) if is_even and before is not None and by is not None else None

    def _passed(self, by: int) -> int | None:
        """How many of those from now on are sent up to ``by``, if that is so however long each of them takes."""
        longest_us = 2 * self._client.path.longest_us + self._world.timing.service_us + self._connections.period_us
        least, most = ((by - self._due_us) // gap + 1 for gap in (self._age_us + longest_us, self._age_us))
        return max(most, 0) if least == most or most <= 0 else None

    def hasten(self, now: int, at: int) -> None:
        """Something at ``at`` asks for a refresh, not sooner after the last one than is allowed (``requestUpdate``)."""
        self._pass_by(now)
        self._due_us = min(self._due_us, max(at, self._asked_us + self._client.config.retry_backoff_us))
        self.arm(now)

    def has_asked(self, now: int, node: int) -> bool:
        """Whether a refresh has gone to a broker, so that there is a connection to it.

        What precedes the first metadata goes to an address of ``bootstrap.servers``, which is a node of its own.
        """
        self._pass_by(now)
        return self._number > 1 and node in self._in_flight.asked

    def is_stale_for_join(self, now: int) -> bool:
        """Whether a member that could begin to join has to ask first: not again so early (``timeToAllowUpdate``)."""
        machine = self._machine
        return machine.is_about_to_join and now - self._asked_us >= self._client.config.retry_backoff_us

    def ask(self, now: int) -> int:
        """Send a request that somebody waits for; how long it takes, microseconds. `refresh` must follow.

        Until then no other is sent (``Metadata.updateRequested``, ``NetworkClient.DefaultMetadataUpdater``, Kafka 4.4).
        """
        self._pass_by(now)
        self._requests += self._client.books.is_measured(now)
        trip_us = self._trip_us(now)
        self._number += 1
        self._due_us = now + trip_us + self._age_us
        self.arm(now)
        return trip_us

    def finds_leader(self, since: int, heard_us: Mapping[int, int]) -> int:
        """When the client knows a leader that it misses since ``since``, microseconds.

        It asks one broker after the other, at once and then with backoff, until one has heard of it: each has, from
        ``heard_us`` on (``Metadata.requestUpdate``, ``refreshBackoff``, ``NetworkClient.leastLoadedNode``; Kafka 4.4).
        """
        self._pass_by(self._client.env.now)
        latency, nodes, asked, attempts = self._client.path.latency, sorted(heard_us), since, 0
        while True:
            node = nodes[hash64(self._node_key, self._number) % len(nodes)] if nodes else NO_LEADER
            there, back = latency("metadata", 2 * self._number), latency("metadata", 2 * self._number + 1)
            self._number += 1
            self._requests += self._client.books.is_measured(asked)
            answered = asked + there + self._world.timing.service_us + back
            if asked + there >= heard_us.get(node, 0):
                return answered
            asked = answered + self._backoff.after(attempts)
            attempts += 1

    def _pass_by(self, now: int) -> None:
        """Refreshes up to ``now`` at which nobody looked."""
        while self._due_us <= now:
            self._send(self._trip_us(self._due_us if self._is_resting and not self._n_in_vain else None))

    def _send(self, trip_us: int) -> None:
        """The refresh that is due takes so long."""
        self._requests += self._client.books.is_measured(self._due_us)
        self._asked_us = self._due_us
        self._due_us += trip_us + self._pause_us()
        self._number += 1

    @property
    def _lacks_topics(self) -> bool:
        """Whether the last answer lacks a topic that is subscribed to by name."""
        known = self._catalog.counts_at(self._asked_us)
        return any(name not in known for name in self._names)

    def _pause_us(self) -> int:
        """From the last answer to the next request, microseconds."""
        if not self._lacks_topics:
            self._n_in_vain = 0
            return self._age_us
        self._n_in_vain += 1
        return min(self._missing_backoff.after(self._n_in_vain - 1), self._age_us)

    def _trip_us(self, sent: int | None) -> int:
        """From the next request to its answer; with what it waits for at the broker, if it is known when it is sent."""
        latency = self._client.path.latency
        there, back = latency("metadata", 2 * self._number), latency("metadata", 2 * self._number + 1)
        waits = self._wait_us(sent + there) if sent is not None else 0
        return there + waits + self._world.timing.service_us + back

    def _wait_us(self, at: int) -> int:
        """For the fetch that is parked at the least loaded node, if no connection is idle (``leastLoadedNode``)."""
        nodes = self._connections.nodes
        idle = [node for node, one in self._in_flight.asked.items() if node not in nodes and not one.broken]
        if idle or not nodes:
            return 0
        node = nodes[hash64(self._node_key, self._number) % len(nodes)]
        return self._connections.free_at(at, node) - at

    @property
    def _is_watched(self) -> bool:
        return self._machine.is_leader or self._machine.pattern is not None

    def arm(self, now: int) -> None:
        """Watch the next refresh, if it can bring anything."""
        self._pass_by(now)
        if not self._is_resting:
            is_watched = self._is_watched and not self._asks_in_vain
            self._client.alarms.metadata.set(self._due_us if self._world.is_loud or is_watched else FOREVER)

    @property
    def has_news(self) -> bool:
        """Whether its next refresh, or one that is on its way, tells something that it acts on."""
        return self._is_watched and self._seen_version < self._catalog.version

    @property
    def _asks_in_vain(self) -> bool:
        """Whether refreshes find nothing until the catalog changes, which arms the next one."""
        return self._n_in_vain > 0 and self._seen_version == self._catalog.version

    def rest(self) -> None:
        """The member is quiet: what it reads stays as it is, and no refresh brings news where the world is still."""
        is_known = self._seen_version == self._catalog.version
        if self._world.is_still and not self._world.is_loud and self._is_watched and is_known:
            self._is_resting = True
            self._client.alarms.metadata.set(FOREVER)

    def resume(self, moment: Moment) -> None:
        """The member is about to be quiet no more: refreshes before ``moment`` are over, the next one is watched."""
        if self._is_resting:
            now, key = moment
            self._pass_by(now if self._refresh_key < key else now - 1)
            self._is_resting = False
            self._client.alarms.metadata.set(self._due_us)

    def on_due(self, now: int) -> None:
        """A refresh: answered by a broker as of now, read one round trip later."""
        client = self._client
        if not client.elision.look():
            client.elision.wake()
        trip_us = self._trip_us(now if self._is_watched and not self._n_in_vain else None)
        self._send(trip_us)
        if self._world.is_loud or self._seen_version < self._catalog.version:
            seen = (self._catalog.version, self._catalog.counts)
            client.env.at(now + trip_us, self._refresh_key, self._refreshed, seen)
        self.arm(now)

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
