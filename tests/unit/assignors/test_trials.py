"""Trials of assignors: what counts as an event, and that what moves is what moves with Kafka's own classes."""

from __future__ import annotations

from functools import partial

import pytest

from groupsim.assignors import BroadcastAssignor, GroupSnapshot, MemberSubscription, Topics, create, create_server
from groupsim.assignors.evaluation.events import Event, group_of, grown, leavers, newcomers, usual_events
from groupsim.assignors.evaluation.group_history import Make
from groupsim.assignors.evaluation.trials import Outcome, attempt, mean_of, settle


def outcome(make: Make, group: GroupSnapshot, event: str, many: int = 2) -> Outcome:
    return next(attempt(settle(make, group), one) for one in usual_events(group, many) if one.name == event)


@pytest.mark.parametrize(
    ("assignor", "shape", "first", "middle", "last", "least"),
    [
        ("range", (100, 1, 1000), 55, 455, 945, 10),
        ("range", (40, 1, 200), 15, 90, 185, 5),
        ("range", (12, 3, 36), 3, 18, 33, 3),
        ("roundrobin", (100, 1, 1000), 1000, 950, 901, 10),
        ("sticky", (100, 10, 1000), 10, 10, 10, 10),
        ("cooperative-sticky", (100, 1, 1000), 10, 10, 10, 10),
    ],
)
def test_who_leaves_decides_how_much_moves(
    assignor: str, shape: tuple[int, int, int], first: int, middle: int, last: int, least: int
) -> None:
    """Measured on Kafka's own classes: the first, the middle and the last member in the order of ids leaves."""
    settled = settle(partial(create, assignor), group_of(*shape))
    events = {one.name: one for one in usual_events(group_of(*shape), 2)}
    found = [attempt(settled, events[f"leave one, {which}"]) for which in ("first", "middle", "last")]
    assert [one.moved for one in found] == [first, middle, last]
    assert {one.least for one in found} == {least}


def test_from_15_to_20_members_over_60_partitions() -> None:
    moved = {
        name: outcome(partial(create, name), group_of(15, 1, 60), "join many", many=5) for name in ("range", "sticky")
    }
    assert (moved["sticky"].moved, moved["sticky"].least, moved["sticky"].members) == (15, 15, 20)
    assert (moved["range"].moved, moved["range"].least) == (54, 15)


def test_rounds_are_counted() -> None:
    group = group_of(5, 1, 20)
    assert outcome(partial(create, "cooperative-sticky"), group, "join one").rounds == 2
    assert outcome(partial(create, "cooperative-sticky"), group, "leave one, first").rounds == 1
    assert outcome(partial(create, "sticky"), group, "join one").rounds == 1
    assert outcome(partial(create_server, "uniform"), group, "join one").rounds == 1


def test_a_first_assignment_moves_nothing_and_broadcast_has_no_moves() -> None:
    assert (settle(partial(create, "range"), group_of(3, 1, 7)).first.moved) == 0
    assert settle(BroadcastAssignor, group_of(3, 1, 7)).first.moved is None
    assert outcome(BroadcastAssignor, group_of(3, 1, 7), "join one").moved is None


def test_rates_and_racks_are_measured_where_they_are_known() -> None:
    topics = Topics(("t",), (4,), (("a",), ("b",), ("a",), ("b",)), (5, 1, 5, 1))
    group = GroupSnapshot(
        topics, (MemberSubscription("x", ("t",), rack="b"), MemberSubscription("y", ("t",), rack="a"))
    )
    first = settle(partial(create, "roundrobin"), group).first
    assert (first.imbalance_partitions, first.imbalance_rate, first.cross_rack_share) == (0, 8.0, 1.0)
    blind = settle(partial(create, "roundrobin"), group_of(2, 1, 4)).first
    assert (blind.imbalance_rate, blind.cross_rack_share) == (None, None)


def test_the_least_that_must_move_is_exact_where_subscriptions_differ() -> None:
    """x has t, y has u, z has v. Without x, t must go to y, and u then to z: by numbers alone one move would do."""
    reads = {"x": ("t", "v"), "y": ("t", "u"), "z": ("u", "v")}
    group = GroupSnapshot(Topics.of(dict.fromkeys("tuv", 1)), tuple(MemberSubscription(*one) for one in reads.items()))
    one = outcome(partial(create, "roundrobin"), group, "leave one, first")
    assert (one.moved, one.least) == (2, 2)


def test_means_are_over_all_leavers_and_null_where_one_is() -> None:
    group = group_of(3, 1, 4)
    settled = settle(partial(create, "range"), group)
    alone = [attempt(settled, event) for event in leavers(group)]
    mean = mean_of("mean", alone)
    assert mean.moved == sum(one.moved or 0 for one in alone) / 3
    assert (mean.event, mean.members, mean.imbalance_rate) == ("mean", 2, None)


class TestEvents:
    def test_numbers_in_names_sort_as_numbers(self) -> None:
        group = group_of(12, 2, 5)
        assert group.member_ids[:2] == ("consumer-01", "consumer-02")
        assert (group.topics.names, group.topics.counts) == (("topic-1", "topic-2"), (3, 2))

    def test_newcomers_come_last_and_are_like_the_first(self) -> None:
        topics = Topics.of({"t": 2, "u": 2})
        members = (MemberSubscription("b", ("t",), rack="r", capacity=7), MemberSubscription("a", ("u",)))
        new = newcomers(GroupSnapshot(topics, members), 3)
        assert [(one.member_id, one.topics, one.rack, one.capacity) for one in new] == [
            ("b-new-1", ("t",), "r", 7), ("b-new-2", ("u",), None, None), ("b-new-3", ("t",), "r", 7)
        ]  # fmt: skip

    def test_many_that_leave_come_from_everywhere_and_somebody_stays(self) -> None:
        events = {one.name: one for one in usual_events(group_of(8, 1, 8), 4)}
        assert sorted(events["leave many"].leave) == ["consumer-1", "consumer-3", "consumer-5", "consumer-7"]
        events = {one.name: one for one in usual_events(group_of(2, 1, 8), 4)}
        assert len(events["leave many"].leave) == 1

    def test_a_single_member_does_not_leave(self) -> None:
        alone = group_of(1, 1, 3)
        assert not any(one.leave for one in usual_events(alone, 2))
        assert leavers(alone) == []

    def test_of_a_thousand_members_a_hundred_leave_in_turn(self) -> None:
        assert len({*(one.leave for one in leavers(group_of(1000, 1, 1000)))}) == 100

    def test_new_partitions_go_on_with_the_racks_and_rates_of_the_first(self) -> None:
        topics = Topics(("t", "u"), (2, 8), (("a",), ("b",), *[("c",)] * 8), (1, 2, *range(10, 18)))
        more = grown(topics)
        assert more.counts == (3, 10)
        assert more.rates == (1, 2, 1, *range(10, 18), 10, 11)
        assert more.racks is not None
        assert more.racks[:4] == (("a",), ("b",), ("a",), ("c",))

    def test_an_event_without_anything_changes_nothing(self) -> None:
        one = attempt(settle(partial(create, "random"), group_of(4, 1, 40)), Event("again"))
        assert one.moved, "lots are drawn anew"
        assert outcome(partial(create, "sticky"), group_of(4, 1, 40), "stable").moved == 0
