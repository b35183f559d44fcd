"""A Spark cluster on loopback, a standalone master with workers or a Spark Connect server; it ends with the block."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
_START_S = 60.0
_LOOPBACK = "127.0.0.1"
_SHORT_LIVED = "-XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""A JVM that ends after seconds is done sooner without its second compiler."""
_UNTIL_INPUT_ENDS = '"$@" & read -r _; kill -9 -$$'
"""A command that ends with whoever holds the other end of its input, however that one ends."""


@dataclass
class Cluster:
    """A master and workers of one core each; logs and scratch are in ``folder``, ``path`` is where they import from."""

    folder: Path
    path: Sequence[str] = ()
    url: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_master(self) -> None:
        log, options = self.folder / "master.log", ["--host", _LOOPBACK, "--port", "0", "--webui-port", "0"]
        master = self._spark_class(log, "org.apache.spark.deploy.master.Master", *options)
        port = _told(log, master, r"Starting Spark master at spark://127\.0\.0\.1:(\d+)")
        self.url = f"spark://{_LOOPBACK}:{port}"

    def add_worker(self) -> None:
        number = len(self.workers)
        log, work = self.folder / f"worker-{number}.log", self.folder / f"work-{number}"
        options = ["--host", _LOOPBACK, "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(work)]
        worker = self._spark_class(log, "org.apache.spark.deploy.worker.Worker", *options, self.url)
        self.workers.append(worker)
        _told(log, worker, "(Successfully registered) with master")

    def _spark_class(self, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(HOME / "bin/spark-class"), *arguments]
        self.processes.append(_start(command, log, self.folder, PYTHONPATH=os.pathsep.join(self.path)))
        return self.processes[-1]


@contextmanager
def cluster(folder: Path, workers: int = 2, path: Sequence[str] = ()) -> Iterator[Cluster]:
    """A cluster, until the block ends."""
    found = Cluster(folder, path)
    try:
        found.start_master()
        for _ in range(workers):
            found.add_worker()
        yield found
    finally:
        _end(found.processes)


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Spark Connect server with two cores; its address."""
    log = folder / "connect.log"
    options = ["--master", "local[2]", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    settings = {
        "spark.connect.grpc.binding.address": _LOOPBACK, "spark.connect.grpc.binding.port": "0",
        "spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK, "spark.ui.enabled": "false",
        "spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder}",
    }  # fmt: skip
    options += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    server = _start([str(HOME / "bin/spark-submit"), *options, "spark-internal"], log, folder)
    try:
        port = _told(log, server, r"Spark Connect server started at: .*?:(\d+)")
        yield f"sc://{_LOOPBACK}:{port}"
    finally:
        _end([server])


def environment(folder: Path) -> Mapping[str, str]:
    """For whoever starts a JVM or an interpreter in a test: loopback, this interpreter, files in ``folder``."""
    own = {
        "SPARK_LOCAL_IP": _LOOPBACK, "SPARK_HOME": str(HOME), "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": str(folder), "TMPDIR": str(folder), "SPARK_NO_DAEMONIZE": "1",
        "JDK_JAVA_OPTIONS": f"-Djava.io.tmpdir={folder} {_SHORT_LIVED}", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **own}


def _start(command: list[str], log: Path, folder: Path, **own: str) -> subprocess.Popen[bytes]:
    """A process group of its own, so that what it starts ends with it."""
    variables, watched = {**environment(folder), **own}, ["sh", "-c", _UNTIL_INPUT_ENDS, "sh", *command]
    with log.open("wb") as file:
        return subprocess.Popen(
            watched, cwd=folder, env=variables, stdin=subprocess.PIPE, stdout=file, stderr=file, start_new_session=True
        )


def _told(log: Path, process: subprocess.Popen[bytes], pattern: str) -> str:
    give_up_s = time.monotonic() + _START_S
    while not (found := re.search(pattern, log.read_text(errors="replace"))):
        if process.poll() is not None or time.monotonic() > give_up_s:
            raise AssertionError(f"{process.args} did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)
    return found[1]


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for one in processes:
        kill_group(one)
    for one in processes:
        one.communicate(timeout=30)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 a process and what it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
