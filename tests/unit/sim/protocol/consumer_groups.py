"""A consumer group at its coordinator, and clients that send it heartbeats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from groupsim.sim.config import CoordinatorConfig, GroupConfig
from groupsim.sim.protocol.consumer.assigning import AssignorInput, Computed
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from groupsim.sim.protocol.consumer.records import CurrentAssignment
from groupsim.sim.protocol.facts import Fact
from groupsim.sim.protocol.interface import Outcome, Task
from groupsim.sim.protocol.messages import Error, OffsetCommit, Positions
from groupsim.sim.units import S
from tests.support.turns import Turns

MOST = 100
"""Partitions that a topic can have here; the first position of topic n is n * MOST."""


def at(*positions: int) -> Positions:
    """Positions."""
    return np.array(positions, np.int32)


class Topics:
    """Where topics' partitions are, in the order in which they are asked for."""

    def __init__(self) -> None:
        self.first: dict[str, int] = {}
        self.ids: dict[str, int] = {}
        self.racks: dict[str, list[tuple[str | None, ...]]] = {}

    def of(self, topic: str) -> Positions:
        first = self.first.setdefault(topic, len(self.first) * MOST)
        return np.arange(first, first + MOST, dtype=np.int32)

    def id_of(self, topic: str) -> int:
        return self.ids.get(topic, 0)

    def racks_of(self, topic: str, partitions: int) -> list[tuple[str | None, ...]] | None:
        return self.racks.get(topic)


class Balancing:
    """A server assignor: keeps what it can, evens out counts, and looks at subscriptions."""

    def __init__(self, topics: Topics, charged_us: int = 0) -> None:
        self.topics = topics
        self.charged_us = charged_us
        self.runs: list[AssignorInput] = []

    def __call__(self, group: AssignorInput) -> Computed:
        self.runs.append(group)
        members = range(len(group.member_ids))
        wants = [set(group.kinds[group.kind_of[one]]) for one in members]
        targets: list[list[int]] = [[] for _ in members]
        for topic, count in sorted(group.counts.items()):
            subscribers = [one for one in members if topic in wants[one]]
            if not subscribers:
                continue
            parts = self.topics.of(topic)[:count].tolist()
            held = {one: [part for part in group.targets[one].tolist() if part in parts] for one in subscribers}
            least, extra = divmod(count, len(subscribers))
            ranked = sorted(subscribers, key=lambda one: -len(held[one]))
            quota = {one: least + (place < extra) for place, one in enumerate(ranked)}
            kept = {one: held[one][: quota[one]] for one in subscribers}
            free = [part for part in parts if not any(part in mine for mine in kept.values())]
            for one in subscribers:
                more = quota[one] - len(kept[one])
                targets[one] += kept[one] + free[:more]
                free = free[more:]
        return Computed([at(*target) for target in targets], self.charged_us)


class Coordination:
    """One group, a clock, and what was answered to whom.

    Attributes
    ----------
    records : list
        Everything that has been written and not been undone, by batch.
    """

    def __init__(
        self,
        version: str = "4.4",
        image: Mapping[str, int] | None = None,
        group_config: GroupConfig | None = None,
        assignor: Callable[[AssignorInput], Computed] | None = None,
        **config: Any,
    ) -> None:
        self.now = S
        self.topics = Topics()
        self.balancing = Balancing(self.topics)
        self.config = CoordinatorConfig(version=version, **config)
        self.assignors = dict.fromkeys(self.config.consumer_assignors, assignor or self.balancing)
        self.group = ConsumerGroup("g", self.config, self.topics, self.assignors, group_config)
        self.image = dict(image or {"t": 4})
        for topic in ("t", "u", "v"):
            self.topics.of(topic)
        self.group.on_metadata(self.now, self.image)
        self.answers: dict[str, ConsumerGroupHeartbeatResponse] = {}
        self.assigned: dict[str, list[int]] = {}
        self.facts: list[Fact] = []
        self.tasks: list[Task] = []
        self.records: list[Any] = []
        self.outcome = Outcome()

    # --- requests -----------------------------------------------------------------------------------------------------

    def request(self, request: Any) -> Any:
        """Send a request; its answer."""
        outcome = self.take(self.group.on_request(self.now, request, request.member_id))
        replies = outcome.replies + (outcome.batch.replies if outcome.batch is not None else [])
        assert [reply.waiter for reply in replies] == [request.member_id]
        return replies[0].response

    def beat(self, member_id: str, epoch: int | None = None, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        """A heartbeat with the epoch that the member was told last; what it owns is kept if it is told."""
        last = self.answers.get(member_id)
        epoch = epoch if epoch is not None else (last.member_epoch if last is not None else 0)
        owned = fields.pop("owned", None)
        body = ConsumerGroupHeartbeat(member_id, epoch, owned=None if owned is None else at(*owned), **fields)
        answer: ConsumerGroupHeartbeatResponse = self.request(body)
        if answer.error is Error.NONE:
            self.answers[member_id] = answer
            if answer.assignment is not None:
                self.assigned[member_id] = answer.assignment.tolist()
        return answer

    def join(self, member_id: str, topics: tuple[str, ...] | None = ("t",), **fields: Any) -> Any:
        """The first heartbeat of a member."""
        told: dict[str, Any] = {"rebalance_timeout_us": 60 * S, "owned": (), **fields}
        return self.beat(member_id, 0, topics=topics, **told)

    def ack(self, member_id: str) -> ConsumerGroupHeartbeatResponse:
        """The heartbeat after a reconciliation: the member owns exactly what it was told."""
        return self.beat(member_id, owned=self.assigned[member_id])

    def settle(self, *member_ids: str, rounds: int = 4) -> None:
        """Everybody beats and acknowledges, once a second."""
        for _ in range(rounds):
            self.now += S
            for member_id in member_ids:
                self.beat(member_id)
                self.ack(member_id)

    def commit(self, member_id: str, epoch: int, *positions: int, knows_stale_epoch: bool = True) -> Error:
        """A commit of these positions."""
        offsets = np.zeros(len(positions), np.int64)
        body = OffsetCommit(member_id, None, epoch, at(*positions), offsets, knows_stale_epoch=knows_stale_epoch)
        error: Error = self.request(body).error
        return error

    # --- time and the log ---------------------------------------------------------------------------------------------

    def take(self, outcome: Outcome) -> Outcome:
        """Keep what the machine hands out."""
        self.outcome = outcome
        self.facts += outcome.facts
        self.tasks += outcome.tasks
        if outcome.batch is not None:
            self.records.append(outcome.batch)
        return outcome

    def written(self) -> list[str]:
        """Kinds of the records of the last outcome, without what they all begin with."""
        batch = self.outcome.batch
        return [type(one).__name__.removeprefix("ConsumerGroup") for one in batch.records] if batch else []

    def sleep(self, duration_us: int) -> None:
        """Let time pass, with every timer at its instant."""
        end = self.now + duration_us
        turns = Turns()
        while (due := self.group.deadline) <= end:
            turns.take()
            self.now = max(due, self.now)
            self.take(self.group.on_deadline(self.now))
        self.now = end

    def see(self, **image: int) -> None:
        """Another metadata image; 0 partitions: no such topic."""
        self.image = {name: count for name, count in {**self.image, **image}.items() if count}
        self.take(self.group.on_metadata(self.now, self.image))

    def fail_append(self, batch: int | None = None) -> Outcome:
        """The last batch, or one of this number, cannot be appended."""
        number = batch if batch is not None else self.records[-1].number
        last = max(place for place, one in enumerate(self.records) if one.number == number)
        self.records = self.records[:last]
        return self.take(self.group.on_appended(self.now, number, Error.NOT_ENOUGH_REPLICAS))

    def run_task(self) -> Outcome:
        """The oldest task is done."""
        task = self.tasks.pop(0)
        return self.take(self.group.on_task_done(self.now, task.key, task.run()))

    def rebuilt(self) -> ConsumerGroup:
        """A group that has read the log."""
        group = ConsumerGroup("g", self.config, self.topics, self.assignors, self.group.group_config)
        group.on_metadata(self.now, self.image)
        for batch in self.records:
            for record in batch.records:
                group.replay(record)
        return group

    def move(self) -> None:
        """Another broker takes the group over."""
        self.take(self.group.on_unloaded(self.now))
        self.group = self.rebuilt()
        self.take(self.group.on_loaded(self.now))

    # --- what is there ------------------------------------------------------------------------------------------------

    def current(self, member_id: str) -> CurrentAssignment:
        """A member's current assignment."""
        return self.group.roster.members[member_id].current

    def owned(self, member_id: str) -> list[int]:
        """What a member may own."""
        return self.current(member_id).assigned.tolist()

    def target(self, member_id: str) -> list[int]:
        """What a member is to own."""
        return self.group.roster.target_of(member_id).positions.tolist()

    @property
    def epochs(self) -> tuple[int, int]:
        """Group epoch and assignment epoch."""
        return self.group.roster.group.epoch, self.group.roster.target.epoch
