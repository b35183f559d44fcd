"""When a member of the consumer protocol beats, and what it says (AbstractHeartbeatRequestManager, Kafka 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.config import ClientBehaviour
from groupsim.sim.protocol.consumer.member.states import MemberState
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import FOREVER, MS
from tests.unit.sim.protocol.consumer_members import ConsumerHarness


def test_the_first_interval_runs_from_the_answer_that_names_it() -> None:
    """HeartbeatRequestState.updateHeartbeatIntervalMs; the later ones run from each heartbeat sent (resetTimer)."""
    h = ConsumerHarness(commits="none").joining().sleep(300).beaten(1)
    assert h.member.state is MemberState.JOINING
    h = ConsumerHarness(commits="none").joining().sleep(300).beaten(1, 0).sleep(4_999)
    assert h.beats == []
    assert len(h.sleep(1).beats) == 1
    h.sleep(700).beaten(1).sleep(4_299)
    assert h.beats == []
    assert len(h.sleep(1).beats) == 1


def test_one_heartbeat_at_a_time() -> None:
    """AbstractHeartbeatRequestManager.poll: none while one is in flight."""
    assert len(ConsumerHarness().stable().sleep(60_000).beats) == 1


def test_a_join_says_everything_and_a_beat_says_nothing() -> None:
    """HeartbeatState.buildRequestData."""
    h = ConsumerHarness(client_rack="a", group_remote_assignor="range", max_poll_interval_us=9_000 * MS).joining()
    join = h.beat
    assert (join.topics, join.rebalance_timeout_us, join.server_assignor, join.rack) == (
        ("t",),
        9_000 * MS,
        "range",
        "a",
    )
    assert h.acknowledged == []
    h.beaten(1, 0, 1).pass_by(2).beaten(1).sleep(5_000)
    beat = h.beat
    assert (beat.topics, beat.rebalance_timeout_us, beat.server_assignor, beat.rack, beat.owned) == (None,) * 5
    assert beat.member_epoch == 1


@pytest.mark.parametrize("error", [Error.DISCONNECTED, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR])
def test_after_a_failure_a_heartbeat_says_everything(error: Error) -> None:
    """HeartbeatState.reset: the coordinator may never have seen what was said."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(error=error).sleep(0).found().sleep(1_000)
    assert h.acknowledged == [0, 1]
    assert h.beat.topics == ("t",)
    assert h.beat.rebalance_timeout_us is not None
    assert h.beat.member_epoch == 1


def test_a_new_subscription_travels_with_the_next_heartbeat() -> None:
    """A member of the group only tells; nothing hurries it."""
    h = ConsumerHarness(commits="none").stable()
    h.member.subscribe(("u", "t"), None)
    assert h.pass_by().beats == []
    assert h.sleep(5_000).beat.topics == ("t", "u")


def test_a_pattern_for_the_broker_travels_until_it_is_taken_back() -> None:
    """SubscribedTopicRegex: said when it changes, taken back with an empty one."""
    h = ConsumerHarness(commits="none")
    h.member.subscribe((), None, "t.*")
    h.joining()
    assert (h.beat.pattern, h.beat.topics) == ("t.*", ())
    h.beaten(1, 0).pass_by(2).beaten(1).sleep(5_000)
    assert h.beat.pattern is None
    h.member.subscribe(("t",), None)
    h.beaten(1).sleep(5_000)
    assert (h.beat.pattern, h.beat.topics) == ("", ("t",))


def test_a_pattern_of_its_own_is_looked_at_with_every_refresh() -> None:
    """subscribe(Pattern): the client sends names."""
    h = ConsumerHarness(commits="none")
    h.member.subscribe((), "t.*")
    h.joining().beaten(1, 0).pass_by(2).beaten(1)
    h.member.on_metadata({"t": 10, "t2": 3, "u": 1})
    assert h.sleep(5_000).beat.topics == ("t", "t2")


def test_a_new_consumer_joins_before_it_knows_what_its_pattern_matches() -> None:
    """Metadata are asked for in its first pass, and looked at in the next: its acknowledgement tells the names."""
    h = ConsumerHarness(commits="none")
    h.member.subscribe((), "t.*")
    h.joining()
    assert h.beat.topics == ()
    assert h.beaten(1, empty=True).pass_by(2).beat.topics == ("t",)


def test_whose_coordinator_is_found_late_joins_with_what_its_pattern_matches() -> None:
    h = ConsumerHarness(commits="none")
    h.member.subscribe((), "t.*")
    h.pass_by()
    assert h.member.needs_application
    h.pass_by().sleep(0).found()
    assert h.beat.topics == ("t",)


def test_loading_backs_off_exponentially() -> None:
    """RequestState.onFailedAttempt: the interval is over, retry.backoff.ms doubles."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000)
    for wait in (100, 200, 400, 800, 1_000, 1_000):
        h.beaten(error=Error.COORDINATOR_LOAD_IN_PROGRESS).sleep(wait - 1)
        assert h.beats == []
        assert len(h.sleep(1).beats) == 1


@pytest.mark.parametrize(("factor", "waits"), [(999, 0), (1_000, 1_000)])
def test_before_4_2_a_backoff_is_none_or_the_longest(factor: int, waits: int) -> None:
    """max.poll.interval.ms stands where the jitter belongs."""
    h = ConsumerHarness(commits="none", behaviour=ClientBehaviour(sound_heartbeat_jitter=False)).stable().sleep(5_000)
    h.member.timer._backoff.jitter = lambda number: factor
    h.beaten(error=Error.COORDINATOR_LOAD_IN_PROGRESS)
    assert len(h.sleep(max(waits - 1, 0)).beats) == (waits == 0)
    assert len(h.sleep(1).beats) == 1


@pytest.mark.parametrize("error", [Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moved_is_beaten_as_soon_as_it_is_found(error: Error) -> None:
    """HeartbeatRequestState.reset: no backoff."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(error=error).sleep(0)
    assert h.beats == []
    assert len(h.found().beats) == 1


def test_a_lost_connection_backs_off_too() -> None:
    """AbstractHeartbeatRequestManager.onFailure: the coordinator is looked for, the heartbeat waits."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(error=Error.DISCONNECTED).sleep(0).found()
    assert h.sleep(99).beats == []
    assert len(h.sleep(1).beats) == 1


@pytest.mark.parametrize(
    ("beat_at_ms", "noticed_ms"), [(600, 5_600), (1_100, 6_100), (3_300, 8_300), (4_999, 9_999)]
)  # fmt: skip
def test_a_late_poll_is_noticed_with_the_heartbeat_after_it(beat_at_ms: int, noticed_ms: int) -> None:
    """NetworkClientDelegate.poll sleeps until the next heartbeat: 5.6/6.1/8.3 s were seen for 5 s."""
    h = ConsumerHarness(commits="none", max_poll_interval_us=5_000 * MS).stable()
    h.sleep(5_000).beaten().sleep(5_000 - beat_at_ms)
    stalled = h.now
    h.sleep(beat_at_ms).sleep(0).beaten()
    assert h.member.max_poll_noticed_at((stalled + 5_000) * MS) == (stalled + noticed_ms) * MS


def test_a_late_poll_is_noticed_within_five_seconds_if_heartbeats_are_rare() -> None:
    """ConsumerNetworkThread.MAX_POLL_TIMEOUT_MS."""
    h = ConsumerHarness(commits="none", max_poll_interval_us=6_000 * MS).stable()
    h.interval_ms = 15_000
    h.sleep(5_000).beaten()
    beat = h.now
    assert h.member.max_poll_noticed_at((beat + 6_000) * MS) == (beat + 10_000) * MS


@pytest.mark.parametrize("error", [Error.UNKNOWN_MEMBER_ID, Error.INVALID_REQUEST, Error.NOT_COORDINATOR])
def test_a_late_poll_is_not_noticed_outside_the_group_or_without_a_coordinator(error: Error) -> None:
    """AbstractHeartbeatRequestManager.poll returns before it looks at the poll timer."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(error=error)
    assert h.member.max_poll_noticed_at(h.now * MS) == FOREVER
