"""Shards whose event loop is busy: what is measured, what is said of it, and what it does to members."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from groupsim.sim import simulate
from groupsim.sim.books.shard_books import ShardBooks
from groupsim.sim.client.coordination.requests import Requests
from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.cluster.groups.shards import Shards
from groupsim.sim.cluster.shard.event_loop import EVENTS, PARKED
from groupsim.sim.cluster.shard.offered_load import offered_by
from groupsim.sim.config import CoordinatorConfig, EventTimes
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Entry, Override, Processing, Scenario
from groupsim.sim.protocol.messages import Api
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import client, group, kill, scenario

TIMES = EventTimes(heartbeat_us=40 * MS, commit_us=30 * MS)
OFTEN = client(heartbeat_interval_us=500 * MS, session_timeout_us=6 * S, enable_auto_commit=True)


def crowd(members: int, *timeline: Entry, times: EventTimes = TIMES, **changes: Any) -> Scenario:
    """Members that send two heartbeats a second."""
    one = scenario(group(members, client=OFTEN), *timeline, horizon_us=90 * S, rate_mrps=1_000, **changes)
    return replace(one, cluster=replace(one.cluster, event_times=times))


def coordinator(one: Scenario, seed: int = 1) -> dict[str, Any]:
    """The only row of table ``coordinators``."""
    (row,) = simulate(one, seed=seed).tables.rows("coordinators")
    return row


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> list[ShardBooks]:
    """Those of every shard of the runs of a test."""
    found: list[ShardBooks] = []
    finish = Shards.finish

    def observed(shards: Shards, *arguments: Any) -> None:
        finish(shards, *arguments)
        found.extend(shards.books.values())

    monkeypatch.setattr(Shards, "finish", observed)
    return found


@pytest.mark.parametrize("members", [7, 12, 40])
@pytest.mark.parametrize("seed", [1, 2])
def test_littles_law_holds_to_the_microsecond_in_a_loud_run(members: int, seed: int, books: list[ShardBooks]) -> None:
    """The integral of the queue's length is what all requests have waited, and what those still wait that are in it."""
    row = coordinator(crowd(members, kill(40 * S, 0)), seed)
    (shard,) = books
    assert row["basis"] == "queue"
    assert shard.waited_us == sum(shard.waits_us) + sum(90 * S - arrived for arrived in shard.arrivals) > 0


def test_a_metered_shard_is_busy_for_what_its_requests_take(books: list[ShardBooks]) -> None:
    one = crowd(9)
    result = simulate(one, seed=1)
    taken = 0
    for api, _, count in (list(row.values())[1:] for row in result.tables.rows("requests")):
        for kind, name in EVENTS.items():
            if kind.value == api:
                taken += count * (getattr(TIMES, name) + (TIMES.answer_us if kind in PARKED else 0))
    (shard,) = books
    assert shard.busy_us == pytest.approx(taken, abs=2 * TIMES.heartbeat_us)


def test_a_shard_cannot_keep_up_from_the_members_on_that_the_table_says() -> None:
    """With 2 heartbeats of 40 ms and 0.2 commits of 30 ms a second, 12 members offer more than there is."""
    assert coordinator(crowd(9))["saturated_from"] == 12
    below, above, far = (coordinator(crowd(count, measure_from_us=30 * S)) for count in (11, 13, 26))
    assert below["utilisation"] < 0.96
    assert above["utilisation"] > 0.99
    assert far["utilisation"] > 0.99
    assert below["wait_p99_us"] < S < far["wait_p50_us"]


def oldest_heartbeat_us(one: Scenario, monkeypatch: pytest.MonkeyPatch) -> int:
    """How long after it was sent a heartbeat was answered, at most; those do not count that come with the start."""
    ages, deliver = [0], Requests.deliver

    def observed(requests: Requests, exchange: Exchange, response: Any) -> None:
        if exchange.api in (Api.HEARTBEAT, Api.CONSUMER_GROUP_HEARTBEAT) and exchange.sent_us > 30 * S:
            ages.append(requests._env.now - exchange.sent_us)
        deliver(requests, exchange, response)

    with monkeypatch.context() as patched:
        patched.setattr(Requests, "deliver", observed)
        simulate(one, seed=1)
    return max(ages)


def test_heartbeats_queue_longer_than_the_session_from_the_members_on_that_the_table_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert coordinator(crowd(9))["starved_from"] == 12
    assert oldest_heartbeat_us(crowd(11), monkeypatch) < 2 * S
    assert oldest_heartbeat_us(crowd(14), monkeypatch) > 6 * S


def test_members_of_the_consumer_protocol_wait_for_an_answer_before_they_send_the_next_heartbeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that it takes more of them until a heartbeat waits for a session."""
    config = CoordinatorConfig(consumer_session_timeout_us=6 * S, consumer_min_session_timeout_us=6 * S)
    often = replace(config, consumer_heartbeat_interval_us=S, consumer_min_heartbeat_interval_us=S)
    times = EventTimes(consumer_heartbeat_us=300 * MS, commit_us=100 * MS)

    def run(members: int) -> Scenario:
        one = scenario(group(members, client=client(group_protocol="consumer")), horizon_us=90 * S, config=often)
        return replace(one, cluster=replace(one.cluster, event_times=times))

    row = coordinator(run(4))
    assert (row["saturated_from"], row["starved_from"]) == (4, 20)
    assert oldest_heartbeat_us(run(17), monkeypatch) < 6 * S < oldest_heartbeat_us(run(24), monkeypatch)


def test_what_a_busy_shard_means_is_said_in_words() -> None:
    found = simulate(crowd(9), seed=1).warnings
    assert len(found) == 1
    assert "offsets partition" in found[0]
    assert "(g)" in found[0]
    assert "it has 9 members, and from 12 on it cannot keep up" in found[0]
    assert "from 12 members on heartbeats queue longer than the session" in found[0]
    assert simulate(crowd(9, times=EventTimes()), seed=1).warnings == []


def test_more_threads_do_not_help_one_shard_and_one_thread_is_shared_by_all() -> None:
    names = ["a", "b", "c", "d"]
    assert len({partition_for(name, 50) for name in names}) == 4

    def busiest_wait(threads: int, groups: int) -> int:
        one = crowd(6, config=CoordinatorConfig(coordinator_threads=threads))
        alike = tuple(replace(one.groups[0], name=name) for name in names[:groups])
        rows = simulate(replace(one, groups=alike), seed=1).tables.rows("coordinators")
        return max(row["wait_p99_us"] for row in rows)

    assert busiest_wait(4, 1) == busiest_wait(1, 1)
    assert busiest_wait(4, 4) == busiest_wait(8, 4) == busiest_wait(4, 1)
    assert busiest_wait(1, 4) > 5 * busiest_wait(4, 4)


def test_a_timer_waits_for_its_turn_among_the_requests() -> None:
    """A member that is killed is evicted when its session is over and the event loop has come to see it."""
    idle, busy = (simulate(crowd(11, kill(40 * S, 0), times=times), seed=1) for times in (EventTimes(), TIMES))
    assert idle.summary["evictions"].item() == busy.summary["evictions"].item() == 1


def test_what_is_offered_by_who_commits_each_batch_is_bounded_by_the_records_that_there_are() -> None:
    often = Processing(commit="after_batch")
    one = scenario(group(10, client=client(), processing=often), horizon_us=10 * S, partitions=4, rate_mrps=3_000)
    assert offered_by(one, one.groups[0], 10, {"t": one.topics[0]}).commits.rate_per_s == pytest.approx(12)
    rich = scenario(group(10, client=client(), processing=often), horizon_us=10 * S, partitions=4, rate_mrps=10**9)
    assert offered_by(rich, rich.groups[0], 10, {"t": rich.topics[0]}).commits.rate_per_s == pytest.approx(10 / 3e-3)


@pytest.mark.parametrize("processing", [Processing(commit="after_batch"), Processing(commit="none")])
def test_a_group_that_can_have_no_member_offers_nothing(processing: Processing) -> None:
    one = scenario(group(0, client=client(enable_auto_commit=False), processing=processing), horizon_us=10 * S)
    offered = offered_by(one, one.groups[0], 0, {"t": one.topics[0]})
    assert offered.heartbeats.rate_per_s == offered.commits.rate_per_s == 0
    assert simulate(one, seed=1).summary["generations"].item() == 0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_shard_that_is_not_metered_is_busy_with_rebalances_too(protocol: str) -> None:
    """Of the end of each join phase and each assignment, or of each epoch, there is as much as of rebalances."""
    nothing = EventTimes(**dict.fromkeys(EventTimes.__dataclass_fields__, 0))
    times = replace(nothing, heartbeat_us=1, consumer_heartbeat_us=1, round_us=50 * MS, change_us=100 * MS)
    one = scenario(group(3, client=client(group_protocol=protocol)), kill(40 * S, 0), horizon_us=90 * S)
    result = simulate(replace(one, cluster=replace(one.cluster, event_times=times)), seed=1)
    (row,) = result.tables.rows("coordinators")
    changes = result.summary["rebalances" if protocol == "classic" else "generations"].item()
    assert changes >= 2
    assert row["basis"] == "formula"
    assert row["utilisation"] == pytest.approx(changes * 100 * MS / (90 * S), rel=0.001)


def test_heartbeats_of_both_protocols_in_one_group_take_what_they_take_on_average() -> None:
    times = EventTimes(heartbeat_us=10, consumer_heartbeat_us=40, commit_us=0)
    newer = Override(members=frozenset({0}), client=client(group_protocol="consumer"))
    one = scenario(group(3, client=client(), overrides=(newer,)), horizon_us=10 * S)
    one = replace(one, cluster=replace(one.cluster, event_times=times))
    beats = offered_by(one, one.groups[0], 3, {"t": one.topics[0]}).heartbeats
    newer_per_s, older_per_s = 1 / 5, 2 / 3
    assert beats.rate_per_s == pytest.approx(newer_per_s + older_per_s)
    assert beats.service_us == round((40 * newer_per_s + 10 * older_per_s) / (newer_per_s + older_per_s))


def commit_ages_us(linger_us: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long after they were sent commits of a shard that is busy for nine tenths were answered."""
    ages, deliver = list[int](), Requests.deliver

    def observed(requests: Requests, exchange: Exchange, response: Any) -> None:
        if exchange.api is Api.OFFSET_COMMIT and exchange.sent_us > 20 * S:
            ages.append(requests._env.now - exchange.sent_us)
        deliver(requests, exchange, response)

    with monkeypatch.context() as patched:
        patched.setattr(Requests, "deliver", observed)
        simulate(crowd(11, config=CoordinatorConfig(append_linger_us=linger_us)), seed=1)
    return ages


def test_commits_wait_for_what_was_in_the_queue_when_their_batch_was_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that meets nobody waits for its own 30 ms; on average there are several requests of 40 ms in the queue."""
    at_once, adaptive = (commit_ages_us(linger_us, monkeypatch) for linger_us in (0, -1 * MS))
    assert len(at_once) == len(adaptive) > 100
    assert min(adaptive) == min(at_once) + TIMES.commit_us
    assert np.mean(adaptive) > np.mean(at_once) + TIMES.commit_us + 2 * TIMES.heartbeat_us


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_commits_at_every_pass_are_offered_as_such(protocol: str) -> None:
    """``auto.commit.interval.ms=0`` is allowed: no interval to divide by, and in both fidelities the same tables."""
    eager = replace(OFTEN, group_protocol=protocol, auto_commit_interval_us=0)
    one = scenario(group(2, client=eager, processing=Processing(poll_timeout_us=100 * MS)), horizon_us=20 * S)
    spec = one.groups[0]
    assert offered_by(one, spec, 2, {topic.name: topic for topic in one.topics}).commits.rate_per_s >= 2 * 10
    assert not differences(one, 1)
