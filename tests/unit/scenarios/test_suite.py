"""Suite files: what they mean, and everything that can be wrong with them, told at once and before anything runs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupsim.scenarios.build.loading import load
from groupsim.scenarios.cli.settings import parse_settings
from groupsim.scenarios.errors import ScenarioFileError
from groupsim.scenarios.gate.suite import Suite, load_suite
from groupsim.scenarios.gate.tolerances import Tolerance
from groupsim.scenarios.schema.goals import goals_of
from tests.support.command_line import SCENARIO

COUNT = "groups.billing.members.count"
TWO_GROUPS = SCENARIO + "  audit:\n    topics: [orders]\n    members: {count: 1}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "two.yaml").write_text(TWO_GROUPS)
    return tmp_path


def suite(folder: Path, text: str) -> Suite:
    (folder / "suite.yaml").write_text(text)
    return load_suite(folder / "suite.yaml")


def refusal(folder: Path, text: str) -> ScenarioFileError:
    with pytest.raises(ScenarioFileError) as caught:
        suite(folder, text)
    return caught.value


class TestMeaning:
    def test_an_entry_takes_what_it_does_not_say_from_the_suite(self, folder: Path) -> None:
        found = suite(
            folder,
            "seed: 7\nreplications: 3\nmetrics: {rebalances: exact, losses: exact}\nscenarios:\n"
            "  kill-detection: {}\n"
            "  mine: {scenario: small.yaml, seed: 0, replications: 2, metrics: {losses: overlap, requests: exact}}\n",
        )
        first, second = found.entries
        assert (first.source, first.seed, first.replications) == ("kill-detection", 7, 3)
        assert first.tolerances == {"rebalances": Tolerance("exact"), "losses": Tolerance("exact")}
        assert (second.source, second.seed, second.replications) == (str(folder / "small.yaml"), 0, 2)
        assert {name: one.kind for name, one in second.tolerances.items()} == {
            "rebalances": "exact", "losses": "overlap", "requests": "exact",
        }  # fmt: skip

    def test_changes_are_set_and_goals_are_added_to_those_of_the_scenario(self, folder: Path) -> None:
        (entry,) = suite(
            folder,
            "scenarios: {kill-detection: {set: {groups.billing.members.count: 4},"
            ' goals: {losses: "== 0", recovery_lag_records: 7}}}',
        ).entries
        assert entry.scenario.groups[0].members.count == 4
        assert {str(goal) for goal in goals_of(entry.scenario.document)} == {
            "unavailable_gap_s_max < 50",
            "losses == 0",
        }
        assert entry.scenario.recovery_lag_records == 7

    def test_a_goal_of_the_suite_takes_the_place_of_the_scenarios(self, folder: Path) -> None:
        (entry,) = suite(folder, 'scenarios: {kill-detection: {goals: {unavailable_gap_s_max: "< 9"}}}').entries
        assert [str(goal) for goal in goals_of(entry.scenario.document)] == ["unavailable_gap_s_max < 9"]

    def test_groups_are_all_or_those_named(self, folder: Path) -> None:
        text = "metrics: {requests: exact}\nscenarios: {two: {scenario: two.yaml%s}}"
        assert suite(folder, text % "").entries[0].groups == ("audit", "billing")
        assert suite(folder, text % ", groups: [billing]").entries[0].groups == ("billing",)

    def test_files_are_looked_for_beside_the_suite(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "consumer.properties").write_text("session.timeout.ms=20000\n")
        text = "scenarios: {a: {scenario: small.yaml, set: {groups.billing.config.file: consumer.properties}, "
        monkeypatch.chdir("/")
        (entry,) = suite(folder, text + "metrics: {requests: exact}}}").entries
        assert entry.scenario.groups[0].client.session_timeout_us == 20_000_000

    def test_the_replayed_run_is_the_same(self, folder: Path) -> None:
        found = suite(
            folder,
            "scenarios: {a: {scenario: small.yaml, seed: 3, set: {groups.billing.members.count: 3, horizon: 6min},"
            " goals: {recovery_lag_records: 5, losses: '== 0'}}}",
        )
        (entry,) = found.entries
        words = shlex.split(found.replay(entry, 2))
        assert words[:3] == ["groupsim", "run", str(folder / "small.yaml")]
        assert words[-4:] == ["--seed", "3", "--replication", "2"]
        again = load(words[2], set_=parse_settings([words[at + 1] for at, one in enumerate(words) if one == "--set"]))
        assert (again.groups, again.horizon_us, again.recovery_lag_records) == (
            entry.scenario.groups, entry.scenario.horizon_us, 5,
        )  # fmt: skip

    def test_the_baseline_is_beside_the_suite(self, folder: Path) -> None:
        found = suite(folder, 'scenarios: {a: {scenario: small.yaml, goals: {losses: "== 0"}}}')
        assert found.baseline == folder / "suite.baseline.yaml"
        assert not found.needs_baseline
        assert suite(folder, "metrics: {losses: exact}\nscenarios: {kill-detection: {}}").needs_baseline


class TestRefusal:
    def test_tells_everything_at_once_with_paths_and_lines(self, folder: Path) -> None:
        problems = refusal(
            folder,
            "replication: 3\n"
            "scenarios:\n"
            "  kill-detection:\n"
            "    set: {groups.biling.members.count: 3, groups.billing.members.count: none, horizn: 5min}\n"
            "  kill-detektion: {}\n"
            "  two:\n"
            "    scenario: two.yaml\n"
            "    metrics: {rebalance: exact, losses: {relative: 5}}\n"
            '    goals: {losses: "zero"}\n'
            "  lost: {scenario: tow.yaml}\n",
        ).problems
        found = {(one.path, one.line): one.message for one in problems}
        assert "did you mean 'replications'" in found["replication", 1]
        assert "did you mean 'billing'" in found["scenarios.kill-detection.set[groups.biling.members.count]", 4]
        assert "did you mean 'horizon'" in found["scenarios.kill-detection.set.horizn", 4]
        assert "whole number" in found["scenarios.kill-detection.set[groups.billing.members.count]", 4]
        assert "did you mean 'kill-detection'" in found["scenarios.kill-detektion", 5]
        assert "did you mean 'rebalances'" in found["scenarios.two.metrics.rebalance", 8]
        assert "0.05 is 5 %" in found["scenarios.two.metrics.losses", 8]
        assert "must be a bound in quotes" in found["scenarios.two.goals.losses", 9]
        assert "neither a built-in scenario nor a file" in found["scenarios.lost.scenario", 10]
        assert len(found) == len(problems) == 9

    def test_a_value_that_the_scenario_refuses_is_told_where_the_suite_sets_it(self, folder: Path) -> None:
        text = f"scenarios:\n  kill-detection:\n    set:\n      {COUNT}: -1\n    metrics: {{losses: exact}}\n"
        (problem,) = refusal(folder, text).problems
        assert (problem.path, problem.line, problem.value) == (f"scenarios.kill-detection.set[{COUNT}]", 4, "-1")

    def test_a_scenario_that_is_wrong_itself_is_told_with_its_own_line(self, folder: Path) -> None:
        (folder / "small.yaml").write_text(SCENARIO.replace("count: 2", "count: two"))
        (problem,) = refusal(folder, "scenarios: {a: {scenario: small.yaml, metrics: {losses: exact}}}").problems
        assert (problem.path, problem.line) == ("scenarios.a", 1)
        assert problem.message.startswith(f"in {folder / 'small.yaml'} (line 10): {COUNT}: must be a whole number")

    @pytest.mark.parametrize(
        ("text", "place", "says"),
        [
            ("scenarios: {}", "scenarios", "at least 1"),
            ("seed: 1", "scenarios", "is required"),
            ("scenarios: [a]", "scenarios", "must be a mapping"),
            ("scenarios: {kill-detection: }", "scenarios.kill-detection", "must be a mapping"),
            ("scenarios: {broadcast: {}}", "scenarios.broadcast", "is held to nothing"),
            ("scenarios: {broadcast: {goals: {recovery_lag_records: 5}}}", "scenarios.broadcast", "held to nothing"),
            ("scenarios: {'a/b': {scenario: small.yaml}}", "scenarios[a/b]", "letters, digits, dots"),
            ("scenarios: {a: {scenario: .}}", "scenarios.a", "Is a directory"),
            ("scenarios: {a: {scenario: ''}}", "scenarios.a.scenario", "at least 1"),
            ('scenarios: {a: {scenario: "\\0"}}', "scenarios.a.scenario", "is neither"),
            ("scenarios: {outage: {groups: [biling]}}", "scenarios.outage.groups[0]", "did you mean 'billing'"),
            ("scenarios: {outage: {groups: []}}", "scenarios.outage.groups", "at least 1"),
            ("scenarios: {outage: {groups: [billing, billing]}}", "scenarios.outage.groups", "twice"),
            ("scenarios: {outage: {metrics: {losses: overlap}}}", "scenarios.outage.metrics.losses", "never be met"),
            ("scenarios: {outage: {metrics: [losses]}}", "scenarios.outage.metrics", "must be a mapping"),
            ("scenarios: {outage: {replications: 0}}", "scenarios.outage.replications", "greater than or equal to 1"),
            ("scenarios: {outage: {seed: 1.5}}", "scenarios.outage.seed", "whole number"),
            ("scenarios: {outage: {sets: {}}}", "scenarios.outage.sets", "did you mean 'set'"),
            ("version: true\nscenarios: {outage: {}}", "version", "a whole number"),
            ("version: 2\nscenarios: {outage: {}}", "version", "1"),
            ("groups: {}", "", "is no suite"),
            ("baseline: 1\nscenarios: {}", "", "is a baseline, which belongs to the suite"),
            ("", "", "is no suite"),
            ("[]", "", "is no suite"),
        ],
    )
    def test_names_the_place_and_what_is_allowed(self, folder: Path, text: str, place: str, says: str) -> None:
        problems = refusal(folder, text).problems
        assert [problem.path for problem in problems] == [place]
        assert says in problems[0].message

    def test_is_not_for_a_scenario_that_has_goals_of_its_own(self, folder: Path) -> None:
        assert suite(folder, "scenarios: {kill-detection: {}}").entries

    def test_overlap_that_the_suite_asks_of_all_is_told_where_one_run_has_no_interval(self, folder: Path) -> None:
        text = "metrics: {losses: overlap}\nscenarios: {outage: {replications: 2}, broadcast: {}}"
        assert [one.path for one in refusal(folder, text).problems] == ["scenarios.broadcast.metrics.losses"]


_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
_ANYTHING = st.recursive(
    _SCALARS, lambda deeper: st.lists(deeper, max_size=2) | st.dictionaries(st.text(max_size=5), deeper, max_size=2)
)
_BODIES = st.fixed_dictionaries(
    {},
    optional={
        "scenario": st.sampled_from(["kill-detection", "small.yaml", "nowhere"]) | _ANYTHING,
        "set": st.dictionaries(st.sampled_from([COUNT, "horizon", "goals", "groups", "a..b", "timeline[x]"]), _ANYTHING)
        | _ANYTHING,
        "seed": _SCALARS, "replications": _SCALARS, "groups": st.lists(_SCALARS, max_size=2) | _ANYTHING,
        "metrics": st.dictionaries(st.sampled_from(["losses", "seed"]), st.just("exact") | _ANYTHING) | _ANYTHING,
        "goals": st.dictionaries(st.sampled_from(["losses", "x"]), st.just("< 1") | _ANYTHING) | _ANYTHING,
    },
)  # fmt: skip
_SUITES = st.fixed_dictionaries(
    {"scenarios": st.dictionaries(st.sampled_from(["kill-detection", "b"]) | st.text(max_size=5), _BODIES | _ANYTHING)},
    optional={"seed": _SCALARS, "metrics": _ANYTHING, "version": _SCALARS, "question": _ANYTHING},
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(_SUITES)
def test_whatever_a_suite_holds_is_a_suite_or_told(folder: Path, content: object) -> None:
    (folder / "suite.yaml").write_text(json.dumps(content))  # YAML, but for a few texts that it refuses
    try:
        told = [entry.name for entry in load_suite(folder / "suite.yaml").entries]
    except ScenarioFileError as refused:
        told = str(refused).splitlines()
    assert told
