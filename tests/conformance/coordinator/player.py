"""Plays one conversation of Kafka's own tests with its group coordinator to the pure machine, and compares each step.

Compared: what is answered now (`response`, `error`, `pending`) and what is answered to earlier requests (`completes`),
records and whether something waits for them, every group's state, every timer's deadline, which timers ran.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from groupsim.sim.errors import ProtocolMisuse
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.interface import Outcome, Reply
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import MS
from tests.conformance.coordinator import wire
from tests.conformance.coordinator.fields import IGNORED, Difference, Unplayable, expect
from tests.conformance.coordinator.groups import Groups
from tests.conformance.coordinator.state import inside, load_group, load_timer
from tests.conformance.coordinator.topics import Topics
from tests.conformance.coordinator.wire import Json, Payloads

_STEP = frozenset(
    ["at_ms", "call", "api_version", "request", "response", "error", "pending", "records", "applied", "awaits_append",
     "completes", "groups", "timers", "ms", "expired", "step", "key", "fails", "created", *IGNORED]
)  # fmt: skip
_REQUESTS = frozenset(["JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit"])


class Player:
    """One conversation.

    Parameters
    ----------
    conversation : dict
        One line of the files.
    """

    def __init__(self, conversation: Json) -> None:
        self._conversation = conversation
        self._topics = Topics(conversation["topics"])
        self._payloads = Payloads(self._topics)
        self._groups = Groups(conversation["config"], self._payloads)
        self._unborn = list(conversation.get("generated", []))
        self._batches: dict[int, tuple[str, int]] = {}
        self._asked: dict[int, Any] = {}
        self._log: list[Json] = []
        self._committed = 0
        self._in_memory: set[str] = set()
        self._now_ms = 0

    def play(self) -> None:
        """From the beginning to the end.

        Raises
        ------
        Difference
            At the first step at which Kafka and the machine do not say the same.
        Unplayable
            If the conversation is about something that groupsim does not model.
        """
        initial = self._conversation["initial"]
        for step in self._conversation["steps"]:
            if step["call"] not in _REQUESTS and self._handler(step) is None:
                raise Unplayable(f"call {step['call']}")
        self._now_ms = self._conversation["start_ms"]
        self._replay(initial["records"])
        self._committed = initial["committed"]
        try:
            self._groups.compare(initial)
        except Difference as difference:
            raise Difference(f"at the beginning: {difference}") from None
        for number, step in enumerate(self._conversation["steps"]):
            try:
                self._play_step(number, step)
            except Difference as difference:
                raise Difference(f"step {number}, {step['call']}: {difference}") from None

    def _play_step(self, number: int, step: Json) -> None:
        if strange := step.keys() - _STEP:
            raise Unplayable(f"{sorted(strange)[0]} of {step['call']}")
        expect("at_ms", step["at_ms"], self._now_ms)
        if "java_hash_order" in self._conversation["needs"]:
            self._groups.choose_as_kafka(step)
        (self._handler(step) or self._on_request)(number, step)
        self._groups.compare(step)
        self._unborn = [one for one in self._unborn if one not in _placeholders(step)]

    def _handler(self, step: Json) -> Callable[[int, Json], None] | None:
        """What plays a call that is no request of a member's."""
        return getattr(self, f"_on_{_snake(step['call'])}", None)

    @property
    def _now(self) -> int:
        return self._now_ms * MS

    # --- requests -----------------------------------------------------------------------------------------------------

    def _on_request(self, number: int, step: Json) -> None:
        group_id = step["request"].get("groupId", "")
        request = self._asked[number] = wire.request(step, self._payloads, self._fresh_id(step))
        group = self._groups.get(group_id)
        was_there = inside(group).exists
        try:
            outcome = group.on_request(self._now, request, number)
        except ProtocolMisuse:
            expect("error", step.get("error", {}).get("class"), "IllegalStateException")
            outcome = inside(group).take()
        else:
            self._check_answer(number, step, outcome)
        if not was_there:
            self._in_memory.add(group_id)
        self._check_outcome(number, group_id, step, outcome)

    def _check_answer(self, number: int, step: Json, outcome: Outcome) -> None:
        """What the request is answered now."""
        mine = [reply for reply in self._replies(outcome) if reply.waiter == number]
        expect("answered now", not step.get("pending", False), bool(mine))
        for reply in mine:
            found = wire.machine_response(reply.response, self._asked[number], self._payloads)
            if "error" in step:
                expect("error", step["error"].get("name"), found["errorCode"])
                expect("error's code", wire.code(step["error"].get("code")), found["errorCode"])
            else:
                expect("response", wire.kafka_response(step["call"], step["response"]), found)

    def _fresh_id(self, step: Json) -> str:
        """The member id that Kafka makes up in this step: the first of those that nobody has heard of."""
        results = {name: value for name, value in step.items() if name != "request"}
        fresh = [one for one in self._unborn if one in _placeholders(results)]
        if not fresh or step["call"] != "JoinGroup" or step["request"]["memberId"]:
            return f"unheard-of-{len(self._groups.ids)}"
        self._groups.ids.add(fresh[0])
        return fresh[0]

    @staticmethod
    def _replies(outcome: Outcome) -> list[Reply]:
        return outcome.replies + (outcome.batch.replies if outcome.batch is not None else [])

    def _check_outcome(self, number: int, group_id: str, step: Json, outcome: Outcome) -> None:
        """What others are answered, and what is written; keeps the batch for its `log_append`."""
        self._check_others(number, step, outcome)
        sources = [step, *step.get("expired", [])]
        records = [wire.kafka_record(one) for source in sources for one in source.get("records", [])]
        batch = outcome.batch
        written = [one for record in (batch.records if batch else ()) for one in self._as_kafka(group_id, record)]
        expect("records", records, written)
        if batch is None:
            return
        self._batches[number] = (group_id, batch.number)
        is_applied = bool(batch.replies)  # offsets; the group's own records are of what memory knows already
        applied = {source["applied"] for source in sources if "applied" in source}
        expect("applied", {is_applied}, applied)
        if not _is_emptied(batch.records):
            awaits = any(source.get("awaits_append", False) for source in sources)
            expect("awaits_append", awaits, batch.number in inside(self._groups.get(group_id)).awaited)

    def _as_kafka(self, group_id: str, record: Any) -> list[Json]:
        return wire.machine_records(group_id, record, self._payloads)

    def _check_others(self, number: int, step: Json, outcome: Outcome) -> None:
        """Answers to requests of earlier steps."""
        others = {reply.waiter: reply.response for reply in self._replies(outcome) if reply.waiter != number}
        expected: dict[Any, Json] = {}
        for one in step.get("completes", []):
            if "step" in one:
                asked = self._conversation["steps"][one["step"]]["call"]
                expected[one["step"]] = wire.kafka_response(asked, one["response"])
            else:
                call = "JoinGroup" if "generationId" in one["response"] else "SyncGroup"
                expected["member", one["member"]] = wire.kafka_response(call, one["response"])
        found = {
            waiter: wire.machine_response(response, self._asked.get(waiter), self._payloads)
            for waiter, response in others.items()
        }
        expect("completes: who", sorted(map(str, expected)), sorted(map(str, found)))
        expect("completes", expected, found)

    # --- time and the log ---------------------------------------------------------------------------------------------

    def _on_advance(self, number: int, step: Json) -> None:
        before_ms, self._now_ms = self._now_ms, self._now_ms + step["ms"]
        if not step.get("polled"):
            return
        self._groups.compare_expired(step, before_ms, self._now_ms)
        self._check_together(number, step, lambda group: group.on_deadline(self._now))

    def _check_together(self, number: int, step: Json, call: Callable[[ClassicGroup], Outcome]) -> None:
        """One call to every group; only one of them may have something to write."""
        whole, owner = Outcome(), ""
        for group_id, group in list(self._groups.machines.items()):
            outcome = call(group)
            whole.replies += outcome.replies
            if outcome.batch is not None:
                if whole.batch is not None:
                    raise Unplayable("records of two groups at one instant")
                whole.batch, owner = outcome.batch, group_id
        self._check_outcome(number, owner, step, whole)

    def _on_log_append(self, number: int, step: Json) -> None:
        if step["step"] not in self._batches:
            raise Difference(f"nothing was handed out at step {step['step']}")
        group_id, batch = self._batches[step["step"]]
        error = Error.NONE
        if (failure := step.get("fails")) is not None:
            if failure["name"] not in Error.__members__:
                raise Unplayable(f"an append that fails with {failure['name']}")
            error = Error[failure["name"]]
        outcome = self._groups.get(group_id).on_appended(self._now, batch, error)
        self._check_outcome(number, group_id, step, outcome)

    def _on_load(self, number: int, step: Json) -> None:
        self._check_together(number, step, lambda group: group.on_loaded(self._now))

    def _on_unload(self, number: int, step: Json) -> None:
        self._check_together(number, step, lambda group: group.on_unloaded(self._now))

    def _on_replay(self, number: int, step: Json) -> None:
        self._replay(step["records"])

    def _replay(self, records: Json) -> None:
        for record in records:
            self._log.append(record)
            restored = wire.restored_record(record, self._payloads)
            if restored is not None:
                self._groups.get(record["key"]["group"]).replay(restored)

    def _on_commit(self, number: int, step: Json) -> None:
        self._committed = len(self._log)
        self._in_memory.clear()

    def _on_rollback(self, number: int, step: Json) -> None:
        """Groups of replayed records are what the committed ones say."""
        undone = {one["key"]["group"] for one in self._log[self._committed :] if one["type"] == "GroupMetadata"}
        kept, self._log = self._log[: self._committed], []
        for group_id in undone:
            del self._groups.machines[group_id]
        self._replay([one for one in kept if one["key"].get("group") in undone])
        self._log = kept

    # --- what administrators and tests do -----------------------------------------------------------------------------

    def _on_create_group(self, number: int, step: Json) -> None:
        for group_id, kind in step["created"].items():
            if kind != "classic":
                raise Unplayable(f"groups of type {kind}")
            self._groups.create(self._now_ms, group_id)
            self._in_memory.add(group_id)

    def _on_set_state(self, number: int, step: Json) -> None:
        for group_id, state in step["groups"].items():
            if state is None or state["type"] != "classic":
                raise Unplayable("groups of other types" if state else "a group that is taken away by hand")
            load_group(self._groups.get(group_id), state, self._payloads)
            for key, deadline_ms in step.get("timers", {}).items():
                load_timer(key, group_id, self._groups.get(group_id), deadline_ms)

    def _on_tombstone_group(self, number: int, step: Json) -> None:
        group_id = step["request"]["group"]
        self._check_outcome(number, group_id, step, self._groups.get(group_id).delete())

    _on_delete_group = _on_maybe_delete_group = _on_tombstone_group

    def _on_reschedule_heartbeat(self, number: int, step: Json) -> None:
        one, member_id = inside(self._groups.get(step["request"]["group"])), step["request"]["member"]
        one.timers.renew(self._now, _present(one.roster.get(member_id)))

    def _on_prepare_rebalance(self, number: int, step: Json) -> None:
        one = inside(self._groups.get(step["request"]["group"]))
        one.prepare(self._now, "test")
        self._check_outcome(number, one.group_id, step, one.take())

    def _on_metadata_update(self, number: int, step: Json) -> None:
        image = {one["name"]: one["partitions"] for one in step["request"]["topics"]}
        self._check_together(number, step, lambda group: group.on_metadata(self._now, image))

    def _on_describe_groups(self, number: int, step: Json) -> None:
        asked = step["request"]
        expected = [wire.kafka_description(one, step["api_version"]) for one in step["response"]]
        found = []
        for group_id in asked["groups"]:
            is_seen = self._is_seen(group_id, asked["committed_offset"])
            group = self._groups.get(group_id) if is_seen else self._groups.unknown(group_id)
            found.append(wire.machine_description(group_id, group.describe(), self._payloads))
        expect("response", expected, found)

    def _is_seen(self, group_id: str, offset: int | str) -> bool:
        """Whether a reader of what is committed up to ``offset`` sees the group at all."""
        if offset == "latest":
            return True
        born = [at for at, one in enumerate(self._log) if one["key"].get("group") == group_id]
        return group_id not in self._in_memory and (not born or born[0] < offset)


def _present(member: Any) -> Any:
    if member is None:
        raise Difference("the machine does not know the member")
    return member


def _is_emptied(records: tuple[Any, ...]) -> bool:
    """The record of a group that has just lost its last member."""
    return all(getattr(one, "generation", 0) > 0 and not getattr(one, "members", True) for one in records)


def _placeholders(step: Json) -> set[str]:
    """Names that stand for random member ids."""
    return set(re.findall(r"\$m\d+", str(step)))


def _snake(call: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", call).lower()
