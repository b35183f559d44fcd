"""What a pilot says of a sweep's runs. Seconds are those of a clock that the stand-in for the simulator moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from groupsim.scenarios.sweep.loading import Sweep, Variant, load_sweep
from groupsim.scenarios.sweep.pilot import RUNS_MAX, Cost, extrapolated, pilot
from groupsim.sim import Result, simulate
from groupsim.sim.errors import EventBudgetExceeded
from groupsim.sim.model import Scenario
from groupsim.sim.units import MINUTE, S
from tests.support import fake_simulation as fake
from tests.support.command_line import SCENARIO
from tests.support.sweeps import sweep_of

STEP_S = 0.001


@dataclass
class Machine:
    """Carries out an event of each member every virtual second, and takes a millisecond for it."""

    clock_s: float = 0.0
    ran: list[str] = field(default_factory=list)
    failing: str = ""

    def simulate(
        self, scenario: Scenario, *, seed: int, replication: int, variant: str, after_each: Callable[[int], None]
    ) -> Result:
        self.ran.append(variant)
        members, events = scenario.groups[0].members.count, 0
        for second in range(scenario.horizon_us // S):
            for _ in range(members):
                self.clock_s += STEP_S
                events += 1
                if variant == self.failing and events == 7:
                    raise ZeroDivisionError("in an assignor")
                if events > scenario.event_budget:
                    raise EventBudgetExceeded
                after_each(second * S)
        result = fake.simulate(scenario, seed=seed, replication=replication, variant=variant)
        result.manifest["events"] = events
        return result


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    monkeypatch.setattr("groupsim.scenarios.sweep.pilot.process_time", lambda: found.clock_s)
    return found


def sweep_with(changes: list[dict[str, object]], replications: int = 1) -> Sweep:
    """Variants with these changes; ``members`` is carried out, the others only tell variants apart."""
    plain = sweep_of(replications, variants=[])
    variants = tuple(
        Variant(name=str(number), changes=own, seed=5, scenario=fake.scenario(members=int(str(own.get("members", 3)))))
        for number, own in enumerate(changes)
    )
    return Sweep(name="small", source="small.yaml", variants=variants, replications=plain.replications, document={})


def test_of_few_variants_each_is_run(machine: Machine) -> None:
    found = pilot(sweep_with([{"members": 2}, {"members": 4}]), machine.simulate, limit_s=9)
    assert machine.ran == ["0", "0", "1"], "the first twice, because a process's first run takes longer"
    assert found.costs["0"].events == 120
    assert found.costs["1"].events == 240
    assert [cost.seconds for cost in found.costs.values()] == pytest.approx([0.12, 0.24])
    assert all(run.is_whole for run in found.runs)


def test_a_run_that_takes_too_long_is_ended_and_extrapolated(machine: Machine) -> None:
    found = pilot(sweep_with([{"members": 100}]), machine.simulate, limit_s=3)
    assert machine.ran == ["0"]
    assert machine.clock_s == pytest.approx(3, abs=0.1)
    assert not found.runs[0].is_whole
    assert found.costs["0"].events == pytest.approx(6_000, rel=0.1)
    assert found.costs["0"].seconds == pytest.approx(6, rel=0.1)


def test_what_comes_after_the_stop_is_as_the_second_half_before_it() -> None:
    marks = [(0, 0, 0.0), (0, 900, 9.0), (10, 950, 9.5), (20, 1000, 10.0), (40, 1100, 11.0)]
    assert extrapolated(marks, 100) == Cost(1100 + 5 * 60, pytest.approx(11.0 + 0.05 * 60))


def test_a_run_that_never_leaves_its_first_instant_costs_what_it_has() -> None:
    assert extrapolated([(0, 0, 0.0), (0, 900, 9.0)], 100) == Cost(900, 9.0)


def test_a_budget_does_not_end_a_pilot_run(machine: Machine) -> None:
    def starved(scenario: Scenario, **rest: object) -> Result:
        assert scenario.event_budget > 10**9
        return machine.simulate(scenario, **rest)  # type: ignore[arg-type]

    assert pilot(sweep_with([{}]), starved, limit_s=9).runs[0].error == ""


def test_of_many_variants_those_are_run_that_differ_most(machine: Machine) -> None:
    changes: list[dict[str, object]] = [{"members": n, "assignor": name} for name in "ab" for n in range(1, 101)]
    found = pilot(sweep_with(changes), machine.simulate, limit_s=99)
    assert len(found.runs) == RUNS_MAX
    ran = [run.variant.changes for run in found.runs]
    assert ran[:2] == [{"members": 1, "assignor": "a"}, {"members": 100, "assignor": "b"}]
    assert {"members": 1, "assignor": "b"} in ran
    assert {"members": 100, "assignor": "a"} in ran


def test_variants_that_are_not_run_are_scaled_from_the_most_similar_one(machine: Machine) -> None:
    changes: list[dict[str, object]] = [{"members": n, "assignor": name} for name in "ab" for n in range(1, 101)]
    sweep = sweep_with(changes)
    found = pilot(sweep, machine.simulate, limit_s=99)
    assert len(found.costs) == len(changes)
    for one, own in zip(sweep.variants, changes, strict=True):
        assert found.costs[one.name].events == pytest.approx(60 * int(str(own["members"])))


def test_equal_variants_are_run_once(machine: Machine) -> None:
    found = pilot(sweep_with([{}, {}, {}]), machine.simulate, limit_s=9)
    assert len(found.runs) == 1
    assert len(found.costs) == 3


def test_a_longer_horizon_costs_more(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text(f"scenario: small.yaml\nvary: {{horizon: [{', '.join(HORIZONS)}]}}\n")
    sweep = load_sweep(tmp_path / "sweep.yaml")
    costs = pilot(sweep, machine.simulate, limit_s=99).costs
    assert [costs[one.name].events for one in sweep.variants] == [2 * 60 * n for n in range(1, 21)]


HORIZONS = [f"{n}min" for n in range(1, 21)]


@pytest.mark.parametrize(("replications", "runs"), [(1, 1), (50, 1), (300, 6), (2000, 12)])
def test_ends_when_it_has_taken_its_share(machine: Machine, replications: int, runs: int) -> None:
    changes: list[dict[str, object]] = [{"assignor": str(n)} for n in range(12)]
    found = pilot(sweep_with(changes, replications), machine.simulate, limit_s=9, share=0.002)
    assert len(found.runs) == pytest.approx(runs, abs=1)
    assert machine.clock_s <= max(0.002 * 12 * replications * 0.18, 0.18) + 2 * 0.18


def test_a_run_that_fails_is_told_and_costs_what_it_took(machine: Machine) -> None:
    machine.failing = "1"
    found = pilot(sweep_with([{}, {"assignor": "bad"}]), machine.simulate, limit_s=9)
    (failed,) = (run for run in found.runs if run.error)
    assert failed.variant.name == "1"
    assert failed.error.startswith("ZeroDivisionError: in an assignor (test_pilot.py:")
    assert found.costs["1"].seconds == pytest.approx(0.007)


def test_the_simulator_itself_is_counted_and_ended(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text(
        "scenario: small.yaml\nvariants: {few: {}, costly: {groups.billing.processing.commit: before_processing}}\n"
    )
    sweep = load_sweep(tmp_path / "sweep.yaml")
    whole = [simulate(one.scenario, seed=one.seed).manifest["events"] for one in sweep.variants]
    found = pilot(sweep, simulate, limit_s=60)
    assert [found.costs[one.name].events for one in sweep.variants] == whole
    ended = pilot(sweep, simulate, limit_s=0.0).runs
    assert not any(run.is_whole or run.error for run in ended[1:])
    assert found.costs["costly"].events > 10 * found.costs["few"].events


def test_after_each_is_told_the_time_and_ends_a_run(tmp_path: Path) -> None:
    from groupsim.scenarios import load

    class Enough(Exception):
        pass

    told: list[int] = []

    def stop(now_us: int) -> None:
        told.append(now_us)
        if now_us > MINUTE:
            raise Enough

    (tmp_path / "small.yaml").write_text(SCENARIO)
    scenario = load(tmp_path / "small.yaml")
    with pytest.raises(Enough):
        simulate(scenario, check=True, after_each=stop)
    assert told == sorted(told)
    watched = simulate(scenario, after_each=lambda _: None)
    assert watched.manifest["digests"] == simulate(scenario).manifest["digests"]
