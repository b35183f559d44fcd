"""What goes wrong ends with one line and an exit code; programs that only pretend to be Java and Maven do it wrong."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle import artifacts, broker
from tests.oracle.__main__ import main
from tests.oracle.failures import CannotPlay, OracleError, WentWrong
from tests.oracle.jvm import Jvm

SCENARIO = str(Path(__file__).with_name("scenarios") / "kill-range.yaml")
STAMP = "2026-11-22T01:26:53.753587"


@pytest.fixture(autouse=True)
def _no_java_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which programs are looked for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "java" / "src").mkdir(parents=True)
    (tmp_path / "java" / "pom.xml").write_text("<project/>")
    (tmp_path / "java" / "src" / "Broker.java").write_text("class Broker {}")
    return tmp_path / "java"


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# --- Java and Maven ---------------------------------------------------------------------------------------------------


def test_no_java_is_one_line_and_exit_code_2(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "--scenario", SCENARIO, "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert told.startswith("no Java: ")
    assert told.count("\n") == 1


def test_an_old_java_is_refused(path: Path) -> None:
    program(path / "java", "echo 'openjdk version \"11.0.2\"' >&2")
    with pytest.raises(CannotPlay, match=r"needs Java 17 or newer; this one is 11\.0\.2"):
        artifacts.java()


@pytest.mark.usefixtures("path")
def test_no_maven_is_said(project: Path) -> None:
    with pytest.raises(CannotPlay, match="no Maven"):
        artifacts.class_path(project)


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (
            "Could not transfer artifact org.apache.kafka:kafka_2.13:pom:4.4.0 from/to central",
            CannotPlay,
            "out of reach",
        ),
        ("Cannot access central in offline mode: Could not resolve dependencies", CannotPlay, "out of reach"),
        ("COMPILATION ERROR : ", WentWrong, "could not build"),
    ],
)
def test_mavens_failure_is_one_line(path: Path, project: Path, error: str, kind: type[OracleError], told: str) -> None:
    program(path / "mvn", f"echo '[ERROR] {error}'; echo '[ERROR] a second line'; exit 1")
    with pytest.raises(kind, match=told) as failed:
        artifacts.class_path(project)
    assert "\n" not in str(failed.value)


def test_maven_runs_only_when_a_source_has_changed(path: Path, project: Path) -> None:
    (project / "target").mkdir()
    program(path / "mvn", f"echo built >> {project}/builds")
    for _ in range(2):
        artifacts.class_path(project)
    assert (project / "builds").read_text().split() == ["built"]
    (project / "src" / "Broker.java").write_text("class Broker { }")
    artifacts.class_path(project)
    assert (project / "builds").read_text().split() == ["built", "built"]


# --- brokers ----------------------------------------------------------------------------------------------------------


def failure_of(tmp_path: Path, text: str) -> str:
    """What is said of a broker that is this program; it is gone afterwards."""
    java = program(tmp_path / "java-that-fails", text)
    one = broker.Brokers((str(java),), {}, tmp_path / "broker", broker.Layout((11111,), (22222,)))
    try:
        with pytest.raises(WentWrong) as failed:
            asyncio.run(one.started())
    finally:
        one.end()
    assert not any(is_running(node.pid) for node in one.nodes.values())
    return str(failed.value)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    told = failure_of(
        tmp_path,
        f"echo '{STAMP} ERROR KafkaRaftServer Exiting Kafka due to fatal exception during startup.'\n"
        "echo 'org.apache.kafka.common.KafkaException: Socket server failed to bind to 127.0.0.1:11111: "
        "Address already in use.'\nexit 1",
    )
    assert told == "the broker could not start: one of ports 11111, 22222 is taken"


def test_a_broker_that_dies_tells_why(tmp_path: Path) -> None:
    told = failure_of(tmp_path, f"echo '{STAMP} ERROR KafkaRaftServer No such luck'; exit 1")
    assert told == "the broker could not start: No such luck"


def test_a_broker_that_does_not_come_up_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "START_S", 0.3)
    assert failure_of(tmp_path, "exec sleep 60") == "the broker has not come up within 0 s"


# --- clients ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Jvm]:
    text = (
        'while read line; do [ "$line" = \'{"do": "die"}\' ] && { echo "java.lang.Error: enough" >&2; exit 7; }; '
        'echo "{}"; done'
    )
    one = Jvm("shared", [str(program(tmp_path / "client", text))], tmp_path)
    yield one
    one.end()


def wait_until(condition: object, seconds: float = 5.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_client_that_dies_unasked_is_said(client: Jvm) -> None:
    client.check()
    client.tell("die")
    wait_until(lambda: not client.is_alive)
    with pytest.raises(WentWrong, match=r"^shared has ended unasked \(exit code 7\): java.lang.Error: enough$"):
        client.check()


def test_nobody_listens_to_a_dead_client(client: Jvm) -> None:
    client.tell("die")
    wait_until(lambda: not client.is_alive)
    with pytest.raises(WentWrong):
        client.tell("anything")


def test_an_end_that_was_asked_for_is_none_to_complain_of(client: Jvm) -> None:
    client.kill()
    client.check()


def test_what_a_killed_client_has_told_can_still_be_read(client: Jvm) -> None:
    client.tell("anything")
    wait_until(lambda: client.log.stat().st_size > 0)
    client.kill()
    assert client.lines() == [{}]


def test_a_frozen_client_ends_too(client: Jvm) -> None:
    client.freeze()
    client.end()
    assert not is_running(client.pid)
