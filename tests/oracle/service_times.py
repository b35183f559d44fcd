"""What requests take of a coordinator's event loop, measured at a real broker: tests/golden/service_times."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.oracle.artifacts import class_path, java
from tests.oracle.broker import CLUSTER_ID, OPTIONS, layout, properties
from tests.oracle.failures import WentWrong
from tests.oracle.jvm import Jvm

_ONE_SHARD = {
    "offsets.topic.num.partitions": "1",
    "group.coordinator.threads": "1",
    "group.initial.rebalance.delay.ms": "0",
    # Members that wait for their part of the measurement are not evicted.
    "group.max.session.timeout.ms": "600000",
    "group.consumer.session.timeout.ms": "600000",
    "group.consumer.max.session.timeout.ms": "600000",
    # A thousand topic partitions of 20 MB of index each would take a while to be made.
    "log.index.size.max.bytes": "4096",
}
_LONGEST_S = 600.0
METRICS = ("RequestQueueTimeMs", "LocalTimeMs", "RemoteTimeMs", "ResponseQueueTimeMs", "SendTimeMs", "TotalTimeMs")
"""Of ``kafka.network:type=RequestMetrics``, as the broker's request log calls them."""


def record(folder: Path) -> list[Path]:
    """Measure, and write what the event loop and what RequestMetrics have told; returns both paths.

    Raises
    ------
    CannotPlay
        No Java, no Maven, or no artifacts.
    WentWrong
        The broker or its members did not get to the end.
    """
    facts = _facts()
    return [
        _written(folder / "event-loop.csv", event_loop(facts)),
        _written(folder / "request-metrics.csv", request_metrics(facts)),
    ]


def event_loop(facts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """CPU time of the event loop a request, microseconds, over repetitions, by kind, group size and how they come."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for one in facts:
        if one["what"] == "event loop":
            found[one["protocol"], one["kind"], one["members"], one["at_once"]].append(one)
    rows = []
    for (protocol, kind, members, at_once), these in sorted(found.items()):
        each = sorted(one["took_us"] / one["requests"] for one in these)
        key = {"protocol": protocol, "kind": kind, "members": members, "at_once": int(at_once)}
        counts = {"repetitions": len(these), "requests": sum(one["requests"] for one in these)}
        rows.append({**key, **counts, **_quantiles(each, {"min": 0.0, "median": 0.5, "p95": 0.95, "max": 1.0})})
    return rows


def request_metrics(facts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What RequestMetrics are updated with, microseconds, by kind, group size and metric; one request at a time."""
    found: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for one in facts:
        if one["what"] == "request times":
            for metric in METRICS:
                name = metric[0].lower() + metric[1:]
                found[one["protocol"], one["kind"], one["members"], metric] += [1000 * time for time in one[name]]
    rows = []
    for (protocol, kind, members, metric), times_us in sorted(found.items()):
        key = {"protocol": protocol, "kind": kind, "members": members, "metric": metric, "requests": len(times_us)}
        rows.append({**key, **_quantiles(sorted(times_us), {"median": 0.5, "p95": 0.95})})
    return rows


def _quantiles(ascending: Sequence[float], wanted: Mapping[str, float]) -> dict[str, float]:
    last = len(ascending) - 1
    return {f"{name}_us": round(ascending[round(share * last)], 1) for name, share in wanted.items()}


def _written(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    text = io.StringIO()
    table = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def _facts() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as place:
        folder, ports = Path(place), layout(1, fails=False)
        file = folder / "server.properties"
        file.write_text(properties(_ONE_SHARD, folder, ports, 0), encoding="utf-8")
        command = [
            java(), "-cp", class_path(), *OPTIONS, f"-Dkafka.logs.dir={folder}",
            "groupsim.oracle.service.ServiceTimes", str(file), CLUSTER_ID, str(ports.clients[0]),
        ]  # fmt: skip
        jvm = Jvm("service-times", command, folder)
        try:
            return list(_told(jvm))
        finally:
            jvm.end()


def _told(jvm: Jvm) -> Iterable[dict[str, Any]]:
    """Its facts, until it has ended."""
    jvm.is_expected_to_end = True
    give_up, told = time.monotonic() + _LONGEST_S, ""
    while True:
        is_over = not jvm.is_alive
        for line in jvm.text_lines():
            if line.startswith("{"):
                yield json.loads(line)
            elif " ERROR " in line or " FATAL " in line:
                told = line
        if is_over:
            break
        if time.monotonic() > give_up:
            raise WentWrong(f"measuring has taken more than {_LONGEST_S:.0f} s")
        time.sleep(0.2)
    if jvm.exit_code:
        raise WentWrong(told or jvm.last_words())
