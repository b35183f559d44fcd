"""``groupsim run`` says in words what ZooKeeper has done for a group that it holds together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import CommandLine
from tests.support.given_runs import flat

JOIN = """
version: 1
question: What does a third consumer cost ZooKeeper?
horizon: 40s
measure: {from: 20s}
cluster: {brokers: 1, zookeeper: {nodes: 1}}
topics: {orders: {partitions: 4, rate: {per_partition: 10}}}
groups:
  billing:
    protocol: zookeeper
    topics: [orders]
    config: {auto.commit.enable: false}
    members: {count: 2, boot: 100ms, start: {every: 5s}}
timeline:
  - {id: newcomer, at: 25s, scale: {target: billing, to: 3}}
"""
ASKED = "ZooKeeper for group billing: 2 watch notifications, 47 reads, 10 writes; 0 conflicts over owner nodes, 0 tries"


@pytest.fixture
def join(tmp_path: Path) -> Path:
    (tmp_path / "join.yaml").write_text(JOIN)
    return tmp_path / "join.yaml"


def test_a_join_is_told_in_the_numbers_of_its_closed_form(groupsim: CommandLine, join: Path) -> None:
    """N (N + 2 B + 6 + T) + P + 2 N + T reads and 2 P + 2 writes, as in the library's herd-effect."""
    told = groupsim("run", join)
    assert told.code == 0, told.err
    sentence = flat(told.out)
    assert ASKED in sentence
    assert "that failed, 0 rebalances given up; two readers at once for 0 partition·s; servers busy 0" in sentence
    assert sentence.endswith("Generations of such a group are changes of its members or topics.")
    assert max(map(len, told.out.splitlines())) <= 80


def test_several_runs_are_told_by_their_means(groupsim: CommandLine, join: Path) -> None:
    told = flat(groupsim("run", join, "--replications", "2").out)
    assert ASKED in told
    assert "; means of all runs." in told


def test_json_has_the_row(groupsim: CommandLine, join: Path) -> None:
    (row,) = groupsim("run", join, "--json").json["zookeeper"]
    assert (row["group"], row["watch_notifications"], row["reads"], row["writes"]) == ("billing", 2, 47, 10)
    assert "replication" not in row
    several = groupsim("run", join, "--replications", "2", "--json").json["zookeeper"]
    assert [one["replication"] for one in several] == [0, 1]


def test_groups_with_a_coordinator_have_no_such_sentence(groupsim: CommandLine, join: Path) -> None:
    told = groupsim("run", join, "--set", "groups.billing={topics: [orders], members: {count: 1}}")
    assert (told.code, "ZooKeeper" in told.out) == (0, False)
