"""Topics that are subscribed to by name before they exist: when members hear of them, in both fidelities alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim.config import ClientBehaviour, ClientConfig
from groupsim.sim.model import CreateTopic, Scenario, Subscription, Topic, Unsubscribe
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.random_scenarios import random_scenario
from tests.unit.sim.scenes import constant, entry, everybody, group, rows, scene, simulate

CREATED_US = 20 * S
CLASSIC = ClientConfig(auto_offset_reset="earliest", partition_assignment_strategy=("range",))
CONSUMER = replace(CLASSIC, group_protocol="consumer")


def waiting(client: ClientConfig, *timeline: Any, topics: tuple[str, ...] = ("t", "u"), **more: Any) -> Scenario:
    """Two members; topic ``u`` comes into being after 20 s, unless the timeline is another one."""
    created = CreateTopic(topic=Topic(name="u", partitions=2, rate=constant(1_000)))
    members = group(count=2, client=client, subscription=Subscription(topics=topics))
    return scene(members, timeline=timeline or (entry(CREATED_US, created),), **more)


def first_read_us(scenario: Scenario) -> int:
    return min(row["from_us"] for row in rows(simulate(scenario), "ownership", topic="u"))


def asked(scenario: Scenario) -> int:
    """Metadata requests."""
    return sum(row["count"] for row in rows(simulate(scenario), "requests", api="Metadata"))


@pytest.mark.parametrize("topics", [("t", "u"), ("u",)])
@pytest.mark.parametrize("age_us", [60 * S, 300 * S])
def test_a_leader_hears_of_a_topic_within_the_backoff_not_after_metadata_max_age(
    topics: tuple[str, ...], age_us: int
) -> None:
    """retry.backoff.max.ms with its jitter, then a rebalance: everybody joins with the next pass or heartbeat."""
    scenario = waiting(replace(CLASSIC, metadata_max_age_us=age_us, heartbeat_interval_us=S), topics=topics)
    assert CREATED_US < first_read_us(scenario) < CREATED_US + 1_000 * MS + 1_500 * MS
    assert not differences(scenario, 1)


def test_a_member_of_the_consumer_protocol_reads_a_topic_that_is_created_after_it_has_subscribed() -> None:
    """It was never read: its partitions had no positions."""
    scenario = waiting(CONSUMER)
    assert CREATED_US < first_read_us(scenario) < CREATED_US + 5 * S + 500 * MS
    assert not differences(scenario, 1)


@pytest.mark.parametrize("client", [CLASSIC, CONSUMER], ids=["classic", "consumer"])
def test_who_lacks_a_topic_asks_with_backoff_until_it_is_there_or_nobody_wants_it(client: ClientConfig) -> None:
    """100, 200, 400, 800 ms, then every second, with a jitter of a fifth; and 3 ms for each request."""
    client = replace(client, metadata_max_age_us=30 * S)
    usual = asked(waiting(client, topics=("t",)))
    until_created = asked(waiting(client)) - usual
    assert 2 * (4 + 18) <= until_created <= 2 * (4 + 24)
    left = entry(10 * S, Unsubscribe(target=everybody()))
    assert 2 * (4 + 8) <= asked(waiting(client, left)) - usual <= 2 * (4 + 12)
    assert not differences(waiting(client, left), 1)


def test_before_3_7_the_backoff_is_constant() -> None:
    client = replace(CLASSIC, behaviour=ClientBehaviour(exponential_backoff=False))
    assert 2 * 180 <= asked(waiting(client)) <= 2 * 200


def test_requests_that_find_nothing_are_no_events() -> None:
    """A topic that never comes costs no event, however often it is asked for."""
    nobody = entry(50 * S, Unsubscribe(target=everybody("other")))
    client = replace(CLASSIC, metadata_max_age_us=900 * S)
    members = [
        group(count=2, client=client, subscription=Subscription(topics=topics)) for topics in (("t",), ("t", "u"))
    ]
    counted = [
        simulate(scene(one, replace(group(count=1), name="other"), timeline=(nobody,), horizon_us=600 * S)).manifest
        for one in members
    ]
    assert counted[0]["events"] == counted[1]["events"]


@pytest.mark.parametrize("family", ["jitter", "dense"])
@pytest.mark.parametrize("seed", range(3))
def test_random_faults_around_a_topic_that_is_missing_at_first(seed: int, family: str) -> None:
    found = random_scenario(seed, family=family)
    topic = CreateTopic(topic=Topic(name="c", partitions=3, rate=constant(10_000)))
    timeline = [one for one in found.timeline if not isinstance(one.verb, CreateTopic)]
    groups = tuple(replace(one, subscription=Subscription(topics=("a", "c"))) for one in found.groups)
    created = entry(found.horizon_us // 2, topic)
    assert not differences(replace(found, groups=groups, timeline=(*timeline, created)), seed)
