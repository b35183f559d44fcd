"""Plays one conversation of Kafka's own tests with its group coordinator to the pure machine, and compares each step.

Compared: what is answered now (`response`, `error`, `pending`) and what is answered to earlier requests (`completes`),
records and whether something waits for them, every group's state, every timer's deadline, which timers ran.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

from groupsim.sim.errors import ProtocolMisuse
from groupsim.sim.protocol.interface import Batch, Outcome, Reply, Task
from groupsim.sim.protocol.messages import Error, JoinGroup, SyncGroup
from groupsim.sim.protocol.mixed.group import MixedGroup
from groupsim.sim.protocol.offsets.records import CommittedOffsets, OffsetRecord
from groupsim.sim.units import MS
from tests.conformance.coordinator import consumer_wire, wire
from tests.conformance.coordinator.administration import Administration
from tests.conformance.coordinator.fields import Difference, Unplayable, expect, known
from tests.conformance.coordinator.groups import Groups
from tests.conformance.coordinator.offset_steps import OffsetBook, OffsetSteps
from tests.conformance.coordinator.records import is_legacy, kafka_records, machine_records, restored_record
from tests.conformance.coordinator.state import inside
from tests.conformance.coordinator.topics import Topics
from tests.conformance.coordinator.wire import Json, Payloads

_STEP = frozenset(
    ["at_ms", "call", "api_version", "request", "response", "error", "pending", "records", "applied", "awaits_append",
     "completes", "groups", "timers", "ms", "expired", "step", "key", "fails", "created", "assignor_runs", "assignor",
     "members", "group", "config", "results", "tasks", "offsets"]
)  # fmt: skip
_INSIDE = {
    "expired": frozenset(["key", "deadline_ms", "records", "applied", "awaits_append"]),
    "results": frozenset(["key", "records", "applied"]), "completes": frozenset(["step", "member", "response"]),
    "records": frozenset(["type", "key", "value", "producer_id"]),
}  # fmt: skip
_INITIAL = frozenset(["records", "committed", "groups", "timers", "offsets"])
_REQUESTS = frozenset(
    ["JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "TxnOffsetCommit", "ConsumerGroupHeartbeat"]
)


_MAKING_UP_IDS = ("JoinGroup", "ConsumerGroupHeartbeat")


class Player(OffsetSteps, Administration):
    """One conversation.

    Parameters
    ----------
    conversation : dict
        One line of the files.
    """

    def __init__(self, conversation: Json) -> None:
        self.conversation = conversation
        self.topics = Topics(conversation["topics"])
        self.payloads = Payloads(self.topics)
        self.groups = Groups(conversation, self.payloads)
        self.offsets = OffsetBook(self.groups, self.payloads)
        self.in_memory: set[str] = set()
        self.log: list[Json] = []
        self.committed = 0
        self.now_ms = 0
        self.batches: dict[int, list[tuple[str, Batch]]] = {}
        self.tasks: dict[str, tuple[str, Task]] = {}
        self._unborn = list(conversation.get("generated", []))
        self._asked: dict[int, Any] = {}

    def play(self) -> None:
        """From the beginning to the end.

        Raises
        ------
        Difference
            At the first step at which Kafka and the machine do not say the same.
        Unplayable
            If the conversation is about something that groupsim does not model.
        """
        initial = self.conversation["initial"]
        known("initial", initial, _INITIAL)
        for step in self.conversation["steps"]:
            if step["call"] not in _REQUESTS and self._handler(step) is None:
                raise Unplayable(f"call {step['call']}")
        self.now_ms = self.conversation["start_ms"] or 0
        self.replay(initial["records"])
        self.committed = initial["committed"]
        try:
            self._compare(initial)
        except Difference as difference:
            raise Difference(f"at the beginning: {difference}") from None
        for number, step in enumerate(self.conversation["steps"]):
            try:
                self._play_step(number, step)
            except Difference as difference:
                raise Difference(f"step {number}, {step['call']}: {difference}") from None

    def _play_step(self, number: int, step: Json) -> None:
        known(step["call"], step, _STEP)
        for name, fields in _INSIDE.items():
            for one in step.get(name, []):
                known(f"{name} of {step['call']}", one, fields)
        expect("at_ms", step.get("at_ms", self.now_ms), self.now_ms)
        if "java_hash_order" in self.conversation["needs"]:
            self.groups.choose_as_kafka(step)
        self.groups.assignors.follow(step.get("assignor_runs", []))
        (self._handler(step) or self._on_request)(number, step)
        self._compare(step)
        self._unborn = [one for one in self._unborn if one not in _placeholders(step)]

    def _compare(self, step: Json) -> None:
        """Whatever is kept; offsets only where the conversation says what there are of them."""
        self.groups.compare(step)
        if self.conversation["kind"] == "offsets":
            self.offsets.compare(step)

    def _handler(self, step: Json) -> Callable[[int, Json], None] | None:
        """What plays a call that is no request of a member's."""
        return getattr(self, f"on_{_snake(step['call'])}", None)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _on_request(self, number: int, step: Json) -> None:
        group_id = step["request"].get("groupId", "")
        request = self._asked[number] = self._request(step)
        group = self.groups.get(group_id)
        was_there, before = group.exists, copy.deepcopy(group, {id(self.topics): self.topics})
        try:
            outcome = group.on_request(self.now, request, number)
        except ProtocolMisuse:
            expect("error", step.get("error", {}).get("class"), "IllegalStateException")
            outcome = inside(group.group).take()
        else:
            self._check_answer(number, step, outcome)
        if not was_there:
            self.in_memory.add(group_id)
        is_put_back = step.get("applied") is False and "groups" not in step and group.is_consumer
        self.check_outcome(number, step, [(group_id, outcome)], is_put_back=is_put_back)
        for record in outcome.batch.records if outcome.batch is not None and step.get("applied") else ():
            if isinstance(record, CommittedOffsets):
                self.offsets.replay(group_id, record)
        if is_put_back:  # the test has called the coordinator and not replayed what it said
            self.groups.put_back(group_id, before)

    def _request(self, step: Json) -> Any:
        known(f"{step['call']}'s request", step["request"], wire.REQUESTS[step["call"]])
        if step["call"] == "ConsumerGroupHeartbeat":
            asked = step["request"]
            if not asked["memberId"] and step["api_version"] == 0:  # as clients of later versions do
                asked = asked | {"memberId": self._fresh_id(step)}
            return consumer_wire.heartbeat_request(asked, self.topics)
        return wire.request(step, self.payloads, self._fresh_id(step))

    def _check_answer(self, number: int, step: Json, outcome: Outcome) -> None:
        """What the request is answered now."""
        mine = [reply for reply in self._told_now([("", outcome)]) if reply.waiter == number]
        expect("answered now", not step.get("pending", False), bool(mine))
        for reply in mine:
            found = self._machine_response(reply, self._asked[number])
            if "error" in step:
                expect("error", step["error"].get("name"), found["errorCode"])
                expect("error's code", wire.code(step["error"].get("code")), found["errorCode"])
            else:
                expect("response", self._kafka_response(step["call"], step["response"]), found)

    def _kafka_response(self, call: str, response: Json) -> Json:
        if call == "ConsumerGroupHeartbeat":
            return consumer_wire.kafka_heartbeat(response)
        return wire.kafka_response(call, response)

    def _machine_response(self, reply: Reply, asked: Any) -> Json:
        if isinstance(reply.response, consumer_wire.ConsumerGroupHeartbeatResponse):
            return consumer_wire.machine_heartbeat(reply.response, self.topics)
        return wire.machine_response(reply.response, asked, self.payloads)

    def _fresh_id(self, step: Json) -> str:
        """The member id that Kafka makes up in this step: the first of those that nobody has heard of."""
        results = {name: value for name, value in step.items() if name != "request"}
        fresh = [one for one in self._unborn if one in _placeholders(results)]
        if not fresh or step["call"] not in _MAKING_UP_IDS or step["request"]["memberId"]:
            return f"unheard-of-{len(self.groups.ids)}"
        self.groups.ids.add(fresh[0])
        return fresh[0]

    def _told_now(self, outcomes: list[tuple[str, Outcome]]) -> list[Reply]:
        """Replies, but for those to JoinGroup and SyncGroup that wait for the log."""
        found = []
        for _, outcome in outcomes:
            deferred = outcome.batch.replies if outcome.batch is not None else []
            found += outcome.replies + [reply for reply in deferred if not self._waits(reply)]
        return found

    def _waits(self, reply: Reply) -> bool:
        return isinstance(self._asked.get(reply.waiter), (JoinGroup, SyncGroup))

    def check_outcome(
        self, number: int, step: Json, outcomes: list[tuple[str, Outcome]], *, is_put_back: bool = False
    ) -> None:
        """What others are answered, and what is written; keeps batches for their `log_append`."""
        self._check_others(number, step, self._told_now(outcomes))
        sources = [step, *step.get("expired", []), *step.get("results", [])]
        written = [
            one
            for group_id, outcome in outcomes if outcome.batch is not None
            for record in outcome.batch.records
            for one in machine_records(group_id, record, self.payloads, self.groups.hash_names)
        ]  # fmt: skip
        expected = kafka_records([one for source in sources for one in source.get("records", [])])
        any_order = "java_hash_order" in self.conversation["needs"]
        in_order = consumer_wire.in_runs if not any_order else lambda records: sorted(records, key=str)
        expect("records", in_order(expected), in_order(written))
        self.tasks |= {task.key: (group_id, task) for group_id, one in outcomes for task in one.tasks}
        for group_id, outcome in outcomes:
            if outcome.batch is not None:
                self.batches.setdefault(number, []).append((group_id, outcome.batch))
                self._check_batch(sources, self.groups.get(group_id), outcome.batch, is_put_back=is_put_back)

    def _check_batch(self, sources: list[Json], group: MixedGroup, batch: Batch, *, is_put_back: bool) -> None:
        """Whether it is replayed at once, and whether something waits for the log."""
        applied = {source["applied"] for source in sources if "applied" in source}
        is_applied = group.is_consumer or any(not self._waits(reply) for reply in batch.replies)
        is_applied |= any(isinstance(one, OffsetRecord) for one in batch.records)
        if batch.records and not is_put_back:
            expect("applied", {is_applied and not _is_conversion(batch)}, applied)
        awaits = any(source.get("awaits_append", False) for source in sources)
        if not group.is_consumer and not _is_emptied(batch.records) and not _is_conversion(batch):
            expect("awaits_append", awaits, batch.number in inside(group.group).awaited)
        elif group.is_consumer and not _is_upgrade(batch):
            expect("awaits_append", awaits, batch.is_awaited)

    def _check_others(self, number: int, step: Json, replies: list[Reply]) -> None:
        """Answers to requests of earlier steps."""
        others = {reply.waiter: reply for reply in replies if reply.waiter != number}
        expected: dict[Any, Json] = {}
        for one in step.get("completes", []):
            if "step" in one:
                asked = self.conversation["steps"][one["step"]]["call"]
                expected[one["step"]] = self._kafka_response(asked, one["response"])
            else:
                call = "JoinGroup" if "generationId" in one["response"] else "SyncGroup"
                expected["member", one["member"]] = wire.kafka_response(call, one["response"])
        found = {waiter: self._machine_response(reply, self._asked.get(waiter)) for waiter, reply in others.items()}
        expect("completes: who", sorted(map(str, expected)), sorted(map(str, found)))
        expect("completes", expected, found)

    # --- time and the log ---------------------------------------------------------------------------------------------

    def on_advance(self, number: int, step: Json) -> None:
        """The clock; timers run if they are polled."""
        before_ms, self.now_ms = self.now_ms, self.now_ms + step["ms"]
        if not step.get("polled"):
            return
        self.groups.compare_expired(step, before_ms, self.now_ms)
        outcomes = []
        for group_id, group in list(self.groups.machines.items()):
            while group.deadline <= self.now:
                outcomes.append((group_id, group.on_deadline(self.now)))
        self.check_outcome(number, step, outcomes)

    def each(self, number: int, step: Json, call: Callable[[MixedGroup], Outcome]) -> None:
        """One call to every group."""
        self.check_outcome(
            number, step, [(group_id, call(group)) for group_id, group in list(self.groups.machines.items())]
        )

    def on_log_append(self, number: int, step: Json) -> None:
        """The log has the records of an earlier step, or has refused them."""
        if step["step"] not in self.batches:
            raise Difference(f"nothing was handed out at step {step['step']}")
        error = Error.NONE
        if (failure := step.get("fails")) is not None:
            if failure["name"] not in Error.__members__:
                raise Unplayable(f"an append that fails with {failure['name']}")
            error = Error[failure["name"]]
        handed = self.batches[step["step"]]
        if error is not Error.NONE and all(self._is_replayed_at_once(*one) for one in handed):
            return  # what was replayed stays until the `rollback`; whoever waits is answered by the service layer
        outcomes = []
        for group_id, batch in self.batches.pop(step["step"]):
            outcome = self.groups.get(group_id).on_appended(self.now, batch.number, error)
            if error is Error.NONE:
                outcome.replies += [reply for reply in batch.replies if self._waits(reply)]
            outcomes.append((group_id, outcome))
        self.check_outcome(number, step, outcomes)

    def _is_replayed_at_once(self, group_id: str, batch: Batch) -> bool:
        return self.groups.get(group_id).is_consumer and not _is_conversion(batch)

    def replay(self, records: Json) -> None:
        """Apply records as if read from the log."""
        for record in records:
            self.log.append(record)
            restored = restored_record(record, self.payloads, self.groups.hashes)
            if is_legacy(record):
                self.groups.make_consumer_group(record["key"]["groupId"])
            elif restored is not None:
                group_id = record["key"].get("group") or record["key"]["groupId"]
                self.groups.get(group_id).replay(restored)
            if isinstance(restored, OffsetRecord):
                self.offsets.replay(group_id, restored)
            else:
                self.offsets.place += 1
        self.groups.settle()

    @property
    def now(self) -> int:
        """The clock, microseconds."""
        return self.now_ms * MS


def _is_emptied(records: tuple[Any, ...]) -> bool:
    """The record of a group that has just lost its last member."""
    return all(getattr(one, "generation", 0) > 0 and not getattr(one, "members", True) for one in records)


def _is_conversion(batch: Batch) -> bool:
    """Whether a group has become a classic one, which Kafka does not do by replaying records."""
    kinds = [type(one).__name__ for one in batch.records]
    return kinds[-1:] == ["GroupMetadata"] and len(kinds) > 1


def _is_upgrade(batch: Batch) -> bool:
    return any(type(one).__name__ == "GroupTombstone" for one in batch.records)


def _placeholders(step: Json) -> set[str]:
    """Names that stand for random member ids."""
    return set(re.findall(r"\$m\d+", str(step)))


def _snake(call: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", call).lower()
