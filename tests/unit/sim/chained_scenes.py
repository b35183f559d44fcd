"""A group that reads what another one produces: two members that transform ``t`` to ``out``, one that reads that.

What is there to be read is taken from the logs of the output topic, record by record, not from the books.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import Result
from groupsim.sim.cluster.topics.output_log import OutputLog
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.model import Entry, Group, Processing, Produces, Rate, Scenario, Topic
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import group, lasting, rows
from tests.unit.sim.transactional_scenes import EARLIEST, WORK, transform

COMMITTED = replace(EARLIEST, isolation_level="read_committed")
UNCOMMITTED = replace(EARLIEST, isolation_level="read_uncommitted")
EACH_BATCH = Processing(per_record=lasting(2 * MS), commit="after_batch")
"""2 ms a record; what is processed is committed before the next poll()."""


def reader(name: str = "second", **more: Any) -> Group:
    """A group that reads ``out``."""
    more = {"topics": ("out",), "client": COMMITTED, "processing": EACH_BATCH, **more}
    return group(name, more.pop("count", 1), **more)


def chain(*timeline: Entry, readers: tuple[Group, ...] = (), **more: Any) -> Scenario:
    """The scenario; without ``readers`` one group of one member. Nothing comes in the last four seconds."""
    first = transform(*timeline, **more)
    source, *others = first.topics
    rate = Rate(times_us=(0, first.horizon_us - 4 * S), per_partition_mrps=((10_000,), (0,)))
    topics = (replace(source, rate=rate), *others)
    return replace(first, topics=topics, groups=(*first.groups, *(readers or (reader(),))))


def of_three(scenario: Scenario) -> Scenario:
    """The second group produces too, and a third one reads that."""
    first, second = scenario.groups
    work = replace(WORK, per_record=lasting(2 * MS))
    second = replace(second, produces=Produces(to="last"), processing=work)
    third = reader("third", topics=("last",))
    topics = (*scenario.topics, Topic(name="last", partitions=2, replication_factor=1))
    return replace(scenario, groups=(first, second, third), topics=topics)


class Outputs:
    """What is in the logs at the end, and what groups have processed and committed by then."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.logs: dict[tuple[str, int], OutputLog] = {}
        self.processed: dict[str, dict[tuple[str, int], int]] = {}
        self.committed: dict[str, dict[tuple[str, int], int]] = {}
        finish = Transactions.finish

        def finished(host: Transactions, horizon: int) -> None:
            self.logs = host.output.logs
            for name, one in host._groups.items():
                places, ledger = one.books.partitions, one.books.ledger
                names = list(zip(places.topic, places.number.tolist(), strict=True))
                self.processed[name] = dict(zip(names, ledger.processed(horizon).tolist(), strict=True))
                self.committed[name] = dict(zip(names, ledger.committed.tolist(), strict=True))
            finish(host, horizon)

        patch.setattr(Transactions, "finish", finished)

    def there(self, topic: str = "out", *, is_committed: bool = True) -> dict[tuple[str, int], int]:
        """Partition -> how many records a reader gets of it."""
        return {
            name: len(log.log.read(0, is_committed=is_committed)[0])
            for name, log in self.logs.items()
            if name[0] == topic
        }


def is_read_once(result: Result, outputs: Outputs, name: str = "second", **level: bool) -> bool:
    """Whether a group has read all that is there for it, lost nothing, and what it read twice is known as that."""
    there = outputs.there(**level)
    own = rows(result, "delivery", group=name)
    again = sum(one["records"] for one in own if one["kind"] == "duplicate")
    read = sum(one["records"] for one in rows(result, "members", group=name))
    is_lost = any(one["kind"] == "loss" for one in own)
    return outputs.processed[name] == there and not is_lost and read - again == sum(there.values())
