"""When two sweeps are one, and what is said where they are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from groupsim.scenarios.build.loading import list_names, load
from groupsim.scenarios.sweep.identity import differences, fingerprint, identity_of
from groupsim.scenarios.sweep.loading import Sweep, load_sweep

ROOT = Path(__file__).parents[3]
SCENARIO = """
version: 1
question: What becomes of a small group?
horizon: 5min
topics: {orders: {partitions: 4, rate: {csv: rate.csv}}}
groups: {billing: {topics: [orders], config: {file: consumer.properties}, members: {count: 2}}}
"""


def written(folder: Path, session_ms: int = 30000, rate: float = 10, sweep: str = "replications: 3") -> Sweep:
    folder.mkdir(exist_ok=True)
    (folder / "small.yaml").write_text(SCENARIO)
    (folder / "rate.csv").write_text(f"time_s,rate\n0,{rate}\n")
    (folder / "consumer.properties").write_text(f"session.timeout.ms={session_ms}\nrequest.timeout.ms=9000\n")
    (folder / "sweep.yaml").write_text(f"scenario: small.yaml\n{sweep}\n")
    return load_sweep(folder / "sweep.yaml")


def told(first: Sweep, second: Sweep) -> str:
    return differences(identity_of(first), identity_of(second))


def test_the_same_files_elsewhere_are_the_same_sweep(tmp_path: Path) -> None:
    assert told(written(tmp_path / "here"), written(tmp_path / "there")) == ""


def test_what_was_read_from_a_file_counts_and_is_named(tmp_path: Path) -> None:
    found = told(written(tmp_path / "a"), written(tmp_path / "b", session_ms=20000))
    assert "scenario.groups.billing.config.session.timeout.ms was 30000, is 20000" in found


def test_rates_from_a_file_count(tmp_path: Path) -> None:
    assert "another scenario (variants.base.scenario)" in told(
        written(tmp_path / "a"), written(tmp_path / "b", rate=11)
    )


def test_replications_and_seed_are_named(tmp_path: Path) -> None:
    other = written(tmp_path / "b", sweep="replications: 4\nseed: 2")
    found = told(written(tmp_path / "a"), other)
    assert "sweep.replications was 3, is 4" in found
    assert "sweep.seed was 1, is 2" in found


def test_many_differences_are_cut(tmp_path: Path) -> None:
    other = {"a": list("abc"), "b": {str(n): n for n in range(20)}}
    found = differences({"a": "x" * 100, "b": {}}, other)
    assert found.startswith('a was "xxxxxxxxxxxxxxxxxxx..., is ["a", "b", "c"]; b.0 is new; ')
    assert found.endswith("; and 17 more")


def test_fingerprints_tell_the_library_apart() -> None:
    assert len({fingerprint(load(name)) for name in list_names()}) == len(list_names())


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_fingerprint_is_the_same_in_every_process(hash_seed: str) -> None:
    program = "from groupsim.scenarios import load; from groupsim.scenarios.sweep.identity import fingerprint\n"
    program += "print(fingerprint(load('regex-topic')))"
    there = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert there.stdout.strip() == fingerprint(load("regex-topic"))
