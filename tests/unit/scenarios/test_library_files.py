"""The built-in scenarios: each asks one question, says what to expect, loads, and is worth no warning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groupsim.scenarios import list_names, load, load_document, parse, warnings_of
from groupsim.scenarios.build.loading import LIBRARY
from groupsim.scenarios.files.yaml_text import read_yaml
from groupsim.sim.model import Kill, RollingRestart, Scenario

NAMES = list_names()
HEADINGS = ["Question", "Set-up", "Expected finding", "Limits"]
FILES = [*sorted(LIBRARY.glob("*.yaml")), *sorted((LIBRARY / "sweeps").glob("*.yaml"))]


NOTED = {
    "leader-death": "what it sends is read (billing) at the topic's rate",
    "slow-assignor": "KIP-735",
    "rebalance-given-up": "rebalance.max.retries",
    "twelve-pod-deploy": "no group has protocol: zookeeper",
}
"""Where producers are looked at, readers are told of; two have the configuration of somebody who was in trouble; of the
last, a sweep's variant has such a group."""


def _scenario(name: str) -> Scenario:
    return load(name)


def test_the_library_answers_what_users_ask() -> None:
    assert set(NAMES) >= {
        "start-up-with-delay", "start-up-without-delay", "staggered-start", "rolling-deploy", "rolling-deploy-surge",
        "static-restart-inside-session", "static-restart-outside-session", "kill-detection", "gc-storm",
        "slow-consumer", "barrier-hostage", "scale-out", "partitions-added", "regex-topic", "assignor-upgrade",
        "blue-green", "old-client", "broadcast", "outage", "slow-assignor", "cold-start", "consumer-join",
        "static-crash", "autoscaled-pods", "slow-revoker", "broker-pattern", "protocol-upgrade", "protocol-downgrade",
        "coordinator-neighbours",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_built_in_scenario_loads_without_a_warning(name: str) -> None:
    scenario = _scenario(name)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert all(NOTED.get(name, "?") in warning for warning in warnings_of(scenario))
    assert parse(scenario.document, file=name, name=name) == scenario


@pytest.mark.parametrize("name", NAMES)
def test_entries_have_ids_because_draws_are_keyed_by_them(name: str) -> None:
    assert all("id" in entry for entry in load_document(name).get("timeline", []))


def _header(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    assert lines[: len(comments)] == comments, "the comment stands at the top"
    return " ".join(line.lstrip("# ") for line in comments)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_header_says_question_set_up_finding_and_limits(path: Path) -> None:
    header = _header(path)
    assert [
        word for word in re.findall(r"(?:^| )([A-Z][a-z]+(?:[ -][a-z]+)?):(?= )", header) if word in HEADINGS
    ] == HEADINGS
    question = header.removeprefix("Question: ").partition(" Set-up: ")[0]
    assert question == read_yaml(path).data["question"]
    assert question.endswith("?")
    assert question.count("?") == 1


def test_the_two_start_ups_differ_in_the_delay_alone() -> None:
    with_delay, without = load_document("start-up-with-delay"), load_document("start-up-without-delay")
    assert with_delay["cluster"]["config"] == {"group.initial.rebalance.delay.ms": 3000}
    assert without["cluster"]["config"] == {"group.initial.rebalance.delay.ms": 0}
    for document in (with_delay, without):
        for key in ("question", "goals", "cluster"):
            document.pop(key, None)
    assert with_delay == without


def test_the_two_static_restarts_differ_in_the_time_down_alone() -> None:
    inside, outside = load_document("static-restart-inside-session"), load_document("static-restart-outside-session")
    downs = [document["timeline"][0]["restart"].pop("down") for document in (inside, outside)]
    assert downs == ["20s", "60s"]
    session_ms = inside["groups"]["billing"]["config"]["session.timeout.ms"]
    assert 20_000 < session_ms < 60_000
    for document in (inside, outside):
        for key in ("question", "goals"):
            document.pop(key)
    assert inside == outside


def test_the_rolling_deploy_is_the_one_everybody_quotes() -> None:
    scenario = _scenario("rolling-deploy")
    assert (scenario.groups[0].members.count, scenario.topics[0].partitions) == (40, 200)
    assert scenario.groups[0].client.partition_assignment_strategy == ("range",)
    assert isinstance(scenario.timeline[0].verb, RollingRestart)


def test_the_victim_of_a_kill_is_drawn() -> None:
    verb = _scenario("kill-detection").timeline[0].verb
    assert isinstance(verb, Kill)
    assert verb.target.pick == "random"


def test_the_sweep_varies_the_rolling_deploy() -> None:
    sweep = read_yaml(LIBRARY / "sweeps" / "rolling-deploy.yaml").data
    assert sweep["scenario"] == "rolling-deploy"
    assert list(sweep["variants"]) == ["range", "sticky", "cooperative-sticky", "static", "consumer"]
    assert sweep["replications"] == 20
    found = {name: load("rolling-deploy", set_=changes) for name, changes in sweep["variants"].items()}
    clients = {name: one.groups[0].client for name, one in found.items()}
    assert clients.pop("consumer").group_protocol == "consumer"
    strategies = {name: one.partition_assignment_strategy for name, one in clients.items()}
    assert strategies == {
        "range": ("range",), "sticky": ("sticky",), "cooperative-sticky": ("cooperative-sticky",), "static": ("range",),
    }  # fmt: skip
    assert [name for name, one in found.items() if one.groups[0].members.static] == ["static"]
