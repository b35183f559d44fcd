"""``groupsim check --init``: what it writes works as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from groupsim.scenarios.gate.starter import FOLDER, source_of
from tests.support.command_line import CommandLine, Told

ROOT = Path(__file__).parents[3]


class TestInit:
    @pytest.fixture
    def written(self, groupsim: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
        monkeypatch.chdir(tmp_path)
        return groupsim("check", "--init")

    def test_writes_a_suite_with_its_baseline_that_passes(self, groupsim: CommandLine, written: Told) -> None:
        assert written.code == 0, written.err
        assert written.out.splitlines() == [
            "groupsim-suite.yaml", "groupsim-suite.baseline.yaml", ".github/workflows/groupsim.yml",
        ]  # fmt: skip
        assert "warning" not in written.err
        assert "goal missed" not in written.err
        assert groupsim("check", "groupsim-suite.yaml").code == 0

    def test_writes_a_workflow_whose_steps_work(self, groupsim: CommandLine, written: Told, tmp_path: Path) -> None:
        workflow = yaml.safe_load(Path(".github/workflows/groupsim.yml").read_text())
        assert workflow["on"] == ["push", "pull_request"]
        steps = workflow["jobs"]["check"]["steps"]
        assert [one.get("name") or one["uses"].partition("@")[0] for one in steps] == [
            "actions/checkout", "actions/setup-python", "Install groupsim", "Check", "Show what moved",
            "Keep the reports",
        ]  # fmt: skip
        by_name = {one.get("name"): one for one in steps}
        suite = Path("groupsim-suite.yaml")
        suite.write_text(suite.read_text().replace("count: 12", "count: 11"))
        words = by_name["Check"]["run"].split()
        assert words[0] == "groupsim"
        assert groupsim(*words[1:]).code == 1
        show = by_name["Show what moved"]
        assert show["if"] == "always()"
        environment = {"PATH": "/usr/bin:/bin", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
        subprocess.run(["bash", "-e", "-c", show["run"]], env=environment, check=True, timeout=30)
        assert "groupsim check: failed" in (tmp_path / "summary").read_text()
        kept = {path.name for path in Path().glob(by_name["Keep the reports"]["with"]["path"])}
        assert {"groupsim-junit.xml", "groupsim-check.md"} <= kept

    def test_takes_a_folder_which_is_made(self, groupsim: CommandLine, tmp_path: Path) -> None:
        assert groupsim("check", "--init", tmp_path / "new" / "repository").code == 0
        assert (tmp_path / "new" / "repository" / ".github" / "workflows" / "groupsim.yml").exists()

    @pytest.mark.parametrize("taken", ["groupsim-suite.yaml", ".github/workflows/groupsim.yml"])
    def test_overwrites_nothing(self, groupsim: CommandLine, tmp_path: Path, taken: str) -> None:
        (tmp_path / taken).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / taken).write_text("mine")
        told = groupsim("check", "--init", tmp_path)
        assert told.code == 2
        assert f"{taken} exists already: left alone" in told.said
        assert [str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()] == [taken]

    def test_in_a_file_is_told(self, groupsim: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        told = groupsim("check", "--init", tmp_path / "file")
        assert told.code == 2
        assert "cannot be written" in told.said


CHECK, SHOW = "Check", "Show what moved"


def _steps(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The commands of the workflow in a folder by their names, and its environment."""
    workflow = yaml.safe_load((folder / ".github/workflows/groupsim.yml").read_text())
    steps = workflow["jobs"]["check"]["steps"]
    return {one["name"]: one["run"] for one in steps if "run" in one}, workflow["env"]


def _bash(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A step as the service runs it."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command], cwd=folder, env=os.environ | environment,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def _git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=somebody", "-c", "user.email=somebody@localhost")
    return subprocess.run(["git", "-C", str(folder), *named, *words], capture_output=True, text=True, check=True).stdout


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What is no source: at the root, the results of builds and commands."""
    made = {"build", "out", "tests"} if Path(folder) == ROOT else set()
    return {name for name in names if name in made or name.startswith((".", "__pycache__")) or "egg-info" in name}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources as a git repository of their own."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    source = tmp_path_factory.mktemp("clone") / "groupsim"
    shutil.copytree(ROOT, source, ignore=_left_out)
    _git(source, "init", "--quiet")
    _git(source, "add", "--all")
    _git(source, "commit", "--quiet", "--message", "as it is")
    return source


class TestWorkflow:
    @pytest.mark.parametrize(
        "form",
        [
            pytest.param("git+file://{clone}@{commit}", id="git URL"),
            pytest.param("{clone}", id="clone", marks=pytest.mark.slow),
        ],
    )
    def test_installs_and_checks_from(self, groupsim: CommandLine, clone: Path, tmp_path: Path, form: str) -> None:
        """Without the network: what groupsim needs is there already, and so is what builds it."""
        assert groupsim("check", "--init", tmp_path / "repository").code == 0
        steps, _ = _steps(tmp_path / "repository")
        source = form.format(clone=clone, commit=_git(clone, "rev-parse", "HEAD").strip())
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_CONSTRAINT": ""}
        interpreter = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        target = {"PIP_TARGET": str(tmp_path / "installed"), "PATH": interpreter, "GROUPSIM": source}
        installed = _bash(steps["Install groupsim"], tmp_path / "repository", **offline, **target)
        assert installed.returncode == 0, installed.stderr
        if form == "{clone}":  # the same wheel: once is enough for the rest
            assert (tmp_path / "installed" / "groupsim" / "scenarios" / "library").is_dir()
            return
        found = {"PATH": f"{tmp_path / 'installed' / 'bin'}:{interpreter}", "PYTHONPATH": str(tmp_path / "installed")}
        summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
        checked = _bash(steps[CHECK], tmp_path / "repository", **found)
        assert checked.returncode == 0, checked.stderr
        assert _bash(steps[SHOW], tmp_path / "repository", **found, **summary).returncode == 0
        assert "groupsim check: passed" in (tmp_path / "summary").read_text()
        assert (tmp_path / "repository" / "groupsim-junit.xml").exists()

    def test_is_told_to_come_from_no_index(self, groupsim: CommandLine, tmp_path: Path) -> None:
        told = groupsim("check", "--init", tmp_path)
        _, environment = _steps(tmp_path)
        assert "on no package index yet" in told.said
        assert f"installs it from {environment['GROUPSIM']}" in told.err.replace("\n  ", " ")
        assert max(len(line) for line in told.err.splitlines() if "/" not in line) <= 80


class TestSource:
    @pytest.mark.parametrize(
        ("origin", "source"),
        [
            ("https://git.example/a/groupsim.git", "git+https://git.example/a/groupsim.git"),
            ("git@git.example:a/groupsim.git", "git+https://git.example/a/groupsim.git"),
            ("ssh://git@git.example/a/groupsim.git", "git+https://git.example/a/groupsim.git"),
            ("/somewhere/groupsim", FOLDER),
            ("", FOLDER),
        ],
    )
    def test_is_where_the_clone_came_from(self, clone: Path, tmp_path: Path, origin: str, source: str) -> None:
        copy = tmp_path / "copy"
        _git(clone, "clone", "--quiet", str(clone), str(copy))
        _git(copy, "remote", *(("set-url", "origin", origin) if origin else ("remove", "origin")))
        commit = _git(copy, "rev-parse", "HEAD").strip()
        assert source_of(copy) == (source if source == FOLDER else f"{source}@{commit}")

    def test_of_no_clone_is_a_folder(self, tmp_path: Path) -> None:
        assert source_of(tmp_path) == FOLDER
