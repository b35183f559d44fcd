"""Groups that consume, transform and produce: two members, four partitions of ten records a second, 5 ms a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import Result
from groupsim.sim import simulate as run
from groupsim.sim.cluster.topics.output_log import OutputLog, WrittenBatch
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.config import CoordinatorConfig, ProducerConfig, Timing
from groupsim.sim.fastpath.transactions.parking import Parking
from groupsim.sim.model import ZERO, Cluster, Distribution, Entry, Network, Produces, Scenario, Topic
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import CLIENT, PROCESSING, constant, delivered, group, lasting, rows, scene

EARLIEST = replace(CLIENT, auto_offset_reset="earliest", enable_auto_commit=False)
CONSUMER = replace(EARLIEST, group_protocol="consumer")
COOPERATIVE = replace(EARLIEST, partition_assignment_strategy=("cooperative-sticky",))
CONFIGS = {"classic": EARLIEST, "consumer": CONSUMER, "cooperative": COOPERATIVE}
JITTER = Cluster(
    config=CoordinatorConfig(initial_rebalance_delay_us=0),
    network=Network(latency=Distribution("lognormal", (500, 5_000))),
)
"""Latencies that differ: 0.5 ms in the middle, one of a hundred above 5 ms."""
SLOW_LOG = Cluster(
    config=CoordinatorConfig(initial_rebalance_delay_us=0),
    network=Network(latency=Distribution.constant(200 * MS)),
    timing=Timing(append_us=200 * MS, follower_fetch=ZERO),
)
"""A transaction takes more than a second to end: members spend most of their time in commitTransaction()."""
WORK = replace(PROCESSING, per_record=lasting(5 * MS), commit="none")
"""100 ms a batch and 5 ms a record."""


def producing(**producer: Any) -> Produces:
    """``transactional_id`` beside keys of the producer."""
    name = producer.pop("transactional_id", "{member}")
    return Produces(to="out", transactional_id=name, producer=ProducerConfig(**producer))


def transform(
    *timeline: Entry, protocol: str = "classic", horizon_s: int = 50, count: int = 2, **more: Any
) -> Scenario:
    """The scenario."""
    replicated: dict[str, int] = {"replication_factor": more.pop("copies", 1)}
    topics = (
        Topic(name="t", partitions=more.pop("partitions", 4), rate=constant(more.pop("rate", 10_000)), **replicated),
        Topic(name="out", partitions=2, **replicated),
    )
    cluster = {"cluster": more.pop("cluster")} if "cluster" in more else {}
    more = {"client": CONFIGS[protocol], "processing": WORK, "produces": producing(), **more}
    return scene(group(count=count, **more), timeline=timeline, topics=topics, horizon_us=horizon_s * S, **cluster)


def played(scenario: Scenario, fidelity: str = "elided", seed: int = 1) -> Result:
    """A run without the watch over invariants, which takes longer than the run."""
    return run(scenario, seed=seed, fidelity=fidelity)  # type: ignore[arg-type]


def output(result: Result) -> dict[str, tuple[int, int]]:
    """Isolation level -> (input records with output twice, without any)."""
    found = delivered(result)
    return {
        level: (found.get(("output duplicate", level), 0), found.get(("output loss", level), 0))
        for level in ("read_committed", "read_uncommitted")
    }


class Readers:
    """What readers of output topics get at the end, record by record: from the logs, not from the books.

    What is worked out ahead is in no log, so that here every member takes its steps.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.logs: dict[tuple[str, int], OutputLog] = {}
        self.committed: list[int] = []
        finish = Transactions.finish

        def finished(host: Transactions, horizon: int) -> None:
            self.logs = host.output.logs
            (group,) = host._groups.values()
            self.committed = group.offsets.table.offset.tolist()
            finish(host, horizon)

        patch.setattr(Transactions, "finish", finished)
        patch.setattr(Parking, "park", lambda *_: False)

    def epochs(self) -> set[int]:
        """Of the batches that are there."""
        found = [one for log in self.logs.values() for one in log.written if isinstance(one, WrittenBatch)]
        return {one.batch.epoch for one in found}

    def counts(self, *, is_committed: bool = True) -> Counter[tuple[int, int]]:
        """(Input partition, offset) -> how often a reader of an isolation level gets what was made of it."""
        found: Counter[tuple[int, int]] = Counter()
        for log in self.logs.values():
            made = dict(_sources(log))
            found.update(made[offset] for offset in log.log.read(0, is_committed=is_committed)[0])
        return found


def _sources(log: OutputLog) -> Iterator[tuple[int, tuple[int, int]]]:
    """Output offset -> input partition and offset."""
    for one in log.written:
        if isinstance(one, WrittenBatch):
            made = [(origin.position, at) for origin in one.output.origins for at in range(origin.first, origin.last)]
            yield from zip(range(one.end - one.batch.records, one.end), made, strict=True)


def total(result: Result, column: str, reduce: Callable[[Any], int] = sum) -> int:
    """A column of table ``transactions``, summed up."""
    return reduce(one[column] for one in rows(result, "transactions"))


def answers(result: Result, api: str) -> dict[str, int]:
    """Answers to one kind of request, by error."""
    return {one["error"]: one["count"] for one in rows(result, "requests", api=api)}
