"""Batches that take minutes: slow-batches.

Of two polls that find records waiting, the background thread of the consumer protocol hears of one
(``AsyncKafkaConsumer.checkInflightPoll``, Kafka 4.2 to 4.4; `sim.client.polling.poll_events`).
"""

from __future__ import annotations

from groupsim.sim import Result
from groupsim.sim.units import S
from tests.conformance.library.runs import runs, summaries

BATCH_S = 180.0
BEATS_S = 5.2
"""A member leaves with a heartbeat, and is taken back with its next poll()."""


def _results() -> list[Result]:
    return runs("slow-batches")


def _lives(result: Result, group: str) -> list[float]:
    """How long members have kept what they read, until they lost it, in seconds."""
    table = result.tables["ownership"]
    lost = table[(table["group"] == group) & (table["ended_by"] == "lost")]
    return ((lost["to_us"] - lost["from_us"]) / S).tolist()


def test_classic_members_stay() -> None:
    found = summaries(_results(), "classic")
    assert (found["leaves"] == 0).all()
    assert (found["evictions"] == 0).all()
    assert (found["duplicates"] == 0).all()


def test_members_of_the_consumer_protocol_leave_again_and_again_and_read_twice() -> None:
    found = summaries(_results(), "consumer")
    assert (found["leaves"] >= 12).all(), "three members, every third batch"
    assert (found["duplicates"] > 20_000).all()


def test_they_leave_when_five_minutes_have_passed_between_two_polls_that_are_heard() -> None:
    for result in _results():
        lives = _lives(result, "consumer")
        assert lives
        assert all(abs(life - 2 * BATCH_S) < 2 * BEATS_S for life in lives), "lost with the second poll"


def test_before_4_2_nobody_leaves_but_who_gives_something_up_is_too_slow() -> None:
    """A commit with one poll(), onPartitionsRevoked with the next, onPartitionsAssigned with the third."""
    found = summaries(_results(), "consumer-4.1")
    assert (found["leaves"] == 0).all()
    assert (found["evictions"] > 0).all()


def test_with_more_than_four_batches_of_time_everybody_stays() -> None:
    found = summaries(_results(), "cured")
    assert (found["leaves"] == 0).all()
    assert (found["evictions"] == 0).all()
    assert (found["duplicates"] == 0).all()
