"""Behaviour 19 of consumer groups: an answer without records can wait for somebody else's batch, to the microsecond.

A newcomer waits for what a slow listener does not let go. Its heartbeats bring nothing and write nothing; just before
one of them comes, a member of another group on the same offsets partition joins, which is written.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.model import Distribution, Override, Scenario, Start
from groupsim.sim.units import S
from tests.conformance.protocol.consumer_oracle import PROCESSING, consumer, joins, newcomer
from tests.conformance.protocol.oracle import APPEND, SERVICE
from tests.conformance.protocol.wire import Wire
from tests.support.scenarios import BOOT_US, group, scenario

SECOND = 20 * S
BEAT = newcomer(SECOND).beats(SECOND + 6 * S)
"""A heartbeat of the newcomer arrives, and there is nothing for it yet."""


def _neighbours(ahead_us: int, offsets_partitions: int) -> Scenario:
    """Group g, where a newcomer waits, and group h, whose member joins ``ahead_us`` before that one's heartbeat."""
    slow = replace(PROCESSING, on_revoked_us=20 * S)
    waiting = group(
        2, client=consumer(), processing=PROCESSING, start=Start(kind="every", value_us=SECOND),
        overrides=(Override(members=frozenset({0}), processing=slow),),
    )  # fmt: skip
    boot = Distribution.constant(BEAT - ahead_us - joins(0) + BOOT_US)
    other = replace(group(1, client=consumer(), processing=PROCESSING, boot=boot), name="h")
    config = CoordinatorConfig(consumer_assignment_interval_us=0, offsets_topic_num_partitions=offsets_partitions)
    world = scenario(waiting, horizon_us=BEAT + 2 * S, config=config)
    return replace(world, groups=(waiting, other))


def _leaves(wire: Wire) -> int:
    """When the answer to that heartbeat leaves."""
    (beat,) = (one for one in wire.sent("ConsumerGroupHeartbeat", "g/1") if one.at_us == BEAT)
    assert beat.body.member_epoch > 0
    (answer,) = wire.answered("ConsumerGroupHeartbeat", "g/1", after=BEAT)[:1]
    assert answer.body.assignment is None
    return answer.leaves_us


@pytest.mark.parametrize("fidelity", ["elided", "message"])
@pytest.mark.parametrize("ahead_us", [1, 400, APPEND - 1])
def test_19_an_answer_without_records_waits_for_somebody_elses_open_batch(
    wire: Wire, ahead_us: int, fidelity: str
) -> None:
    simulate(_neighbours(ahead_us, 1), fidelity=fidelity)  # type: ignore[arg-type]
    assert _leaves(wire) == BEAT - ahead_us + APPEND + SERVICE


@pytest.mark.parametrize(("ahead_us", "offsets_partitions"), [(APPEND, 1), (2 * APPEND, 1), (400, 50)])
def test_19_it_waits_for_nothing_that_is_committed_or_on_another_offsets_partition(
    wire: Wire, ahead_us: int, offsets_partitions: int
) -> None:
    simulate(_neighbours(ahead_us, offsets_partitions))
    assert _leaves(wire) == BEAT + SERVICE
