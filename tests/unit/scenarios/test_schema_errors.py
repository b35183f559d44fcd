"""Every way in which a scenario file can be wrong, with what the user is told."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
import yaml

from groupsim.scenarios.build.loading import load, parse
from groupsim.scenarios.build.paths import set_path
from groupsim.scenarios.errors import Problem, ScenarioFileError
from groupsim.sim.errors import ConfigError

BASE = """
version: 1
question: What happens?
horizon: 10min
cluster:
  brokers: [{id: 0, rack: a}, {id: 1, rack: b}]
topics:
  orders: {partitions: 6, rate: {per_partition: 5}}
groups:
  billing:
    topics: [orders]
    members: {count: 4}
    overrides: [{members: "0-1", rack: a}]
timeline:
  - id: deploy
    at: 1min
    rolling_restart: {target: billing}
"""


def _problems(**changes: Any) -> list[Problem]:
    """What is said of the base with values set by path (``__`` stands for a dot)."""
    document = yaml.safe_load(BASE)
    for path, value in changes.items():
        set_path(document, path.replace("__", "."), value)
    with pytest.raises(ScenarioFileError) as caught:
        parse(document, file="s.yaml", name="s")
    return list(caught.value.problems)


def _timeline(*entries: Any) -> list[Problem]:
    return _problems(timeline=list(entries))


def test_the_base_itself_is_fine() -> None:
    assert parse(yaml.safe_load(BASE), file="s.yaml", name="s").name == "s"


@pytest.mark.parametrize("beside", [{}, {"recovery_lag_records": 0}])
def test_a_goal_of_recovery_from_a_lag_that_nobody_has_named_is_refused(beside: dict[str, int]) -> None:
    (problem,) = _problems(goals={"recovery_s": "< 300", **beside})
    assert problem.path == "goals.recovery_s"
    assert "needs recovery_lag_records beside it, from 1 on" in problem.message


def test_a_goal_of_recovery_is_fine_with_its_lag() -> None:
    goals = {"recovery_s": "< 300", "recovery_lag_records": 1}
    assert parse(yaml.safe_load(BASE) | {"goals": goals}, file="s.yaml", name="s").recovery_lag_records == 1


@pytest.mark.parametrize("name", [".", ".."])
def test_topics_cannot_be_named_as_folders_are(name: str) -> None:
    """org.apache.kafka.common.internals.Topic.validate refuses these names."""
    for changes in ({"topics": {name: {"partitions": 1}}}, {"groups__billing__topics": [name]}):
        assert "InvalidTopicException" in _problems(**changes)[0].message


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (BASE.replace("horizon: 10min", "horizon:"), "horizon"),
        (BASE.replace("members: {count: 4}", "config: {session.timeout.ms:}\n    members: {count: 4}"),
         "groups.billing.config[session.timeout.ms]"),
    ],
)  # fmt: skip
def test_a_key_without_a_value_is_refused(text: str, path: str, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioFileError) as caught:
        load(file)
    [problem] = caught.value.problems
    assert (problem.path, problem.message) == (path, "has no value")
    assert problem.line > 1


# --- single values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 2, "must be 1"),
        ("version", True, "must be a whole number"),
        ("version", 1.0, "must be a whole number"),
        ("cluster.transaction_version", True, "must be a whole number"),
        ("cluster.config", {"log.cleaner.min.cleanable.ratio": "0_1"}, "must be a number"),
        ("groups.billing.config", {"client.id": 1.1}, "must be text: put it in quotes"),
        ("cluster.network", {"latency": "1ms", "links": [{"between": ["broker:٣", "rack:a"], "latency": "1ms"}]},
         "must be a place"),
        ("question", "", "at least 1 character"),
        ("question", 5, "must be text"),
        ("horizon", 600, "a duration needs a unit"),
        ("horizon", "0s", "must be greater than 0"),
        ("measure.from", "1", "must be a duration"),
        ("sample_every", "0s", "must be greater than 0"),
        ("event_budget", 0, "must be greater than or equal to 1"),
        ("goals", 3, "must be a mapping such as"),
        ("goals.unavailable_gap_max", "< 60", "did you mean 'unavailable_gap_s_max'?"),
        ("goals.scenario", "< 60", "is no numeric column of the summary"),
        ("goals.unavailable_gap_s_max", 60, 'must be a bound in quotes, such as "< 60"'),
        ("goals.losses", 0, 'or "== 0" (< <= > >= ==)'),
        ("goals.recovery_s", "< 5min", 'must be a number of seconds, without a unit: write "< 300"'),
        ("goals.unavailable_gap_s_max", "<= 700ms", 'write "<= 0.7"'),
        ("goals.losses", "< 5min", "must be a bound in quotes"),
        ("goals[max gap]", "< 60", "did you mean 'unavailable_gap_s_max'?"),
        ("goals[Longest gap]", "< 60", "did you mean 'unavailable_gap_s_max'?"),
        ("goals.unread", "< 60", "did you mean 'unavailable_partition_s'?"),
        ("goals.unavailable_gap_s_max", "about 60", "must be a bound in quotes"),
        ("goals.recovery_lag_records", "1000", "must be a number of records"),
        ("topics", {}, "must have at least 1 item"),
        ("topics", [], "must be a mapping"),
        ("topics[bad name]", {"partitions": 1}, "must be 1 to 249 letters, digits, dots, underscores and hyphens"),
        ("topics.orders.partitions", 0, "must be greater than or equal to 1"),
        ("topics.orders.partitions", "6", "must be a whole number"),
        ("topics.orders.partitions", True, "must be a whole number"),
        ("topics.orders.rate", 5, "must be a rate"),
        ("topics.orders.config[retention.hours]", 1, "is no topic key of Kafka 4.4; did you mean 'retention.ms'?"),
        ("topics.orders.config[retention.ms]", "1d", "must be a whole number"),
        ("cluster.brokers", 0, "must be from 1 to 10000 brokers"),
        ("cluster.brokers", "three", "must be a number of brokers, or a list"),
        ("cluster.brokers[0].id", -1, "must be greater than or equal to 0"),
        ("cluster.version", "5.0", "must be '4.4', '4.3', '4.2', '4.1', '4.0' or '0.9'"),
        ("cluster.version", "2.8.2", "must be one of 4.4, 4.3, 4.2, 4.1, 4.0, 0.9; nearest to brokers of 0.10 to 3.9"),
        ("cluster.version", 3.7, "brokers of 0.10 to 3.9 is 4.0, for groups of the classic protocol"),
        ("cluster", {"coordinator": "0.9"}, "is called cluster.version now"),
        ("cluster.config", "server.properties", "must be a mapping of Kafka's broker keys, or {file: NAME.properties}"),
        ("cluster.config.file", 3, "must be the name of a properties file"),
        ("cluster.config[group.max.size]", 0, "must be at least 1"),
        ("cluster.config[group.max.sise]", 5, "did you mean 'group.max.size'?"),
        ("cluster.network.loss", 1, "must be less than 1"),
        ("cluster.network.latency", "5", "must be a duration"),
        ("cluster.network.links", [{"between": ["rack:a"], "latency": "1ms"}], "must have at least 2 items"),
        ("cluster.event_loop.round", 300, "a duration needs a unit"),
        ("cluster.event_loop", {"rounds": "1ms"}, "did you mean 'round'?"),
        ("cluster.timing.poll", 3, "a duration needs a unit"),
        ("cluster.timing", {"service": "3ms"}, "is called cluster.event_loop.handling now"),
        ("cluster.timing", {"append": "3ms"}, "is called cluster.offsets_topic.append now"),
        ("cluster.offsets_topic.follower_fetch", "by_rack", "must be a duration"),
        ("groups.billing.count", 0, "must be greater than or equal to 1"),
        ("groups.billing.protocol", "clasic", "must be 'classic', 'consumer' or 'zookeeper'"),
        ("groups.billing.client", "1.0", "must be a version of a client: java 0.9, 0.11, 2.x, 3.x, 4.0, 4.1"),
        ("groups.billing.client", "2.14", "is no version of java 0.9, 0.11, 2.x, 3.x, 4.0, 4.1, 4.2, 4.3, 4.4"),
        ("groups.billing.overrides[0].client", "1.22", "is no version of java"),
        ("groups.billing.topics", "orders", 'must be a list of topics, {pattern: "ord.*"}'),
        ("groups.billing.topics", [], "must have at least 1 item"),
        ("groups.billing.topics", ["orders", "orders"], "must not name a topic twice"),
        ("groups.billing.topics", {"patern": "x"}, "did you mean 'pattern'?"),
        ("groups.billing.topics", {"pattern": "ord("}, "is no pattern of java.util.regex: Unclosed group near index 4"),
        ("groups.billing.topics", {"pattern": "(?P<n>ord)"}, "java.util.regex: Unknown inline modifier"),
        ("groups.billing.topics", {"pattern": 3}, "must be a regular expression in quotes"),
        ("groups.billing.topics", {"assign": {"orders": "x"}}, "must be numbers from 0 on and ranges"),
        ("groups.billing.config", [1], "must be a mapping of Kafka's consumer keys"),
        ("groups.billing.config[session.timout.ms]", 1, "did you mean 'session.timeout.ms'?"),
        ("groups.billing.config[max.poll.records]", 0, "must be at least 1"),
        ("groups.billing.config[auto.offset.reset]", "smallest", "write earliest: must be latest, earliest, none"),
        ("groups.billing.config[auto.offset.reset]", "begin", "must be latest, earliest, none or by_duration"),
        ("groups.billing.config[auto.offset.reset]", "by_duration:P", "must be latest, earliest, none or by_duration"),
        ("groups.billing.config[group.protocol]", "streams", "must be one of CONSUMER, CLASSIC"),
        ("groups.billing.config[group.instance.id]", "a", "set members.static: true"),
        ("groups.billing.config[partition.assignment.strategy]", [], "must name at least one assignor"),
        ("groups.billing.config[partition.assignment.strategy]", "rang", "did you mean 'range'?"),
        ("groups.billing.config[partition.assignment.strategy]", "m:C",
         "allow it on the command line with --allow-code m:C"),
        ("groups.billing.config[partition.assignment.strategy]",
         "range, org.apache.kafka.clients.consumer.RangeAssignor", "must not name an assignor twice"),
        ("groups.billing.processing.commit", "manual", "must be auto, none, after_batch, before_processing, outside"),
        ("groups.billing.processing.per_record", 2, "a duration needs a unit"),
        ("groups.billing.processing.commit_on_revoked", "yes", "must be true or false"),
        ("groups.billing.members.count", -1, "must be greater than or equal to 0"),
        ("groups.billing.members.per_process", 0, "must be greater than or equal to 1"),
        ("groups.billing.members.static", 1, "must be true or false"),
        ("groups.billing.members.start", {}, "needs exactly one of at, every, within and aged"),
        ("groups.billing.members.start", {"at": "1s", "every": "1s"}, "needs exactly one of at, every,"),
        ("groups.billing.members.start", {"at": "1s", "aged": "1d"}, "needs exactly one of at, every,"),
        ("groups.billing.members.start", {"within": "1s", "aged": "1d"}, "needs exactly one of"),
        ("groups.billing.members.start", {"aged": "1d", "from": "1s"}, "a group that begins aged is there at 0"),
        ("groups.billing.members.start.aged", "9s", "must be at least 10s: a younger group is one that starts"),
        ("groups.billing.members.start.aged", "-1d", "must not be negative"),
        ("groups.billing.members.start.aged", "1 fortnight", "a duration"),
        ("groups.billing.members.start", {"at": "1s", "from": "1s"}, "from goes with every or within"),
        ("groups.billing.members.start", "1s", "must be a mapping: write {at: 1s}"),
        ("groups.billing.members", 8, "must be a mapping: write {count: 8}"),
        ("groups.billing.members", True, "must be a mapping"),
        ("measure", "1min", "must be a mapping: write {from: 1min}"),
        ("topics.orders", 12, "must be a mapping: write {partitions: 12}"),
        ("groups.billing.members", {"replicas": 8}, "did you mean 'count'?"),
        ("groups.billing.overrides", {}, "must be a list"),
        ("groups.billing.overrides[0].members", "3-1", "3-1 must run upwards"),
        ("groups.billing.overrides[0].rack", "", "must be 1 to 249 letters"),
        ("timeline", {"kill": {"at": "1min"}}, "must be a list: an entry begins with a dash"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_with_its_place(path: str, value: Any, message: str) -> None:
    (problem,) = _problems(**{path: value})
    assert message in problem.message
    assert problem.path.startswith(path)


@pytest.mark.parametrize("key", ["version", "question", "horizon", "topics", "groups"])
def test_what_must_be_there_is_missed(key: str) -> None:
    document = yaml.safe_load(BASE)
    del document[key]
    with pytest.raises(ScenarioFileError) as caught:
        parse(document, file="s.yaml", name="s")
    (problem,) = caught.value.problems
    assert problem.path == key
    assert problem.message.startswith(f"is required at the top of s.yaml: write {key}: ")


@pytest.mark.parametrize(
    ("above", "key", "hint"),
    [
        ("", "timline", "did you mean 'timeline'?"),
        ("cluster", "network_", "did you mean 'network'?"),
        ("cluster.network", "latencies", "did you mean 'latency'?"),
        ("topics.orders", "partition", "did you mean 'partitions'?"),
        ("groups.billing", "memberz", "did you mean 'members'?"),
        ("groups.billing.members", "sttic", "did you mean 'static'?"),
        ("groups.billing.processing", "onrevoked", "did you mean 'on_revoked'?"),
        ("groups.billing.processing", "qqqq", "allowed: commit, commit_on_revoked, on_assigned"),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest(above: str, key: str, hint: str) -> None:
    document = yaml.safe_load(BASE)
    here = document
    for step in filter(None, above.split(".")):
        here = here.setdefault(step, {})
    here[key] = 1
    with pytest.raises(ScenarioFileError) as caught:
        parse(document, file="s.yaml", name="s")
    (problem,) = caught.value.problems
    assert problem.path == f"{above}.{key}".lstrip(".")
    assert hint in problem.message


# --- the timeline -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "path", "message"),
    [
        (3, "timeline[entry-1]", "must be a mapping with at or every, and one verb"),
        ({"at": "1s"}, "timeline[entry-1]", "needs one verb of gc_pause, stuck"),
        ({"at": "1s", "kil": {}}, "timeline[entry-1]", "'kil' is no verb; did you mean 'kill'?"),
        ({"at": "1s", "kill": {"target": "billing"}, "close": {"target": "billing"}}, "timeline[kill-1]",
         "has more than one verb: kill, close"),
        ({"kill": {"target": "billing"}}, "timeline[kill-1]", "needs exactly one of at and every"),
        ({"at": "1s", "every": "1s", "kill": {"target": "billing"}}, "timeline[kill-1]",
         "needs exactly one of at and every"),
        ({"at": "1s", "until": "5s", "kill": {"target": "billing"}}, "timeline[kill-1]",
         "from, until and per_member go with every"),
        ({"at": "1s", "per_member": False, "kill": {"target": "billing"}}, "timeline[kill-1]", "go with every"),
        ({"every": "0s", "kill": {"target": "billing"}}, "timeline[kill-1]", "every must be above 0s"),
        ({"every": {"uniform": ["0s", "0s"]}, "kill": {"target": "billing"}}, "timeline[kill-1]", "above 0s"),
        ({"every": "1s", "from": "5s", "until": "5s", "kill": {"target": "billing"}}, "timeline[kill-1]",
         "until must be after from"),
        ({"every": "1s", "per_member": True, "kill": {"target": "billing/random"}}, "timeline[kill-1]",
         "per_member goes with a target that names members"),
        ({"every": "1s", "per_member": True, "kill": {"target": "broker:0"}}, "timeline[kill-1]",
         "per_member goes with"),
        ({"every": "1h", "per_member": True, "rolling_restart": {"target": "billing"}}, "timeline[rolling_restart-1]",
         "per_member does not go with a rolling restart"),
        ({"id": "a b", "at": "1s", "kill": {"target": "billing"}}, "timeline[a b].id", "must be 1 to 249 letters"),
        ({"at": "1s", "kill": {}}, "timeline[kill-1].kill.target", "is required"),
        ({"at": "1s", "kill": None}, "timeline[kill-1].kill", "has no value"),
        ({"at": "1s", "kill": "billing"}, "timeline[kill-1].kill", "must be a mapping: write kill: {target: billing}"),
        ({"at": "1s", "create_topic": "new"}, "timeline[create_topic-1].create_topic", "write {name: new}"),
        ({"at": "1s", "scale": {"target": "billing", "replicas": 2}}, "timeline[scale-1].scale.replicas",
         "did you mean 'to'?"),
        ({"at": "1s", "kill": {"target": "billing", "for": "3s"}}, "timeline[kill-1].kill.for",
         "allowed: down, target"),
        ({"at": "1s", "gc_pause": {"target": "billing"}}, "timeline[gc_pause-1].gc_pause.for", "is required"),
        ({"at": "1s", "slow": {"target": "billing", "factor": 0, "for": "1s"}}, "timeline[slow-1].slow.factor",
         "must be greater than 0"),
        ({"at": "1s", "rolling_restart": {"target": "billing", "next": "ready"}},
         "timeline[rolling_restart-1].rolling_restart.next", "must be running, assigned, stable or {gap: 30s}"),
        ({"at": "1s", "rolling_restart": {"target": "billing", "next": {"gap": 30}}},
         "timeline[rolling_restart-1].rolling_restart.next", "a duration needs a unit"),
        ({"at": "1s", "rolling_restart": {"target": "billing", "batch": 0}},
         "timeline[rolling_restart-1].rolling_restart.batch", "must be greater than or equal to 1"),
        ({"at": "1s", "restart": {"target": "billing", "stop": "term"}}, "timeline[restart-1].restart.stop",
         "must be 'close' or 'kill'"),
        ({"at": "1s", "cut": {"between": ["billing"], "for": "1s"}}, "timeline[cut-1].cut.between", "at least 2 items"),
        ({"at": "1s", "set_config": {"target": "billing", "config": {"client.idd": 1}}},
         "timeline[set_config-1].set_config.config[client.idd]", "did you mean 'client.id'?"),
        # what does not exist
        ({"at": "1s", "kill": {"target": "biling"}}, "timeline[kill-1].kill.target",
         "there is no group 'biling'; did you mean 'billing'? groups: billing"),
        ({"at": "1s", "kill": {"target": "billing/4"}}, "timeline[kill-1].kill.target",
         "billing has 4 members, 0 to 3"),
        ({"at": "1s", "kill": {"target": "broker:2"}}, "timeline[kill-1].kill.target",
         "there is no broker 2; brokers: 0, 1"),
        ({"at": "1s", "kill": {"target": "rack:c"}}, "timeline[kill-1].kill.target", "there is no rack c; racks: a, b"),
        ({"at": "1s", "cut": {"between": ["billing", "rack:c"], "for": "1s"}}, "timeline[cut-1].cut.between[1]",
         "there is no rack c"),
        ({"at": "1s", "set_rate": {"topic": "order", "rate": {"total": 1}}}, "timeline[set_rate-1].set_rate.topic",
         "there is no topic of that name; did you mean 'orders'? topics: orders"),
        ({"at": "1s", "subscribe": {"target": "billing", "topics": ["order"]}},
         "timeline[subscribe-1].subscribe.topics[0]", "there is no topic of that name"),
        ({"at": "1s", "set_rate": {"topic": "orders", "rate": {"steps": [["0s", [1, 2]]]}}},
         "timeline[set_rate-1].set_rate.rate", "a step has 2 rates for 6 partitions"),
        # what makes no sense
        ({"at": "1s", "stuck": {"target": "broker:0", "for": "1s"}}, "timeline[stuck-1].stuck.target",
         "stuck is done to members"),
        ({"at": "1s", "scale": {"target": "billing/0-1", "to": 2}}, "timeline[scale-1].scale.target",
         "scale takes a whole group"),
        ({"at": "1s", "add_partitions": {"topic": "orders", "to": 6}}, "timeline[add_partitions-1].add_partitions.to",
         "InvalidPartitionsException"),
        ({"at": "1s", "create_topic": {"name": "orders", "partitions": 1}},
         "timeline[create_topic-1].create_topic.name", "TopicExistsException"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_told_by_its_id_and_verb(entry: Any, path: str, message: str) -> None:
    (problem,) = _timeline(entry)
    assert problem.path == path
    assert message in problem.message


def test_an_error_speaks_of_one_verb_only() -> None:
    problems = _timeline({"at": "1s", "kill": {"target": "billing", "x": 1}})
    assert "gc_pause" not in str(problems)


def test_ids_must_differ() -> None:
    kill = {"at": "1s", "kill": {"target": "billing/0"}}
    (problem,) = _timeline({**kill, "id": "a"}, {**kill, "id": "a"})
    assert (problem.value, problem.message) == ("'a'", "ids must differ: timeline[0] has this one too")
    (problem,) = _timeline({**kill, "id": "kill-2"}, kill)
    assert (problem.value, problem.message) == ("'kill-2'", "ids must differ: timeline[0] has this one too")


# --- the whole --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [{"from": "10min"}, {"from": "2min", "to": "1min"}, {"to": "11min"}])
def test_the_span_of_measurement_lies_within_the_horizon(measure: dict[str, str]) -> None:
    (problem,) = _problems(measure=measure)
    assert problem.message == "must have measure.from < measure.to <= horizon"


@pytest.mark.parametrize(
    ("path", "value", "where", "message"),
    [
        ("groups.billing.topics", ["order"], "groups.billing.topics[0]", "did you mean 'orders'?"),
        ("groups.billing.topics", {"assign": {"orders": "0-6"}}, "groups.billing.topics.assign.orders",
         "orders has 6 partitions, 0 to 5"),
        ("groups.billing.topics", {"assign": {"order": "0"}}, "groups.billing.topics.assign", "there is no topic"),
        ("groups.billing.overrides[0].members", "4", "groups.billing.overrides[0].members",
         "billing has 4 members, 0 to 3"),
        ("groups.billing.overrides[0].topics", ["x"], "groups.billing.overrides[0].topics[0]", "there is no topic"),
        ("groups.billing.overrides[0].instance", "twin", "groups.billing.overrides[0].instance",
         "only static members have a group.instance.id"),
        ("topics.orders.rate", {"steps": [["0s", [1, 2]]]}, "topics.orders.rate", "2 rates for 6 partitions"),
        ("cluster.network.links", [{"between": ["rack:a", "broker:9"], "latency": "1ms"}],
         "cluster.network.links[0].between[1]", "there is no broker 9"),
        ("cluster.network.links", [{"between": ["rack:a", "biling/3"], "latency": "1ms"}],
         "cluster.network.links[0].between[1]", "there is no group 'biling'"),
        ("cluster.network.links", [{"between": ["rack:a", "zone:b"], "latency": "1ms"}],
         "cluster.network.links[0].between[1]", "must be a place: rack:a, broker:1, a group, or a member"),
        ("cluster.brokers", [{"id": 1}, {"id": 1}], "cluster.brokers[1].id", "brokers must have different ids"),
    ],
)  # fmt: skip
def test_a_name_that_leads_nowhere_is_told(path: str, value: Any, where: str, message: str) -> None:
    (problem,) = _problems(**{path: value})
    assert problem.path == where
    assert message in problem.message


def test_names_of_families_of_groups_must_not_collide() -> None:
    group = yaml.safe_load(BASE)["groups"]["billing"]
    (problem,) = _problems(groups={"a": {**group, "count": 2}, "a-1": group}, timeline=[])
    assert problem.path == "groups.a-1"
    assert "gives a group the name a-1, which a gives too" in problem.message


def test_all_problems_of_a_file_come_at_once() -> None:
    problems = _problems(horizon=1, groups__billing__members__count="x", timeline=[3, {"at": "1s", "kill": {}}])
    assert [one.path for one in problems] == [
        "horizon", "groups.billing.members.count", "timeline[entry-1]", "timeline[kill-1].kill.target",
    ]  # fmt: skip


# --- what Kafka refuses -----------------------------------------------------------------------------------------------


def _config(**keys: Any) -> dict[str, Any]:
    return {f"groups.billing.config[{key.replace('_', '.')}]": value for key, value in keys.items()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (_config(heartbeat_interval_ms=45_000), "Heartbeat must be set lower than the session timeout"),
        (_config(session_timeout_ms=5_000), "JoinGroup is answered INVALID_SESSION_TIMEOUT"),
        ({"cluster.config[group.max.session.timeout.ms]": 30_000}, "INVALID_SESSION_TIMEOUT"),
        ({"groups.billing.client": "0.11", **_config(request_timeout_ms=10_000)},
         "request.timeout.ms (10000) must be greater than session.timeout.ms (10000) with clients up to 1.1"),
        ({"groups.billing.client": "0.11", **_config(request_timeout_ms=20_000, fetch_max_wait_ms=20_000)},
         "must be greater than fetch.max.wait.ms (20000)"),
        ({"groups.billing.client": "0.11", "groups.billing.members.static": True}, "KIP-345 came with 2.3"),
        ({"groups.billing.client": "0.11", **_config(partition_assignment_strategy=["cooperative-sticky"])},
         "client 0.11 has no cooperative-sticky assignor; it has range, roundrobin, sticky"),
        ({"groups.billing.client": "0.9", **_config(partition_assignment_strategy=["sticky"])},
         "client 0.9 has no sticky assignor; it has range, roundrobin"),
    ],
)  # fmt: skip
def test_a_combination_that_kafka_refuses_is_refused_with_its_reason(changes: dict[str, Any], message: str) -> None:
    (problem,) = _problems(**changes)
    assert problem.path == "groups.billing.config"
    assert message in problem.message


def test_kafkas_rules_hold_for_overrides_and_set_config_too() -> None:
    document = yaml.safe_load(BASE)
    document["groups"]["billing"]["overrides"][0]["config"] = {"heartbeat.interval.ms": 45_000}
    document["timeline"].append({"at": "1s", "set_config": {"target": "billing", "config": {"session.timeout.ms": 1}}})
    with pytest.raises(ScenarioFileError) as caught:
        parse(document, file="s.yaml", name="s")
    assert {one.path for one in caught.value.problems} == {
        "groups.billing.overrides[0].config", "timeline[set_config-1].set_config.config",
    }  # fmt: skip


def test_older_defaults_pass_their_own_rules() -> None:
    document = yaml.safe_load(BASE)
    for client in ("0.9", "0.11", "2.x", "3.x", "4.4"):
        document["groups"]["billing"]["client"] = client
        parse(document, file="s.yaml", name="s")


# --- how it is told ---------------------------------------------------------------------------------------------------


def test_an_error_is_readable_at_80_columns(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    text = BASE.replace("count: 4}", "coun: 4}").replace("horizon: 10min", "horizon: 600")
    file.write_text(text.replace("orders]", "'" + "x" * 100 + "']"), encoding="utf-8")
    with pytest.raises(ScenarioFileError) as caught:
        load(file)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{file}: 3 problems"
    assert lines[1:3] == [
        "  horizon (line 4) = 600",
        "    a duration needs a unit (us, ms, s, min, h, d): write 600s or 600ms, say",
    ]
    assert "  groups.billing.members.coun (line 12)" in lines
    assert max(map(len, lines[1:])) <= 80


def test_an_error_is_the_users_and_survives_a_journey() -> None:
    error = ScenarioFileError("s.yaml", [Problem("a.b", "is wrong", "3", 7)])
    assert isinstance(error, ConfigError)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "s.yaml: 1 problem\n  a.b (line 7) = 3\n    is wrong"
    assert again.problems == error.problems


def test_a_document_that_comes_from_no_file_has_no_lines() -> None:
    (problem,) = _problems(horizon="x")
    assert str(problem) == "  horizon = 'x'\n    must be a duration: <number><us|ms|s|min|h|d>, such as 700ms or 1.5h"


def test_a_document_is_not_changed_by_reading_it() -> None:
    document = yaml.safe_load(BASE)
    before = copy.deepcopy(document)
    parse(document, file="s.yaml", name="s")
    assert document == before
