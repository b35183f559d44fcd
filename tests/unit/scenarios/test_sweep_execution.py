"""A sweep from Python: its summary, its folder, and what is told of runs that fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import groupsim
from groupsim.analysis.data.load import load_summary
from groupsim.scenarios.errors import ScenarioFileError
from groupsim.scenarios.files.new_folder import OccupiedFolder
from groupsim.scenarios.spark.java import NoJava
from groupsim.scenarios.spark.session import Where, where_of
from groupsim.sim.errors import ConfigError
from groupsim.sim.tables import SUMMARY
from tests.support import fake_simulation as fake
from tests.support.command_line import SCENARIO, CommandLine

SWEEP = """
scenario: small.yaml
variants: {few: {}, many: {groups.billing.members.count: 3}}
replications: 2
"""


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    return tmp_path / "sweep.yaml"


def test_gives_the_summary_of_all_runs(sweep_file: Path, tmp_path: Path) -> None:
    summary = groupsim.sweep(sweep_file, tmp_path / "out", inline=True)
    assert list(summary.columns) == list(SUMMARY)
    assert summary["variant"].to_list() == ["few", "few", "many", "many"]
    assert summary["members"].to_list() == [2, 2, 3, 3]
    pd.testing.assert_frame_equal(summary, load_summary(tmp_path / "out"))


def test_gives_the_numbers_of_single_runs(sweep_file: Path, tmp_path: Path) -> None:
    summary = groupsim.sweep(sweep_file, tmp_path / "out", inline=True)
    scenario = groupsim.load(tmp_path / "small.yaml", set_={"groups.billing.members.count": 3})
    single = groupsim.simulate(scenario, seed=1, replication=1, variant="many").summary
    pd.testing.assert_frame_equal(summary.iloc[[3]].reset_index(drop=True), single)


def test_the_command_line_writes_the_same(sweep_file: Path, tmp_path: Path, groupsim: CommandLine) -> None:
    from groupsim import sweep

    sweep(sweep_file, tmp_path / "here", inline=True)
    groupsim("sweep", sweep_file, "--inline", "--out", tmp_path / "there")
    here, there = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("here", "there"))
    assert here["digests"] == there["digests"]
    assert here["variants"] == there["variants"]


def test_prints_nothing(sweep_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groupsim.sweep(sweep_file, tmp_path / "out", inline=True)
    assert capsys.readouterr() == ("", "")


def test_goes_on_where_it_was_interrupted(sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*run: object, after_each: object = None, **rest: object) -> object:
        if after_each is None:
            raise KeyboardInterrupt
        return fake.simulate(*run, **rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr("groupsim.sim.simulate", interrupted, raising=False)
        with pytest.raises(KeyboardInterrupt):
            groupsim.sweep(sweep_file, tmp_path / "out", inline=True)
    with pytest.raises(OccupiedFolder):
        groupsim.sweep(sweep_file, tmp_path / "out", inline=True)
    assert len(groupsim.sweep(sweep_file, tmp_path / "out", inline=True, resume=True)) == 4


def test_runs_that_fail_are_warned_of_and_left_out(
    sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupsim.sim.simulate", fake.fail_on_second, raising=False)
    with pytest.warns(UserWarning, match=r"2 of 4 runs failed: see .*failures"):
        summary = groupsim.sweep(sweep_file, tmp_path / "out", inline=True)
    assert summary["replication"].to_list() == [0, 0]


def test_what_to_know_of_a_variant_is_a_warning(sweep_file: Path, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SCENARIO.replace("[range]}", "[range], check.crcs: false}"))
    with pytest.warns(UserWarning, match=r"check\.crcs"):
        groupsim.sweep(sweep_file, tmp_path / "out", inline=True)


def test_takes_assignors_of_the_user(sweep_file: Path, importable: Path) -> None:
    (importable / "dealing.py").write_text(
        "from groupsim import Assignment, Assignor\n"
        "class All(Assignor):\n"
        "    name = 'all-to-one'\n"
        "    def assign(self, snapshot):\n"
        "        others = [[] for _ in snapshot.members[1:]]\n"
        "        return Assignment.of_lists(snapshot.topics, [list(range(snapshot.topics.n_partitions)), *others])\n"
    )
    (importable / "small.yaml").write_text(SCENARIO.replace("[range]", "[all-to-one]"))
    summary = groupsim.sweep(sweep_file, importable / "out", inline=True, allow_code=["dealing:All"])
    assert (summary["imbalance_partitions_max"] == 4).all()


def test_wrong_files_and_addresses_are_errors(sweep_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"sc://HOST:PORT"):
        groupsim.sweep(sweep_file, tmp_path / "out", remote="spark://host:1")
    sweep_file.write_text(SWEEP.replace("replications", "replicatoins"))
    with pytest.raises(ScenarioFileError, match="replicatoins"):
        groupsim.sweep(sweep_file, tmp_path / "out", inline=True)
    assert not (tmp_path / "out").exists()


def test_where_spark_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert where_of("local[*]", "sc://host:15002", {}) == Where("sc://host:15002")
    with pytest.raises(ConfigError, match="settings already"):
        where_of("local[*]", "sc://host:15002", {"a": "b"})
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoJava):
        where_of("local[*]", "", {})


def test_the_public_door_imports_nothing_before_it_is_used() -> None:
    program = "import sys, groupsim; print([m for m in ('numpy', 'pandas', 'pyspark', 'simpy') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert told.stdout.strip() == "[]"


def test_every_name_of_the_public_door_is_there() -> None:
    assert all(callable(getattr(groupsim, name)) for name in groupsim.__all__ if name != "figures")
    assert {*groupsim.__all__} <= {*dir(groupsim)}
    assert callable(groupsim.figures.timeline)
    with pytest.raises(AttributeError, match="simulat"):
        groupsim.simulat  # noqa: B018
