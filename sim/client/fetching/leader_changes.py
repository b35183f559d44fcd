"""What a client does when leaders of what it reads go, when others lead, and when they send it elsewhere."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.causes import DETECTION
from groupsim.sim.client.fetching.data_connections import DataConnections, Trips
from groupsim.sim.client.fetching.fetcher import Fetcher
from groupsim.sim.client.fetching.leader_search import Found, LeaderSearch
from groupsim.sim.client.fetching.metadata import Metadata
from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.protocol.messages import Error, Positions, within


class LeaderChanges:
    """Of what one client reads.

    Parameters
    ----------
    client : Incarnation
    poll_loop : PollLoop
    in_flight : InFlight
    connections : DataConnections
    metadata : Metadata
        Says when a new leader is known.
    fetcher : Fetcher
    """

    def __init__(
        self, client: Incarnation, poll_loop: PollLoop, in_flight: InFlight, connections: DataConnections,
        metadata: Metadata, fetcher: Fetcher,
    ) -> None:  # fmt: skip
        self._client = client
        self._poll_loop = poll_loop
        self._connections = connections
        self._fetcher = fetcher
        self._env = client.env
        self._books = client.books
        self._consumption = client.consumption
        self._trip = in_flight.trip
        self._search = LeaderSearch(client, poll_loop, connections, metadata, in_flight)
        self._coming = 0
        """How often it is about to hear of leaders."""

    @property
    def waits_to_be_told(self) -> bool:
        """Whether nothing keeps it from what it does not read but that nobody leads it: it need not ask for that."""
        left = self._fetcher.left_behind
        return not (self._fetcher.cut_off or self._coming) and left.unknown.issuperset(left.at)

    def lose(self, now: int, positions: Positions) -> None:
        """The leaders of these are gone, or lead no more: what is read of them ends, and its position is kept."""
        left, lost = self._fetcher.left_behind, positions[within(positions, self._consumption.partitions)]
        left.unknown.update(positions[left.among(positions)].tolist())
        if not lost.size:
            return
        left.add(lost, self._fetcher.offsets_of(now, lost))
        left.unknown.update(lost.tolist())
        self._fetcher.stop(now, lost)

    def follow(self, now: int, positions: Positions) -> None:
        """The leaders of these are the same, and send the client elsewhere than before, or back to themselves.

        Who reads from a follower that is in sync no more asks the leader; who waits for one that is again goes on.
        """
        if self._client.is_over:
            return
        if positions.size:
            fetcher, replicas = self._fetcher, self._fetcher.replicas
            held = positions[within(positions, self._consumption.partitions)]
            has_left = replicas.has_left(held)
            replicas.note(now, held[~has_left])
            if has_left.any():
                self._fetch_anew(now, held[has_left])
            fetcher.left_behind.unknown.difference_update(replicas.kept(positions))
        self._fetcher.recover(now)

    def _fetch_anew(self, now: int, positions: Positions) -> None:
        """Read these no longer where they were read, but ask their leaders with the next fetch."""
        leaders, at = self._books.partitions.leader[positions], self._fetcher.offsets_of(now, positions)
        self._fetcher.stop(now, positions)
        trips, begun = Trips(0, 0, *self._trip()), np.empty(len(positions), np.int64)
        for node in np.unique(leaders).tolist():
            begun[leaders == node] = self._connections.fetched(now, node, trips)
        self._fetcher.expect(self._connections.redirected(begun, positions, self._trip), positions, at)

    def find(self, now: int, positions: Positions, since: NDArray[np.int64]) -> None:
        """Somebody leads these, and they can be read: the client knows when it has asked for metadata.

        ``since``: when it lost the former leader, and began to ask; -1: the leader is the same, and only its high
        watermark stood still, so that the fetch that is parked there is answered. Shape (n,).
        """
        fetcher, replicas = self._fetcher, self._fetcher.replicas
        wanted = fetcher.left_behind.among(positions)
        if not np.count_nonzero(wanted):
            return
        if fetcher.cut_off:
            beyond = positions[np.logical_and(wanted, replicas.needs(positions, fetcher.cut_off))]
            self._books.availability.sever(beyond, DETECTION)
            self._books.availability.refresh(now, beyond)
        same, new = positions[np.logical_and(wanted, since < 0)], np.logical_and(wanted, since >= 0)
        found = list[Found]()
        if same.size:
            known = replicas.asks_at(now + self._trip()[1], same, fetcher.cut_off)
            found += self._search.found(same, known, is_new=False)
        if np.count_nonzero(new):
            found += self._search.found(positions[new], self._search.known(positions[new], since[new]), is_new=True)
        self._coming += len(found)
        for news in found:
            if news.known_us > now:
                self._env.at(news.known_us, fetcher.fetched_key, self._hear, news)
            else:
                self._found(news)

    def _hear(self, news: Found) -> None:
        self._found(news)
        self._client.drive(self._env.now)

    def _found(self, news: Found) -> None:
        """The leaders are known: positions are confirmed there, and the first fetch follows."""
        client, now, (positions, leaders, is_new, known_us) = self._client, self._env.now, news
        if client.is_over:
            return
        if client.frozen is not None or self._poll_loop.is_held:
            client.late.append(partial(self._hear, news.late()))
            return
        self._coming -= 1
        partitions, fetcher, left = self._books.partitions, self._fetcher, self._fetcher.left_behind
        current = positions[partitions.is_readable[positions] & (partitions.leader[positions] == leaders)]
        left.unknown.difference_update(current.tolist())
        back = current[left.among(current)]
        if left.are_diverged(back.tolist()):
            fetcher.fail_to_reset(now, Error.OFFSET_OUT_OF_RANGE)
        elif is_new and back.size and self._reaches(positions, leaders):
            self._confirm(min(known_us, now), back)
        else:
            fetcher.recover(now)

    def _reaches(self, positions: Positions, leaders: NDArray[np.int32]) -> bool:
        """Whether nothing cuts it off from these leaders, nor from where they may send it."""
        cut_off = self._fetcher.cut_off
        if not cut_off:
            return True
        return cut_off.isdisjoint({*leaders.tolist(), *self._fetcher.replicas.nodes(positions).tolist()})

    def _confirm(self, known_us: int, positions: Positions) -> None:
        """Ask the leaders of these, which the client knows since then, for what it owns."""
        offsets, mine = self._fetcher.left_behind.take(positions), self._fetcher.has_positions(positions)
        if mine.any():
            begun = self._search.begun(known_us, positions[mine])
            begun = self._connections.redirected(begun, positions[mine], self._trip)
            self._fetcher.expect(begun, positions[mine], offsets[mine])
