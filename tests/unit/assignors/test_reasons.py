"""Reasons: the rules told of a partition lead where the assignor put it, for every partition of many groups."""

from __future__ import annotations

from functools import partial

import pytest

from groupsim.assignors import GroupSnapshot, MemberSubscription, Topics, create, create_server
from groupsim.assignors.evaluation.change import Change
from groupsim.assignors.evaluation.events import Event, group_of, grown, leavers, newcomers, usual_events
from groupsim.assignors.evaluation.explain import EXPLAINED, decided_by_racks
from groupsim.assignors.evaluation.group_history import Make
from groupsim.assignors.evaluation.own_reasons import EVERYBODY
from groupsim.assignors.evaluation.trials import carry_out, settle

RESULTS = ("server:uniform", "leader-rack", "broadcast")
"""Their reasons lean on the result."""
NAMES = ("pod-7f", "a", "consumer-42-9", "Zz", "kafka.client", "b0", "b00", "x-1")


def maker(label: str) -> Make:
    server = label.startswith("server:")
    return partial(create_server, label.removeprefix("server:")) if server else partial(create, label)


def groups() -> list[GroupSnapshot]:
    odd = Topics.of({"t": 7, "b": 4, "longer-name": 11})
    shapes = [(1, 1, 1), (2, 1, 5), (3, 2, 7), (3, 3, 24), (5, 3, 17), (15, 1, 60), (7, 4, 3)]
    named = GroupSnapshot(odd, tuple(MemberSubscription(name, odd.names) for name in NAMES))
    return [*(group_of(*shape) for shape in shapes), named]


def loaded_groups() -> list[GroupSnapshot]:
    """With leaders in racks, rates that differ, and capacities."""
    found = []
    for n_members, partitions, rack_of in ((3, 9, "abc"), (4, 10, "aab"), (5, 17, "abz"), (6, 20, "zzz")):
        racks = tuple((rack_of[at % 3], "c") for at in range(partitions))
        rates = tuple(3 + at * at % 17 for at in range(partitions))
        topics = Topics(("t",), (partitions,), racks, rates)
        members = [
            MemberSubscription(f"m{at}", ("t",), rack="abc"[at % 3], capacity=1 + at % 2) for at in range(n_members)
        ]
        found.append(GroupSnapshot(topics, tuple(members)))
    return found


def changes(make: Make, group: GroupSnapshot) -> list[Change]:
    settled = settle(make, group)
    found = [Change(None, None, group, settled.assignment)]
    much = Event("much at once", frozenset(group.member_ids[:1]), newcomers(group, 3), grown(group.topics))
    for event in (*usual_events(group, 3), *leavers(group), much):
        outcome, _, assignment = carry_out(settled, event)
        assert outcome.asked is not None
        found.append(Change(settled.group, settled.assignment, outcome.asked, assignment))
    return found


@pytest.mark.parametrize("label", [label for label in EXPLAINED if label not in RESULTS])
def test_the_rules_lead_to_the_owner(label: str) -> None:
    for group in [*groups(), *(each for each in loaded_groups() if not decided_by_racks(label, each))]:
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


def test_what_leader_rack_says_of_racks_and_the_past_is_so() -> None:
    for group in [*groups(), *loaded_groups()]:
        for change in changes(maker("leader-rack"), group):
            owner, held = change.settled.owner, change.held()
            assert owner is not None
            stay = int(((held >= 0) & (owner == held)).sum())
            for position in range(change.after.topics.n_partitions):
                taker, rules = EXPLAINED["leader-rack"](change, position)
                assert taker == change.after.member_ids[owner[position]]
                told, had = " ".join(rules), change.owner_before(position)
                assert ("has left" in told) == (held[position] < 0 and had is not None)
                assert (" is among them" in told) == (held[position] == owner[position])
                assert (" is not among them" in told) == (held[position] >= 0 and held[position] != owner[position])
                if (held >= 0).any():
                    assert f"all {stay} partitions" in told or f"{stay} of {(held >= 0).sum()} partitions" in told
                if change.after.topics.racks is not None and "decide nothing" not in told:
                    leader, mine = change.after.topics.racks[position][0], change.after.members[owner[position]].rack
                    assert (f"is in rack {leader}, and so is {taker}" in told) == (leader == mine)


def test_broadcast_names_who_came_and_who_went() -> None:
    _, taker, rules = told("broadcast", group_of(3, 1, 6), "join one", "topic-1-0")
    assert taker == EVERYBODY
    assert rules == [
        "Every member gets all partitions of its topics: all 4 members read topic-1-0.",
        "consumer-3-new-1 has joined and reads it too: nobody loses it.",
    ]
    _, _, rules = told("broadcast", group_of(2, 1, 6), "leave one, first", "topic-1-0")
    assert rules == [
        "Every member gets all partitions of its topics: the only member reads topic-1-0.",
        "consumer-1 has left: nobody takes its place.",
    ]


def test_random_names_the_lot() -> None:
    before, after, rules = told("random", group_of(3, 1, 6), "stable", "topic-1-2")
    assert (before, after) == ("consumer-3", "consumer-3")
    assert rules[1].endswith("generation 1) fell on number 3 of 3 members in the order of their ids: consumer-3.")
    assert rules[2] == "Before, another generation's lot fell on consumer-3."


def test_weighted_tells_of_turns_relief_and_exchange() -> None:
    topics = Topics(("t",), (6,), rates=(7, 3, 7, 4, 5, 9))
    member = MemberSubscription("m1", ("t",))
    alone = GroupSnapshot(topics, (member,))
    outcome, _, assignment = carry_out(
        settled := settle(maker("weighted"), alone), Event("", join=(MemberSubscription("m2", ("t",)),))
    )
    assert outcome.asked is not None
    change = Change(settled.group, settled.assignment, outcome.asked, assignment)
    all_rules = {rule for position in range(6) for rule in EXPLAINED["weighted"](change, position)[1]}
    assert "m1 had it." in all_rules
    assert any("m1 came to have most, m2 has less than that with it" in rule for rule in all_rules)
    assert any("There it stays: m1 has" in rule for rule in all_rules)
    assert "number 2 of 6 and weighs 7. m1 has least with it: 16." in first_turn(alone)


def first_turn(alone: GroupSnapshot) -> str:
    first = Change(None, None, alone, settle(maker("weighted"), alone).assignment)
    return EXPLAINED["weighted"](first, 0)[1][1]


def told(label: str, group: GroupSnapshot, event: str, partition: str) -> tuple[str | None, str, list[str]]:
    settled = settle(maker(label), group)
    happening = next(one for one in usual_events(group, 2) if one.name == event)
    outcome, _, assignment = carry_out(settled, happening)
    assert outcome.asked is not None
    change = Change(settled.group, settled.assignment, outcome.asked, assignment)
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
