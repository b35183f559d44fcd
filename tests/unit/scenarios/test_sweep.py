"""Sweep files: what they mean, and everything that can be wrong with them, told at once and before anything runs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from scenarios.cli.settings import parse_settings
from scenarios.errors import ScenarioFileError
from scenarios.loading import load
from scenarios.sweep import Sweep, list_sweeps, load_sweep, replay_line

SESSION = "groups.billing.config[session.timeout.ms]"
SCENARIO = """
version: 1
question: What becomes of a small group?
horizon: 5min
topics: {orders: {partitions: 4, rate: {per_partition: 10}}}
groups:
  billing:
    topics: [orders]
    config: {partition.assignment.strategy: [range], session.timeout.ms: 45000}
    members: {count: 2}
timeline:
  - {id: crash, at: 1min, kill: {target: billing/0}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    return tmp_path


def sweep(folder: Path, text: str) -> Sweep:
    (folder / "sweep.yaml").write_text(f"scenario: small.yaml\n{text}")
    return load_sweep(folder / "sweep.yaml")


def refusal(folder: Path, text: str) -> ScenarioFileError:
    with pytest.raises(ScenarioFileError) as refused:
        sweep(folder, text)
    return refused.value


class TestMeaning:
    def test_least_is_a_scenario_run_once(self, folder: Path) -> None:
        found = sweep(folder, "")
        assert [(one.name, one.seed) for one in found.variants] == [("base", 1)]
        assert found.replications.at_most == 1
        assert found.variants[0].scenario == load(folder / "small.yaml")

    def test_changes_reach_the_scenarios_and_nothing_else_does(self, folder: Path) -> None:
        variants = sweep(
            folder,
            "variants: {few: {}, many: {groups.billing.members.count: 3}}\n"
            f"vary: {{'{SESSION}': [10000, 30000]}}",
        ).variants
        groups = {one.name: one.scenario.groups[0] for one in variants}
        assert [(group.members.count, group.client.session_timeout_us) for group in groups.values()] == [
            (2, 10_000_000), (2, 30_000_000), (3, 10_000_000), (3, 30_000_000)
        ]  # fmt: skip
        assert next(iter(groups)) == "few, session.timeout.ms=10000"
        expected = load(folder / "small.yaml", set_={"groups.billing.members.count": 3, SESSION: 30000})
        assert variants[-1].scenario == expected

    def test_changes_of_one_variant_do_not_reach_the_next(self, folder: Path) -> None:
        variants = sweep(folder, "variants: {many: {groups.billing.members.count: 3}, as-it-is: {}}").variants
        assert [one.scenario.groups[0].members.count for one in variants] == [3, 2]

    def test_variants_share_the_seed(self, folder: Path) -> None:
        found = sweep(folder, "variants: {a: {}, b: {horizon: 6min}}\nreplications: 2\nseed: 7")
        assert [(one.name, one.seed) for one in found.variants] == [("a", 7), ("b", 7)]

    def test_faults_of_their_own_mean_seeds_of_their_own(self, folder: Path) -> None:
        variants = sweep(folder, "variants: {a: {}, b: {}}\ncommon_faults: false").variants
        assert len({one.seed for one in variants} | {1}) == 3

    def test_timeline_entries_go_by_their_ids(self, folder: Path) -> None:
        variants = sweep(folder, "vary: {'timeline[crash].at': [2min, 3min]}").variants
        assert [one.scenario.timeline[0].at_us for one in variants] == [120_000_000, 180_000_000]

    def test_scenario_may_be_a_built_in_one(self, folder: Path) -> None:
        (folder / "sweep.yaml").write_text("scenario: rolling-deploy\n")
        assert load_sweep(folder / "sweep.yaml").variants[0].scenario == load("rolling-deploy")

    @pytest.mark.parametrize("name", list_sweeps())
    def test_every_built_in_sweep_is_valid(self, name: str) -> None:
        assert load_sweep(name).variants


class TestRefusal:
    def test_tells_all_paths_and_values_at_once(self, folder: Path) -> None:
        error = refusal(
            folder,
            "variants: {a: {groups.biling.members.count: 3, horizon: 5}, b: {groups.billing.members.count: -1}}\n"
            f"vary: {{'{SESSION}': [10000, 45000]}}",
        )
        told = str(error)
        assert "biling" in told
        assert "billing" in told
        assert "groups.billing.members.count" in told
        assert "-1" in told

    def test_tells_a_problem_once_with_its_variants(self, folder: Path) -> None:
        error = refusal(folder, f"vary: {{'{SESSION}': [10000, 20000, 30000], groups.billing.members.count: [0.5]}}")
        assert len(error.problems) == 1
        assert "and 1 more" in error.problems[0].message

    @pytest.mark.parametrize(
        ("text", "place", "says"),
        [
            ("replicatons: 3", "replicatons", "replications"),
            ("replications: 0", "replications", "greater than or equal to 1"),
            ("replications: 1.5", "replications", "whole number"),
            ("seed: -1", "seed", "greater than or equal to 0"),
            ("design: sobol", "design", "'grid' or 'list'"),
            ("vary: {horizon: []}", "vary.horizon", "at least 1"),
            ("vary: {horizon: 5min}", "vary.horizon", "must be a list"),
            ("vary: {horizon: [5min, 5min]}", "vary.horizon", "twice"),
            ("variants: {a: {horizon: 6min}}\nvary: {horizon: [5min]}", "vary.horizon", "set by variant 'a' too"),
            ("design: list\nvary: {horizon: [5min], sample_every: [1s, 2s]}", "design", "equally many values"),
            ("variants: {a: 3}", "variants.a", "must be a mapping"),
            ("variants: [a]", "variants", "must be a mapping"),
        ],
    )
    def test_names_the_place_and_what_is_allowed(self, folder: Path, text: str, place: str, says: str) -> None:
        problems = refusal(folder, text).problems
        assert [problem.path for problem in problems] == [place]
        assert says in problems[0].message

    @pytest.mark.parametrize("text", ["", "[]", "3"])
    def test_of_what_is_no_mapping(self, folder: Path, text: str) -> None:
        (folder / "sweep.yaml").write_text(text)
        with pytest.raises(ScenarioFileError, match="must be a mapping"):
            load_sweep(folder / "sweep.yaml")

    def test_of_an_unknown_scenario_or_sweep_names_the_nearest(self, folder: Path) -> None:
        (folder / "sweep.yaml").write_text("scenario: rolling-deplox\n")
        with pytest.raises(ScenarioFileError, match="rolling-deplox"):
            load_sweep(folder / "sweep.yaml")
        with pytest.raises(ScenarioFileError, match="neither a file nor a built-in sweep"):
            load_sweep("roling-deploy")


class TestReplay:
    def test_line_repeats_the_run(self, folder: Path) -> None:
        found = sweep(folder, f"vary: {{'{SESSION}': [10000], 'groups.billing.topics': [[orders]]}}\nseed: 3")
        words = shlex.split(found.replay(found.variants[0]))
        assert words[:3] == ["groupsim", "run", str(folder / "small.yaml")]
        assert words[-2:] == ["--seed", "3"]
        settings = parse_settings([words[at + 1] for at, word in enumerate(words) if word == "--set"])
        assert load(words[2], set_=settings) == found.variants[0].scenario

    @pytest.mark.parametrize(
        "value", ["30s", "yes", "1e3", 0.0000001, True, None, [1, "a b"], {"at": "0s"}, "it's", ""]
    )
    def test_values_survive_shell_and_yaml(self, value: object) -> None:
        words = shlex.split(replay_line("x", {"a[b.c]": value}, 1))
        assert parse_settings([words[words.index("--set") + 1]]) == {"a[b.c]": value}
