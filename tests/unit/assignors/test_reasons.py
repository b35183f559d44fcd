"""Reasons: the rules told of a partition lead where the assignor put it, for every partition of many groups."""

from __future__ import annotations

from functools import partial

import pytest

from assignors import GroupSnapshot, MemberSubscription, Topics, create, create_server
from assignors.events import Event, group_of, grown, leavers, newcomers, usual_events
from assignors.living_group import Make
from assignors.reasons import EXPLAINED, Change
from assignors.trials import carry_out, settle

NAMES = ("pod-7f", "a", "consumer-42-9", "Zz", "kafka.client", "b0", "b00", "x-1")


def maker(label: str) -> Make:
    server = label.startswith("server:")
    return partial(create_server, label.removeprefix("server:")) if server else partial(create, label)


def groups() -> list[GroupSnapshot]:
    odd = Topics.of({"t": 7, "b": 4, "longer-name": 11})
    shapes = [(1, 1, 1), (2, 1, 5), (3, 2, 7), (3, 3, 24), (5, 3, 17), (15, 1, 60), (7, 4, 3)]
    named = GroupSnapshot(odd, tuple(MemberSubscription(name, odd.names) for name in NAMES))
    return [*(group_of(*shape) for shape in shapes), named]


def changes(make: Make, group: GroupSnapshot) -> list[Change]:
    settled = settle(make, group)
    found = [Change(None, None, group, settled.assignment)]
    much = Event("much at once", frozenset(group.member_ids[:1]), newcomers(group, 3), grown(group.topics))
    for event in (*usual_events(group, 3), *leavers(group), much):
        _, living, assignment = carry_out(settled, event)
        found.append(Change(settled.group, settled.assignment, living.snapshot, assignment))
    return found


@pytest.mark.parametrize("label", [label for label in EXPLAINED if label != "server:uniform"])
def test_the_rules_lead_to_the_owner(label: str) -> None:
    for group in groups():
        for change in changes(maker(label), group):
            owner = change.settled.owner
            assert owner is not None
            for position in range(change.after.topics.n_partitions):
                told, rules = EXPLAINED[label](change, position)
                assert told == change.after.member_ids[owner[position]], rules


def test_what_uniform_says_of_shares_is_so() -> None:
    """Its rules lean on the result; what they say of it must be so."""
    for group in groups():
        for change in changes(maker("server:uniform"), group):
            owner, held = change.settled.owner, change.held()
            assert owner is not None
            for position in range(change.after.topics.n_partitions):
                rules = " ".join(EXPLAINED["server:uniform"](change, position)[1])
                had, has = held[position], owner[position]
                assert ("has left" in rules) == (had < 0 and change.owner_before(position) is not None)
                assert ("What is free" in rules) == (had != has)
                if had >= 0 and had != has:
                    assert int((held == had).sum()) > int((owner == had).sum())
                    assert " is among them" in rules
                assert had == has or int((held == has).sum()) < int((owner == has).sum())


def told(label: str, group: GroupSnapshot, event: str, partition: str) -> tuple[str | None, str, list[str]]:
    settled = settle(maker(label), group)
    happening = next(one for one in usual_events(group, 2) if one.name == event)
    _, living, assignment = carry_out(settled, happening)
    change = Change(settled.group, settled.assignment, living.snapshot, assignment)
    topic, _, number = partition.rpartition("-")
    position = change.after.topics.position(topic, int(number))
    return change.owner_before(position), *EXPLAINED[label](change, position)


def test_range_tells_both_divisions() -> None:
    assert told("range", group_of(3, 1, 7), "join one", "topic-1-3") == (
        "consumer-2",
        "consumer-2",
        [
            "Every topic is divided by itself, in the order of the members' ids.",
            "topic-1 has 7 partitions for 4 members, 1 each and one more for the first 3; consumer-2 is number 2 and"
            " gets 2 to 3.",
            "Before: topic-1 has 7 partitions for 3 members, 2 each and one more for the first; consumer-2 is number 2"
            " and gets 3 to 4.",
        ],
    )


def test_sticky_tells_what_is_kept_and_who_takes_turns() -> None:
    before, after, rules = told("sticky", group_of(2, 1, 6), "join one", "topic-1-5")
    assert (before, after) == ("consumer-2", "consumer-2-new-1")
    assert rules == [
        "6 partitions over 3 members are 2 each.",
        "consumer-2 has 3 and may keep 2. It keeps the lowest partition numbers: topic-1-5 is number 3 of 3, and is"
        " given up.",
        "2 partitions are to be handed out; by topic and number topic-1-5 is number 2.",
        "Members with less than 2 take turns in the order of their ids: consumer-2-new-1 takes it.",
    ]


def test_cooperative_tells_of_the_round_in_between() -> None:
    before, after, rules = told("cooperative-sticky", group_of(2, 1, 6), "join one", "topic-1-5")
    assert (before, after) == ("consumer-2", "consumer-2-new-1")
    assert "nobody gets it in this round" in rules[4]
    assert rules[5] == "Second round: consumer-2 has given it up."
    assert len(rules) == 8


def test_who_has_left_is_named() -> None:
    before, after, rules = told("sticky", group_of(3, 1, 6), "leave one, first", "topic-1-0")
    assert before == "consumer-1"
    assert rules[1] == "consumer-1 has left: what it had is free."
    assert after in {"consumer-2", "consumer-3"}
