"""``groupsim scenarios``, and what holds for the command line as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupsim.scenarios.build.loading import list_names, load, load_document, names_in
from groupsim.scenarios.sweep.loading import LIBRARY, load_sweep
from tests.support.command_line import SCENARIO, CommandLine


def test_list_has_all_names_with_their_questions(groupsim: CommandLine) -> None:
    told = groupsim("scenarios", "list", "--json").json
    assert [one["name"] for one in told if one["kind"] == "scenario"] == list_names()
    assert [one["name"] for one in told if one["kind"] == "sweep"] == names_in(LIBRARY)
    shown = groupsim("scenarios", "list").out
    whole = " ".join(shown.split())
    assert all(f"{one['name']} {one['question'].partition(' ')[0]}" in whole for one in told)
    assert load("gc-storm").question.split()[-1] in whole
    assert all(line == line.rstrip() and len(line) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize("name", list_names())
def test_show_prints_what_loads_again(groupsim: CommandLine, tmp_path: Path, name: str) -> None:
    (tmp_path / "again.yaml").write_text(groupsim("scenarios", "show", name).out)
    assert load_document(tmp_path / "again.yaml") == load_document(name)


@pytest.mark.parametrize("name", names_in(LIBRARY))
def test_show_prints_sweeps_too(groupsim: CommandLine, tmp_path: Path, name: str) -> None:
    (tmp_path / "again.yaml").write_text(groupsim("scenarios", "show", "--sweep", name).out)
    assert load_sweep(tmp_path / "again.yaml").document == load_sweep(name).document


def test_show_of_an_unknown_name_tells_the_nearest(groupsim: CommandLine) -> None:
    told = groupsim("scenarios", "show", "roling-deploy")
    assert told.code == 2
    assert told.out == ""
    assert "rolling-deploy" in told.said


def test_validate_tells_what_is_valid_and_all_that_is_not(groupsim: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\nreplications: 3\n")
    (tmp_path / "bad.yaml").write_text(SCENARIO.replace("count: 2", "count: -2"))
    (tmp_path / "worse.yaml").write_text("scenario: small.yaml\nreplications: 0\n")
    files = [tmp_path / name for name in ("small.yaml", "bad.yaml", "sweep.yaml", "worse.yaml", "absent.yaml")]
    told = groupsim("scenarios", "validate", *files)
    assert told.code == 2
    assert told.out.splitlines() == [f"{tmp_path}/small.yaml: valid", f"{tmp_path}/sweep.yaml: valid"]
    assert "groups.billing.members.count" in told.said
    assert "replications" in told.said
    assert "absent.yaml" in told.said
    assert "Traceback" not in told.err
    assert groupsim("scenarios", "validate", files[0]).code == 0


def test_validate_tells_what_is_unwise(groupsim: CommandLine, tmp_path: Path) -> None:
    unwise = "[range], heartbeat.interval.ms: 20000}"
    (tmp_path / "small.yaml").write_text(SCENARIO.replace("[range]}", unwise))
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\nvariants: {a: {}, b: {}}")
    told = groupsim("scenarios", "validate", tmp_path / "small.yaml", tmp_path / "sweep.yaml")
    assert told.code == 0
    assert [line.split(": ")[:2] for line in told.said.splitlines()] == [
        [f"{tmp_path}/small.yaml", "warning"], [f"{tmp_path}/sweep.yaml", "warning"]
    ]  # fmt: skip
    assert "heartbeat.interval.ms" in told.said


def test_schema_is_json_schema(groupsim: CommandLine) -> None:
    told = groupsim("scenarios", "schema")
    assert set(json.loads(told.out)["properties"]) >= {"horizon", "groups", "timeline"}


@pytest.mark.parametrize("arguments", [["frobnicate"], ["scenarios", "frobnicate"]])
def test_unknown_commands_are_wrong_input(groupsim: CommandLine, arguments: list[str]) -> None:
    told = groupsim(*arguments)
    assert told.code == 2
    assert told.out == ""
    assert "frobnicate" in told.said


def test_help_names_the_commands(groupsim: CommandLine) -> None:
    told = groupsim("--help")
    assert told.code == 0
    assert all(command in told.out for command in ("run", "sweep", "compare", "scenarios"))
