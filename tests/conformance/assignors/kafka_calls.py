"""Recorded calls of Kafka's assignors as snapshots, and answers in the recording's form."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from groupsim.assignors import (
    NOTHING,
    Assignment,
    CooperativeStickyUserData,
    GroupSnapshot,
    MemberSubscription,
    Positions,
    StickyUserData,
    Topics,
    create,
    positions_of,
)

Runs = list[list[Any]]
RECORDINGS = Path(__file__).parents[2] / "golden" / "assignors"


@cache
def recorded(name: str) -> list[dict[str, Any]]:
    with gzip.open(RECORDINGS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def snapshot(call: dict[str, Any]) -> GroupSnapshot:
    topics = _topics(call["topics"])
    return GroupSnapshot(topics, tuple(_member(call["assignor"], member, topics) for member in call["members"]))


def _topics(described: list[dict[str, Any]]) -> Topics:
    plain = Topics.of({topic["name"]: topic["partitions"] for topic in described})
    if not any("racks" in topic for topic in described):
        return plain
    by_name = {topic["name"]: topic for topic in described}
    racks: list[tuple[str | None, ...]] = []
    for name, count in zip(plain.names, plain.counts, strict=True):
        racks += map(tuple, (by_name[name].get("racks") or [[]] * count)[:count])
    return Topics(plain.names, plain.counts, tuple(racks))


def _member(assignor: str, member: dict[str, Any], topics: Topics) -> MemberSubscription:
    layout, owned = counted(member["owned"], topics)
    return MemberSubscription(
        member_id=member["id"],
        topics=tuple(member["topics"]),
        owned=owned,
        generation=member["generation"],
        instance_id=member.get("instance"),
        rack=member.get("rack"),
        user_data=_user_data(assignor, member.get("user_data"), topics),
        layout=layout,
    )


def _user_data(assignor: str, data: dict[str, Any] | None, topics: Topics) -> object | None:
    if data is None or data.get("hex") == "":
        return None
    if "hex" in data:
        return bytes.fromhex(data["hex"])
    if assignor == "cooperative-sticky":
        return CooperativeStickyUserData(data["generation"])
    if "received" in data:
        return StickyUserData(*counted(data["received"], topics), data["generation"])
    return StickyUserData(*counted(data["owned"], topics), data.get("generation"), as_sent=True)


def counted(runs: Runs, topics: Topics) -> tuple[Topics, Positions]:
    """Positions of runs, counted by the topics of the day where they suffice, otherwise by a layout of their own."""
    needed: dict[str, int] = {}
    for topic, numbers in runs:
        needed[topic] = max([needed.get(topic, 0), *(number + 1 for number in numbers)])
    there = dict(zip(topics.names, topics.counts, strict=True))
    layout = topics if all(there.get(topic, 0) >= count for topic, count in needed.items()) else Topics.of(needed)
    return layout, positions_of(layout.position(topic, number) for topic, numbers in runs for number in numbers)


def answer(group: GroupSnapshot, assignment: Assignment) -> dict[str, Runs]:
    lists = zip(group.member_ids, assignment.lists(), strict=True)
    return {member: runs(assignment.topics, positions) for member, positions in lists}


def runs(topics: Topics, positions: Positions) -> Runs:
    listed: Runs = []
    for topic, number in zip(topics.topic_of[positions].tolist(), topics.number_of[positions].tolist(), strict=True):
        if listed and listed[-1][0] == topics.names[topic]:
            listed[-1][1].append(number)
        else:
            listed.append([topics.names[topic], [number]])
    return listed


class LargeChain:
    """Replays a chain of large steps, each on top of our own answer to the step before."""

    def __init__(self) -> None:
        self._had: dict[str, tuple[Topics, Positions, int]] = {}

    def snapshot(self, call: dict[str, Any]) -> GroupSnapshot:
        recipe = call["recipe"]
        names = tuple(f"topic-{number:04d}" for number in range(recipe["topics"]))
        topics = Topics(names, (recipe["partitions"],) * len(names))
        numbers = [k for start, end in recipe["members"] for k in range(start, end)]
        name = {"plain": "member-{:05d}".format, "real": _real_id}[recipe["member_ids"]]
        subscribed = {name(k): _subscription(recipe["subscriptions"], k, names) for k in numbers}
        return GroupSnapshot(topics, tuple(self._member(call["assignor"], *each) for each in subscribed.items()))

    def _member(self, assignor: str, member_id: str, topics: tuple[str, ...]) -> MemberSubscription:
        consumer = create(assignor)
        if member_id not in self._had:
            return MemberSubscription(member_id, topics, user_data=consumer.subscription_user_data())
        layout, positions, generation = self._had[member_id]
        consumer.on_assignment(layout, positions, generation)
        owned = np.sort(positions) if assignor == "cooperative-sticky" else NOTHING
        data = consumer.subscription_user_data()
        return MemberSubscription(member_id, topics, owned, generation, user_data=data, layout=layout)

    def remember(self, call: dict[str, Any], group: GroupSnapshot, assignment: Assignment) -> None:
        """Members hold their lists by topic, in the order of first appearance, as the wire has them."""
        topics, generation = assignment.topics, call["step"] + 1
        self._had = {}
        for member, positions in zip(group.member_ids, assignment.lists(), strict=True):
            topic_of = topics.topic_of[positions]
            _, first, inverse = np.unique(topic_of, return_index=True, return_inverse=True)
            held = positions[np.argsort(first[inverse], kind="stable")] if len(positions) else positions
            self._had[member] = (topics, held, generation)


def _real_id(k: int) -> str:
    digits = hashlib.sha256(f"large-{k}".encode()).hexdigest()
    cuts = zip((0, 8, 12, 16, 20), (8, 12, 16, 20, 32), strict=True)
    return "consumer-large-1-" + "-".join(digits[start:end] for start, end in cuts)


@cache
def _subscription(rule: str, k: int, names: tuple[str, ...]) -> tuple[str, ...]:
    if rule.startswith("mod:"):
        step = int(rule.removeprefix("mod:"))
        return names[k % step :: step]
    return {"all": names, "nested": names[: k % len(names) + 1], "one-odd": names if k else names[:1]}[rule]


def digest(group: GroupSnapshot, assignment: Assignment, *, ordered: bool) -> str:
    topics = assignment.topics
    labels = [topics.label(position) for position in range(topics.n_partitions)]
    return hashlib.sha256("".join(_lines(group, assignment, labels, ordered)).encode()).hexdigest()


def _lines(group: GroupSnapshot, assignment: Assignment, labels: list[str], ordered: bool) -> Iterator[str]:
    lists = zip(group.member_ids, assignment.lists(), strict=True)
    for member, positions in sorted(lists, key=lambda each: each[0].encode()):
        listed = positions if ordered else np.sort(positions)
        yield f"{member}\t{','.join(labels[position] for position in listed.tolist())}\n"
