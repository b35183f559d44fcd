"""What the leader of a group does before it sends SyncGroup: metadata, then the assignor, whose time is charged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from groupsim.assignors import Assignor, AssignorError
from groupsim.sim.client.fetching.metadata import Metadata
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.cluster.groups.assignment import Layout, Loads, assign
from groupsim.sim.cluster.groups.assignor_costs import Task, cost_us
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.protocol.effects import RunAssignor
from groupsim.sim.protocol.messages import JoinResponse


class Leader:
    """One client, as a leader.

    Parameters
    ----------
    client : Incarnation
    assignors : sequence of Assignor
        Its own instances.
    poll_loop, metadata
        Of that client.
    """

    def __init__(
        self, client: Incarnation, assignors: Sequence[Assignor], poll_loop: PollLoop, metadata: Metadata
    ) -> None:
        self._client = client
        self._assignors = assignors
        self._poll_loop = poll_loop
        self._metadata = metadata
        self._machine: ClassicMember = client.machine

    def run_assignor(self, now: int, effect: RunAssignor) -> None:
        """Metadata first if the group wants topics that this member does not know, then the assignor."""
        client, response = self._client, effect.response
        machine, group = self._machine, client.group
        delay = self._learn(now)
        counts = {topic: machine.metadata[topic] for topic in machine.group_topics if topic in machine.metadata}
        client.books.cover(tuple(counts))
        layout = group.layouts.of(counts)
        task = Task.of(response, layout.topics.n_partitions, len(counts))
        cost = cost_us(response.protocol or "", client.world.specs[group.name].client_family, task)
        assignor = next(one for one in self._assignors if one.name == response.protocol)
        duration = round((delay + cost) * client.consumer.slowdown(host_only=True))
        done = partial(self._finish, assignor=assignor, layout=layout, response=response, counts=counts)
        self._poll_loop.work(now, duration, done, holds_monitor=True)

    def _learn(self, now: int) -> int:
        """Metadata as of now if some topics of the group are news, else of the last refresh; how long that takes."""
        machine = self._machine
        if not set(machine.group_topics) - set(machine.topics):
            machine.on_metadata(self._metadata.last_seen(now))
            return 0
        trip_us = self._metadata.ask(now)
        self._metadata.refresh(now)
        return trip_us

    def _finish(
        self, now: int, *, assignor: Assignor, layout: Layout, response: JoinResponse, counts: Mapping[str, int]
    ) -> None:
        client = self._client
        try:
            assignments = assign(assignor, layout, response, self._loads(response) if assignor.needs_loads else None)
        except AssignorError as error:
            client.world.assignor_failed(client.consumer, error)
            client.do(now, self._machine.on_assignor_failed(now))
        else:
            client.do(now, self._machine.on_assignments(now, assignments, counts))

    def _loads(self, response: JoinResponse) -> Loads:
        """Rates and capacities as they are now."""
        client, found = self._client, {}
        for member_id, _, _ in response.members:
            if capacity := client.world.capacity_of(client.group.name, member_id):
                found[member_id] = capacity
        return Loads(client.books.ledger.sent_mrps, found if len(found) == len(response.members) else {})
