"""The wheel: what lies in it, and that it works beside folders of a user's that are called as ours are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("analysis", "assignors", "scenarios", "sim")
SWEEP = "scenario: start-up-with-delay\nvary: {groups.billing.members.count: [2, 3]}\n"
PRINT_PLACES = "import groupsim, sim, analysis; print(groupsim.__file__, sim.OWNER, analysis.OWNER)"


def _ours(*endings: str) -> set[str]:
    """Files of the packages, as they are to be called in the wheel."""
    found = (path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    return {f"groupsim/{path.as_posix()}" for path in found if path.suffix in endings}


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What is no source: at the root, the results of builds and commands."""
    made = {"build", "dist", "out"} if Path(folder) == ROOT else {"target"}
    return {name for name in names if name in made or name.startswith((".", "__pycache__")) or "egg-info" in name}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, because setuptools writes into the folder that it builds from."""
    source, out = tmp_path_factory.mktemp("source") / "any-name", tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, source, ignore=_left_out)
    program = f"from setuptools.build_meta import build_wheel; build_wheel({str(out)!r})"
    told = subprocess.run([sys.executable, "-c", program], cwd=source, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_packages_are_the_folders_that_exist() -> None:
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {PurePosixPath(name).parent.as_posix().replace("/", ".") for name in _ours(".py", ".yaml", ".json")}
    assert sorted(named) == sorted({"groupsim", *there})


def test_everything_lies_below_groupsim(names: set[str]) -> None:
    assert {name.partition("/")[0] for name in names} == {"groupsim", "groupsim-0.1.0.dist-info"}


def test_holds_code_and_data_and_nothing_else(names: set[str]) -> None:
    assert {name for name in names if name.startswith("groupsim/")} == {
        "groupsim/__init__.py", "groupsim/py.typed", *_ours(".py", ".yaml", ".json"),
    }  # fmt: skip
    for name in ("library/kill-detection.yaml", "library/sweeps/rolling-deploy.yaml", "kafka/kafka-4.4.0-keys.json"):
        assert f"groupsim/scenarios/{name}" in names
    assert any(name.startswith("groupsim/scenarios/gate/templates/") for name in names)
    assert not [name for name in names if re.search(r"tests/|gallery|\.png$|\.md$", name)]


class User:
    """Somebody who has installed the wheel, and has folders of the same names as ours."""

    def __init__(self, wheel: Path, site: Path, folder: Path) -> None:
        self._site, self.folder = site, folder
        install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target", str(site)]
        subprocess.run([sys.executable, *install, str(wheel)], check=True)
        for name in FOLDERS:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text('OWNER = "user"\n')

    def __call__(self, *words: str) -> str:
        """What a command prints, carried out in the user's folder; a file of Python, or ``groupsim`` and its words."""
        program = str(self._site / "bin" / "groupsim") if words[0] == "groupsim" else words[0]
        told = subprocess.run(
            [sys.executable, program, *words[1:]], cwd=self.folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(self._site)},
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        return told.stdout


@pytest.fixture(scope="module")
def user(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> User:
    found = User(wheel, tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("notebooks"))
    (found.folder / "places.py").write_text(PRINT_PLACES)
    assert found("places.py").split() == [str(found._site / "groupsim/__init__.py"), "user", "user"]
    return found


def test_installed_runs_a_scenario_and_a_sweep(user: User) -> None:
    assert "billing" in user("groupsim", "run", "start-up-with-delay")
    (user.folder / "sweep.yaml").write_text(SWEEP)
    assert "count=3" in user("groupsim", "sweep", "sweep.yaml", "--inline", "--out", "results")
    assert "count=3" in user("groupsim", "compare", "results")


def test_installed_runs_the_python_of_the_readme(user: User) -> None:
    python, own = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (user.folder / "notebook.py").write_text(f"{python}\n{PRINT_PLACES}")
    assert user("notebook.py").splitlines()[-1].endswith("user user")
    (user.folder / "mine.py").write_text(own)
    strategy = "groups.billing.config[partition.assignment.strategy]=[dealer]"
    assert "billing" in user("groupsim", "run", "kill-detection", "--allow-code", "mine:Dealer", "--set", strategy)
