"""Chunks on Spark executors, through the DataFrame API alone, so that Spark Connect works too.

Each chunk is a task. A task costs about 27 ms before it does anything, which is why a chunk lasts a second; Spark
starts tasks in their order, so the longest come first and two executors finish together. Executors write results into
the sweep's folder themselves: what comes back to the driver is a row a chunk.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from groupsim.scenarios.spark.session import SparkFailed
from groupsim.scenarios.sweep.chunk import Done, Work
from groupsim.scenarios.sweep.outcome import Simulate

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_POLL_S: Final = 0.5
_ROW: Final = "runs bigint, begin_s double, end_s double, refusal string"
_PROBES: Final = 16


def on_spark(
    spark: SparkSession, work: Sequence[Work], simulate: Simulate, folder: Path, told: Callable[[], None]
) -> list[Done]:
    """Carry out chunks on the executors of ``spark``.

    Parameters
    ----------
    folder : Path
        The sweep's, which driver and executors share.
    told : callable
        Called twice a second while the job runs.

    Raises
    ------
    SparkFailed
        An executor cannot carry out chunks: it lacks a package, or does not see the folder. Other errors of Spark are
        raised as they are.
    """
    _probe(spark, folder)
    tasks = len(work)
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(_worker(_packed(work, simulate, folder)), _ROW)
    found = _collect(spark, rows, told).to_pylist()
    if refusals := sorted({row["refusal"] for row in found if row["refusal"]}):
        raise SparkFailed("\n  ".join(["executors could not carry out all runs; the others are kept", *refusals]))
    return [Done(runs=row["runs"], begin_s=row["begin_s"], end_s=row["end_s"]) for row in found]


def _packed(work: Sequence[Work], simulate: Simulate, folder: Path) -> bytes:
    """What executors need: chunks, and each scenario once. References to modules wait until it is unpacked."""
    from pyspark import cloudpickle

    scenarios = {one.chunk.variant: one.scenario for one in work}
    packed = {variant: zlib.compress(pickle.dumps(scenario)) for variant, scenario in scenarios.items()}
    everything = (simulate, str(folder.resolve()), [one.chunk for one in work], packed)
    dumped: bytes = cloudpickle.dumps(everything)  # type: ignore[no-untyped-call]
    return dumped


def _worker(packed: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor does with the number of a chunk. It imports nothing before it can tell what it lacks."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle
        import socket
        import zlib
        from pathlib import Path

        import pyarrow

        names = ("runs", "begin_s", "end_s", "refusal")
        for number in [number for batch in batches for number in batch.column(0).to_pylist()]:
            try:
                simulate, folder, chunks, scenarios = pickle.loads(packed)  # noqa: S301 (by this program's own driver)
                from groupsim.scenarios.sweep.chunk import carry_out

                scenario = pickle.loads(zlib.decompress(scenarios[chunks[number].variant]))  # noqa: S301
                done = carry_out(chunks[number], scenario, simulate, Path(folder))
                row: list[Any] = [done.runs, done.begin_s, done.end_s, ""]
            except ImportError as error:
                row = [0, 0.0, 0.0, f"executor on {socket.gethostname()}: {error}"]
            yield pyarrow.RecordBatch.from_pylist([dict(zip(names, row, strict=True))])

    return work


# --- what executors have ------------------------------------------------------------------------------------------


def _probe(spark: SparkSession, folder: Path) -> None:
    """Check, before any run, that executors have the packages and see the folder: Spark would try four times each."""
    from pyspark.sql.functions import col, udf

    told = udf(_prober(str(folder.resolve())), "string", useArrow=False)
    rows = spark.range(0, _PROBES, 1, _PROBES).select(told(col("id")).alias("told")).collect()
    if refusals := sorted({row["told"] for row in rows if row["told"]}):
        raise SparkFailed("\n  ".join(["executors cannot carry out runs; nothing was run", *refusals]))


def _prober(folder: str) -> Callable[[int], str]:
    def told(_: int) -> str:
        import importlib
        import pathlib
        import socket
        import sys
        import time

        host = f"executor on {socket.gethostname()} ({sys.executable})"
        for name in (
            "numpy",
            "pandas",
            "pyarrow",
            "pydantic",
            "simpy",
            "groupsim.sim.simulation",
            "groupsim.scenarios.sweep.chunk",
        ):
            try:
                importlib.import_module(name)
            except ImportError as error:
                return f"{host} lacks a package: {error}; install it there, or send it by spark.archives"
        time.sleep(0.05)  # so that one executor does not answer for all
        sees = pathlib.Path(folder, "sweep.json").exists()
        return "" if sees else f"{host} does not see {folder}: driver and workers must share it"

    return told


# --- the job ------------------------------------------------------------------------------------------------------


def _collect(spark: SparkSession, rows: DataFrame, told: Callable[[], None]) -> pa.Table:
    """All rows, with a call of ``told`` now and then. Interrupted, it ends the job first."""
    with ThreadPoolExecutor(1) as pool:
        future: Future[pa.Table] = pool.submit(rows.toArrow)
        try:
            while wait([future], timeout=_POLL_S).not_done:
                told()
        except BaseException:
            spark.interruptAll()
            raise
        return future.result()
