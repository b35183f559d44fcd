"""Runs of groups that produce say beforehand how long they take, where that is long: as their beginning has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupsim.scenarios import load
from groupsim.scenarios.cli import announcement
from groupsim.sim import Result
from groupsim.sim.errors import SimError
from groupsim.sim.units import S
from tests.support import fake_simulation as fake
from tests.support.command_line import SCENARIO, CommandLine


class Slow:
    """Takes two milliseconds for each of the events of a run, of which there is one every virtual tenth of a second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock_s, self.pilot_runs, self.fails = 0.0, 0, False
        for clock in ("process_time", "monotonic"):
            monkeypatch.setattr(f"groupsim.scenarios.sweep.pilot.{clock}", lambda: self.clock_s)
        monkeypatch.setattr("groupsim.sim.simulate", self.simulate, raising=False)

    def simulate(self, scenario: Any, *, after_each: Any = None, **run: Any) -> Result:
        if after_each is not None:
            self.pilot_runs += 1
            if self.fails:
                raise SimError("no member is left")
            for now_us in range(0, scenario.horizon_us, S // 10):
                self.clock_s += 0.002
                after_each(now_us)
        return fake.simulate(scenario, **run)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    return Slow(monkeypatch)


@pytest.fixture
def producing(tmp_path: Path) -> Path:
    """Five minutes, of 3,000 events; each transaction is carried out, since producers add partitions themselves."""
    file = tmp_path / "producing.yaml"
    text = SCENARIO.replace("[range]}", "[range], enable.auto.commit: false}\n    produces: {to: paid}")
    text = text.replace("topics: {orders", "cluster: {transaction_version: 1}\ntopics: {paid: {partitions: 2}, orders")
    file.write_text(text)
    return file


def told(groupsim: CommandLine, *arguments: object) -> str:
    said = groupsim("run", *arguments)
    assert said.code == 0, said.err
    return said.err.replace("\n  ", " ")


def test_a_long_run_is_announced_with_its_events_and_time(groupsim: CommandLine, slow: Slow, producing: Path) -> None:
    said = told(groupsim, producing, "--set", "horizon=1h")
    assert said.startswith("a long run: about 36,000 events and 72.0 s, at the pace that this machine has now\n")


def test_several_runs_are_announced_together(groupsim: CommandLine, slow: Slow, producing: Path) -> None:
    said = told(groupsim, producing, "--replications", 3)
    assert said.startswith("3 runs, long together: about 9,000 events and 18.0 s, at the pace")
    assert slow.pilot_runs == 1


def test_a_short_run_is_not(groupsim: CommandLine, slow: Slow, producing: Path) -> None:
    assert "long" not in told(groupsim, producing)
    assert slow.pilot_runs == 1


ROLL = "timeline=[{at: 1min, rolling_restart: {target: broker:all}}]"
READ = "groups.audit={topics: [paid], config: {isolation.level: read_committed}, members: {count: 1}}"


@pytest.mark.parametrize("change", [None, ROLL, READ, "data=exact"])
def test_what_is_worked_out_ahead_is_not_told_by_its_beginning(
    groupsim: CommandLine, slow: Slow, producing: Path, change: str | None
) -> None:
    """Unless brokers stop, somebody reads the output, or single records are asked for."""
    producing.write_text(producing.read_text().replace("cluster: {transaction_version: 1}\n", ""))
    said = told(groupsim, producing, "--set", "horizon=1h", *(["--set", change] if change else []))
    assert said.startswith("a long run") == (change is not None)


def test_groups_that_do_not_produce_are_run_once(groupsim: CommandLine, slow: Slow, producing: Path) -> None:
    producing.write_text(SCENARIO)
    assert "long" not in told(groupsim, producing, "--set", "horizon=1h")
    assert slow.pilot_runs == 0


def test_what_is_announced_for_its_size_is_not_set_up_twice(
    groupsim: CommandLine, slow: Slow, producing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupsim.scenarios.cli.memory.free_bytes", lambda: 1 << 40)
    said = told(groupsim, producing, "--set", "groups.billing.members.count=200000", "--set", "horizon=1h")
    assert said.startswith("a long run: 200,000 members")
    assert slow.pilot_runs == 0


def test_a_beginning_that_fails_announces_nothing(groupsim: CommandLine, slow: Slow, producing: Path) -> None:
    slow.fails = True
    assert "long" not in told(groupsim, producing, "--set", "horizon=1h")


def test_an_hour_costs_as_many_events_as_its_beginning_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the simulator's own, which is looked at for so long that a slow machine gets as far as a fast one in half a
    second; where output is read transactions are events."""
    monkeypatch.setattr(announcement, "_PILOT_LIMIT_S", 5.0)
    minute, hour = (
        announcement.expected(load("chained-groups", set_={"horizon": horizon, "timeline": []}), seed=1).events
        for horizon in ("1min", "1h")
    )
    assert minute > 5_000
    assert 30 < hour / minute < 120
