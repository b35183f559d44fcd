"""The consumer protocol in scenario files: how it is chosen, what its keys become, what Kafka refuses and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupsim.scenarios import ScenarioFileError, load, parse, warnings_of
from groupsim.sim.config import ClientConfig, GroupConfig
from groupsim.sim.model import Scenario, SetConfig
from groupsim.sim.units import S
from tests.support.scenario_documents import ScenarioDocument

BASE = """
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
PROTOCOL = "groups.billing.protocol"
CONFIG = "groups.billing.config"
GROUP_CONFIG = "groups.billing.group_config"
OVERRIDES = "groups.billing.overrides"
UPGRADE = {"group.protocol": "consumer"}


_FILE = ScenarioDocument(BASE)
_document, _loaded, _problems, _only = _FILE.changed, _FILE.loaded, _FILE.problems, _FILE.only


def _client(changes: dict[str, Any]) -> ClientConfig:
    return _loaded(changes).groups[0].client


# --- choosing the protocol --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "protocol"),
    [
        ({}, "classic"),
        ({PROTOCOL: "classic"}, "classic"),
        ({PROTOCOL: "consumer"}, "consumer"),
        ({f"{CONFIG}[group.protocol]": "consumer"}, "consumer"),
        ({f"{CONFIG}[group.protocol]": "CONSUMER"}, "consumer"),
        ({PROTOCOL: "consumer", f"{CONFIG}[group.protocol]": "Consumer"}, "consumer"),
        ({PROTOCOL: "classic", f"{CONFIG}[group.protocol]": "classic"}, "classic"),
    ],
)
def test_protocol_is_short_for_the_configuration_key(changes: dict[str, Any], protocol: str) -> None:
    scenario = _loaded(changes)
    assert scenario.groups[0].client.group_protocol == protocol
    assert scenario.document["groups"]["billing"]["protocol"] == protocol


@pytest.mark.parametrize(("said", "key"), [("classic", "consumer"), ("consumer", "classic")])
def test_the_two_must_agree(said: str, key: str) -> None:
    problem = _only({PROTOCOL: said, f"{CONFIG}[group.protocol]": key})
    assert problem.path == PROTOCOL
    assert f"config says group.protocol: {key}: the two must agree" in problem.message


def test_a_resolved_consumer_has_no_key_that_its_protocol_forbids() -> None:
    config = _loaded({PROTOCOL: "consumer"}).document["groups"]["billing"]["config"]
    assert not {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"} & set(config)
    assert config["max.poll.interval.ms"] == 300_000


def test_the_remote_assignor_reaches_its_field() -> None:
    assert _client({PROTOCOL: "consumer"}).group_remote_assignor is None
    assert _client({PROTOCOL: "consumer", f"{CONFIG}[group.remote.assignor]": "range"}).group_remote_assignor == "range"


def test_group_config_reaches_its_fields_and_leaves_the_rest_to_the_broker() -> None:
    assert _loaded({}).groups[0].group_config == GroupConfig()
    given = {"consumer.session.timeout.ms": 50_000, "consumer.heartbeat.interval.ms": 6_000}
    found = _loaded({PROTOCOL: "consumer", GROUP_CONFIG: given}).groups[0].group_config
    assert found == GroupConfig(consumer_session_timeout_us=50 * S, consumer_heartbeat_interval_us=6 * S)
    path = f"{GROUP_CONFIG}.consumer.assignment.interval.ms"
    assert _loaded({PROTOCOL: "consumer", path: 0}).groups[0].group_config.consumer_assignment_interval_us == 0


# --- members of both protocols ----------------------------------------------------------------------------------------


def test_an_override_may_change_the_protocol() -> None:
    scenario = _loaded({OVERRIDES: [{"members": "0-1", "config": UPGRADE}]})
    (override,) = scenario.groups[0].overrides
    assert override.client is not None
    assert override.client.group_protocol == "consumer"
    assert scenario.groups[0].client.group_protocol == "classic"


def test_what_the_group_says_for_the_other_protocol_is_left_behind() -> None:
    classic = {f"{CONFIG}[session.timeout.ms]": 20_000, f"{CONFIG}[max.poll.records]": 7}
    (up,) = _loaded({**classic, OVERRIDES: [{"members": "0", "config": UPGRADE}]}).groups[0].overrides
    assert up.client is not None
    assert (up.client.group_protocol, up.client.max_poll_records) == ("consumer", 7)
    consumer = {PROTOCOL: "consumer", f"{CONFIG}[group.remote.assignor]": "range"}
    down = _loaded({**consumer, OVERRIDES: [{"members": "0", "config": {"group.protocol": "classic"}}]})
    client = down.groups[0].overrides[0].client
    assert client is not None
    assert (client.group_protocol, client.group_remote_assignor) == ("classic", None)
    assert client.session_timeout_us == 45 * S


def test_set_config_changes_the_protocol_there_and_back() -> None:
    timeline = [
        {"at": "1min", "set_config": {"target": "billing", "config": UPGRADE}},
        {"at": "2min", "set_config": {"target": "billing", "config": {"group.protocol": "classic"}}},
    ]
    scenario = _loaded({f"{CONFIG}[session.timeout.ms]": 20_000, "timeline": timeline})
    verbs = [entry.verb for entry in scenario.timeline]
    assert all(isinstance(verb, SetConfig) for verb in verbs)
    up, down = (verb.client for verb in verbs if isinstance(verb, SetConfig))
    assert (up.group_protocol, up.session_timeout_us) == ("consumer", ClientConfig().session_timeout_us)
    assert (down.group_protocol, down.session_timeout_us) == ("classic", 20 * S)


def test_an_old_client_is_upgraded_together_with_its_protocol() -> None:
    timeline = [{"at": "1min", "set_config": {"target": "billing", "client": "4.0", "config": UPGRADE}}]
    scenario = _loaded({"groups.billing.client": "2.x", f"{CONFIG}[session.timeout.ms]": 20_000, "timeline": timeline})
    (verb,) = (entry.verb for entry in scenario.timeline)
    assert isinstance(verb, SetConfig)
    assert verb.client.group_protocol == "consumer"


@pytest.mark.parametrize(
    ("policy", "sentences"),
    [("bidirectional", 0), ("upgrade", 1), ("downgrade", 1), ("disabled", 2)],
)
def test_a_policy_that_stops_a_migration_is_told(policy: str, sentences: int) -> None:
    changes = {"cluster.config[group.consumer.migration.policy]": policy.upper(),
               OVERRIDES: [{"members": "0-1", "config": UPGRADE}]}  # fmt: skip
    assert sum(f"migration.policy is {policy}" in one for one in warnings_of(_loaded(changes))) == sentences


# --- what Kafka refuses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("session.timeout.ms", 45_000),
        ("heartbeat.interval.ms", 3_000),
        ("partition.assignment.strategy", ["range"]),
        ("share.acknowledgement.mode", "explicit"),
    ],
)
def test_keys_of_the_classic_protocol_are_refused(key: str, value: Any) -> None:
    problem = _only({PROTOCOL: "consumer", f"{CONFIG}[{key}]": value})
    assert problem.path == CONFIG
    assert problem.message.startswith(f"{key} cannot be set when group.protocol=CONSUMER (ConfigException)")


def test_they_are_refused_together_as_kafka_does() -> None:
    given = {"session.timeout.ms": 45_000, "partition.assignment.strategy": ["range"]}
    message = _only({PROTOCOL: "consumer", CONFIG: given}).message
    assert message.startswith("partition.assignment.strategy, session.timeout.ms cannot be set when")


def test_the_remote_assignor_is_refused_with_the_classic_protocol() -> None:
    message = _only({f"{CONFIG}[group.remote.assignor]": "uniform"}).message
    assert message.startswith("group.remote.assignor cannot be set when group.protocol=CLASSIC (ConfigException)")


@pytest.mark.parametrize("place", ["overrides", "set_config"])
def test_what_a_change_itself_says_is_refused(place: str) -> None:
    config = {"group.protocol": "consumer", "session.timeout.ms": 10_000}
    changes: dict[str, Any] = {OVERRIDES: [{"members": "0", "config": config}]}
    if place == "set_config":
        changes = {"timeline": [{"at": "1min", "set_config": {"target": "billing", "config": config}}]}
    problem = _only(changes)
    assert place in problem.path
    assert "session.timeout.ms cannot be set when group.protocol=CONSUMER" in problem.message


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        ("0.9", "client 0.9 does not know group.protocol"),
        ("0.11", "client 0.11 does not know group.protocol"),
        ("2.x", "client 2.x does not know group.protocol"),
        ("3.x", "client 3.x has the consumer protocol as early access and preview only (3.7 to 3.9)"),
    ],
)
def test_old_clients_have_no_consumer_protocol(client: str, reason: str) -> None:
    assert reason in _only({PROTOCOL: "consumer", "groups.billing.client": client}).message


@pytest.mark.parametrize("client", ["4.0", "4.1", "4.2", "4.3", "4.4"])
@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2", "4.3", "4.4"])
def test_from_4_0_on_clients_and_brokers_have_it(client: str, version: str) -> None:
    scenario = _loaded({PROTOCOL: "consumer", "groups.billing.client": client, "cluster.version": version})
    assert scenario.groups[0].client.group_protocol == "consumer"
    assert scenario.cluster.config.version == version


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"cluster.version": "0.9"}, "brokers of 0.9 have no consumer protocol (KIP-848 came with 4.0)"),
        ({"cluster.config[group.coordinator.rebalance.protocols]": "classic"}, "does not name consumer"),
    ],
)
def test_brokers_without_it_are_told_in_the_clients_words(changes: dict[str, Any], reason: str) -> None:
    message = _only({PROTOCOL: "consumer", **changes}).message
    assert reason in message
    assert "The cluster does not support the new CONSUMER group protocol (UnsupportedVersionException)" in message


def test_an_assignor_that_is_not_enabled_at_the_broker_is_refused() -> None:
    path = f"{CONFIG}[group.remote.assignor]"
    message = _only({PROTOCOL: "consumer", path: "sticky"}).message
    assert message.startswith("ServerAssignor sticky is not supported. Supported assignors: uniform, range.")
    only_range = {"cluster.config[group.consumer.assignors]": ["range"]}
    message = _only({PROTOCOL: "consumer", path: "uniform", **only_range}).message
    assert message.startswith("ServerAssignor uniform is not supported. Supported assignors: range.")


@pytest.mark.parametrize(
    ("given", "key", "reason"),
    [
        ({"consumer.session.timeout.ms": 10_000}, "consumer.session.timeout.ms",
         "must be in the range 45000 to 60000 inclusive"),
        ({"consumer.heartbeat.interval.ms": 4_999}, "consumer.heartbeat.interval.ms",
         "must be in the range 5000 to 15000 inclusive"),
        ({"consumer.assignment.interval.ms": 15_001}, "consumer.assignment.interval.ms",
         "must be in the range 0 to 15000 inclusive"),
    ],
)  # fmt: skip
def test_timeouts_of_a_group_are_held_to_the_brokers_bounds(given: dict[str, int], key: str, reason: str) -> None:
    problem = _only({PROTOCOL: "consumer", GROUP_CONFIG: given})
    assert problem.path == f"{GROUP_CONFIG}[{key}]"
    assert reason in problem.message


def test_the_bounds_are_the_brokers_own() -> None:
    bounds = {"cluster.config[group.consumer.min.session.timeout.ms]": 6_000}
    assert _loaded({PROTOCOL: "consumer", GROUP_CONFIG: {"consumer.session.timeout.ms": 10_000}, **bounds})


@pytest.mark.parametrize("given", [{"consumer.session.timeout.ms": 15_000}, {"consumer.heartbeat.interval.ms": 15_000}])
def test_a_session_must_exceed_the_heartbeat_whoever_sets_it(given: dict[str, int]) -> None:
    broker = {"group.consumer.session.timeout.ms": 15_000, "group.consumer.min.session.timeout.ms": 10_000,
              "group.consumer.heartbeat.interval.ms": 14_000}  # fmt: skip
    changes = {PROTOCOL: "consumer", GROUP_CONFIG: given, "cluster.config": broker}
    if "consumer.session.timeout.ms" in given:
        changes[GROUP_CONFIG] = {"consumer.session.timeout.ms": 14_000}
    assert "must be greater than consumer.heartbeat.interval.ms" in _only(changes).message


def test_brokers_before_4_3_know_no_assignment_interval() -> None:
    given = {"consumer.assignment.interval.ms": 0}
    problem = _only({PROTOCOL: "consumer", GROUP_CONFIG: given, "cluster.version": "4.2"})
    assert problem.message.startswith("Unknown group config name: consumer.assignment.interval.ms (brokers of 4.2")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("group.consumer.session.timeout.ms", 10_000, "must be greater than or equal to group.consumer.min.session"),
        ("group.consumer.session.timeout.ms", 61_000, "group.consumer.max.session.timeout.ms (60000) must be greater"),
        ("group.consumer.heartbeat.interval.ms", 1_000, "must be greater than or equal to group.consumer.min.heartb"),
        ("group.consumer.assignment.interval.ms", 20_000, "group.consumer.max.assignment.interval.ms (15000) must be"),
    ],
)
def test_a_broker_that_would_not_start_is_refused(key: str, value: int, reason: str) -> None:
    problem = _only({f"cluster.config[{key}]": value})
    assert problem.path == "cluster.config"
    assert reason in problem.message


def test_a_broker_whose_heartbeat_is_no_shorter_than_its_session_is_refused() -> None:
    config = {"group.consumer.min.session.timeout.ms": 1_000, "group.consumer.session.timeout.ms": 5_000}
    assert "heartbeat.interval.ms (5000) must be less than group.consumer" in _only({"cluster.config": config}).message


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (["unifrom"], "did you mean 'uniform'?"),
        (["cooperative-sticky"], "is no assignor of the group coordinator"),
        (["mine:Dealer"], "allow it on the command line with --allow-code mine:Dealer"),
        ("uniform,org.apache.kafka.coordinator.group.assignor.UniformAssignor", "must not name an assignor twice"),
        ([], "must not be empty"),
    ],
)
def test_assignors_of_the_coordinator_are_known_by_name_or_class(value: Any, reason: str) -> None:
    assert reason in _only({"cluster.config[group.consumer.assignors]": value}).message


def test_kafkas_classes_stand_for_their_names() -> None:
    classes = "org.apache.kafka.coordinator.group.assignor.RangeAssignor, uniform"
    found = _loaded({"cluster.config[group.consumer.assignors]": classes})
    assert found.cluster.config.consumer_assignors == ("range", "uniform")


OWN = """
from groupsim.assignors import Assignor, ServerAssignor, UniformAssignor

class Mine(UniformAssignor):
    name = "mine"

class Theirs(Assignor):
    name = "theirs"

    def assign(self, snapshot):
        raise NotImplementedError
"""


def test_a_users_own_class_must_say_that_it_is_the_coordinators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_server_assignors.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    allowed = ["own_server_assignors:Mine", "own_server_assignors:Theirs"]

    def parsed(name: str) -> Scenario:
        document = _document({"cluster.config[group.consumer.assignors]": [name]})
        return parse(document, file="s.yaml", name="s", allow_code=allowed)

    assert parsed(allowed[0]).cluster.config.consumer_assignors == ("mine",)
    assert parsed("mine").cluster.config.consumer_assignors == ("mine",)
    with pytest.raises(ScenarioFileError, match="one of the coordinator is a ServerAssignor"):
        parsed(allowed[1])


# --- patterns of the broker's -----------------------------------------------------------------------------------------


def test_a_pattern_of_the_brokers_is_a_subscription() -> None:
    assert (
        _loaded({PROTOCOL: "consumer", "groups.billing.topics": {"re2": "ord.*"}}).groups[0].subscription.re2 == "ord.*"
    )


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [("[", "missing closing ]"), ("ord(", "missing closing )"), ("(?=x)", "invalid or unsupported Perl syntax")],
)
def test_a_pattern_that_re2j_refuses_is_refused_in_kafkas_words(pattern: str, reason: str) -> None:
    problem = _only({PROTOCOL: "consumer", "groups.billing.topics": {"re2": pattern}})
    assert problem.path == "groups.billing.topics.re2"
    sentence = f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}."
    assert problem.message == f"{sentence} (INVALID_REGULAR_EXPRESSION)"


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"groups.billing.topics": {"re2": "o.*"}}, "groups.billing.topics.re2"),
        ({OVERRIDES: [{"members": "0", "topics": {"re2": "o.*"}}]}, "groups.billing.overrides[0].topics.re2"),
        ({"timeline": [{"at": "1s", "subscribe": {"target": "billing", "topics": {"re2": "o.*"}}}]},
         "timeline[subscribe-1].subscribe.topics.re2"),
        ({PROTOCOL: "consumer", "groups.billing.topics": {"re2": "o.*"},
          OVERRIDES: [{"members": "0", "config": {"group.protocol": "classic"}}]}, "groups.billing.topics.re2"),
        ({PROTOCOL: "consumer", "groups.billing.topics": {"re2": "o.*"},
          "timeline": [{"at": "1s", "set_config": {"target": "billing", "config": {"group.protocol": "classic"}}}]},
         "timeline[set_config-1].set_config.config"),
    ],
)  # fmt: skip
def test_the_classic_protocol_has_no_patterns_of_the_brokers(changes: dict[str, Any], path: str) -> None:
    problem = _only(changes)
    assert problem.path == path
    assert "Subscribe to RE2/J pattern is not supported when using the CLASSIC protocol" in problem.message


def test_members_that_have_the_consumer_protocol_may_use_one() -> None:
    override = {"members": "0", "topics": {"re2": "o.*"}, "config": UPGRADE}
    assert _loaded({OVERRIDES: [override]}).groups[0].overrides[0].subscription is not None


# --- targets and subscriptions ----------------------------------------------------------------------------------------


def test_a_consumer_group_has_no_leader() -> None:
    kill = {"timeline": [{"at": "1min", "kill": {"target": "billing/leader"}}]}
    assert _loaded(kill)
    problem = _only({PROTOCOL: "consumer", **kill})
    assert problem.path == "timeline[kill-1].kill.target"
    assert "has no leader" in problem.message
    cut = {"timeline": [{"at": "1min", "cut": {"between": ["billing/leader", "broker:0"], "for": "1s"}}]}
    assert _only({PROTOCOL: "consumer", **cut}).path == "timeline[cut-1].cut.between[0]"


def test_manual_assignment_goes_with_either_protocol() -> None:
    assert _client({PROTOCOL: "consumer", "groups.billing.topics": {"assign": {"orders": "0-3"}}})


def test_static_members_go_with_the_consumer_protocol() -> None:
    assert _loaded({PROTOCOL: "consumer", "groups.billing.members.static": True}).groups[0].members.static


# --- everything at once, and advice -----------------------------------------------------------------------------------


def test_everything_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        BASE.replace(
            "    topics: [orders]",
            "    protocol: consumer\n    topics: [orders]\n    config:\n      session.timeout.ms: 9000\n"
            "      group.remote.assignor: sticky\n    group_config:\n      consumer.session.timeout.ms: 9000",
        )
        + "timeline: [{at: 1s, kill: {target: billing/leader}}]\n"
    )
    with pytest.raises(ScenarioFileError) as caught:
        load(file)
    lines = [(problem.path, problem.line) for problem in caught.value.problems]
    assert lines == [
        ("groups.billing.config", 12),
        ("groups.billing.config", 12),
        ("groups.billing.group_config[consumer.session.timeout.ms]", 15),
        ("timeline[kill-1].kill.target", 17),
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({GROUP_CONFIG: {"consumer.assignment.interval.ms": 0}}, "group_config: has no effect: no member has the con"),
        ({PROTOCOL: "consumer", f"{CONFIG}[client.rack]": "a"}, "no assignor of the brokers looks at racks"),
        ({"groups.billing.client": "2.x", f"{CONFIG}[group.protocol]": "classic"},
         "client 2.x does not know group.protocol"),
    ],
)  # fmt: skip
def test_what_has_no_effect_is_told(changes: dict[str, Any], sentence: str) -> None:
    assert any(sentence in one for one in warnings_of(_loaded(changes)))


def _stopped(verb: str, **body: Any) -> dict[str, Any]:
    return {"timeline": [{"at": "1min", verb: {"target": "billing", **body}}]}


@pytest.mark.parametrize("verb", ["close", "restart", "rolling_restart"])
def test_close_can_be_told_what_to_do_about_the_group(verb: str) -> None:
    """KIP-1092."""
    for operation in ("default", "leave_group", "remain_in_group"):
        scenario = _loaded(_stopped(verb, close=operation))
        assert (scenario.timeline[0].verb.close, warnings_of(scenario)) == (operation, ())
    wrong = _only(_stopped(verb, close="leave"))
    assert wrong.path == f"timeline[{verb}-1].{verb}.close"
    assert "leave_group" in wrong.message
    older = {**_stopped(verb, close="leave_group"), "groups.billing.client": "3.x"}
    assert any("close: has no effect: clients before 4.1" in one for one in warnings_of(_loaded(older)))


@pytest.mark.parametrize("verb", ["restart", "rolling_restart"])
def test_who_is_killed_cannot_be_told(verb: str) -> None:
    wrong = _only(_stopped(verb, close="leave_group", stop="kill"))
    assert "stop: kill exclude each other" in wrong.message


def test_a_plain_consumer_group_has_no_warnings() -> None:
    assert warnings_of(_loaded({PROTOCOL: "consumer"})) == ()
