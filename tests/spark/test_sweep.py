"""``groupsim sweep`` on Spark as a user has it: the numbers of one process, few words, and no half results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.command_line import SCENARIO, CommandLine

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
SWEEP = """
scenario: small.yaml
variants:
  few: {}
  many: {groups.billing.members.count: 3}
  own: {"groups.billing.config[partition.assignment.strategy]": [reversed-range]}
  starved: {event_budget: 20}
replications: 4
"""
OWN = """
from groupsim.assignors import Assignment, Assignor


class ReversedRange(Assignor):
    name = "reversed-range"

    def assign(self, snapshot):
        everything = list(range(snapshot.topics.n_partitions))
        count = len(snapshot.members)
        return Assignment.of_lists(snapshot.topics, [everything[index::count] for index in reversed(range(count))])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    (tmp_path / "reversing.py").write_text(OWN)
    return tmp_path


def start(folder: Path) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-c",
        "from groupsim.scenarios.cli import main; main()",
        "sweep",
        "sweep.yaml",
        "--out",
        "there",
    ]
    command += ["--master", "local[2]", "--allow-code", "reversing:ReversedRange"]
    temporary = folder / "tmp"
    temporary.mkdir()
    java = f"-Djava.io.tmpdir={temporary}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), "JDK_JAVA_OPTIONS": java}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True)


def test_gives_the_numbers_of_one_process_in_the_same_words_and_leaves_nothing_else(
    groupsim: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.setattr("sys.path", [*sys.path])
    running = start(folder)
    here = groupsim("sweep", "sweep.yaml", "--out", "here", "--inline", "--allow-code", "reversing:ReversedRange")
    out, err = running.communicate(timeout=120)

    assert (running.returncode, here.code) == (3, 3), err
    assert out == here.out
    assert err.replace("on local[2]", "in this process") == here.err.replace("here", "there")
    assert pq.read_table("there/summary").equals(pq.read_table("here/summary"))
    failures = pq.read_table("there/failures")
    assert failures.equals(pq.read_table("here/failures"))
    assert failures["variant"].to_pylist() == ["starved"] * 4
    assert digests(folder / "there") == digests(folder / "here")
    assert list((folder / "tmp").iterdir()) == []
    assert sorted(path.name for path in folder.iterdir()) == [
        "here", "reversing.py", "small.yaml", "sweep.yaml", "there", "tmp",
    ]  # fmt: skip
    assert set(digests(folder / "there")) == {
        "manifest.json", "runs/0-few/manifest.json", "runs/1-many/manifest.json", "runs/2-own/manifest.json",
    }  # fmt: skip


def digests(out: Path) -> dict[str, object]:
    files = out.rglob("manifest.json")
    return {str(file.relative_to(out)): json.loads(file.read_text())["digests"] for file in files}


def test_ends_at_ctrl_c_and_keeps_what_is_done(folder: Path) -> None:
    (folder / "sweep.yaml").write_text(SWEEP.replace("replications: 4", "replications: 20000"))
    running = start(folder)
    try:
        wait_for_workers(running)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130, err
    assert out == ""
    assert err.splitlines()[-1] == "interrupted"
    assert "kept in there: the same command with --resume goes on" in err
    assert list((folder / "tmp").iterdir()) == []
    assert list((folder / "there").rglob("*.partial")) == []
    assert not (folder / "there/manifest.json").exists()


def wait_for_workers(running: subprocess.Popen[str]) -> None:
    give_up_s = time.monotonic() + 120
    while "pyspark.daemon" not in descendants(running.pid):
        assert running.poll() is None
        assert time.monotonic() < give_up_s
        time.sleep(0.1)


def descendants(pid: int) -> str:
    """The command lines of all processes that a process started, directly or not."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    parents = {own: parent for own, parent, *_ in rows}

    def is_one(own: str | None) -> bool:
        return own is not None and (parents.get(own) == str(pid) or is_one(parents.get(own)))

    return "\n".join(row[2] for row in rows if is_one(row[0]) and len(row) > 2)
