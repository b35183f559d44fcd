"""From a leader that is gone to the first fetch from the next one.

Who was connected to a broker that died asks for metadata, at once and then with backoff, and finds the new leader as
soon as the broker that it asks has heard of it (`Metadata.finds_leader`). Who is refused by a leader that leads no more
reads in the same answer who does (KIP-951: ``FetchResponse.currentLeader``, ``AbstractFetch.handleFetchSuccess``,
``Metadata.updatePartitionLeadership``).

Either is before the new leader leads: a broker publishes what it hears to its cache first, and applies it then
(``BrokerMetadataPublisher.onMetadataUpdate``). Until then it answers UNKNOWN_LEADER_EPOCH to who confirms a position
there, and is asked again after ``retry.backoff.ms``, which does not grow (``Partition.checkCurrentLeaderEpoch``,
``OffsetFetcherUtils.onSuccessfulResponseForValidatingPositions``). The fetch that follows is parked until the high
watermark moves. Kafka 4.4.

All of that is arithmetic, worked out when the high watermark moves: nothing is read before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.fetching.data_connections import DataConnections, Trips
from groupsim.sim.client.fetching.metadata import Metadata
from groupsim.sim.client.fetching.parked_fetch import Times
from groupsim.sim.client.fetching.position_checks import asked_at
from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.units import FOREVER

_MOST_AT_ONCE: Final = 256
"""Requests that are worked out together."""


class Found(NamedTuple):
    """Partitions that can be read, their leaders, and when the client knows that; ``is_new``: others led before."""

    positions: Positions
    leaders: NDArray[np.int32]
    is_new: bool
    known_us: int

    def late(self) -> Found:
        """The same for a client that stands still, and knows it when it goes on."""
        return self._replace(known_us=FOREVER)


class LeaderSearch:
    """That of one client.

    Parameters
    ----------
    client : Incarnation
    poll_loop : PollLoop
    connections : DataConnections
    metadata : Metadata
    in_flight : InFlight
    """

    def __init__(
        self, client: Incarnation, poll_loop: PollLoop, connections: DataConnections, metadata: Metadata,
        in_flight: InFlight,
    ) -> None:  # fmt: skip
        self._env = client.env
        self._path = client.path
        self._in_flight = in_flight
        self._poll_loop = poll_loop
        self._connections = connections
        self._metadata = metadata
        self._partitions = client.books.partitions
        self._is_paced = client.machine.is_paced
        self._is_told = client.config.behaviour.leader_in_fetch_response
        self._service_us = client.world.timing.service_us
        self._retry_us = max(client.config.retry_backoff_us, client.world.timing.poll_us)

    def known(self, positions: Positions, since: NDArray[np.int64]) -> Times:
        """When the client knows who leads these. Shape (n,).

        ``since``: when their former leaders died; now, if nobody did. Shape (n,).
        """
        found: dict[tuple[int, int], int] = {}
        known = np.empty(len(positions), np.int64)
        for index, told in enumerate(self._partitions.announcements(positions)):
            heard_us: Mapping[int, int] = told.heard_us if told is not None else {}
            lost_us = int(since[index])
            left_us = heard_us.get(told.former, FOREVER) if told is not None else FOREVER
            is_refused = left_us <= lost_us or (lost_us == self._env.now and left_us < FOREVER)
            case = (left_us if is_refused else lost_us, id(heard_us))
            if case not in found:
                finds = self._refused if is_refused else self._metadata.finds_leader
                found[case] = finds(case[0], heard_us)
            known[index] = found[case]
        return known

    def found(self, positions: Positions, known: Times, *, is_new: bool) -> Iterator[Found]:
        """Those that are known at the same time together. Shapes (n,)."""
        for time in sorted(set(known.tolist())):
            some = positions[known == time]
            yield Found(some, self._partitions.leader[some], is_new, time)

    def _refused(self, left_us: int, heard_us: Mapping[int, int]) -> int:
        """When the client knows a leader whose predecessor runs, and has heard at ``left_us`` that it leads no more."""
        answered = left_us + self._in_flight.trip()[1]
        return answered if self._is_told else self._metadata.finds_leader(answered, heard_us)

    def begun(self, asked: int, positions: Positions) -> Times:
        """When first fetches from the leaders of these are answered, if they are asked from then on. Shape (n,)."""
        leaders, told = self._partitions.leader[positions], self._partitions.announcements(positions)
        led_us = np.array([one.led_us if one is not None else 0 for one in told], np.int64)
        begun = np.empty(len(positions), np.int64)
        for node in sorted(set(leaders.tolist())):
            these = np.flatnonzero(leaders == node)
            at = self._refused_until(asked, min(int(led_us[these].min()), self._env.now))
            while these.size:
                trips = Trips(*self._in_flight.trip(), *self._in_flight.trip())
                answered = self._answered(at, node, trips)
                is_led = led_us[these] <= answered - self._service_us - int(trips.down)
                begun[these[is_led]] = self._fetched(answered, node, trips)
                these, at = these[~is_led], answered + self._retry_us
        return begun

    def _refused_until(self, asked: int, led_us: int) -> int:
        """When a leader is asked again that is asked from ``asked`` on, and refuses all that comes before ``led_us``.

        That has passed, so that nobody has to look at these requests one by one.
        """
        shortest_us = self._service_us + self._retry_us + 2
        while (most := min((led_us - asked) // shortest_us, _MOST_AT_ONCE)) > 0:
            number = self._in_flight.numbers["other"]
            there, back = self._path.latencies("other", 2 * number, 4 * most).reshape(most, 4)[:, :2].T
            begins = asked + np.cumsum(np.append(0, there + back + self._service_us + self._retry_us))
            refused = int(np.argmin(np.append(begins[:-1] + there < led_us, False)))
            self._in_flight.numbers["other"] = number + 2 * refused
            asked = int(begins[refused])
            if refused < most:
                break
        return asked

    def _answered(self, asked: int, node: int, trips: Trips) -> int:
        """When a position is confirmed, or the request for that refused."""
        if asked < self._env.now:
            return asked + int(trips.up) + self._service_us + int(trips.down)
        if self._is_paced:
            asked = asked_at(self._connections, self._poll_loop, self._metadata, asked, node)
        return self._connections.answered(asked, node, trips)

    def _fetched(self, sent: int, node: int, trips: Trips) -> int:
        """When the fetch after that is answered: what waits at the leader already when the high watermark moves."""
        now = self._env.now
        if sent < now:
            return max(sent + int(trips.there), now) + self._service_us + int(trips.back)
        return self._connections.fetched(self._poll_loop.coming_pass(sent) if self._is_paced else sent, node, trips)
