"""Sweep files: what they mean, and everything that can be wrong with them, told at once and before anything runs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

from groupsim.scenarios.build.loading import load, names_in
from groupsim.scenarios.cli.settings import parse_settings
from groupsim.scenarios.errors import ScenarioFileError
from groupsim.scenarios.sweep.file import SweepFile
from groupsim.scenarios.sweep.loading import LIBRARY, Sweep, load_sweep, replay_line
from groupsim.scenarios.sweep.replications import Replications

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

    def test_null_in_a_variant_removes_a_key(self, folder: Path) -> None:
        path = "groups.billing.config[max.poll.records]"
        found = sweep(folder, f"variants: {{few: {{'{path}': 7}}, default: {{'{path}': null}}}}").variants
        assert [one.scenario.groups[0].client.max_poll_records for one in found] == [7, 500]
        assert "max.poll.records]=null" in load_sweep(folder / "sweep.yaml").replay(found[1])

    def test_null_may_be_varied(self, folder: Path) -> None:
        found = sweep(folder, "vary: {'groups.billing.config[max.poll.records]': [7, null]}").variants
        assert [one.name for one in found] == ["max.poll.records=7", "max.poll.records=null"]
        assert [one.scenario.groups[0].client.max_poll_records for one in found] == [7, 500]

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

    def test_a_sample_is_a_variant_a_point(self, folder: Path) -> None:
        found = sweep(
            folder, f"vary: {{'{SESSION}': {{log_integer: [6000, 60000]}}}}\ndesign: sobol\npoints: 4\nseed: 3"
        )
        assert [one.name for one in found.variants] == ["p0001", "p0002", "p0003", "p0004"]
        for one in found.variants:
            assert one.scenario.groups[0].client.session_timeout_us == one.changes[SESSION] * 1000
        again = sweep(
            folder, f"vary: {{'{SESSION}': {{log_integer: [6000, 60000]}}}}\ndesign: sobol\npoints: 4\nseed: 3"
        )
        assert again.variants == found.variants

    def test_replications_may_depend_on_what_comes_out(self, folder: Path) -> None:
        text = "replications: {until: {metric: losses, half_width: 2.5%}, at_least: 5}"
        assert sweep(folder, text).replications == Replications(
            at_least=5, at_most=200, metric="losses", half_width=0.025
        )
        assert sweep(folder, "replications: 7").replications == Replications.fixed(7)

    @pytest.mark.parametrize(
        "text",
        [
            "vary: {horizon: [5min, null]}",
            "vary: {'timeline[crash].at': {linear: [1min, 2min]}}\ndesign: latin_hypercube\npoints: 3",
            "vary: {horizon: {choice: [5min, 6min]}, sample_every: {log: [1s, 1min]}}\ndesign: morris\ntrajectories: 2",
            "replications: {until: {metric: losses, half_width: 5%}, at_most: 30}",
        ],
    )
    def test_the_document_reads_back_to_the_same_file(self, folder: Path, text: str) -> None:
        file = SweepFile.model_validate({"scenario": "small.yaml", **yaml.safe_load(text)})
        assert SweepFile.model_validate(json.loads(json.dumps(file.document()))) == file

    def test_warnings_that_differ_in_numbers_are_told_once(self, folder: Path) -> None:
        found = sweep(folder, f"vary: {{'{SESSION}': [10000, 20000, 30000, 45000]}}").warnings()
        assert len(found) == 1
        assert "session.timeout.ms (10000)" in found[0]
        assert found[0].endswith("[2 more variants alike, with other numbers]")

    @pytest.mark.parametrize("name", names_in(LIBRARY))
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

    def test_of_what_a_variant_sets_inside_has_the_line_that_sets_it(self, folder: Path) -> None:
        """Kafka's refusal names the whole configuration; the variant has set two keys in it."""
        text = "variants:\n  as-it-is: {}\n  new:\n    groups.billing.protocol: consumer\n"
        (problem, *_) = refusal(folder, f"{text}    '{SESSION}': 9000\n").problems
        assert (problem.path, problem.line) == ("groups.billing.config", 6)
        old = "variants:\n  as-it-is: {}\n  old: {groups.billing.client: '0.9', cluster.version: '0.9'}\n"
        (problem, *_) = refusal(folder, old).problems
        assert (problem.path, problem.line) == ("groups.billing.config", 4)

    def test_of_the_file_tells_paths_and_values_that_are_wrong_too(self, folder: Path) -> None:
        problems = refusal(
            folder,
            "variants: {a: {groups.billing.members.cuont: 3}, b: 3}\nfrobnicate: 1\n"
            f"vary: {{'{SESSION}': {{linear: [1000, 2000]}}, horizn: [], horizon: [], sample_every: [0s, 5]}}",
        ).problems
        assert sorted(problem.path for problem in problems) == [
            "frobnicate", "groups.billing.config[session.timeout.ms]", "groups.billing.members.cuont", "horizn",
            "sample_every", "sample_every", "variants.b", "vary.horizn", "vary.horizon",
        ]  # fmt: skip

    def test_of_a_file_whose_scenario_is_missing_tells_both(self, folder: Path) -> None:
        (folder / "sweep.yaml").write_text("scenario: smal.yaml\nreplicatons: 3\n")
        with pytest.raises(ScenarioFileError) as refused:
            load_sweep(folder / "sweep.yaml")
        assert sorted(problem.path for problem in refused.value.problems) == ["replicatons", "scenario"]

    def test_of_a_path_is_told_once_however_many_values_it_has(self, folder: Path) -> None:
        text = "vary: {groups.billing.members.cuont: {integer: [1, 500]}}\ndesign: latin_hypercube\npoints: 50"
        (problem,) = refusal(folder, text).problems
        assert "did you mean 'count'" in problem.message
        assert problem.message.endswith("[variant p0001; p0002 and 48 more]")
        assert problem.value.endswith(" and 49 more")

    def test_of_too_many_variants_names_the_number_at_once(self, folder: Path) -> None:
        ten = list(range(10))
        vary = {f"groups.billing.config[{key}]": ten for key in "abcdefg"}
        problems = refusal(folder, yaml.safe_dump({"vary": vary})).problems
        assert "the sweep has 10,000,000 variants" in problems[0].message
        assert "at_most_variants: 10000000" in problems[0].message
        assert [problem.path for problem in problems[:2]] == ["at_most_variants", "groups.billing.config.a"]

    def test_of_more_variants_than_asked_for(self, folder: Path) -> None:
        text = "variants: {a: {}, b: {}}\nvary: {horizon: [5min, 6min]}\nat_most_variants: "
        assert "the sweep has 4 variants" in refusal(folder, text + "3").problems[0].message
        assert len(sweep(folder, text + "4").variants) == 4

    @pytest.mark.parametrize(
        ("text", "place", "says"),
        [
            ("replicatons: 3", "replicatons", "replications"),
            ("replications: 0", "replications", "greater than or equal to 1"),
            ("replications: 1.5", "replications", "whole number"),
            ("seed: -1", "seed", "greater than or equal to 0"),
            ("design: sobl", "design", "'grid', 'list', 'latin_hypercube'"),
            ("vary: {horizon: []}", "vary.horizon", "at least 1"),
            ("vary: {horizon: 5min}", "vary.horizon", "must be a list"),
            ("vary: {horizon: [5min, 5min]}", "vary.horizon", "twice"),
            ("variants: {a: {horizon: 6min}}\nvary: {horizon: [5min]}", "vary.horizon", "set by variant 'a' too"),
            ("design: list\nvary: {horizon: [5min], sample_every: [1s, 2s]}", "design", "equally many values"),
            ("variants: {a: 3}", "variants.a", "must be a mapping"),
            (
                "variants: {a: {groups: {billing: {config: {max.poll.records: 3}, members: {count: 2}}}}}",
                "groups.billing.topics",
                "a part is set by its path, such as groups.billing.config[max.poll.records]: 3 [variant a]",
            ),
            ("variants: [a]", "variants", "must be a mapping"),
            (f"variants: {{{'a' * 140}: {{}}}}", f"variants.{'a' * 140}", "at most 136 bytes"),
            ("vary: {horizon: {linear: [5min, 6min]}}", "vary.horizon", "ranges are for latin_hypercube"),
            ("design: sobol\npoints: 4\nvary: {horizon: [5min]}", "vary.horizon", "samples a range: {choice"),
            ("design: sobol\nvary: {horizon: {linear: [5min, 6min]}}", "points", "is needed by design sobol"),
            ("design: sobol\npoints: 9\nvary: {horizon: {linear: [5min, 6min]}}", "points", "power of two"),
            ("design: latin_hypercube\npoints: 4", "design", "needs a path or more"),
            ("design: morris\ntrajectories: 4\nvary: {horizon: {linear: [5min, 6min]}}", "design", "two paths or more"),
            (
                "design: morris\ntrajectories: 4\ncommon_faults: false\n"
                "vary: {horizon: {linear: [5min, 6min]}, sample_every: {linear: [1s, 2s]}}",
                "common_faults",
                "chance counts as effect",
            ),
            (
                "points: 4\nvary: {horizon: [5min]}",
                "points",
                "sobol_indices, not with grid",
            ),
            ("version: true\nvary: {horizon: [5min, 6min]}", "version", "a whole number"),
            ("replications: {until: {metric: losses, half_width: 1_0%}}", "replications.until.half_width", "5%"),
            ("vary: {horizon: {liner: [5min, 6min]}}", "vary.horizon", "did you mean 'linear'"),
            ("vary: {horizon: {linear: [6min, 5min]}}", "vary.horizon", "the lower first"),
            ("replications: {until: {metric: loses, half_width: 5%}}", "replications.until.metric", "'losses'"),
            (
                "replications: {until: {metric: group, half_width: 5%}}",
                "replications.until.metric",
                "no numeric column",
            ),
            ("replications: {until: {metric: losses, half_width: 5}}", "replications.until.half_width", "such as 5%"),
            ("replications: {until: {metric: losses, half_width: 0%}}", "replications.until.half_width", "above 0%"),
            ("replications: {until: {metric: losses}}", "replications.until.half_width", "is required"),
            ("replications: {at_most: 3}", "replications.until", "is required"),
            (
                "replications: {until: {metric: losses, half_width: 5%}, at_least: 9, at_most: 8}",
                "replications",
                "at_least must not be above",
            ),
            ("replications: true", "replications", "whole number"),
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
