"""Why a partition moved or stayed, rule by rule, where all members read the same topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from groupsim.assignors.client.range_racks import racks_matter
from groupsim.assignors.core.member_order import member_info_order
from groupsim.assignors.core.racks import rack_map
from groupsim.assignors.core.snapshot import GroupSnapshot, Positions
from groupsim.assignors.evaluation.change import NO_OWNER, Change
from groupsim.assignors.evaluation.load_reasons import weighed_out
from groupsim.assignors.evaluation.own_reasons import drawn, nearby, shared
from groupsim.assignors.evaluation.sticky_reasons import Round, rules

Reason: TypeAlias = Callable[[Change, int], tuple[str, list[str]]]


def _ranges(change: Change, position: int) -> tuple[str, list[str]]:
    topic = change.after.topics.names[change.after.topics.topic_of[position]]
    number = int(change.after.topics.number_of[position])
    taker, told = _range(change.after, topic, number)
    sentences = ["Every topic is divided by itself, in the order of the members' ids.", f"{told}."]
    at = None if change.before is None else change.before.topics.index(topic)
    if change.before is not None and at is not None and number < change.before.topics.counts[at]:
        sentences.append(f"Before: {_range(change.before, topic, number)[1]}.")
    else:
        sentences.append(NO_OWNER)
    return taker, sentences


def _range(group: GroupSnapshot, topic: str, number: int) -> tuple[str, str]:
    """Who gets a partition of a topic, and why."""
    order, at = member_info_order(group).tolist(), group.topics.index(topic)
    assert at is not None, "the topic is one of the group's"
    count = group.topics.counts[at]
    quota, extra = divmod(count, len(order))
    place = number // (quota + 1) if number < extra * (quota + 1) else extra + (number - extra * (quota + 1)) // quota
    first = place * quota + min(place, extra)
    name = group.member_ids[order[place]]
    more = f" and one more for the first{f' {extra}' if extra > 1 else ''}" if extra else ""
    span = f"{first} to {first + quota - (place >= extra)}" if quota + (place < extra) > 1 else f"{first}"
    text = f"{topic} has {count} partitions for {len(order)} members, {quota} each{more}; {name} is number {place + 1}"
    return name, f"{text} and gets {span}"


def _dealt(change: Change, position: int) -> tuple[str, list[str]]:
    taker, told = _deal(change.after, position)
    sentences = ["All partitions, by topic and number, are dealt to the members in the order of their ids.", f"{told}."]
    if change.before is None:
        return taker, [*sentences, NO_OWNER]
    label = change.after.topics.translation_from(change.before.topics)
    former = np.flatnonzero(label == position)
    sentences.append(f"Before: {_deal(change.before, int(former[0]))[1]}." if len(former) else NO_OWNER)
    return taker, sentences


def _deal(group: GroupSnapshot, position: int) -> tuple[str, str]:
    order = member_info_order(group).tolist()
    place = position % len(order)
    name, label = group.member_ids[order[place]], group.topics.label(position)
    rounds = f"after {position // len(order)} full rounds of {len(order)} members"
    return name, f"{label} is number {position + 1}, {rounds} the turn of number {place + 1}: {name}"


def _sticky(change: Change, position: int) -> tuple[str, list[str]]:
    taker, told = rules(Round(change.after, change.held()), position, change.missing(position))
    return change.after.member_ids[taker], told


def _cooperative(change: Change, position: int) -> tuple[str, list[str]]:
    first = Round(change.after, change.held())
    taker, told = rules(first, position, change.missing(position))
    owner, planned = first.held, first.owner_after()
    if owner[position] in (-1, taker):
        return change.after.member_ids[taker], told
    name = change.after.member_ids[owner[position]]
    told.append(f"But {name} still reads it: nobody gets it in this round, {name} gives it up and joins again.")
    second = Round(change.after, np.where((owner >= 0) & (owner != planned), -1, planned).astype(np.int32))
    taker, more = rules(second, position, f"{name} has given it up.")
    return change.after.member_ids[taker], [*told, *(f"Second round: {sentence}" for sentence in more[1:])]


def _uniform(change: Change, position: int) -> tuple[str, list[str]]:
    group, held, owner = change.after, change.held(), change.settled.owner
    assert owner is not None, "explained assignors give a partition to one member"
    quota, extra = divmod(group.topics.n_partitions, group.n_members)
    more = f", {extra} one more: first who has more already, then who comes last in the hash table" if extra else ""
    told = [f"{group.topics.n_partitions} partitions over {group.n_members} members are {quota} each{more}."]
    had, taker = int(held[position]), int(owner[position])
    told.append(change.missing(position) if had < 0 else _share_kept(group, held, owner, position))
    if had != taker:
        size, share = int((held == taker).sum()), int((owner == taker).sum())
        told.append("What is free fills up those with less than their share, one after the other in that order.")
        told.append(f"{group.member_ids[taker]} has {size} and a share of {share}: it takes part.")
    return group.member_ids[taker], told


def _share_kept(group: GroupSnapshot, held: Positions, owner: Positions, position: int) -> str:
    had, taker = int(held[position]), int(owner[position])
    size, share = int((held == had).sum()), int((owner == had).sum())
    begin = f"{group.member_ids[had]} has {size} and a share of {share}"
    if size <= share:
        return f"{begin}: it keeps them all."
    among = f"{group.topics.label(position)} is {'not ' * (had == taker)}among them"
    return f"{begin}: it gives up the {size - share} that its hash table yields last, and {among}."


EXPLAINED: Final[Mapping[str, Reason]] = MappingProxyType(
    {"range": _ranges, "roundrobin": _dealt, "sticky": _sticky, "cooperative-sticky": _cooperative, "random": drawn,
     "broadcast": shared, "leader-rack": nearby, "weighted": weighed_out, "server:uniform": _uniform,
     "server:range": _ranges}
)  # fmt: skip
"""Reasons by assignor, those of the coordinator with server: before their names. Each tells who gets a partition."""


def decided_by_racks(label: str, group: GroupSnapshot) -> bool:
    """Whether racks of replicas lead Kafka's assignor another way than its rules that are told here."""
    if label == "range":
        return racks_matter(group)
    return label in ("sticky", "cooperative-sticky") and rack_map(group, group.topics) is not None
