"""Loading: names and files, values set by path, round trips, warnings, code that may run."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim import scenarios
from groupsim.scenarios import (
    ScenarioFileError,
    json_schema,
    list_names,
    load,
    load_document,
    parse,
    set_path,
    warnings_of,
)
from groupsim.scenarios.build.paths import parse_path
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import SetConfig

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
STRATEGY = "groups.billing.config[partition.assignment.strategy]"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(MINIMAL, encoding="utf-8")
    return path


# --- names and files --------------------------------------------------------------------------------------------------


def test_a_built_in_scenario_goes_by_its_name() -> None:
    assert "rolling-deploy" in list_names()
    assert load("rolling-deploy").name == "rolling-deploy"


def test_a_file_goes_by_its_path_and_lends_its_name(file: Path) -> None:
    assert load(file).name == load(str(file)).name == "mine"


@pytest.mark.parametrize("name", ["rolling-deplo", "rolling_deploy"])
def test_a_name_that_does_not_exist_is_told_with_the_nearest(name: str) -> None:
    with pytest.raises(
        ScenarioFileError, match=r"neither a file nor a built-in scenario; did you\s+mean 'rolling-deploy'"
    ):
        load(name)


def test_a_file_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError, match="No such file"):
        load(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), ("- 1\n", "holds"), ("scenario\n", "holds 'scenario'"), ("{}\n", "is required")],
)
def test_a_file_that_holds_no_mapping_is_told(text: str, message: str, file: Path) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioFileError, match=message):
        load(file)


def test_a_document_is_plain_data(file: Path) -> None:
    assert load_document(file) == yaml.safe_load(MINIMAL)


def test_names_of_the_package_are_imported_when_used() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = scenarios.lode
    code = "import sys, groupsim.scenarios; print('pydantic' in sys.modules, 'yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_loading_imports_nothing_heavy() -> None:
    heavy = ["pyspark", "matplotlib", "scipy", "rich", "typer"]
    code = (
        "import sys; from groupsim.scenarios import load; load('rolling-deploy'); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- files beside the scenario ----------------------------------------------------------------------------------------


def test_configuration_may_come_from_properties_files(file: Path) -> None:
    (file.parent / "consumer.properties").write_text(
        "# pasted\nsession.timeout.ms=20000\nmax.poll.records=7\nbootstrap.servers=a:9092\n", encoding="utf-8"
    )
    (file.parent / "server.properties").write_text("group.initial.rebalance.delay.ms = 0\n", encoding="utf-8")
    document = yaml.safe_load(MINIMAL)
    document["cluster"] = {"config": {"file": "server.properties"}}
    document["groups"]["billing"]["config"] = {"file": "consumer.properties", "max.poll.records": 9}
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    scenario = load(file)
    assert scenario.cluster.config.initial_rebalance_delay_us == 0
    client = scenario.groups[0].client
    assert (client.session_timeout_us, client.max_poll_records) == (20_000_000, 9)
    assert scenario.document["groups"]["billing"]["config"]["bootstrap.servers"] == ["a:9092"]
    assert parse(scenario.document, file="x", name="mine") == scenario


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (None, "groups.billing.config.file", "cannot be read"),
        ("session.timeout.ms=45s\n", "groups.billing.config[session.timeout.ms]", "must be a whole number"),
        (
            "# pasted\n\nclient.id=a,\\\n  b\nsesion.timeout.ms=45\n",
            "groups.billing.config[sesion.timeout.ms]",
            "(line 5 of c.properties); did you mean 'session.timeout.ms'? write that, or leave it out",
        ),
    ],
)
def test_what_is_wrong_in_a_properties_file_is_told(text: str | None, path: str, message: str, file: Path) -> None:
    if text is not None:
        (file.parent / "c.properties").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioFileError) as caught:
        load(file, set_={"groups.billing.config": {"file": str(file.parent / "c.properties")}})
    (problem,) = caught.value.problems
    assert problem.path == path
    assert message in problem.message


def test_keys_of_files_that_kafka_does_not_know_are_left_out_and_told(file: Path) -> None:
    (file.parent / "c.properties").write_text("schema.registry.url=http://hunter2@a\nmax.poll.records=7\n")
    (file.parent / "s.properties").write_text("zookeeper.connect=a\nlog.dirs=/d\n")
    files = {
        "groups.billing.config.file": file.parent / "c.properties",
        "cluster.config.file": file.parent / "s.properties",
    }
    scenario = load(file, set_={path: str(one) for path, one in files.items()})
    assert scenario.groups[0].client.max_poll_records == 7
    assert {*warnings_of(scenario)} >= {
        "broker keys that have no effect here: log.dirs",
        "broker keys that Kafka does not know, left out: zookeeper.connect",
        "consumer keys that Kafka does not know, left out: schema.registry.url",
    }
    assert "hunter2" not in str(scenario)
    assert parse(scenario.document, file="x", name="mine") == scenario


def test_null_takes_a_key_away_that_comes_from_a_file(file: Path) -> None:
    (file.parent / "c.properties").write_text("session.timeout.ms=20000\nheartbeat.interval.ms=3000\nfoo=1\n")
    config = {"file": str(file.parent / "c.properties"), "heartbeat.interval.ms": None, "foo": None}
    changes = {"groups.billing.config": config, "groups.billing.protocol": "consumer"}
    path = "groups.billing.config[session.timeout.ms]"
    with pytest.raises(ScenarioFileError, match=r"session.timeout.ms cannot be set"):
        load(file, set_=changes)
    found = load(file, set_={**changes, path: None}).document["groups"]["billing"]["config"]
    assert not {"session.timeout.ms", "heartbeat.interval.ms", "foo"} & {*found}
    with pytest.raises(ScenarioFileError, match=r"did you mean 'session.timeout.ms'"):
        load(file, set_={**changes, path: None, "groups.billing.config[sesion.timeout.ms]": None})


def test_secrets_do_not_get_into_the_document(file: Path) -> None:
    secret = {"ssl.keystore.password": "hunter2", "config.providers.vault.param.token": "hunter2"}
    scenario = load(file, set_={"groups.billing.config": secret, "cluster.config": {"super.users": "hunter2"}})
    assert "hunter2" not in str(scenario)


# --- values by path ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("horizon", ("horizon",)),
        ("groups.billing.members.static", ("groups", "billing", "members", "static")),
        ("groups.billing.config[session.timeout.ms]", ("groups", "billing", "config", "session.timeout.ms")),
        ("timeline[deploy].rolling_restart.batch", ("timeline", "deploy", "rolling_restart", "batch")),
        ("topics[a.b].rate", ("topics", "a.b", "rate")),
    ],
)
def test_a_path_is_names_dots_and_brackets(path: str, steps: tuple[str, ...]) -> None:
    assert parse_path(path) == steps


@pytest.mark.parametrize("path", ["", ".", ".a", "a.", "a..b", "a b", "[a]", "a[", "a[]", "a]b", "a[b]c"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ScenarioFileError, match="is no path"):
        set_path({}, path, 1)


def test_changes_are_a_mapping() -> None:
    with pytest.raises(TypeError, match=r"set_ takes values by path, such as {'groups.billing.members.count': 20}"):
        load("rolling-deploy", set_="groups.billing.members.count=20")  # type: ignore[arg-type]


def _set(path: str, value: Any) -> dict[str, Any]:
    document = load_document("rolling-deploy")
    set_path(document, path, value)
    return document


def test_values_are_set_where_the_path_leads() -> None:
    assert _set("horizon", "1h")["horizon"] == "1h"
    assert (
        _set("groups.billing.config[session.timeout.ms]", 9)["groups"]["billing"]["config"]["session.timeout.ms"] == 9
    )
    assert _set("timeline[deploy].rolling_restart.batch", 2)["timeline"][0]["rolling_restart"]["batch"] == 2
    assert _set("timeline[deploy].rolling_restart.down.lognormal.p99", "1min")["timeline"][0]["rolling_restart"][
        "down"
    ] == {"lognormal": {"median": "20s", "p99": "1min"}}


def test_mappings_on_the_way_are_made() -> None:
    assert _set("groups.billing.members.static", True)["groups"]["billing"]["members"]["static"] is True
    assert _set("cluster.timing.poll", "1ms")["cluster"]["timing"] == {"poll": "1ms"}
    assert _set("topics.orders.config[retention.ms]", 5)["topics"]["orders"]["config"] == {"retention.ms": 5}


def test_a_whole_group_or_topic_may_be_added() -> None:
    assert _set("topics.late", {"partitions": 1})["topics"]["late"] == {"partitions": 1}


def test_null_removes_a_key_with_all_below_it() -> None:
    document = load_document("rolling-deploy")
    assert "config" in document["groups"]["billing"]
    key = next(iter(document["groups"]["billing"]["config"]))
    set_path(document, f"groups.billing.config[{key}]", None)
    assert key not in document["groups"]["billing"]["config"]
    set_path(document, "groups.billing.config", None)
    assert "config" not in document["groups"]["billing"]


def test_null_makes_nothing_on_the_way_and_needs_no_key_to_remove() -> None:
    before = load_document("rolling-deploy")
    assert _set("topics.orders.config[retention.ms]", None) == before
    assert _set("cluster.timing.poll", None) == before
    with pytest.raises(ScenarioFileError, match="did you mean 'horizon'"):
        _set("horizont", None)


def test_null_does_not_take_an_element_out_of_a_list() -> None:
    with pytest.raises(ScenarioFileError, match="null removes a key of a mapping, and this is an element of a list"):
        _set("timeline[deploy]", None)


def test_a_set_null_gives_the_default_back(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(MINIMAL.replace("    topics: [orders]", "    topics: [orders]\n    config: {max.poll.records: 7}"))
    assert load(file).groups[0].client.max_poll_records == 7
    changed = load(file, set_={"groups.billing.config[max.poll.records]": None})
    assert changed.groups[0].client.max_poll_records == ClientConfig().max_poll_records


def test_entries_without_an_id_go_by_verb_and_number_and_other_lists_by_position() -> None:
    document = yaml.safe_load(MINIMAL)
    document["timeline"] = [{"at": "1s", "kill": {"target": "billing"}}, {"at": "2s", "kill": {"target": "billing"}}]
    document["groups"]["billing"]["overrides"] = [{"members": "0"}]
    set_path(document, "timeline[kill-2].at", "3s")
    set_path(document, "groups.billing.overrides[0].rack", "a")
    assert [entry["at"] for entry in document["timeline"]] == ["1s", "3s"]
    assert document["groups"]["billing"]["overrides"] == [{"members": "0", "rack": "a"}]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("cluster.coordinator", "cluster.coordinator is called cluster.version now"),
        ("cluster.timing.append", "cluster.timing.append is called cluster.offsets_topic.append now"),
        ("horizont", "a scenario has no 'horizont'; did you mean 'horizon'?"),
        ("groups.biling.members.count", "groups has no 'biling'; did you mean 'billing'? known: billing"),
        ("groups.billing.member.count", "groups.billing has no 'member'; did you mean 'members'?"),
        ("groups.billing.members.cout", "groups.billing.members has no 'cout'; did you mean 'count'?"),
        ("topics.order.partitions", "topics has no 'order'; did you mean 'orders'? known: orders"),
        ("timeline[deplyo].at", "timeline has no 'deplyo'; did you mean 'deploy'? known: deploy"),
        (
            "timeline[deploy].rolling_restart.bacth",
            "timeline[deploy].rolling_restart has no 'bacth'; did you mean 'batch'?",
        ),
        (
            "timeline[deploy].rollingrestart.batch",
            "timeline[deploy] has no 'rollingrestart'; did you mean 'rolling_restart'?",
        ),
        ("timeline[deploy].kill.target", "timeline[deploy] has no 'kill'"),
        ("horizon.x", "horizon is '30min', which has no parts: set it as a whole"),
        ("groups.billing.topics[1]", "groups.billing.topics has positions 0 to 0"),
        ("cluster.brokers[0].rack", "cluster.brokers is 3, which has no parts"),
    ],
)
def test_a_path_that_cannot_exist_is_told_with_the_nearest(path: str, message: str) -> None:
    with pytest.raises(ScenarioFileError) as caught:
        _set(path, 1)
    (problem,) = caught.value.problems
    assert problem.path == path
    assert message in problem.message


def test_values_may_be_set_while_loading() -> None:
    scenario = load("rolling-deploy", set_={STRATEGY: ["sticky"], "groups.billing.members.static": True})
    assert scenario.groups[0].client.partition_assignment_strategy == ("sticky",)
    assert scenario.groups[0].members.static


def test_the_line_of_a_value_that_was_set_is_not_the_files(file: Path) -> None:
    with pytest.raises(ScenarioFileError) as caught:
        load(file, set_={"groups.billing.members": {"count": "x"}, "horizon": "no"})
    assert [(one.path, one.line) for one in caught.value.problems] == [
        ("horizon", 0),
        ("groups.billing.members.count", 0),
    ]


def test_the_library_itself_is_never_changed() -> None:
    before = load_document("rolling-deploy")
    load("rolling-deploy", set_={"horizon": "40min"})
    assert load_document("rolling-deploy") == before


# --- round trips ------------------------------------------------------------------------------------------------------

EVERYTHING = """
version: 1
question: Does everything come back?
horizon: 1h
measure: {from: 1min, to: 50min}
goals: {rebalances: "<= 3", recovery_lag_records: 10}
cluster:
  brokers: [{id: 0, rack: a}, {id: 1, rack: b}]
  config: {log.dirs: "/a,/b", group.max.size: 100}
  network: {latency: {uniform: [1ms, 2ms]}, links: [{between: [rack:a, rack:b], latency: 2ms}], loss: 0.001}
topics:
  orders: {partitions: 6, rate: {total: 10000, zipf: 1.1}, config: {retention.ms: 60000}}
  waves: {partitions: 2, rate: {diurnal: {mean: 5, period: 1h}}}
  bursts: {partitions: 2, rate: {burst: {base: 1, peak: 9, every: 10min, for: 1min}}}
  steps: {partitions: 2, rate: {steps: [[0s, 5], [1min, [6, 7]]]}}
groups:
  new:
    count: 2
    topics: [orders, waves]
    config: {session.timeout.ms: 20000, client.id: x}
    processing: {per_record: {empirical: [1ms, 2ms]}, on_revoked: 1s}
    members: {count: 6, start: {within: 1s, from: 1s}}
    overrides:
      - {members: "0-3", rack: a, config: {max.poll.records: 100}}
      - {members: "2-5", client: 0.9, config: {fetch.max.wait.ms: 2}, processing: {per_poll: 1ms}}
      - {members: "1,3", config: {auto.commit.interval.ms: 1}, topics: {pattern: "ord.*"}}
  old:
    client: "0.11"
    topics: {assign: {bursts: "0-1"}}
    config: {default.api.timeout.ms: 5}
    members: {count: 1, start: {at: 1s}}
  stable:
    topics: [steps]
    members: {count: 2, start: {aged: 1d}}
timeline:
  - {at: 1min, rolling_restart: {target: new, next: {gap: 3s}}}
  - {every: {exponential: {mean: 5min}}, until: 30min, per_member: true, gc_pause: {target: new, for: 1s}}
  - {at: 2min, cut: {between: [rack:a, new/leader], for: 1s}}
  - {at: 3min, set_config: {target: new, client: 2.x, config: {max.poll.records: 5}, processing: {on_lost: 1s}}}
  - {at: 4min, set_config: {target: old, client: "4.4", static: true}}
  - {at: 5min, set_config: {target: new, config: {max.poll.records: 6}}}
  - {at: 6min, create_topic: {name: late, partitions: 1, rate: {per_partition: 1}}}
  - {at: 7min, subscribe: {target: "new/0-2,4", topics: [late]}}
  - {at: 8min, kill: {target: new/share:0.25}}
"""


def test_a_resolved_document_loads_again_to_the_same_scenario() -> None:
    once = parse(yaml.safe_load(EVERYTHING), file="e.yaml", name="e")
    again = parse(once.document, file="e.yaml", name="e")
    assert again == once
    assert again.document == once.document


def test_a_resolved_document_survives_yaml() -> None:
    once = parse(yaml.safe_load(EVERYTHING), file="e.yaml", name="e")
    text = yaml.safe_dump(dict(once.document), sort_keys=False)
    assert parse(yaml.safe_load(text), file="e.yaml", name="e") == once


def test_a_resolved_document_says_everything() -> None:
    document = load("rolling-deploy").document
    billing = document["groups"]["billing"]
    assert billing["config"]["heartbeat.interval.ms"] == 3000
    assert billing["members"] == {
        "count": 40, "per_process": 1, "static": False, "boot": "700ms", "start": {"every": "200ms"},
    }  # fmt: skip
    assert document["timeline"][0]["rolling_restart"]["surge"] == 0
    assert document["cluster"]["brokers"][2] == {"id": 2, "rack": ""}


_CHANGES = {
    "horizon": st.integers(31, 90).map("{}min".format),
    STRATEGY: st.lists(
        st.sampled_from(["range", "sticky", "roundrobin", "cooperative-sticky"]), min_size=1, unique=True
    ),
    "groups.billing.config[session.timeout.ms]": st.integers(6_000, 1_800_000),
    "groups.billing.client": st.sampled_from(["0.11", "2.x", "3.x", "4.4"]),
    "groups.billing.members.count": st.integers(0, 50),
    "groups.billing.members.start": st.sampled_from(
        [{"at": "3s"}, {"every": "1s"}, {"within": "9s", "from": "2s"}, {"aged": "7d"}]
    ),
    "groups.billing.overrides": st.lists(
        st.fixed_dictionaries(
            {"members": st.sampled_from(["0", "0-9", "5-12", "3,9"])},
            optional={
                "rack": st.sampled_from("ab"),
                "client": st.sampled_from(["0.11", "2.x", "4.4"]),
                "config": st.fixed_dictionaries(
                    {}, optional={"max.poll.records": st.integers(1, 9), "client.id": st.just("c")}
                ),
                "processing": st.fixed_dictionaries(
                    {}, optional={"per_poll": st.just("1ms"), "on_lost": st.just("2s")}
                ),
            },
        ),
        max_size=4,
    ),
    "topics.orders.rate": st.sampled_from([{"per_partition": 1.5}, {"total": 9, "zipf": 0.5}, {"steps": [["0s", 3]]}]),
    "cluster.version": st.sampled_from(["4.4", "4.2", "0.9"]),
    "timeline[deploy].at": st.integers(0, 30).map("{}min".format),
    "timeline[deploy].rolling_restart.next": st.sampled_from(["running", "stable", {"gap": "3s"}]),
}


@settings(max_examples=60)
@given(st.fixed_dictionaries({}, optional=_CHANGES))
def test_whatever_loads_loads_again_to_the_same(changes: dict[str, Any]) -> None:
    try:
        once = load("rolling-deploy", set_=copy.deepcopy(changes))
    except ScenarioFileError:
        return
    assert parse(once.document, file="x", name="rolling-deploy") == once


# --- warnings ---------------------------------------------------------------------------------------------------------


def _warnings(**changes: Any) -> list[str]:
    document = yaml.safe_load(MINIMAL)
    for path, value in changes.items():
        set_path(document, path, value)
    return list(warnings_of(parse(document, file="s.yaml", name="s")))


def test_a_plain_scenario_has_no_warnings() -> None:
    assert _warnings() == []


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"groups.billing.config": {"heartbeat.interval.ms": 15_001}},
         "groups.billing.config: heartbeat.interval.ms (15001) is more than a third of session.timeout.ms (45000)"),
        ({"groups.billing.config": {"request.timeout.ms": 45_000}},
         "groups.billing.config: request.timeout.ms (45000) is not below session.timeout.ms (45000)"),
        ({"cluster.config": {"group.initial.rebalance.delay.ms": 300_001}},
         "groups.billing.config: group.initial.rebalance.delay.ms (300001) is longer than the rebalance timeout"
         " (max.poll.interval.ms, 300000)"),
        ({"groups.billing.config": {"retry.backoff.ms": 1_001}},
         "groups.billing.config: retry.backoff.ms (1001) is above retry.backoff.max.ms (1000)"),
        ({"groups.billing.config": {"partition.assignment.strategy": ["cooperative-sticky", "range"]}},
         "groups.billing.config[partition.assignment.strategy]: range beside cooperative-sticky: members rebalance"),
        ({"groups.billing.client": "0.9", "groups.billing.config": {"max.poll.interval.ms": 5}},
         "groups.billing.config: client 0.9 does not know max.poll.interval.ms: no effect"),
        ({"cluster": {"version": "0.9", "config": {"group.initial.rebalance.delay.ms": 5}},
          "groups.billing.client": "0.9"},
         "cluster.config: brokers of 0.9 do not know group.initial.rebalance.delay.ms: no effect"),
        ({"timeline": [{"id": "late", "at": "10min", "kill": {"target": "billing"}}]},
         "timeline[late]: never fires: the horizon is 10min"),
        ({"cluster": {"brokers": 2}, "timeline": [{"at": "1s", "kill": {"target": "broker:1"}}]},
         "timeline[kill-1].kill: of two controllers none is a majority"),
        ({"groups.billing.overrides": [{"members": "0", "config": {"partition.assignment.strategy": ["sticky"]}}]},
         "groups.billing.overrides[0].config[partition.assignment.strategy]: shares no assignor with the rest"),
    ],
)  # fmt: skip
def test_what_goes_against_advice_is_told(changes: dict[str, Any], warning: str) -> None:
    (found,) = _warnings(**changes)
    assert found.startswith(warning)


def test_set_config_tells_that_overrides_are_lost() -> None:
    overrides = [{"members": "0", "config": {"max.poll.records": 5}}]
    timeline = [{"at": "1s", "set_config": {"target": "billing", "config": {"max.poll.records": 7}}}]
    (found,) = _warnings(**{"groups.billing.overrides": overrides, "timeline": timeline})
    assert found.startswith("timeline[set_config-1].set_config: replaces what overrides say")


@pytest.mark.parametrize(("session", "heartbeat"), [(45_000, 15_000), (9_000, 3_000)])
def test_a_third_of_the_session_is_still_fine(session: int, heartbeat: int) -> None:
    config = {"session.timeout.ms": session, "heartbeat.interval.ms": heartbeat, "request.timeout.ms": 8_999}
    assert _warnings(**{"groups.billing.config": config}) == []


def test_fetches_that_collect_need_the_size_of_records() -> None:
    place, key = "groups.billing.config", "fetch.min.bytes"
    (found,) = _warnings(**{place: {key: 50_000}})
    assert found.startswith(f"{place}[{key}]: how long a fetch collects so much follows from topics' record_size")
    assert not _warnings(**{place: {key: 50_000}, "topics.orders.record_size": "1KiB"})
    assert not _warnings(**{place: {key: 1}})


def test_keys_that_are_not_modelled_are_listed_once() -> None:
    found = _warnings(
        **{
            "cluster.config": {"log.dirs": "/d", "num.io.threads": 8},
            "topics.orders.config": {"segment.ms": 5},
            "groups.billing.config": {"reconnect.backoff.ms": 7, "max.poll.records": 5, "group.protocol": "classic"},
            "groups.billing.overrides": [
                {"members": "0", "config": {"reconnect.backoff.ms": 9, "send.buffer.bytes": 2}}
            ],
            "timeline": [
                {"at": "1s", "create_topic": {"name": "t", "partitions": 1, "config": {"segment.bytes": 1_048_576}}},
            ],
        }
    )
    assert found == [
        "broker keys that have no effect here: log.dirs, num.io.threads",
        "topic keys that have no effect here: segment.bytes, segment.ms",
        "consumer keys that have no effect here: reconnect.backoff.ms, send.buffer.bytes",
    ]


# --- code of the user's own -------------------------------------------------------------------------------------------

OWN = """
from groupsim.assignors import Assignor, Protocol, RangeAssignor

class Mine(RangeAssignor):
    name = "mine"

class Cooperative(RangeAssignor):
    name = "my-cooperative"
    protocols = (Protocol.COOPERATIVE,)

class NoAssignor:
    pass
"""


@pytest.fixture
def own(importable: Path) -> None:
    (importable / "own_assignors.py").write_text(OWN, encoding="utf-8")
    (importable / "broken_assignors.py").write_text("import nothing_of_that_name\n", encoding="utf-8")
    (importable / "leaving_assignors.py").write_text("import sys; sys.exit(7)\n", encoding="utf-8")
    (importable / "senseless_assignors.py").write_text("def (\n", encoding="utf-8")


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("spelling", ["mine", "own_assignors:Mine"])
def test_an_assignor_of_the_users_own_is_used_when_allowed(spelling: str, file: Path) -> None:
    allowed = ["own_assignors:Mine"]
    scenario = load(file, set_={STRATEGY: [spelling, "range"]}, allow_code=allowed)
    assert scenario.groups[0].client.partition_assignment_strategy == ("mine", "range")
    assert scenario.allow_assignors == ("own_assignors:Mine",)
    assert parse(scenario.document, file="x", name="mine", allow_code=allowed) == scenario
    assert warnings_of(scenario) == ()


@pytest.mark.usefixtures("own")
def test_code_that_is_not_allowed_is_never_imported(file: Path) -> None:
    with pytest.raises(ScenarioFileError, match="--allow-code"):
        load(file, set_={STRATEGY: ["own_assignors:Mine"]})
    assert "own_assignors" not in sys.modules


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere_at_all:X", "cannot load assignor"),
        ("own_assignors:Nobody", "cannot load assignor"),
        ("own_assignors:NoAssignor", "subclass"),
        ("broken_assignors:X", "nothing_of_that_name"),
        ("senseless_assignors:X", "SyntaxError"),
        ("leaving_assignors:X", "cannot be loaded: SystemExit: 7"),
        ("own_assignors", "cannot"),
    ],
)
def test_code_that_cannot_be_loaded_is_told(path: str, message: str, file: Path) -> None:
    with pytest.raises(ScenarioFileError) as caught:
        load(file, allow_code=[path])
    assert caught.value.file == "--allow-code"
    (problem,) = caught.value.problems
    assert problem.path == path
    assert message in problem.message


@pytest.mark.usefixtures("own")
def test_assignors_without_a_common_rebalance_protocol_are_refused(file: Path) -> None:
    with pytest.raises(ScenarioFileError) as caught:
        load(file, set_={STRATEGY: ["my-cooperative", "range"]}, allow_code=["own_assignors:Cooperative"])
    (problem,) = caught.value.problems
    assert problem.path == STRATEGY
    assert "my-cooperative, range do not have commonly supported rebalance protocol" in problem.message
    load(file, set_={STRATEGY: ["my-cooperative", "cooperative-sticky"]}, allow_code=["own_assignors:Cooperative"])


def test_broadcast_is_for_a_whole_group_from_beginning_to_end(file: Path) -> None:
    load(file, set_={STRATEGY: ["broadcast"]})
    entry = {
        "at": "10s",
        "set_config": {"target": "billing", "config": {"partition.assignment.strategy": ["broadcast"]}},
    }
    for change, path in (({STRATEGY: ["broadcast", "range"]}, STRATEGY), ({"timeline": [entry]}, STRATEGY)):
        with pytest.raises(ScenarioFileError) as caught:
            load(file, set_=change)
        (problem,) = caught.value.problems
        assert problem.path == path
        assert "broadcast is for a whole group" in problem.message


@pytest.mark.parametrize("path", ["processing", "overrides"])
def test_offsets_outside_kafka_are_for_broadcast_groups(file: Path, path: str) -> None:
    kept = {"commit": "outside"}
    value: object = kept if path == "processing" else [{"members": "0", "processing": kept}]
    change = {f"groups.billing.{path}": value}
    load(file, set_={**change, STRATEGY: ["broadcast"]})
    with pytest.raises(ScenarioFileError, match="outside is for broadcast groups"):
        load(file, set_=change)


def test_kafkas_class_names_are_understood(file: Path) -> None:
    classes = (
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor, org.apache.kafka.clients.consumer.RangeAssignor"
    )
    scenario = load(file, set_={STRATEGY: classes})
    assert scenario.groups[0].client.partition_assignment_strategy == ("cooperative-sticky", "range")


def test_a_new_assignor_list_arrives_with_set_config() -> None:
    verbs = [entry.verb for entry in load("assignor-upgrade").timeline]
    lists = [verb.client.partition_assignment_strategy for verb in verbs if isinstance(verb, SetConfig)]
    assert lists == [("cooperative-sticky", "range"), ("cooperative-sticky",)]


# --- for editors ------------------------------------------------------------------------------------------------------


def test_the_json_schema_speaks_of_every_part_of_a_file() -> None:
    schema = json_schema()
    assert set(schema["required"]) == {"version", "question", "horizon", "topics", "groups"}
    assert schema["additionalProperties"] is False
    assert len([name for name in schema["$defs"] if name.endswith("Entry")]) == 23
    group = schema["$defs"]["GroupFile"]["properties"]
    assert "session.timeout.ms" in group["config"]["properties"]
    assert "for" in schema["$defs"]["GcPauseFile"]["properties"]
