"""The code that travels: importable where nothing else of groupsim is, and the user's with it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from groupsim.scenarios.cli.settings import import_allowed
from groupsim.scenarios.spark.code import write_code

OWN = """
from groupsim.assignors import Assignor
import helper_of_mine


class Mine(Assignor):
    name = helper_of_mine.NAME

    def assign(self, snapshot):
        raise NotImplementedError
"""


def run(program: str, archive: Path, folder: Path) -> str:
    """In an interpreter that finds groupsim in the archive alone."""
    program = f"import sys; sys.path.insert(0, {str(archive)!r}); " + program
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env={}, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_runs_a_scenario_from_the_archive(tmp_path: Path) -> None:
    write_code(tmp_path / "code.zip")
    program = (
        "import pickle; import groupsim.sim.simulation; import groupsim.scenarios.sweep.chunk; "
        "print(groupsim.sim.simulation.__file__, groupsim.scenarios.sweep.chunk.__file__)"
    )
    found = run(program, tmp_path / "code.zip", tmp_path).split()
    assert found == [
        str(tmp_path / f"code.zip/groupsim/{name}.pyc") for name in ("sim/simulation", "scenarios/sweep/chunk")
    ]


def test_takes_along_what_the_user_allowed_and_what_that_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assignor_of_mine.py").write_text(OWN)
    (tmp_path / "helper_of_mine.py").write_text("NAME = 'of-mine'\n")
    (tmp_path / "private.py").write_text("never imported")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    import_allowed(["assignor_of_mine:Mine"])
    write_code(tmp_path / "code.zip", ["assignor_of_mine"])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    found = run("import assignor_of_mine; print(assignor_of_mine.Mine.name)", tmp_path / "code.zip", elsewhere)
    assert found == "of-mine"
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(tmp_path / "code.zip").namelist()}
    own = {f"{name}_of_mine.{ending}" for name in ("assignor", "helper") for ending in ("py", "pyc")}
    assert tops == {"groupsim", *own}


def test_takes_along_a_package_without_an_init_file(tmp_path: Path) -> None:
    write_code(tmp_path / "code.zip", ["tests.support.fake_simulation"])
    program = "import tests.support.fake_simulation as fake; print(fake.__name__)"
    assert run(program, tmp_path / "code.zip", tmp_path) == "tests.support.fake_simulation"


def test_leaves_installed_packages_where_they_are(tmp_path: Path) -> None:
    write_code(tmp_path / "code.zip", ["numpy"])
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(tmp_path / "code.zip").namelist()}
    assert tops == {"groupsim"}
