"""Spark sessions: in this process, on a cluster's master, or through Spark Connect. Quiet; errors are told in words."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupsim.scenarios.spark.code import write_code
from groupsim.scenarios.spark.java import require_java
from groupsim.sim.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MASTERS: Final = ("local", "spark://", "yarn", "k8s://")
"""How they begin. Source: ``SparkContext.createTaskScheduler`` and ``SparkSubmit`` of Spark 4.3."""
_REACH_S: Final = 10.0
_CONNECT_PORT: Final = 15002
_MASTER_PORT: Final = 7077
_FIRST: Final[list[Path]] = []
"""The folder of the first session of this process: the JVM goes on using it, whatever later sessions say, and makes it
anew (``org.apache.spark.util.Utils.getOrCreateLocalRootDirs``)."""


class SparkFailed(Exception):
    """Spark did not start or lost the job; the message has the last lines of Spark's own log."""


class Unreachable(ConfigError):
    """Nobody listens at the address of the master, or of the Spark Connect server."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where Spark runs.

    Parameters
    ----------
    url : str
        A master, such as ``local[*]`` or ``spark://host:7077``, or ``sc://host:15002`` for Spark Connect.
    conf : mapping of str to str
        Settings of Spark's own, for masters; a Spark Connect server has its settings already.
    """

    url: str
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def connect(self) -> bool:
        """Whether this is Spark Connect."""
        return self.url.startswith("sc://")

    @property
    def local(self) -> bool:
        """Whether the executor is in a process of this machine's own."""
        return self.url.startswith("local")

    def addresses(self) -> list[tuple[str, int]]:
        """Where one must listen; empty where that is not known (``local``, ``yarn``, ``k8s``)."""
        default = _CONNECT_PORT if self.connect else _MASTER_PORT
        found = re.fullmatch(r"(?:sc|spark)://([^/;]+).*", self.url)
        hosts = re.findall(r"(\[[^\]]*\]|[^,:]+)(?::(\d+))?", found[1]) if found else []
        return [(host.strip("[]"), int(port or default)) for host, port in hosts]


def where_of(master: str, remote: str, conf: Mapping[str, str]) -> Where:
    """Where Spark runs: at a Spark Connect server if ``remote`` names one, else at ``master``.

    Raises
    ------
    ConfigError
        ``remote`` is no address of Spark Connect, or comes with settings; ``master`` is none of Spark's.
    NoJava
        ``master`` needs Java, and there is none.
    """
    if remote and not remote.startswith("sc://"):
        raise ConfigError(f"remote {remote}: must be sc://HOST:PORT; other clusters are named as master")
    if remote and conf:
        raise ConfigError("conf: a Spark Connect server has its settings already; they can be given to a master alone")
    if not remote and not master.startswith(_MASTERS):
        raise ConfigError(f"master {master}: must be local[N], spark://HOST:PORT, yarn or k8s://URL")
    if not remote:
        require_java()
    return Where(remote or master, conf)


@contextmanager
def open_session(where: Where, modules: Sequence[str] = ()) -> Iterator[SparkSession]:
    """A Spark session whose executors have groupsim's code and ``modules``; it leaves no files behind.

    Raises
    ------
    NoJava
        If Spark cannot start for want of Java. Spark Connect needs none here.
    SparkFailed
        If it does not start; the message ends with the last lines of its log.
    """
    if not where.connect:
        require_java()
    scratch = Path(tempfile.mkdtemp(prefix="groupsim-spark-"))
    if not _FIRST:
        _FIRST.append(scratch)
    log = scratch / "spark.log"
    try:
        with _stderr_to(log):
            spark = _start(where, scratch)
        try:
            write_code(scratch / "groupsim-code.zip", modules)
            spark.addArtifacts(str(scratch / "groupsim-code.zip"), pyfile=True)
            yield spark
        finally:
            spark.stop()
    except _spark_errors() as error:
        told = _sentences(str(error))[:3]
        if logged := _sentences(log.read_text(errors="replace"))[-8:]:
            told += ["Spark's log ends with:", *logged]
        raise SparkFailed("\n  ".join([f"Spark on {where.url} failed", *told])) from error
    finally:
        for folder in (scratch, *_FIRST):
            shutil.rmtree(folder, ignore_errors=True)


def reach(where: Where) -> None:
    """Check that somebody listens: Spark itself tries for a minute and more before it says so.

    Raises
    ------
    Unreachable
        If nobody does.
    """
    refused = []
    for address in where.addresses():
        try:
            socket.create_connection(address, timeout=_REACH_S).close()
        except OSError as error:
            refused.append(f"{address[0]}:{address[1]}: {error.strerror or error}")
        else:
            return
    if refused:
        raise Unreachable(
            f"{where.url} cannot be reached ({'; '.join(refused)}): is it running, and is the port right?"
        )


def _start(where: Where, scratch: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    if where.connect:
        remote: SparkSession = SparkSession.builder.remote(where.url).getOrCreate()
        return remote
    builder = SparkSession.builder.appName("groupsim").master(where.url)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # read from nowhere else
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": "-XX:-UsePerfData",
    }
    if where.local:
        os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    for key, value in (settings | dict(where.conf)).items():
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
