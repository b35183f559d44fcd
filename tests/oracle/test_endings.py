"""Nothing that was started outlives the command, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.oracle import trace

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SCENARIO = """
version: 1
question: Does anything stay behind?
horizon: {horizon}
cluster: {{brokers: 1, config: {{group.initial.rebalance.delay.ms: 0}}}}
topics: {{orders: {{partitions: 4, rate: {{per_partition: 10}}}}}}
groups:
  g:
    topics: [orders]
    config: {{partition.assignment.strategy: [range], auto.offset.reset: earliest}}
    processing: {{per_record: 0ms}}
    members: {{count: 2, boot: 0s}}
timeline:
  - {{at: 1s, gc_pause: {{target: g/0, for: 10min}}}}
"""


def started(tmp_path: Path, horizon: str) -> subprocess.Popen[str]:
    scenario = tmp_path / "leftover.yaml"
    scenario.write_text(SCENARIO.format(horizon=horizon))
    command = [
        sys.executable,
        "-m",
        "tests.oracle",
        "play",
        "--scenario",
        str(scenario),
        "--out",
        str(tmp_path / "out"),
    ]
    # Whoever is killed by SIGKILL leaves its temporary folder behind.
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def children(pid: int) -> dict[int, str]:
    """Processes that a process has started, and their states."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid:
            found[int(stat.parent.name)] = state
    return found


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(condition: Callable[[], object], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("number", "code", "told"),
    [
        (signal.SIGINT, 130, "stopped; everything that was started has been ended\n"),
        (signal.SIGTERM, 143, "stopped; everything that was started has been ended\n"),
        (signal.SIGKILL, -9, ""),
    ],
)
def test_no_java_is_left_though_one_was_frozen(tmp_path: Path, number: int, code: int, told: str) -> None:
    command = started(tmp_path, "10min")
    # Four: the broker, the producers, the member that is frozen, the other one.
    wait_until(lambda: sorted(children(command.pid).values()).count("T") == 1, 120)
    pids = list(children(command.pid))
    assert len(pids) == 4
    os.kill(command.pid, number)
    out, err = command.communicate(timeout=30)
    assert (command.returncode, out, err) == (code, "", told)
    wait_until(lambda: all(is_gone(pid) for pid in pids), 15)


def test_a_client_that_dies_ends_the_play_with_one_line(tmp_path: Path) -> None:
    command = started(tmp_path, "10min")
    wait_until(lambda: "T" in children(command.pid).values(), 120)
    pids = list(children(command.pid))
    os.kill(pids[-1], signal.SIGKILL)
    out, err = command.communicate(timeout=30)
    assert command.returncode == 3
    assert (out, err.count("\n")) == ("", 1)
    assert "has ended unasked (exit code -9)" in err
    assert all(is_gone(pid) for pid in pids)


def test_a_play_is_recorded_and_leaves_nothing(tmp_path: Path) -> None:
    command = started(tmp_path, "8s")
    wait_until(lambda: len(children(command.pid)) == 4, 120)
    pids = list(children(command.pid))
    _, err = command.communicate(timeout=120)
    assert (command.returncode, err) == (0, "")
    assert all(is_gone(pid) for pid in pids)
    recorded = trace.read(tmp_path / "out" / "leftover" / "1.jsonl.gz")
    assert [one["verb"] for one in recorded.of("action")] == ["start", "start", "gc_pause"]
    assert {one["how"] for one in recorded.of("end")} == {"horizon"}
    assert {one["partition"] for one in recorded.of("read")} == {f"orders-{index}" for index in range(4)}
    assert (tmp_path / "out" / "leftover" / "scenario.yaml").read_text() == SCENARIO.format(horizon="8s")
