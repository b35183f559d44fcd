"""What administrators, the log and tests do in a conversation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from groupsim.sim.config import GroupConfig
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.interface import Batch, Outcome, Task
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.mixed.group import MixedGroup
from groupsim.sim.units import FOREVER, MS
from tests.conformance.coordinator import builder, wire
from tests.conformance.coordinator.consumer_state import compare_description, records_of
from tests.conformance.coordinator.fields import Difference, Unplayable, expect
from tests.conformance.coordinator.groups import Groups
from tests.conformance.coordinator.records import restored_record
from tests.conformance.coordinator.state import inside, load_group, load_timer
from tests.conformance.coordinator.topics import Topics
from tests.conformance.coordinator.wire import Json, Payloads

_GROUP_CONFIG = {
    "consumer.session.timeout.ms": "consumer_session_timeout_us",
    "consumer.heartbeat.interval.ms": "consumer_heartbeat_interval_us",
    "consumer.assignment.interval.ms": "consumer_assignment_interval_us",
}


class Administration:
    """Calls that are no requests of members.

    Attributes
    ----------
    conversation : dict
    topics, payloads, groups
        Of the conversation.
    in_memory : set of str
        Groups that the log does not know yet.
    log : list of dict
        Records that have been replayed, of which the first ``committed`` are committed.
    batches : dict
        Step -> group id and batch of what was handed out then.
    tasks : dict
        Key -> group id and task of what runs in the background.
    """

    conversation: Json
    topics: Topics
    payloads: Payloads
    groups: Groups
    in_memory: set[str]
    log: list[Json]
    committed: int
    now_ms: int
    batches: dict[int, list[tuple[str, Batch]]]
    tasks: dict[str, tuple[str, Task]]
    check_outcome: Callable[..., None]
    each: Callable[[int, Json, Callable[[MixedGroup], Outcome]], None]
    replay: Callable[[Json], None]
    now: int
    n_runs = 0

    # --- the log ------------------------------------------------------------------------------------------------------

    def on_load(self, number: int, step: Json) -> None:
        """The coordinator is active."""
        self.each(number, step, lambda group: group.on_loaded(self.now))

    def on_unload(self, number: int, step: Json) -> None:
        """The coordinator is somewhere else."""
        self.groups.forget_timers()
        self.each(number, step, lambda group: group.on_unloaded(self.now))

    def on_replay(self, number: int, step: Json) -> None:
        """Records are applied as if read from the log."""
        self.replay(step["records"])

    def on_commit(self, number: int, step: Json) -> None:
        """All that has been applied is committed; appends that a test ends itself are not over."""
        for number_then, handed in list(self.batches.items()):
            waiting = [one for one in handed if not self.is_replayed(*one)]
            for group_id, batch in handed:
                if self.is_replayed(group_id, batch):
                    self.groups.get(group_id).on_appended(self.now, batch.number, Error.NONE)
            self.batches[number_then] = waiting
        self.committed = len(self.log)
        self.in_memory.clear()

    def on_rollback(self, number: int, step: Json) -> None:
        """Whatever is not committed is undone: what was handed out fails, what was only replayed is replayed anew."""
        for _, handed in sorted(self.batches.items(), reverse=True):
            for group_id, batch in handed:
                if any(type(one).__name__ != "CommittedOffsets" for one in batch.records):
                    self.groups.get(group_id).on_appended(self.now, batch.number, Error.NOT_ENOUGH_REPLICAS)
        self.batches.clear()
        undone = {_group_of(one) for one in self.log[self.committed :] if one["type"] != "OffsetCommit"}
        kept, self.log = self.log[: self.committed], []
        for group_id in undone:
            del self.groups.machines[group_id]
        self.replay([one for one in kept if _group_of(one) in undone])
        self.log = kept

    def is_replayed(self, group_id: str, batch: Batch) -> bool:
        """Whether a batch is of a consumer group, and nobody's answer waits for it."""
        return self.groups.get(group_id).is_consumer and not batch.is_awaited

    # --- groups -------------------------------------------------------------------------------------------------------

    def on_create_group(self, number: int, step: Json) -> None:
        """Empty groups come into being, in memory only."""
        for group_id, kind in step["created"].items():
            if kind not in ("classic", "consumer"):
                raise Unplayable(f"groups of type {kind}")
            self.groups.create(self.now_ms, group_id, kind)
            self.in_memory.add(group_id)

    def on_set_state(self, number: int, step: Json) -> None:
        """The test has changed groups by hand."""
        for group_id, state in step["groups"].items():
            if state is None or state["type"] not in ("classic", "consumer"):
                raise Unplayable("groups of other types" if state else "a group that is taken away by hand")
            if state["type"] == "consumer":
                self._load_consumer(group_id, state)
                continue
            group = self.groups.get(group_id)
            if not isinstance(group.group, ClassicGroup):
                group = self.groups.machines[group_id] = self.groups.unknown(group_id)
            assert isinstance(group.group, ClassicGroup)
            load_group(group.group, state, self.payloads)
            for key, deadline_ms in step.get("timers", {}).items():
                load_timer(key, group_id, group.group, deadline_ms)

    def _load_consumer(self, group_id: str, state: Json) -> None:
        old = self.groups.get(group_id).group
        group = self.groups.machines[group_id] = self.groups.unknown(group_id)
        for record in records_of(state, self.payloads, self.groups.hashes):
            group.replay(record)
        self.groups.settle()
        assert isinstance(group.group, ConsumerGroup)
        if isinstance(old, ConsumerGroup):
            group.group.core.timers = old.core.timers
        group.group.topics._refresh_due = min(state["refresh_deadline_ms"] * MS, FOREVER)

    def on_tombstone_group(self, number: int, step: Json) -> None:
        """An administrator deletes a group."""
        group_id = step["request"]["group"]
        group = self.groups.get(group_id)
        is_put_back = group.is_consumer and "groups" not in step  # the test does not replay what it is told
        before = copy.deepcopy(group, {id(self.topics): self.topics})
        self.check_outcome(number, step, [(group_id, group.delete())], is_put_back=is_put_back)
        if is_put_back:
            self.groups.put_back(group_id, before)

    on_delete_group = on_maybe_delete_group = on_tombstone_group

    def on_reschedule_heartbeat(self, number: int, step: Json) -> None:
        """A session is renewed."""
        one, member_id = inside(self.groups.get(step["request"]["group"]).group), step["request"]["member"]
        one.timers.renew(self.now, _present(one.roster.get(member_id)))

    def on_prepare_rebalance(self, number: int, step: Json) -> None:
        """A classic group is made to rebalance."""
        one = inside(self.groups.get(step["request"]["group"]).group)
        one.prepare(self.now, "test")
        self.check_outcome(number, step, [(one.group_id, one.take())])

    def on_describe_groups(self, number: int, step: Json) -> None:
        """Classic groups are described."""
        asked = step["request"]
        expected = [wire.kafka_description(one, step["api_version"]) for one in step["response"]]
        found = []
        for group_id in asked["groups"]:
            is_seen = self._is_seen(group_id, asked["committed_offset"])
            group = self.groups.get(group_id) if is_seen else self.groups.unknown(group_id)
            found.append(wire.machine_description(group_id, group.describe(), self.payloads))
        expect("response", expected, found)

    def _is_seen(self, group_id: str, offset: int | str) -> bool:
        """Whether a reader of what is committed up to ``offset`` sees the group at all."""
        if offset == "latest":
            return True
        born = [at for at, one in enumerate(self.log) if _group_of(one) == group_id]
        return group_id not in self.in_memory and (not born or born[0] < offset)

    # --- the consumer protocol ----------------------------------------------------------------------------------------

    def on_consumer_group_describe(self, number: int, step: Json) -> None:
        """Consumer groups are described, as the log has them up to some record."""
        offset = step["request"]["committed_offset"]
        for group_id, expected in zip(step["request"]["groupIds"], step["response"], strict=True):
            seen = Groups(self.conversation, self.payloads).get(group_id)
            if offset == "latest":
                seen = self.groups.get(group_id)
            for record in self.log[: 0 if offset == "latest" else offset]:
                if _group_of(record) == group_id:
                    _replay_one(self, seen, record)
            compare_description(expected, group_id, seen, self.topics)

    def on_prepare_assignment(self, number: int, step: Json) -> None:
        """What a mock assigns from now on."""
        self.groups.assignors.prepare(step["assignor"], step["members"])

    def on_update_group_config(self, number: int, step: Json) -> None:
        """What is set for a group."""
        told = {_GROUP_CONFIG[key]: value * MS for key, value in step["config"].items() if key in _GROUP_CONFIG}
        outcome = self.groups.get(step["group"]).on_group_config(self.now, GroupConfig(**told))
        self.check_outcome(number, step, [(step["group"], outcome)])

    def on_metadata_update(self, number: int, step: Json) -> None:
        """The coordinator has another metadata image."""
        self.topics.learn(step["request"]["topics"])
        self.each(number, step, lambda group: group.on_metadata(self.now, self.topics.counts))

    def on_groups_subscribed_to_topic(self, number: int, step: Json) -> None:
        """Who subscribes to a topic; the coordinator keeps no such list here, but every group knows its topics."""
        found = [
            group_id for group_id, group in self.groups.machines.items()
            if isinstance(group.group, ConsumerGroup) and step["request"]["topic"] in _subscribed(group.group)
        ]  # fmt: skip
        expect("response", sorted(step["response"]), sorted(found))

    def on_run_tasks(self, number: int, step: Json) -> None:
        """What runs in the background is done."""
        expect("tasks", sorted(one["key"] for one in step["results"]), sorted(self.tasks))
        outcomes = []
        for key, (group_id, task) in sorted(self.tasks.items()):
            result = task.run()
            if "mock_authorizer" in self.conversation["needs"]:
                result = self._authorized(result)
            outcomes.append((group_id, self.groups.get(group_id).on_task_done(self.now, key, result)))
        self.tasks.clear()
        self.check_outcome(number, step, outcomes)

    def _authorized(self, result: Any) -> Any:
        """Topic bar may not be described at first; from the second time on it may."""
        self.n_runs += 1
        may = self.n_runs > 1
        return {pattern: tuple(one for one in topics if may or one != "bar") for pattern, topics in result.items()}

    # --- single steps -------------------------------------------------------------------------------------------------

    def on_current_assignment(self, number: int, step: Json) -> None:
        """``CurrentAssignmentBuilder``."""
        builder.play_reconciliation(step, self.topics, self.groups.config)

    def on_target_assignment(self, number: int, step: Json) -> None:
        """``TargetAssignmentBuilder``."""
        builder.play_targets(step, self.payloads, self.groups.config)


def _subscribed(group: ConsumerGroup) -> set[str]:
    """Topics of members, and those of regular expressions that nobody may subscribe to any more."""
    return group.topics.subscribed() | {topic for one in group.roster.patterns.values() for topic in one.topics}


def _replay_one(player: Administration, group: MixedGroup, record: Json) -> None:
    restored = restored_record(record, player.payloads, player.groups.hashes)
    if restored is not None:
        group.replay(restored)


def _group_of(record: Json) -> Any:
    return record["key"].get("group") or record["key"].get("groupId")


def _present(member: Any) -> Any:
    if member is None:
        raise Difference("the machine does not know the member")
    return member
