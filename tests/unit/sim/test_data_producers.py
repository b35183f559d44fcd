"""Producers, record by record: what becomes of what they send when leaders die (``Sender``, Kafka 4.4)."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.client.producing.data_producer import DataProducer
from groupsim.sim.cluster.topics.data_logs import DataLogs
from groupsim.sim.config import ProducerConfig
from groupsim.sim.model import Distribution, ElectLeaders, Entry, Kill, Network, Producers, Scenario, StartMembers
from groupsim.sim.units import MS, S
from tests.support.dying_logs import broker, replicas, the_one_behind_leads, world
from tests.support.fidelity import differences
from tests.support.scenarios import at
from tests.unit.sim.scenes import constant

KILL = at(20 * S + 3 * MS, Kill(target=broker("leader/t/0")))
SLOW_LINK = Network(latency=Distribution.constant(10 * MS))
"""What a follower lacks is up to 20 ms of records."""
RATE = 250
"""Records a second, to one partition."""
PLAIN = {"enable_idempotence": False, "max_in_flight": 5}
SEEDS = (1, 2)


def sent_by(made: Scenario, count: int = 1, **config: Any) -> Scenario:
    """The same, with producers."""
    given = ProducerConfig(**{"linger_us": 0, "batch_bytes": 1 << 18, **config})
    topic = replace(made.topics[0], rate=constant(1000 * RATE), acks={0: "0", 1: "1", -1: "all"}[given.acks])  # type: ignore[arg-type]
    shop = Producers(name="shop", topics=("t",), count=count, config=given)
    return replace(made, topics=(topic,), producers=(shop,), cluster=replace(made.cluster, network=SLOW_LINK))


def producing(*timeline: Entry, horizon_s: int = 32, **config: Any) -> Scenario:
    """A topic of one partition on three brokers."""
    topic = config.pop("topic", {})
    return sent_by(world(*timeline, horizon_us=horizon_s * S, **topic), **config)


def fates(scenario: Scenario, seed: int = 1) -> dict[str, int]:
    """Table ``producers``, summed up."""
    return summed(simulate(scenario, seed=seed))


def summed(result: Result) -> dict[str, int]:
    """Table ``producers`` of a run, summed up."""
    numbers = result.tables["producers"].drop(columns=["producer", "topic", "partition"]).sum()
    return {str(name): int(value) for name, value in numbers.items()}


def test_where_nothing_happens_everything_is_there_once_and_in_order() -> None:
    seen = fates(producing(horizon_s=20))
    assert seen["records"] == pytest.approx(20 * RATE, abs=2)
    assert seen["in_log"] + seen["open"] >= seen["records"] > seen["acknowledged"] >= seen["records"] - 60
    wrong = ("failed", "retries", "truncated_leader", "truncated_unclean", "lost_unsent", "duplicated", "reordered")
    assert {seen[name] for name in wrong} == {0}


def test_a_request_that_is_answered_in_time_is_no_event_when_that_time_is_over() -> None:
    runs = [simulate(producing(horizon_s=5, request_timeout_us=limit_us)) for limit_us in (2 * S, 30 * S)]
    assert runs[0].manifest["events"] == runs[1].manifest["events"]


def test_producers_share_what_is_sent() -> None:
    result = simulate(producing(horizon_s=10, count=3))
    each = result.tables["producers"].records.to_list()
    assert len(each) == 3
    assert sum(each) == pytest.approx(10 * RATE, abs=2)
    assert max(each) - min(each) <= 1


def test_with_acks_1_a_leader_that_dies_takes_what_it_has_acknowledged() -> None:
    seen = [fates(producing(KILL, acks=1, **PLAIN), seed) for seed in SEEDS]
    assert 0 < sum(one["truncated_leader"] for one in seen) <= 20 * len(SEEDS)
    for one in seen:
        assert one["truncated_unclean"] == one["lost_unsent"] == one["failed"] == 0
        assert one["in_log"] >= one["acknowledged"] - one["truncated_leader"]


def test_with_acks_all_nothing_that_was_acknowledged_is_lost_and_idempotence_writes_it_once() -> None:
    for seed in SEEDS:
        seen = fates(producing(KILL), seed)
        assert 0 < seen["retries"] <= 5, "what was under way, once: nothing is sent to who is not there"
        assert {
            seen[name] for name in ("truncated_leader", "truncated_unclean", "failed", "duplicated", "reordered")
        } == {0}


def test_without_idempotence_retries_write_twice_and_out_of_order() -> None:
    """What followers have and nobody has acknowledged is sent again; what failed last goes first."""
    seen = [fates(producing(KILL, **PLAIN), seed) for seed in SEEDS]
    assert all(one["truncated_leader"] == 0 for one in seen)
    assert sum(one["duplicated"] for one in seen) > 0
    assert sum(one["reordered"] for one in seen) > 0


def test_one_request_at_a_time_keeps_the_order_and_may_write_twice() -> None:
    kills = [at(20 * S + later * MS, Kill(target=broker("leader/t/0"))) for later in (3, 13, 23, 33)]
    seen = [fates(producing(kill, enable_idempotence=False, max_in_flight=1)) for kill in kills]
    assert {one["reordered"] for one in seen} == {0}
    assert sum(one["duplicated"] for one in seen) > 0


def test_with_acks_0_nobody_hears_of_what_is_on_its_way_to_a_leader_that_dies() -> None:
    seen = fates(producing(KILL, acks=0, **PLAIN))
    assert seen["lost_unsent"] > 0
    assert seen["retries"] == seen["failed"] == 0


@pytest.mark.parametrize(("is_unclean", "least", "most"), [(False, 0, 0), (True, 39 * RATE, 40 * RATE)])
def test_an_unclean_election_loses_what_all_in_sync_had(is_unclean: bool, least: int, most: int) -> None:
    """From 30 s to 70 s the leader was alone; acks=all waited for nobody once the ISR was it."""
    seen = fates(sent_by(the_one_behind_leads(unclean_leader_election=is_unclean)))
    assert least <= seen["truncated_unclean"] <= most
    assert seen["truncated_leader"] == 0


def test_what_cannot_be_delivered_in_time_is_given_up_and_the_application_knows() -> None:
    """delivery.timeout.ms of 5 s; the only replica is away for 15 s."""
    back = at(35 * S, StartMembers(target=broker("all")))
    lonely = producing(
        KILL, back, horizon_s=60, topic={"replication_factor": 1}, delivery_timeout_us=5 * S, request_timeout_us=4 * S
    )
    seen = fates(lonely)
    assert seen["failed"] > 5 * RATE
    assert seen["truncated_leader"] == seen["truncated_unclean"] == seen["duplicated"] == seen["reordered"] == 0
    assert seen["in_log"] - seen["failed_in_log"] >= seen["acknowledged"]


def test_with_too_few_in_sync_producers_that_wait_for_all_are_refused() -> None:
    """NOT_ENOUGH_REPLICAS is retriable: nothing is lost, and it takes as long as a broker is missing."""
    two = {"replication_factor": 2, "min_insync_replicas": 2}
    away, back = at(20 * S, Kill(target=broker("leader/t/0"))), at(40 * S, StartMembers(target=broker("all")))
    seen = fates(producing(away, back, horizon_s=70, topic=two))
    assert seen["took_us_max"] > 15 * S
    assert seen["truncated_leader"] == seen["failed"] == seen["duplicated"] == 0


def test_who_waits_for_all_in_sync_is_answered_when_they_have_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two mean latencies after the append, whoever else writes to the partition meanwhile."""
    arrived, waited = dict[Any, int](), set[int]()
    receive, reply = DataLogs.receive, DataLogs._reply

    def received(logs: DataLogs, exchange: Any) -> None:
        arrived[exchange] = logs._env.now
        receive(logs, exchange)

    def replied(logs: DataLogs, exchange: Any, responses: Any) -> None:
        waited.add(logs._env.now - arrived[exchange])
        reply(logs, exchange, responses)

    monkeypatch.setattr(DataLogs, "receive", received)
    monkeypatch.setattr(DataLogs, "_reply", replied)
    simulate(producing(horizon_s=5, count=3, **PLAIN))
    assert waited == {20 * MS}


def test_what_followers_do_not_fetch_in_time_is_sent_again() -> None:
    """request.timeout.ms of 2 s, a follower that is away for 9 s: REQUEST_TIMED_OUT is retriable."""
    seen = fates(producing(*FOLLOWER_AWAY, request_timeout_us=2 * S))
    assert seen["retries"] >= 3
    assert seen["took_us_max"] > 8 * S
    assert seen["truncated_leader"] == seen["failed"] == seen["duplicated"] == 0


def test_who_is_told_by_a_former_leader_that_it_leads_no_more_reads_who_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The preferred one leads again, and the other one is still there: nothing is sent to that any more (KIP-951)."""
    asked, ask = list[int](), DataProducer._ask

    def asks(producer: DataProducer, now: int) -> None:
        asked.append(now)
        ask(producer, now)

    monkeypatch.setattr(DataProducer, "_ask", asks)
    back, elected = at(24 * S, StartMembers(target=broker("all"))), at(36 * S, ElectLeaders())
    seen = fates(producing(KILL, back, elected, horizon_s=50))
    assert seen["records"] - seen["acknowledged"] < RATE
    assert seen["retries"] < 20
    assert 20 * S < max(asked) < 36 * S


def test_both_fidelities_agree() -> None:
    assert not differences(producing(KILL, acks=1, **PLAIN), seed=1, check=False)


AWAY = (KILL, at(28 * S, StartMembers(target=broker("all"))))
FOLLOWER_AWAY = (at(20 * S, Kill(target=broker(str(replicas(world())[1])))),)
"""Who waits for all in sync waits for it for nine seconds."""
KEYS: dict[str, tuple[dict[str, Any], Any]] = {
    "acks": (PLAIN, 1),
    "enable_idempotence": ({}, False),
    "retries": ({}, 0),
    "max_in_flight": ({}, 1),
    "delivery_timeout_us": ({}, 2 * S),
    "request_timeout_us": ({}, 2 * S),
    "linger_us": ({}, 50 * MS),
    "batch_bytes": ({"linger_us": 50 * MS}, 8192),
    "retry_backoff_us": ({}, 5 * S),
    "retry_backoff_max_us": ({"retry_backoff_us": 5 * S, "retry_backoff_max_us": 5 * S}, S),
}
"""Field -> what it is changed beside, and to what."""


@cache
def fates_away(timeline: tuple[Entry, ...], config: tuple[tuple[str, Any], ...]) -> dict[str, int]:
    """Of producers with this configuration, kept: many keys are compared with the same."""
    return fates(producing(*timeline, horizon_s=40, **dict(config)))


@pytest.mark.parametrize("field", KEYS)
def test_every_key_changes_the_table(field: str) -> None:
    beside, value = KEYS[field]
    timeline = FOLLOWER_AWAY if field == "request_timeout_us" else AWAY
    one, other = (fates_away(timeline, tuple({**beside, **changed}.items())) for changed in ({}, {field: value}))
    assert one != other


def test_every_key_has_a_case() -> None:
    elsewhere = {"transaction_timeout_us"}
    assert set(KEYS) == {field.name for field in fields(ProducerConfig)} - elsewhere


@pytest.mark.parametrize("max_in_flight", [1, 5])
def test_every_partition_is_written_to_at_its_rate(max_in_flight: int) -> None:
    """Sixty partitions on three brokers 10 ms away: a request has a batch of each that its broker leads."""
    made = producing(horizon_s=8, topic={"partitions": 60}, max_in_flight=max_in_flight)
    table = simulate(replace(made, topics=(replace(made.topics[0], rate=constant(20_000)),))).tables["producers"]
    assert len(table) == 60
    assert table.records.min() >= 159
    assert (table.records - table.acknowledged).max() <= 4, "a fifth of a second"
