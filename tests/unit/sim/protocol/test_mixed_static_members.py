"""Static members that change their protocol, and what becomes of their group."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.messages import Error
from tests.unit.sim.protocol.mixed_groups import Mixed


def static_group(version: str = "4.4") -> Mixed:
    """Static a and b, both classic, with two partitions each."""
    run = Mixed(version, consumer_assignment_interval_us=0)
    for member_id, instance in (("a", "i"), ("b", "j")):
        run.classic_join(member_id, is_new=True, instance_id=instance)
    run.sleep(0)
    generation = run.group.generation
    run.ask("b", run.syncing("b", generation, "j"))
    run.ask("a", run.syncing("a", generation, "i", a=(0, 1), b=(2, 3)))
    assert run.classic.is_stable
    return run


def test_a_static_member_that_changes_its_protocol_moves_nothing_and_bumps_nothing() -> None:
    run = static_group()
    generation = run.group.generation
    answer = run.consumer_join("a2", instance_id="i")
    assert (answer.member_epoch, answer.assignment.tolist()) == (generation, [0, 1])
    assert run.epochs_of() == (generation, generation)
    assert run.consumer.is_stable
    answer = run.classic_join("a3", is_new=True, instance_id="i")
    assert answer.generation == generation
    assert run.classic.is_stable
    assert run.ask("a3", run.syncing("a3", generation, "i")).assignment.tolist() == [0, 1]
    assert run.balancing.runs == []


def test_a_classic_static_member_needs_no_leave_before_it_is_replaced() -> None:
    run = static_group()
    run.consumer_join("a2", instance_id="i")
    assert run.consumer_join("a3", instance_id="i").error is Error.UNRELEASED_INSTANCE_ID
    assert run.consumer_join("b2", instance_id="j").error is Error.NONE


@pytest.mark.parametrize("version", ["4.0", "4.2", "4.3", "4.4"])
def test_a_successor_with_another_subscription_rebalances_the_downgraded_group(version: str) -> None:
    run = static_group(version)
    generation = run.group.generation
    run.consumer_join("a2", instance_id="i")
    run.classic_join("a3", is_new=True, instance_id="i", topics=("t", "u"))
    assert (run.classic.state, run.classic.generation) == (GroupState.PREPARING_REBALANCE, generation)


@pytest.mark.parametrize(("version", "state"), [("4.2", GroupState.STABLE), ("4.3", GroupState.PREPARING_REBALANCE)])
def test_since_4_3_stale_targets_rebalance_the_downgraded_group(version: str, state: GroupState) -> None:
    """KAFKA-20273: here nobody has computed since c has left."""
    run = static_group(version)
    run.consumer_join("a2", instance_id="i")
    run.consumer_join("c")
    run.consumer_leave("c")
    assert run.epochs_of()[0] > run.epochs_of()[1]
    run.classic_join("a3", is_new=True, instance_id="i")
    assert run.classic.state is state
