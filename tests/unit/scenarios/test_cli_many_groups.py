"""``groupsim run`` of several groups: what all of them come to, the worst one by one, on 80 columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupsim.analysis.data.load import load_result
from groupsim.analysis.text.groups import MANY
from tests.support.command_line import CommandLine

MANY_GROUPS = """
version: 1
question: What becomes of many groups?
horizon: 40s
cluster: {brokers: 3}
topics:
  orders: {partitions: 2, rate: {per_partition: 10}}
groups:
  a-team-with-a-name-that-is-rather-long:
    count: 3
    topics: [orders]
    config: {partition.assignment.strategy: [range]}
    members: {count: 1, boot: 100ms}
timeline:
  - {id: gone, at: 20s, kill: {target: a-team-with-a-name-that-is-rather-long-2/0, down: 2s}}
"""
NAME = "a-team-with-a-name-that-is-rather-long"


@pytest.fixture
def many(tmp_path: Path) -> Path:
    (tmp_path / "many.yaml").write_text(MANY_GROUPS)
    return tmp_path / "many.yaml"


def _first_cells(out: str) -> list[str]:
    return [line.split(" ")[0] for line in out.splitlines() if line]


def test_few_groups_stand_beside_one_another_below_their_total(groupsim: CommandLine, many: Path) -> None:
    told = groupsim("run", many)
    assert told.code == 0, told.err
    over, one_by_one = told.out.split("\n\n")
    assert max(map(len, told.out.splitlines())) <= 80
    header = over.splitlines()[0].split()
    assert header == ["metric", "unit", "total", "worst", "of", "group"], "three groups need no quantiles"
    assert "3 groups; state at the end: Stable" in over
    assert "coordinators: 3 groups in 3 offsets partitions, 1 each; on 3 brokers" in " ".join(over.split())
    (unread,) = (line for line in over.splitlines() if line.startswith("unread in total"))
    assert unread.endswith("-2")
    assert "group" in one_by_one.splitlines()[0]


def test_of_many_groups_the_worst_are_told_and_all_on_demand(groupsim: CommandLine, many: Path) -> None:
    more = ("--set", f"groups.{NAME}.count=30")
    told, full = groupsim("run", many, *more), groupsim("run", many, *more, "--full")
    assert (told.code, full.code) == (0, 0), told.err + full.err
    over, one_by_one = told.out.split("\n\n")
    assert over.splitlines()[0].split() == ["metric", "unit", "total", "median", "p99", "worst", "of", "group"]
    assert max(map(len, [*told.out.splitlines(), *full.out.splitlines()])) <= 80
    groups = [cell for cell in _first_cells(one_by_one) if cell.startswith("a-")]
    assert len(groups) == MANY == 24
    assert groups[0].endswith("-2"), "the one that was killed is first"
    assert "the 24 that were unread" in told.out
    assert len([cell for cell in _first_cells(full.out.split("\n\n")[1]) if cell.startswith("a-")]) == 30
    assert "evictions" in full.out.split("\n\n")[0]


def test_json_and_the_result_have_all_groups_in_a_row_a_metric(
    groupsim: CommandLine, many: Path, tmp_path: Path
) -> None:
    told = groupsim("run", many, "--json", "--out", tmp_path / "out").json
    over: dict[str, dict[str, Any]] = {row["metric"]: row for row in told["over_groups"]}
    unread = [row["unavailable_partition_s"] for row in told["summary"]]
    assert over["unavailable_partition_s"]["total"] == pytest.approx(sum(unread))
    assert (over["unavailable_partition_s"]["max"], over["unavailable_partition_s"]["max_group"]) == (
        max(unread),
        f"{NAME}-2",
    )
    assert over["unavailable_gap_s_max"]["total"] is None
    assert sum(row["groups"] for row in told["placement"]) == 3
    assert len(load_result(tmp_path / "out").tables["over_groups"]) == len(over)


def test_of_several_runs_json_has_means_over_groups(groupsim: CommandLine, many: Path) -> None:
    told = groupsim("run", many, "--replications", 2, "--json").json
    over = {row["metric"]: row for row in told["over_groups"]}
    means = [row["unavailable_partition_s"]["mean"] for row in told["summary"]]
    assert over["unavailable_partition_s"]["total"]["mean"] == pytest.approx(sum(means))
    assert over["unavailable_partition_s"]["total"]["n"] == 2
    assert over["unavailable_partition_s"]["max_group"] == {f"{NAME}-2": 2}
    assert "placement" not in told


def test_what_all_groups_do_is_told_of_some(groupsim: CommandLine, many: Path) -> None:
    goal = ("--set", "goals.rebalances='< 0'", "--set", f"groups.{NAME}.count=30")
    told = groupsim("run", many, *goal)
    assert told.code == 1
    assert told.err.count("goal missed: rebalances") == MANY
    assert "goal missed: and 6 goals more" in told.err
