"""A sweep on a real cluster, and what kill -9 makes of it: every run exactly once, as in one undisturbed process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.spark_cluster import Cluster, cluster, environment, kill_group

pytestmark = pytest.mark.spark

SWEEP = """
scenario: kill-detection
variants: {short: {"groups.billing.config[session.timeout.ms]": 20000}, long: {}}
replications: 60
"""
KILLED = -signal.SIGKILL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deaths")
    (folder / "sweep.yaml").write_text(SWEEP)
    return folder


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> dict[str, str]:
    running = start(folder, "undisturbed", "--inline")
    assert ended(running) == 0
    return digests(folder / "undisturbed")


@pytest.fixture
def spark(folder: Path, tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as found:
        yield found


def start(folder: Path, out: str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from scenarios.cli import main; main()", "sweep", "sweep.yaml", "--out", out]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*command, *options], cwd=folder, env=environment(folder), stdout=pipe, stderr=pipe, text=True,
        start_new_session=True,
    )  # fmt: skip


def ended(running: subprocess.Popen[str]) -> int:
    err = running.communicate(timeout=180)[1]
    assert "Traceback" not in err, err
    return running.returncode


def digests(out: Path) -> dict[str, str]:
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["runs"], manifest["failed"]) == (120, 0)
    return dict(manifest["digests"])


def chunks(out: Path) -> int:
    return len(list(out.rglob("part-*.parquet")))


def wait_until(running: subprocess.Popen[str], holds: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + 120
    while not holds():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < give_up_s
        time.sleep(0.005)


def test_a_worker_killed_in_the_middle(folder: Path, spark: Cluster, undisturbed: dict[str, str]) -> None:
    running = start(folder, "worker", "--master", spark.url)
    wait_until(running, lambda: chunks(folder / "worker") >= 1)
    kill_group(spark.workers[0])
    assert ended(running) == 0
    assert digests(folder / "worker") == undisturbed
