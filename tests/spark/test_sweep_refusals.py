"""What a cluster may lack is said before any run, in words."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.spark.test_sweep_deaths import SWEEP, start
from tests.support.spark_cluster import cluster

pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    return tmp_path


@pytest.mark.slow
def test_executors_without_a_package_name_it(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    without, scratch = tmp_path_factory.mktemp("without"), tmp_path_factory.mktemp("cluster")
    (without / "simpy.py").write_text("raise ImportError(\"No module named 'simpy'\")")
    with cluster(scratch, workers=1, path=[str(without)]) as poor:
        running = start(folder, "out", "--master", poor.url)
        err = " ".join(running.communicate(timeout=180)[1].split())
    assert running.returncode == 3, err
    assert "executors cannot carry out runs; nothing was run" in err
    assert "lacks a package: No module named 'simpy'; install it there, or send it by spark.archives" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("option", "scheme"), [("--master", "spark"), ("--remote", "sc")])
def test_where_nobody_listens_is_said_at_once(folder: Path, option: str, scheme: str) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"{scheme}://127.0.0.1:{reserved.getsockname()[1]}"
        running = start(folder, "out", option, url)
        err = " ".join(running.communicate(timeout=30)[1].split())
    assert running.returncode == 2, err
    assert f"{url} cannot be reached" in err
    assert "is it running, and is the port right?" in err
    assert not (folder / "out").exists()
    assert "Traceback" not in err
