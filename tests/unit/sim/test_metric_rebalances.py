"""Rebalances, moves, balance and stop-the-world, as the metrics are defined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from groupsim.sim.config import ClientBehaviour
from groupsim.sim.model import Close, GcPause, Kill, Override, Processing, Rate, Restart, Subscription, Target, Topic
from groupsim.sim.units import MS, S
from tests.support.scenarios import at, scenario
from tests.unit.sim.scenes import (
    CLIENT,
    COOPERATIVE,
    FIDELITIES,
    PROCESSING,
    constant,
    entry,
    everybody,
    group,
    lasting,
    member,
    rows,
    scene,
    simulate,
    stretches,
    summary,
    with_start,
)

STATIC = {"static": True, "client": replace(CLIENT, session_timeout_us=6 * S)}
BROADCAST = replace(CLIENT, partition_assignment_strategy=("broadcast",))


# --- the table --------------------------------------------------------------------------------------------------------


def test_a_rebalance_goes_from_leaving_empty_to_stable() -> None:
    result = simulate(scene(initial_delay_us=3 * S))
    states = rows(result, "states")
    assert [one["state"] for one in states] == ["PreparingRebalance", "CompletingRebalance", "Stable"]
    (first,) = rows(result, "rebalances")
    assert (first["start_us"], first["end_us"]) == (states[0]["from_us"], states[2]["from_us"])
    assert first["preparing_us"] == 3 * S == states[0]["to_us"] - states[0]["from_us"]
    assert first["completing_us"] == states[1]["to_us"] - states[1]["from_us"]
    assert (first["trigger"], first["ended_by"], first["generation_from"], first["generation_to"]) == (
        "join", "stable", 0, 1,
    )  # fmt: skip
    assert (first["members_before"], first["members_after"], first["members_in"]) == (0, 1, 1)


def test_generation_bumps_before_stable_belong_to_one_rebalance() -> None:
    result = simulate(scene(group(**with_start(2 * MS))))  # the second arrives while the first's round completes
    (only,) = rows(result, "rebalances")
    assert only["generations"] == 2
    assert summary(result)["generations"] == 2
    assert (only["members_in"], only["members_after"]) == (2, 2)
    assert only["preparing_us"] + only["completing_us"] == only["end_us"] - only["start_us"]


def test_a_leave_opens_a_rebalance_of_its_own() -> None:
    result = simulate(scene(group(count=3), timeline=(entry(20 * S, Close(target=member(1))),)))
    left = rows(result, "rebalances")[1]
    assert left["trigger"] == "leave"
    assert (left["members_before"], left["members_after"]) == (3, 2)
    assert (left["members_in"], left["members_out"], left["members_kicked"]) == (0, 1, 0)
    assert summary(result)["leaves"] == 1
    assert summary(result)["evictions"] == 0


@pytest.mark.parametrize(
    ("says", "reason"), [(True, "explicit LeaveGroup; the consumer is being closed"), (False, "explicit LeaveGroup")]
)
def test_a_leave_tells_why_where_its_client_says_so(says: bool, reason: str) -> None:
    leaver = replace(CLIENT, behaviour=ClientBehaviour(reason_in_request=says))
    result = simulate(scene(group(count=3, client=leaver), timeline=(entry(20 * S, Close(target=member(1))),)))
    assert rows(result, "rebalances")[1]["reason"] == reason


def test_an_expired_session_opens_a_rebalance_of_its_own() -> None:
    result = simulate(scene(group(count=3), timeline=(entry(20 * S, Kill(target=member(1))),)))
    lost = rows(result, "rebalances")[1]
    assert lost["trigger"] == "expiry"
    assert (lost["members_before"], lost["members_after"], lost["members_out"]) == (3, 2, 1)
    assert summary(result)["evictions"] == 1
    assert summary(result)["leaves"] == 0


def test_members_that_expire_at_one_instant_are_counted_before_and_after() -> None:
    """They joined together and their last heartbeats came together, so their sessions end together."""
    result = simulate(scene(group(count=4), timeline=(entry(20 * S, Kill(target=member(1, 2, 3))),)))
    lost = rows(result, "rebalances")[1]
    assert (lost["trigger"], lost["members_before"], lost["members_after"]) == ("expiry", 4, 1)
    assert (lost["members_out"], lost["members_kicked"]) == (3, 3)


def test_the_leader_is_meant_by_its_name() -> None:
    """The second joins later, so the first leads; once that is dead, the other one does."""
    first, then = (entry(at * S, Kill(target=Target("group", "g", pick="leader"))) for at in (20, 40))
    result = simulate(scene(group(**with_start(5 * S)), timeline=(first, then)))
    ended = {one["member"]: (one["ended_us"], one["ended_by"]) for one in rows(result, "members")}
    assert ended == {"g/0": (20 * S, "killed"), "g/1": (40 * S, "killed")}


def test_whoever_is_expired_is_kicked() -> None:
    result = simulate(scene(group(count=3), timeline=(entry(20 * S, Kill(target=member(1))),)))
    assert rows(result, "rebalances")[1]["members_kicked"] == 1


def test_whoever_does_not_rejoin_in_time_is_kicked() -> None:
    impatient = replace(CLIENT, max_poll_interval_us=8 * S, session_timeout_us=30 * S)
    pause = entry(19 * S, GcPause(target=member(0), duration=lasting(25 * S)))
    result = simulate(scene(group(count=3, client=impatient), timeline=(pause, entry(20 * S, Close(target=member(1))))))
    found = rows(result, "rebalances")[1]
    assert found["trigger"] == "leave"
    assert found["preparing_us"] == pytest.approx(8 * S, abs=10 * MS)
    assert (found["members_out"], found["members_kicked"], found["members_after"]) == (2, 1, 1)
    assert summary(result)["evictions"] == 1


def test_a_rebalance_that_empties_the_group_ends_there() -> None:
    result = simulate(scene(timeline=(entry(20 * S, Close(target=member(0))),)))
    last = rows(result, "rebalances")[-1]
    assert (last["ended_by"], last["members_after"], last["trigger"]) == ("empty", 0, "leave")
    assert rows(result, "states")[-1]["state"] == "Empty"
    assert rows(result, "states")[-1]["from_us"] == last["end_us"]


def test_what_is_open_at_the_horizon_is_cut_there() -> None:
    result = simulate(scene(initial_delay_us=30 * S, horizon_us=10 * S))
    (only,) = rows(result, "rebalances")
    assert (only["ended_by"], only["end_us"], only["preparing_us"]) == ("horizon", 10 * S, 10 * S - only["start_us"])
    assert rows(result, "states")[-1]["to_us"] == 10 * S
    assert rows(result, "members")[0]["ended_by"] == "horizon"
    assert rows(result, "members")[0]["stable_us"] == -1
    assert summary(result)["rebalance_s_max"] == (10 * S - only["start_us"]) / S


def test_the_states_tell_the_same_story_as_the_rebalances() -> None:
    result = simulate(scene(group(**with_start(20 * S)), timeline=(entry(30 * S, Kill(target=member(0))),)))
    states = pd.DataFrame(rows(result, "states"))
    assert (states["from_us"].iloc[1:].to_numpy() == states["to_us"].iloc[:-1].to_numpy()).all()
    spent = (states["to_us"] - states["from_us"]).groupby(states["state"]).sum()
    table = result.tables["rebalances"]
    assert spent["PreparingRebalance"] == table["preparing_us"].sum()
    assert spent["CompletingRebalance"] == table["completing_us"].sum()
    assert summary(result)["rebalance_s_total"] == (table["end_us"] - table["start_us"]).sum() / S


# --- moves ------------------------------------------------------------------------------------------------------------


def test_there_and_back_is_two_moves() -> None:
    away = entry(20 * S, Kill(target=member(1), down=lasting(20 * S)))
    result = simulate(scene(group(count=2, **STATIC), partitions=2, timeline=(away,)))
    owners = [one["member"] for one in sorted(rows(result, "ownership", partition=1), key=lambda one: one["from_us"])]
    assert owners == ["g/1", "g/0", "g/1"]
    assert [one["partitions_moved"] for one in rows(result, "rebalances")] == [0, 1, 1]
    assert (summary(result)["partitions_moved"], summary(result)["partitions_moved_min"]) == (2, 2)


def test_an_owner_that_dies_before_it_serves_has_owned() -> None:
    slow = replace(PROCESSING, on_assigned_us=5 * S)
    killed = entry(23 * S, Kill(target=member(1)))
    result = simulate(scene(group(**with_start(20 * S), processing=slow), timeline=(killed,)))
    assert not rows(result, "ownership", member="g/1")
    assert [one["partitions_moved"] for one in rows(result, "rebalances")] == [0, 2, 2]


def test_a_partition_that_nobody_owns_for_a_round_moves_once() -> None:
    """Cooperative: revoked in one round, given away in the next."""
    result = simulate(scene(group(**with_start(20 * S), client=COOPERATIVE)))
    assert [one["partitions_moved"] for one in rows(result, "rebalances")] == [0, 0, 2]


def test_a_restarted_pod_keeps_its_name_and_so_moves_nothing() -> None:
    result = simulate(scene(timeline=(entry(20 * S, Kill(target=member(0), down=lasting(15 * S))),)))
    assert len({one["member_id"] for one in rows(result, "members")}) == 2
    assert len({one["from_us"] for one in rows(result, "ownership")}) == 2
    assert summary(result)["partitions_moved"] == 0


def test_a_static_member_back_in_time_causes_neither_rebalance_nor_move() -> None:
    back = entry(20 * S, Kill(target=member(1), down=lasting(S)))
    result = simulate(scene(group(count=2, **STATIC), timeline=(back,)))
    assert summary(result)["rebalances"] == 1
    assert summary(result)["partitions_moved"] == 0
    assert summary(result)["fenced"] == 1
    assert len(rows(result, "members", member="g/1")) == 2


def test_moves_beyond_the_least_number_show() -> None:
    """Range slides: of six partitions of three members, the first leaves, three move where two would have done."""
    result = simulate(scene(group(count=3, **STATIC), partitions=6, timeline=(entry(20 * S, Kill(target=member(0))),)))
    last = rows(result, "rebalances")[-1]
    assert (last["partitions_moved"], last["partitions_moved_min"]) == (3, 2)


def test_moved_partitions_weigh_as_much_as_what_is_produced_to_them() -> None:
    costly = replace(PROCESSING, per_record=lasting(2 * MS))
    rates = Rate(per_partition_mrps=((1_000, 5_000),))
    away = entry(20 * S, Kill(target=member(1)))
    result = simulate(scene(group(count=2, processing=costly, **STATIC), partitions=2, rate=rates, timeline=(away,)))
    # 5 records/s moved, a consumer can do 500 records/s
    assert [one["rscore"] for one in rows(result, "rebalances")] == [0.0, pytest.approx(0.01)]
    assert summary(result)["rscore"] == pytest.approx(0.01)


def test_without_a_cost_there_is_no_capacity_to_weigh_against() -> None:
    assert np.isnan(summary(simulate(scene()))["rscore"])


def test_moves_of_a_broadcast_group_are_undefined_and_every_member_serves() -> None:
    result = simulate(scene(group(count=3, client=BROADCAST), partitions=2))
    row = summary(result)
    assert pd.isna(row["partitions_moved"])
    assert pd.isna(row["partitions_moved_min"])
    assert np.isnan(row["rscore"])
    held = {(one["member"], one["partition"]) for one in rows(result, "ownership")}
    assert held == {(f"g/{index}", partition) for index in range(3) for partition in range(2)}
    assert {one["to_us"] for one in rows(result, "ownership")} == {60 * S}


def test_moves_of_a_broadcast_rebalance_are_undefined_too() -> None:
    result = simulate(scene(group(count=2, client=BROADCAST), partitions=2))
    assert all(pd.isna(one["partitions_moved"]) for one in rows(result, "rebalances"))


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_broadcast_partition_is_served_while_anybody_serves_it(victim: int) -> None:
    result = simulate(
        scene(
            group(count=3, client=BROADCAST), partitions=2, timeline=(entry(20 * S, Kill(target=member(victim))),),
            horizon_us=25 * S,
        )
    )  # fmt: skip
    assert not [one for one in stretches(result) if one[1] > S]


@pytest.mark.parametrize("members", [1, 2])
def test_a_broadcast_member_reads_on_what_other_brokers_lead(members: int) -> None:
    """Of a broker that restarts only its own partitions are unread, and only until another one leads them."""
    restart = at(20 * S, Restart(target=Target("broker", "1"), down=lasting(5 * S)))
    made = scenario(group(count=members, client=BROADCAST), restart, horizon_us=60 * S, brokers=3, partitions=6)
    found = [one for one in stretches(simulate(made)) if one[1] > 19 * S]
    assert found
    assert max(end - begin for _, begin, end, *_ in found) < 3 * S


def test_nobody_is_a_zombie_in_a_healthy_broadcast_group() -> None:
    result = simulate(scene(group(count=2, client=BROADCAST), timeline=(entry(20 * S, Kill(target=member(1))),)))
    assert summary(result)["zombie_s"] == 0


# --- balance ----------------------------------------------------------------------------------------------------------


def test_balance_is_measured_over_members_at_stable() -> None:
    rates = Rate(per_partition_mrps=((1_000, 2_000, 6_000),))
    result = simulate(scene(group(count=2, **STATIC), partitions=3, rate=rates))
    (only,) = rows(result, "rebalances")  # range: {0, 1} and {2}
    assert (only["imbalance_partitions"], only["stdev_partitions"]) == (1, 0.5)
    assert (only["imbalance_rate"], only["stdev_rate"]) == (3.0, 1.5)
    assert summary(result)["imbalance_partitions_max"] == 1


def test_a_member_with_nothing_counts_in_the_balance() -> None:
    result = simulate(scene(group(count=3), partitions=2))
    (only,) = rows(result, "rebalances")
    assert only["imbalance_partitions"] == 1
    assert only["stdev_partitions"] == pytest.approx(np.std([1, 1, 0]))


def test_a_broadcast_group_is_perfectly_balanced() -> None:
    result = simulate(scene(group(count=2, client=BROADCAST), partitions=2))
    assert rows(result, "rebalances")[0]["imbalance_partitions"] == 0


def test_members_with_other_subscriptions_are_members_of_the_balance() -> None:
    topics = tuple(Topic(name=name, partitions=count, rate=constant(1_000)) for name, count in (("t", 4), ("u", 1)))
    other = Override(members=frozenset({1}), subscription=Subscription(topics=("u",)))
    result = simulate(scene(group(count=2, overrides=(other,)), topics=topics))
    assert rows(result, "rebalances")[-1]["imbalance_partitions"] == 3


# --- stop the world ---------------------------------------------------------------------------------------------------


def test_an_eager_join_stops_the_world() -> None:
    result = simulate(scene(group(**with_start(20 * S))))
    gaps = [one for one in stretches(result) if one[1] > S]
    begin = max(row[1] for row in gaps if row[3] == "barrier")
    end = min(row[2] for row in gaps if row[3] == "resume")
    assert summary(result)["stop_the_world_s"] == pytest.approx((end - begin) / S, abs=1e-9)
    assert end > begin


def test_a_cooperative_join_does_not() -> None:
    result = simulate(scene(group(**with_start(20 * S), client=COOPERATIVE)))
    assert summary(result)["stop_the_world_s"] == 0


def test_the_world_does_not_stop_while_nobody_is_in_the_group() -> None:
    result = simulate(scene(timeline=(entry(20 * S, Restart(target=member(0), down=lasting(10 * S))),)))
    found = [one for one in stretches(result, 0) if one[1] > S]
    owned = sum(row[2] - row[1] for row in found if row[3] != "unowned")
    assert sum(row[2] - row[1] for row in found if row[3] == "unowned") > 9 * S
    assert summary(result)["stop_the_world_s"] == pytest.approx(owned / S, abs=1e-9)


def test_before_the_first_service_the_world_has_not_started() -> None:
    assert summary(simulate(scene(initial_delay_us=3 * S)))["stop_the_world_s"] == 0


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_a_pause_of_everybody_stops_the_world_if_it_is_long(fidelity: str) -> None:
    for length, expected in ((S - 1, 0.0), (4 * S, 4.0)):
        pause = entry(20 * S, GcPause(target=everybody(), duration=lasting(length)))
        result = simulate(scene(group(count=2), timeline=(pause,)), fidelity)
        assert summary(result)["stop_the_world_s"] == expected


# --- members and requests ---------------------------------------------------------------------------------------------


def test_members_is_the_most_that_lived_at_once() -> None:
    back = entry(20 * S, Restart(target=member(0), down=lasting(5 * S)))
    result = simulate(scene(group(count=3), timeline=(back,)))
    assert summary(result)["members"] == 3
    assert len(rows(result, "members")) == 4
    assert summary(result)["joins"] == 4


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_requests_are_counted_by_api_and_error(fidelity: str) -> None:
    result = simulate(scene(horizon_us=20 * S), fidelity)
    found = {(one["api"], one["error"]): one["count"] for one in rows(result, "requests")}
    assert found == {
        ("FindCoordinator", "NONE"): 1,
        ("JoinGroup", "MEMBER_ID_REQUIRED"): 1,
        ("JoinGroup", "NONE"): 1,
        ("SyncGroup", "NONE"): 1,
        ("OffsetFetch", "NONE"): 1,
        ("Heartbeat", "NONE"): 19,
        ("OffsetCommit", "NONE"): 3,
        ("Metadata", "NONE"): 1,
    }
    assert summary(result)["requests"] == sum(found.values())


def test_errors_of_a_rebalance_and_of_an_eviction_are_counted() -> None:
    pause = entry(20 * S, GcPause(target=member(1), duration=lasting(15 * S)))
    result = simulate(scene(group(count=2, processing=Processing(per_poll_us=100 * MS)), timeline=(pause,)))
    found = {(one["api"], one["error"]): one["count"] for one in rows(result, "requests")}
    assert found["Heartbeat", "UNKNOWN_MEMBER_ID"] == 1
    assert found["Heartbeat", "REBALANCE_IN_PROGRESS"] >= 1
    assert found["JoinGroup", "MEMBER_ID_REQUIRED"] == 3  # two starts, one return
