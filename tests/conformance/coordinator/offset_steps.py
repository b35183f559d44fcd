"""What a conversation asks of committed offsets, and what the machine has of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from groupsim.sim.protocol.interface import Outcome
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, OffsetDelete, OffsetFetch, Positions
from groupsim.sim.protocol.offsets.group_offsets import GroupOffsets
from groupsim.sim.protocol.offsets.records import NOBODY, CommittedOffsets, OffsetRecord, OffsetTombstones
from groupsim.sim.protocol.offsets.table import OffsetTable
from groupsim.sim.units import FOREVER, MS
from tests.conformance.coordinator.fields import code, expect, known
from tests.conformance.coordinator.groups import Groups
from tests.conformance.coordinator.topics import Topics
from tests.conformance.coordinator.wire import Json, Payloads

_OFFSET = frozenset(["committedOffset", "commitTimestampMs", "expireTimestampMs", "recordOffset"])


class Entry(NamedTuple):
    """One step of the log that is about offsets: a record of a group, or (``record`` None) a marker."""

    place: int
    group_id: str
    record: OffsetRecord | None
    producer_id: int = NOBODY
    is_committed: bool = False


class LiveGroup:
    """A group by its id, whichever machine plays it now."""

    def __init__(self, groups: Groups, group_id: str) -> None:
        self._groups, self._group_id = groups, group_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._groups.get(self._group_id), name)


class NamedPositions:
    """Every position that stands for a partition, by its topic's name."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    @property
    def topics(self) -> set[str]:
        """All that have positions."""
        return self._topics.spoken_of

    def of(self, topic: str) -> Positions:
        """Positions of a topic's partitions."""
        return self._topics.named(topic)


class OffsetBook:
    """Offsets of all groups of one conversation, and what Kafka has of them by now.

    Parameters
    ----------
    groups : Groups
    payloads : Payloads
    """

    def __init__(self, groups: Groups, payloads: Payloads) -> None:
        self._groups, self._payloads, self._topics = groups, payloads, payloads.topics
        self._machines: dict[str, GroupOffsets] = {}
        self._entries: list[Entry] = []
        self._states: dict[str, Json] = {}
        self.place = 0
        """Of the next record in the log."""

    def of(self, group_id: str) -> GroupOffsets:
        """The offsets of a group."""
        if group_id not in self._machines:
            self._machines[group_id] = self._new(group_id)
        self._machines[group_id].table.cover(self._topics.n_partitions)
        return self._machines[group_id]

    def _new(self, group_id: str) -> GroupOffsets:
        group: Any = LiveGroup(self._groups, group_id)
        return GroupOffsets(group, NamedPositions(self._topics), self._groups.config, OffsetTable())

    def as_of(self, group_id: str, place: int | str) -> GroupOffsets:
        """The same, as somebody sees them who reads the log up to ``place``."""
        if place == "latest":
            return self.of(group_id)
        seen = self._new(group_id)
        seen.table.cover(self._topics.n_partitions)
        for one in self._entries:
            if one.place < int(place) and (one.record is None or one.group_id == group_id):
                _apply(seen, one)
        return seen

    def replay(self, group_id: str, record: OffsetRecord) -> None:
        """A record is in the log; each of its partitions takes a place."""
        entry = Entry(self.place, group_id, record)
        self._entries.append(entry)
        _apply(self.of(group_id), entry)
        self.place += len(record.positions)

    def logged(self, group_id: str, record: OffsetRecord) -> None:
        """The machine has written this, and has carried it out itself."""
        self._entries.append(Entry(self.place, group_id, record))
        self.place += len(record.positions)

    def end(self, producer_id: int, *, is_committed: bool) -> None:
        """A marker."""
        entry = Entry(self.place, "", None, producer_id, is_committed)
        self._entries.append(entry)
        for group_id in self._machines:
            _apply(self.of(group_id), entry)
        self.place += 1

    @property
    def group_ids(self) -> list[str]:
        """Groups that have been heard of."""
        return list(self._machines)

    # --- comparison ---------------------------------------------------------------------------------------------------

    def compare(self, step: Json) -> None:
        """Every offset of every group."""
        for key, told in step.get("offsets", {}).items():
            self._states.pop(key, None)
            if told is not None:
                self._states[key] = {
                    topic: {number: known(key, fields, _OFFSET) for number, fields in sorted(each.items())}
                    for topic, each in sorted(told.items())
                }
        found = {}
        for group_id, machine in self._machines.items():
            found[f"committed/{group_id}"] = self._committed(machine)
            for producer_id, offsets in machine.pending.by_producer.items():
                told = {at: (one.offset, one.commit_us, one.expire_us, one.written) for at, one in offsets.items()}
                found[f"pending/{producer_id}/{group_id}"] = self._form(told)
        expect("offsets", dict(sorted(self._states.items())), {key: one for key, one in sorted(found.items()) if one})

    def _committed(self, machine: GroupOffsets) -> Json:
        table = machine.table
        columns = (table.offset, table.commit_us, table.expire_us, table.written)
        return self._form({at: tuple(int(column[at]) for column in columns) for at in table.known().tolist()})

    def _form(self, offsets: dict[int, tuple[int, ...]]) -> Json:
        found: Json = {}
        for position, (offset, commit_us, expire_us, written) in offsets.items():
            topic, number = self._payloads.partition(position)
            found.setdefault(topic, {})[str(number)] = {
                "committedOffset": offset, "commitTimestampMs": commit_us // MS, "recordOffset": written,
                "expireTimestampMs": None if expire_us == FOREVER else expire_us // MS,
            }  # fmt: skip
        return {topic: dict(sorted(each.items())) for topic, each in sorted(found.items())}


def _apply(machine: GroupOffsets, entry: Entry) -> None:
    if entry.record is None:
        machine.end_transaction(entry.producer_id, is_committed=entry.is_committed)
    else:
        machine.replay(entry.record, entry.place)


class OffsetSteps:
    """Calls that are about offsets.

    Attributes
    ----------
    offsets : OffsetBook
    """

    offsets: OffsetBook
    payloads: Payloads
    topics: Topics
    check_outcome: Any
    now: int

    def on_offset_fetch(self, number: int, step: Json) -> None:
        """Offsets of some partitions."""
        asked = step["request"]
        wanted = [
            (one["name"], at, self.payloads.position(one["name"], at, one["topicId"]))
            for one in asked["topics"] for at in one["partitionIndexes"]
        ]  # fmt: skip
        self._compare_fetch(step, wanted)

    def on_offset_fetch_all(self, number: int, step: Json) -> None:
        """Offsets of all partitions that have any; one that is only pending is none yet (``fetchAllOffsets``)."""
        seen = self.offsets.as_of(step["request"]["groupId"], step["request"]["committed_offset"])
        self._compare_fetch(step, [(*self.payloads.partition(at), at) for at in seen.table.known().tolist()])

    def _compare_fetch(self, step: Json, wanted: list[tuple[str, int, int]]) -> None:
        asked = step["request"]
        machine = self.offsets.as_of(asked["groupId"], asked["committed_offset"])
        positions = np.array([at for _, _, at in wanted], np.int32)
        response = machine.fetch(OffsetFetch(positions, asked["memberId"], asked["memberEpoch"]))
        if "error" in step:
            expect("error", step["error"]["name"], response.error.value)
            expect("error's code", code(step["error"]["code"]), response.error.value)
            return
        expect("error", code(step["response"]["errorCode"]), response.error.value)
        found = {}
        for (topic, at, position), offset in zip(wanted, response.offsets.tolist(), strict=True):
            is_open = position in response.unstable and asked["committed_offset"] == "latest"
            found[topic, at] = [-1, Error.UNSTABLE_OFFSET_COMMIT.value] if is_open else [offset, Error.NONE.value]
        expected = {
            (topic["name"], one["partitionIndex"]): [one["committedOffset"], code(one["errorCode"])]
            for topic in step["response"]["topics"] for one in topic["partitions"]
        }  # fmt: skip
        expect("response", dict(sorted(expected.items())), dict(sorted(found.items())))

    def on_offset_delete(self, number: int, step: Json) -> None:
        """Offsets of single partitions are deleted."""
        group_id, asked = step["request"]["groupId"], step["request"]["topics"]
        wanted = [(one["name"], at["partitionIndex"]) for one in asked for at in one["partitions"]]
        response, outcome = self.offsets.of(group_id).delete(OffsetDelete(self._named(wanted)))
        expect("response.errorCode", code(step["response"]["errorCode"]), response.error.value)
        refused = [self.payloads.partition(at) for at in response.refused.tolist()]
        found = {
            (topic, at): (Error.GROUP_SUBSCRIBED_TO_TOPIC if [topic, at] in refused else Error.NONE).value
            for topic, at in wanted
        }
        expected = {
            (one["name"], at["partitionIndex"]): code(at["errorCode"])
            for one in step["response"]["topics"] for at in one["partitions"]
        }  # fmt: skip
        expect("response", expected, found)
        self._carried_out(number, step, [(group_id, outcome)])

    def _named(self, wanted: list[tuple[str, int]]) -> Positions:
        for topic, at in wanted:
            self.payloads.position(topic, at)
        each = [one for topic, at in wanted for one in self.topics.named(topic, at).tolist()]
        return np.array(sorted(each), np.int32) if each else NO_PARTITIONS

    def _carried_out(self, number: int, step: Json, outcomes: list[tuple[str, Outcome]]) -> None:
        """Compare what the machine has written and carried out."""
        for group_id, outcome in outcomes:
            for record in outcome.batch.records if outcome.batch is not None else ():
                if isinstance(record, (CommittedOffsets, OffsetTombstones)):
                    self.offsets.logged(group_id, record)
        self.check_outcome(number, step, outcomes)

    def on_delete_all_offsets(self, number: int, step: Json) -> None:
        """All offsets of a group are deleted."""
        group_id = step["request"]["group"]
        gone, outcome = self.offsets.of(group_id).delete_all()
        expect("response", step["response"], len(gone))
        self._carried_out(number, step, [(group_id, outcome)])

    def on_expire_offsets(self, number: int, step: Json) -> None:
        """Offsets are looked at."""
        group_id = step["request"]["group"]
        is_free, outcome = self.offsets.of(group_id).expire(self.now)
        expect("response", step["response"], is_free)
        self._carried_out(number, step, [(group_id, outcome)])

    def on_topics_deleted(self, number: int, step: Json) -> None:
        """Topics are gone; only offsets of these very topics go with them. Told are records, or that there are none."""
        expect("response", step.get("response", []), [])
        gone = [at for one in step["request"]["topics"] for at in self.topics.of_id(one["id"], one["name"]).tolist()]
        positions = np.array(sorted(gone), np.int32) if gone else NO_PARTITIONS
        outcomes = [
            (group_id, self.offsets.of(group_id).topics_deleted(positions)) for group_id in self.offsets.group_ids
        ]
        self._carried_out(number, step, outcomes)

    def on_end_transaction(self, number: int, step: Json) -> None:
        """A marker is written."""
        asked = step["request"]
        self.offsets.end(asked["producer_id"], is_committed=asked["result"] == "COMMIT")

    # --- reads --------------------------------------------------------------------------------------------------------

    def on_has_committed_offset(self, number: int, step: Json) -> None:
        """Whether a partition has an offset."""
        machine, positions = self._looked_at(step)
        expect("response", step["response"], bool((machine.table.offset[positions] >= 0).any()))

    def on_has_pending_offsets(self, number: int, step: Json) -> None:
        """Whether an open transaction has written to a partition."""
        machine, positions = self._looked_at(step)
        expect("response", step["response"], bool(np.isin(machine.pending.positions(), positions).any()))

    def on_get_offset(self, number: int, step: Json) -> None:
        """The offset of a partition; what it is like is compared in ``offsets``."""
        machine, positions = self._looked_at(step)
        found = [offset for offset in machine.table.offset[positions].tolist() if offset >= 0]
        expect("response", _offsets_of(step["response"]), found)

    def on_get_pending_offset(self, number: int, step: Json) -> None:
        """What a transaction has written to a partition; what it is like is compared in ``offsets``."""
        machine, positions = self._looked_at(step)
        pending = machine.pending.by_producer.get(step["request"]["producer_id"], {})
        found = [pending[at].offset for at in positions.tolist() if at in pending]
        expect("response", _offsets_of(step["response"]), found)

    def _looked_at(self, step: Json) -> tuple[GroupOffsets, Positions]:
        asked = step["request"]
        positions = self._named([(asked["topic"], asked["partition"])])
        return self.offsets.of(asked["group"]), positions


def _offsets_of(response: Json | None) -> list[int]:
    """The offset of a partition, if it has one."""
    return [] if response is None else [response["committedOffset"]]
