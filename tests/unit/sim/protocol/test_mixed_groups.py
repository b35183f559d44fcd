"""Groups change their protocol online, in both directions, and come back if the log refuses it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from groupsim.sim.protocol.classic.records import GroupMetadata, GroupTombstone
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.consumer.messages import STATIC_LEAVE_EPOCH
from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.facts import GroupConverted, MemberRemoved, StateChanged
from groupsim.sim.protocol.interface import Outcome
from groupsim.sim.protocol.messages import Error, OffsetCommit
from groupsim.sim.units import S
from tests.unit.sim.protocol.consumer_groups import at
from tests.unit.sim.protocol.mixed_groups import Mixed


def conversions(run: Mixed) -> list[str]:
    return [one.protocol for one in run.facts if isinstance(one, GroupConverted)]


# --- upgrade ----------------------------------------------------------------------------------------------------------


def test_a_heartbeat_with_epoch_0_makes_a_consumer_group_of_a_classic_one() -> None:
    run = Mixed()
    generation = run.classic_group(a=(0, 1), b=(2, 3))
    answer = run.consumer_join("c")
    assert (answer.error, answer.assignment.tolist()) == (Error.NONE, [])
    assert run.epochs_of() == (generation + 1, generation + 1)
    for member_id, owned in (("a", [0, 1]), ("b", [2, 3])):
        current = run.member(member_id)
        assert (current.member_epoch, current.previous_epoch, current.state) == (
            generation, generation, MemberState.STABLE
        )  # fmt: skip
        assert (current.assigned.tolist(), current.assigned_epochs.tolist()) == (owned, [generation] * 2)
        assert run.consumer.roster.members[member_id].metadata.rebalance_timeout_us == 60 * S
        assert run.consumer.session_due(member_id) == run.now + 10 * S
    assert conversions(run) == ["consumer"]


def test_what_classic_members_have_of_topics_that_are_gone_is_dropped_wherever_protocols_meet() -> None:
    """``Utils.toTopicPartitionMap``, ``toTopicPartitions``, ``toConsumerProtocolAssignment``: by the image's topics."""
    run = Mixed(image={"t": 2, "u": 2, "v": 1}, consumer_assignment_interval_us=0)
    run.classic_group(a=(0, 1, 100, 101, 200))
    run.see(v=0)
    run.consumer_join("c")
    assert (run.owned("a"), run.target_of("a")) == ([0, 1, 100, 101], [0])
    run.see(u=0)
    assert run.classic_join("a", 0, 100, 101).generation == 2, "nothing is left to be given up"
    run.see(t=0)
    assert run.sync("a", 2).assignment.tolist() == []
    assert run.target_of("a") == [0]
    run.consumer_leave("c")
    assert [one.assignment.tolist() for one in run.classic.roster] == [[]]


def test_the_first_record_of_an_upgrade_is_the_tombstone_of_the_classic_group() -> None:
    run = Mixed()
    run.classic_group(a=(0, 1))
    run.consumer_join("c")
    assert isinstance(run.outcome.batch.records[0], GroupTombstone)  # type: ignore[union-attr]
    assert run.written()[1:6] == [
        "MemberMetadata", "Metadata", "TargetAssignmentMember", "TargetAssignmentMetadata", "CurrentMemberAssignment"
    ]  # fmt: skip


def test_the_first_target_after_an_upgrade_does_not_wait_for_the_interval() -> None:
    run = Mixed(consumer_assignment_interval_us=15 * S)
    generation = run.classic_group(a=(0, 1, 2, 3))
    run.consumer_join("c")
    run.consumer_join("d")
    assert run.epochs_of() == (generation + 2, generation + 1)


@pytest.mark.parametrize("policy", ["downgrade", "disabled"])
def test_without_leave_to_upgrade_the_joiner_is_told_that_there_is_no_such_group(policy: str) -> None:
    run = Mixed(consumer_migration_policy=policy)
    generation = run.classic_group(a=(0, 1, 2, 3))
    assert run.consumer_join("c").error is Error.GROUP_ID_NOT_FOUND
    assert run.classic_beat("a", generation) is Error.NONE
    assert conversions(run) == []


def test_a_group_that_is_too_large_for_the_consumer_protocol_stays_classic() -> None:
    run = Mixed(consumer_max_size=1)
    run.classic_group(a=(0, 1), b=(2, 3))
    assert run.consumer_join("c").error is Error.GROUP_ID_NOT_FOUND


def test_a_consumer_group_that_is_full_takes_no_classic_member_either() -> None:
    run = Mixed(consumer_max_size=2)
    for member_id in ("a", "b"):
        run.consumer_join(member_id)
    assert run.classic_join("c", is_new=True).error is Error.GROUP_MAX_SIZE_REACHED
    assert "c" not in run.consumer.roster.members


def test_a_group_whose_assignments_carry_user_data_stays_classic_with_kafkas_reason() -> None:
    """An assignor on the broker would lose it (KAFKA-18134); the coordinator knows it from its log too."""
    run = Mixed()
    generation = run.classic_group(a=(0, 1), b=(2, 3))
    run.classic_join("a", topics=("t", "u"))
    run.classic_join("b")
    assert run.sync("a", generation + 1, {"a": at(0, 1), "b": at(2, 3)}, "b").error is Error.NONE
    run.sync("b", generation + 1)
    for _ in range(2):
        refused = run.consumer_join("c")
        assert refused.error is Error.GROUP_ID_NOT_FOUND
        assert refused.message == (
            "Cannot upgrade classic group g to consumer group because an unsupported custom assignor is in use."
        )
        assert run.classic_beat("a", generation + 1) is Error.NONE
        run.group = run.rebuilt()
        run.take(run.group.on_loaded(run.now))
    run.classic_leave("b")
    run.classic_join("a")
    run.sync("a", generation + 2, {"a": at(0, 1, 2, 3)})
    assert run.consumer_join("c").error is Error.NONE, "it is gone with who had it"


def test_user_data_stays_with_a_static_member_that_is_replaced() -> None:
    run = Mixed()
    run.classic_join("a", is_new=True, instance_id="i")
    run.sleep(0)
    run.ask("a", replace(run.syncing("a", 1, "i", a=(0, 1, 2, 3)), with_user_data=frozenset("a")))
    assert run.classic_join("a-2", is_new=True, instance_id="i").error is Error.NONE
    assert run.consumer_join("c").error is Error.GROUP_ID_NOT_FOUND


def test_a_group_of_another_protocol_type_stays_classic() -> None:
    run = Mixed()
    run.classic_join("a", is_new=True, protocol_type="connect")
    assert run.consumer_join("c").error is Error.GROUP_ID_NOT_FOUND


def test_only_a_join_upgrades() -> None:
    run = Mixed()
    run.classic_group(a=(0, 1, 2, 3))
    for epoch in (1, -1, STATIC_LEAVE_EPOCH):
        assert run.beat("c", epoch, instance_id="i").error is Error.GROUP_ID_NOT_FOUND
    assert not run.group.is_consumer


def test_a_join_that_no_group_would_take_upgrades_nothing_and_disturbs_nobody() -> None:
    run = Mixed()
    run.classic_group(a=(0, 1), b=(2, 3))
    assert run.classic_join("b", topics=("t", "u")) is None
    run.told.clear()
    assert run.consumer_join("c", server_assignor="mine").error is Error.UNSUPPORTED_ASSIGNOR
    assert set(run.told) == {"c"}
    assert not run.group.is_consumer


@pytest.mark.parametrize("policy", ["bidirectional", "disabled"])
def test_an_empty_group_becomes_one_of_the_other_protocol_whatever_the_policy_is(policy: str) -> None:
    run = Mixed(consumer_migration_policy=policy)
    generation = run.classic_group(a=(0, 1, 2, 3))
    run.classic_leave("a")
    assert run.classic.state is GroupState.EMPTY
    assert run.consumer_join("c").member_epoch == 2  # as in a new group, whatever the generation was
    assert generation == 1
    run.consumer_leave("c")
    run.classic_join("a", is_new=True)
    run.sleep(0)
    assert run.told["a"].generation == 1
    assert conversions(run) == ["consumer", "classic"]


def test_who_joins_an_empty_consumer_group_by_an_id_is_unknown_and_the_group_is_forgotten() -> None:
    run = Mixed()
    run.consumer_join("c")
    run.consumer_leave("c")
    assert run.classic_join("a").error is Error.UNKNOWN_MEMBER_ID
    assert not run.group.exists


def test_whoever_is_parked_is_told_to_rejoin_when_the_group_is_upgraded() -> None:
    run = Mixed()
    generation = run.classic_group(a=(0, 1), b=(2, 3))
    assert run.classic_join("a") is None
    run.consumer_join("c")
    assert run.told["a"].error is Error.REBALANCE_IN_PROGRESS
    assert run.classic_join("a", 0, 1).generation == generation + 1


def test_who_is_parked_in_sync_is_told_to_rejoin_too() -> None:
    run = Mixed()
    run.classic_group(a=(0, 1), b=(2, 3))
    run.classic_join("a", topics=("t", "u"))
    run.classic_join("b")
    assert run.sync("b", run.group.generation) is None
    run.consumer_join("c")
    assert run.told["b"].error is Error.REBALANCE_IN_PROGRESS


def test_a_group_without_a_generation_cannot_be_upgraded_and_kafka_breaks_down() -> None:
    run = Mixed()
    run.reconfigure(initial_rebalance_delay_us=3 * S)
    assert run.classic_join("a", is_new=True) is None
    assert run.consumer_join("c").error is Error.UNKNOWN_SERVER_ERROR
    assert run.told["a"].error is Error.REBALANCE_IN_PROGRESS
    assert not run.group.is_consumer


def test_a_refused_upgrade_brings_the_classic_group_back() -> None:
    run = Mixed()
    generation = run.classic_group(a=(0, 1), b=(2, 3))
    run.is_refused = True
    assert run.consumer_join_refused("c")
    run.is_refused = False
    assert run.classic.state is GroupState.STABLE
    assert run.classic_beat("a", generation) is Error.NONE
    assert conversions(run) == ["consumer", "classic"]


def test_timers_of_the_group_that_comes_back_have_run_to_no_effect() -> None:
    run = Mixed()
    run.classic_group(a=(0, 1), b=(2, 3))
    upgraded = run.group.on_request(run.now, run.heartbeat("c"), "c")
    run.now += 20 * S  # the sessions of a and b are over
    run.take(run.group.on_appended(run.now, _number(upgraded), Error.NOT_ENOUGH_REPLICAS))
    assert run.group.deadline > run.now
    assert sorted(one.member_id for one in run.classic.roster) == ["a", "b"]


def test_a_classic_member_that_does_not_sync_within_its_rebalance_timeout_is_removed() -> None:
    """``GroupMetadataManager.scheduleConsumerGroupSyncTimeout``: whatever its heartbeats say."""
    run = Mixed()
    run.consumer_join("a")
    generation = run.classic_join("c", is_new=True).generation
    for _ in range(7):
        run.sleep(8 * S + 500_000)
        run.beat("a")
        assert run.classic_beat("c", generation) in (Error.NONE, Error.REBALANCE_IN_PROGRESS)
    run.sleep(500_000 - 1)
    assert "c" in run.consumer.roster.members
    run.sleep(1)
    assert "c" not in run.consumer.roster.members


def test_what_the_former_group_waited_for_changes_nothing_any_more() -> None:
    run = Mixed()
    run.classic_group(a=(0, 1), b=(2, 3))
    run.classic_join("a", topics=("t", "u"))
    run.classic_join("b")
    synced = run.group.on_request(run.now, run.syncing("a", run.group.generation), "a")
    upgraded = run.group.on_request(run.now, run.heartbeat("c"), "c")
    before = run.epochs_of()
    assert run.group.on_appended(run.now, _number(synced), Error.NONE).facts == []
    assert run.group.on_appended(run.now, _number(upgraded), Error.NONE).facts == []
    assert run.epochs_of() == before


def _number(outcome: Outcome) -> int:
    assert outcome.batch is not None
    return outcome.batch.number


# --- downgrade --------------------------------------------------------------------------------------------------------


def mixed_group(version: str = "4.4", **config: object) -> Mixed:
    """Classic a and b, and c of the consumer protocol; everybody has its share."""
    run = Mixed(version, consumer_assignment_interval_us=0, **config)
    run.classic_group(a=(0, 1), b=(2, 3))
    run.consumer_join("c")
    for _ in range(3):
        run.rejoin("a")
        run.rejoin("b")
        run.beat("c")
        run.ack("c")
    assert run.consumer.is_stable
    assert sorted(run.owned("a") + run.owned("b") + run.owned("c")) == [0, 1, 2, 3]
    return run


def test_a_classic_group_remains_when_the_last_consumer_member_leaves() -> None:
    run = mixed_group()
    epoch, targets = run.epochs_of()[0], {one: run.target_of(one) for one in "ab"}
    assert run.consumer_leave("c").error is Error.NONE
    group = run.classic
    assert (group.state, group.generation, group.protocol) == (GroupState.PREPARING_REBALANCE, epoch, "range")
    assert {one.member_id: one.assignment.tolist() for one in group.roster} == targets
    assert group.join_due == run.now + 60 * S
    assert group.session_due("a") == run.now + 10 * S
    assert conversions(run) == ["consumer", "classic"]


def test_the_last_record_of_a_downgrade_is_the_classic_group() -> None:
    run = mixed_group()
    epoch = run.epochs_of()[0]
    run.consumer_leave("c")
    written = run.outcome.batch.records  # type: ignore[union-attr]
    assert isinstance(written[-1], GroupMetadata)
    assert (written[-1].generation, len(written[-1].members)) == (epoch, 2)
    assert run.written()[-2] == "Metadata"
    assert written[-2].value is None


def test_a_downgrade_is_told_as_a_removal_a_conversion_and_the_states_of_the_classic_group() -> None:
    run = mixed_group()
    run.facts.clear()
    run.consumer_leave("c")
    assert [type(one) for one in run.facts] == [MemberRemoved, GroupConverted, StateChanged, StateChanged]
    states = [one.state for one in run.facts if isinstance(one, StateChanged)]
    assert states == [GroupState.STABLE, GroupState.PREPARING_REBALANCE]


def test_a_downgraded_group_goes_on_as_a_classic_one() -> None:
    run = mixed_group()
    epoch = run.epochs_of()[0]
    run.consumer_leave("c")
    assert run.classic_beat("a", epoch) is Error.REBALANCE_IN_PROGRESS
    assert run.classic_join("a") is None
    assert run.classic_join("b").generation == epoch + 1


@pytest.mark.parametrize("policy", ["upgrade", "disabled"])
def test_without_leave_to_downgrade_the_group_keeps_the_consumer_protocol(policy: str) -> None:
    run = mixed_group()
    run.reconfigure(consumer_migration_policy=policy)
    epoch = run.epochs_of()[0]
    run.consumer_leave("c")
    assert run.epochs_of()[0] == epoch + 1
    assert sorted(run.consumer.roster.members) == ["a", "b"]


def test_classic_members_are_called_for_a_new_target_and_before_4_3_for_a_new_epoch() -> None:
    """KAFKA-20272: the epoch that a removal bumps has no target until somebody's heartbeat computes one."""

    def after_a_removal(version: str) -> tuple[Error, Error]:
        run = mixed_group(version)
        run.reconfigure(consumer_migration_policy="upgrade")
        run.consumer_join("d")
        for _ in range(3):
            run.rejoin("a")
            run.rejoin("b")
            for member_id in ("c", "d"):
                run.beat(member_id)
                run.ack(member_id)
        assert run.consumer.is_stable
        epoch = run.epochs_of()[0]
        run.consumer_leave("c")
        at_once = run.classic_beat("b", epoch)
        run.beat("d")
        return at_once, run.classic_beat("b", epoch)

    assert after_a_removal("4.2") == (Error.REBALANCE_IN_PROGRESS, Error.REBALANCE_IN_PROGRESS)
    assert after_a_removal("4.3") == (Error.NONE, Error.REBALANCE_IN_PROGRESS)


@pytest.mark.parametrize(("max_size", "is_too_large"), [(1, True), (2, False)])
def test_a_group_that_is_too_large_for_the_classic_protocol_keeps_the_consumer_protocol(
    max_size: int, is_too_large: bool
) -> None:
    run = mixed_group()
    run.reconfigure(max_size=max_size)
    run.consumer_leave("c")
    assert run.group.is_consumer is is_too_large


def test_the_last_consumer_member_that_expires_downgrades_too() -> None:
    run = mixed_group()
    epoch = run.epochs_of()[0]
    for _ in range(10):
        run.sleep(5 * S)
        if run.group.is_consumer:
            assert {run.classic_beat("a", epoch), run.classic_beat("b", epoch)} == {Error.NONE}
    assert not run.group.is_consumer


def test_a_group_of_nobody_is_not_downgraded() -> None:
    run = Mixed()
    run.consumer_join("c")
    run.consumer_leave("c")
    assert run.group.is_consumer


def test_who_leaves_may_itself_be_classic_where_only_classic_members_are_left() -> None:
    run = mixed_group()
    run.reconfigure(consumer_migration_policy="disabled")
    run.consumer_leave("c")
    run.reconfigure(consumer_migration_policy="bidirectional")
    run.classic_leave("b")
    assert [one.member_id for one in run.classic.roster] == ["a"]


def test_a_batch_of_leavers_downgrades_once() -> None:
    run = mixed_group()
    run.consumer_join("d")
    answer = run.classic_leave("c", "d", "nobody", "b")
    assert answer.members == (Error.NONE, Error.NONE, Error.UNKNOWN_MEMBER_ID, Error.NONE)
    assert [one.member_id for one in run.classic.roster] == ["a"]
    assert conversions(run) == ["consumer", "classic"]


def test_a_refused_downgrade_brings_the_consumer_group_back_with_its_sessions() -> None:
    run = mixed_group()
    before, due = run.epochs_of(), run.consumer.session_due("c")
    run.is_refused = True
    run.consumer_leave_refused("c")
    run.is_refused = False
    assert run.epochs_of() == before
    assert sorted(run.consumer.roster.members) == ["a", "b", "c"]
    assert run.consumer.session_due("c") == due
    assert run.beat("c").error is Error.NONE
    assert conversions(run) == ["consumer", "classic", "consumer"]


def test_a_refused_join_of_an_empty_consumer_group_brings_that_back() -> None:
    run = Mixed()
    run.consumer_join("c")
    run.consumer_leave("c")
    run.is_refused = True
    run.classic_join("a", is_new=True)
    run.is_refused = False
    assert run.told["a"].error is Error.COORDINATOR_NOT_AVAILABLE
    assert run.group.is_consumer


# --- the log, and commits ---------------------------------------------------------------------------------------------


def test_a_new_coordinator_reads_the_protocol_from_the_log() -> None:
    run = Mixed()
    run.classic_group(a=(0, 1), b=(2, 3))
    assert not run.rebuilt().is_consumer
    run.consumer_join("c")
    assert run.rebuilt().is_consumer
    assert run.rebuilt().generation == run.group.generation
    run.consumer_leave("c")
    assert not run.rebuilt().is_consumer
    run.classic_leave("a", "b")
    assert run.rebuilt().size == 0


def test_members_of_both_protocols_commit_by_their_epoch_and_classic_ones_hear_of_generations() -> None:
    run = mixed_group()
    epoch = run.epochs_of()[0]

    def commit(member_id: str, at_epoch: int, position: int) -> Error:
        positions = np.array([position], np.int32)
        body = OffsetCommit(member_id, None, at_epoch, positions, np.zeros(1, np.int64))
        error: Error = run.ask(member_id, body).error
        return error

    assert commit("a", epoch, run.owned("a")[0]) is Error.NONE
    assert commit("a", epoch + 1, 0) is Error.ILLEGAL_GENERATION
    assert commit("c", epoch + 1, 0) is Error.STALE_MEMBER_EPOCH
    assert commit("nobody", epoch, 0) is Error.UNKNOWN_MEMBER_ID
