"""Brokers that stop and start, and what coordinators, groups and clients make of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.catalog import Catalog, spread
from groupsim.sim.client.client import Client
from groupsim.sim.cluster.groups.coordinator import while_loading
from groupsim.sim.cluster.loading import Loading, load_us
from groupsim.sim.cluster.local_leaders import LocalLeaders, time_us
from groupsim.sim.config import BrokerConfig, Timing
from groupsim.sim.model import Close, Distribution, Entry, Kill, Restart, Scenario, StartMembers, Target, Verb
from groupsim.sim.protocol.controller.replication import ReplicationControl
from groupsim.sim.protocol.messages import Error, Heartbeat, OffsetCommit, SyncGroup
from groupsim.sim.randomness import Streams
from groupsim.sim.timeline import clients
from groupsim.sim.timeline.clients import Clients
from groupsim.sim.units import FOREVER, MS, S
from tests.support.coordinators import moved
from tests.support.scenarios import at, client, group, scenario

AUTO = client(enable_auto_commit=True, auto_commit_interval_us=S)
COORDINATOR = Target("broker", "coordinator/g")
ALL = Target("broker", "all")
QUIET = BrokerConfig(leader_imbalance_check_us=FOREVER)


def world(*timeline: Entry, horizon_us: int = 90 * S, config: BrokerConfig = QUIET, brokers: int = 3) -> Scenario:
    made = scenario(group(3, client=AUTO), *timeline, horizon_us=horizon_us, rate_mrps=10_000, brokers=brokers)
    return replace(made, cluster=replace(made.cluster, broker_config=config))


def after(result: Result, at_us: int) -> list[tuple[str, int]]:
    """Causes and lengths of what is unread from then on."""
    rows = result.tables["unavailability"]
    rows = rows[rows.from_us >= at_us]
    return [(one.cause, one.to_us - one.from_us) for one in rows.itertuples()]


def counts(result: Result) -> dict[tuple[str, str], int]:
    return {(one.api, one.error): one.count for one in result.tables["requests"].itertuples(index=False)}


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_all_brokers_down_for_good_is_a_result(fidelity: str) -> None:
    result = simulate(world(at(30 * S, Kill(target=ALL))), fidelity=fidelity)  # type: ignore[arg-type]
    assert set(after(result, 30 * S)) == {("detection", 60 * S)}
    assert len(after(result, 30 * S)) == 12


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_who_has_no_broker_to_ask_tries_once_a_second_whatever_poll_does(protocol: str) -> None:
    """``reconnect.backoff.max.ms``: a connection is refused, and one look-up comes to nothing."""
    config = replace(AUTO, group_protocol=protocol)
    made = replace(world(at(30 * S, Kill(target=ALL))), groups=(group(3, client=config),))
    events = [simulate(replace(made, horizon_us=end * S)).manifest["events"] for end in (60, 160)]
    a_member_s = (events[1] - events[0]) / 3 / 100
    assert 0 < a_member_s < 5


def test_a_majority_of_controllers_that_is_gone_decides_nothing_and_goes_on_when_it_is_back() -> None:
    kills = [at(30 * S, Kill(target=Target("broker", "0-1", indices=(0, 1))))]
    gone = simulate(world(*kills))
    assert {length for _, length in after(gone, 30 * S)} == {60 * S}
    back = simulate(world(*kills, at(40 * S, StartMembers(target=Target("broker", "0"))), horizon_us=120 * S))
    assert max(length for _, length in after(back, 30 * S)) < 60 * S


def test_a_killed_follower_holds_up_commits_until_it_is_fenced() -> None:
    made = world(at(30 * S, Kill(target=Target("broker", "2"))))
    follower = moved(replace(made, topics=(replace(made.topics[0], replication_factor=1),)), seed=1)
    gaps = [later - earlier for earlier, later in zip(follower.committed_s, follower.committed_s[1:], strict=False)]
    assert 7.0 <= max(gaps) <= 15.0
    assert follower.result is not None
    assert counts(follower.result)["OffsetCommit", "COORDINATOR_NOT_AVAILABLE"] > 0


def test_a_restarted_broker_follows_and_leads_again_after_a_preferred_election() -> None:
    entry = at(30 * S, Restart(target=COORDINATOR, down=Distribution.constant(S)))
    stays = moved(world(entry, horizon_us=150 * S), seed=1)
    assert len(stays.loaded_s) == 1
    config = replace(QUIET, leader_imbalance_check_us=100 * S)
    returns = moved(world(entry, horizon_us=150 * S, config=config), seed=1)
    assert len(returns.loaded_s) == 2
    assert 100.0 < returns.loaded_s[1] < 101.0
    assert returns.rebalances(29.0) == 0


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_leaders_that_move_concern_their_readers_alone(fidelity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = at(30 * S, Restart(target=COORDINATOR, down=Distribution.constant(S)))
    made = world(entry, config=replace(QUIET, leader_imbalance_check_us=60 * S))
    told: list[int] = []
    readers = Clients._readers

    def heard(self: Clients, *whom: Any) -> list[Client]:
        found = readers(self, *whom)
        told.append(len(found))
        return found

    monkeypatch.setattr(Clients, "_readers", heard)
    few = simulate(made, fidelity=fidelity)  # type: ignore[arg-type]
    assert {1, 2} & {*told}, told
    monkeypatch.setattr(clients, "_is_concerned", lambda *_: True)
    told.clear()
    everybody = simulate(made, fidelity=fidelity)  # type: ignore[arg-type]
    assert {*told} == {3}
    assert few.manifest["digests"] == everybody.manifest["digests"]


def test_only_sigkill_needs_a_log_recovery() -> None:
    def back_s(stop: str) -> float:
        verb = Restart(target=ALL, stop=stop, down=Distribution.constant(10 * S))  # type: ignore[arg-type]
        made = world(at(30 * S, verb), brokers=1)
        failover = replace(made.cluster.failover, recovery=Distribution.constant(20 * S))
        return moved(replace(made, cluster=replace(made.cluster, failover=failover)), seed=1).loaded_s[0]

    assert back_s("kill") - back_s("close") > 12.0


def test_the_size_of_the_offsets_log_decides_how_long_a_load_takes() -> None:
    assert load_us(200 << 30) == 2 * MS + 2_048 * S
    made = world(at(30 * S, Close(target=COORDINATOR)))
    small = moved(made, seed=1)
    large = moved(replace(made, cluster=replace(made.cluster, offsets_log_bytes=100 << 20)), seed=1)
    assert large.loaded_s[0] - small.loaded_s[0] > 0.9
    assert large.result is not None
    assert counts(large.result)["OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"] > 0


def busy_for(each_us: int) -> Scenario:
    made = world(at(30 * S, Kill(target=COORDINATOR)), horizon_us=60 * S)
    timing = replace(made.cluster.timing, leader_change=Distribution.constant(each_us))
    return replace(made, cluster=replace(made.cluster, timing=timing))


def test_a_broker_serves_what_it_leads_anew_one_after_the_other_and_loads_coordinators_at_last() -> None:
    """17 offsets partitions and 4 others are dealt out to two brokers: 10 or 11 of 100 ms each."""
    quick, slow = moved(busy_for(0), seed=1), moved(busy_for(100 * MS), seed=1)
    assert slow.loaded_s[0] - quick.loaded_s[0] == pytest.approx(1.05, abs=0.051)
    assert slow.result is not None
    assert quick.result is not None
    gaps = [sorted(length for _, length in after(one.result, 30 * S)) for one in (quick, slow)]
    assert len({length // (50 * MS) for length in gaps[1]}) > len({length // (50 * MS) for length in gaps[0]})
    assert 0.3 < (gaps[1][-1] - gaps[0][-1]) / 1e6 < 2.2


def test_the_first_fifty_that_a_broker_takes_over_cost_more_than_hundreds_after_them() -> None:
    assert [time_us(count, 20 * MS) for count in (0, 1, 50, 51, 450)] == [0, 20 * MS, S, S + 5 * MS, 3 * S]


def test_a_process_that_was_started_again_takes_longer_once() -> None:
    timing = replace(Timing(), leader_change=Distribution.constant(MS), first_leader_change=Distribution.constant(S))
    broker = SimpleNamespace(incarnation=0)
    leaders = LocalLeaders(Streams(1), timing, {0: broker})  # type: ignore[dict-item]
    assert [*islice(leaders.led_after(0, 1), 2)] == [MS, 2 * MS]
    broker.incarnation = 1
    assert [*islice(leaders.led_after(0, 2), 0)] == []
    assert [*islice(leaders.led_after(0, 3), 2)] == [S + MS, S + 2 * MS]
    assert [*islice(leaders.led_after(0, 4), 1)] == [MS]


def test_a_follower_that_is_early_is_refused_and_waits_for_a_second() -> None:
    loading = Loading.__new__(Loading)
    control = ReplicationControl()
    control.add(("t", 0), (0, 1, 2))
    loading._control = control
    loading._brokers = {node: SimpleNamespace(is_up=node != 2) for node in range(3)}  # type: ignore[misc]
    for heard_us, moves_us in ((7 * S, 7 * S), (5 * S, 5 * S), (5 * S - 1, 6 * S - 1), (3 * S + 1, 5 * S + 1)):
        loading._heard_us = {1: heard_us, 2: 90 * S}
        assert loading._followed_us(("t", 0), 5 * S) == moves_us


def test_who_leads_next_is_spread_over_all_others() -> None:
    replicas = [spread((4, 5, 6, 7), number, number, 3) for number in range(12)]
    assert [one[0] for one in replicas] == [4, 5, 6, 7] * 3
    assert sorted(one[1] for one in replicas if one[0] == 4) == [5, 6, 7]
    assert all(len({*one}) == 3 for one in replicas)
    assert spread((4,), 9, 9, 1) == [4]


def test_offsets_partitions_have_replicas_in_as_many_racks_as_there_are() -> None:
    racks = {0: "a", 1: "a", 2: "b", 3: "b", 4: "c", 5: "c"}
    replicas = [Catalog((), tuple(racks), racks).offsets_replicas(number, 3) for number in range(12)]
    assert [one[0] for one in replicas] == [0, 1, 2, 3, 4, 5] * 2
    assert [sorted(racks[node] for node in one) for one in replicas] == [["a", "b", "c"]] * 12
    without = Catalog((), tuple(racks))
    assert [without.offsets_replicas(number, 3) for number in range(12)] == [
        spread(tuple(racks), number, number, 3) for number in range(12)
    ]


def test_what_a_shard_answers_that_is_being_loaded() -> None:
    errors = [
        while_loading(request).error
        for request in (
            Heartbeat("m", None, 1), SyncGroup("m", None, 1), OffsetCommit("m", None, 1, [], []),  # type: ignore[arg-type]
        )
    ]  # fmt: skip
    assert errors == [Error.NONE, Error.REBALANCE_IN_PROGRESS, Error.COORDINATOR_LOAD_IN_PROGRESS]


def test_a_member_that_died_with_the_broker_is_found_a_session_after_the_load() -> None:
    timeline: tuple[Verb, ...] = (Kill(target=COORDINATOR), Kill(target=Target("group", "g", "index", (2,))))
    one = moved(world(*(at(30 * S, verb) for verb in timeline)), seed=1)
    assert one.result is not None
    started = one.result.tables["rebalances"].start_us.max() / 1e6
    assert one.loaded_s[0] + 10.0 == pytest.approx(started, abs=0.01)


def test_a_rebalance_that_is_interrupted_starts_over_when_the_group_is_loaded() -> None:
    timeline = (at(30 * S, Kill(target=Target("group", "g", "index", (2,)), down=Distribution.constant(S))),)
    slow = replace(AUTO, max_poll_interval_us=20 * S)
    made = world(*timeline, at(31 * S + 900 * MS, Kill(target=COORDINATOR)), horizon_us=120 * S)
    one = moved(replace(made, groups=(group(3, client=slow),)), seed=1)
    assert one.result is not None
    states = one.result.tables["states"]
    assert states.state.iloc[-1] == "Stable"
    assert one.result.summary.end_state.iloc[0] == "Stable"


def test_a_broker_that_is_down_already_is_skipped_and_told() -> None:
    twice = simulate(
        world(at(30 * S, Kill(target=Target("broker", "1"))), at(31 * S, Kill(target=Target("broker", "1"))))
    )
    assert twice.warnings == ["Kill-31000000 at 31.000 s: no broker of broker:1 is up"]
