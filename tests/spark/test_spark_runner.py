"""Runs on Spark: the same outcomes as in one process, quiet, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scenarios.runner import Outcome, Run, Simulate, in_process
from scenarios.spark_runner import on_spark, open_session
from tests.support import fake_simulation as fake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
RUNS = [
    Run(variant=variant, scenario=fake.scenario(members=members), seed=5, replication=r, keep=r == 0)
    for variant, members in (("range", 3), ("static", 4), ("sticky", 5))
    for r in range(9)
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with open_session("local[2]") as session:
        yield session


def on_executors(spark: SparkSession, simulate: Simulate, runs: list[Run] = RUNS) -> dict[int, Outcome]:
    return dict(on_spark(spark, 2, runs, simulate, lambda done: None))


def here(simulate: Simulate, runs: list[Run] = RUNS) -> dict[int, Outcome]:
    return dict(in_process(runs, simulate, lambda done: None))


@pytest.mark.parametrize("simulate", [fake.simulate, fake.fail_on_second])
def test_outcomes_are_those_of_one_process(spark: SparkSession, simulate: Simulate) -> None:
    there, expected = on_executors(spark, simulate), here(simulate)
    assert there.keys() == expected.keys()
    for position, done in there.items():
        assert done.error == expected[position].error
        assert done.files == expected[position].files
        assert (done.summary is None) == (expected[position].summary is None)
        assert done.summary is None or done.summary.equals(expected[position].summary)


def test_fewer_runs_than_tasks(spark: SparkSession) -> None:
    assert on_executors(spark, fake.simulate, RUNS[:1])[0].summary == here(fake.simulate, RUNS[:1])[0].summary


def test_progress_ends_with_all_runs(spark: SparkSession) -> None:
    told: list[int] = []
    list(on_spark(spark, 2, RUNS, fake.simulate, told.append))
    assert told == sorted(told)
    assert told[-1] == len(RUNS)


def test_workers_run_the_same_interpreter_with_the_same_path(spark: SparkSession) -> None:
    done = on_executors(spark, fake.tell_where, RUNS[:1])[0]
    interpreter, packages = done.error.removeprefix("SimError: ").split(" ")[:2]
    assert interpreter == sys.executable
    assert packages == str(ROOT)


def test_a_run_that_takes_its_process_with_it_ends_the_sweep_and_the_session_lives_on(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="Python worker exited unexpectedly"):
        on_executors(spark, fake.die_on_second)
    assert len(on_executors(spark, fake.simulate)) == len(RUNS)


def test_session_listens_on_loopback_alone_and_shows_no_pages(spark: SparkSession) -> None:
    settings = spark.conf
    assert settings.get("spark.driver.host") == "127.0.0.1"
    assert settings.get("spark.driver.bindAddress") == "127.0.0.1"
    assert settings.get("spark.ui.enabled") == "false"


PROGRAM = """
import sys
from functools import partial
from scenarios.spark_runner import on_spark, open_session
from tests.spark.test_spark_runner import RUNS
from tests.support import fake_simulation as fake

with open_session("local[2]") as spark:
    print(len(list(on_spark(spark, 2, RUNS, fake.fail_on_second, lambda done: None))))
"""


def run_program(program: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    temporary = folder / "tmp"
    temporary.mkdir()
    java = {"JDK_JAVA_OPTIONS": f"-Djava.io.tmpdir={temporary}"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), **java, **more}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def test_a_master_that_is_none_is_said_in_a_sentence(tmp_path: Path) -> None:
    told = run_program(PROGRAM.replace("local[2]", "no-such-master"), tmp_path)
    assert "SparkFailed: Spark on no-such-master failed" in told.stderr
    assert "Master must either be yarn or start with spark, k8s, or local" in told.stderr
    assert [str(path) for path in tmp_path.rglob("*")] == [str(tmp_path / "tmp")]


@pytest.mark.slow
def test_works_with_spark_connect(tmp_path: Path) -> None:
    program = PROGRAM.replace('open_session("local[2]")', 'SparkSession.builder.remote("local[2]").getOrCreate()')
    told = run_program("from pyspark.sql import SparkSession\n" + program, tmp_path, PYSPARK_PYTHON=sys.executable)
    assert (told.returncode, told.stdout) == (0, "27\n"), told.stderr
