"""From the file to `sim.model`: every field arrives where it belongs, in microseconds and milli-records."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from groupsim.scenarios.build.loading import parse
from groupsim.scenarios.schema.goals import Goal, goals_of
from groupsim.sim import model
from groupsim.sim.config import ClientConfig, EventTimes, Timing
from groupsim.sim.model import Distribution, Scenario, Target
from groupsim.sim.units import FOREVER, MINUTE, MS, S

MINIMAL = """
version: 1
question: What happens?
horizon: 10min
topics:
  orders: {partitions: 6}
groups:
  billing:
    topics: [orders]
    members: {count: 4}
"""


def _scenario(text: str = "", **sections: Any) -> Scenario:
    """The minimal scenario, with sections replaced by those of a YAML text."""
    document = yaml.safe_load(MINIMAL) | (yaml.safe_load(text) or {}) | sections
    return parse(document, file="s.yaml", name="s")


def _group(text: str, **changes: Any) -> model.Group:
    return _scenario(text, **changes).groups[0]


def _verb(entry: str) -> Any:
    scenario = _scenario(timeline=[{"at": "1s"} | yaml.safe_load(entry)])
    return scenario.timeline[0].verb


BILLING = Target("group", "billing")


def test_what_is_left_out_has_the_simulators_defaults() -> None:
    scenario = _scenario()
    plain = Scenario(
        name="s",
        question="What happens?",
        horizon_us=10 * MINUTE,
        cluster=model.Cluster(),
        topics=(model.Topic(name="orders", partitions=6),),
        groups=(
            model.Group(
                name="billing", subscription=model.Subscription(topics=("orders",)), members=model.Members(count=4)
            ),
        ),
        document=scenario.document,
    )
    assert scenario == plain


def test_the_top_level_arrives() -> None:
    scenario = _scenario(
        """
        measure: {from: 1min, to: 9min}
        goals: {unavailable_gap_s_max: "< 60", rebalances: "== 1", recovery_lag_records: 1000}
        sample_every: 5s
        event_budget: 7
        """
    )
    assert (scenario.measure_from_us, scenario.measure_to_us) == (MINUTE, 9 * MINUTE)
    assert (scenario.recovery_lag_records, scenario.sample_every_us, scenario.event_budget) == (1000, 5 * S, 7)
    assert goals_of(scenario.document) == (Goal("unavailable_gap_s_max", "<", 60.0), Goal("rebalances", "==", 1.0))


@pytest.mark.parametrize(
    ("operator", "value", "met"),
    [("<", 59.9, True), ("<", 60, False), ("<=", 60, True), (">", 60, False), (">=", 60, True), ("==", 60, True),
     ("<", None, False), ("<", float("nan"), False)],
)  # fmt: skip
def test_a_goal_is_met_or_missed(operator: str, value: float | None, met: bool) -> None:
    assert Goal("unavailable_gap_s_max", operator, 60.0).met(value) is met


def test_the_cluster_arrives() -> None:
    cluster = _scenario(
        """
        cluster:
          brokers: [{id: 7, rack: a}, {id: 3}]
          config: {group.initial.rebalance.delay.ms: "0"}
          network:
            latency: 1ms
            links: [{between: [rack:a, billing/2], latency: 2ms}]
            loss: 0.01
            retransmission: 100ms
          offsets_topic: {append: 3ms}
        """
    ).cluster
    assert cluster.brokers == (model.Broker(id=7, rack="a"), model.Broker(id=3))
    assert cluster.config.initial_rebalance_delay_us == 0
    assert cluster.network == model.Network(
        latency=Distribution.constant(MS),
        links=(model.Link(between=("rack:a", "billing/2"), latency=Distribution.constant(2 * MS)),),
        loss=0.01,
        retransmission_us=100 * MS,
    )
    assert cluster.timing == Timing(append_us=3 * MS)


def test_every_time_of_the_implementation_is_a_key_of_timing() -> None:
    drawn = {"connect": 1, "join_prepare": 2, "sync_prepare": 3, "initial_delay_late": 4, "pattern_resolve": 8}
    drawn |= {"metadata": 9, "leader_change": 10, "first_leader_change": 11}
    laws = {name: {"lognormal": {"median": f"{size}ms", "p99": f"{9 * size}ms"}} for name, size in drawn.items()}
    timing = _scenario(cluster={"timing": laws | {"poll": "7ms"}}).cluster.timing
    wanted = {name: Distribution("lognormal", (size * MS, 9 * size * MS)) for name, size in drawn.items()}
    assert timing == Timing(**wanted, poll_us=7 * MS)


def test_what_requests_and_writes_take_are_keys_of_the_event_loop_and_of_the_offsets_topic() -> None:
    topic = {"append": "6ms", "follower_fetch": {"uniform": ["1ms", "2ms"]}}
    timing = _scenario(cluster={"event_loop": {"handling": "5ms"}, "offsets_topic": topic}).cluster.timing
    assert timing == Timing(service_us=5 * MS, append_us=6 * MS, follower_fetch=Distribution("uniform", (MS, 2 * MS)))


def test_each_time_of_the_event_loop_is_a_key_of_its_own() -> None:
    sizes = {name.removesuffix("_us"): size for size, name in enumerate(EventTimes.__dataclass_fields__, start=1)}
    given = {"event_loop": {name: f"{size}us" for name, size in sizes.items()}}
    wanted = EventTimes(**{f"{name}_us": size for name, size in sizes.items()})
    assert _scenario(cluster=given).cluster.event_times == wanted


def test_followers_fetch_by_latency_unless_a_scenario_says_otherwise() -> None:
    for given in ({}, {"offsets_topic": {"follower_fetch": "by_latency"}}):
        assert _scenario(cluster=given).cluster.timing.follower_fetch is None
    at_once = {"offsets_topic": {"follower_fetch": "0s"}}
    assert _scenario(cluster=at_once).cluster.timing.follower_fetch == Distribution.constant(0)


def test_a_number_of_brokers_gives_ids_from_0_on() -> None:
    assert _scenario(cluster={"brokers": 2}).cluster.brokers == (model.Broker(id=0), model.Broker(id=1))


def test_topics_arrive_with_the_retention_that_can_matter() -> None:
    scenario = _scenario(
        """
        cluster: {config: {log.retention.minutes: 5}}
        topics:
          short: {partitions: 1, config: {retention.ms: 60000}}
          orders: {partitions: 2, rate: {total: 10}}
          long: {partitions: 1, config: {retention.ms: 600000}}
        """
    )
    assert [(one.name, one.retention_us) for one in scenario.topics] == [
        ("short", MINUTE), ("orders", 5 * MINUTE), ("long", FOREVER),
    ]  # fmt: skip
    assert scenario.topics[1].rate.per_partition_mrps == ((5000, 5000),)


@pytest.mark.parametrize(("config", "expected"), [("{}", [3, 1]), ("{default.replication.factor: 2}", [2, 1])])
def test_topics_have_three_replicas_or_what_brokers_and_topics_say(config: str, expected: list[int]) -> None:
    scenario = _scenario(
        f"""
        cluster: {{config: {config}}}
        topics:
          orders: {{partitions: 2}}
          single: {{partitions: 2, replication_factor: 1}}
        """
    )
    assert [one.replication_factor for one in scenario.topics] == expected


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_group_arrives() -> None:
    group = _group(
        """
        groups:
          billing:
            topics: [orders]
            config: {session.timeout.ms: 10000, partition.assignment.strategy: sticky}
            processing: {per_record: 5ms, per_poll: 1ms, poll_timeout: 2ms, commit: after_batch, on_revoked: 3ms,
                         on_assigned: 4ms, on_lost: 6ms, commit_on_revoked: true}
            members: {count: 3, per_process: 2, static: true, boot: 1s, start: {every: 200ms, from: 5s}}
            assignor_failure: refuse
        """
    )
    assert group.client == ClientConfig(session_timeout_us=10 * S, partition_assignment_strategy=("sticky",))
    assert group.processing == model.Processing(
        per_record=Distribution.constant(5 * MS), per_poll_us=MS, poll_timeout_us=2 * MS, commit="after_batch",
        on_revoked_us=3 * MS, on_assigned_us=4 * MS, on_lost_us=6 * MS, commit_on_revoked=True,
    )  # fmt: skip
    assert group.members == model.Members(
        count=3, per_process=2, static=True, boot=Distribution.constant(S),
        start=model.Start(kind="every", value_us=200 * MS, offset_us=5 * S),
    )  # fmt: skip
    assert group.assignor_failure == "refuse"


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ({"at": "3s"}, model.Start(kind="at", value_us=3 * S)),
        ({"every": "3s"}, model.Start(kind="every", value_us=3 * S)),
        ({"within": "3s", "from": "1s"}, model.Start(kind="within", value_us=3 * S, offset_us=S)),
        ({"aged": "1d"}, model.Start(kind="aged", value_us=86_400 * S)),
    ],
)
def test_members_start_in_one_of_four_ways(start: Any, expected: model.Start) -> None:
    group = yaml.safe_load(MINIMAL)["groups"]["billing"] | {"members": {"count": 1, "start": start}}
    assert _scenario(groups={"billing": group}).groups[0].members.start == expected


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        (["orders"], model.Subscription(topics=("orders",))),
        ({"pattern": "ord.*"}, model.Subscription(pattern="ord.*")),
        ({"assign": {"orders": "0-2,5"}}, model.Subscription(assign={"orders": (0, 1, 2, 5)})),
        ({"assign": {"orders": [4, 2]}}, model.Subscription(assign={"orders": (2, 4)})),
        ({"assign": {"orders": 3}}, model.Subscription(assign={"orders": (3,)})),
    ],
)
def test_a_group_reads_by_name_by_pattern_or_by_hand(topics: Any, expected: model.Subscription) -> None:
    scenario = _scenario(groups={"billing": {"topics": topics, "members": {"count": 1}}})
    assert scenario.groups[0].subscription == expected


def test_a_topic_that_is_created_later_may_be_subscribed_to() -> None:
    scenario = _scenario(
        """
        groups: {billing: {topics: [orders, later], members: {count: 1}}}
        timeline: [{at: 1min, create_topic: {name: later, partitions: 2, rate: {per_partition: 3}}}]
        """
    )
    assert scenario.groups[0].subscription.topics == ("orders", "later")


def test_identical_groups_get_a_number() -> None:
    scenario = _scenario("groups: {billing: {count: 3, topics: [orders], members: {count: 1}}}")
    assert [group.name for group in scenario.groups] == ["billing-0", "billing-1", "billing-2"]


def test_an_override_changes_its_members_only() -> None:
    group = _group(
        """
        groups:
          billing:
            topics: [orders]
            config: {session.timeout.ms: 10000}
            processing: {per_record: 5ms, on_revoked: 1s}
            members: {count: 4}
            overrides:
              - {members: "0-1", rack: a, config: {max.poll.records: 100}}
              - {members: "3", processing: {per_record: 9ms}, topics: {pattern: "o.*"}}
        """
    )
    first, second = group.overrides
    assert (first.members, first.rack, first.processing, first.subscription) == (frozenset({0, 1}), "a", None, None)
    assert first.client == ClientConfig(session_timeout_us=10 * S, max_poll_records=100)
    assert (second.members, second.rack, second.client) == (frozenset({3}), None, None)
    assert second.processing == model.Processing(per_record=Distribution.constant(9 * MS), on_revoked_us=S)
    assert second.subscription == model.Subscription(pattern="o.*")


def test_overrides_that_overlap_add_up() -> None:
    group = _group(
        """
        groups:
          billing:
            topics: [orders]
            members: {count: 6}
            overrides:
              - {members: "0-3", rack: a, config: {max.poll.records: 100, fetch.max.wait.ms: 1}}
              - {members: "2-5", rack: b, config: {max.poll.records: 7}, processing: {on_lost: 1s}}
        """
    )
    assert [one.members for one in group.overrides] == [frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})]
    both = group.override_of(2)
    assert both.rack == "b"
    assert both.client == ClientConfig(max_poll_records=7, fetch_max_wait_us=MS)
    assert both.processing == model.Processing(on_lost_us=S)
    assert group.override_of(5).client == ClientConfig(max_poll_records=7)


def test_an_override_with_another_client_starts_from_its_profile_and_the_groups_config() -> None:
    group = _group(
        """
        groups:
          billing:
            topics: [orders]
            config: {max.poll.records: 50}
            members: {count: 2}
            overrides: [{members: 1, client: 2.x, config: {fetch.max.wait.ms: 1}}]
        """
    )
    old = group.override_of(1).client
    assert old is not None
    assert (old.session_timeout_us, old.max_poll_records, old.fetch_max_wait_us) == (10 * S, 50, MS)
    assert not old.behaviour.exponential_backoff


def test_an_override_may_give_static_members_the_same_instance_id() -> None:
    group = _group(
        """
        groups:
          billing:
            topics: [orders]
            members: {count: 4, static: true}
            overrides: [{members: "1,3", instance: twin}]
        """
    )
    assert [group.override_of(index).instance_id for index in range(4)] == [None, "twin", None, "twin"]


def test_members_beyond_the_count_may_be_overridden_if_the_group_grows() -> None:
    group = _group(
        """
        groups:
          billing: {topics: [orders], members: {count: 2}, overrides: [{members: 5, rack: a}]}
        timeline: [{at: 1s, scale: {target: billing, to: 6}}, {at: 9s, kill: {target: billing/5}}]
        """
    )
    assert group.override_of(5).rack == "a"


# --- verbs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "verb"),
    [
        ("gc_pause: {target: billing/1, for: 1s}",
         model.GcPause(target=Target("group", "billing", "index", indices=(1,)), duration=Distribution.constant(S))),
        ("stuck: {target: billing/leader, for: 1s}",
         model.Stuck(target=Target("group", "billing", "leader"), duration=Distribution.constant(S))),
        ("slow: {target: billing, factor: 3, for: 1s}",
         model.Slow(target=BILLING, factor=3.0, duration=Distribution.constant(S))),
        ("slow_host: {target: billing, factor: 1.5, for: 1s}",
         model.SlowHost(target=BILLING, factor=1.5, duration=Distribution.constant(S))),
        ("kill: {target: billing/random:2}", model.Kill(target=Target("group", "billing", "random", count=2))),
        ("kill: {target: billing, down: 3s}", model.Kill(target=BILLING, down=Distribution.constant(3 * S))),
        ("close: {target: broker:0}", model.Close(target=Target("broker", "0"))),
        ("close: {target: billing, grace: 1s}", model.Close(target=BILLING, grace_us=S)),
        ("start: {target: billing, every: 2s}", model.StartMembers(target=BILLING, every_us=2 * S)),
        ("restart: {target: billing}", model.Restart(target=BILLING)),
        ("restart: {target: billing, stop: kill, grace: 2s, down: {exponential: {mean: 3s}}}",
         model.Restart(target=BILLING, stop="kill", grace_us=2 * S, down=Distribution("exponential", (3 * S,)))),
        ("rolling_restart: {target: billing}", model.RollingRestart(target=BILLING)),
        ("rolling_restart: {target: billing, batch: 2, surge: 1, stop: kill, grace: 1s, down: 2s, next: {gap: 4s}}",
         model.RollingRestart(target=BILLING, batch=2, surge=1, stop="kill", grace_us=S,
                              down=Distribution.constant(2 * S), next_="gap", gap_us=4 * S)),
        ("rolling_restart: {target: billing, next: stable}", model.RollingRestart(target=BILLING, next_="stable")),
        ("scale: {target: billing, to: 9, every: 1s, grace: 2s}",
         model.Scale(target=BILLING, to=9, every_us=S, grace_us=2 * S)),
        ("cut: {between: [billing/0-1, broker:1], for: 30s}",
         model.Cut(between=(Target("group", "billing", "index", indices=(0, 1)), Target("broker", "1")),
                   duration=Distribution.constant(30 * S))),
        ("add_partitions: {topic: orders, to: 12}", model.AddPartitions(topic="orders", to=12)),
        ("create_topic: {name: later, partitions: 2, rate: {per_partition: 3}, config: {retention.ms: 1000}}",
         model.CreateTopic(topic=model.Topic(name="later", partitions=2, retention_us=S,
                                             rate=model.Rate(per_partition_mrps=((3000,),))))),
        ("subscribe: {target: billing, topics: {pattern: 'o.*'}}",
         model.Subscribe(target=BILLING, subscription=model.Subscription(pattern="o.*"))),
        ("unsubscribe: {target: billing/3}",
         model.Unsubscribe(target=Target("group", "billing", "index", indices=(3,)))),
        ("set_rate: {topic: orders, rate: {total: 12}}",
         model.SetRate(topic="orders", rate=model.Rate(per_partition_mrps=((2000,) * 6,), total_per_s=12.0))),
        ("set_config: {target: billing, config: {max.poll.records: 7}, static: true, processing: {on_lost: 1s}}",
         model.SetConfig(target=BILLING, client=ClientConfig(max_poll_records=7), static=True,
                         processing=model.Processing(on_lost_us=S))),
        ("delete_offsets: {target: billing, topics: [orders]}",
         model.DeleteOffsets(target=BILLING, topics=("orders",))),
        ("delete_group: {target: billing}", model.DeleteGroup(target=BILLING)),
        ("set_config: {target: billing, static: false}",
         model.SetConfig(target=BILLING, client=ClientConfig(), static=False)),
    ],
)  # fmt: skip
def test_every_verb_arrives(entry: str, verb: model.Verb) -> None:
    assert _verb(entry) == verb


def test_the_clock_of_an_entry_arrives() -> None:
    scenario = _scenario(
        """
        timeline:
          - {at: 3min, kill: {target: billing/0}}
          - {every: {exponential: {mean: 1min}}, from: 2min, until: 5min, per_member: true,
             gc_pause: {target: billing, for: 1s}}
          - {id: mine, every: 1min, kill: {target: billing/random}}
        """
    )
    first, second, third = scenario.timeline
    assert (first.id, first.at_us, first.every, first.until_us) == ("kill-1", 3 * MINUTE, None, FOREVER)
    assert (second.id, second.at_us, second.until_us, second.per_member) == ("gc_pause-1", 2 * MINUTE, 5 * MINUTE, True)
    assert second.every == Distribution("exponential", (MINUTE,))
    assert (third.id, third.at_us, third.until_us, third.per_member) == ("mine", 0, FOREVER, False)


def test_entries_without_an_id_are_numbered_verb_by_verb_in_the_files_order() -> None:
    kill: dict[str, Any] = {"kill": {"target": "billing"}}
    pause: dict[str, Any] = {"gc_pause": {"target": "billing", "for": "1s"}}
    entries = [kill, pause, {"id": "x", **kill}, kill, pause]
    scenario = _scenario(timeline=[{"at": "1s", **one} for one in entries])
    assert [entry.id for entry in scenario.timeline] == ["kill-1", "gc_pause-1", "x", "kill-3", "gc_pause-2"]


def test_an_entry_for_a_family_of_groups_becomes_one_for_each() -> None:
    scenario = _scenario(
        """
        groups: {billing: {count: 2, topics: [orders], members: {count: 3}}}
        timeline:
          - {id: a, at: 1s, kill: {target: billing/random}}
          - {id: b, at: 1s, kill: {target: billing-1/2}}
          - {id: c, at: 1s, cut: {between: [billing, broker:1], for: 1s}}
          - {id: d, at: 1s, set_config: {target: billing, config: {max.poll.records: 3}}}
        """
    )
    targets = {entry.id: getattr(entry.verb, "target", None) for entry in scenario.timeline}
    assert list(targets) == [
        "a.billing-0",
        "a.billing-1",
        "b",
        "c.billing-0",
        "c.billing-1",
        "d.billing-0",
        "d.billing-1",
    ]
    assert targets["a.billing-1"] == Target("group", "billing-1", "random")
    assert targets["b"] == Target("group", "billing-1", "index", indices=(2,))
    cut = scenario.timeline[4].verb
    assert isinstance(cut, model.Cut)
    assert cut.between == (Target("group", "billing-1"), Target("broker", "1"))


def test_set_config_adds_to_earlier_ones_for_the_same_members() -> None:
    scenario = _scenario(
        """
        timeline:
          - {id: later, at: 3min, set_config: {target: billing, config: {max.poll.records: 3}}}
          - {id: early, at: 1min, set_config: {target: billing, config: {fetch.max.wait.ms: 1, max.poll.records: 9}}}
          - {id: some, at: 2min, set_config: {target: billing/0, config: {metadata.max.age.ms: 1}}}
          - {id: last, at: 4min, set_config: {target: billing, processing: {on_lost: 1s}}}
        """
    )
    verbs = {entry.id: entry.verb for entry in scenario.timeline}
    clients = {name: verb.client for name, verb in verbs.items() if isinstance(verb, model.SetConfig)}
    assert clients["early"] == ClientConfig(fetch_max_wait_us=MS, max_poll_records=9)
    assert clients["some"] == ClientConfig(fetch_max_wait_us=MS, max_poll_records=9, metadata_max_age_us=MS)
    assert clients["later"] == clients["last"] == ClientConfig(fetch_max_wait_us=MS, max_poll_records=3)
    last = verbs["last"]
    assert isinstance(last, model.SetConfig)
    assert last.processing == model.Processing(on_lost_us=S)


def test_set_config_with_another_client_starts_from_its_profile() -> None:
    scenario = _scenario(
        """
        groups: {billing: {client: "0.11", topics: [orders], config: {max.poll.records: 9}, members: {count: 1}}}
        timeline: [{at: 1s, set_config: {target: billing, client: "4.4"}}]
        """
    )
    verb = scenario.timeline[0].verb
    assert isinstance(verb, model.SetConfig)
    assert verb.client == ClientConfig(max_poll_records=9)


def test_a_new_rate_is_shared_among_the_partitions_of_its_time() -> None:
    scenario = _scenario(
        """
        timeline:
          - {at: 1min, add_partitions: {topic: orders, to: 12}}
          - {at: 30s, set_rate: {topic: orders, rate: {total: 12}}}
          - {at: 2min, set_rate: {topic: orders, rate: {total: 12}}}
        """
    )
    rates = [entry.verb.rate for entry in scenario.timeline if isinstance(entry.verb, model.SetRate)]
    assert [rate.per_partition_mrps for rate in rates] == [((2000,) * 6,), ((1000,) * 12,)]
