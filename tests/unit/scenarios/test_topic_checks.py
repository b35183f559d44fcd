"""Scenario files in which topics come and go: what is refused, and why."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from groupsim.scenarios.build.loading import parse
from groupsim.scenarios.errors import Problem, ScenarioFileError
from groupsim.sim import model
from groupsim.sim.units import S

BASE = """
version: 1
question: What happens?
horizon: 10min
cluster:
  brokers: [{id: 0, rack: a}, {id: 1, rack: b}, {id: 2}]
topics:
  orders: {partitions: 6, rate: {per_partition: 5}}
  old: {partitions: 6, rate: {per_partition: 5}}
groups:
  billing: {topics: [orders, old], members: {count: 4}, protocol: consumer}
  other: {topics: [orders], members: {count: 4}}
"""
DELETED = {"at": "1min", "delete_topic": {"topic": "old"}}
PATH = "timeline[delete_topic-1].delete_topic.topic"


def document(*timeline: Any, **changes: Any) -> dict[str, Any]:
    return {**yaml.safe_load(BASE), **changes, "timeline": [*timeline]}


def problems(found: dict[str, Any]) -> list[Problem]:
    with pytest.raises(ScenarioFileError) as caught:
        parse(found, file="s.yaml", name="s")
    return list(caught.value.problems)


def group(**more: Any) -> dict[str, Any]:
    return {"topics": ["orders", "old"], "members": {"count": 1}, **more}


def test_a_topic_can_be_deleted() -> None:
    (entry,) = parse(document(DELETED), file="s.yaml", name="s").timeline
    assert (entry.at_us, entry.verb) == (60 * S, model.DeleteTopic(topic="old"))


@pytest.mark.parametrize(
    ("entries", "path", "message"),
    [
        ([{"at": "1s", "delete_topic": {"topic": "odl"}}], PATH, "there is no topic of that name; did you mean 'old'?"),
        ([DELETED, {**DELETED, "at": "2min"}], "timeline[delete_topic-2].delete_topic.topic", "is not there then"),
        ([DELETED, {"at": "2min", "set_rate": {"topic": "old", "rate": {"total": 1}}}],
         "timeline[set_rate-1].set_rate.topic", "(UnknownTopicOrPartitionException)"),
        ([{"at": "2min", "add_partitions": {"topic": "old", "to": 9}}, DELETED],
         "timeline[add_partitions-1].add_partitions.topic", "(UnknownTopicOrPartitionException)"),
        ([{"at": "1s", "create_topic": {"name": "old", "partitions": 1}}, DELETED],
         "timeline[create_topic-1].create_topic.name", "Topic 'old' already exists. (TopicExistsException)"),
        ([{"at": "2s", "delete_topic": {"topic": "new"}},
          {"at": "3s", "create_topic": {"name": "new", "partitions": 1}}],
         PATH, "is not there then"),
        ([DELETED, {"at": "2min", "kill": {"target": "broker:0"}}], "timeline[kill-1].kill", "brokers that stop"),
        ([DELETED, {"at": "2min", "restart": {"target": "rack:a"}}], "timeline[restart-1].restart",
         "brokers that stop"),
        ([DELETED, {"at": "2min", "cut": {"between": ["rack:a", "broker:1"], "for": "1s"}}], "timeline[cut-1].cut",
         "brokers that stop"),
        ([DELETED, {"at": "2min", "elect_leaders": {}}], "timeline[elect_leaders-1].elect_leaders", "elections"),
    ],
)  # fmt: skip
def test_what_is_done_to_topics_is_held_against_what_there_is(entries: Any, path: str, message: str) -> None:
    found = [one for one in problems(document(*entries)) if one.path == path]
    assert [message in one.message for one in found].count(True) == 1, problems(document(*entries))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"old": group(protocol="zookeeper")}, "old reads it: that it is deleted is not modelled"),
        ({"hand": group(topics={"assign": {"old": "0"}})}, "hand takes partitions of it by hand"),
        ({"tx": group(config={"enable.auto.commit": False}, produces={"to": "paid"})}, "tx reads it in transactions"),
        ({"tx": group(topics=["orders"], config={"enable.auto.commit": False}, produces={"to": "old"})},
         "a group produces to it"),
    ],
)  # fmt: skip
def test_a_topic_is_not_deleted_under_whom_that_is_not_modelled_with(groups: Any, message: str) -> None:
    topics = {**yaml.safe_load(BASE)["topics"], "paid": {"partitions": 1}}
    if "produces to it" in message:
        topics["old"] = {"partitions": 6}
    (problem,) = problems(document(DELETED, groups=groups, topics=topics))
    assert problem.path == PATH
    assert message in problem.message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"producers": {"p": {"topics": ["old"]}}}, "producers send to it"),
        ({"data": "exact"}, "data: exact"),
    ],
)
def test_nor_where_each_record_counts(changes: Any, message: str) -> None:
    assert [message in one.message for one in problems(document(DELETED, **changes))] == [True]


def test_members_may_be_cut_off_and_die_beside_it() -> None:
    cut = {"at": "2min", "cut": {"between": ["billing/0", "broker:1"], "for": "1s"}}
    killed = {"at": "3min", "kill": {"target": "billing/1", "down": "5s"}}
    assert len(parse(document(DELETED, cut, killed), file="s.yaml", name="s").timeline) == 3


def test_it_is_not_made_anew_for_members_that_know_topics_by_name() -> None:
    anew = {"at": "2min", "create_topic": {"name": "old", "partitions": 6}}
    classic = {"billing": group()}
    (problem,) = problems(document(DELETED, anew, groups=classic))
    assert problem.path == "timeline[create_topic-1].create_topic.name"
    assert "members of billing know topics by name" in problem.message
    assert len(parse(document(DELETED, anew), file="s.yaml", name="s").timeline) == 2
