"""Committed offsets of a group: commits of transactions, deletion, and when they expire."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.records import GroupMetadata, GroupTombstone
from groupsim.sim.protocol.facts import GroupForgotten, OffsetsRemoved
from groupsim.sim.protocol.interface import Batch, Outcome
from groupsim.sim.protocol.messages import Error, OffsetCommit, OffsetDelete, OffsetFetch, Positions, TxnOffsetCommit
from groupsim.sim.protocol.offsets.expiration import ExpirationCondition
from groupsim.sim.protocol.offsets.group_offsets import GroupOffsets
from groupsim.sim.protocol.offsets.records import CommittedOffsets, OffsetTombstones, accept
from groupsim.sim.protocol.offsets.table import OffsetTable
from groupsim.sim.units import FOREVER, MS, S
from tests.support.groups import GroupHarness, OneTopic

RETENTION_US, CHECK_US = 60 * S, 7 * S
CONFIG = CoordinatorConfig(offsets_retention_us=RETENTION_US, offsets_retention_check_interval_us=CHECK_US)


@dataclass
class Stub:
    """A group that is whatever the test says; topics "foo" (positions 0, 1) and "bar" (2, 3)."""

    condition: ExpirationCondition | None = field(default_factory=ExpirationCondition)
    subscribed: set[str] = field(default_factory=set)
    exists: bool = True
    is_empty: bool = True
    refusal: Error = Error.NONE
    records: list[Any] = field(default_factory=list)
    topics = ("foo", "bar")

    @property
    def offset_expiration(self) -> ExpirationCondition | None:
        return self.condition

    def of(self, topic: str) -> Positions:
        return np.array({"foo": [0, 1], "bar": [2, 3]}[topic], np.int32)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed

    def check_fetch(self, request: OffsetFetch) -> Error:
        return self.refusal

    def check_offset_delete(self) -> Error:
        return self.refusal

    def check_delete(self) -> Error:
        return self.refusal

    def log_offsets(self, record: Any) -> None:
        self.records.append(record)

    def take(self) -> Outcome:
        batch = Batch(1, tuple(self.records)) if self.records else None
        self.records = []
        return Outcome(batch=batch)

    def forget(self) -> Outcome:
        self.exists = False
        outcome = self.take()
        outcome.facts.append(GroupForgotten())
        return outcome


def offsets_of(stub: Stub, *commits: tuple[int, int], config: CoordinatorConfig = CONFIG) -> GroupOffsets:
    """Offsets 100 of some positions, each committed at its time (microseconds)."""
    machine = GroupOffsets(stub, stub, config, OffsetTable())
    machine.table.cover(4)
    for place, (position, commit_us) in enumerate(commits):
        machine.replay(record(position, commit_us), place)
    machine.watch(0)
    return machine


def record(position: int, commit_us: int, offset: int = 100, **fields: Any) -> CommittedOffsets:
    return CommittedOffsets(np.array([position], np.int32), np.array([offset]), commit_us, **fields)


def gone(outcome: Outcome) -> list[int]:
    """Positions whose tombstones were written; the fact says the same."""
    records = outcome.batch.records if outcome.batch is not None else ()
    written = [at for one in records if isinstance(one, OffsetTombstones) for at in one.positions.tolist()]
    told = [at for fact in outcome.facts if isinstance(fact, OffsetsRemoved) for at in fact.positions.tolist()]
    assert written == told
    return written


@pytest.mark.parametrize("is_transactional", [False, True])
def test_an_offset_whose_metadata_are_too_long_is_refused_and_the_others_are_kept(is_transactional: bool) -> None:
    """``offset.metadata.max.bytes``; nothing is written if nothing is left."""
    positions, offsets = np.array([0, 1, 2], np.int32), np.array([10, 11, 12])
    commit: Any = partial(TxnOffsetCommit, producer_id=5) if is_transactional else OffsetCommit
    for sizes, kept in (([6, 5, 0], [1, 2]), ([6, 6, 6], [])):
        request = commit("", None, -1, positions, offsets, metadata_sizes=np.array(sizes))
        records, response = accept(7, request, CoordinatorConfig(offset_metadata_max_size=5))
        assert response.too_large.tolist() == [at for at in range(3) if at not in kept]
        assert (records is None) is (not kept)
        if records is not None:
            assert (records.positions.tolist(), records.offsets.tolist(), records.commit_us) == (kept, [11, 12], 7)


# --- expiry -----------------------------------------------------------------------------------------------------------


def test_offsets_of_topics_that_are_not_read_expire_one_by_one_and_then_the_group() -> None:
    """testCleanupExpiredOffsets (4.3.1), whose group is a stub."""
    stub = Stub(subscribed={"foo"})
    machine = offsets_of(stub, (0, 0), (2, 0), (3, S // 2))
    assert machine.expire(RETENTION_US - 1)[0] is False
    assert machine.table.known().tolist() == [0, 2, 3]
    for now, expected in ((RETENTION_US, [2]), (RETENTION_US + S // 2, [3])):
        is_free, outcome = machine.expire(now)
        assert (is_free, gone(outcome)) == (False, expected)
    stub.subscribed.clear()
    is_free, outcome = machine.expire(RETENTION_US + S)
    assert (is_free, gone(outcome), machine.table.known().size) == (True, [0], 0)


def test_an_offset_of_0_expires_as_any_other() -> None:
    machine = offsets_of(Stub())
    machine.replay(record(1, 0, 0))
    assert gone(machine.expire(RETENTION_US)[1]) == [1]


def test_what_a_transaction_has_written_to_does_not_expire_and_keeps_the_group() -> None:
    """testCleanupExpiredOffsetsWithPendingTransactionalOffsets, ...Only (4.3.1)."""
    machine = offsets_of(Stub(), (0, 0))
    machine.replay(record(0, S // 2, 101, producer_id=10), 1)
    assert machine.expire(RETENTION_US)[0] is False
    assert machine.table.known().tolist() == [0]
    machine = offsets_of(Stub(), (0, 0))
    machine.replay(record(1, S // 2, 101, producer_id=10), 1)
    is_free, outcome = machine.expire(RETENTION_US)
    assert (is_free, gone(outcome)) == (False, [0])
    assert machine.expire(RETENTION_US)[0] is False
    machine.end_transaction(10, is_committed=False)
    assert machine.expire(RETENTION_US)[0] is True


def test_nothing_expires_while_the_group_says_so() -> None:
    """ClassicGroup.offsetExpirationCondition is empty in PreparingRebalance and CompletingRebalance (4.4)."""
    machine = offsets_of(Stub(condition=None), (0, 0))
    assert (machine.due, machine.expire(FOREVER - 1)[0]) == (FOREVER, False)


def test_an_expiry_of_its_own_counts_whatever_the_retention_is() -> None:
    """OffsetExpirationConditionImpl.isOffsetExpired: expireTimestamp (OffsetCommit v2 to v4)."""
    machine = offsets_of(Stub())
    machine.replay(record(0, 0, expire_us=S))
    machine.replay(record(1, 0, expire_us=10 * RETENTION_US))
    machine.watch(0)
    assert machine.due == CHECK_US
    assert gone(machine.on_deadline(CHECK_US)) == [0]
    assert machine.due == -(-10 * RETENTION_US // CHECK_US) * CHECK_US


def test_before_2_1_offsets_expire_though_somebody_reads_the_topic() -> None:
    """GroupMetadataManager.cleanupGroupMetadata (2.0): each by its commit; KIP-211 changed that."""
    stub = Stub(condition=ExpirationCondition(spares_subscribed=False), subscribed={"foo", "bar"}, is_empty=False)
    machine = offsets_of(stub, (0, 0), (2, 30 * S))
    due = machine.due
    assert due == -(-RETENTION_US // CHECK_US) * CHECK_US
    assert gone(machine.on_deadline(due)) == [0]
    assert (stub.exists, machine.due) == (True, -(-(RETENTION_US + 30 * S) // CHECK_US) * CHECK_US)


def test_a_check_that_can_change_nothing_does_not_exist() -> None:
    """Who reads everything has no deadline; one that looks too early has nothing to do."""
    machine = offsets_of(Stub(subscribed={"foo", "bar"}, is_empty=False), (0, 0), (2, 0))
    assert machine.due == FOREVER
    machine = offsets_of(Stub(), (0, 5 * S))
    before = machine.due
    outcome = machine.on_deadline(before - 1)
    assert (outcome.batch, outcome.facts, machine.due) == (None, [], before)


def test_a_commit_moves_the_deadline_of_offsets_that_go_by_it() -> None:
    machine = offsets_of(Stub(), (0, 0))
    first = machine.due
    machine.replay(record(0, 20 * S), 1)
    machine.committed(20 * S, np.array([0], np.int32))
    assert first < machine.due == -(-(RETENTION_US + 20 * S) // CHECK_US) * CHECK_US


def test_a_commit_for_a_topic_that_is_read_needs_no_deadline_and_one_for_another_does() -> None:
    machine = offsets_of(Stub(subscribed={"foo"}, is_empty=False))
    for position, due in ((0, False), (2, True)):
        machine.replay(record(position, 0))
        machine.committed(0, np.array([position], np.int32))
        assert (machine.due < FOREVER) is due


def test_an_empty_group_without_offsets_goes_with_the_next_check() -> None:
    """GroupCoordinatorShard.cleanupGroupMetadata, maybeDeleteGroup (4.4)."""
    stub = Stub()
    machine = offsets_of(stub)
    machine.watch(3 * CHECK_US)
    assert machine.due == 4 * CHECK_US
    facts = machine.on_deadline(4 * CHECK_US).facts
    assert (stub.exists, [type(fact) for fact in facts]) == (False, [GroupForgotten])


@pytest.mark.parametrize("wait_ms", [0, 5_000, 100_000])
def test_an_empty_classic_group_expires_as_if_its_coordinator_had_stayed(wait_ms: int) -> None:
    """OffsetExpirationConditionImpl: the state timestamp is in the log (4.4); what is overdue goes at the next."""
    h = GroupHarness(retention=20_000, check=7_000).stable("a")
    h.commit("a")
    h.sleep(9_000)
    h.leave("a")
    due, left = h.offsets.due, h.now
    assert due == -(-(left + 20_000) // 7_000) * 7_000 * MS, "not from the commit on"
    group = ClassicGroup("g", h.group.config)
    machine = GroupOffsets(group, OneTopic(), h.group.config, OffsetTable())
    machine.table.cover(3)
    for one in h.records:
        group.replay(one)
        if isinstance(one, CommittedOffsets):
            machine.replay(one)
    now = (left + wait_ms) * MS
    group.on_loaded(now)
    machine.watch(now)
    assert machine.due == max(due, now // (7_000 * MS) * 7_000 * MS + 7_000 * MS)


def test_an_expired_group_leaves_tombstones_of_its_offsets_and_then_its_own() -> None:
    h = GroupHarness(retention=20_000, check=7_000).stable("a")
    h.commit("a")
    h.leave("a")
    h.sleep(30_000)
    assert [type(one) for one in h.records[-3:]] == [GroupMetadata, OffsetTombstones, GroupTombstone]
    assert h.offsets.table.known().size == 0


def test_offsets_of_a_topic_that_a_living_classic_group_reads_no_longer_expire() -> None:
    """KIP-211: while the group is Stable, by the commit (ClassicGroup.offsetExpirationCondition, 4.4)."""
    h = GroupHarness(retention=20_000, check=7_000).stable("a")
    h.commit("a")
    assert h.offsets.due == FOREVER
    committed = h.now
    h.join("a", topics=("other",))
    assert (h.state.value, h.offsets.due) == ("CompletingRebalance", FOREVER)
    h.sync("a", {"a": [0]})
    assert h.offsets.due == -(-(committed + 20_000) // 7_000) * 7_000 * MS
    for _ in range(6):
        h.sleep(5_000)
        assert h.heartbeat("a") is Error.NONE
    assert (h.offsets.table.known().size, h.forgotten, h.state.value) == (0, 0, "Stable")


def test_a_simple_group_goes_by_its_commits() -> None:
    """No protocol type: whoever commits by hand keeps the offsets alive (4.4)."""
    h = GroupHarness(retention=20_000, check=7_000)
    for _ in range(3):
        assert h.commit(None, generation=-1) is Error.NONE
        h.sleep(19_000)
        assert h.offsets.table.known().tolist() == [0]
    h.sleep(9_000)
    assert (h.offsets.table.known().size, h.forgotten, h.group.exists) == (0, 1, False)


# --- deletion ---------------------------------------------------------------------------------------------------------


def test_a_group_with_members_is_not_deleted_and_an_empty_one_goes_with_all_its_offsets() -> None:
    """ClassicGroup.validateDeleteGroup, GroupCoordinatorShard.deleteGroups (4.4)."""
    h = GroupHarness().stable("a")
    h.commit("a")
    assert h.offsets.delete_group()[0] is Error.NON_EMPTY_GROUP
    assert h.offsets.table.known().tolist() == [0]
    h.leave("a")
    error, outcome = h.offsets.delete_group()
    assert (error, gone(outcome), h.group.exists, h.group.generation) == (Error.NONE, [0], False, 0)
    assert h.offsets.delete_group()[0] is Error.GROUP_ID_NOT_FOUND
    assert h.offsets.delete(OffsetDelete(np.array([0], np.int32)))[0].error is Error.GROUP_ID_NOT_FOUND


def test_offsets_of_topics_that_are_read_are_not_deleted() -> None:
    machine = offsets_of(Stub(subscribed={"foo"}), (0, 0), (2, 0))
    response, outcome = machine.delete(OffsetDelete(np.arange(4, dtype=np.int32)))
    assert (response.error, response.refused.tolist(), gone(outcome)) == (Error.NONE, [0, 1], [2])


# --- transactions -----------------------------------------------------------------------------------------------------


def test_the_later_record_wins_whichever_kind_it_is() -> None:
    """replayEndTransactionMarker: a pending offset counts if its record is younger than the committed one's (4.4)."""
    machine = offsets_of(Stub())
    machine.replay(record(0, 0, 10, producer_id=5), 0)
    machine.replay(record(0, 0, 7), 1)
    machine.replay(record(1, 0, 7), 2)
    machine.replay(record(1, 0, 10, producer_id=5), 3)
    machine.end_transaction(5, is_committed=True)
    assert machine.table.offset[:2].tolist() == [7, 10]
    machine.replay(record(1, 0, 20, producer_id=5), 4)
    machine.end_transaction(5, is_committed=False)
    assert (machine.table.offset[1], machine.pending.is_open) == (10, False)


@pytest.mark.parametrize(("ends", "offset"), [((5,), 10), ((5, 6), 20), ((6, 5), 20)])
def test_of_two_transactions_the_one_counts_that_wrote_later_whichever_ends_first(
    ends: tuple[int, ...], offset: int
) -> None:
    machine = offsets_of(Stub())
    machine.replay(record(0, 0, 7))
    machine.add_pending([record(0, 0, 10, producer_id=5)])
    machine.add_pending([record(0, 0, 20, producer_id=6)])
    for producer_id in ends:
        machine.end_transaction(producer_id, is_committed=True)
    assert machine.table.offset[0] == offset


def test_what_is_committed_is_told_and_what_is_pending_beside_it() -> None:
    """fetchOffsets (4.4): with requireStable UNSTABLE_OFFSET_COMMIT, without it the committed offset."""
    machine = offsets_of(Stub(), (0, 0), (1, 0))
    machine.replay(record(0, 0, 200, producer_id=5), 2)
    response = machine.fetch(OffsetFetch(np.array([0, 1, 2], np.int32)))
    assert (response.offsets.tolist(), response.unstable.tolist()) == ([100, 100, -1], [0])


@pytest.mark.parametrize(
    ("state", "member", "generation", "expected"),
    [
        ("CompletingRebalance", "a", 1, Error.NONE), ("CompletingRebalance", "a", 0, Error.ILLEGAL_GENERATION),
        ("CompletingRebalance", "x", 1, Error.UNKNOWN_MEMBER_ID), ("Stable", "", -1, Error.NONE),
    ],
)  # fmt: skip
def test_a_transaction_may_commit_in_every_state_if_it_is_of_this_generation(
    state: str, member: str, generation: int, expected: Error
) -> None:
    """ClassicGroup.validateOffsetCommit, isTransactional (4.4); it renews no session."""
    h = GroupHarness().stable("a", "b")
    if state == "CompletingRebalance":
        h.join("a", topics=("t", "u"))
        h.join("b")
    assert h.state.value == state
    renewed, ids = h.group.session_due(h.ids["a"]), {**h.ids, "x": "nobody", "": ""}
    told = generation if generation < 0 else h.group.generation - 1 + generation
    h.now += 1_000
    request = TxnOffsetCommit(ids[member], None, told, np.array([0], np.int32), np.array([9]), 5)
    outcome = h.group.on_request(h.now * MS, request, "waiter")
    (reply,) = outcome.replies if outcome.batch is None else outcome.batch.replies
    assert (reply.response.error, h.group.session_due(h.ids["a"])) == (expected, renewed)


def test_a_dead_group_takes_no_commits_and_has_no_offsets() -> None:
    """ClassicGroup.validateOffsetCommit, also of a transaction without members; validateOffsetFetch (4.4)."""
    h = GroupHarness().stable("a")
    h.commit("a")
    h.group.on_unloaded(h.now * MS)
    request = TxnOffsetCommit("", None, -1, np.array([0], np.int32), np.array([9]), 5)
    (reply,) = h.group.on_request(h.now * MS, request, "waiter").replies
    assert reply.response.error is Error.COORDINATOR_NOT_AVAILABLE
    response = h.offsets.fetch(OffsetFetch(np.array([0], np.int32)))
    assert (response.error, response.offsets.tolist()) == (Error.NONE, [-1])


def test_what_is_told_of_a_group_that_there_is_not() -> None:
    """OffsetCommit v9, TxnOffsetCommit v6 (4.4): GROUP_ID_NOT_FOUND; older requests: ILLEGAL_GENERATION."""
    for knows, expected in ((True, Error.GROUP_ID_NOT_FOUND), (False, Error.ILLEGAL_GENERATION)):
        what = "m", None, 3, np.array([0], np.int32), np.array([9])
        for request in (TxnOffsetCommit(*what, 5, knows), OffsetCommit(*what, knows_stale_epoch=knows)):
            (reply,) = ClassicGroup("g", CONFIG).on_request(0, request, "waiter").replies
            assert reply.response.error is expected


def test_a_commit_can_say_how_long_it_is_to_be_kept() -> None:
    """OffsetCommit v2 to v4: retention_time."""
    request = OffsetCommit("", None, -1, np.array([0], np.int32), np.array([9]), retention_us=3 * S)
    batch = ClassicGroup("g", CONFIG).on_request(2 * S, request, "waiter").batch
    assert batch is not None
    assert batch.records[0].expire_us == 5 * S
