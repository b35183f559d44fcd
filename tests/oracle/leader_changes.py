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
from tests.oracle.broker import START_S, Brokers, layout
from tests.oracle.broker_log import parse
from tests.oracle.failures import WentWrong
from tests.oracle.jvm import Jvm
from tests.oracle.outages import settle
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
_HEAP: Final = ("-Xms192m", "-Xmx1g", "-XX:+UseSerialGC")
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
            asyncio.run(_play(Path(place), count))
            rows += _rows(Path(place), count)
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


async def _play(folder: Path, partitions: int) -> None:
    """Close one node after the other, and let each lead again what it led before."""
    runtime, ports, log4j = (java(), "-cp", class_path()), layout(3, fails=True), folder / "log4j2.properties"
    shared = (PROJECT / "src/main/resources/broker-log4j2.properties").read_text(encoding="utf-8")
    log4j.write_text(f"{shared}\n{_LOGGED}", encoding="utf-8")
    options = (*_HEAP, f"-Dlog4j2.configurationFile={log4j}")
    brokers = Brokers(runtime, {"offsets.topic.num.partitions": "6"}, folder, ports, options)
    jvms: list[Jvm] = []
    try:
        await brokers.started()
        jvms.append(Jvm("supply", [*runtime, *CLIENT, "groupsim.oracle.Supply", brokers.servers], folder))
        supply = Supply(jvms[0])
        await _create(supply, partitions)
        for closing in range(_CLOSINGS):
            await _close(brokers, closing % len(brokers.nodes))
            await settle(brokers, supply)
            await asyncio.sleep(_SETTLING_S)
    finally:
        for jvm in jvms:
            jvm.end()
        brokers.end()


async def _create(supply: Supply, partitions: int) -> None:
    await supply.create(_TOPIC, min(partitions, _AT_ONCE))
    for count in range(2 * _AT_ONCE, partitions + _AT_ONCE, _AT_ONCE):
        supply.grow(_TOPIC, min(count, partitions))
        await asyncio.sleep(_SETTLING_S)
    await asyncio.sleep(_SETTLING_S)


async def _close(brokers: Brokers, node: int) -> None:
    brokers.close(node)
    give_up = time.monotonic() + START_S
    while brokers.is_up(node):
        if time.monotonic() > give_up:
            raise WentWrong(f"broker {node} has not ended within {START_S:.0f} s")
        await asyncio.sleep(0.1)
    await asyncio.sleep(_SETTLING_S)


def _rows(folder: Path, partitions: int) -> Iterator[Row]:
    """Of all processes: the first of each node has no number of its own."""
    for path in sorted(folder.glob("*/broker-*.out")):
        _, node, *again = path.stem.split("-")
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        yield from rows_of(partitions, int(node), lines, is_restarted=bool(again))
