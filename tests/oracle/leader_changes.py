"""How long brokers take to lead what they take over, at a real cluster of three: tests/golden/leader_changes."""

from __future__ import annotations

import asyncio
import csv
import io
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.oracle.artifacts import PROJECT, class_path, java
from tests.oracle.broker import CLUSTER_ID, START_S, layout, properties
from tests.oracle.broker_log import parse
from tests.oracle.failures import WentWrong
from tests.oracle.jvm import Jvm
from tests.oracle.stage import CLIENT
from tests.oracle.supply import Supply

COLUMNS: Final = ("partitions", "broker", "is_first", "taken_over", "number", "ms")
PARTITIONS: Final = (300, 1_500, 3_000)
LEAST: Final = 30
"""Who takes over fewer at once is left out."""
_POINTS: Final = (1, 20, 50, 100, 200, 500)
_TOPIC: Final = "big"
_AT_ONCE: Final = 500
"""So many partitions are made at once."""
_BROKER: Final = ("-Xms192m", "-Xmx1g", "-XX:+UseSerialGC")
_LOGGED: Final = "logger.state.name = state.change.logger\nlogger.state.level = info\n"
_CLOSINGS: Final = 4
_SETTLING_S: Final = 15.0
_BEGIN: Final = re.compile(r"Transitioning \d+ partition\(s\) to local leaders\.")
_LED: Final = re.compile(rf"Leader {_TOPIC}-\d+ with topic id .* starts at leader epoch .* Previous leader Some\(")

Row = tuple[int, int, int, int, int, int]


def record(folder: Path, partitions: Iterable[int] = PARTITIONS) -> Path:
    """Measure with topics of so many partitions, and write what brokers' logs have told; returns the path.

    Raises
    ------
    CannotPlay
        No Java, no Maven, or no artifacts.
    WentWrong
        A broker did not come up, or did not end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for count in partitions:
        with tempfile.TemporaryDirectory() as place:
            rows += asyncio.run(_Cluster(Path(place)).play(count))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerows([COLUMNS, *rows])
    path = folder / "taken-over.csv"
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def changes(lines: Iterable[str]) -> Iterator[list[int]]:
    """Each time that a broker takes over partitions, when it leads each, microseconds after it has begun.

    Source: ``ReplicaManager.applyDelta``, ``applyLocalLeadersDelta``, ``Partition.makeLeader`` (their log, Kafka 4.4).
    """
    led: list[int] = []
    begun_us = -1
    for line in filter(None, map(parse, lines)):
        if _BEGIN.search(line.text):
            if len(led) >= LEAST:
                yield led
            led, begun_us = [], line.at_us
        elif _LED.search(line.text):
            led.append(line.at_us - begun_us)
    if len(led) >= LEAST:
        yield led


def rows_of(partitions: int, broker: int, lines: Iterable[str], *, is_restarted: bool) -> Iterator[Row]:
    """What the log of one process says."""
    for number, led in enumerate(changes(lines)):
        count, is_first = len(led), int(is_restarted and not number)
        for point in sorted({one for one in _POINTS if one <= count} | {count}):
            yield partitions, broker, is_first, count, point, round(led[point - 1] / 1000)


class _Cluster:
    """Three nodes; the files of all that they do are in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._java = (java(), "-cp", class_path())
        self._ports = layout(3, fails=True)
        self._lives: list[tuple[int, Jvm]] = []
        self._config = folder / "log4j2.properties"
        shared = (PROJECT / "src/main/resources/broker-log4j2.properties").read_text(encoding="utf-8")
        self._config.write_text(f"{shared}\n{_LOGGED}", encoding="utf-8")

    async def play(self, partitions: int) -> list[Row]:
        """Close one node after the other, and let each lead again what it led before."""
        command = [*self._java, *CLIENT, "groupsim.oracle.Supply", self._ports.servers]
        jvms: list[Jvm] = []
        try:
            nodes = {node: self._start(node) for node in range(len(self._ports.clients))}
            for jvm in nodes.values():
                await self._until(jvm, "Kafka Server started")
            jvms.append(Jvm("supply", command, self._folder))
            supply = Supply(jvms[0])
            await self._create(supply, partitions)
            for closing in range(_CLOSINGS):
                node = closing % len(nodes)
                await self._close(nodes[node])
                nodes[node] = self._start(node)
                await self._until(nodes[node], "Kafka Server started")
                while (await supply.roles([]))["lagging"]:
                    await asyncio.sleep(1)
                supply.balance()
                await asyncio.sleep(_SETTLING_S)
        finally:
            for jvm in (*jvms, *(life for _, life in self._lives)):
                jvm.end()
        return [row for index in range(len(self._lives)) for row in self._rows(partitions, index)]

    def _start(self, node: int) -> Jvm:
        folder = self._folder / str(node)
        folder.mkdir(exist_ok=True)
        file = folder / "server.properties"
        file.write_text(properties({"offsets.topic.num.partitions": "6"}, folder, self._ports, node), encoding="utf-8")
        command = [
            *self._java, *_BROKER, f"-Dkafka.logs.dir={folder}", f"-Dlog4j2.configurationFile={self._config}",
            "groupsim.oracle.Broker", str(file), CLUSTER_ID,
        ]  # fmt: skip
        self._lives.append((node, Jvm(f"broker-{node}-{len(self._lives)}", command, folder)))
        return self._lives[-1][1]

    async def _create(self, supply: Supply, partitions: int) -> None:
        await supply.create(_TOPIC, min(partitions, _AT_ONCE))
        for count in range(2 * _AT_ONCE, partitions + _AT_ONCE, _AT_ONCE):
            supply.grow(_TOPIC, min(count, partitions))
            await asyncio.sleep(_SETTLING_S)
        await asyncio.sleep(_SETTLING_S)

    async def _close(self, jvm: Jvm) -> None:
        jvm.terminate()
        give_up = time.monotonic() + START_S
        while jvm.is_alive:
            if time.monotonic() > give_up:
                raise WentWrong(f"{jvm.name} has not ended within {START_S:.0f} s")
            await asyncio.sleep(0.1)
        await asyncio.sleep(_SETTLING_S)

    async def _until(self, jvm: Jvm, text: str) -> None:
        give_up = time.monotonic() + START_S
        while text not in jvm.log.read_text(encoding="utf-8", errors="replace"):
            jvm.check()
            if time.monotonic() > give_up:
                raise WentWrong(f"{jvm.name} has not come up within {START_S:.0f} s")
            await asyncio.sleep(0.2)

    def _rows(self, partitions: int, index: int) -> Iterator[Row]:
        """Of one process; the first of each node are those that the cluster began with."""
        node, jvm = self._lives[index]
        lines = jvm.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return rows_of(partitions, node, lines, is_restarted=index >= len(self._ports.clients))
