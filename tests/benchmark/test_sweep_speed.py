"""What Spark costs: start-up, overhead of a run, cores busy. Seconds are printed; what is asserted are counts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from groupsim.scenarios.spark.runner import on_spark
from groupsim.scenarios.spark.session import Where, open_session
from groupsim.scenarios.sweep.chunk import Done, Work
from groupsim.scenarios.sweep.execution import PILOT_LIMIT_S, PILOT_SHARE
from groupsim.scenarios.sweep.loading import Sweep, load_sweep
from groupsim.scenarios.sweep.outcome import Run, Simulate, outcome
from groupsim.scenarios.sweep.pilot import pilot
from groupsim.scenarios.sweep.runner import chunk_sizes
from groupsim.sim import simulate
from tests.support.sweeps import carried_out

CORES = 2
RUNS = 2_000
SWEEP = f"""
scenario: kill-detection
replications: {RUNS}
"""


@pytest.mark.slow
@pytest.mark.spark
def test_two_thousand_runs_of_twenty_milliseconds(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    sweep = load_sweep(tmp_path / "sweep.yaml")
    run_s, samples = _mean_run_s(sweep), []
    begin_s = time.monotonic()

    def watched(work: Sequence[Work], simulate: Simulate, folder: Path, told: Callable[[], None]) -> list[Done]:
        return on_spark(spark, work, simulate, folder, lambda: samples.append((time.monotonic(), _workers_cpu_s())))

    with open_session(Where(f"local[{CORES}]")) as spark:
        _, done = carried_out(sweep, tmp_path / "out", simulate, watched, chunk=_chunk(sweep))
    started_s, ended_s = min(one.begin_s for one in done), max(one.end_s for one in done)
    (from_s, before_s), *_, (to_s, after_s) = (one for one in samples if started_s <= one[0] <= ended_s)
    print(
        f"\n{RUNS:,} runs of {run_s * 1e3:.1f} ms on local[{CORES}]: start-up {started_s - begin_s:.1f} s, then "
        f"{ended_s - started_s:.1f} s; {(after_s - before_s) / CORES / (to_s - from_s):.0%} of {CORES} cores busy "
        f"(bar 85 %); overhead {(CORES * (ended_s - started_s) / RUNS - run_s) * 1e3:.1f} ms a run; {len(done)} chunks"
    )
    assert sum(one.runs for one in done) == RUNS


def _workers_cpu_s() -> float:
    """Seconds of processor time that Spark's Python workers have used so far."""
    listed = subprocess.run(["ps", "-eo", "cputimes=,args="], capture_output=True, text=True, check=True).stdout
    return sum(float(line.split(None, 1)[0]) for line in listed.splitlines() if "pyspark.daemon" in line)


def _chunk(sweep: Sweep) -> int:
    found = pilot(sweep, simulate, limit_s=PILOT_LIMIT_S, share=PILOT_SHARE)
    (cost,) = found.costs.values()
    return chunk_sizes(sweep, {sweep.variants[0].name: cost.seconds}).runs[sweep.variants[0].name]


def _mean_run_s(sweep: Sweep, runs: int = 100) -> float:
    """Of one run in this process, its tables included."""
    one = sweep.variants[0]
    run = Run(variant=one.name, scenario=one.scenario, seed=one.seed, replication=0)
    for r in range(10):  # the first ones import and warm up
        outcome(replace(run, replication=r), simulate)
    begin_s = time.monotonic()
    for r in range(runs):
        outcome(replace(run, replication=r), simulate)
    return (time.monotonic() - begin_s) / runs
