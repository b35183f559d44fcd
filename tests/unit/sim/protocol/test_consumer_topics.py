"""Topics of a consumer group: metadata that change, and regular expressions that the coordinator resolves."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.facts import MemberSeen
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import S
from tests.unit.sim.protocol.consumer_groups import Coordination


@pytest.mark.parametrize(
    ("image", "owned"), [({"t": 5}, [0, 1, 2, 3, 4]), ({"v": 2}, [0, 1, 2, 3]), ({"u": 1}, [0, 1, 2, 3, 100])]
)
def test_a_change_of_a_subscribed_topic_bumps_in_the_next_heartbeat(image: dict[str, int], owned: list[int]) -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a", topics=("t", "u"))
    run.see(**image)
    assert run.epochs == (2, 2)
    run.beat("a")
    assert run.owned("a") == owned
    assert run.epochs == ((2, 2) if "v" in image else (3, 3))


def test_a_deleted_topic_is_taken_away() -> None:
    run = Coordination(image={"t": 2, "u": 1}, consumer_assignment_interval_us=0)
    run.join("a", topics=("t", "u"))
    run.see(u=0)
    assert run.beat("a").assignment.tolist() == [0, 1]
    assert run.current("a").pending.tolist() == [100]
    run.ack("a")
    assert run.group.is_stable


def test_replicas_on_other_racks_bump_too() -> None:
    run = Coordination()
    run.join("a")
    run.see(t=4)
    run.beat("a")
    assert run.epochs[0] == 2, "nothing is another one"
    run.topics.racks["t"] = [("r", "s", None)] * 4
    run.see(t=4)
    run.beat("a")
    assert run.epochs[0] == 3
    run.topics.racks["t"] = [("s", None, "r")] * 4
    run.see(t=4)
    run.beat("a")
    assert run.epochs[0] == 3, "racks are hashed in order (Utils.computeTopicHash): another leader changes nothing"


# --- regular expressions ----------------------------------------------------------------------------------------------


def test_a_new_pattern_matches_nothing_until_its_task_is_done() -> None:
    run = Coordination(image={"t": 2, "tt": 1, "u": 1})
    assert run.join("a", topics=None, pattern="t+").assignment.tolist() == []
    assert [task.key for task in run.tasks] == ["g-regex"]
    run.beat("a")
    assert len(run.tasks) == 1, "one at a time"
    outcome = run.run_task()
    assert run.written() == ["RegularExpression", "Metadata"]
    assert [fact.topics for fact in outcome.facts if isinstance(fact, MemberSeen)] == [("t", "tt")]
    assert run.beat("a").assignment.tolist() == [0, 1, 300]


def test_who_changes_a_pattern_that_matches_nothing_yet_gives_up_nothing_and_its_former_epoch() -> None:
    """CurrentAssignmentBuilder.updateCurrentAssignment (4.3.1): no topic is subscribed to, so a record is written."""
    run = Coordination()
    run.join("a", topics=None, pattern="t")
    assert (run.current("a").member_epoch, run.current("a").previous_epoch) == (1, 0)
    run.beat("a", pattern="t|u")
    assert run.written() == ["MemberMetadata", "RegularExpression", "CurrentMemberAssignment"]
    current = run.current("a")
    assert (current.member_epoch, current.previous_epoch, current.state) == (1, 1, MemberState.STABLE)
    run.beat("a", pattern="t|u")
    assert run.written() == []


def test_a_pattern_that_is_resolved_already_bumps_at_once() -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a", topics=None, pattern="t")
    run.run_task()
    run.beat("a")
    run.join("b", topics=None, pattern="t")
    assert run.tasks == []
    assert len(run.target("b")) == 2


@pytest.mark.parametrize(
    ("others", "mixes"),
    [
        ({"topics": None, "pattern": "t+"}, False),
        ({"topics": None, "pattern": "t|tt"}, True),
        ({"topics": ("t",)}, True),
        ({"topics": ("t",), "pattern": "t+"}, True),
    ],
)
def test_patterns_are_other_ones_even_if_they_match_the_same(others: dict[str, Any], mixes: bool) -> None:
    """``ConsumerGroup.subscriptionType``: with regular expressions, equal is only the same one alone for everybody."""
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a", topics=None, pattern="t+")
    run.run_task()
    run.now += 11 * S
    run.join("b", **others)
    for _ in tuple(run.tasks):
        run.run_task()
    run.beat("b")
    assert run.balancing.runs[-1].mixes_patterns is mixes
    run.beat("a", **{"pattern": "", **others})
    assert run.group.roster.mixes_patterns is (len(others["topics"] or ()) > 0 and "pattern" in others)


def test_a_pattern_that_is_dropped_bumps_and_is_forgotten() -> None:
    run = Coordination(consumer_assignment_interval_us=0)
    run.join("a", topics=None, pattern="t")
    run.run_task()
    run.beat("a")
    run.ack("a")
    epoch = run.epochs[0]
    run.beat("a", pattern="")
    assert "RegularExpression" in run.written()
    assert (run.epochs[0], dict(run.group.roster.patterns)) == (epoch + 1, {})
    assert run.current("a").pending.tolist() == [0, 1, 2, 3]


def test_the_last_subscriber_takes_its_pattern_along() -> None:
    run = Coordination()
    run.join("a", topics=None, pattern="t")
    run.run_task()
    run.sleep(45 * S)
    assert dict(run.group.roster.patterns) == {}


def test_patterns_are_looked_at_again_after_new_topics_at_most_every_ten_seconds() -> None:
    run = Coordination()
    run.join("a", topics=None, pattern=".*")
    begun = run.now
    run.now += S
    run.run_task()
    run.see(u=1)
    run.now = begun + 10 * S
    run.beat("a")
    assert run.tasks == []
    run.now += 1
    run.beat("a")
    assert len(run.tasks) == 1
    run.run_task()
    assert run.group.roster.patterns[".*"].topics == ("t", "u")


def test_a_new_coordinator_looks_at_patterns_again_and_so_it_does_after_new_topics() -> None:
    """Versions of metadata images go on from one coordinator to the next (``GMM.onMetadataUpdate``)."""
    run = Coordination()
    for topic in ("u", "v"):
        run.see(**{topic: 1})
    run.join("a", topics=None, pattern=".*")
    run.run_task()
    for image in ({}, {"w": 1}):
        run.now += 11 * S
        if image:
            run.see(**image)
        else:
            run.move()
        run.beat("a")
        assert len(run.tasks) == 1
        run.run_task()
    assert run.group.roster.patterns[".*"].topics == ("t", "u", "v", "w")


def test_growing_topics_are_no_new_ones() -> None:
    run = Coordination()
    run.join("a", topics=None, pattern=".*")
    run.run_task()
    run.now += 11 * S
    run.see(t=9)
    run.beat("a")
    assert run.tasks == []


@pytest.mark.parametrize(("version", "tasks"), [("4.0", 0), ("4.1", 1)])
def test_patterns_are_looked_at_again_every_ten_minutes(version: str, tasks: int) -> None:
    run = Coordination(version, consumer_regex_refresh_interval_us=20 * S)
    run.join("a", topics=None, pattern=".*")
    run.run_task()
    run.now += 20 * S
    run.beat("a")
    assert run.tasks == []
    run.now += 1
    run.beat("a")
    assert len(run.tasks) == tasks


def test_a_result_that_changes_nothing_bumps_nothing() -> None:
    run = Coordination()
    run.join("a", topics=None, pattern="nothing")
    run.run_task()
    assert (run.written(), run.epochs[0]) == (["RegularExpression"], 1)


def test_a_result_bumps_if_a_topic_is_another_one_though_names_are_the_same() -> None:
    """``GMM.handleRegularExpressionsResult`` compares the hash of metadata too."""
    run = Coordination(consumer_regex_refresh_interval_us=20 * S)
    run.join("a", topics=None, pattern="t")
    run.run_task()
    run.beat("a")
    run.now += 21 * S
    run.beat("a")
    run.see(t=5)
    run.run_task()
    assert (run.written(), run.epochs[0]) == (["RegularExpression", "Metadata"], 3)
    run.beat("a")
    assert run.epochs[0] == 3


def test_what_nobody_subscribes_to_any_more_is_not_written() -> None:
    run = Coordination()
    run.join("a", topics=None, pattern="t")
    run.beat("a", pattern="u")
    run.run_task()
    assert run.written() == []
    run.beat("a")
    run.run_task()
    assert list(run.group.roster.patterns) == ["u"]


def test_a_task_of_a_coordinator_that_is_gone_comes_to_nothing() -> None:
    run = Coordination()
    run.join("a", topics=None, pattern="t")
    task = run.tasks[0]
    run.move()
    assert run.group.on_task_done(run.now, task.key, task.run()).batch is None
    run.beat("a")
    assert len(run.tasks) == 2


@pytest.mark.parametrize("text", ["(", "a(?=b)", "a(?!b)", "(a)\\1", "a++", "(?>a)", "(?<=a)b"])
def test_what_re2_refuses(text: str) -> None:
    assert Coordination().join("a", topics=None, pattern=text).error is Error.INVALID_REGULAR_EXPRESSION


# --- subscriptions that shrink ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "pending"), [("4.1", []), ("4.2", [0, 1, 2, 3])])
def test_what_is_no_longer_subscribed_to_is_taken_away_though_the_target_is_old(
    version: str, pending: list[int]
) -> None:
    run = Coordination(version)
    run.join("a", topics=None, pattern="t")
    run.run_task()
    run.beat("a")
    run.ack("a")
    epochs = run.epochs
    run.beat("a", pattern="u+")
    assert run.epochs == epochs, "the new pattern is not resolved yet"
    assert run.current("a").pending.tolist() == pending
    assert run.current("a").member_epoch == epochs[1]
    if pending:
        assert run.current("a").state is MemberState.UNREVOKED_PARTITIONS


def test_what_was_given_up_already_is_just_taken_away() -> None:
    run = Coordination()
    run.join("a", topics=None, pattern="t")
    run.run_task()
    run.beat("a")
    run.ack("a")
    run.beat("a", pattern="u+", owned=())
    assert (run.owned("a"), run.current("a").state) == ([], MemberState.STABLE)


def test_topics_that_are_no_longer_subscribed_to_are_not_given_by_an_old_target() -> None:
    run = Coordination(image={"t": 2, "u": 2})
    run.join("a", topics=("t", "u"))
    run.beat("a", topics=("t",))
    assert run.epochs == (3, 2), "within the interval"
    run.ack("a")
    assert (run.target("a"), run.owned("a")) == ([0, 1, 100, 101], [0, 1])
