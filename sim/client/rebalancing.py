"""What a rebalance does to a client, as its machine wants it: listeners run, partitions are dropped and adopted."""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.assignors import Assignor
from groupsim.assignors.guarded_call import tell
from groupsim.sim.books.record import CLOSED, LOST, REVOKED
from groupsim.sim.client.coordination.commits import Commits
from groupsim.sim.client.fetching.fetcher import Fetcher
from groupsim.sim.client.fetching.metadata import Metadata
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.client.suspension import Suspension
from groupsim.sim.protocol.effects import Adopt, Drop, Listen
from groupsim.sim.protocol.messages import Positions


class Rebalancing:
    """Rebalances of one client.

    Parameters
    ----------
    client : Incarnation
    assignors : sequence of Assignor
        Its own instances.
    poll_loop, fetcher, commits, metadata, suspension
        Of that client.
    """

    def __init__(
        self, client: Incarnation, assignors: Sequence[Assignor], poll_loop: PollLoop, fetcher: Fetcher,
        commits: Commits, metadata: Metadata, suspension: Suspension,
    ) -> None:  # fmt: skip
        self._client = client
        self._assignors = assignors
        self._poll_loop = poll_loop
        self._fetcher = fetcher
        self._commits = commits
        self._metadata = metadata
        self._suspension = suspension

    def listen(self, now: int, effect: Listen) -> None:
        """Run a rebalance listener on the application thread, which polls and processes nothing meanwhile."""
        processing = self._client.processing
        duration = {
            "revoked": processing.on_revoked_us,
            "assigned": processing.on_assigned_us,
            "lost": processing.on_lost_us,
        }[effect.callback]
        duration = round(duration * self._client.consumer.slowdown(host_only=True)) if effect.positions.size else 0
        if duration:
            self._poll_loop.work(now, duration, self._listened)
            self._suspension.listen(duration)
        else:
            self._listened(now)

    def _listened(self, now: int) -> None:
        self._client.do(now, self._client.machine.on_listener_done(now))

    def drop(self, now: int, effect: Drop) -> None:
        """Stop consuming partitions."""
        client = self._client
        if effect.lost:
            self._commits.lose_ahead(now)
        code = LOST if effect.lost else REVOKED
        if client.command is None and client.is_closing:
            code = CLOSED
        self._fetcher.drop(now, effect.positions, code)

    def adopt(self, now: int, effect: Adopt) -> None:
        """Take an assignment over."""
        client = self._client
        machine, consumption, books = client.machine, client.consumption, client.books
        consumption.handle = books.handles[machine.member_id]
        if effect.positions.size:
            books.availability.receive(now, consumption.handle, effect.positions)
        self._commits.without_topic.difference_update(effect.added.tolist())
        self.remember(now, effect)
        self._fetcher.repace(now)
        if machine.refreshes_to_join:
            self._metadata.refresh(now)
        else:
            self._metadata.arm(now)

    def remember(self, now: int, effect: Adopt) -> None:
        """What the assignor and the books keep of an assignment."""
        client, machine = self._client, self._client.machine
        self.tell_assignors(machine.protocol, effect.positions, machine.generation)
        if client.life.stable_us < 0:
            client.life.stable_us = now
            client.life.member_id = machine.member_id

    def tell_assignors(self, protocol: str | None, positions: Positions, generation: int) -> None:
        """The assignor of this name learns of an assignment, if it wants to."""
        client, machine = self._client, self._client.machine
        for assignor in self._assignors:
            if assignor.name == protocol and type(assignor).on_assignment is not Assignor.on_assignment:
                counts = {topic: machine.metadata[topic] for topic in machine.topics if topic in machine.metadata}
                layout = client.group.layouts.of(counts)
                tell(assignor, layout.topics, layout.local(positions), generation)
