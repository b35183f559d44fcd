"""What Spark costs: start-up, overhead of a run, cores busy. Seconds are printed; what is asserted are counts."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from scenarios.cost import cost_of
from scenarios.runner import Run, outcome
from scenarios.spark_runner import on_spark
from scenarios.spark_session import Where, open_session
from scenarios.sweep import Sweep, load_sweep
from scenarios.sweep_runner import chunk_runs
from sim import simulate
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
    run_s = _mean_run_s(sweep)
    begin_s = time.monotonic()
    with open_session(Where(f"local[{CORES}]")) as spark:
        execute = partial(on_spark, spark)
        _, done = carried_out(sweep, tmp_path / "out", simulate, execute, chunk=_chunk(sweep))
    started_s, ended_s = min(one.begin_s for one in done), max(one.end_s for one in done)
    span_s, busy_s = ended_s - started_s, sum(one.end_s - one.begin_s for one in done)
    print(
        f"\n{RUNS:,} runs of {run_s * 1e3:.1f} ms on local[{CORES}]: start-up {started_s - begin_s:.1f} s, then "
        f"{span_s:.1f} s; {busy_s / CORES / span_s:.0%} of {CORES} cores busy (bar 85 %); overhead "
        f"{(CORES * span_s / RUNS - run_s) * 1e3:.1f} ms a run; {len(done)} chunks"
    )
    assert sum(one.runs for one in done) == RUNS


def _chunk(sweep: Sweep) -> int:
    return chunk_runs(sweep)[sweep.variants[0].name]


def _mean_run_s(sweep: Sweep, runs: int = 100) -> float:
    """Of one run in this process, its tables included."""
    one = sweep.variants[0]
    assert cost_of(one.scenario).seconds < 0.1
    begin_s = time.monotonic()
    for r in range(runs):
        outcome(Run(variant=one.name, scenario=one.scenario, seed=one.seed, replication=r), simulate)
    return (time.monotonic() - begin_s) / runs
