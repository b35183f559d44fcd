"""Steps that are no conversation: one step of a member towards its target, and one computation of targets."""

from __future__ import annotations

from itertools import count

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.config import CoordinatorConfig, GroupConfig
from groupsim.sim.protocol.consumer.assigning import Computed
from groupsim.sim.protocol.consumer.core import GroupCore
from groupsim.sim.protocol.consumer.partition_epochs import FREE, PartitionEpochs
from groupsim.sim.protocol.consumer.reconciliation import Aim, reconcile
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.rules import Rules
from groupsim.sim.protocol.consumer.targets import Targets
from groupsim.sim.protocol.consumer.topics import SubscribedTopics
from groupsim.sim.units import MS
from tests.conformance.coordinator.consumer_state import records_of
from tests.conformance.coordinator.consumer_wire import (
    current_assignment,
    epochs_by_topic,
    in_runs,
    kafka_record,
    machine_record,
)
from tests.conformance.coordinator.fields import expect
from tests.conformance.coordinator.topics import Topics, listed
from tests.conformance.coordinator.wire import Json, Payloads

_RESULT = ("epoch", "previous_epoch", "state", "assigned", "pending_revocation")


def play_reconciliation(step: Json, topics: Topics, config: CoordinatorConfig) -> None:
    """``CurrentAssignmentBuilder.build``; a member's other fields are not its business."""
    asked = step["request"]
    held = PartitionEpochs()
    for topic, epochs in asked["currentPartitionEpoch"].items():
        for number, epoch in epochs.items():
            if epoch != FREE:
                held.add(topics.positions({topic: [number]}), epoch)
    owned = asked["ownedTopicPartitions"]
    aim = Aim(
        topics.positions(asked["targetAssignment"]), asked["targetAssignmentEpoch"],
        None if owned is None else topics.positions(listed(owned)), _subscribed(asked, topics),
        asked["hasSubscriptionChanged"], held, Rules.of(config),
    )  # fmt: skip
    try:
        found = reconcile(current_assignment(asked["member"], topics), aim)
    except Refused as refused:
        expect("error", step.get("error", {}).get("name"), refused.error.value)
        return
    expect("response", {name: step.get("response", {}).get(name) for name in _RESULT}, {
        "epoch": found.member_epoch, "previous_epoch": found.previous_epoch, "state": found.state.value,
        "assigned": epochs_by_topic(found.assigned, found.assigned_epochs, topics),
        "pending_revocation": epochs_by_topic(found.pending, found.pending_epochs, topics),
    })  # fmt: skip


def _subscribed(asked: Json, topics: Topics) -> NDArray[np.bool_]:
    """Partitions of topics that exist, and that the member names or its resolved regular expression matches."""
    member, resolved = asked["member"], asked["resolvedRegularExpressions"]
    names = {*member["topics"], *resolved.get(member["regex"], {"topics": []})["topics"]}
    found = np.zeros(topics.n_partitions, np.bool_)
    for name in names:
        found[topics.of(name)] = True
    return found


def play_targets(step: Json, payloads: Payloads, config: CoordinatorConfig) -> None:
    """``TargetAssignmentBuilder.build``: which targets have changed, and when they were computed."""
    asked, topics = step["request"], payloads.topics
    core = GroupCore(asked["groupId"], config, GroupConfig(), count(1))
    members = {**asked["members"], **asked["updatedMembers"]}
    state = {
        "epoch": asked["groupEpoch"], "metadata_hash": 0, "assignment_epoch": 0, "assignment_timestamp": 0,
        "members": {member_id: one for member_id, one in members.items() if one is not None},
        "target": {member_id: one for member_id, one in asked["targetAssignment"].items() if members.get(member_id)},
        "regexes": asked["resolvedRegularExpressions"],
    }  # fmt: skip
    for record in records_of(state, payloads, {0: 0}):
        core.roster.apply(record)
    result = step["assignor_runs"][0]["result"]
    subscribed = SubscribedTopics(core.roster, topics)
    subscribed.on_metadata(0, topics.counts)
    assign = {
        config.consumer_assignors[0]: lambda group: Computed(
            [topics.positions(result.get(one, {})) for one in group.member_ids]
        )
    }
    Targets(core, subscribed, assign).compute(asked["time_ms"] * MS)
    batch = core.take().batch
    written = [] if batch is None else [machine_record(asked["groupId"], one, topics, {}) for one in batch.records]
    expect("records", in_runs([kafka_record(one) for one in step["records"]]), in_runs(written))
