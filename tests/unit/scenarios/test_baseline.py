"""Baselines: a value a line, sorted; read again as they were; whatever else a file holds is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupsim.scenarios.build.loading import load
from groupsim.scenarios.errors import ScenarioFileError
from groupsim.scenarios.gate.baseline import Baseline, Recorded, fingerprint, read_baseline

TWO_RUNS = Recorded(resolved="c0ffee123456", seed=1, replications=2)
BASELINE = Baseline(
    versions={"numpy": "2.4.6", "groupsim": "0.1.0"},
    entries={"kill": TWO_RUNS, "deploy": Recorded(resolved="123456789012", seed=7, replications=1)},
    values={
        ("kill", "billing", "recovery_s"): (None, 30.0),
        ("kill", "billing", "losses"): (0, 12),
        ("deploy", "audit", "unavailable_gap_s_max"): (0.000001,),
    },
)
TEXT = """\
# groupsim baseline of suite.yaml: what its runs gave, a value a line.
# Written by: groupsim check suite.yaml --update
baseline: 1
versions:
  groupsim: '0.1.0'
  numpy: '2.4.6'
scenarios:
  deploy/replications: 1
  deploy/resolved: '123456789012'
  deploy/seed: 7
  kill/replications: 2
  kill/resolved: 'c0ffee123456'
  kill/seed: 1
values:
  deploy/audit/unavailable_gap_s_max/0: 0.000001
  kill/billing/losses/0: 0
  kill/billing/losses/1: 12
  kill/billing/recovery_s/0: null
  kill/billing/recovery_s/1: 30.0
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "suite.baseline.yaml"


def refusal(path: Path, text: str) -> ScenarioFileError:
    path.write_text(text)
    with pytest.raises(ScenarioFileError) as caught:
        read_baseline(path)
    return caught.value


def read_or_told(path: Path) -> str:
    """What is told of a file; empty if it was read."""
    try:
        read_baseline(path)
    except ScenarioFileError as refused:
        return str(refused)
    return ""


def test_has_a_value_a_line_sorted_and_is_read_again(path: Path) -> None:
    assert BASELINE.text("suite.yaml") == TEXT
    path.write_text(TEXT)
    assert read_baseline(path) == BASELINE


@given(st.floats(min_value=-1e15, max_value=1e15) | st.integers(-(10**15), 10**15) | st.none())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_number_comes_back_to_the_last_digit(path: Path, value: float | None) -> None:
    one = Baseline(
        versions={},
        entries={"a": Recorded(resolved="x", seed=0, replications=1)},
        values={("a", "g", "losses"): (value,)},
    )
    path.write_text(one.text("s.yaml"))
    assert read_baseline(path).values["a", "g", "losses"] == (value,)


def test_more_than_ten_replications_stand_in_their_order(path: Path) -> None:
    eleven = Baseline(
        versions={}, entries={"a": Recorded(resolved="x", seed=0, replications=11)},
        values={("a", "g", "losses"): tuple(range(11))},
    )  # fmt: skip
    path.write_text(eleven.text("s.yaml"))
    assert read_baseline(path) == eleven
    assert path.read_text().endswith("losses/9: 9\n  a/g/losses/10: 10\n")


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ("baseline: 1", "baseline: 2", "baseline", "a later groupsim"),
        ("baseline: 1", "baseline: one", "baseline", "1"),
        ("baseline: 1\n", "", "", "is no baseline"),
        ("losses/1: 12", "losses/1: much", "values[kill/billing/losses/1]", "a number or null"),
        ("losses/1: 12", "losses/1: true", "values[kill/billing/losses/1]", "a number or null"),
        ("losses/1: 12", f"losses/1: 1{'0' * 30}", "values[kill/billing/losses/1]", "a number or null"),
        ("losses/1: 12", "losses: 12", "values[kill/billing/losses]", "ENTRY/GROUP/METRIC/REPLICATION"),
        ("losses/1: 12", "lossess/1: 12", "values[kill/billing/lossess/1]", "ENTRY/GROUP/METRIC/REPLICATION"),
        ("losses/1: 12", "losses/x: 12", "values[kill/billing/losses/x]", "ENTRY/GROUP/METRIC/REPLICATION"),
        ("losses/1: 12", f"losses/{'1' * 99}: 12", f"values[kill/billing/losses/{'1' * 99}]", "REPLICATION"),
        ("losses/1: 12", "losses/2: 12", "values", "kill/billing/losses must have a value for each of 2"),
        ("  kill/billing/losses/1: 12\n", "", "values", "kill/billing/losses must have a value for each of 2"),
        ("kill/seed: 1", "kill/seed: one", "scenarios[kill/seed]", "a whole number"),
        ("kill/seed: 1", "kill/seed: -1", "scenarios[kill/seed]", "a whole number"),
        ("kill/seed: 1", "kill/sead: 1", "scenarios[kill/sead]", "NAME/seed"),
        ("  kill/seed: 1\n", "", "scenarios", "lacks kill/seed"),
        ("scenarios:\n", "scenarios:\n  /seed: 3\n", "scenarios[/seed]", "NAME/seed"),
        ("baseline: 1", "baseline: true", "baseline", "a whole number"),
        ("values:\n", "value:\n", "value", "did you mean 'values'"),
        ("  groupsim: '0.1.0'", "  groupsim: 0.1", "versions.groupsim", "must be text"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(path: Path, old: str, new: str, place: str, says: str) -> None:
    assert old in TEXT
    problems = refusal(path, TEXT.replace(old, new)).problems
    assert place in [one.path for one in problems]
    assert says in next(one.message for one in problems if one.path == place)


def test_a_merge_that_was_left_half_done_is_told_as_one(path: Path) -> None:
    conflict = "<<<<<<< HEAD\n  kill/billing/losses/1: 12\n=======\n  kill/billing/losses/1: 13\n>>>>>>> theirs\n"
    told = str(refusal(path, TEXT.replace("  kill/billing/losses/1: 12\n", conflict)))
    assert "the marks of a merge" in told
    assert "--update" in told


_LINES = st.lists(st.sampled_from(TEXT.splitlines(keepends=True)) | st.text(max_size=12), max_size=25)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_LINES)
def test_whatever_lines_a_file_holds_it_is_a_baseline_or_told(path: Path, lines: list[str]) -> None:
    path.write_bytes("".join(["baseline: 1\n", *lines]).encode("utf-8", "surrogatepass"))
    read_or_told(path)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(TEXT) - 1), st.binary(max_size=3))
def test_a_baseline_that_was_damaged_anywhere_is_read_or_told(path: Path, at: int, damage: bytes) -> None:
    path.write_bytes(TEXT.encode()[:at] + damage + TEXT.encode()[at + len(damage) :])
    read_or_told(path)


class TestFingerprint:
    def test_changes_with_what_runs_depend_on(self) -> None:
        base = fingerprint(load("kill-detection").document)
        assert base == fingerprint(load("kill-detection").document)
        for change in (
            {"groups.billing.members.count": 13},
            {"goals.recovery_lag_records": 1},
            {"timeline[kill].until": "141s"},
        ):
            assert fingerprint(load("kill-detection", set_=change).document) != base

    def test_leaves_out_the_question_and_the_bounds(self) -> None:
        changes = {"question": "Why?", "goals.unavailable_gap_s_max": "< 1"}
        assert fingerprint(load("kill-detection", set_=changes).document) == fingerprint(
            load("kill-detection").document
        )
