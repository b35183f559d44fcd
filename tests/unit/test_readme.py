"""The README's Python and `groupsim` code blocks work as they stand; its scenario and its sweep load."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from groupsim.assignors import load_class
from groupsim.assignors.evaluation.conformance import check_assignor, example_groups
from groupsim.scenarios.build.loading import parse
from tests.support.command_line import CommandLine

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_python_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = _blocks("python")[0]
    exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "timeline.png").stat().st_size > 10_000
    assert (tmp_path / "timeouts/manifest.json").exists()


@pytest.fixture
def _mine(importable: Path) -> None:
    """The README's own assignor, where its command looks for it."""
    (importable / "mine.py").write_text(_blocks("python")[1], encoding="utf-8")


@pytest.mark.usefixtures("_mine")
def test_the_own_assignor_passes_the_list_of_checks() -> None:
    for group in example_groups():
        check_assignor(load_class("mine:Dealer"), group)


def _commands() -> list[str]:
    return [
        line[2:].partition("  #")[0].strip()
        for block in _blocks("console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


def test_the_commands_are_those_that_are_run_here() -> None:
    made, activated, *others = _commands()
    assert (made, activated) == ("make setup", "source .venv/bin/activate")
    assert [shlex.split(one)[:2] for one in others] == [
        ["groupsim", "scenarios"], ["groupsim", "run"], ["groupsim", "run"], ["groupsim", "run"], ["groupsim", "run"],
        ["groupsim", "compare"], ["groupsim", "run"],
    ]  # fmt: skip


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which everything of the README's console blocks was typed into bash, but for ``make setup``."""
    if not (ROOT / ".venv" / "bin" / "groupsim").exists():
        pytest.skip("make setup has made no .venv here")
    folder = tmp_path_factory.mktemp("typed")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / "mine.yaml").write_text(_blocks("yaml")[0], encoding="utf-8")
    (folder / "mine.py").write_text(_blocks("python")[1], encoding="utf-8")
    script = "\n".join(["set -e", *_commands()[1:]])
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    (folder / "told").write_text(done.stdout + done.stderr, encoding="utf-8")
    return folder


def test_the_commands_work_as_printed(typed: Path) -> None:
    told = (typed / "told").read_text()
    assert told.count("longest gap") == 6
    assert "goal met: unavailable_gap_s_max < 60" in told
    assert (typed / "kill-figures" / "timeline.png").exists()
    assert (typed / "results" / "mine-figures" / "mine-timeline.png").exists()


def test_a_result_folder_is_loaded_as_shown(
    typed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(typed)
    (block,) = _blocks("pycon")
    exec(compile(re.sub(r"^>>> ", "", block, flags=re.MULTILINE), "README.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) == 4, "a header and three rows"
    assert (typed / "mine.png").stat().st_size > 10_000


def test_the_suite_says_what_is_printed_when_somebody_makes_the_session_longer(
    groupsim: CommandLine, tmp_path: Path
) -> None:
    (suite,) = [block for block in _blocks("yaml") if "kill-short-session" in block]
    (printed,) = [block for block in _blocks("text") if "out of tolerance" in block]
    file = tmp_path / "suite.yaml"
    file.write_text(suite, encoding="utf-8")
    assert groupsim("check", file, "--update").code == 0
    file.write_text(suite.replace("10000", "30000"), encoding="utf-8")
    told = groupsim("check", file)
    said = " ".join((told.out + told.err).split())
    for line in printed.partition("    replay:")[0].splitlines():
        assert " ".join(line.split()) in said


def test_the_command_need_not_be_activated() -> None:
    assert "or write .venv/bin/groupsim for groupsim" in README


def test_the_first_table_of_recordings_comes_after_a_screen_and_a_half() -> None:
    before = README[: README.index("<!-- made by make oracle-report -->")].splitlines()
    assert len(before) <= 75, "a screen has fifty lines"


@pytest.mark.parametrize(
    ("word", "explained"),
    [
        ("partition·s", "One\npartition that nobody reads for one second is one *partition·s*"),
        ("bundle", "is a *bundle*, a set of\nchanges"),
        ("mu*", "*mu\\** for how far the metric moves on average"),
        ("Rscore", "*Rscore*: records a second of the partitions that moved"),
        ("fluid", "a *fluid*, an amount that flows at a rate"),
    ],
)
def test_a_word_of_its_own_is_explained_at_first_use(word: str, explained: str) -> None:
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    first = prose.replace("\\", "").index(word)
    assert prose.index(explained) <= first <= prose.index(explained) + len(explained)


def test_the_scenario_loads() -> None:
    document = yaml.safe_load(_blocks("yaml")[0])
    scenario = parse(document, file="README.md", name="mine")
    assert [entry.id for entry in scenario.timeline] == ["kill", "gc"]
    assert scenario.groups[0].client.partition_assignment_strategy == ("cooperative-sticky",)


def test_every_summary_column_is_explained() -> None:
    from groupsim.sim.tables import SUMMARY

    plain = {"scenario", "variant", "group", "seed", "replication", "horizon_s", "members", "partitions"}
    explained = README[README.index("## How to read the numbers") : README.index("## Where things are")]
    families = ("rebalance_s_", "unavailable_s_", "lag_records_end", "partitions_moved_min", "unavailable_")
    missing = [
        name for name in SUMMARY if name not in plain and name not in explained and not name.startswith(families)
    ]
    assert not missing
