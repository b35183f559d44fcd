"""Topics that came into being late: when, as their records tell.

The driver writes down when it orders a topic. All plays share one JVM that makes topics, one after the other, and it
can be busy with those of others for seconds. It begins to write as soon as a topic is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupsim.sim.model import CreateTopic, Scenario, Topic
from groupsim.sim.units import S
from tests.oracle import trace
from tests.oracle.health import LATE_MAX_US
from tests.oracle.trace import Fact, Trace


def dated(recording: Trace, scenario: Scenario) -> Trace:
    """A recording whose topics are created when they really were, if that was later than anything may be done."""
    verbs = [entry.verb for entry in scenario.timeline if isinstance(entry.verb, CreateTopic)]
    began = {one.topic.name: written_since(recording.facts, one.topic) for one in verbs}
    return trace.make(recording.header, _redated(recording, began)) if verbs else recording


def _redated(recording: Trace, began: dict[str, int]) -> Iterator[Fact]:
    for fact in recording.facts:
        is_order = fact["what"] == "action" and fact["verb"] == "create_topic"
        since = began[fact["target"]] if is_order else 0
        yield {**fact, "at_us": since} if is_order and since - fact["at_us"] > LATE_MAX_US else fact


def written_since(facts: Iterable[Fact], topic: Topic) -> int:
    """Since when a topic with one rate was written to, microseconds; 0: nobody read it.

    Partitions take turns (``Supply.rate``): record k of the i-th of n comes k + i/n periods after the first of all. A
    poll() returns with a record at once to whoever has nothing else to do, and later to others; so of the beginnings
    that readers' last records tell, had each come with the poll() that returned last, the earliest is the nearest.
    """
    period = 1000 * S // topic.rate.per_partition_mrps[0][0]
    read = (one for one in facts if one["what"] == "read" and one["records"])
    parts = ((one, *one["partition"].rpartition("-")[::2]) for one in read)
    return min(
        (
            one["last_us"] - (one["next_offset"] - 1) * period - period * int(number) // topic.partitions
            for one, name, number in parts
            if name == topic.name
        ),
        default=0,
    )
