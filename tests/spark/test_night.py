"""A night of compute: 20,000 runs on two workers, an executor, a worker and the driver killed on the way.

Prints what the README tells of it; asserts that every run is there once, as in one undisturbed process, and that the
driver needs as much memory for 20,000 runs as for 2,000.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.spark_cluster import Cluster, cluster, environment, kill_group

pytestmark = [pytest.mark.spark, pytest.mark.scale]

ROOT = Path(__file__).parents[2]
SWEEP = """
scenario: kill-detection
vary: {{"groups.billing.config[session.timeout.ms]": [20000, 25000, 30000, 35000, 40000]}}
replications: {}
"""


def start(folder: Path, out: str, *options: str) -> subprocess.Popen[str]:
    program = "from groupsim.scenarios.cli import main; main()"
    command = [sys.executable, "-c", program, "sweep", f"{out}.yaml", "--out", out, *options]
    pipe, own = subprocess.PIPE, {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=folder, env={**environment(folder), **own}, stdout=pipe, stderr=pipe, text=True,
        start_new_session=True,
    )  # fmt: skip


def peaks(running: subprocess.Popen[str], until: int, folder: Path) -> tuple[int, int]:
    """Peak memory of driver and JVM in MiB, once so many chunks are there or the process has ended."""
    driver = jvm = 0
    while running.poll() is None and chunks(folder) < until:
        driver = max(driver, peak_mib(running.pid))
        jvm = max([jvm, *(peak_mib(pid) for pid in children(running.pid))])
        time.sleep(0.2)
    return driver, jvm


def children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in listed.stdout.split()]


def peak_mib(pid: int) -> int:
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except FileNotFoundError:
        return 0
    return int(found[1]) // 1024 if found else 0


def chunks(out: Path) -> int:
    return len(list(out.glob("summary/*/part-*.parquet")))


def manifest(out: Path) -> dict[str, object]:
    return dict(json.loads((out / "manifest.json").read_text()))


def test_a_night(tmp_path: Path) -> None:
    for out, replications in (("small", 400), ("night", 4_000), ("inline", 4_000)):
        (tmp_path / f"{out}.yaml").write_text(SWEEP.format(replications))
    (tmp_path / "spark").mkdir()
    with cluster(tmp_path / "spark") as spark:
        small = start(tmp_path, "small", "--master", spark.url)
        small_mib = peaks(small, 10**9, tmp_path / "small")
        err = small.communicate(timeout=60)[1]
        assert small.returncode == 0, err
        night_mib = act(tmp_path, spark)
    inline = start(tmp_path, "inline", "--inline")
    err = inline.communicate(timeout=3_600)[1]
    assert inline.returncode == 0, err
    found, expected = manifest(tmp_path / "night"), manifest(tmp_path / "inline")
    print(f"driver, MiB (Python, JVM): {small_mib} for 2,000 runs, {night_mib} for 20,000")
    print(f"runs {found['runs']}, failed {found['failed']}, digests {found['digests']}")
    print(f"in one process: {expected['wall_s']} s, digests {expected['digests']}")
    assert (found["runs"], found["failed"]) == (20_000, 0)
    assert found["digests"] == expected["digests"]
    assert night_mib[0] < small_mib[0] + 50


def act(folder: Path, spark: Cluster) -> tuple[int, int]:
    """The night itself; peak memory of the driver that saw its end."""
    begin_s, out = time.monotonic(), folder / "night"

    def told(what: str) -> None:
        print(f"{time.monotonic() - begin_s:6.1f} s, {chunks(out):4} chunks: {what}")

    running = start(folder, "night", "--master", spark.url)
    peaks(running, 50, out)
    told("an executor is killed")
    os.kill(executors(spark)[0], signal.SIGKILL)
    peaks(running, 100, out)
    told("the driver is killed")
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)
    running = start(folder, "night", "--master", spark.url, "--resume")
    peaks(running, 150, out)
    told("a worker is killed, and another one comes")
    kill_group(spark.workers[0])
    spark.add_worker()
    most = peaks(running, 10**9, out)
    err = " ".join(running.communicate(timeout=60)[1].split())
    assert running.returncode == 0, err
    told(f"done; {manifest(out)['runs_here']} runs after the driver's death, busy {manifest(out)['busy_s']} s")
    return most


def executors(spark: Cluster) -> list[int]:
    return [pid for worker in spark.workers for pid in children(worker.pid)]
