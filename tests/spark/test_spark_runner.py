"""Chunks on Spark: the files of one process, quiet, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groupsim.scenarios.spark.runner import on_spark
from groupsim.scenarios.spark.session import SparkFailed, Where, open_session
from groupsim.scenarios.sweep.outcome import Simulate
from tests.support import fake_simulation as fake
from tests.support.sweeps import VARIANTS, carried_out, sweep_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with open_session(Where("local[2]"), ["tests.support.fake_simulation"]) as session:
        yield session


@pytest.mark.parametrize("simulate", [fake.simulate, fake.fail_on_second])
def test_files_are_those_of_one_process(spark: SparkSession, tmp_path: Path, simulate: Simulate) -> None:
    there, done = carried_out(sweep_of(9), tmp_path / "there", simulate, partial(on_spark, spark))
    here, _ = carried_out(sweep_of(9), tmp_path / "here", simulate)
    assert sum(one.runs for one in done) == 18
    assert all(one.begin_s <= one.end_s for one in done)
    assert files(there.path).keys() == files(here.path).keys()
    for variant in VARIANTS:
        assert there.summary(variant, 99) == here.summary(variant, 99)
        assert there.failures(variant, 99) == here.failures(variant, 99)


def files(folder: Path) -> dict[str, int]:
    return {str(file.relative_to(folder)): file.stat().st_size for file in folder.rglob("*") if file.is_file()}


def test_a_run_that_takes_its_process_with_it_ends_the_sweep_and_the_session_lives_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(Exception, match="Python worker exited unexpectedly"):
        carried_out(sweep_of(), tmp_path / "out", fake.die_on_second, partial(on_spark, spark))
    _, done = carried_out(sweep_of(), tmp_path / "out", fake.simulate, partial(on_spark, spark), resume=True)
    assert sum(one.runs for one in done) > 0


def test_executors_that_do_not_see_the_folder_are_told_before_anything_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    def elsewhere(work: object, simulate: object, folder: Path, told: object) -> object:
        return on_spark(spark, work, simulate, folder.with_name("unseen"), told)  # type: ignore[arg-type]

    with pytest.raises(SparkFailed, match=r"nothing was run\n.*does not see .*unseen: driver and workers must share"):
        carried_out(sweep_of(), tmp_path / "out", fake.simulate, elsewhere)  # type: ignore[arg-type]


def test_session_listens_on_loopback_alone_and_shows_no_pages(spark: SparkSession) -> None:
    settings = spark.conf
    assert settings.get("spark.driver.host") == "127.0.0.1"
    assert settings.get("spark.driver.bindAddress") == "127.0.0.1"
    assert settings.get("spark.ui.enabled") == "false"


NO_MASTER = """
from groupsim.scenarios.spark.session import Where, open_session

with open_session(Where("no-such-master")) as spark:
    pass
"""
WHERE = """
from functools import partial
from pathlib import Path

from groupsim.scenarios.spark.runner import on_spark
from groupsim.scenarios.spark.session import Where, open_session
from tests.support import fake_simulation as fake
from tests.support.sweeps import carried_out, sweep_of

with open_session(Where("local[1]"), ["tests.support.fake_simulation"]) as spark:
    folder, _ = carried_out(sweep_of(1, ["one"]), Path("out"), fake.tell_where, partial(on_spark, spark))
print(folder.failures("one", 99)["error"][0])
"""


TWO = """
from groupsim.scenarios.spark.session import Where, open_session

for _ in range(2):
    with open_session(Where("local[1]")) as spark:
        print(spark.range(3).count())
"""


def run_program(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, whose JVM is its own too, and a folder where groupsim is not."""
    temporary = folder / "tmp"
    temporary.mkdir()
    java = {"JDK_JAVA_OPTIONS": f"-Djava.io.tmpdir={temporary}"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), **java}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def test_a_master_that_is_none_is_said_in_a_sentence(tmp_path: Path) -> None:
    told = run_program(NO_MASTER, tmp_path)
    assert "SparkFailed: Spark on no-such-master failed" in told.stderr
    assert "Master must either be yarn or start with spark, k8s, or local" in told.stderr
    assert [str(path) for path in tmp_path.rglob("*")] == [str(tmp_path / "tmp")]


@pytest.mark.slow
def test_sessions_one_after_the_other_leave_nothing(tmp_path: Path) -> None:
    told = run_program(TWO, tmp_path)
    assert told.stdout.split() == ["3", "3"], told.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


def test_executors_have_the_code_from_the_driver(tmp_path: Path) -> None:
    told = run_program(WHERE, tmp_path)
    interpreter, packages = told.stdout.removeprefix("SimError: ").split(" ")[:2]
    assert interpreter == sys.executable
    assert packages.endswith("groupsim-code.zip"), told
