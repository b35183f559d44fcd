"""Groups of the ZooKeeper protocol in simulation: sessions, servers that go, offsets, tries, tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.config import ZookeeperConsumerConfig
from groupsim.sim.model import (
    AddPartitions,
    Broker,
    Cut,
    Distribution,
    Kill,
    Rate,
    StartMembers,
    Target,
    Topic,
    Verb,
    Zookeeper,
)
from groupsim.sim.units import MS, S
from tests.support.scenarios import at, close, join, kill, member, pause
from tests.support.zookeeper import IDEAL, asked, row_of, zookeeper_client, zookeeper_scenario

THREE = Zookeeper(follower_lag=Distribution.constant(5 * MS))
AUTO = zookeeper_client(enable_auto_commit=True, auto_commit_interval_us=10 * S)


def servers(*numbers: int) -> Target:
    """ZooKeeper's servers by number."""
    return Target("zookeeper", ",".join(map(str, numbers)), "index", numbers)


def run(*timeline: Any, members: int = 3, **changes: Any) -> Result:
    """Three members on twelve partitions with records, and three servers."""
    chosen = {"servers": THREE, "config": AUTO, "rate_mrps": 10_000, "horizon_us": 90 * S, **changes}
    return simulate(zookeeper_scenario(members, *timeline, **chosen))


def gaps_s(result: Result, since_us: int = 10 * S) -> float:
    """The longest stretch of unread time that begins later."""
    table = result.tables["unavailability"]
    table = table[table["from_us"] >= since_us]
    return float((table["to_us"] - table["from_us"]).max() / S) if len(table) else 0.0


def end_state(result: Result) -> str:
    """The group's state at the end."""
    return str(result.summary["end_state"].iloc[0])


def cut(between: Target, for_us: int) -> Verb:
    """Member 0 cannot reach some servers."""
    return Cut(between=(member(0), between), duration=Distribution.constant(for_us))


# --- both fidelities --------------------------------------------------------------------------------------------------

TIMELINES = {
    "nothing": (),
    "kill": (kill(20 * S, 0),),
    "pause": (pause(20 * S, 15 * S, 0),),
    "close": (close(20 * S, 1),),
    "cut": (at(20 * S, cut(servers(0, 1, 2), 20 * S)),),
    "servers": (at(20 * S, Kill(target=servers(2), down=Distribution.constant(9 * S))),),
    "growth": (at(20 * S, AddPartitions(topic="t", to=15)),),
}


@pytest.mark.parametrize("timeline", TIMELINES.values(), ids=TIMELINES)
def test_both_fidelities_give_equal_tables(timeline: tuple[Any, ...]) -> None:
    one = zookeeper_scenario(3, *timeline, servers=THREE, config=AUTO, rate_mrps=10_000, horizon_us=50 * S)
    results = [simulate(one, fidelity=fidelity) for fidelity in ("elided", "message")]
    assert results[0].manifest["digests"] == results[1].manifest["digests"]


def test_a_watched_run_holds_what_any_run_must() -> None:
    one = zookeeper_scenario(3, *TIMELINES["pause"], servers=THREE, config=AUTO, rate_mrps=10_000, horizon_us=50 * S)
    assert simulate(one, check=True).manifest["digests"] == simulate(one).manifest["digests"]


# --- sessions ---------------------------------------------------------------------------------------------------------


def test_a_member_that_dies_is_found_when_its_session_is_over() -> None:
    result = run(kill(21 * S, 0))
    rebalance = result.tables.rows("rebalances")[-1]
    assert rebalance["trigger"] == "expiry"
    found_s = rebalance["start_us"] / S
    assert 26 <= found_s <= 29.1, "6 s after its last ping, at a whole tick of 2 s, and a write"
    assert found_s % 2 < 0.1
    assert end_state(result) == "Stable"


def test_a_pause_longer_than_the_session_costs_the_membership_and_gives_a_new_one() -> None:
    result = run(pause(20 * S, 15 * S, 0))
    row = result.summary.iloc[0]
    assert (row["joins"], row["evictions"]) == (4, 1)
    assert end_state(result) == "Stable"
    assert row["zombie_s"] > 0, "it reads on until it hears that its session is over"
    assert row_of(result)["two_readers_us"] > 0
    assert row["duplicates"] > 0


def test_a_pause_shorter_than_the_session_costs_nothing() -> None:
    row = run(pause(20 * S, 3 * S, 0)).summary.iloc[0]
    assert (row["joins"], row["evictions"], row["zombie_s"]) == (3, 0, 0)


def test_who_is_cut_off_from_every_server_is_a_second_reader_as_long_as_the_cut() -> None:
    result = run(at(20 * S, cut(servers(0, 1, 2), 30 * S)))
    row = row_of(result)
    assert result.summary["evictions"].iloc[0] == 1
    assert 4 * 15 * S < row["two_readers_us"] < 4 * 27 * S, "its four partitions, from the expiry on"
    assert end_state(result) == "Stable"


def test_who_is_cut_off_from_one_server_goes_to_another() -> None:
    for number in range(3):
        row = run(at(20 * S, cut(servers(number), 30 * S))).summary.iloc[0]
        assert (row["evictions"], row["zombie_s"]) == (0, 0)


def test_a_member_that_closes_gives_its_nodes_back_at_once() -> None:
    result = run(close(20 * S, 0))
    row = result.summary.iloc[0]
    assert (row["leaves"], row["evictions"], row["duplicates"]) == (1, 0, 0)
    assert asked(result)["closeSession", "NONE"] == 1
    assert result.tables.rows("rebalances")[-1]["trigger"] == "leave"
    assert end_state(result) == "Stable"


# --- servers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_server_that_dies_costs_no_session(number: int) -> None:
    result = run(at(20 * S, Kill(target=servers(number), down=Distribution.constant(20 * S))))
    row = result.summary.iloc[0]
    assert (row["evictions"], row["zombie_s"]) == (0, 0)
    assert gaps_s(result) == 0
    assert asked(result)["reconnect", "NONE"] >= 1


def test_without_a_majority_nothing_changes_until_there_is_one() -> None:
    result = run(at(20 * S, Kill(target=servers(0, 1))), kill(25 * S, 0), at(50 * S, StartMembers(target=servers(0))))
    rebalance = result.tables.rows("rebalances")[-1]
    assert rebalance["trigger"] == "expiry"
    assert rebalance["start_us"] > 56 * S, "nobody counts sessions before, and all begin anew"
    assert end_state(result) == "Stable"


def test_more_members_than_a_server_can_answer_wait_in_its_queue() -> None:
    slow = replace(IDEAL, read_us=5 * MS)
    found = {count: run(members=count, servers=slow, measure_from_us=0, horizon_us=30 * S) for count in (2, 8)}
    rows = {count: row_of(result) for count, result in found.items()}
    assert rows[8]["utilisation_max"] > 2.5 * rows[2]["utilisation_max"] > 0
    answered = sum(asked(found[8]).values())
    assert rows[8]["utilisation_max"] == pytest.approx(answered * 5 * MS / (30 * S), rel=0.01)


# --- offsets ----------------------------------------------------------------------------------------------------------


def test_offsets_go_to_zookeeper_and_only_those_that_have_changed() -> None:
    idle = asked(run(rate_mrps=0, horizon_us=60 * S))
    assert ("setData", "NONE") not in idle
    busy = asked(run(horizon_us=60 * S, members=1))
    assert busy["setData", "NONE"] + busy["setData", "NONODE"] == 12 * 5, "twelve partitions, every 10 s"


@pytest.mark.parametrize(("dual", "writes"), [(False, 0), (True, 60)])
def test_offsets_can_go_to_a_broker_or_to_both(dual: bool, writes: int) -> None:
    config = zookeeper_client(storage="kafka", dual=dual, enable_auto_commit=True, auto_commit_interval_us=10 * S)
    result = run(config=config, horizon_us=60 * S, members=1)
    found = asked(result)
    assert found.get(("setData", "NONE"), 0) + found.get(("setData", "NONODE"), 0) == writes
    commits = result.tables["requests"].query("api == 'OffsetCommit'")
    assert commits["count"].tolist() == [5]
    assert set(commits["error"]) == {"NONE"}


def test_what_a_broker_keeps_is_where_the_next_one_goes_on() -> None:
    config = zookeeper_client(storage="kafka", enable_auto_commit=True, auto_commit_interval_us=10 * S)
    row = run(close(20 * S, 0), config=config).summary.iloc[0]
    assert (row["duplicates"], row["losses"]) == (0, 0)


@pytest.mark.parametrize("storage", ["kafka", "zookeeper"])
def test_a_broker_that_dies_moves_offsets_and_nobody_else(storage: str) -> None:
    config = zookeeper_client(storage=storage, enable_auto_commit=True, auto_commit_interval_us=5 * S)
    death = at(20 * S, Kill(target=Target("broker", "0"), down=Distribution.constant(2 * S)))
    timeline = (death, close(60 * S, 0))
    built = zookeeper_scenario(3, *timeline, servers=THREE, config=config, rate_mrps=10_000, horizon_us=90 * S)
    brokers = tuple(Broker(id=number) for number in range(3))
    built = replace(built, cluster=replace(built.cluster, brokers=brokers))
    result, again = (simulate(built, fidelity=fidelity, check=True) for fidelity in ("elided", "message"))
    assert result.manifest["digests"] == again.manifest["digests"]
    (loading,) = result.tables["shards"].query("state == 'loading'").to_dict("records")
    assert 29 * S < loading["from_us"] < 30 * S, "fenced after broker.session.timeout.ms"
    row = result.summary.iloc[0]
    assert (row["end_state"], row["rebalances"], row["evictions"]) == ("Stable", 2, 0), "a start and a close"
    assert (row["duplicates"], row["losses"]) == (0, 0), "the others go on where it was"


def test_a_kill_reads_again_what_was_not_committed() -> None:
    short, long = (
        run(
            kill(29 * S, 0),
            config=zookeeper_client(enable_auto_commit=True, auto_commit_interval_us=every),
        ).summary["duplicates"].iloc[0]
        for every in (2 * S, 60 * S)
    )  # fmt: skip
    assert 0 < short < 4 * 10 * 3
    assert long > 4 * 10 * 20


# --- tries ------------------------------------------------------------------------------------------------------------


def test_tries_that_run_out_leave_their_part_unread_and_are_told() -> None:
    result = run(
        pause(19_900 * MS, 5 * S, 1), at(20 * S, AddPartitions(topic="t", to=15)),
        config=zookeeper_client(rebalance_backoff_us=S), horizon_us=60 * S, servers=IDEAL,
    )  # fmt: skip
    row = row_of(result)
    assert row["failed_rebalances"] == 1
    assert row["failed_tries"] == 4
    assert row["conflicts"] == 4, "partition 4, in each try"
    given_back = 12 + 4 * 4
    assert asked(result)["delete", "NONE"] == given_back, "what everybody had, and what each try has claimed in vain"
    assert end_state(result) == "Rebalancing"
    last = result.tables["unavailability"].query("to_us == 60_000_000")
    assert set(last["detail"]) == {"given_up"}
    assert set(last["cause"]) == {"assignment"}


def test_as_many_tries_as_it_takes_read_everything() -> None:
    result = run(
        pause(19_900 * MS, 5 * S, 1), at(20 * S, AddPartitions(topic="t", to=15)),
        config=zookeeper_client(rebalance_backoff_us=S, rebalance_max_retries=10), horizon_us=60 * S, servers=IDEAL,
    )  # fmt: skip
    assert end_state(result) == "Stable"
    backoff = result.tables["unavailability"].query("detail == 'backoff'")
    assert set(backoff["cause"]) == {"barrier"}


def test_who_fails_at_its_start_throws_it_at_the_application() -> None:
    """The last member pauses: whoever comes after it finds owner nodes that stay."""
    result = run(
        pause(19_900 * MS, 5 * S, 2), join(20 * S, 4),
        config=zookeeper_client(rebalance_backoff_us=500 * MS), horizon_us=60 * S, servers=IDEAL,
    )  # fmt: skip
    ended = {row["ended_by"] for row in result.tables.rows("members")}
    assert "failed: ConsumerRebalanceFailedException" in ended
    assert result.summary["failed"].iloc[0] == 1


def test_without_any_server_a_member_gives_up_at_its_start() -> None:
    result = run(at(0, Kill(target=servers(0, 1, 2))), horizon_us=20 * S)
    assert {row["ended_by"] for row in result.tables.rows("members")} == {"failed: ZkTimeoutException"}


# --- every setting counts ---------------------------------------------------------------------------------------------

UNREACHABLE = Cut(between=(Target("group", "g"), Target("broker", "0")), duration=Distribution.constant(15 * S))
LATE = (at(0, Kill(target=servers(0, 1, 2), down=Distribution.constant(9 * S))),)
HELD = (pause(19_900 * MS, 5 * S, 1), at(20 * S, AddPartitions(topic="t", to=15)))
AT_BROKER = {"storage": "kafka", "enable_auto_commit": True, "auto_commit_interval_us": 5 * S}

SETTINGS: dict[str, tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]] = {
    "session_timeout_us": ((kill(20 * S, 0),), {}, {"session_timeout_us": 12 * S}),
    "connection_timeout_us": (LATE, {}, {"connection_timeout_us": 20 * S}),
    "rebalance_max_retries": (HELD, {"rebalance_backoff_us": S}, {"rebalance_max_retries": 9}),
    "rebalance_backoff_us": (HELD, {}, {"rebalance_backoff_us": S}),
    "offsets_storage": ((), {"enable_auto_commit": True, "auto_commit_interval_us": 5 * S}, {"storage": "kafka"}),
    "dual_commit": ((), AT_BROKER, {"dual": True}),
    "offsets_backoff_us": ((at(0, UNREACHABLE),), AT_BROKER, {"offsets_backoff_us": 5 * S}),
}


@pytest.mark.parametrize("field", SETTINGS)
def test_every_key_of_the_consumer_changes_some_table(field: str) -> None:
    assert set(SETTINGS) == set(ZookeeperConsumerConfig.__dataclass_fields__)
    timeline, base, change = SETTINGS[field]
    results = [run(*timeline, config=zookeeper_client(**{**base, **more}), horizon_us=50 * S) for more in ({}, change)]
    assert results[0].manifest["digests"] != results[1].manifest["digests"]


ENSEMBLES = {
    "nodes": 5, "follower_lag": Distribution.constant(90 * MS), "read_us": 300, "write_us": 3 * MS, "sync_us": 9 * MS,
    "tick_us": 3 * S, "election_us": 5 * S,
}  # fmt: skip


@pytest.mark.parametrize("field", ENSEMBLES)
def test_every_setting_of_the_ensemble_changes_some_table(field: str) -> None:
    assert set(ENSEMBLES) == set(Zookeeper.__dataclass_fields__)
    ends = (at(20 * S, Kill(target=Target("zookeeper", "leader", "leader"))), kill(19 * S, 0))
    changed = replace(THREE, **{field: ENSEMBLES[field]})
    results = [run(*ends, servers=one, horizon_us=40 * S) for one in (THREE, changed)]
    assert results[0].manifest["digests"] != results[1].manifest["digests"]


# --- tables -----------------------------------------------------------------------------------------------------------


def test_a_group_without_zookeeper_has_no_row() -> None:
    from tests.support.scenarios import client, group, scenario

    plain = simulate(scenario(group(2, client=client()), horizon_us=20 * S))
    assert plain.tables.rows("zookeeper") == []


def test_what_is_unread_is_told_beside_what_is_read_twice() -> None:
    result = run(kill(20 * S, 0))
    assert row_of(result)["no_reader_us"] == round(result.summary["unavailable_partition_s"].iloc[0] * S)
    assert row_of(result)["two_readers_us"] == 0


def test_reads_writes_and_pings_are_the_requests_to_zookeeper() -> None:
    result = run(kill(20 * S, 0))
    row, found = row_of(result), asked(result)
    others = sum(count for (api, _), count in found.items() if api == "reconnect")
    assert row["reads"] + row["writes"] + row["pings"] + others == sum(found.values())


def test_a_new_topic_of_another_group_wakes_nobody() -> None:
    quiet = Rate(per_partition_mrps=((0,),))
    from groupsim.sim.model import CreateTopic

    calm = run()
    result = run(at(20 * S, CreateTopic(topic=Topic(name="other", partitions=3, rate=quiet))))
    assert row_of(result)["watch_notifications"] == row_of(calm)["watch_notifications"]
    assert np.array_equal(result.tables["rebalances"]["start_us"], calm.tables["rebalances"]["start_us"])
