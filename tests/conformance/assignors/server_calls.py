"""Recorded calls of the group coordinator's assignors as groups, and chains of them."""

from __future__ import annotations

from typing import Any

from groupsim.assignors import (
    Assignment,
    GroupSnapshot,
    GroupSpec,
    MemberNames,
    MemberSubscription,
    TopicIds,
    Topics,
    positions_of,
)
from tests.conformance.assignors.kafka_calls import LargeChain, Runs


def spec(call: dict[str, Any]) -> GroupSpec:
    """The group of a call; topics that are deleted are in the layout of the old targets only."""
    there = [topic for topic in call["topics"] if not topic.get("deleted")]
    topics = Topics.of({topic["name"]: topic["partitions"] for topic in there})
    ids = {topic["name"]: topic["id"] for topic in call["topics"]}
    members = tuple(MemberSubscription(member["id"], tuple(member["topics"])) for member in call["members"])
    targets = _targets(topics, [member.get("target") or [] for member in call["members"]])
    return GroupSpec(
        topics,
        TopicIds.of([ids[name] for name in topics.names]),
        MemberNames(tuple(each.member_id for each in members), tuple(m.get("instance") for m in call["members"])),
        GroupSnapshot(topics, members).subscriptions,
        targets,
        TopicIds.of([ids[name] for name in targets.topics.names]),
    )


def _targets(topics: Topics, records: list[Runs]) -> Assignment:
    counts = dict(zip(topics.names, topics.counts, strict=True))
    for topic, numbers in (run for record in records for run in record):
        counts[topic] = max([counts.get(topic, 0), *(number + 1 for number in numbers)])
    layout = topics if len(counts) == len(topics.names) else Topics.of(counts)
    lists = [positions_of(layout.position(topic, number) for topic, ns in each for number in ns) for each in records]
    return Assignment.of_lists(layout, lists)


class LargeTargets(LargeChain):
    """Replays a chain of large steps, each on top of our own targets of the step before."""

    def _member(self, assignor: str, member_id: str, topics: tuple[str, ...]) -> MemberSubscription:
        if member_id not in self._had:
            return MemberSubscription(member_id, topics)
        layout, positions, _ = self._had[member_id]
        return MemberSubscription(member_id, topics, owned=positions, layout=layout)

    def remember(self, call: dict[str, Any], group: GroupSnapshot, assignment: Assignment) -> None:
        """Members have these targets from now on."""
        lists = zip(group.member_ids, assignment.lists(), strict=True)
        self._had = {member: (assignment.topics, positions, call["step"]) for member, positions in lists}
