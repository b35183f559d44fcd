"""Files that a scenario, a setting and a sweep name: each is looked up from where its name was written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from groupsim.scenarios.build.loading import load
from groupsim.scenarios.cli.settings import parse_settings
from groupsim.scenarios.sweep.loading import load_sweep
from groupsim.sim.model import Scenario
from tests.support.command_line import SCENARIO, CommandLine


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a file of every kind; below it a folder with a scenario and none of them."""
    (tmp_path / "consumer.properties").write_text("session.timeout.ms=20000\n")
    (tmp_path / "rates.csv").write_text("time_s,rate\n0,7\n")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "small.yaml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def session_us(scenario: Scenario) -> int:
    return scenario.groups[0].client.session_timeout_us


@pytest.mark.parametrize(
    "setting",
    [
        "groups.billing.config={file: consumer.properties}",
        "groups.billing.config.file=consumer.properties",
        "groups.billing.config[file]=consumer.properties",
        "groups.billing={topics: [orders], config: {file: consumer.properties}, members: {count: 1}}",
        "groups.billing.overrides=[{members: 0-1, config: {file: consumer.properties}}]",
    ],
)
def test_named_by_a_setting_are_looked_up_from_the_working_directory(here: Path, setting: str) -> None:
    group = load("below/small.yaml", set_=parse_settings([setting])).groups[0]
    clients = [group.client, *(one.client for one in group.overrides if one.client)]
    assert clients[-1].session_timeout_us == 20_000_000


def test_named_by_a_setting_may_hold_rates(here: Path) -> None:
    settings = parse_settings(["topics.orders.rate={csv: rates.csv}"])
    assert load("below/small.yaml", set_=settings).topics[0].rate.per_partition_mrps[0][0] == 7000


def test_named_by_a_scenario_are_looked_up_beside_it(here: Path) -> None:
    (here / "below" / "consumer.properties").write_text("session.timeout.ms=30000\n")
    named = "{file: consumer.properties, partition.assignment.strategy: [range]}"
    text = SCENARIO.replace("{partition.assignment.strategy: [range]}", named)
    (here / "below" / "named.yaml").write_text(text)
    assert session_us(load("below/named.yaml")) == 30_000_000
    assert session_us(load("below/named.yaml", set_={"horizon": "6min"})) == 30_000_000


def test_named_by_a_setting_and_absent_are_told_with_the_place_that_was_looked_at(
    groupsim: CommandLine, here: Path
) -> None:
    told = groupsim("run", "below/small.yaml", "--set", "groups.billing.config={file: none.properties}")
    assert told.code == 2
    assert f"{here}/none.properties: cannot be read" in " ".join(told.err.split())


def test_named_by_a_sweep_are_looked_up_beside_it_and_its_replays_find_them(here: Path) -> None:
    (here / "sweeps").mkdir()
    (here / "sweeps" / "own.properties").write_text("session.timeout.ms=9000\n")
    (here / "sweeps" / "mine.yaml").write_text(
        "scenario: ../below/small.yaml\nvariants: {own: {groups.billing.config: {file: own.properties}}}\n"
    )
    sweep = load_sweep("sweeps/mine.yaml")
    assert session_us(sweep.variants[0].scenario) == 9_000_000
    words = shlex.split(sweep.replay(sweep.variants[0]))
    again = load(words[2], set_=parse_settings([words[words.index("--set") + 1]]))
    assert session_us(again) == 9_000_000
