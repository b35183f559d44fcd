"""Lines of a broker's log, as it wrote them, and what they mean."""

from __future__ import annotations

import pytest

from tests.oracle.broker_log import GroupLog, parse, trigger_of

COORDINATOR = "INFO GroupMetadataManager [GroupCoordinator id=1 topic=__consumer_offsets partition=7] "
A, B = "g-0-7b47ae3d-4af9-4559-aae4-2454975fa8f9", "g-1-db3a1a1d-fa89-47da-930c-ebe0eda3e4e1"


def following(*lines: str) -> GroupLog:
    log = GroupLog()
    for second, text in enumerate(lines):
        line = parse(f"2026-11-22T01:26:{second:02d}.753587 {COORDINATOR}{text}")
        assert line is not None
        log.take(line)
    return log


def test_a_line_has_microseconds_and_loses_the_coordinators_prefix() -> None:
    line = parse(f"2026-11-22T01:26:53.753587 {COORDINATOR}Group g with generation 5 is now empty.")
    assert line is not None
    assert (line.at_us, line.level, line.logger) == (1_795_310_813_753_587, "INFO", "GroupMetadataManager")
    assert line.text == "Group g with generation 5 is now empty."


def test_what_goes_on_from_the_line_before_is_no_line() -> None:
    assert parse("\tat java.base/java.lang.Thread.run(Thread.java:840)") is None


def test_a_group_forms_and_empties() -> None:
    log = following(
        "Dynamic member with unknown member id joins group p.g in Empty state. "
        f"Created a new member id {A} and requesting the member to rejoin with this id.",
        f"Pending dynamic member with id {A} joins group p.g in Empty state. Adding to the group now.",
        "Preparing to rebalance group p.g in state PreparingRebalance with old generation 0 (reason: Adding new member "
        f"{A} with group instance id null; client reason: need to re-join with the given member-id: {A}).",
        "Stabilized group p.g generation 1 with 1 members.",
        f"Assignment received from leader {A} for group p.g for generation 1. "
        "The group has 1 members, 0 of which are static.",
        f"[Group p.g] Member {A} has left group through explicit `LeaveGroup` request; client reason: not provided",
        "Preparing to rebalance group p.g in state PreparingRebalance with old generation 1 (reason: explicit "
        f"`LeaveGroup` request for ({A}) members.).",
        "Group p.g with generation 2 is now empty.",
    )
    facts = log.facts("p.g")
    assert [(one["change"], one["member_id"]) for one in facts if one["what"] == "membership"] == [
        ("pending", A), ("added", A), ("left", A),
    ]  # fmt: skip
    transitions = [one for one in facts if one["what"] == "transition"]
    assert [(one["state"], one["generation"], one["members"], one["trigger"]) for one in transitions] == [
        ("PreparingRebalance", 0, 1, "join"), ("CompletingRebalance", 1, 1, None), ("Stable", 1, 1, None),
        ("PreparingRebalance", 1, 0, "leave"), ("Empty", 2, 0, None),
    ]  # fmt: skip
    assert transitions[3]["reason"] == f"explicit `LeaveGroup` request for ({A}) members."
    assert log.state("p.g") == "Empty"


def test_members_are_counted_before_the_round_is_over() -> None:
    log = following(
        f"Pending dynamic member with id {A} joins group p.g in Empty state. Adding to the group now.",
        "Static member with groupInstanceId=g-1 and unknown member id joins group p.g in PreparingRebalance state. "
        f"Created a new member id {B} for this member and added to the group.",
        f"Member {B} in group p.g has failed, removing it from the group.",
        "Preparing to rebalance group p.g in state PreparingRebalance with old generation 1 (reason: removing member "
        f"{B} on heartbeat expiration.).",
    )
    *changes, transition = log.facts("p.g")
    assert [one["change"] for one in changes] == ["added", "added", "failed"]
    assert (transition["members"], transition["trigger"]) == (1, "expiry")


def test_a_replaced_static_member_is_named_by_the_id_it_had() -> None:
    log = following(
        "Static member with groupInstanceId=g-0 and unknown member id joins group p.g in Stable state. "
        f"Replacing previously mapped member {A} with this groupInstanceId."
    )
    assert [(one["change"], one["member_id"]) for one in log.facts("p.g")] == [("replaced", A)]


def test_groups_are_kept_apart() -> None:
    log = following(
        "Stabilized group p.g generation 4 with 2 members.", "Stabilized group p.h generation 1 with 1 members."
    )
    assert [one["generation"] for one in log.facts("p.h")] == [1]


@pytest.mark.parametrize(
    ("reason", "trigger"),
    [
        (f"Adding new member {A} with group instance id null; client reason: not provided", "join"),
        (f"explicit `LeaveGroup` request for ({A}) members.", "leave"),
        (f"removing member {A} on heartbeat expiration.", "expiry"),
        (f"Leader {A} re-joining group during Stable; client reason: cached metadata has changed", "leader rejoined"),
        (f"Updating metadata for member {A} during Stable; client reason: rebalance", "member rejoined"),
        (f"Removing {{{A}}} on pending sync request expiration", "sync timeout"),
        (
            f"Group's selectedProtocol will change because static member {A} with instance id g-0 joined",
            "static member",
        ),
        ("Something that this version does not say", "other"),
    ],
)
def test_triggers_have_groupsims_names(reason: str, trigger: str) -> None:
    assert trigger_of(reason) == trigger


# --- the consumer protocol --------------------------------------------------------------------------------------------

ME, TWIN, TOPIC = "ZVZGQqifSRyb7Wg3Wv0lKQ", "YxvTABNKTLW_Alc3P62x3Q", "rYxIkyJjSMSZwAcVqSX9wQ"
JOINS = "[GroupId p.g] Member {} joins the consumer group using the consumer protocol."


def test_epochs_targets_and_what_members_are_let_have() -> None:
    log = following(
        JOINS.format(ME),
        "[GroupId p.g] Bumped group epoch to 2 with metadata hash 5219752644098556602.",
        "[GroupId p.g] Computed a new target assignment for epoch 2 with 'uniform' assignor in 6ms: "
        f"{{{ME}=MemberAssignment(partitions={{{TOPIC}=[0, 1]}})}}.",
        f"[GroupId p.g] Member {ME} new assignment state: epoch=2, previousEpoch=0, state=UNREVOKED_PARTITIONS, "
        f"assignedPartitions=[{TOPIC}-0@2, {TOPIC}-11@2] and revokedPartitions=[{TOPIC}-3@1].",
    )
    told = [{key: value for key, value in fact.items() if key != "at_us"} for fact in log.facts("p.g")]
    assert told == [
        {"what": "membership", "member_id": ME, "change": "added"},
        {"what": "epoch", "epoch": 2},
        {"what": "target", "epoch": 2, "assignor": "uniform"},
        {
            "what": "reconciled", "member_id": ME, "epoch": 2, "state": "UNREVOKED_PARTITIONS",
            "assigned": [(TOPIC, 0), (TOPIC, 11)], "pending": [(TOPIC, 3)],
        },
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (f"[GroupId p.g] Member {ME} left the consumer group.", "left"),
        (f"[GroupId p.g] Member {ME} fenced from the group because the member session expired.", "failed"),
        (f"[GroupId p.g] Static member {ME} with instance id g-1 joins the consumer group using the consumer protocol.",
         "added"),
        (f"[GroupId p.g] Static member {ME} with instance id g-1 temporarily left the consumer group.", "absent"),
        (f"[GroupId p.g] Static member {ME} with instance id g-1 left the consumer group.", "left"),
        (f"[GroupId p.g] Static member with instance id g-1 re-joins the consumer group using the consumer protocol. "
         f"Created a new member {TWIN} to replace the existing member {ME}.", "replaced"),
        (f"[GroupId p.g] Static member {ME} with instance id g-1 cannot join the group because the instance id is "
         f"owned by member {TWIN}.", "refused"),
        (f"[GroupId p.g] Dynamic member {ME} has left group through explicit `LeaveGroup` request; client reason: the "
         "consumer is being closed", "left"),
    ],
)  # fmt: skip
def test_who_comes_and_goes_in_a_consumer_group(line: str, change: str) -> None:
    (fact,) = following(line).facts("p.g")
    assert (fact["what"], fact["member_id"], fact["change"]) == ("membership", ME, change)


def test_a_group_that_is_converted() -> None:
    (fact,) = following("[GroupId p.g] Converted the classic group to a consumer group.").facts("p.g")
    assert (fact["what"], fact["to"]) == ("converted", "consumer")
