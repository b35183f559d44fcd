"""A suite for ``groupsim check`` in a folder of its own, and a simulator that gives what a test says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import SCENARIO, CommandLine
from tests.support.given_runs import SUITE, Given, start


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Given:
    """What the simulator gives from now on."""
    stand_in = start()
    monkeypatch.setattr("groupsim.sim.simulate", stand_in, raising=False)
    return stand_in


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Given) -> Path:
    """A suite in the working directory; nothing runs yet."""
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SCENARIO)
    Path("suite.yaml").write_text(SUITE)
    return Path("suite.yaml")


@pytest.fixture
def guarded(suite: Path, groupsim: CommandLine) -> Path:
    """The suite with its baseline."""
    assert groupsim("check", suite, "--update").code == 0
    return suite
