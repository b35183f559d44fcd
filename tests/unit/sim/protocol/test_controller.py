"""The controller's decisions: who leads, who is in sync, when a session is over."""

from __future__ import annotations

from groupsim.sim.protocol.controller.replication import NO_LEADER, ReplicationControl
from groupsim.sim.protocol.controller.sessions import BrokerSessions
from groupsim.sim.units import MS, S

NAME = ("t", 0)


def control(min_insync: int = 1) -> ReplicationControl:
    made = ReplicationControl()
    made.add(NAME, (0, 1, 2), min_insync)
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


def test_the_last_one_in_sync_stays_so_and_its_partition_waits_for_it() -> None:
    made = control()
    for broker in (1, 2, 0):
        made.fence(broker)
    assert standing(made)[:2] == (NO_LEADER, (0,))
    made.unfence(1)
    assert standing(made)[0] == NO_LEADER
    made.unfence(0)
    assert standing(made)[0] == 0


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
    made.add(("u", 0), (0, 1, 2), 1)
    assert made.partitions["u", 0].leader == 1
    assert made.partitions["u", 0].isr == (1, 2)


def test_a_silent_broker_is_fenced_at_the_first_look_after_its_session() -> None:
    sessions = BrokerSessions(9 * S, claimed_us=0)
    sessions.fall_silent(1, 28_500 * MS)
    assert sessions.due(1) == 38_250 * MS  # the 34th look, every 1.125 s
    assert sessions.free_at(1) == 37_500 * MS


def test_another_controller_gives_every_session_its_full_length_and_forgets_the_fenced() -> None:
    sessions = BrokerSessions(9 * S, claimed_us=0)
    sessions.fall_silent(1, 28 * S)
    sessions.fall_silent(2, 20 * S)
    sessions.claim(31 * S, fenced={2})
    assert sessions.silent == (1,)
    assert sessions.due(1) == 40 * S
    assert sessions.free_at(2) == 0
