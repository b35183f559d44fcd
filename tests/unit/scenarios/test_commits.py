"""How applications commit, in a scenario file: ``processing.commit``, ``framework``, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from groupsim.scenarios.build.loading import parse
from groupsim.scenarios.errors import Problem, ScenarioFileError
from groupsim.scenarios.kafka.frameworks import FRAMEWORKS
from groupsim.sim.model import Group, Processing
from groupsim.sim.units import S


def document(group: str = "", timeline: str = "[]") -> dict[str, Any]:
    text = f"""
    version: 1
    question: What happens?
    horizon: 10min
    topics: {{orders: {{partitions: 6, rate: {{per_partition: 5}}}}}}
    groups: {{billing: {{topics: [orders], members: {{count: 4}}, {group}}}}}
    timeline: {timeline}
    """
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def made(group: str) -> Group:
    (found,) = parse(document(group), file="s.yaml", name="s").groups
    return found


def problems(group: str = "", timeline: str = "[]") -> list[Problem]:
    with pytest.raises(ScenarioFileError) as caught:
        parse(document(group, timeline), file="s.yaml", name="s")
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("commit", "expected", "written"),
    [
        ("auto", Processing(), "auto"),
        ("after_batch", Processing(commit="after_batch"), "after_batch"),
        ("{async: batch}", Processing(commit="after_batch"), "after_batch"),
        ("{async: 1500ms}", Processing(commit="after_batch", commit_every_us=1_500_000), {"async": "1500ms"}),
        ("{sync: batch}", Processing(commit="after_batch", commit_waits=True), {"sync": "batch"}),
        ("{sync: 5s}", Processing(commit="after_batch", commit_waits=True, commit_every_us=5 * S), {"sync": "5s"}),
        (
            "{sync: record}",
            Processing(commit="after_batch", commit_waits=True, commit_each_record=True),
            {"sync": "record"},
        ),
        ("{async: record}", Processing(commit="after_batch", commit_each_record=True), {"async": "record"}),
        (
            "{async: batch, retry: true}",
            Processing(commit="after_batch", commit_again=True),
            {"async": "batch", "retry": True},
        ),
        (
            "{async: 5s, retry: true}",
            Processing(commit="after_batch", commit_every_us=5 * S, commit_again=True),
            {"async": "5s", "retry": True},
        ),
        ("{sync: on_revoke}", Processing(commit="none", commit_on_revoked=True), {"sync": "on_revoke"}),
    ],
)
def test_a_way_to_commit_arrives_and_is_written_as_it_was_read(commit: str, expected: Processing, written: Any) -> None:
    assert made(f"processing: {{commit: {commit}}}").processing == expected
    scenario = parse(document(f"processing: {{commit: {commit}}}"), file="s.yaml", name="s")
    shown: Any = scenario.document
    assert shown["groups"]["billing"]["processing"]["commit"] == written


@pytest.mark.parametrize(
    "commit",
    [
        "{async: on_revoke}",
        "{sync: records}",
        "{}",
        "record",
        "{sync: batch, retry: true}",
        "{async: batch, retry: 3}",
    ],
)
def test_other_ways_are_refused_with_those_that_there_are(commit: str) -> None:
    (problem,) = problems(f"processing: {{commit: {commit}}}")
    assert (problem.path, "must be auto, none, after_batch" in problem.message) == (
        "groups.billing.processing.commit", True,
    )  # fmt: skip


# --- frameworks -------------------------------------------------------------------------------------------------------


def test_a_framework_is_its_defaults() -> None:
    spring, sarama = made("framework: spring-batch"), made("framework: sarama")
    assert spring.processing == Processing(commit="after_batch", commit_waits=True, poll_timeout_us=5 * S)
    assert (spring.client.enable_auto_commit, spring.client_family) == (False, "java")
    assert made("framework: spring-record").processing == replace(spring.processing, commit_each_record=True)
    assert sarama.processing.commit_every_us == S
    assert (sarama.client.session_timeout_us, sarama.client.max_poll_interval_us) == (10 * S, 60 * S)
    assert made("framework: confluent-kafka").client_family == "librdkafka"
    assert made("framework: franz-go").client.partition_assignment_strategy == ("cooperative-sticky",)


def test_what_the_file_says_counts_more() -> None:
    own = made(
        "framework: sarama, config: {session.timeout.ms: 30000}, processing: {commit: {async: 9s}, poll_timeout: 1s}"
    )
    assert (own.client.session_timeout_us, own.client.heartbeat_interval_us) == (30 * S, 3 * S)
    assert (own.processing.commit_every_us, own.processing.poll_timeout_us) == (9 * S, S)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_resolved_file_with_a_framework_says_the_same_again(framework: str) -> None:
    first = parse(document(f"framework: {framework}"), file="s.yaml", name="s")
    again = parse(yaml.safe_load(yaml.safe_dump(first.document)), file="s.yaml", name="s")
    assert again.groups == first.groups


def test_every_framework_has_a_source() -> None:
    assert all(len(one.source) > 20 for one in FRAMEWORKS.values())


def test_a_framework_of_another_client_is_refused() -> None:
    (problem,) = problems("framework: sarama, client_family: librdkafka")
    assert problem.message.startswith("the client of sarama is java")
    (problem,) = problems("framework: spring")
    assert "spring-batch" in problem.message


# --- deletion ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "message"),
    [
        ("delete_group: {target: billing/1}", "delete_group takes a whole group"),
        ("delete_offsets: {target: billing/1, topics: [orders]}", "delete_offsets takes a whole group"),
        ("delete_offsets: {target: broker:0, topics: [orders]}", "is done to members"),
        ("delete_offsets: {target: billing, topics: [order]}", "there is no topic of that name"),
        ("delete_offsets: {target: billing, topics: []}", "at least 1"),
        ("delete_offsets: {target: billing}", "topics"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(verb: str, message: str) -> None:
    assert any(message in f"{one.path} {one.message}" for one in problems("", f"[{{at: 1s, {verb}}}]"))
