"""From committed offsets to consumption: positions, the first fetch, the pace, and what cuts take away.

After an assignment the client asks for the committed offsets of what is new; their brokers confirm these
(OffsetsForLeaderEpoch) or say where to begin (ListOffsets); with the first fetch consumption begins. Both requests wait
behind the fetch that is parked at the broker (`sim.client.fetching.data_connections`).

Whenever what is consumed changes, or what it costs, poll schedule and capacity are worked out anew from the next poll
on; the rest of the batch in hand costs what it costs from now on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.causes import DETECTION, SERVED
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.record import CUT, GONE, OUT_OF_RANGE
from groupsim.sim.client.fetching.awaited_fetches import AwaitedFetches
from groupsim.sim.client.fetching.data_connections import DataConnections, Trips
from groupsim.sim.client.fetching.left_behind import LeftBehind
from groupsim.sim.client.fetching.metadata import Metadata
from groupsim.sim.client.fetching.offset_reset import known_offsets, where_to_begin
from groupsim.sim.client.fetching.pacing import Pacing
from groupsim.sim.client.fetching.position_checks import confirmed
from groupsim.sim.client.fetching.read_replicas import ReadReplicas
from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.batches import Batches
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.protocol.effects import Raise
from groupsim.sim.protocol.interface import MemberMachine
from groupsim.sim.protocol.messages import Error, OffsetFetch, OffsetFetchResponse, Positions, within


class Fetcher:
    """Fetches of one client.

    Parameters
    ----------
    client : Incarnation
    poll_loop : PollLoop
    in_flight : InFlight
    connections : DataConnections
    metadata : Metadata
        Says when a new leader is known.

    Attributes
    ----------
    cut_off : frozenset of int
        Brokers that cannot be reached.
    left_behind : LeftBehind
        What it does not read as long as it cannot.
    replicas : ReadReplicas
    pacing : Pacing
    fetched_key : int
        Key of the first fetch's answer.
    """

    def __init__(
        self, client: Incarnation, poll_loop: PollLoop, in_flight: InFlight, connections: DataConnections,
        metadata: Metadata,
    ) -> None:  # fmt: skip
        self._client = client
        self._poll_loop = poll_loop
        self._in_flight = in_flight
        self._connections = connections
        self.disconnect = connections.end
        self._env = client.env
        self._books = client.books
        self._machine: MemberMachine[Any, Any] = client.machine
        self.replicas = ReadReplicas(client, connections)
        self._trip = in_flight.trip
        self.pacing = Pacing(client, poll_loop, connections)
        self._where_to_begin = partial(where_to_begin, client.config, client.books.ledger)
        self._confirmed = partial(confirmed, connections, poll_loop, metadata)
        self._consumption = client.consumption
        self.fetched_key = deadline_key(client.consumer.entity, Kind.FETCH)
        self._awaited = AwaitedFetches()
        self.left_behind = LeftBehind(fails_when_truncated=client.config.auto_offset_reset == "none")
        self.cut_off: frozenset[int] = client.world.cut_off(client.consumer)
        self._batches = Batches(client, poll_loop)

    @property
    def is_under_way(self) -> bool:
        """Whether partitions have positions, but their first fetch is not answered yet."""
        return bool(self._awaited)

    @property
    def reaches_everything(self) -> bool:
        """Whether no cut keeps it from anything."""
        return not self.cut_off and not self.left_behind.at

    # --- from committed offsets to the first fetch --------------------------------------------------------------------

    def on_offsets(self, now: int, body: OffsetFetch, response: OffsetFetchResponse) -> None:
        """Committed offsets have come; the reset policy fills the gaps; the first fetch follows."""
        client, machine, positions = self._client, self._machine, body.positions
        still = machine.keeps(positions)
        client.do(now, machine.on_offsets(now, response))
        if response.error is not Error.NONE or client.is_over or not still.any():
            return
        known = known_offsets(client, positions, response.offsets)
        deleted = (known >= 0) & (known < self._books.ledger.log_start[positions])
        offsets = np.where(deleted, -1, known)
        if (offsets < 0).any():
            if client.config.auto_offset_reset == "none":
                self.fail_to_reset(now, Error.OFFSET_OUT_OF_RANGE if deleted.any() else Error.NO_OFFSET_FOR_PARTITION)
                return
            if client.config.auto_offset_reset != "earliest":
                self._books.delivery.ended_by[positions[deleted]] = OUT_OF_RANGE
        self._ask_brokers(now, positions[still], offsets[still], is_refused=bool(deleted.any()))

    def _ask_brokers(self, now: int, positions: Positions, offsets: Offsets, *, is_refused: bool) -> None:
        """Positions first, then the first fetch, from each broker at its time; ``is_refused``: one was out of range."""
        trips = Trips(*self._trip(), *self._trip())
        if is_refused:
            now += sum(self._trip()) + self._client.world.timing.service_us
        worked, begun = self._connections.first_fetches(now, positions, trips)
        if self._machine.is_paced:
            known, leaders = offsets >= 0, self._books.partitions.leader
            begun[known] = self._confirmed(now, leaders[positions[known]], trips)
        offsets = np.where(offsets < 0, self._where_to_begin(worked, positions), offsets)
        self.expect(self._connections.redirected(begun, positions, self._trip), positions, offsets)

    def expect(self, begun: NDArray[np.int64], positions: Positions, offsets: Offsets) -> None:
        """First fetches that are answered at these times."""
        for time in sorted(set(begun.tolist())):
            these = begun == time
            number = self._awaited.add(positions[these], offsets[these])
            self._env.at(time, self.fetched_key, self._fetched, number)

    def _fetched(self, number: int) -> None:
        client, now = self._client, self._env.now
        if client.is_over or number not in self._awaited:
            return
        if client.frozen is not None or self._poll_loop.is_held:
            client.late.append(partial(self._fetched, number))
            return
        positions, offsets = self._awaited.take(number)
        reachable = self._reaches(positions)
        if np.count_nonzero(reachable) < len(reachable):
            self.left_behind.add(positions[~reachable], offsets[~reachable])
            positions, offsets = positions[reachable], offsets[reachable]
        if positions.size:
            self.replicas.note(now, positions)
            self._consumption.begin(now, positions, offsets, 0.0)
        self.repace(now)
        client.commit_ahead(now)
        client.drive(now)

    def drop(self, now: int, positions: Positions, code: int) -> None:
        """Stop consuming; a first fetch of these that is under way is worth nothing."""
        self._awaited.drop(positions)
        self.left_behind.drop(positions)
        self._connections.stop(now, positions, at_once=code == GONE)
        self._consumption.end(now, positions, code)
        self.repace(now)

    def told_at(self, now: int) -> int:
        """When a fetch is here that is answered now."""
        return now + self._client.world.timing.service_us + self._trip()[1]

    @property
    def unread(self) -> dict[int, int]:
        """Partitions that are read as soon as they can be, or whose first fetch is under way -> from where on."""
        return {**self.left_behind.at, **self._awaited.at}

    def seek(self, to: Mapping[int, int]) -> None:
        """The application seeks to where its last batch began: what is unread of these is read from there on."""
        self.pacing.take_back()
        self._read_unread_from(to)

    def pass_over(self, now: int, to: Mapping[int, int]) -> None:
        """Records below ``to`` of what is unread are processed: a flow may lack a part of one that was sent."""
        ahead = {one: to[one] for one, offset in self.unread.items() if to.get(one, offset) > offset}
        if ahead:
            self._read_unread_from(ahead)
            positions, offsets = np.array([*ahead], np.int32), np.array([*ahead.values()], np.int64)
            self._client.books.ledger.raise_frontier(now, positions, offsets)

    def _read_unread_from(self, to: Mapping[int, int]) -> None:
        self.left_behind.seek(to)
        self._awaited.seek(to)

    # --- pace ---------------------------------------------------------------------------------------------------------

    def repace(self, now: int) -> None:
        """Work out capacity anew from now on, and the poll schedule from the end of the batch in hand."""
        client, consumption, poll_loop = self._client, self._consumption, self._poll_loop
        held = consumption.partitions
        poll_loop.note_passes(now)
        if not held.size:
            poll_loop.go_by(now, None)
            return
        offsets = self._batches.offsets(now)
        load = self.pacing.load(now, offsets)
        paced = self.pacing.pace(len(held), load)
        start, before, held_until = self.pacing.hand_over(now, paced.slowdown)
        left = load.after(start - now, paced.capacity)
        schedule = self.pacing.new_schedule(max(start, poll_loop.stuck_until), paced, left, before, held_until)
        capacity, returned = self._batches.begin(now, offsets, paced, schedule)
        consumption.repace(now, offsets, capacity, returned)
        is_away = poll_loop.stuck_until > now or poll_loop.is_held or client.frozen is not None
        if not (is_away or consumption.holding.running):
            self._connections.restarted_us = now
            consumption.go_on(now, capacity, returned)
        poll_loop.go_by(now, schedule)
        if client.frozen is None:
            consumption.follow(schedule, now)
        if self.is_out_of_range(now):
            self._return_into_range(now)

    def poll_late(self, now: int) -> None:
        """The application polls that was kept from it since its last batch was done."""
        self.pacing.poll_late(now)
        self.repace(now)

    def poll(self, now: int) -> None:
        """The application may be inside poll(), which returns what has come in a jump."""
        if self._poll_loop.has_news and self._poll_loop.answer(now):
            self.repace(now)

    def is_out_of_range(self, now: int) -> bool:
        """Whether the next fetch asks for something that is deleted."""
        ledger, holding = self._books.ledger, self._consumption.holding
        if ledger.keeps_everything or not holding.running:
            return False
        return bool((ledger.positions(holding, now) < ledger.log_start[holding.partitions]).any())

    def _return_into_range(self, now: int) -> None:
        """Go on where the reset policy says; that takes no time here."""
        client, ledger, holding = self._client, self._books.ledger, self._consumption.holding
        if client.config.auto_offset_reset == "none":
            self.fail_to_reset(now, Error.OFFSET_OUT_OF_RANGE)
            return
        at, held = ledger.positions(holding, now), holding.partitions
        self._consumption.skip(now, np.where(at < ledger.log_start[held], self._where_to_begin(now, held), at))
        self.repace(now)

    def fail_to_reset(self, now: int, error: Error) -> None:
        """Nobody says where to go on: poll() raises this."""
        self._machine.failed = error
        self._client.fail(now, Raise(error))

    # --- cuts ---------------------------------------------------------------------------------------------------------

    def cut(self, nodes: frozenset[int]) -> None:
        """Nothing gets through to these brokers any more: connections to them are dead, and nobody says so."""
        client, now = self._client, self._env.now
        client.elision.wake()
        self.cut_off = client.world.cut_off(client.consumer)
        self._in_flight.sever(nodes)
        self.disconnect(nodes)
        held = self._consumption.partitions
        is_lost = np.isin(self.replicas.nodes(held), list(nodes))
        self._lose_sight(now, held[is_lost])
        kept = held[np.logical_and(~is_lost, self.replicas.needs(held, nodes))]
        for time in np.unique(expiries := self.replicas.expiries(now, kept)).tolist():
            self._env.at(time, self.fetched_key, self._ask_again, kept[expiries == time])
        client.drive(now)

    def _lose_sight(self, now: int, lost: Positions) -> None:
        """What these are read from, or who has to be asked, is cut off."""
        self.left_behind.add(lost, self.offsets_of(now, lost))
        self._books.availability.sever(lost, DETECTION)
        self.stop(now, lost)

    def offsets_of(self, now: int, held: Positions) -> Offsets:
        """How far it has got with some of what it reads. Shape (n,)."""
        consumption = self._consumption
        return self._books.ledger.positions(consumption.holding, now)[within(consumption.partitions, held)]

    def stop(self, now: int, positions: Positions) -> None:
        """Nothing more comes of these; if poll() has nothing to return any more, its passes follow from here."""
        self._consumption.end(now, positions, CUT)
        self.repace(now)
        if self._poll_loop.schedule is None:
            self._poll_loop.begin_anew(now)

    def _ask_again(self, positions: Positions) -> None:
        """The followers of these were told too long ago, and their leaders were cut off: perhaps they still are."""
        client, now = self._client, self._env.now
        if client.is_over:
            return
        if client.frozen is not None:
            client.late.append(partial(self._ask_again, positions))
            return
        held = positions[within(positions, self._consumption.partitions)]
        lost = held[np.isin(self._books.partitions.leader[held], list(self.cut_off))]
        if lost.size:
            client.elision.wake()
            self._lose_sight(now, lost)
            client.drive(now)

    def _reaches(self, positions: Positions) -> NDArray[np.bool_]:
        """Whether each of these has a leader, and that and where it sends the client can be reached. Shape (n,)."""
        readable: NDArray[np.bool_] = self._books.partitions.is_readable[positions]
        self.left_behind.unknown.update(positions[~readable].tolist())
        if not self.cut_off:
            return readable
        return np.logical_and(readable, ~self.replicas.needs(positions, self.cut_off))

    def has_positions(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of these the member owns and has positions of. Shape (n,)."""
        return np.logical_and(within(positions, self._machine.owned), ~within(positions, self._machine.uninitialised))

    def heal(self) -> None:
        """Some brokers can be reached again."""
        client, now = self._client, self._env.now
        client.elision.wake()
        self.cut_off = client.world.cut_off(client.consumer)
        self.recover(now)
        client.drive(now)

    def recover(self, now: int) -> None:
        """Fetch what can be reached again, from where the consumer was, as soon as it can do anything."""
        if not self.left_behind.at or self._client.frozen is not None or self._poll_loop.stuck_until > now:
            return
        back = self.left_behind.known
        if self.cut_off:
            back = back[~self.replicas.needs(back, self.cut_off)]
        if not back.size:
            return
        self._books.availability.sever(back, SERVED)
        at = self.left_behind.take(back)
        owned = self.has_positions(back)
        if owned.any():
            self.replicas.note(now, back[owned])
            self._consumption.begin(now, back[owned], at[owned], 0.0)
            self.repace(now)
