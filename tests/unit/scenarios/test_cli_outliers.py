"""``groupsim run`` names what stands out: a topic that starves behind a healthy one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine

STARVING = """
version: 1
question: Who reads the audit log?
horizon: 2min
topics:
  orders: {partitions: 4, rate: {per_partition: 10}}
  audit: {partitions: 2, rate: {per_partition: 10}}
groups:
  billing:
    topics: [orders]
    config: {partition.assignment.strategy: [range]}
    members: {count: 3, boot: 100ms}
    overrides: [{members: "2", topics: [orders, audit]}]
timeline:
  - {id: gone, at: 20s, close: {target: billing/2}}
"""


@pytest.fixture
def starving(tmp_path: Path) -> Path:
    (tmp_path / "starving.yaml").write_text(STARVING)
    return tmp_path / "starving.yaml"


def test_the_topic_that_starves_is_named_below_the_table(groupsim: CommandLine, starving: Path) -> None:
    told = groupsim("run", starving)
    assert told.code == 0, told.err
    (line,) = (line for line in told.out.splitlines() if line.startswith("stands out"))
    assert line.startswith("stands out: topic audit: unread 10")
    assert max(map(len, told.out.splitlines())) <= 80


def test_json_has_it_too(groupsim: CommandLine, starving: Path) -> None:
    found = json.loads(groupsim("run", starving, "--json").out)["stands_out"]
    assert [(one["kind"], one["name"], one["measure"]) for one in found] == [("topic", "audit", "unread")]


def test_nothing_is_said_of_equals_or_of_several_runs(groupsim: CommandLine, starving: Path) -> None:
    both = groupsim("run", starving, "--set", "groups.billing.topics=[orders, audit]")
    assert (both.code, "stands out" in both.out) == (0, False)
    several = groupsim("run", starving, "--replications", "2")
    assert (several.code, "stands out" in several.out) == (0, False)
    assert "stands_out" not in json.loads(groupsim("run", starving, "--replications", "2", "--json").out)
