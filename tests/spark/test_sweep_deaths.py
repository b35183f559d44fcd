"""A sweep on a real cluster, and what kill -9 makes of it: every run exactly once, as in one undisturbed process."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.spark_cluster import Cluster, cluster, connect_server, environment, kill_group

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
SWEEP = """
scenario: kill-detection
variants: {short: {"groups.billing.config[session.timeout.ms]": 20000}, long: {}}
replications: 20
"""
RUNS = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "sweep.yaml").write_text(SWEEP)
    return folder


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> dict[str, str]:
    assert ended(start(folder, "undisturbed", "--inline")) == 0
    return digests(folder / "undisturbed")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for all who leave it whole."""
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


def start(folder: Path, out: str, *options: str, accident: str = "") -> subprocess.Popen[str]:
    """``groupsim sweep``, which ends in a group of its own."""
    usual = ["-c", "from groupsim.scenarios.cli import main; main()"]
    program = ["-m", "tests.support.accidents", accident] if accident else usual
    command = [sys.executable, *program, "sweep", "sweep.yaml", "--out", out, *options]
    pipe, own = subprocess.PIPE, {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=folder, env={**environment(folder), **own}, stdout=pipe, stderr=pipe, text=True,
        start_new_session=True,
    )  # fmt: skip


def ended(running: subprocess.Popen[str]) -> int:
    err = " ".join(running.communicate(timeout=180)[1].split())
    assert "Traceback" not in err, err
    return running.returncode


def digests(out: Path) -> dict[str, str]:
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["runs"], manifest["failed"]) == (RUNS, 0)
    return dict(manifest["digests"])


def chunks(out: Path) -> int:
    return len(list(out.glob("summary/*/part-*.parquet")))


def planned(plan: Path) -> int:
    """How many chunks there are going to be: each sweep measures anew how many runs make one."""
    sizes = json.loads(plan.read_text())["chunk_runs"]
    return sum(math.ceil(RUNS / len(sizes) / size) for size in sizes.values())


def partial(out: Path) -> bool:
    return any(out.glob("summary/*/.part-*.partial"))


def kill_when(running: subprocess.Popen[str], holds: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + 120
    while not holds():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < give_up_s
        time.sleep(0.002)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)


def resumed(folder: Path, out: str, *options: str) -> int:
    """How many runs were left to do."""
    assert ended(start(folder, out, "--resume", *options)) == 0
    return int(json.loads((folder / out / "manifest.json").read_text())["runs_here"])


def test_a_worker_killed_in_the_middle(folder: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    with cluster(tmp_path) as doomed:
        running = start(folder, "worker", "--master", doomed.url)
        try:
            while chunks(folder / "worker") < 1:
                assert running.poll() is None, running.communicate()
                time.sleep(0.01)
            kill_group(doomed.workers[0])
            assert ended(running) == 0
        finally:
            running.kill()
    assert digests(folder / "worker") == undisturbed


@pytest.mark.slow
def test_the_driver_killed_in_the_middle(folder: Path, spark: Cluster, undisturbed: dict[str, str]) -> None:
    kill_when(start(folder, "driver", "--master", spark.url), lambda: chunks(folder / "driver") >= 1)
    done = chunks(folder / "driver")
    assert not (folder / "driver/manifest.json").exists()
    assert resumed(folder, "driver", "--master", spark.url) < RUNS, done
    assert digests(folder / "driver") == undisturbed


def test_the_driver_killed_while_files_are_committed(folder: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    with cluster(tmp_path, path=[str(ROOT)]) as slow:
        running = start(folder, "commit", "--master", slow.url, accident="slow_commits")
        kill_when(running, lambda: chunks(folder / "commit") >= 1 and partial(folder / "commit"))
        assert resumed(folder, "commit", "--master", slow.url) < RUNS
    assert digests(folder / "commit") == undisturbed
    assert list((folder / "commit").rglob("*.partial")) == []


def test_spark_connect_gives_the_same(folder: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    with connect_server(tmp_path) as url:
        assert ended(start(folder, "connect", "--remote", url)) == 0
    assert digests(folder / "connect") == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0])
def test_the_driver_killed_at_any_moment(
    folder: Path, spark: Cluster, undisturbed: dict[str, str], share: float
) -> None:
    """From the plan alone, through shares of all chunks, to the last chunk before the manifest."""
    out, plan = f"at-{share}", folder / f"at-{share}" / "sweep.json"
    running = start(folder, out, "--master", spark.url)
    kill_when(running, lambda: plan.exists() and chunks(folder / out) >= round(share * planned(plan)))
    resumed(folder, out, "--master", spark.url)
    assert digests(folder / out) == undisturbed


@pytest.mark.slow
def test_a_full_disk_ends_the_sweep_in_words_and_room_lets_it_go_on(
    folder: Path, tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    with cluster(tmp_path, path=[str(ROOT)]) as short:
        (tmp_path / "full").touch()
        running = start(folder, "full", "--master", short.url, accident="no_space")
        err = " ".join(running.communicate(timeout=180)[1].split())
        assert running.returncode == 3, err
        assert "No space left on device" in err
        assert "the same command with --resume goes on" in err
        (tmp_path / "full").unlink()
        assert 0 < resumed(folder, "full", "--master", short.url) <= RUNS
    assert digests(folder / "full") == undisturbed
