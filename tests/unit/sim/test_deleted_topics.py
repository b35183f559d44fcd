"""Topics that are deleted: who hears of it when, and what it does to them, in both fidelities alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from groupsim.sim import Result
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.config import ClientBehaviour, ClientConfig
from groupsim.sim.model import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    Distribution,
    RollingRestart,
    Scale,
    Scenario,
    SetRate,
    Start,
    Subscription,
    Topic,
)
from groupsim.sim.units import MS, S
from tests.support.consumer_scenarios import consumer_scenario
from tests.support.fidelity import differences
from tests.support.random_scenarios import random_scenario
from tests.unit.sim.scenes import (
    PROCESSING,
    constant,
    delivered,
    entry,
    everybody,
    group,
    rows,
    scene,
    simulate,
    summary,
)

DELETED_US = 20 * S
DELETED = entry(DELETED_US, DeleteTopic(topic="u"))
PATIENCE_US = 30 * S
CLASSIC = ClientConfig(
    auto_offset_reset="earliest", partition_assignment_strategy=("range",), heartbeat_interval_us=S,
    max_poll_interval_us=PATIENCE_US,
)  # fmt: skip
COOPERATIVE = replace(CLASSIC, partition_assignment_strategy=("cooperative-sticky",))
CONSUMER = replace(CLASSIC, group_protocol="consumer")
PROTOCOLS = pytest.mark.parametrize(
    "client", [CLASSIC, COOPERATIVE, CONSUMER], ids=["eager", "cooperative", "consumer"]
)
NOBODY_COMMITS = replace(PROCESSING, commit="none")


def world(client: ClientConfig, *timeline: Any, horizon_us: int = 60 * S, **more: Any) -> Scenario:
    """Three members read ``t`` and ``u``, of four partitions each; ``u`` is deleted after 20 s."""
    rate = constant(10_000)
    topics = tuple(Topic(name=name, partitions=4, rate=rate) for name in ("t", "u"))
    readers = group(**{"count": 3, "client": client, "subscription": Subscription(topics=("t", "u")), **more})
    return scene(readers, timeline=timeline or (DELETED,), topics=topics, horizon_us=horizon_us)


def next_round(result: Result) -> Any:
    """The first rebalance after that."""
    return next(one for one in rows(result, "rebalances") if one["start_us"] > DELETED_US)


def owners(result: Result, topic: str) -> list[str]:
    """Who reads each partition of a topic at the end."""
    return [one["member"] for one in rows(result, "ownership", topic=topic, ended_by="horizon")]


# --- members hear of it -----------------------------------------------------------------------------------------------


@PROTOCOLS
def test_what_is_left_is_shared_out_anew(client: ClientConfig) -> None:
    """Nobody reads the topic from then on, and all of the other one is read by everybody."""
    scenario = world(client, processing=NOBODY_COMMITS)
    result = simulate(scenario)
    ends = rows(result, "ownership", topic="u", ended_by="topic deleted")
    assert [one["to_us"] for one in ends] == [DELETED_US] * 4
    assert owners(result, "u") == []
    assert len(owners(result, "t")) == 4
    assert next_round(result)["ended_by"] == "stable"
    assert not differences(scenario, 1)


@pytest.mark.parametrize("client", [CLASSIC, COOPERATIVE], ids=["eager", "cooperative"])
def test_a_leader_that_reads_it_hears_of_it_from_its_fetch_not_after_metadata_max_age(client: ClientConfig) -> None:
    """Its parked fetch is answered, it asks for metadata, and joins again: each takes a round trip, or a poll()."""
    round_ = next_round(simulate(world(replace(client, metadata_max_age_us=300 * S), processing=NOBODY_COMMITS)))
    assert round_["reason"].endswith("cached metadata has changed")
    assert DELETED_US < round_["start_us"] < DELETED_US + 400 * MS


def apart(*timeline: Any, age_us: int) -> Scenario:
    """The second of two or three members reads the one partition of ``u``, and the first leads and knows nothing."""
    client = replace(CLASSIC, partition_assignment_strategy=("roundrobin",), metadata_max_age_us=age_us)
    found = world(client, *(timeline or (DELETED,)), count=2, static=True, start=Start(kind="every", value_us=5 * S))
    topics = (replace(found.topics[0], partitions=7), replace(found.topics[1], partitions=1))
    return replace(found, topics=topics, horizon_us=100 * S)


def test_a_leader_that_reads_none_of_it_finds_out_with_its_next_refresh() -> None:
    scenario = apart(age_us=40 * S)
    result = simulate(scenario)
    (reader,) = rows(result, "ownership", topic="u", to_us=DELETED_US)
    assert reader["member"] == "g/1"
    assert 40 * S < next_round(result)["start_us"] < 41 * S
    assert next_round(result)["reason"].endswith("cached metadata has changed")
    assert not differences(scenario, 1)


def test_who_is_given_a_topic_that_is_no_more_has_no_position_in_it_and_does_not_commit_it() -> None:
    """A member that joins makes everybody join while the leader knows nothing: commits are refused until then."""
    scenario = apart(DELETED, entry(25 * S, Scale(target=everybody(), to=3)), age_us=300 * S)
    result = simulate(scenario)
    after = next_round(result)["end_us"]
    assert 25 * S + PATIENCE_US < after < 25 * S + PATIENCE_US + 3 * S
    assert rows(result, "rebalances")[-1]["end_us"] < 65 * S
    tries = (after - DELETED_US) / (100 * MS)
    assert 0.7 * tries < repeated(result) < 1.1 * tries
    assert not differences(scenario, 1)


def test_a_coordinator_hears_of_it_from_its_broker_and_bumps_the_epoch_with_the_next_heartbeat() -> None:
    timing = replace(world(CONSUMER).cluster.timing, metadata=Distribution.constant(7 * S))
    late = replace(world(CONSUMER), cluster=replace(world(CONSUMER).cluster, timing=timing))
    at_once, later = (next_round(simulate(one)) for one in (world(CONSUMER), late))
    assert at_once["reason"] == later["reason"] == "metadata of subscribed topics have changed"
    assert DELETED_US < at_once["start_us"] < DELETED_US + 5 * S
    assert DELETED_US + 7 * S < later["start_us"] < DELETED_US + 12 * S


def test_members_with_a_pattern_of_their_own_match_no_more() -> None:
    for client in (CLASSIC, CONSUMER):
        scenario = world(client, subscription=Subscription(pattern="[tu]"), processing=NOBODY_COMMITS)
        result = simulate(scenario)
        assert len(owners(result, "t")) == 4
        assert next_round(result)["ended_by"] == "stable"
        assert not differences(scenario, 1)


def test_a_pattern_of_the_brokers_loses_it() -> None:
    scenario = world(CONSUMER, subscription=Subscription(re2="[tu]"))
    assert next_round(simulate(scenario))["reason"] == "metadata of subscribed topics have changed"
    assert not differences(scenario, 1)


def test_who_reads_other_topics_notices_nothing() -> None:
    """A second group reads ``t`` alone: its rows are those of a run in which nothing is deleted."""
    for client in (CLASSIC, CONSUMER):
        others = group("others", count=2, client=client)
        with_it, without = (
            simulate(replace(one, groups=(*one.groups, others)))
            for one in (world(client), replace(world(client), timeline=()))
        )
        for table in ("ownership", "unavailability", "rebalances", "requests", "lag"):
            assert str(rows(with_it, table, group="others")) == str(rows(without, table, group="others")), table


def test_who_reads_it_and_subscribes_to_it_by_name_asks_for_it_again_and_again() -> None:
    """100, 200, 400, 800 ms, then every second, with a jitter of a fifth; who reads none of it does not know."""

    def asked(scenario: Scenario) -> int:
        return sum(one["count"] for one in rows(simulate(scenario), "requests", api="Metadata"))

    result = simulate(world(CONSUMER))
    readers = {one["member"] for one in rows(result, "ownership", topic="u", ended_by="topic deleted")}
    assert len(readers) == 2
    usual = asked(replace(world(CONSUMER), timeline=()))
    assert 2 * (4 + 36) <= asked(world(CONSUMER)) - usual <= 2 * (5 + 48)
    for client in (CLASSIC, CONSUMER):
        assert not differences(world(replace(client, metadata_max_age_us=7 * S)), 1)


# --- offsets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", [CLASSIC, CONSUMER], ids=["classic", "consumer"])
def test_its_offsets_are_gone_once_the_coordinator_has_heard_and_nobody_commits_new_ones(client: ClientConfig) -> None:
    seen, hear = [], GroupHost.on_topic_deleted

    def heard(self: GroupHost, topic: str) -> None:
        gone = self.books.partitions.gone(topic)
        before = self.books.ledger.committed[gone].tolist()
        hear(self, topic)
        seen.append((self._env.now, before, self))

    with patch.object(GroupHost, "on_topic_deleted", heard):
        simulate(world(client))
    ((time, before, host),) = seen
    assert DELETED_US <= time < DELETED_US + S
    assert min(before) > 0
    layout, committed = host.books.partitions, host.books.ledger.committed
    assert committed[layout.of("u")].tolist() == [-1] * 4
    assert committed[layout.of("t")].min() >= 200, "what else is in these commits is committed"


def repeated(result: Result) -> int:
    """Commits that met the topic that is no more."""
    return sum(one["count"] for one in rows(result, "requests", error="UNKNOWN_TOPIC_OR_PARTITION"))


@pytest.mark.parametrize("client", [CLASSIC, COOPERATIVE], ids=["eager", "cooperative"])
def test_the_commit_before_joining_is_repeated_until_max_poll_interval_ms_is_over(client: ClientConfig) -> None:
    """KAFKA-20959: the leader joins when its patience ends, and the others' ends when the coordinator's does."""
    scenario = world(client, horizon_us=100 * S)
    result = simulate(scenario)
    waited = next_round(result)
    at_once = next_round(simulate(world(client, processing=NOBODY_COMMITS)))
    is_eager = client is CLASSIC
    late_us = waited["start_us"] - at_once["start_us"] - PATIENCE_US
    assert 0 <= late_us <= (0 if is_eager else 200 * MS), "who reads on joins with the next poll()"
    assert waited["preparing_us"] == pytest.approx(PATIENCE_US, abs=S)
    assert (summary(result)["stop_the_world_s"] > 25) == is_eager, "who gives everything up at once reads nothing"
    assert repeated(result) > 3 * 200
    assert not differences(scenario, 1)


def test_who_does_not_repeat_it_joins_at_once() -> None:
    """Clients that are not Java's, Java's consumer protocol, and applications that do not commit at all."""
    other = replace(CLASSIC, behaviour=ClientBehaviour(repeats_deleted_commits=False))
    for scenario in (world(other), world(CONSUMER), world(CLASSIC, processing=NOBODY_COMMITS)):
        result = simulate(scenario)
        assert next_round(result)["end_us"] < DELETED_US + 6 * S
        assert repeated(result) < 3 * 4


def test_an_application_that_waits_for_its_commit_stands_still_until_default_api_timeout_ms_is_over() -> None:
    """commitSync is repeated every retry.backoff.ms; then poll() joins again."""
    waits = replace(PROCESSING, commit="after_batch", commit_waits=True)
    client = replace(CLASSIC, default_api_timeout_us=15 * S)
    scenario = world(client, processing=waits)
    result = simulate(scenario)
    assert DELETED_US + 15 * S < next_round(result)["start_us"] < DELETED_US + 16 * S
    assert repeated(result) > 3 * 100
    assert not differences(scenario, 1)


# --- what is counted --------------------------------------------------------------------------------------------------


@PROTOCOLS
def test_unread_time_lag_and_losses_end_with_the_topic(client: ClientConfig) -> None:
    """A group that cannot keep up has most of the topic before it: that is lost, and lag no more."""
    slow = replace(PROCESSING, per_record=Distribution.constant(100 * MS), commit="none")
    scenario = world(client, DELETED, processing=slow)
    result = simulate(scenario)
    assert max(one["to_us"] for one in rows(result, "unavailability", topic="u")) <= DELETED_US
    (lost,) = [
        count for (kind, cause), count in delivered(result).items() if (kind, cause) == ("loss", "deleted topic")
    ]
    (left,) = [one["lag_records"] for one in rows(result, "lag", time_us=DELETED_US)]
    assert lost == pytest.approx(left, rel=0.3), "the two topics are alike, and only one is left"
    (later,) = [one["lag_records"] for one in rows(result, "lag", time_us=DELETED_US + 10 * S)]
    assert later < left + 4 * 10 * 10
    assert not differences(scenario, 1)


def test_a_group_of_which_nothing_is_left_to_read_is_at_rest() -> None:
    only = world(CONSUMER, subscription=Subscription(topics=("u",)), count=2)
    result = simulate(only)
    found = summary(result)
    assert found["end_state"] == "Stable"
    assert found["stop_the_world_s"] < 15
    assert owners(result, "u") == []
    assert not differences(only, 1)


def test_members_without_partitions_hold_up_no_deploy_when_there_are_none() -> None:
    roll = entry(30 * S, RollingRestart(target=everybody(), down=Distribution.constant(S), next_="assigned"))
    only = world(CONSUMER, DELETED, roll, subscription=Subscription(topics=("u",)), count=2, horizon_us=80 * S)
    assert len(rows(simulate(only), "members")) == 2 * 2


def test_what_is_done_to_a_topic_that_is_not_there_is_a_warning() -> None:
    late = 30 * S
    changes = (
        DELETED, entry(late, DeleteTopic(topic="u")), entry(late, SetRate(topic="u", rate=constant(1_000))),
        entry(late, AddPartitions(topic="u", to=9)),
    )  # fmt: skip
    result = simulate(world(CONSUMER, *changes))
    assert len(result.warnings) == 3
    assert all("there is no topic u" in one for one in result.warnings)
    assert simulate(world(CONSUMER)).warnings == []


# --- made anew --------------------------------------------------------------------------------------------------------


def anew(after_us: int, partitions: int = 4, **more: Any) -> Scenario:
    """Another topic gets the name of ``u`` some time later."""
    made = CreateTopic(topic=Topic(name="u", partitions=partitions, rate=constant(10_000)))
    return world(CONSUMER, DELETED, entry(DELETED_US + after_us, made), **more)


def heard_by(scenario: Scenario) -> GroupHost:
    """The group whose coordinator has heard of the deletion, as the run has left it."""
    seen: list[GroupHost] = []
    hear = GroupHost.on_topic_deleted

    def heard(self: GroupHost, topic: str) -> None:
        hear(self, topic)
        seen.append(self)

    with patch.object(GroupHost, "on_topic_deleted", heard):
        simulate(scenario)
    return seen[0]


@pytest.mark.parametrize("after_us", [S, 15 * S], ids=["meanwhile", "after the group has given it up"])
@pytest.mark.parametrize("partitions", [3, 4, 6])
def test_another_topic_of_that_name_is_read_from_its_beginning(after_us: int, partitions: int) -> None:
    """As many partitions as before make no difference: the id is another one, and so are all of them."""
    scenario = anew(after_us, partitions)
    result = simulate(scenario)
    assert len(owners(result, "u")) == partitions
    assert min(one["from_us"] for one in rows(result, "ownership", topic="u", ended_by="horizon")) > DELETED_US
    assert not [one for one in delivered(result) if one[0] == "duplicate"]
    assert not differences(scenario, 1)


def test_a_group_that_has_not_beaten_in_between_gives_up_the_one_for_the_other() -> None:
    """The next heartbeat finds as many topics and partitions as the last one, and another id."""
    made = CreateTopic(topic=Topic(name="u", partitions=4, rate=constant(10_000)))
    later = (entry(21 * S, DeleteTopic(topic="u")), entry(22 * S, made))
    scenario = world(CONSUMER, *later, count=1)
    result = simulate(scenario)
    assert next_round(result)["start_us"] > 25 * S, "a heartbeat every 5 s, the last one before 21 s"
    assert next_round(result)["generations"] == 1
    assert owners(result, "u") == ["g/0"] * 4
    assert not differences(scenario, 1)


def test_nobody_looks_after_the_age_of_records_of_the_one_that_is_gone() -> None:
    """Records of the other one are kept for as long as that says."""
    scenario = anew(S)
    topics = tuple(replace(one, retention_us=5 * S) for one in scenario.topics)
    cluster = replace(scenario.cluster, log_retention_check_us=S)
    host = heard_by(replace(scenario, topics=topics, cluster=cluster))
    layout, ledger = host.books.partitions, host.books.ledger
    assert ledger.log_start[layout.of("u")].tolist() == [0] * 4
    assert ledger.log_start[layout.of("t")].min() > 0


def test_what_was_committed_in_the_one_is_nothing_to_the_other() -> None:
    """It has offsets of its own."""
    host = heard_by(anew(15 * S))
    layout, committed = host.books.partitions, host.books.ledger.committed
    assert layout.gone("u").size == layout.of("u").size == 4
    assert committed[layout.gone("u")].tolist() == [-1] * 4
    assert 0 < committed[layout.of("u")].min() <= committed[layout.of("u")].max() < 300


def test_it_may_come_and_go_again_and_again() -> None:
    found = anew(S)
    more = (
        entry(30 * S, DeleteTopic(topic="u")),
        entry(34 * S, CreateTopic(topic=Topic(name="u", partitions=2, rate=constant(10_000)))),
    )
    scenario = replace(found, timeline=(*found.timeline, *more))
    assert len(owners(simulate(scenario), "u")) == 2
    assert not differences(scenario, 1)


def test_a_pattern_of_the_brokers_matches_it_again() -> None:
    for after_us in (S, 15 * S):
        scenario = anew(after_us, subscription=Subscription(re2="[tu]"), horizon_us=80 * S)
        assert len(owners(simulate(scenario), "u")) == 4
        assert not differences(scenario, 1)


# --- both fidelities --------------------------------------------------------------------------------------------------


@pytest.mark.property
@pytest.mark.parametrize("family", ["jitter", "dense", "delivery"])
@pytest.mark.parametrize("kind", ["classic", "consumer", "mixed"])
@pytest.mark.parametrize("seed", range(2))
def test_random_faults_around_a_topic_that_is_deleted(seed: int, kind: Any, family: Any) -> None:
    found = random_scenario(seed, family) if kind == "classic" else consumer_scenario(seed, family, kind)
    chance = np.random.default_rng([seed, len(family)])
    topic = chance.choice([one.name for one in found.topics]).item()
    gone = entry(int(chance.integers(found.horizon_us)), DeleteTopic(topic=topic))
    timeline = [one for one in found.timeline if not isinstance(one.verb, CreateTopic)]
    assert not differences(replace(found, timeline=(*timeline, gone)), seed)
