"""What else was on a cluster when its brokers failed: brokers have all of it to take over.

Nobody deletes the topics of a play that is over. So a cluster that plays six repetitions of three scenarios has nearly
twice as many partitions in the end as in the beginning, and its leaders take as much longer to move. Which recordings
one cluster has made, and in which order, their instants 0 tell: it plays one batch after the other.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from groupsim.sim.model import Rate, Scenario, Topic
from tests.oracle.rehearsal import MEMBERS_AT_ONCE
from tests.oracle.trace import Fact

OTHERS: Final = "others"
_SAME_CLUSTER: Final = timedelta(seconds=30)
"""Between the batches of a cluster there were 3 to 10 s, between clusters at least 56 s."""


@cache
def headers(folder: Path) -> tuple[Fact, ...]:
    """Those of all recordings in a folder of scenarios."""
    found = []
    for path in sorted(folder.glob("*/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found.append(json.loads(lines.readline()))
    return tuple(found)


def plays_so_far(header: Fact, recorded: Iterable[Fact]) -> int:
    """How many plays a recording's cluster had when it was over: those before it, those beside it, itself."""
    count, until = 0, None
    for one in sorted(recorded, key=_began):
        if _began(one) >= _ended(header):
            break
        is_fresh = until is None or _began(one) > until + _SAME_CLUSTER
        count, until = (1, _ended(one)) if is_fresh else (count + 1, max(until, _ended(one)))
    return count


def _began(header: Fact) -> datetime:
    return datetime.fromisoformat(header["zero"])


def _ended(header: Fact) -> datetime:
    return _began(header) + timedelta(microseconds=header["horizon_us"])


def crowded(scenario: Scenario, plays: int) -> Scenario:
    """A scenario on a cluster of so many plays: with the topics of rehearsals and of the other plays, all alike."""
    (topic,) = scenario.topics
    return replace(scenario, topics=(topic, _others(topic, MEMBERS_AT_ONCE + (plays - 1) * topic.partitions)))


def _others(topic: Topic, partitions: int) -> Topic:
    nobody = Rate(times_us=(0,), per_partition_mrps=((0,),))
    return replace(topic, name=OTHERS, partitions=partitions, rate=nobody)
