"""When a topic that came late really came, by its records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim.model import CreateTopic, Rate, Topic
from groupsim.sim.units import S
from tests.oracle import trace
from tests.oracle.lateness import dated
from tests.oracle.trace import Fact, Trace
from tests.support.scenarios import at, client, group, scenario

TOPIC = Topic(name="new", partitions=2, rate=Rate(per_partition_mrps=((10_000,),)))
WORLD = scenario(group(1, client=client()), at(5 * S, CreateTopic(topic=TOPIC)), horizon_us=20 * S)


def _recording(*records: int) -> Trace:
    """Ordered at 5 s; of each partition so many records of ten a second had come by 15 s."""
    order: Fact = {"what": "action", "at_us": 5 * S, "verb": "create_topic", "target": "new"}
    read = {"what": "read", "from_us": 6 * S, "last_us": 15 * S, "records": 1}
    stretches = [read | {"partition": f"new-{number}", "next_offset": one} for number, one in enumerate(records)]
    return trace.make({}, [order, *stretches, read | {"partition": "t-0", "next_offset": 3}])


@pytest.mark.parametrize(
    ("records", "at_us"), [((99, 98), 5 * S), ((98, 97), 53 * S // 10), ((97, 97), 535 * S // 100)]
)
def test_a_topic_counts_from_its_first_record_where_it_came_late(records: tuple[int, int], at_us: int) -> None:
    (order,) = dated(_recording(*records), WORLD).of("action")
    assert order["at_us"] == at_us


def test_a_topic_that_nobody_read_counts_from_its_order() -> None:
    (order,) = dated(_recording(), WORLD).of("action")
    assert order["at_us"] == 5 * S


def test_nothing_else_is_moved() -> None:
    recording = _recording(60)
    told = dated(recording, WORLD)
    assert told.of("read") == recording.of("read")
    assert dated(recording, replace(WORLD, timeline=())) is recording
