"""What a classic group writes, what a new coordinator reads, and what happens if an append fails (Kafka 4.4)."""

from __future__ import annotations

import numpy as np
import pytest

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.records import GroupMetadata, GroupTombstone
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.messages import (
    Error,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    MemberIdentity,
    OffsetCommit,
    Subscription,
)
from groupsim.sim.protocol.offsets.records import CommittedOffsets
from groupsim.sim.units import FOREVER, MS
from tests.support.groups import GroupHarness, in_state

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


def _reloaded(h: GroupHarness, **config: int) -> ClassicGroup:
    """The group at a coordinator that has read the log."""
    group = ClassicGroup("g", CoordinatorConfig(**config))
    for record in h.records:
        group.replay(record)
    group.on_loaded(h.now * MS)
    return group


def test_a_new_group_is_logged_without_members_and_nobody_waits_for_it() -> None:
    """newEmptyGroupMetadataRecord (4.4): the first JoinGroup of a group that did not exist, whatever it is answered."""
    h = GroupHarness(append=50)
    answer = h.ask("a")
    assert answer is not None
    assert answer.error is Error.MEMBER_ID_REQUIRED
    (record,) = h.records
    assert isinstance(record, GroupMetadata)
    assert (record.generation, record.protocol, record.leader, record.members) == (0, None, None, ())
    assert h.deadline == 10_000
    h.ask("b")
    assert len(h.records) == 1


def test_a_group_is_logged_by_the_leaders_sync_and_when_it_is_empty_and_not_otherwise() -> None:
    """GroupCoordinatorRecordHelpers.newGroupMetadataRecord (4.4)."""
    h = in_state(STABLE)
    assert [len(record.members) for record in h.records] == [0, 2]
    h.heartbeat("a")
    h.join("c")
    h.leave("c")
    assert len(h.records) == 2
    h.leave("a")
    h.leave("b")
    assert [(record.generation, len(record.members)) for record in h.records[2:]] == [(2, 0)]


def test_only_the_selected_protocol_is_logged() -> None:
    """ClassicGroupMember.metadata(protocol) (4.4)."""
    h = GroupHarness().stable("a", "b", protocols=("range", "sticky"))
    assert [member.protocols for member in _reloaded(h).roster] == [
        (("range", member.subscription),) for member in h.records[-1].members
    ]


def test_whoever_leads_leads_at_the_next_coordinator_too() -> None:
    """GroupMetadataValue.leader (4.4), though somebody else has been there for longer."""
    h = GroupHarness()
    h.join("s", instance="s", rebalance=20_000, session=900_000)
    h.join("d", rebalance=20_000, session=900_000)
    h.sleep(6_000)
    h.sync("s", {"s": [0]}, instance="s")
    h.join("d", rebalance=20_000, session=900_000, topics=("other",))
    h.sleep(20_000)
    h.sync("d", {"d": [0]})
    group = _reloaded(h)
    assert [member.name for member in group.roster] == ["s", "d"]
    assert group.roster.leader == h.ids["d"]


def test_an_accepted_commit_is_a_record_and_its_answer_waits_for_it() -> None:
    """OffsetMetadataManager.commitOffset (4.4)."""
    h = in_state(STABLE)
    positions, offsets = np.array([1], np.int32), np.array([7], np.int64)
    outcome = h.group.on_request(0, OffsetCommit(h.ids["a"], None, 1, positions, offsets), "waiter")
    assert outcome.batch is not None
    (record,), (reply,) = outcome.batch.records, outcome.batch.replies
    assert isinstance(record, CommittedOffsets)
    assert (record.positions is positions, record.offsets is offsets) == (True, True)
    assert (outcome.replies, reply.waiter, reply.response.error) == ([], "waiter", Error.NONE)


def test_sessions_start_anew_when_the_log_is_loaded() -> None:
    """GroupMetadataManager.onLoaded (4.4): Stable, every session whole, nothing else armed."""
    h = in_state(STABLE)
    h.sleep(9_000)
    group = _reloaded(h)
    assert (group.state, group.generation, group.roster.leader) == (STABLE, 1, h.ids["a"])
    assert {group.session_due(h.ids[name]) for name in "ab"} == {(h.now + 10_000) * MS}
    assert group.deadline == (h.now + 10_000) * MS


def test_a_rebalance_under_way_is_forgotten() -> None:
    """Members since the last sync, ids handed out and the join phase are lost (A.16)."""
    h = in_state(PREPARING)
    h.ask("p")
    group = _reloaded(h)
    assert (group.state, {member.name for member in group.roster}, group.roster.pending) == (STABLE, {"a", "b"}, {})


def test_a_freshly_loaded_group_that_is_too_large_is_rebalanced() -> None:
    """GroupMetadataManager.onLoaded: "Freshly-loaded group ... is over capacity" (4.4)."""
    assert _reloaded(in_state(STABLE), max_size=1).state is PREPARING


def test_a_deleted_group_is_not_there_any_more() -> None:
    """GroupMetadataManager.replay of a tombstone (4.4)."""
    h = GroupHarness(retention=20_000, check=7_000).stable("a")
    h.leave("a")
    h.sleep(30_000)
    assert isinstance(h.records[-1], GroupTombstone)
    group = _reloaded(h)
    assert (group.state, group.generation) == (EMPTY, 0)
    h.ask("b")
    assert isinstance(h.records[-1], GroupMetadata)


def test_ids_that_a_deleted_group_has_handed_out_are_not_known_to_the_next_one() -> None:
    """GroupMetadataManager.removeGroup, getOrMaybeCreateClassicGroup: another ClassicGroup (4.4)."""
    h = GroupHarness()
    h.ask("a")
    h.take(h.offsets.delete_group()[1])
    assert (h.forgotten, h.group.exists, h.group.deadline) == (1, False, FOREVER)
    h.ask("b", version=3)
    answer = h.ask("a", h.ids["a"])
    assert answer is not None
    assert answer.error is Error.UNKNOWN_MEMBER_ID
    h.sleep(3_000)
    assert (h.state, h.group.size) == (COMPLETING, 1)


@pytest.mark.parametrize("state", [EMPTY, PREPARING, COMPLETING, STABLE])
def test_whoever_is_parked_when_the_coordinator_moves_is_told_so(state: GroupState) -> None:
    """testClassicGroupOnUnloadedEmptyAndPreparingRebalance, ...CompletingRebalance (4.4)."""
    h = in_state(state)
    if state is COMPLETING:
        h.sync("b")
    h.answers.clear()
    h.take(h.group.on_unloaded(h.now * MS))
    parked = {PREPARING: ["c"], COMPLETING: ["b"]}.get(state, [])
    assert [(name, answer.error) for name, answer in h.answers] == [(name, Error.NOT_COORDINATOR) for name in parked]
    assert (h.state, h.deadline) == (DEAD, None)


@pytest.mark.parametrize(
    ("append", "told"),
    [
        (Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR),
        (Error.MESSAGE_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_sync_group_as_leader_append_failure_transforms_error(append: Error, told: Error) -> None:
    """testSyncGroupAsLeaderAppendFailureTransformsError (4.4): everybody is told, and the round starts over."""
    h = GroupHarness(append=50)
    h.join("a")
    h.join("b")
    h.sleep(6_000)
    h.sync("b")
    h.sync("a", {"a": [0]})
    h.answers.clear()
    h.take(h.group.on_appended(h.now * MS, h.last_batch, append))
    assert [(name, answer.error) for name, answer in h.answers] == [("a", told), ("b", told)]
    assert h.state is PREPARING
    assert h.sleep(50) == []


def test_static_member_persistence_failure_puts_the_old_member_back() -> None:
    """testStaticMemberRejoin...SelectProtocolUnchangedPersistenceFailure (4.4): the old id goes on."""
    h = GroupHarness(append=50)
    h.join("s", instance="s")
    h.sleep(3_000)
    h.sync("s", {"s": [0]}, instance="s")
    h.sleep(50)
    old = h.ids["s"]
    h.ask("s", instance="s", session=30_000, topics=("other",))
    h.answers.clear()
    h.take(h.group.on_appended(h.now * MS, h.last_batch, Error.MESSAGE_TOO_LARGE))
    answer = h.answer("s")
    assert isinstance(answer, JoinResponse)
    assert (answer.error, answer.generation, answer.member_id) == (Error.UNKNOWN_SERVER_ERROR, 1, "")
    (member,) = h.group.roster
    assert (member.member_id, member.session_timeout_us, member.assignment.tolist()) == (old, 10_000 * MS, [0])
    assert member.protocols[0][1].topics == ("t",)
    assert h.group.roster.leader == old
    assert h.state is STABLE


def test_a_group_that_could_not_be_created_refuses_its_first_member() -> None:
    """testGenerateRecordsOnNewClassicGroupFailureTransformsError (4.4)."""
    group = ClassicGroup("g", CoordinatorConfig())
    request = JoinGroup("", "i", 10_000 * MS, 10_000 * MS, (("range", Subscription(("t",))),), fresh_id="m")
    batch = group.on_request(0, request, "waiter").batch
    assert batch is not None
    assert not batch.is_awaited
    (reply,) = group.on_appended(0, batch.number, Error.NOT_LEADER_OR_FOLLOWER).replies
    assert (reply.waiter, reply.response.error, reply.response.member_id) == ("waiter", Error.NOT_COORDINATOR, "")


def test_describing_a_group_tells_subscriptions_only_while_it_is_stable_and_changes_nothing() -> None:
    """GroupMetadataManager.describeGroups, ClassicGroupMember.describeNoMetadata (4.4)."""
    assert ClassicGroup("g", CoordinatorConfig()).describe().error is Error.GROUP_ID_NOT_FOUND
    h = in_state(STABLE)
    described = h.group.describe()
    assert (described.state, described.protocol, described.protocol_type) == ("Stable", "range", "consumer")
    assert [(one.member_id, one.subscription is None, one.assignment.tolist()) for one in described.members] == [
        (h.ids["a"], False, [0]), (h.ids["b"], False, [1]),
    ]  # fmt: skip
    h.group.on_request(0, LeaveGroup((MemberIdentity(h.ids["a"], None),)), object())
    described = h.group.describe()
    assert (described.state, described.protocol) == ("PreparingRebalance", None)
    assert [(one.member_id, one.subscription, one.assignment.tolist()) for one in described.members] == [
        (h.ids["b"], None, [1]),
    ]  # fmt: skip
