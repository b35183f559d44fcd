"""How long a partition of ``__consumer_offsets`` is: what is written, what the cleaner leaves, what a load reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from groupsim.sim.cluster.groups.coordinator import Coordinator, partition_for
from groupsim.sim.cluster.loading import load_us
from groupsim.sim.cluster.shard.log_bytes import log_bytes
from groupsim.sim.config import BrokerConfig, ClientConfig
from groupsim.sim.distributions import Distribution
from groupsim.sim.model import Close, GcPause, Kill, Processing, Reassign, Restart, Scenario, Target
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    CurrentAssignment,
    MemberMetadata,
)
from groupsim.sim.protocol.controller.partition import OFFSETS_TOPIC
from groupsim.sim.protocol.record_sizes import offset_bytes, offset_tombstone_bytes, state_bytes
from groupsim.sim.units import FOREVER, MS, S
from tests.support.scenarios import STEADY, at, client, group, scenario
from tests.unit.sim.scenes import FIDELITIES, member, rows, simulate

SEGMENT = 1_000
CONFIG = BrokerConfig(offsets_segment_bytes=SEGMENT)
OFFSET, COMMIT = 61, 61 + 4 * 61
"""Bytes of an offset of topic t in group g, and of a commit of four of them."""


def test_an_offset_is_as_long_as_kafka_writes_it() -> None:
    """A key of 23 bytes, a value of 42, 6 around them, and their length in two."""
    assert offset_bytes("billing", "orders") == 2 + 6 + 23 + 42
    assert offset_bytes("g", "t") == OFFSET
    assert offset_tombstone_bytes("billing", "orders") == 1 + 6 + 23
    assert offset_bytes("g" * 60, "t") == OFFSET + 59 + 2, "lengths of key and record take two bytes now"


def test_of_other_records_it_is_about_what_is_in_them() -> None:
    record = ConsumerGroupCurrentMemberAssignment("m" * 22, None)
    assert state_bytes("billing", record) == 1 + 6 + 2 + 9 + 24
    names = [ConsumerGroupMemberMetadata("m", MemberMetadata(topics=topics)) for topics in ((), ("orders", "t"))]
    assert state_bytes("g", names[1]) - state_bytes("g", names[0]) == 2 + 6 + 2 + 1
    few, many = (CurrentAssignment(1, 0, assigned=np.arange(count, dtype=np.int32)) for count in (9, 19))
    assert state_bytes("g", replace(record, value=many)) - state_bytes("g", replace(record, value=few)) == 40


@pytest.mark.parametrize(
    ("before", "written", "left", "found"),
    [
        (0, 999, 50, 999),  # the active segment is not cleaned
        (0, 1_000, 50, 50),
        (0, 2_500, 50, 550),
        (1_000, 1_999, 50, 2_999),  # one of two: not more than half of it
        (1_000, 2_000, 50, 1_050),
        (1_000, 3_700, 50, 2_750),  # more than 1,050 of 2,100 is two segments again
        (1_000, 4_700, 50, 1_750),
    ],
)
def test_a_log_is_cleaned_when_more_than_half_of_it_is_dirty(before: int, written: int, left: int, found: int) -> None:
    assert log_bytes(before, written, left, CONFIG) == found


def test_without_a_cleaner_all_stays() -> None:
    for config in (replace(CONFIG, is_cleaned=False), replace(CONFIG, min_cleanable_ratio=1.0)):
        assert log_bytes(10, 123_456, 50, config) == 123_466
    assert log_bytes(9_000, 1_000, 50, replace(CONFIG, min_cleanable_ratio=0.0)) == 9_050


AUTO = client(enable_auto_commit=True, auto_commit_interval_us=S)
AWAY = Close(target=Target("broker", "coordinator/g"))
QUIET = BrokerConfig(leader_imbalance_check_us=FOREVER)
EACH = {"processing": Processing(commit="after_batch", per_poll_us=100 * MS)}


def world(*timeline: Any, consumer: ClientConfig = AUTO, horizon_us: int = 60 * S, **own: Any) -> Scenario:
    """Three members read twelve partitions; 10 s before the end their coordinator's broker is closed."""
    entries = (*timeline, at(horizon_us - 10 * S, AWAY))
    network = {"latency": own.pop("latency", STEADY)}
    made = scenario(
        group(3, client=consumer, **own), *entries, horizon_us=horizon_us, rate_mrps=10_000, brokers=3, **network
    )
    return replace(made, cluster=replace(made.cluster, broker_config=QUIET))


def lengths(patch: pytest.MonkeyPatch, made: Scenario, fidelity: str = "elided") -> list[int]:
    """Of the log of the coordinator, each time that it is read."""
    found, read = list[int](), Coordinator.log_bytes.fget  # type: ignore[attr-defined]

    def reads(shard: Coordinator) -> int:
        found.append(read(shard))
        return found[-1]

    with patch.context() as context:
        context.setattr(Coordinator, "log_bytes", property(reads))
        simulate(made, fidelity)  # type: ignore[arg-type]
    return found


PAUSE = at(20 * S, GcPause(target=member(1), duration=Distribution.constant(2 * S)))
GONE = at(20 * S, Kill(target=member(1), down=Distribution.constant(5 * S)))
DISTURBED: dict[str, Scenario] = {
    "range": replace(world(GONE), measure_from_us=30 * S),
    "cooperative": world(GONE, consumer=replace(AUTO, partition_assignment_strategy=("cooperative-sticky",))),
    "each batch": world(GONE, PAUSE, consumer=client(enable_auto_commit=False), **EACH),
    "on their way": world(
        GONE, consumer=replace(AUTO, auto_commit_interval_us=100 * MS), latency=Distribution.constant(40 * MS)
    ),
    "consumer protocol": world(GONE, consumer=replace(AUTO, group_protocol="consumer")),
    "twice": world(PAUSE, at(25 * S, Restart(target=Target("broker", "coordinator/g"), down=Distribution.constant(S)))),
}


@pytest.mark.parametrize("name", DISTURBED)
def test_it_is_the_same_whether_commits_are_messages_or_counted(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    made = DISTURBED[name]
    quiet, loud = (lengths(monkeypatch, made, fidelity) for fidelity in FIDELITIES)
    assert quiet == loud
    assert quiet[-1] > made.cluster.offsets_log_bytes + 60 * COMMIT


def test_a_log_has_a_batch_for_each_commit_and_the_group_once_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last commits are under way when the broker is closed, which takes 0.1 s."""
    made = world()
    (length,) = lengths(monkeypatch, made)
    before = replace(made, horizon_us=50 * S + 100 * MS, timeline=())
    (commits,) = rows(simulate(before), "requests", api="OffsetCommit", error="NONE")
    written = length - made.cluster.offsets_log_bytes
    assert 0 < written - commits["count"] * COMMIT < 1_000


def loading_us(made: Scenario) -> int:
    """How long the coordinator's log was read."""
    (one,) = rows(simulate(made), "coordinators")
    assert one["loads"] == 1
    return int(one["loading_us"])


def configured(made: Scenario, **config: Any) -> Scenario:
    """The same with other brokers."""
    changed = replace(made.cluster, broker_config=replace(QUIET, **config))
    return replace(made, cluster=changed)


def test_a_load_takes_as_long_as_what_has_been_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who commits each batch writes a good deal more than who commits each second; the cleaner takes it away again."""
    each = world(consumer=client(enable_auto_commit=False), processing=Processing(commit="after_batch"))
    (long,), auto_us = lengths(monkeypatch, each), loading_us(world())
    assert loading_us(each) == load_us(long)
    assert loading_us(each) > auto_us + 10 * MS
    assert auto_us > load_us(each.cluster.offsets_log_bytes)
    segments = {"offsets_segment_bytes": 500_000, "min_cleanable_ratio": 0.1}
    assert loading_us(configured(each, **segments)) < auto_us + 5 * MS
    assert loading_us(configured(each, **segments, is_cleaned=False)) == load_us(long)


def test_a_log_that_is_moved_to_other_brokers_is_as_long_as_one_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    move = Reassign(topic=OFFSETS_TOPIC, partitions=(partition_for("g", 50),), replicas=(1, 2))
    quiet, loud = (lengths(monkeypatch, world(at(30 * S, move)), fidelity) for fidelity in FIDELITIES)
    assert quiet == loud
    assert quiet[0] > 60 * COMMIT + (2 << 20)
