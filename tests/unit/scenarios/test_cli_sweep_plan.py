"""``groupsim sweep --dry-run``: what would run, how often, at what cost, and what would fail for want of budget."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from groupsim.scenarios.sweep.loading import load_sweep
from groupsim.sim import simulate
from tests.support.command_line import SCENARIO, CommandLine, Told

COUNT = "groups.billing.members.count"
COMMIT = "groups.billing.processing.commit"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    return tmp_path


def plan(groupsim: CommandLine, folder: Path, text: str, *arguments: str) -> Told:
    (folder / "sweep.yaml").write_text(f"scenario: small.yaml\n{text}")
    told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--dry-run", *arguments)
    assert "--json" in arguments or max(map(len, [*told.out.splitlines(), *told.err.splitlines()])) <= 80
    return told


def test_tells_each_variant_and_its_cost(groupsim: CommandLine, folder: Path) -> None:
    told = plan(groupsim, folder, f"vary: {{{COUNT}: [2, 200]}}\nreplications: 3")
    few, many = (line.split() for line in told.out.splitlines()[2:4])
    assert (few[0], many[0]) == ("2", "200")
    assert int(many[1].replace(",", "")) > 20 * int(few[1].replace(",", ""))
    assert "6 runs: 2 variants, 3 replications each; all valid" in told.out
    assert "estimated: " in told.out
    assert told.out.endswith("\nmeasured on this machine: one pilot run of 2 variants\n")


def test_says_what_a_busy_machine_makes_of_it(
    groupsim: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waiting(scenario: Any, **run: Any) -> object:
        time.sleep(0.5)
        return simulate(scenario, **run)

    monkeypatch.setattr("groupsim.sim.simulate", waiting, raising=False)
    told = plan(groupsim, folder, "replications: 3").out.replace("\n  ", " ")
    assert re.search(r"; [\d.]+ m?s as busy as this machine is now\n", told)


def test_of_many_variants_shows_the_first_and_the_last(groupsim: CommandLine, folder: Path) -> None:
    told = plan(groupsim, folder, f"vary: {{{COUNT}: {list(range(1, 101))}}}")
    rows = [line.partition(" ")[0] for line in told.out.splitlines()]
    assert rows[2:4] == ["1", "2"]
    assert rows[rows.index("...") :][:6] == ["...", "96", "97", "98", "99", "100"]
    assert "... 75 more" in told.out
    assert "100 runs: 100 variants, 1 replication each" in told.out


def test_thirty_variants_are_shown(groupsim: CommandLine, folder: Path) -> None:
    told = plan(groupsim, folder, f"vary: {{{COUNT}: {list(range(1, 31))}}}")
    assert "more" not in told.out
    assert [line.split()[0] for line in told.out.splitlines()[2:32]] == [str(one) for one in range(1, 31)]


def test_without_a_number_of_runs_tells_how_many_there_can_be(groupsim: CommandLine, folder: Path) -> None:
    text = "variants: {a: {}, b: {}}\nreplications: {until: {metric: losses, half_width: 5%}, at_most: 40}"
    told = plan(groupsim, folder, text)
    assert "20 to 80 runs: 2 variants, until the mean of losses is known to ± 5 %" in told.out.replace("\n  ", " ")
    assert plan(groupsim, folder, text, "--json").json["runs"] == {"at_least": 20, "at_most": 80}


def test_names_the_runs_that_would_exceed_their_budget(groupsim: CommandLine, folder: Path) -> None:
    text = f"vary: {{{COMMIT}: [auto, before_processing], event_budget: [100, 50000000]}}"
    told = plan(groupsim, folder, text)
    assert told.code == 0
    assert "would exceed their event_budget and fail: 1 variant\n" in told.out
    assert "  commit=before_processing, event_budget=100: about" in told.out
    assert plan(groupsim, folder, text, "--json").json["over_event_budget"] == [
        "commit=before_processing, event_budget=100"
    ]


def test_of_many_that_exceed_it_the_first_are_named(groupsim: CommandLine, folder: Path) -> None:
    told = plan(groupsim, folder, f"vary: {{{COUNT}: {list(range(1, 9))}, event_budget: [2]}}")
    assert "fail: 8 variants\n" in told.out
    assert told.out.splitlines()[-1] == "  ... 3 more"


def test_tells_how_many_were_run_and_what_became_of_the_others(groupsim: CommandLine, folder: Path) -> None:
    told = plan(groupsim, folder, f"vary: {{{COUNT}: {list(range(1, 21))}}}")
    assert (
        "measured on this machine: one pilot run of 12 of 20 variants; the others by the most similar of these, scaled "
        "by members x horizon"
    ) in told.out.replace("\n  ", " ")


def test_tells_of_runs_that_are_extrapolated(
    groupsim: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupsim.scenarios.cli.sweep_plan.LIMIT_S", 0.0)
    told = plan(groupsim, folder, f"vary: {{{COMMIT}: [before_processing]}}")
    assert "; 1 ended after 0 s and extrapolated over the rest of the horizon" in told.out.replace("\n  ", " ")


def test_a_pilot_run_that_fails_is_told_in_words(groupsim: CommandLine, folder: Path, importable: Path) -> None:
    (importable / "hopeless.py").write_text(
        "from groupsim import Assignor\n"
        "class Hopeless(Assignor):\n"
        "    name = 'hopeless'\n"
        "    def assign(self, snapshot):\n"
        "        raise KeyError('no rack')\n"
    )
    strategy = '"groups.billing.config[partition.assignment.strategy]"'
    text = f"variants: {{a: {{}}, b: {{{strategy}: [hopeless], groups.billing.assignor_failure: refuse}}}}"
    told = plan(groupsim, folder, text, "--allow-code", "hopeless:Hopeless")
    assert (told.code, told.err) == (0, "")
    assert "failed in the pilot: 1 variant\n  b: " in told.out
    assert "no rack" in told.out
    (failed,) = (
        run
        for run in plan(groupsim, folder, text, "--allow-code", "hopeless:Hopeless", "--json").json["pilot_runs"]
        if run["error"]
    )
    assert (failed["variant"], failed["whole"]) == ("b", False)


def test_in_json_is_the_sum_over_all_runs(groupsim: CommandLine, folder: Path) -> None:
    told = plan(groupsim, folder, f"vary: {{{COUNT}: [2, 3]}}\nreplications: 5", "--json").json
    events = [
        simulate(one.scenario, seed=one.seed).manifest["events"] for one in load_sweep(folder / "sweep.yaml").variants
    ]
    assert told["events"]["at_most"] == 5 * sum(events)
    each_s = sum(one["seconds"] for one in told["variants"])
    assert told["seconds"]["at_most"] * told["cores"] == pytest.approx(5 * each_s, rel=0.05)
    assert [one["variant"] for one in told["variants"]] == ["count=2", "count=3"]
    assert told["variants"][1]["set"] == {COUNT: 3}
    assert [one["events"] for one in told["variants"]] == events
    assert told["pilot_runs"] == [{"variant": f"count={n}", "whole": True, "error": None} for n in (2, 3)]


def test_a_run_over_its_budget_costs_its_budget(groupsim: CommandLine, folder: Path) -> None:
    told = plan(groupsim, folder, "vary: {event_budget: [10]}\nreplications: 7", "--json").json
    assert told["events"] == {"at_least": 70, "at_most": 70}


def test_everything_wrong_is_told_at_once_and_nothing_is_planned(groupsim: CommandLine, folder: Path) -> None:
    (folder / "sweep.yaml").write_text(
        f"scenario: small.yaml\nvary: {{{COUNT}: [0.5], groups.biling: [1], horizon: []}}\n"
    )
    told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--dry-run")
    assert (told.code, told.out) == (2, "")
    assert "3 problems" in told.err
    assert all(word in told.err for word in ("whole number", "biling", "at least 1 value"))
