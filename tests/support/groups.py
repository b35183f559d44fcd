"""A classic group with its clock in the test's hands, as Kafka's ``GroupMetadataManagerTestContext``."""

from __future__ import annotations

from typing import Any

import numpy as np

from groupsim.sim.cluster.shard.log import GroupLog
from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.classic.group import ClassicGroup, GroupRequest
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.facts import Fact, GroupForgotten
from groupsim.sim.protocol.interface import Outcome, Reply
from groupsim.sim.protocol.messages import (
    Acknowledgement,
    Error,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    LeaveResponse,
    MemberIdentity,
    OffsetCommit,
    Positions,
    Subscription,
    SyncGroup,
    SyncResponse,
)
from groupsim.sim.protocol.offsets.group_offsets import GroupOffsets
from groupsim.sim.protocol.offsets.records import CommittedOffsets
from groupsim.sim.protocol.offsets.table import OffsetTable
from groupsim.sim.units import FOREVER, MS, S
from tests.support.turns import Turns

DELAY, SESSION, REBALANCE = 3_000, 10_000, 60_000
"""Initial rebalance delay, session and rebalance timeout unless a test says otherwise, milliseconds."""


class OneTopic:
    """Topics of which only t has partitions: three."""

    topics = ("t",)

    def of(self, topic: str) -> Positions:
        """Their positions."""
        return np.arange(3, dtype=np.int32)


class GroupHarness:
    """One group, milliseconds, and members by name; requests return their answer, None while they are parked.

    Ids are kept by name (`ids`), requests carry the group's current generation unless told otherwise.
    """

    def __init__(
        self, *, delay: int = DELAY, append: int = 0, version: str = "4.4", max_size: int = 2**31 - 1,
        retention: int = 7 * 86_400_000, check: int = 600_000,
    ) -> None:  # fmt: skip
        config = CoordinatorConfig(
            initial_rebalance_delay_us=delay * MS, version=version, max_size=max_size,
            offsets_retention_us=retention * MS, offsets_retention_check_interval_us=check * MS,
        )  # fmt: skip
        self.group = ClassicGroup("g", config)
        self.offsets = GroupOffsets(self.group, OneTopic(), config, OffsetTable())
        self.offsets.table.cover(len(OneTopic().of("t")))
        self._log = GroupLog(5 * S, Watermark(append * MS), OffsetTable())
        self.facts: list[Fact] = []
        self.records: list[Any] = []
        self.last_batch = 0
        self.now = 0
        self.ids: dict[str, str] = {}
        self.answers: list[tuple[str, JoinResponse | SyncResponse]] = []
        self._born = 0

    def _request(self, request: GroupRequest, waiter: object) -> Any:
        """Hand a request in; its answer, None while it is parked."""
        return self.take(self.group.on_request(self.now * MS, request, waiter), waiter)

    def take(self, outcome: Outcome, waiter: object = None) -> Any:
        """Append what is handed out, file replies by name; the one to ``waiter`` is the result."""
        self.facts += outcome.facts
        mine = self._file(outcome.replies, waiter)
        if outcome.batch is not None:
            for record in outcome.batch.records:
                if isinstance(record, CommittedOffsets):
                    self.offsets.replay(record)
                    self.offsets.committed(self.now * MS, record.positions)
            self._log.append(self.now * MS, outcome.batch)
            self.records += outcome.batch.records
            self.last_batch = outcome.batch.number
            mine = mine or self._file(outcome.batch.replies, waiter)
        while (batch := self._log.pop(self.now * MS)) is not None:
            answer = self.take(self.group.on_appended(self.now * MS, batch, Error.NONE), waiter)
            mine = mine if answer is None else answer
        if outcome.facts:
            self.offsets.watch(self.now * MS)
        return mine

    def _file(self, replies: list[Reply], waiter: object) -> Any:
        mine = None
        for reply in replies:
            request: Any = reply.waiter
            name, response = request[0], reply.response
            if isinstance(response, JoinResponse) and response.error in (Error.NONE, Error.MEMBER_ID_REQUIRED):
                self.ids[name] = response.member_id
            if request == waiter:
                mine = response
            else:
                self.answers.append((name, response))
        return mine

    def ask(
        self, name: str, member_id: str = "", *, instance: str | None = None, protocols: tuple[str, ...] = ("range",),
        session: int = SESSION, rebalance: int = REBALANCE, version: int = 9, topics: tuple[str, ...] = ("t",),
    ) -> JoinResponse | None:  # fmt: skip
        """One JoinGroup, as it stands."""
        self._born += 1
        request = JoinGroup(
            member_id, instance, session * MS, rebalance * MS,
            tuple((one, Subscription(topics)) for one in protocols), fresh_id=f"{name}-{self._born}",
            knows_member_id_required=version >= 4, knows_skip_assignment=version >= 9, name=name,
        )  # fmt: skip
        waiter = (name, self._born)
        return self._request(request, waiter)  # type: ignore[no-any-return]

    def join(self, name: str, **request: Any) -> JoinResponse | None:
        """A member joins or rejoins as its client does: with its id, and with the one it is given first."""
        answer = self.ask(name, self.ids.get(name, ""), **request)
        if answer is not None and answer.error is Error.MEMBER_ID_REQUIRED:
            return self.ask(name, answer.member_id, **request)
        if answer is None and name not in self.ids:
            self.ids[name] = f"{name}-{self._born}"
        return answer

    def sync(self, name: str, assignments: dict[str, list[int]] | None = None, **fields: Any) -> SyncResponse | None:
        """SyncGroup; ``assignments`` by name."""
        self._born += 1
        given = None
        if assignments is not None:
            given = {self.ids[one]: np.array(p, np.int32) for one, p in assignments.items()}
        request = SyncGroup(
            self.ids[name], fields.get("instance"), fields.get("generation", self.group.generation),
            fields.get("protocol"), given,
        )  # fmt: skip
        waiter = (name, self._born)
        return self._request(request, waiter)  # type: ignore[no-any-return]

    def heartbeat(self, name: str, *, generation: int | None = None, instance: str | None = None) -> Error:
        """Heartbeat."""
        generation = self.group.generation if generation is None else generation
        return self._acknowledged(Heartbeat(self.ids[name], instance, generation))

    def commit(self, name: str | None, *, generation: int | None = None, instance: str | None = None) -> Error:
        """OffsetCommit; without a name: by nobody."""
        generation = self.group.generation if generation is None else generation
        member_id = self.ids[name] if name is not None else ""
        request = OffsetCommit(member_id, instance, generation, np.array([0], np.int32), np.array([7]))
        return self._acknowledged(request)

    def leave(self, name: str, *, instance: str | None = None) -> Error:
        """LeaveGroup."""
        return self._acknowledged(LeaveGroup((MemberIdentity(self.ids[name], instance, "test"),)))

    def _acknowledged(self, request: GroupRequest) -> Error:
        answer = self._request(request, ("", object()))
        assert isinstance(answer, (Acknowledgement, LeaveResponse))
        return answer.error

    def sleep(self, ms: int) -> list[tuple[str, Error]]:
        """Let time pass, deadline by deadline; who was answered what meanwhile."""
        until = (self.now + ms) * MS
        before = len(self.answers)
        turns = Turns()
        while (due := min(self.group.deadline, self._log.due, self.offsets.due)) <= until:
            turns.take()
            self.now = max(due // MS, self.now)
            self.take(Outcome())
            self.take(self.group.on_deadline(self.now * MS))
            self.take(self.offsets.on_deadline(self.now * MS))
        self.now = until // MS
        return [(name, response.error) for name, response in self.answers[before:]]

    @property
    def forgotten(self) -> int:
        """How often the group has gone, with its last offset."""
        return sum(isinstance(fact, GroupForgotten) for fact in self.facts)

    def answer(self, name: str) -> JoinResponse | SyncResponse:
        """The last answer to a parked request of ``name``."""
        return next(response for one, response in reversed(self.answers) if one == name)

    def stable(self, *names: str, **request: Any) -> GroupHarness:
        """Let ``names`` join, the first as leader, and sync."""
        for name in names:
            self.join(name, **request)
        self.sleep(2 * self.group.config.initial_rebalance_delay_us // MS)
        for name in reversed(names):
            instance = request.get("instance")
            self.sync(
                name, {one: [at] for at, one in enumerate(names)} if name == names[0] else None, instance=instance
            )
        assert self.state is GroupState.STABLE
        self.facts.clear()
        return self

    @property
    def state(self) -> GroupState:
        """State of the group."""
        return self.group.state

    @property
    def deadline(self) -> int | None:
        """What the group waits for next, milliseconds; None if for nothing."""
        due = min(self.group.deadline, self._log.due)
        return due // MS if due < FOREVER else None

    @property
    def members(self) -> set[str]:
        """Names of the members."""
        return {member.name for member in self.group.roster}


def in_state(state: GroupState, *, version: str = "4.4") -> GroupHarness:
    """Leader a and follower b; in PreparingRebalance neither has rejoined and c is parked."""
    if state is GroupState.EMPTY:
        h = GroupHarness(version=version)
        h.ids = {"a": "a-0", "b": "b-0"}
        h.commit(None, generation=-1)  # of nobody: makes the group
        return h
    h = GroupHarness(version=version).stable("a", "b") if version == "4.4" else _old_stable()
    if state in (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE):
        h.join("c")
    if state is GroupState.COMPLETING_REBALANCE:
        h.join("a")
        h.join("b")
        h.answers.clear()
    if state is GroupState.DEAD:
        h.take(h.group.on_unloaded(h.now * MS))
    assert h.state is state
    return h


def _old_stable() -> GroupHarness:
    h = GroupHarness(version="0.9")
    h.join("a")
    h.join("b")
    h.join("a")
    h.sync("b")
    h.sync("a", {"a": [0], "b": [1]})
    return h
