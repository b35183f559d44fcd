"""Lines of brokers' logs about the cluster, as Kafka 4.4.0 wrote them, and what they mean."""

from __future__ import annotations

import pytest

from tests.oracle.broker_log import parse
from tests.oracle.cluster_log import ClusterLog

STAMP = "2026-11-23T16:40:00.000001 INFO"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            "QuorumController [QuorumController id=2] Becoming the active controller at epoch 5, next write offset"
            " 900.",
            ("broker", 0, "active"),
        ),
        (
            "ReplicationControlManager [QuorumController id=2] Fencing broker 1 at epoch 12 because its session has "
            "timed out.",
            ("broker", 1, "fenced"),
        ),
        (
            "BrokerHeartbeatManager [QuorumController id=2] Unfenced broker 1 has requested and been granted a "
            "controlled shutdown.",
            ("broker", 1, "leaving"),
        ),
        (
            "BrokerHeartbeatManager [QuorumController id=2] The request from broker 1 to shut down has been granted "
            "since the lowest active offset 40 is now greater than the broker's controlled shutdown offset 30.",
            ("broker", 1, "gone"),
        ),
        (
            "BrokerHeartbeatManager [QuorumController id=2] The request from broker 1 to unfence has been granted"
            " because "
            "it has caught up with the offset of its register broker record 44.",
            ("broker", 1, "unfenced"),
        ),
        ("BrokerLifecycleManager [BrokerLifecycleManager id=0] Sending broker heartbeat X", ("broker", 0, "beat")),
        (
            "CoordinatorRuntime [GroupCoordinator id=0] Scheduling loading of metadata from __consumer_offsets-31 with "
            "epoch 3",
            ("coordinator", 0, "loading"),
        ),
        (
            "CoordinatorRuntime [GroupCoordinator id=0] Finished loading of metadata from __consumer_offsets-31 with "
            "epoch 3 in 5ms where 1ms was spent in the scheduler. Loaded 4 records which total to 900 bytes.",
            ("coordinator", 0, "loaded"),
        ),
    ],
)
def test_a_line_becomes_a_fact(text: str, fact: tuple[str, int, str]) -> None:
    log, line = ClusterLog(), parse(f"{STAMP} {text}")
    assert line is not None
    assert log.take(0, line)
    (one,) = log.facts
    assert (one["what"], one["node"], one["change"]) == fact
    assert one.get("partition") == (31 if fact[0] == "coordinator" else None)


def test_what_is_about_groups_is_left_to_others() -> None:
    log, line = ClusterLog(), parse(f"{STAMP} GroupMetadataManager [GroupCoordinator id=0] Group g is now empty.")
    assert line is not None
    assert not log.take(0, line)
    assert log.facts == []
