"""Messages of a consumer's log, as it wrote them, and what they mean."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.client_log import ClientLog

ME, OTHER = "g-0-7b47ae3d", "g-1-db3a1a1d"


def facts(*messages: str) -> list[dict[str, Any]]:
    log = ClientLog()
    for at_us, message in enumerate(messages):
        log.take(at_us, message)
    return log.facts


@pytest.mark.parametrize(
    ("message", "api", "error"),
    [
        ("Sending FindCoordinator request to broker 127.0.0.1:9092 (id: 1 rack: null)", "FindCoordinator", None),
        ("Sending JoinGroup (JoinGroupRequestData(groupId='g'", "JoinGroup", None),
        (
            "JoinGroup failed due to non-fatal error: MEMBER_ID_REQUIRED. Will set the member id as g-0 and then",
            "JoinGroup",
            "MEMBER_ID_REQUIRED",
        ),
        (
            "JoinGroup failed due to fatal error: The group member's supported protocols are incompatible with those "
            "of existing members or first group member tried to join with empty protocol type or empty protocol list.",
            "JoinGroup",
            "INCONSISTENT_GROUP_PROTOCOL",
        ),
        ("Sending leader SyncGroup to coordinator 127.0.0.1:9092", "SyncGroup", None),
        ("Sending follower SyncGroup to coordinator 127.0.0.1:9092", "SyncGroup", None),
        (
            "SyncGroup failed: The group began another rebalance. Need to re-join the group. Sent generation was",
            "SyncGroup",
            "REBALANCE_IN_PROGRESS",
        ),
        ("Sending Heartbeat request with generation 1 and member id g-0 to coordinator", "Heartbeat", None),
        ("Request joining group due to: group is already rebalancing", "Heartbeat", "REBALANCE_IN_PROGRESS"),
        (
            "Attempt to heartbeat with Generation{generationId=1} and group instance id Optional.empty failed due to "
            "UNKNOWN_MEMBER_ID, resetting generation",
            "Heartbeat",
            "UNKNOWN_MEMBER_ID",
        ),
        (f"Member {ME} sending LeaveGroup request to coordinator 127.0.0.1:9092 due to the consumer is being closed",
         "LeaveGroup", None),
        ("Sending OffsetCommit request with {orders-0=OffsetAndMetadata{offset=9}} to", "OffsetCommit", None),
    ],
)  # fmt: skip
def test_requests_and_refusals(message: str, api: str, error: str | None) -> None:
    assert facts(message) == [{"what": "request", "at_us": 0, "api": api, "error": error}]


def test_a_join_tells_who_leads() -> None:
    response = (
        "Received successful JoinGroup response: JoinGroupResponseData(throttleTimeMs=0, errorCode=0, generationId=4, "
        "protocolType='consumer', protocolName='range', leader='{}', skipAssignment=false, memberId='g-0-7b47ae3d'"
    )
    assert [one["leader"] for one in facts(response.format(ME), response.format(OTHER))] == [True, False]
    assert facts(response.format(ME))[0] | {"generation": 4, "member_id": ME} == facts(response.format(ME))[0]


def test_commits_have_their_occasion() -> None:
    told = facts(
        "Sending asynchronous auto-commit of offsets {orders-0=9}",
        "Executing onJoinPrepare with generation 1 and memberId g-0",
        "Sending asynchronous auto-commit of offsets {orders-0=11}",
        "Sending JoinGroup (JoinGroupRequestData(groupId='g'",
        "Sending asynchronous auto-commit of offsets {orders-0=12}",
        "Sending synchronous auto-commit of offsets {orders-0=13}",
    )
    assert [one["kind"] for one in told if one["what"] == "commit"] == ["auto", "revoke", "auto", "close"]


def test_a_member_without_partitions_commits_nothing() -> None:
    assert facts("Executing onJoinPrepare with generation -1", "Sending asynchronous auto-commit of offsets {}") == []


def test_an_answer_finds_its_commit_though_another_has_been_sent() -> None:
    told = facts(
        "Sending asynchronous auto-commit of offsets {orders-0=9}",
        "Sending asynchronous auto-commit of offsets {orders-0=10}",
        "Asynchronous auto-commit of offsets {orders-0=9} failed: Offset commit cannot be completed since the consumer "
        "is not part of an active group for auto partition assignment",
        "Completed asynchronous auto-commit of offsets {orders-0=10}",
    )
    assert [(one["at_us"], one["error"]) for one in told[:2]] == [(0, "CommitFailedException"), (1, None)]
    assert told[2:] == [{"what": "committed", "at_us": 3}]


def test_what_nobody_has_named_is_told_as_it_is() -> None:
    assert facts("JoinGroup failed due to unexpected error: the dog ate it")[0]["error"].endswith("the dog ate it")


@pytest.mark.parametrize(
    ("end", "error"),
    [
        ("by reducing the maximum size of batches returned in poll() with max.poll.records.", "CommitFailedException"),
        ("Get fenced exception for group.instance.id twin, current member.id is twin-1", "FencedInstanceIdException"),
    ],
)
def test_a_commit_whose_message_was_cut_in_the_middle_is_named_by_its_end(end: str, error: str) -> None:
    sending = "Sending asynchronous auto-commit of offsets {orders-0=9}"
    told = facts(sending, f"Asynchronous auto-commit of offsets {{orders-0=9}} failed ... {end}")
    assert told[0]["error"] == error


def test_a_member_of_the_consumer_protocol_beats_and_is_answered() -> None:
    log = ClientLog()
    beat = {"api": "ConsumerGroupHeartbeat", "member_id": "m"}
    sent, answered = {"what": "sent", **beat}, {"what": "answered", **beat}
    log.hear(0, {**sent, "epoch": 0, "owned": 0})
    log.hear(1, {**answered, "error": None, "epoch": 2, "promised": 12})
    log.hear(2, {**sent, "epoch": 2, "owned": 12})
    log.hear(3, {**answered, "error": None, "epoch": 2})
    log.hear(4, {**sent, "epoch": 2})
    log.hear(5, {**answered, "error": "FENCED_MEMBER_EPOCH", "epoch": 0})
    heartbeat = {"what": "request", "api": "ConsumerGroupHeartbeat"}
    assert log.facts == [
        {**heartbeat, "at_us": 0, "error": None, "epoch": 0, "owned": 0, "member_id": "m"},
        {"what": "answer", "at_us": 1, "epoch": 2, "promised": 12},
        {**heartbeat, "at_us": 2, "error": None, "epoch": 2, "owned": 12},
        {**heartbeat, "at_us": 4, "error": None, "epoch": 2},
        {**heartbeat, "at_us": 5, "error": "FENCED_MEMBER_EPOCH"},
    ]


def test_states_of_a_member_of_the_consumer_protocol() -> None:
    told = facts("Member m with epoch 2 transitioned from RECONCILING to ACKNOWLEDGING.")
    assert told == [{"what": "state", "at_us": 0, "epoch": 2, "state": "ACKNOWLEDGING"}]
