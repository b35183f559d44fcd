"""The controller's decisions: who leads, who is in sync, when a session is over."""

from __future__ import annotations

from functools import partial

import pytest

from groupsim.sim.config import BrokerConfig
from groupsim.sim.protocol.controller.elections import leaderless_us
from groupsim.sim.protocol.controller.partition import NO_LEADER, PartitionState
from groupsim.sim.protocol.controller.replica_logs import Gap, ReplicaLogs
from groupsim.sim.protocol.controller.replication import Replicated, ReplicationControl
from groupsim.sim.protocol.controller.sessions import BrokerSessions
from groupsim.sim.randomness import hash64
from groupsim.sim.units import MS, S

NAME = ("t", 0)


def control(min_insync: int = 1, *, has_elr: bool = True, is_unclean: bool = False) -> ReplicationControl:
    made = ReplicationControl(has_elr=has_elr)
    made.add(NAME, (0, 1, 2), Replicated(min_insync=min_insync, is_unclean=is_unclean))
    return made


def standing(made: ReplicationControl) -> tuple[int, tuple[int, ...], int]:
    state = made.partitions[NAME]
    return state.leader, state.isr, state.epoch


def test_the_first_replica_that_is_in_sync_and_active_leads_next() -> None:
    made = control()
    assert made.fence(0) == [NAME]
    assert standing(made) == (1, (1, 2), 1)


def test_a_follower_that_is_fenced_changes_no_leader_and_no_epoch() -> None:
    made = control()
    made.fence(2)
    assert standing(made) == (0, (0, 1), 0)


@pytest.mark.parametrize(("has_elr", "isr"), [(False, (0,)), (True, ())])
def test_a_partition_waits_for_the_last_one_that_was_in_sync(has_elr: bool, isr: tuple[int, ...]) -> None:
    made = control(has_elr=has_elr)
    for broker in (1, 2, 0):
        made.fence(broker)
    assert standing(made)[:2] == (NO_LEADER, isr)
    made.unfence(1)
    assert standing(made)[0] == NO_LEADER
    made.unfence(0)
    assert standing(made)[:2] == (0, (0,))


# --- eligible leader replicas -----------------------------------------------------------------------------------------


def test_who_leaves_while_too_few_are_in_sync_is_eligible_and_leads_if_nobody_in_sync_can() -> None:
    made = control(min_insync=2)
    for broker in (2, 1, 0):
        made.fence(broker)
    assert made.partitions[NAME].eligible == (0, 1)
    made.unfence(2)
    assert standing(made)[0] == NO_LEADER, "it left while two others were in sync"
    made.unfence(1)
    assert standing(made) == (1, (1,), 2)
    assert not made.partitions[NAME].has_lost
    made.unfence(0)
    assert made.partitions[NAME].eligible == (0,)
    made.catch_up(0)
    assert (standing(made)[1], made.partitions[NAME].eligible) == ((0, 1), ())


def test_who_was_killed_is_eligible_no_more_when_it_registers_again() -> None:
    made = control(min_insync=2)
    for broker in (2, 1, 0):
        made.fence(broker)
    made.shut_down_uncleanly(1)
    made.unfence(1)
    assert standing(made)[0] == NO_LEADER


def test_if_nobody_is_eligible_the_last_leader_leads_again() -> None:
    made = control(min_insync=2)
    for broker in (2, 1, 0):
        made.fence(broker)
    for broker in (1, 0):
        made.shut_down_uncleanly(broker)
    made.unfence(1)
    assert standing(made)[0] == NO_LEADER
    made.unfence(0)
    assert standing(made)[:2] == (0, (0,))


def test_without_elr_only_who_is_in_sync_is_waited_for() -> None:
    made = control(min_insync=2, has_elr=False)
    for broker in (2, 1, 0):
        made.fence(broker)
    made.unfence(1)
    assert standing(made)[0] == NO_LEADER
    made.shut_down_uncleanly(0)
    made.unfence(0)
    assert standing(made)[:2] == (0, (0,))


# --- elections that may lose something --------------------------------------------------------------------------------


@pytest.mark.parametrize("has_elr", [True, False])
def test_an_unclean_election_takes_anybody_who_is_active(has_elr: bool) -> None:
    made = control(has_elr=has_elr, is_unclean=True)
    for broker in (2, 1, 0):
        made.fence(broker)
    made.unfence(2)
    assert standing(made)[:2] == (2, (2,))
    assert made.partitions[NAME].has_lost
    made.unfence(0)
    made.catch_up(0)
    assert not made.partitions[NAME].has_lost
    assert standing(made)[:2] == (2, (0, 2))


def test_an_unclean_election_can_be_asked_for() -> None:
    made = control()
    for broker in (2, 1, 0):
        made.fence(broker)
    made.unfence(2)
    assert standing(made)[0] == NO_LEADER
    assert made.elect_unclean([NAME]) == [NAME]
    assert standing(made)[0] == 2
    assert made.elect_unclean([NAME]) == [], "somebody leads it"


# --- replicas that lag, and others ------------------------------------------------------------------------------------


def test_a_leader_drops_followers_that_do_not_fetch_but_never_itself() -> None:
    made = control()
    assert made.shrink(NAME, (0, 2)) == [NAME]
    assert standing(made) == (0, (0, 1), 0)


def test_a_reassignment_is_over_when_all_new_replicas_are_in_sync() -> None:
    made = control()
    made.reassign(NAME, (3, 4))
    assert made.complete(NAME, (3, 4)) == []
    made.catch_up(3)
    made.catch_up(4)
    assert made.partitions[NAME].replicas == (3, 4, 0, 1, 2)
    assert made.complete(NAME, (3, 4)) == [NAME]
    assert standing(made) == (3, (3, 4), 1)
    assert made.partitions[NAME].replicas == (3, 4)


def test_who_comes_back_follows_until_the_preferred_leader_is_elected() -> None:
    made = control()
    made.fence(0)
    made.unfence(0)
    assert made.catch_up(0) == [NAME]
    assert standing(made) == (1, (0, 1, 2), 1)
    assert made.elect_preferred() == [NAME]
    assert standing(made) == (0, (0, 1, 2), 2)


def test_the_preferred_leader_is_not_elected_before_it_is_in_sync() -> None:
    made = control()
    made.fence(0)
    made.unfence(0)
    assert made.elect_preferred() == []


def test_a_broker_in_controlled_shutdown_is_elected_by_nobody() -> None:
    made = control()
    made.shut_down(1)
    made.shut_down(0)
    assert standing(made)[:2] == (2, (2,))


def test_the_high_watermark_waits_for_the_dead_who_count_as_in_sync_and_for_enough_of_them() -> None:
    made = control(min_insync=2)
    state = made.partitions[NAME]
    assert state.advances(dead=())
    assert not state.advances(dead=(2,))
    made.fence(2)
    assert state.advances(dead=(2,))
    made.fence(1)
    assert not state.advances(dead=(1, 2))


def test_a_partition_that_is_made_while_a_broker_is_down_is_led_by_another() -> None:
    made = control()
    made.fence(0)
    made.add(("u", 0), (0, 1, 2))
    assert made.partitions["u", 0].leader == 1
    assert made.partitions["u", 0].isr == (1, 2)


def test_a_silent_broker_is_fenced_at_the_first_look_after_its_session() -> None:
    sessions = BrokerSessions(9 * S, claimed_us=0)
    sessions.fall_silent(1, 28_500 * MS)
    assert sessions.due(1) == 38_250 * MS  # the 34th look, every 1.125 s
    assert sessions.free_at(1) == 37_500 * MS


def test_a_broker_that_is_heard_of_again_has_no_session_that_ends() -> None:
    sessions = BrokerSessions(9 * S, claimed_us=0)
    sessions.fall_silent(1, 28 * S)
    sessions.forget(1)
    assert (sessions.silent, sessions.free_at(1)) == ((), 0)


def test_who_has_caught_up_lacks_nothing_of_what_is_written_after_that() -> None:
    """A follower that was away from 10 s to 20 s leads, uncleanly, when the leader dies at 30 s."""
    logs, name, state = ReplicaLogs(), ("t", 0), PartitionState((0, 1), 1, isr=(0,), leader=0)
    logs.fall_behind(name, 1, 10 * S)
    logs.catch_up(name, 1)
    assert not logs.is_behind(name, 1)
    logs.fall_behind(name, 1, 25 * S)
    state.leader = NO_LEADER
    logs.observe(30 * S, name, state, dead=[0])
    assert logs.elect(name, 1, "all", 0, has_lost=True) == Gap(25 * S, 30 * S, 30 * S)


def test_another_controller_gives_every_session_its_full_length_and_forgets_the_fenced() -> None:
    sessions = BrokerSessions(9 * S, claimed_us=0)
    sessions.fall_silent(1, 28 * S)
    sessions.fall_silent(2, 20 * S)
    sessions.claim(31 * S, fenced={2})
    assert sessions.silent == (1,)
    assert sessions.due(1) == 40 * S
    assert sessions.free_at(2) == 0


def test_a_controller_that_is_gone_is_followed_a_fetch_timeout_after_it_answered_last_or_after_another_vote() -> None:
    times = [leaderless_us(BrokerConfig(), partial(hash64, key)) for key in range(9_000)]
    at_once, later = [one for one in times if one <= 2 * S], [one for one in times if one > 2 * S]
    assert 1_500 * MS < min(at_once) < 1_510 * MS < 1_990 * MS < max(at_once) <= 2 * S
    assert 2_500 * MS < min(later) < 2_600 * MS < 3_600 * MS < max(later) < 4 * S
    assert sum(later) / len(later) == pytest.approx((1_750 + 1_000 + 333) * MS, rel=0.01)
    assert len(later) / len(times) == pytest.approx(2 / 9, abs=0.02)


def test_a_fetch_timeout_that_is_shorter_than_a_fetch_is_over_at_once() -> None:
    config = BrokerConfig(quorum_fetch_timeout_us=0, quorum_election_timeout_us=0)
    assert {leaderless_us(config, partial(hash64, key)) for key in range(100)} == {0}
