"""The runs of a sweep on Spark executors, through the DataFrame API alone (so that Spark Connect works too).

A task costs about 27 ms before it does anything, so each takes many runs; about four tasks a core keep the cores busy
until the end. Runs go to the tasks in a closure and come back as rows: a summary, or the files of a kept run, or an
error.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from scenarios.results import schema
from scenarios.runner import Outcome, Run, Simulate, outcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sim.model import Scenario

TASKS_PER_CORE = 4
JAVA_VERSION_MIN = 17

_POLL_S = 0.2
_RUNS_PER_BATCH = 64
_GOLDEN = 0x9E3779B1  # odd, so that multiples of it are a permutation; far from every simple fraction
_FILES = pa.map_(pa.string(), pa.binary())
_SQL_TYPES = {pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string", _FILES: "map<string,binary>"}


class NoJava(Exception):
    """Spark cannot start: there is no Java runtime, or one that is too old."""


class SparkFailed(Exception):
    """Spark did not start or lost the job; the message has the last lines of Spark's own log."""


# --- session ------------------------------------------------------------------------------------------------------


def java_version() -> int | None:
    """Major version of the Java that Spark would start (``JAVA_HOME``, else ``PATH``); None if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else shutil.which("java")
    try:
        told = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found[1]) if found else None


def java_missing() -> str | None:
    """What to install so that Spark can start here; None if it can."""
    found = java_version()
    if found is not None and found >= JAVA_VERSION_MIN:
        return None
    state = "there is none" if found is None else f"this one is Java {found}"
    return (
        f"Spark needs a Java runtime, version 17 or 21 (JAVA_HOME, or java on the PATH): {state}. "
        "Install one (Debian: openjdk-17-jre-headless), or run sweeps in one process with --inline."
    )


def require_java() -> None:
    """Check that Spark can start here.

    Raises
    ------
    NoJava
        If there is no Java runtime, or one older than Spark asks for.
    """
    if missing := java_missing():
        raise NoJava(missing)


@contextmanager
def open_session(master: str) -> Iterator[SparkSession]:
    """A Spark session on ``master`` that writes its log to a file of its own and leaves no files behind.

    Raises
    ------
    NoJava
        If Spark cannot start for want of Java.
    SparkFailed
        If it does not start; the message ends with the last lines of its log.
    """
    require_java()
    scratch = Path(tempfile.mkdtemp(prefix="groupsim-spark-"))
    log = scratch / "spark.log"
    try:
        with _stderr_to(log):
            spark = _start(master, scratch)
        try:
            yield spark
        finally:
            spark.stop()
    except _spark_errors() as error:
        told = [
            *_sentences(str(error))[:3],
            "Spark's log ends with:",
            *_sentences(log.read_text(errors="replace"))[-8:],
        ]
        raise SparkFailed("\n  ".join([f"Spark on {master} failed", *told])) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _start(master: str, scratch: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("groupsim").master(master)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": "-XX:-UsePerfData",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    if master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark reads the interpreter and the address from nowhere else
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """File descriptor 2 goes to ``log``: the JVM that is started meanwhile inherits it and keeps it."""
    sys.stderr.flush()
    saved = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _spark_errors() -> tuple[type[Exception], ...]:
    """What PySpark and its bridge to the JVM raise."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (Py4JError, PySparkException, ConnectionError)


def _sentences(text: str) -> list[str]:
    """The lines that are no frames of a Java stack."""
    return [line.rstrip() for line in text.splitlines() if line.strip() and not re.match(r"\s+at |\s*\.\.\. ", line)]


# --- runs ---------------------------------------------------------------------------------------------------------


def on_spark(
    spark: SparkSession, cores: int, runs: Sequence[Run], simulate: Simulate, progress: Callable[[int], None]
) -> Iterator[tuple[int, Outcome]]:
    """Carry out ``runs`` on the executors of ``spark``.

    Parameters
    ----------
    cores : int
        Of all executors together.
    progress : callable
        Told how many runs are done, as far as finished tasks show.

    Yields
    ------
    (int, Outcome)
        Position in ``runs`` and what became of that run.
    """
    tasks = min(len(runs), TASKS_PER_CORE * cores)
    rows = spark.range(0, len(runs), 1, tasks).mapInArrow(_worker(runs, simulate), _row_ddl())
    table = _collect(spark, rows, lambda done: progress(len(runs) * done // tasks)).sort_by("position")
    starts = pc.index_in(pa.array(range(len(runs))), table["position"]).to_pylist()
    for position, (start, end) in enumerate(zip(starts, [*starts[1:], table.num_rows], strict=True)):
        yield position, _outcome(table.slice(start, end - start))
    progress(len(runs))


def _row_schema() -> pa.Schema:
    """A row that comes back: a group's row of ``summary``, or an error, or the files of a kept run."""
    extra = [("position", pa.int64()), ("error", pa.string()), ("files", _FILES)]
    return pa.schema([*extra, *schema("summary")])


def _row_ddl() -> str:
    return ", ".join(f"`{field.name}` {_SQL_TYPES[field.type]}" for field in _row_schema())


def _worker(runs: Sequence[Run], simulate: Simulate) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor does with the numbers it is given. The scenarios travel pickled, each once.

    Numbers stand for runs in a shuffled order, because neighbours are alike: no task must get all the slow ones.
    """
    shuffled = sorted(range(len(runs)), key=lambda position: position * _GOLDEN % (1 << 32))
    scenarios = {run.variant: run.scenario for run in runs}
    pickled = {variant: pickle.dumps(scenario) for variant, scenario in scenarios.items()}
    jobs = [(run.variant, run.seed, run.replication, run.keep) for run in runs]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        unpickled: dict[str, Scenario] = {}
        waiting: list[pa.RecordBatch] = []
        for position in (shuffled[number] for batch in batches for number in batch.column(0).to_pylist()):
            variant, seed, replication, keep = jobs[position]
            if variant not in unpickled:
                unpickled[variant] = pickle.loads(pickled[variant])  # noqa: S301 (written above, by this program)
            run = Run(variant=variant, scenario=unpickled[variant], seed=seed, replication=replication, keep=keep)
            waiting.append(_rows(position, outcome(run, simulate)))
            if keep or len(waiting) == _RUNS_PER_BATCH:
                yield pa.concat_batches(waiting)
                waiting = []
        if waiting:
            yield pa.concat_batches(waiting)

    return work


def _rows(position: int, done: Outcome) -> pa.RecordBatch:
    """An outcome as rows: one a group, the files in the first of them; or one with nothing but the error."""
    count = 1 if done.summary is None else done.summary.num_rows
    columns = {
        "position": pa.array([position] * count, pa.int64()),
        "error": pa.array([done.error] * count, pa.string()),
        "files": pa.array([list(done.files.items())] + [[]] * (count - 1), _FILES),
    }
    names = schema("summary").names
    if done.summary is None:
        columns |= {name: pa.nulls(1, schema("summary").field(name).type) for name in names}
    else:
        columns |= {name: done.summary[name].combine_chunks() for name in names}
    return pa.RecordBatch.from_pydict(columns, schema=_row_schema())


def _outcome(rows: pa.Table) -> Outcome:
    """The reverse of ``_rows``."""
    if error := rows["error"][0].as_py():
        return Outcome(summary=None, error=error)
    return Outcome(summary=rows.select(schema("summary").names), files=dict(rows["files"][0].as_py()))


def _collect(spark: SparkSession, rows: DataFrame, progress: Callable[[int], None]) -> pa.Table:
    """All rows, while ``progress`` is told how many tasks are done. Interrupted, it ends the job first."""
    with ThreadPoolExecutor(1) as pool:
        future: Future[pa.Table] = pool.submit(rows.toArrow)
        done = 0
        try:
            while wait([future], timeout=_POLL_S).not_done:
                done = max(done, _tasks_done(spark))  # a stage that has ended is no longer counted
                progress(done)
        except BaseException:
            spark.interruptAll()
            raise
        return future.result()


def _tasks_done(spark: SparkSession) -> int:
    from pyspark.sql.utils import is_remote

    if is_remote():
        return 0  # Spark Connect has no such tracker
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)
