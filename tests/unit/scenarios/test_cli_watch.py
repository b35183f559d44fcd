"""What a long run says, what ends one before memory is gone, and how somebody's silent or broken assignor is named."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from groupsim.scenarios import load
from groupsim.scenarios.cli import memory, watch
from groupsim.scenarios.cli.watch import Pace, RunWatch, SilentAssignors
from groupsim.sim import Gauge, simulate
from groupsim.sim.gauge import Stage
from groupsim.sim.units import S
from tests.support import fake_simulation as fake
from tests.support.command_line import SCENARIO, CommandLine

MINE = """
import time
from groupsim import Assignment, Assignor

class Base(Assignor):
    def assign(self, snapshot):
        everything, n = range(snapshot.topics.n_partitions), snapshot.n_members
        return Assignment.of_lists(snapshot.topics, [everything[index::n] for index in range(n)])

class Sleeper(Base):
    name = "sleeper"
    def assign(self, snapshot):
        time.sleep(0.2)
        return super().assign(snapshot)

class Hanger(Base):
    name = "hanger"
    def assign(self, snapshot):
        time.sleep(0.2)
        raise KeyboardInterrupt

class Thrower(Base):
    name = "thrower"
    calls = 0
    def assign(self, snapshot):
        self.calls += 1
        return self.deal({})
    def deal(self, hands):
        return hands[f"member-{self.calls}"]
"""


@pytest.fixture
def small(importable: Path) -> Path:
    (importable / "own_watched.py").write_text(MINE)
    (importable / "small.yaml").write_text(SCENARIO)
    return importable / "small.yaml"


def _with(assignor: str) -> tuple[str, ...]:
    strategy = f"groups.billing.config[partition.assignment.strategy]=[{assignor.lower()}]"
    return ("--allow-code", f"own_watched:{assignor}", "--set", strategy)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is told at once, and looked at all the time."""
    monkeypatch.setattr(watch, "QUIET_S", 0.0)
    monkeypatch.setattr(watch, "LONG_S", 0.0)
    monkeypatch.setattr(watch, "LOOK_EVERY_S", 0.002)
    monkeypatch.setattr(watch, "_LINE_EVERY_S", 0.0)
    monkeypatch.setattr("groupsim.scenarios.cli.LOOK_EVERY_S", 0.002)


class _Stepped:
    """A run in steps: each waits until it has been looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._at_s = 0.0
        self._changing, self._looked = threading.Lock(), threading.Semaphore(0)
        look = RunWatch._look

        def looked(watching: RunWatch) -> None:
            with self._changing:
                look(watching)
            self._looked.release()

        monkeypatch.setattr(RunWatch, "_look", looked)
        monkeypatch.setattr(watch, "now_s", lambda: self._at_s)

    def simulate(self, scenario: Any, *, gauge: Gauge, **run: Any) -> object:
        """A quarter of the run every two seconds, then the result of the stand-in."""
        run_clock = SimpleNamespace(told_us=0, events=0)
        gauge.attach(run_clock, ())
        gauge.stage = Stage.RUNNING
        for quarter in (1, 2, 3):
            with self._changing:
                self._at_s, run_clock.events = 2.0 * quarter, 500 * quarter
                run_clock.told_us = scenario.horizon_us * quarter // 4
                while self._looked.acquire(blocking=False):
                    pass
            assert self._looked.acquire(timeout=60)
            assert self._looked.acquire(timeout=60), "the first look may have begun before"
        return fake.simulate(scenario, **run)


class TestProgress:
    def test_of_a_short_run_is_nothing(
        self, groupsim: CommandLine, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(watch, "LOOK_EVERY_S", 0.002)
        assert groupsim("run", small).err == ""

    @pytest.mark.usefixtures("eager")
    def test_of_a_long_one_has_virtual_time_events_rate_and_time_left(
        self, groupsim: CommandLine, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A quarter of its five minutes every two seconds, by a clock that stands still while somebody looks."""
        stepped = _Stepped(monkeypatch)
        monkeypatch.setattr("groupsim.sim.simulate", stepped.simulate, raising=False)
        lines = groupsim("run", small).err.splitlines()
        assert list(dict.fromkeys(one for one in lines if "event" in one)) == [
            "75.0 s of 5:00 min simulated (25%), 500 events, 250/s",
            "2:30 min of 5:00 min simulated (50%), 1,000 events, 250/s, 0:00:04 left",
            "3:45 min of 5:00 min simulated (75%), 1,500 events, 250/s, 0:00:02 left",
        ]

    @pytest.mark.usefixtures("eager")
    def test_of_a_run_comes_from_the_simulator(self, groupsim: CommandLine) -> None:
        err = groupsim("run", "rolling-deploy").err
        assert re.search(r" simulated \(\d+%\), [\d,]+ events, [\d,]+/s, \d+:\d\d:\d\d left\n", err)
        assert err.endswith("\n")

    @pytest.mark.usefixtures("eager")
    def test_of_several_runs_counts_them(self, groupsim: CommandLine, small: Path) -> None:
        err = groupsim("run", small, "--replications", 5).err
        assert re.search(r"[1-4] of 5 runs done", err)
        assert "left" in err
        assert "simulated" in err

    @pytest.mark.usefixtures("eager")
    def test_on_a_terminal_is_one_line_that_is_erased(
        self, groupsim: CommandLine, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        err = groupsim("run", small, "--replications", 5).err
        assert "\n" not in err
        lines = err.split("\r\x1b[K")
        assert lines[-1] == ""
        assert any("simulated" in line for line in lines)
        assert max(map(len, lines)) < 80

    @pytest.mark.usefixtures("eager")
    def test_changes_no_result(self, groupsim: CommandLine, tmp_path: Path) -> None:
        groupsim("run", "kill-detection", "--out", tmp_path / "out", "--json")
        from groupsim.analysis.data.load import load_result

        watched = load_result(tmp_path / "out").manifest["digests"]
        assert watched == simulate(load("kill-detection"), seed=1).manifest["digests"]

    def test_comes_from_a_gauge_that_moves_with_the_run(self) -> None:
        gauge, seen = Gauge(), list[tuple[int, int, str]]()
        assert (gauge.stage, gauge.members, gauge.events, gauge.now_us) == (Stage.SETTING_UP, 0, 0, 0)
        result = simulate(
            load("kill-detection"), gauge=gauge,
            after_each=lambda now: seen.append((gauge.now_us - now, gauge.events, gauge.stage)),
        )  # fmt: skip
        counts = [events for _, events, _ in seen]
        assert counts[0] == 1
        assert all(after > before for before, after in pairwise(counts))
        assert counts[-1] == result.manifest["events"]
        assert {(late, stage) for late, _, stage in seen} == {(0, Stage.RUNNING)}
        assert (gauge.stage, gauge.members) == (Stage.TABLES, 12)
        assert gauge.events <= result.manifest["events"]


class TestPace:
    def test_is_that_of_the_second_half(self) -> None:
        pace = Pace(horizon_us=100 * S)
        for now_s, at_s in ((0.0, 0), (9.0, 1), (10.0, 20), (12.0, 40)):  # nine seconds for the first
            pace.mark(now_s, at_s * S)
        assert pace.left_s() == pytest.approx(60 * 0.1)

    def test_is_none_as_long_as_time_stands_still(self) -> None:
        pace = Pace(horizon_us=100 * S)
        for now_s in (1.0, 2.0):
            pace.mark(now_s, 5 * S)
        assert pace.left_s() is None

    def test_is_none_while_members_start(self) -> None:
        pace = Pace(horizon_us=100 * S)
        for now_s, at_s in ((1.0, 1), (2.0, 2), (3.0, 4)):
            pace.mark(now_s, at_s * S)
        assert pace.left_s() is None


class TestFirstLine:
    def test_tells_how_much_of_the_past_of_aged_groups_has_been_gone_through(self) -> None:
        gauge, clock = Gauge(), SimpleNamespace(told_us=-45 * S, origin_us=60 * S, events=0)
        assert gauge.past_share == 1
        gauge.attach(clock, ())
        gauge.stage = Stage.PAST
        with RunWatch(fake.scenario(), 1) as watching, watching.run(gauge):
            assert watching.text() == "going through the past of groups that begin aged (25%)"
        clock.told_us = S
        assert gauge.past_share == 1

    def test_knows_when_a_run_is_in_the_past(self) -> None:
        class Noted(Gauge):
            def __setattr__(self, name: str, value: object) -> None:
                super().__setattr__(name, value)
                if name == "stage":
                    stages.append(str(value))

        stages = list[str]()
        aged = load("kill-detection", set_={"groups.billing.members.start": {"aged": "5min"}})
        simulate(aged, gauge=Noted())
        assert stages == [Stage.SETTING_UP, Stage.PAST, Stage.RUNNING, Stage.TABLES]
        assert Noted().past_share == 1

    @pytest.mark.parametrize(
        ("at_s", "share", "is_told"), [(4.0, 0.5, False), (4.0, 0.2, True), (11.0, 0.99, True), (4.0, 0.01, False)]
    )
    def test_is_only_told_of_what_takes_long(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at_s: float, share: float,
        is_told: bool,
    ) -> None:  # fmt: skip
        """Four seconds: of a half there are as many left, of a fifth sixteen, of a hundredth nobody knows."""
        times_s = [0.0]
        monkeypatch.setattr(watch, "now_s", lambda: times_s[-1])
        monkeypatch.setattr(watch, "LOOK_EVERY_S", 1000.0)
        scenario, gauge, clock = fake.scenario(), Gauge(), SimpleNamespace(told_us=0, events=1)
        gauge.attach(clock, ())
        gauge.stage = Stage.RUNNING
        with RunWatch(scenario, 1) as watching, watching.run(gauge):
            for now_s, now_us in ((1e-3, 1), (at_s, int(share * scenario.horizon_us))):
                times_s.append(now_s)
                clock.told_us = now_us
                watching._look()
        assert ("simulated" in capsys.readouterr().err) is is_told


class TestSize:
    def test_of_a_large_run_is_told_before_it(self, groupsim: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("groupsim.sim.simulate", fake.simulate, raising=False)
        monkeypatch.setattr(memory, "free_bytes", lambda: 100 * memory.GIB)
        err = groupsim("run", "kill-detection", "--set", "groups.billing.members.count=1000000").err
        assert "a long run: 1,000,000 members and 48 partitions take 6.1 GiB to 23 GiB" in err.replace("\n  ", " ")
        assert "2:30 min at least to set up" in err.replace("\n  ", " ")
        assert max(map(len, err.splitlines())) <= 80

    def test_that_cannot_fit_is_refused_before_anything_is_made(
        self, groupsim: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("groupsim.sim.simulate", lambda *_, **__: 1 / 0, raising=False)
        monkeypatch.setattr(memory, "free_bytes", lambda: 2 * memory.GIB)
        many = ("--set", "groups.billing.members.count=1000000", "--out", tmp_path / "out")
        told = groupsim("run", "kill-detection", *many)
        assert (told.code, told.out) == (3, "")
        assert "MemoryBudgetExceeded" in told.said
        assert "6.1 GiB at least" in told.said
        assert list(tmp_path.iterdir()) == []

    @pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["in front", "in the background"])
    def _placed(self, request: pytest.FixtureRequest) -> Iterator[None]:
        """As a shell starts it: in the background SIGINT is ignored."""
        before = signal.signal(signal.SIGINT, request.param)
        yield
        signal.signal(signal.SIGINT, before)

    @pytest.mark.usefixtures("eager", "_placed")
    @pytest.mark.parametrize("several", [(), ("--replications", "2")], ids=["one run", "two runs"])
    def test_that_grows_ends_the_run_before_memory_is_gone(
        self, groupsim: CommandLine, small: Path, monkeypatch: pytest.MonkeyPatch, several: tuple[str, ...]
    ) -> None:
        def grows(*_: object, **__: object) -> object:
            monkeypatch.setattr(memory, "is_short", lambda: True)
            until = time.monotonic() + 20
            while time.monotonic() < until:
                time.sleep(0.001)
            raise AssertionError("nobody has ended it")

        monkeypatch.setattr("groupsim.sim.simulate", grows, raising=False)
        told = groupsim("run", small, *several)
        assert told.code == 3
        assert "MemoryBudgetExceeded: memory is running out: " in told.said
        assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
        assert told.err.splitlines()[-1].startswith("replay: groupsim run ")

    @pytest.mark.usefixtures("eager")
    def test_that_grows_ends_one_run_of_a_sweep_in_this_process_and_no_other(
        self, groupsim: CommandLine, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def grows(scenario: Any, *, replication: int, **run: Any) -> object:
            monkeypatch.setattr(memory, "is_short", lambda: replication == 1)
            until = time.monotonic() + 20
            while replication == 1 and time.monotonic() < until:
                time.sleep(0.001)
            return fake.simulate(scenario, replication=replication, **run)

        monkeypatch.setattr("groupsim.sim.simulate", grows, raising=False)
        monkeypatch.setattr(memory, "is_short", lambda: False)
        plan = small.with_name("sweep.yaml")
        plan.write_text("scenario: small.yaml\nvariants: {few: {}}\nreplications: 3\n")
        told = groupsim("sweep", plan, "--inline", "--out", small.with_name("out"))
        assert told.code == 3
        assert "1 run of 3 failed" in told.said
        assert "MemoryBudgetExceeded: memory is running out: " in told.said
        assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL

    @pytest.mark.usefixtures("eager")
    def test_that_is_watched_for_a_sweep_tells_nothing_else(self, capsys: pytest.CaptureFixture[str]) -> None:
        many = fake.scenario(members=1_000_000)
        with RunWatch(many, 1, is_silent=True) as watching, watching.run(Gauge()):
            time.sleep(0.05)
        assert capsys.readouterr().err == ""

    @pytest.mark.usefixtures("eager")
    def test_that_is_over_says_nothing_while_its_figures_are_drawn(self, capsys: pytest.CaptureFixture[str]) -> None:
        with RunWatch(fake.scenario(), 1):
            time.sleep(0.05)
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize(("free_gib", "short"), [(0.04, True), (0.06, False)])
    def test_is_short_when_a_twentieth_is_left(
        self, monkeypatch: pytest.MonkeyPatch, free_gib: float, short: bool
    ) -> None:
        monkeypatch.setattr(memory, "used_bytes", lambda: memory.GIB)
        monkeypatch.setattr(memory, "free_bytes", lambda: int(free_gib * memory.GIB))
        assert memory.is_short() is short

    @pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="the system does not say what is free")
    def test_of_this_process_is_plausible(self) -> None:
        assert memory.used_bytes() is not None
        assert 10_000_000 < (memory.used_bytes() or 0) < 100 * memory.GIB
        assert 0 < (memory.free_bytes() or 0) < 100_000 * memory.GIB

    def test_needed_at_least_is_not_more_than_a_run_takes(self) -> None:
        """6.6 KiB a member and 0.25 KiB a partition were measured; a refusal must be sure."""
        large = fake.scenario(groups=("billing",), members=100_000)
        least, usual = memory.needed_bytes(replace(large, topics=(replace(large.topics[0], partitions=1_000_000),)))
        assert least == 100_000 * 6_500 + 1_000_000 * 250
        assert usual > 2 * least


class TestOwnAssignor:
    @pytest.fixture(autouse=True)
    def _impatient(self, eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watch, "SILENT_S", 0.05)
        monkeypatch.setattr(watch, "QUIET_S", 100.0)

    def test_that_does_not_answer_is_named(self, groupsim: CommandLine, small: Path) -> None:
        told = groupsim("run", small, *_with("Sleeper"))
        assert told.code == 0
        assert told.err == "warning: the assignor sleeper has not answered for 0.05 s; Ctrl-C ends the run\n"

    def test_is_named_on_interrupt(self, groupsim: CommandLine, small: Path) -> None:
        told = groupsim("run", small, *_with("Hanger"))
        assert told.code == 130
        assert told.err.startswith("warning: the assignor hanger has not answered")
        assert told.err.splitlines()[-1] == "interrupted; the assignor hanger had not answered"

    def test_that_throws_is_told_with_its_file_and_line_and_how_often(self, groupsim: CommandLine, small: Path) -> None:
        told: Any = groupsim("run", small, *_with("Thrower"))
        line = MINE.splitlines().index('        return hands[f"member-{self.calls}"]') + 1
        err = told.err.replace("\n  ", " ")
        assert told.code == 0
        assert "assignor failed: thrower: KeyError: " in err
        assert f"(own_watched.py, line {line}) [" in err
        assert " times, first at " in err
        assert err.count("assignor failed") == 1
        assert "Traceback" not in err

    def test_that_cannot_be_imported_is_told_with_its_file_and_line(self, groupsim: CommandLine, small: Path) -> None:
        (small.parent / "own_broken.py").write_text("import sys\n\nnonsense()\n")
        told = groupsim("run", small, "--allow-code", "own_broken:Mine")
        assert told.code == 2
        assert "NameError: name 'nonsense' is not defined (own_broken.py, line 3)" in told.err.replace("\n  ", " ")


def test_each_stage_of_a_run_has_its_words() -> None:
    gauge = Gauge()
    with RunWatch(fake.scenario(), 1) as looking:
        assert looking.text() == ""
        with looking.run(gauge):
            assert looking.text() == "setting up 0 of 6 members"
            gauge.stage = Stage.RUNNING
            assert looking.text() == "0 ms of 60.0 s simulated (0%)"
            gauge.stage = Stage.TABLES
            assert looking.text() == "making the tables"


def test_nobody_is_silent_while_the_module_of_assignors_is_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing takes longer than half a second on a busy machine, and the other thread looks meanwhile."""
    monkeypatch.setitem(sys.modules, "groupsim.assignors.guarded_call", ModuleType("guarded_call"))
    SilentAssignors()()
