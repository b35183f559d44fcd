"""Requests of quiet members: which is the how-manieth."""

from __future__ import annotations

from groupsim.sim.fastpath.quiet.trains import RecentTrain


def test_the_number_of_a_request_is_that_with_which_it_was_or_will_be_sent() -> None:
    train = RecentTrain(10, 5, 5, 10, (0, 100))
    train.add(10, 10, 3)
    assert train.sent_within(0, 100) == [(10, 5), (20, 6), (30, 7)]
    assert [train.number_of(sent) for sent in (30, 40, 60)] == [7, 8, 10]
