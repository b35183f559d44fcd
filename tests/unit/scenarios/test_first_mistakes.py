"""What somebody gets wrong in a first scenario: told with everything else, where it is, and what to write instead."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from groupsim.scenarios.build.loading import load, parse
from groupsim.scenarios.build.notes import warnings_of
from groupsim.scenarios.build.paths import set_path
from groupsim.scenarios.cli.watch import SilentAssignors
from groupsim.scenarios.errors import Problem, ScenarioFileError
from groupsim.scenarios.files.yaml_text import parse_yaml
from groupsim.scenarios.kafka.keys import _GONE, Kind, find_key, known_keys
from groupsim.scenarios.sweep.identity import fingerprint
from groupsim.sim.units import S
from tests.support.command_line import CommandLine

TEXT = """\
version: 1
question: What happens?
horizon: 10min
topics:
  orders: {partitions: 6, rate: {per_partition: 5}}
groups:
  billing:
    topics: [orders]
    members: {count: 4}
timeline:
  - id: kill
    at: 1min
    kill: {target: billing/0}
"""


def _told(folder: Path, text: str, **changes: Any) -> list[tuple[str, int, str]]:
    """Path, line and message of each problem."""
    (folder / "s.yaml").write_text(text)
    with pytest.raises(ScenarioFileError) as caught:
        load(folder / "s.yaml", set_=changes)
    return [(one.path, one.line, one.message) for one in caught.value.problems]


def _refusal(path: str, value: Any) -> Problem:
    document = yaml.safe_load(TEXT)
    set_path(document, path, value)
    with pytest.raises(ScenarioFileError) as caught:
        parse(document, file="s.yaml", name="s")
    (problem,) = caught.value.problems
    return problem


class TestWhatYamlReadsDifferently:
    def test_hides_nothing_else(self, tmp_path: Path) -> None:
        text = TEXT.replace("per_partition: 5", "per_partition: 1e3").replace("billing/0", "biling/0")
        assert [(path, line) for path, line, _ in _told(tmp_path, text)] == [
            ("topics.orders.rate.per_partition", 5), ("timeline[kill].kill.target", 13),
        ]  # fmt: skip

    def test_is_told_once(self, tmp_path: Path) -> None:
        text = TEXT.replace("partitions: 6", "partitions: 0x10").replace("count: 4", "count: 1:30")
        ((path, line, message),) = _told(tmp_path, text)
        assert (path, line) == ("groups.billing.members.count", 9)
        assert "base 60" in message

    def test_may_be_a_date_that_is_none_or_a_number_that_nothing_holds(self, tmp_path: Path) -> None:
        text = TEXT.replace("at: 1min", "at: 2026-13-45").replace("count: 4", f"count: {'9' * 5000}")
        assert [line for _, line, _ in _told(tmp_path, text)] == [9, 12]

    def test_may_be_a_key(self, tmp_path: Path) -> None:
        text = TEXT.replace("groups:\n", "groups:\n  7: {topics: [order], members: {count: 1}}\n")
        assert [(path, line) for path, line, _ in _told(tmp_path, text)] == [("groups", 7), ("groups.7.topics[0]", 7)]

    def test_is_said_of_what_stands_there(self) -> None:
        for text, words in (("a: .inf\n", "finite"), ("a: 1:30.5\n", "base 60"), ("a: 1.0e+400\n", "finite")):
            with pytest.raises(ScenarioFileError) as caught:
                parse_yaml(text, "s.yaml")
            assert words in str(caught.value)
            assert ("colons" in str(caught.value)) == (":30" in text)


class TestAKeyThatIsGivenTwice:
    def test_hides_no_wrong_target_and_goes_on_with_the_first(self, tmp_path: Path) -> None:
        text = TEXT.replace("timeline:", "  billing: {topics: [order], client: '4.4'}\ntimeline:")
        text = text.replace("billing/0", "biling/0").replace("count: 4", "count: -4")
        assert [(path, line) for path, line, _ in _told(tmp_path, text)] == [
            ("groups.billing", 10), ("groups.billing.members.count", 9), ("timeline[kill].kill.target", 14),
        ]  # fmt: skip

    def test_may_be_a_section_whose_parts_are_known_all_the_same(self, tmp_path: Path) -> None:
        second = "groups:\n  payments: {topics: [orders], members: {count: 0}}\n"
        text = f"{TEXT}  - at: 2min\n    kill: {{target: payments/0}}\n{second}"
        assert [(path, line) for path, line, _ in _told(tmp_path, text)] == [
            ("groups", 16), ("timeline[kill-2].kill.target", 15),
        ]  # fmt: skip

    def test_may_be_the_id_of_an_entry(self, tmp_path: Path) -> None:
        text = f"{TEXT}  - id: kill\n    at: 2min\n    kill: {{target: nobody}}\n"
        told = _told(tmp_path, text)
        assert [line for _, line, _ in told] == [14, 16]
        assert "timeline[0]" in told[0][2]

    @pytest.mark.parametrize(
        ("old", "new", "path"),
        [
            ("topics: [orders]", "topics: [orders,\n      orders]", "groups.billing.topics[1]"),
            ("topics:\n  orders", "cluster:\n  brokers:\n  - id: 1\n  - id: 1\ntopics:\n  orders",
             "cluster.brokers[1].id"),
            ("kill: {target: billing/0}", "reassign: {topic: orders, partitions: 0, replicas: [0,\n 0]}",
             "timeline[kill].reassign.replicas[1]"),
        ],
    )  # fmt: skip
    def test_may_be_an_element_of_a_list(self, tmp_path: Path, old: str, new: str, path: str) -> None:
        text = TEXT.replace(old, new)
        (told,) = _told(tmp_path, text)
        assert told[0] == path
        assert told[1] == 1 + text[: text.index(new) + new.rindex("\n" if path[-1] == "]" else "- id: 1") + 1].count(
            "\n"
        )


class TestWhatTheFileLacks:
    @pytest.mark.parametrize("key", ["topics", "groups"])
    def test_is_told_with_the_file_and_an_example(self, tmp_path: Path, key: str) -> None:
        document = yaml.safe_load(TEXT)
        del document[key]
        told = [one for one in _told(tmp_path, yaml.safe_dump(document)) if one[0] == key]
        ((_, line, message),) = told
        assert line == 0
        assert f"at the top of {tmp_path / 's.yaml'}" in message
        assert f"write {key}: {{" in message

    def test_is_not_said_of_what_the_command_line_takes_away(self, tmp_path: Path) -> None:
        assert ("horizon", 0, "is required, and --set takes it away") in _told(tmp_path, TEXT, horizon=None)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("topics.orders.record_size", 1024, "write 1KiB"),
        ("topics.orders.record_size", "1.5kb", "write 1536B"),
        ("topics.orders.record_size", 0, "more than nothing: without record_size no bytes are counted"),
        ("topics.orders.record_size", "0B", "more than nothing"),
        ("cluster.brokers", [{"id": 0, "bandwidth": 0}], "more than nothing: without bandwidth there is no bound"),
        ("cluster.brokers", [{"id": 0, "bandwidth": 100}], "write 100B"),
        ("cluster.network.cross_rack_price_per_gb", float("inf"), "must be a finite number"),
        ("groups.billing.processing.commit", {"sync": "-5s"}, "{sync: -5s}: must not be negative"),
        ("groups.billing.processing.commit", {"async": 5}, "{async: 5}: a duration needs a unit"),
        ("groups.billing.processing.commit", {"sync": "0s"}, "{sync: batch} is after each"),
        ("groups.billing.processing.commit", {"async": "0s"}, "{async: batch} is after each"),
        ("groups.billing.members.boot", "-5s", "must not be negative"),
        ("timeline[kill].kill.target", "broker:-1", "numbers from 0 on and ranges, such as 0-3,7): write broker:1"),
        ("timeline[kill].kill.target", "zookeeper:-1", "write zookeeper:0"),
        ("timeline[kill].kill.target", "billing/-1", "write group/3"),
        ("timeline[kill].kill.target", "zookeeper:9", "nobody asks ZooKeeper"),
        ("timeline[kill].kill", "billing/0", "write kill: {target: billing/0}"),
        ("topics.orders.rate", 50, "write {per_partition: 50}"),
        ("horizon", "5m", "write 5min or 5ms"),
        ("groups.billing.config", {"session.timeout.ms": "45s"}, "of milliseconds: write 45000"),
        ("groups.billing.config", {"max.poll.records": "45s"}, "must be a whole number"),
    ],
)  # fmt: skip
def test_a_refused_value_is_told_what_to_write(path: str, value: Any, words: str) -> None:
    assert words in _refusal(path, value).message


def test_a_target_is_answered_with_forms_of_its_own_kind() -> None:
    for target, strangers in (("broker:-1", "group/3"), ("billing/x", "broker:"), ("zookeeper:x", "broker:")):
        assert strangers not in _refusal("timeline[kill].kill.target", target).message


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(ScenarioFileError, match=r"there is no server 9: cluster.zookeeper has servers 0 to 2"):
        load("herd-effect", set_={"timeline": [{"at": "1s", "kill": {"target": "zookeeper:9"}}]})


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "a:\n  b: 1\n c: 2\n",
            3,
            "indented less than those it belongs to, or more than it may be; it belongs to",
        ),
        ("a: 1\n  b: 2\n", 2, "look at the indentation of this line, and of the one before"),
        ("a:\n  b\n  c: 2\n", 3, "a colon"),
        ("a: {b: 1\nc: 2\n", 2, "a { is not closed"),
        ("a: [b\nc: 2\n", 2, "a [ is not closed"),
        ("a: [\n", 2, "the text ends before what is open is closed"),
    ],
)
def test_what_is_no_yaml_is_told_in_plain_words(text: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioFileError) as caught:
        parse_yaml(text, "s.yaml")
    (problem,) = caught.value.problems
    assert problem.line == line
    assert words in problem.message


class TestLinesOfWhatTheCommandLineSets:
    @pytest.mark.parametrize(
        ("path", "value", "told"),
        [
            ("groups.billing.config.session.timeout.ms", 5000, "groups.billing.config"),
            ("topics.orders", None, "topics"),
            ("measure.to", "1d", "measure"),
        ],
    )
    def test_are_none(self, tmp_path: Path, path: str, value: Any, told: str) -> None:
        """What is wrong with the whole is wrong by what was set in it."""
        text = TEXT.replace("members:", "config: {client.id: a}\n    members:").replace(
            "topics:", "measure: {}\ntopics:", 1
        )
        assert (told, 0) in [(place, line) for place, line, _ in _told(tmp_path, text, **{path: value})]

    def test_leave_others_where_they_are(self, tmp_path: Path) -> None:
        text = TEXT.replace("count: 4", "count: four")
        assert [(path, line) for path, line, _ in _told(tmp_path, text, **{"groups.billing.client": "4.4"})] == [
            ("groups.billing.members.count", 9)
        ]


def test_a_name_that_is_empty_is_no_folder() -> None:
    with pytest.raises(ScenarioFileError, match=r"is empty: name a built-in scenario, or a file"):
        load("")


@pytest.mark.parametrize(("out", "figures"), [("a", "a/b"), ("a/b", "a"), ("a", "./x/../a")])
def test_folders_in_one_another_are_refused_before_the_run(
    groupsim: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, figures: str
) -> None:
    monkeypatch.setattr("groupsim.sim.simulate", lambda *_, **__: 1 / 0, raising=False)
    told = groupsim("run", "kill-detection", "--out", tmp_path / out, "--figures", tmp_path / figures)
    assert told.code == 2
    assert told.err.startswith("error: --out and --figures")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["producer", "topic", "broker"])
@pytest.mark.parametrize(
    ("level", "is_allowed"), [(-2, False), (-1, True), (0, False), (1, True), (9, True), (10, False)]
)
def test_levels_of_gzip_are_those_of_kafka(kind: Any, level: int, is_allowed: bool) -> None:
    """``CompressionType.GZIP.levelValidator``, Kafka 4.4: from 1 to 9, or -1 for the default."""
    key = find_key(kind, "compression.gzip.level")
    if is_allowed:
        assert key.parse(level) == level
    else:
        with pytest.raises(ValueError, match="must be from 1 to 9, or -1"):
            key.parse(level)


def test_a_module_that_is_only_half_imported_silences_no_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports run in one thread, the look at silent assignors in another."""
    monkeypatch.setitem(sys.modules, "groupsim.assignors.guarded_call", ModuleType("half"))
    SilentAssignors()()


class TestConfigurationThatIsPasted:
    @pytest.mark.parametrize(
        ("key", "meant"),
        [
            ("spring.kafka.consumer.max-poll-records", "did you mean 'max.poll.records'?"),
            ("spring.kafka.consumer.properties.session.timeout.ms", "did you mean 'session.timeout.ms'?"),
            ("spring.kafka.listener.ack-mode", "framework of the group"),
        ],
    )
    def test_has_the_names_of_spring_boot(self, key: str, meant: str) -> None:
        problem = _refusal("groups.billing.config", {key: "1"})
        assert problem.message.startswith("is no consumer key of Kafka 4.4")
        assert meant in problem.message

    @pytest.mark.parametrize(
        "key",
        [
            "zookeeper.connect", "zookeeper.metadata.migration.enable", "inter.broker.protocol.version",
            "auto.include.jmx.reporter", "controlled.shutdown.max.retries", "controlled.shutdown.retry.backoff.ms",
            "eligible.leader.replicas.enable", "leader.imbalance.per.broker.percentage",
            "log.message.downconversion.enable", "password.encoder.old.secret",
        ],
    )  # fmt: skip
    def test_is_of_a_broker_that_had_keys_which_are_gone(self, key: str) -> None:
        problem = _refusal("cluster", {"brokers": 1, "config": {key: "1"}})
        assert problem.message == "is no broker key of Kafka 4.4: 4.0 has removed it; leave it out"

    def test_is_of_a_consumer_or_topic_that_had_keys_which_are_gone(self) -> None:
        consumer = _refusal("groups.billing.config", {"auto.include.jmx.reporter": "true"})
        assert consumer.message == "is no consumer key of Kafka 4.4: 4.0 has removed it; leave it out"
        topic = _refusal("topics.orders.config", {"message.format.version": "2.8"})
        assert topic.message == "is no topic key of Kafka 4.4: 4.0 has removed it; leave it out"

    @pytest.mark.parametrize("kind", ["consumer", "broker", "topic", "producer"])
    def test_that_is_gone_is_no_key_of_today(self, kind: Kind) -> None:
        assert not [name for name in known_keys(kind) if name.startswith(_GONE[kind])]

    def test_belongs_elsewhere_rather_than_to_a_key_that_is_near(self) -> None:
        problem = _refusal("cluster", {"brokers": 1, "config": {"session.timeout.ms": "1000"}})
        assert problem.message == "is no broker key of Kafka 4.4: it belongs to groups.NAME.config"
        old = _refusal("groups.billing.config", {"zookeeper.connect": "a:2181"})
        assert old.message.endswith("it belongs to groups.NAME.config with protocol: zookeeper")

    def test_is_a_yaml_file(self) -> None:
        problem = _refusal("groups.billing.config", {"file": "application.yml"})
        assert problem.message.startswith("is YAML, no properties file")

    @pytest.mark.parametrize(
        ("changes", "is_told"),
        [
            ({}, True),
            ({"processing": {"commit": "none"}}, False),
            ({"processing": {"commit": {"sync": "batch"}}}, False),
            ({"config": {}}, False),
            ({"framework": "spring-batch"}, False),
        ],
    )
    def test_leaves_commits_to_an_application_that_makes_none(self, changes: dict[str, Any], is_told: bool) -> None:
        document = yaml.safe_load(TEXT)
        document["groups"]["billing"] |= {"config": {"enable.auto.commit": "false"}} | changes
        told = warnings_of(parse(document, file="s.yaml", name="s"))
        assert [one.partition(": ")[0] for one in told if "nobody commits" in one] == (
            ["groups.billing.processing.commit"] if is_told else []
        )

    def test_has_a_key_twice_and_the_last_holds(self, tmp_path: Path) -> None:
        (tmp_path / "c.properties").write_text("session.timeout.ms: 45000\n# later\nsession.timeout.ms=10000\n")
        document = yaml.safe_load(TEXT)
        document["groups"]["billing"]["config"] = {"file": "c.properties"}
        read = parse(document, file="s.yaml", name="s", folder=tmp_path)
        assert read.groups[0].client.session_timeout_us == 10 * S
        assert "c.properties: session.timeout.ms is on lines 1 and 3: Java takes the last" in warnings_of(read)
        (tmp_path / "c.properties").write_text("session.timeout.ms: 10000\n")
        once = parse(document, file="s.yaml", name="s", folder=tmp_path)
        assert not any("Java takes the last" in one for one in warnings_of(once))
        assert fingerprint(once) == fingerprint(read)
