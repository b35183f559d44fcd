"""The README's Python and `groupsim` code blocks work as they stand; its scenario and its sweep load."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from groupsim.assignors import load_class
from groupsim.assignors.evaluation.conformance import check_assignor, example_groups
from groupsim.scenarios.build.loading import parse
from tests.support.command_line import CommandLine

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_python_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = _blocks("python")[0]
    exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "timeline.png").stat().st_size > 10_000
    assert (tmp_path / "timeouts/manifest.json").exists()


@pytest.fixture
def _mine(importable: Path) -> None:
    """The README's own assignor, where its command looks for it."""
    (importable / "mine.py").write_text(_blocks("python")[1], encoding="utf-8")


@pytest.mark.usefixtures("_mine")
def test_the_own_assignor_passes_the_list_of_checks() -> None:
    for group in example_groups():
        check_assignor(load_class("mine:Dealer"), group)


@pytest.mark.usefixtures("_mine")
def test_the_commands_run(groupsim: CommandLine) -> None:
    commands = [line[2:] for block in _blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) == 4
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "groupsim"
        assert groupsim(*words[1:]).code == 0, command


def test_the_scenario_loads() -> None:
    document = yaml.safe_load(_blocks("yaml")[0])
    scenario = parse(document, file="README.md", name="mine")
    assert [entry.id for entry in scenario.timeline] == ["kill", "gc"]
    assert scenario.groups[0].client.partition_assignment_strategy == ("cooperative-sticky",)


def test_every_summary_column_is_explained() -> None:
    from groupsim.sim.tables import SUMMARY

    plain = {"scenario", "variant", "group", "seed", "replication", "horizon_s", "members", "partitions"}
    explained = README[README.index("## How to read the numbers") : README.index("## Where things are")]
    families = ("rebalance_s_", "unavailable_s_", "lag_records_end", "partitions_moved_min", "unavailable_")
    missing = [
        name for name in SUMMARY if name not in plain and name not in explained and not name.startswith(families)
    ]
    assert not missing
