"""Topics that came into being late: when, as their records tell.

The driver writes down when it orders a topic. All plays share one JVM that makes topics, one after the other, and it
can be busy with those of others for seconds. It begins to write as soon as a topic is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.sim.model import CreateTopic, Scenario, Topic
from groupsim.sim.units import S
from tests.oracle import trace
from tests.oracle.health import LATE_MAX_US
from tests.oracle.trace import Fact, Trace


def dated(recording: Trace, scenario: Scenario) -> Trace:
    """A recording whose topics are created when they really were, if that was later than anything may be done."""
    verbs = [entry.verb for entry in scenario.timeline if isinstance(entry.verb, CreateTopic)]
    began = {one.topic.name: _written_since(recording, one.topic) for one in verbs}
    return trace.make(recording.header, _redated(recording, began)) if verbs else recording


def _redated(recording: Trace, began: dict[str, int]) -> Iterator[Fact]:
    for fact in recording.facts:
        is_order = fact["what"] == "action" and fact["verb"] == "create_topic"
        since = began[fact["target"]] if is_order else 0
        yield {**fact, "at_us": since} if is_order and since - fact["at_us"] > LATE_MAX_US else fact


def _written_since(recording: Trace, topic: Topic) -> int:
    """Since when a topic was written to, microseconds; 0: nobody read it. Too early by a record's period at most.

    A partition of which ``next_offset`` records had come at ``last_us`` was written to from so many periods before on.
    """
    period = 1000 * S // topic.rate.per_partition_mrps[0][0]
    read = [one for one in recording.of("read") if one["partition"].rpartition("-")[0] == topic.name]
    return min((one["last_us"] - one["next_offset"] * period for one in read if one["records"]), default=0)
