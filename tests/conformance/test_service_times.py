"""What the model has requests take of the event loop lies within what a real broker has taken."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from groupsim.sim.config import EventTimes

TIMES = EventTimes()
RECORDED = Path(__file__).parents[1] / "golden" / "service_times"


def recorded(kind: str, members: int, *, at_once: bool = False, protocol: str = "classic") -> tuple[float, float]:
    """The least and the most that was measured, microseconds."""
    with (RECORDED / "event-loop.csv").open(encoding="utf-8", newline="") as file:
        (row,) = [
            row for row in csv.DictReader(file)
            if (row["protocol"], row["kind"], int(row["members"]), int(row["at_once"]))
            == (protocol, kind, members, int(at_once))
        ]  # fmt: skip
    return float(row["min_us"]), float(row["max_us"])


@pytest.mark.parametrize("members", [100, 1_000])
@pytest.mark.parametrize(
    ("protocol", "kind", "taken_us"),
    [
        ("classic", "Heartbeat", TIMES.heartbeat_us),
        ("classic", "OffsetCommit", TIMES.commit_us),
        ("classic", "OffsetFetch", TIMES.fetch_us),
        ("consumer", "ConsumerGroupHeartbeat", TIMES.consumer_heartbeat_us),
        ("consumer", "OffsetCommit", TIMES.commit_us),
        ("consumer", "OffsetFetch", TIMES.fetch_us),
    ],
)
def test_requests_that_follow_each_other_take_what_they_took(
    protocol: str, kind: str, taken_us: int, members: int
) -> None:
    least, most = recorded(kind, members, at_once=True, protocol=protocol)
    assert least <= taken_us <= most


@pytest.mark.parametrize("members", [100, 1_000])
@pytest.mark.parametrize(
    ("protocol", "kind", "taken_us"),
    [
        ("classic", "JoinGroup", TIMES.join_us),
        ("classic", "SyncGroup", TIMES.sync_us),
        ("classic", "LeaveGroup", TIMES.leave_us),
        ("consumer", "ConsumerGroupHeartbeat that joins", TIMES.consumer_heartbeat_us + TIMES.change_us),
        ("consumer", "ConsumerGroupHeartbeat that leaves", TIMES.consumer_heartbeat_us + TIMES.change_us),
        ("consumer", "ConsumerGroupHeartbeat that reconciles", TIMES.consumer_heartbeat_us + TIMES.reconcile_us),
    ],
)
def test_requests_of_a_rebalance_take_what_they_took(protocol: str, kind: str, taken_us: int, members: int) -> None:
    least, most = recorded(kind, members, protocol=protocol)
    assert least <= taken_us <= most


@pytest.mark.parametrize("members", [1, 10, 100, 1_000])
def test_what_ends_a_phase_takes_more_the_more_members_there_are(members: int) -> None:
    joined_us = TIMES.join_us + TIMES.round_us + members * TIMES.answer_us
    synced_us = TIMES.sync_us + TIMES.round_us + members * TIMES.answer_us
    least, most = recorded("JoinGroup of the last", members)
    assert least <= joined_us <= most
    least, most = recorded("SyncGroup of the leader", members)
    assert least <= synced_us <= most


@pytest.mark.parametrize("members", [10, 100, 1_000])
def test_a_target_takes_more_the_more_members_have_another_one(members: int) -> None:
    """The assignor's own time, up to 0.1 ms, is charged besides."""
    joined_us = TIMES.consumer_heartbeat_us + TIMES.change_us
    taken_us = joined_us + TIMES.target_us + members * TIMES.answer_us
    least, most = recorded("ConsumerGroupHeartbeat that joins and has a target computed", members, protocol="consumer")
    assert least <= taken_us <= most
