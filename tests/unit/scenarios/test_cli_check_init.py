"""``groupsim check --init``: what it writes works as it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.command_line import CommandLine, Told


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
        assert by_name["Install groupsim"]["run"].startswith('python -m pip install "groupsim==')
        assert "VERSION" not in by_name["Install groupsim"]["run"]
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
        assert f"{taken} exists already: left alone" in told.err
        assert [str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()] == [taken]

    def test_in_a_file_is_told(self, groupsim: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        told = groupsim("check", "--init", tmp_path / "file")
        assert told.code == 2
        assert "cannot be written" in told.err
