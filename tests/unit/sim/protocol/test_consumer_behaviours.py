"""What naive simulators get wrong about the coordinator of a consumer group, one test each (KIP-848, Kafka 4.4).

What is missing in the row of numbers is about clients (`test_consumer_member_traps`), but for 19, which is about the
shard that the group is in (`test_consumer_open_batch`).
"""

from __future__ import annotations

from typing import Any, NoReturn

from groupsim.assignors import KafkaAssignorFailure
from groupsim.sim.protocol.consumer.assigning import AssignorInput, Computed, TargetAssignor
from groupsim.sim.protocol.consumer.messages import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from groupsim.sim.protocol.consumer.states import GroupState, MemberState
from groupsim.sim.protocol.facts import Cause, MemberReconciled, MemberRemoved
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import MS, S
from tests.unit.sim.protocol.consumer_groups import Coordination, at


def two_settled(**config: Any) -> Coordination:
    """Members a and b with two partitions each."""
    run = Coordination(**config)
    run.join("a")
    run.join("b")
    run.settle("a", "b")
    assert run.group.state is GroupState.STABLE
    assert (sorted(run.owned("a")), sorted(run.owned("b"))) == ([0, 1], [2, 3])
    return run


def join_until_computed(run: Coordination, member_id: str) -> None:
    """A join more than the assignment interval after the last computation."""
    run.now += 2 * S
    run.join(member_id)


class Prepared:
    """An assignor that gives what it is told to give."""

    def __init__(self, **targets: tuple[int, ...]) -> None:
        self.targets = targets

    def __call__(self, group: AssignorInput) -> Computed:
        return Computed([at(*self.targets.get(one, ())) for one in group.member_ids])


def test_01_a_removal_computes_no_target() -> None:
    run = two_settled()
    epoch, target = run.epochs
    run.now += 5 * S
    run.beat("b", LEAVE_EPOCH)
    assert run.epochs == (epoch + 1, target)
    assert (run.group.state, run.owned("a")) == (GroupState.ASSIGNING, [0, 1])
    assert "TargetAssignmentMember" in run.written()  # the tombstone only
    run.sleep(10 * S)
    assert run.owned("a") == [0, 1]
    run.beat("a")
    assert (run.owned("a"), run.epochs) == ([0, 1, 2, 3], (epoch + 1, epoch + 1))


def test_02_a_freed_partition_waits_for_its_new_owners_heartbeat() -> None:
    run = two_settled()
    join_until_computed(run, "c")
    freed = run.target("c")
    assert len(freed) == 1
    assert run.beat("c").assignment is None, "it still has an owner"
    for donor in ("a", "b"):
        run.beat(donor)
        run.ack(donor)
    assert run.owned("c") == []
    run.sleep(5 * S)
    assert run.owned("c") == []
    assert run.beat("c").assignment.tolist() == freed


def test_03_who_has_to_revoke_gets_nothing_new_meanwhile() -> None:
    assignor = Prepared(a=(0, 1))
    run = Coordination(assignor=assignor)
    run.join("a")
    run.ack("a")
    run.now += 2 * S
    assignor.targets = {"a": (1, 2, 3), "b": (0,)}
    run.join("b")
    assert run.beat("a").assignment.tolist() == [1], "2 and 3 are free"
    assert run.beat("a").assignment is None
    assert run.ack("a").assignment.tolist() == [1, 2, 3]


def test_04_a_newer_target_is_looked_at_only_after_the_acknowledgement() -> None:
    assignor = Prepared(a=(0, 1, 2))
    run = Coordination(assignor=assignor, consumer_assignment_interval_us=0)
    run.join("a")
    run.ack("a")
    assignor.targets = {"a": (0, 1), "b": (2,)}
    run.join("b")
    run.beat("a")
    assert run.current("a").pending.tolist() == [2]
    assignor.targets = {"a": (0, 1, 2)}
    run.beat("b", LEAVE_EPOCH)
    assert run.beat("a").assignment is None
    assert (run.target("a"), run.current("a").pending.tolist()) == ([0, 1, 2], [2])
    assert run.ack("a").assignment.tolist() == [0, 1, 2]


def test_05_member_epochs_skip_and_an_acknowledgement_adds_none() -> None:
    def to_revoke_twice(version: str) -> tuple[int, int]:
        assignor = Prepared(a=(0, 1, 2))
        run = Coordination(version, assignor=assignor, consumer_assignment_interval_us=0)
        run.join("a")
        run.ack("a")
        before = run.current("a").member_epoch
        for targets in ({"a": (0, 1), "b": (2,)}, {"a": (0,), "b": (2,), "c": (1,)}):
            assignor.targets = targets
            run.join(max(targets))
            run.beat("a")
        run.ack("a")
        assert (run.current("a").state, run.owned("a")) == (MemberState.UNREVOKED_PARTITIONS, [0])
        between = run.current("a").member_epoch
        run.ack("a")
        return between - before, run.current("a").member_epoch - before

    assert to_revoke_twice("4.4") == to_revoke_twice("4.2") == (0, 2)
    assert to_revoke_twice("4.1") == (1, 2)


def test_06_a_heartbeat_without_owned_partitions_acknowledges_nothing() -> None:
    assignor = Prepared(a=(0, 1, 2))
    run = Coordination(assignor=assignor, consumer_assignment_interval_us=0)
    run.join("a")
    run.ack("a")
    assignor.targets = {"a": (0,), "b": (1, 2)}
    run.join("b")
    run.beat("a")
    assert run.beat("a").assignment is None
    for owned in ((0, 1, 2), (0, 1)):
        run.beat("a", owned=owned)
        assert run.current("a").state is MemberState.UNREVOKED_PARTITIONS, "some of it is not given up yet"
    run.beat("a", owned=(0,))
    assert run.current("a").state is MemberState.STABLE


def test_07_a_member_with_nothing_to_move_changes_its_epoch_and_older_commits_are_stale() -> None:
    def commit_across_a_bump(version: str) -> Error:
        run = Coordination(version, assignor=Prepared(a=(0, 1)), consumer_assignment_interval_us=0)
        run.join("a")
        before = run.ack("a").member_epoch
        run.join("b")
        assert run.beat("a").assignment is None
        assert run.current("a").member_epoch == before + 1
        return run.commit("a", before, 0, 1)

    assert commit_across_a_bump("4.2") is Error.STALE_MEMBER_EPOCH
    assert commit_across_a_bump("4.3") is Error.NONE


def test_08_only_heartbeats_that_succeed_renew_the_session() -> None:
    run = two_settled()
    due = run.group.session_due("a")
    run.now += S
    assert run.beat("a", 99).error is Error.FENCED_MEMBER_EPOCH
    assert run.commit("a", run.current("a").member_epoch, 0) is Error.NONE
    assert run.group.session_due("a") == due
    run.beat("a")
    assert run.group.session_due("a") == run.now + 45 * S


def test_08b_a_static_leave_renews_no_session() -> None:
    run = Coordination()
    run.join("a", instance_id="i")
    due = run.group.session_due("a")
    run.now += S
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    assert run.group.session_due("a") == due


def test_10_a_static_leave_keeps_partitions_and_drops_pending_revocations() -> None:
    assignor = Prepared(a=(0, 1, 2, 3))
    run = Coordination(assignor=assignor, consumer_assignment_interval_us=0)
    run.join("a", instance_id="i")
    run.beat("a", owned=(0, 1, 2, 3), instance_id="i")
    assignor.targets = {"a": (0, 1), "b": (2, 3)}
    run.join("b")
    run.beat("a", instance_id="i")
    assert run.current("a").pending.tolist() == [2, 3]
    epochs = run.epochs
    run.beat("a", STATIC_LEAVE_EPOCH, instance_id="i")
    assert (run.owned("a"), run.current("a").pending.tolist()) == ([0, 1], [])
    assert (run.group.state, run.epochs) == (GroupState.RECONCILING, epochs)
    assert run.beat("b").assignment.tolist() == [2, 3]


def test_11_a_crashed_static_member_cannot_return_before_its_session_ends() -> None:
    run = Coordination()
    run.join("a", instance_id="i")
    run.sleep(45 * S - 1)
    assert run.join("a-2", instance_id="i").error is Error.UNRELEASED_INSTANCE_ID
    assert run.join("a", instance_id="i").error is Error.UNRELEASED_INSTANCE_ID, "under its own id neither"
    run.sleep(1)
    assert run.join("a-2", instance_id="i").error is Error.NONE


def test_13_the_rebalance_timeout_counts_from_the_moment_the_coordinator_asks() -> None:
    assignor = Prepared(a=(0, 1))
    run = Coordination(assignor=assignor, consumer_assignment_interval_us=0)
    run.join("a")
    run.ack("a")
    assignor.targets = {"a": (0,), "b": (1,)}
    run.join("b")
    run.now += 3 * S
    run.beat("a")
    asked = run.now
    assert run.group.rebalance_due("a") == asked + 60 * S
    while run.now < asked + 56 * S:
        run.sleep(4 * S)
        run.beat("a")
        run.beat("b")
    run.sleep(asked + 60 * S - 1 - run.now)
    assert "a" in run.group.roster.members
    run.sleep(1)
    assert "a" not in run.group.roster.members
    assert any(isinstance(one, MemberRemoved) and one.cause is Cause.NOT_REVOKED for one in run.facts)


def test_14_an_assignor_starts_from_targets_not_from_what_is_owned() -> None:
    run = two_settled(consumer_assignment_interval_us=0)
    run.join("c")
    (donor,) = [one for one in ("a", "b") if len(run.target(one)) == 1]
    assert len(run.owned(donor)) == 2, "it has not heard of it yet"
    run.beat("c", LEAVE_EPOCH)
    run.beat("b" if donor == "a" else "a")
    last = run.balancing.runs[-1]
    seen = dict(zip(last.member_ids, (target.tolist() for target in last.targets), strict=True))
    assert len(seen[donor]) == 1, "the target, not what it still owns"
    assert run.target(donor) == run.owned(donor)
    assert run.beat(donor).assignment is None, "it got its partition back before it had to give it up"


def test_15_one_target_is_delivered_piece_by_piece() -> None:
    assignor = Prepared(a=(0, 1), b=(2, 3))
    run = Coordination(assignor=assignor, consumer_assignment_interval_us=0)
    run.join("a")
    run.join("b")
    run.settle("a", "b")
    assignor.targets = {"c": (0, 1, 2, 3)}
    run.join("c")
    pieces = []
    for donor in ("a", "b"):
        run.beat(donor)
        run.ack(donor)
        pieces.append(run.beat("c").assignment.tolist())
    assert pieces == [[0, 1], [0, 1, 2, 3]]
    assert run.current("c").state is MemberState.STABLE


def test_16_a_first_join_is_answered_with_an_assignment_even_if_it_is_empty() -> None:
    run = two_settled()
    assert run.join("c").assignment.tolist() == []


def test_20_an_epoch_that_was_answered_is_in_the_log() -> None:
    run = Coordination()
    run.join("a")
    run.join("b")
    assert run.outcome.replies == [], "the answer leaves with its records"
    run.fail_append()
    assert run.epochs == (2, 2)
    assert list(run.group.roster.members) == ["a"]


def test_21_a_failover_restarts_all_session_clocks() -> None:
    run = two_settled()
    run.sleep(44 * S)
    state = run.group.roster.group, run.group.roster.target
    run.move()
    assert (run.group.roster.group, run.group.roster.target) == state, "alone it causes no rebalance"
    assert run.group.session_due("a") == run.now + 45 * S
    run.sleep(45 * S - 1)
    assert run.group.size == 2
    run.sleep(1)
    assert run.group.size == 0


def test_22_one_members_new_subscription_makes_the_group_heterogeneous() -> None:
    run = two_settled(consumer_assignment_interval_us=0, image={"t": 4, "u": 2})
    epoch = run.epochs[0]
    run.beat("a", topics=("t", "u"))
    given = run.balancing.runs[-1]
    kinds = {one: given.kinds[kind] for one, kind in zip(given.member_ids, given.kind_of, strict=True)}
    assert kinds == {"a": ("t", "u"), "b": ("t",)}
    run.beat("b", topics=("t", "u"))
    assert run.balancing.runs[-1].kinds == (("t", "u"),)
    assert run.epochs == (epoch + 2, epoch + 2)


def test_23_votes_are_counted_when_a_target_is_computed() -> None:
    """The majority's; in 4.4 another winner bumps the epoch, before it waits for the next computation."""

    def vote(version: str) -> tuple[list[int], list[str]]:
        ran: list[str] = []

        def named(name: str) -> TargetAssignor:
            def run_it(group: AssignorInput) -> Computed:
                ran.append(name)
                return run.balancing(group)

            return run_it

        run = Coordination(version, consumer_assignment_interval_us=0)
        run.group._heartbeats._targets._assignors = {one: named(one) for one in ("uniform", "range")}
        for member_id in ("a", "b", "c"):
            run.join(member_id)
        bumps = []
        for member_id, name in (("a", "range"), ("b", "range"), ("c", "uniform"), ("b", "uniform")):
            before = run.epochs[0]
            run.beat(member_id, server_assignor=name)
            bumps.append(run.epochs[0] - before)
        run.join("d")
        return bumps, ran

    assert vote("4.3") == ([0, 0, 0, 0], ["uniform"] * 4)
    assert vote("4.4") == ([1, 0, 0, 1], ["uniform", "uniform", "uniform", "range", "uniform", "uniform"])


def test_24_who_is_fenced_by_its_epoch_is_fenced_again_before_4_2() -> None:
    def rejoin(version: str) -> tuple[Error, Error]:
        run = Coordination(version)
        run.join("a")
        run.see(t=5)
        run.now += 2 * S
        run.beat("a")
        assert run.beat("a", 9).error is Error.FENCED_MEMBER_EPOCH
        for _ in range(9):
            run.sleep(4 * S)
            error: Error = run.join("a").error
        before, _ = error, run.sleep(45 * S - 9 * 4 * S)
        return before, run.join("a").error

    assert rejoin("4.1") == (Error.FENCED_MEMBER_EPOCH, Error.NONE), "no refusal renews its session: that ends"
    assert rejoin("4.2") == (Error.NONE, Error.NONE)


def test_25_a_dynamic_restart_is_another_member() -> None:
    run = two_settled()
    run.now += 2 * S
    run.join("a-2")
    assert run.group.size == 3
    assert run.owned("a-2") == []


def test_26_a_burst_of_joins_waits_for_the_interval_and_a_heartbeat() -> None:
    run = Coordination(image={"t": 9})
    first = run.now
    assert run.join("a").assignment.tolist() == list(range(9))
    for late in ("b", "c"):
        run.now += 100 * MS
        answer = run.join(late)
        assert (answer.member_epoch, answer.assignment.tolist()) == (2, [])
    assert run.epochs == (4, 2)
    run.sleep(first + S - 1 - run.now)
    run.beat("a")
    assert run.epochs == (4, 2)
    run.sleep(1)
    assert run.epochs == (4, 2), "nothing wakes up"
    run.beat("a")
    assert run.epochs == (4, 4)


def test_26b_the_first_target_of_a_group_waits_for_no_interval_even_right_after_time_began() -> None:
    run = Coordination(consumer_assignment_interval_us=15 * S)
    run.now = S
    assert run.join("a").assignment.tolist() == [0, 1, 2, 3]


def test_27_a_failing_assignor_hits_whoever_asks_one_after_another() -> None:
    def failing(group: AssignorInput) -> NoReturn:
        raise KafkaAssignorFailure("no", "no")

    run = Coordination()
    run.join("a")
    run.now += 2 * S
    run.group._heartbeats._targets._assignors = {"uniform": failing, "range": failing}
    before = run.group.session_due("a")
    assert run.join("b").error is Error.UNKNOWN_SERVER_ERROR
    assert (run.epochs, run.group.size) == ((2, 2), 1), "the bump is undone with the event"
    run.see(t=5)
    assert run.beat("a").error is Error.UNKNOWN_SERVER_ERROR
    assert run.beat("a").error is Error.UNKNOWN_SERVER_ERROR
    assert (run.epochs, run.group.session_due("a")) == ((2, 2), before)


def test_29_epochs_of_a_new_group_start_at_one() -> None:
    first = {version: Coordination(version).join("a").member_epoch for version in ("4.2", "4.3", "4.4")}
    assert first == {"4.2": 1, "4.3": 2, "4.4": 2}
    unresolved = Coordination().join("a", topics=None, pattern="t.*")
    assert (unresolved.member_epoch, unresolved.assignment.tolist()) == (1, [])


def test_30_the_assignor_runs_in_the_coordinators_own_event() -> None:
    run = Coordination()
    run.balancing.charged_us = 700 * MS
    run.join("a")
    assert run.outcome.charged_us == 700 * MS
    assert run.group.roster.target.timestamp_us == run.now + 700 * MS, "the clock at its end"
    assert any(isinstance(fact, MemberReconciled) for fact in run.outcome.facts), "the caller has its answer with it"
