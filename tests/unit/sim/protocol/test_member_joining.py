"""The client's join loop: prepare, JoinGroup, SyncGroup, take over (AbstractCoordinator, ConsumerCoordinator; 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.config import ClientBehaviour
from groupsim.sim.protocol.classic.member import MemberState
from groupsim.sim.protocol.messages import Api, Error
from groupsim.sim.units import MS
from tests.unit.sim.protocol.members import MemberHarness

FATAL = [
    Error.FENCED_INSTANCE_ID,
    Error.INCONSISTENT_GROUP_PROTOCOL,
    Error.INVALID_SESSION_TIMEOUT,
    Error.GROUP_MAX_SIZE_REACHED,
    Error.UNKNOWN_SERVER_ERROR,
]


def _joining() -> MemberHarness:
    return MemberHarness().drive().found()


def test_the_first_poll_finds_the_coordinator_and_joins() -> None:
    """ConsumerCoordinator.poll: coordinator, then ensureActiveGroup."""
    h = MemberHarness().drive()
    assert h.sent == [Api.FIND_COORDINATOR]
    h.found()
    assert h.sent == [Api.FIND_COORDINATOR, Api.JOIN_GROUP]
    assert h.last(Api.JOIN_GROUP).member_id == ""
    h.joined().synced(3, 4)
    assert h.heard == ["assigned [3, 4]"]
    assert h.sent[2:] == [Api.SYNC_GROUP, Api.OFFSET_FETCH]
    h.fetched()
    assert h.member.is_settled


def test_the_listener_is_called_with_nothing_too() -> None:
    """invokePartitionsAssigned: even when empty."""
    assert _joining().joined().synced().heard == ["assigned []"]


def test_member_id_required_is_retried_at_once_with_the_id() -> None:
    """JoinGroupResponseHandler, KIP-394."""
    h = _joining().joined(Error.MEMBER_ID_REQUIRED, member_id="m-7")
    assert h.last(Api.JOIN_GROUP).member_id == "m-7"
    assert h.last(Api.JOIN_GROUP).reason == "need to re-join with the given member-id"


def test_a_join_refused_as_unknown_starts_over_at_once_without_an_id() -> None:
    """JoinGroupResponseHandler: resetStateOnResponseError, then joinGroupIfNeeded goes on."""
    h = MemberHarness(commits="none", cooperative=True).stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().joined(Error.UNKNOWN_MEMBER_ID)
    assert h.heard == ["lost [0, 1]"]
    assert h.last(Api.JOIN_GROUP).member_id == ""


def test_rebalance_in_progress_joins_again_at_once_and_prepares_only_once() -> None:
    """joinGroupIfNeeded: needsJoinPrepare stays false until a completion or a reset."""
    h = MemberHarness(commits="none").stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().joined(Error.REBALANCE_IN_PROGRESS)
    assert h.heard == ["revoked [0, 1]"]
    assert h.flying() == [Api.JOIN_GROUP]


def test_what_left_the_subscription_between_two_attempts_is_revoked_after_the_round_and_not_before() -> None:
    """needsJoinPrepare once more (E.30): the second JoinGroup still claims it, the assignment takes it away."""
    h = MemberHarness(commits="none", cooperative=True)
    h.member.subscribe(("t", "u"), None)
    h.stable(0, 12)
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive()
    h.member.subscribe(("t",), None)
    h.joined(Error.REBALANCE_IN_PROGRESS)
    assert h.heard == []
    assert h.last(Api.JOIN_GROUP).protocols[0][1].owned.tolist() == [0, 12]
    h.joined(generation=2).synced(0)
    assert h.heard == ["revoked [12]", "assigned []"]


@pytest.mark.parametrize("error", [Error.NOT_COORDINATOR, Error.DISCONNECTED])
def test_a_lost_coordinator_is_looked_up_before_the_next_join(error: Error) -> None:
    """JoinGroupResponseHandler: markCoordinatorUnknown, retriable."""
    h = _joining().joined(error)
    assert h.heard == ["disconnect"]
    assert h.flying() == [Api.FIND_COORDINATOR]
    assert h.found().flying() == [Api.JOIN_GROUP]


def test_a_coordinator_that_is_not_available_cannot_be_reached_for_a_moment() -> None:
    """isUnavailable: its connection was closed on purpose, so it is looked up again after retry.backoff.ms."""
    h = _joining().joined(Error.COORDINATOR_NOT_AVAILABLE)
    assert h.flying() == [Api.FIND_COORDINATOR]
    assert h.found().flying() == []
    assert h.sleep(120).flying() == [Api.FIND_COORDINATOR]
    assert h.found().flying() == [Api.JOIN_GROUP]


def test_another_broker_can_be_reached_at_once() -> None:
    h = _joining().joined(Error.COORDINATOR_NOT_AVAILABLE)
    assert h.found(2).flying() == [Api.JOIN_GROUP]


def test_a_loading_coordinator_is_asked_again_after_the_backoff() -> None:
    """joinGroupIfNeeded: retry.backoff.ms, constant."""
    h = _joining().joined(Error.COORDINATOR_LOAD_IN_PROGRESS).sleep(99)
    assert h.flying() == []
    assert h.sleep(1).flying() == [Api.JOIN_GROUP]


@pytest.mark.parametrize("error", FATAL)
def test_everything_else_is_raised_to_the_application(error: Error) -> None:
    """JoinGroupResponseHandler, its other branches; raised from poll()."""
    h = _joining()
    h.busy = True
    h.joined(error)
    assert h.heard == []
    h.busy = False
    assert h.drive().heard == [f"raise {error.value}"]


@pytest.mark.parametrize(
    ("error", "member_id", "heard"),
    [
        (Error.REBALANCE_IN_PROGRESS, "m-1", []),
        (Error.UNKNOWN_MEMBER_ID, "", []),
        (Error.ILLEGAL_GENERATION, "m-1", []),
    ],
)
def test_a_failed_sync_joins_again_at_once(error: Error, member_id: str, heard: list[str]) -> None:
    """SyncGroupResponseHandler: the id is kept unless it is unknown (KAFKA-13419)."""
    h = _joining().joined().synced(error=error)
    assert h.flying() == [Api.JOIN_GROUP]
    assert h.last(Api.JOIN_GROUP).member_id == member_id
    assert h.heard == heard


def test_a_sync_of_an_illegal_generation_drops_the_id_before_3_2() -> None:
    """KAFKA-13419."""
    h = MemberHarness(behaviour=ClientBehaviour(keep_id_on_illegal_generation=False)).drive().found()
    assert h.joined().synced(error=Error.ILLEGAL_GENERATION).last(Api.JOIN_GROUP).member_id == ""


@pytest.mark.parametrize("error", [Error.NOT_COORDINATOR, Error.DISCONNECTED])
def test_a_sync_that_loses_the_coordinator_keeps_state_and_rejoins(error: Error) -> None:
    """SyncGroupResponseHandler: markCoordinatorUnknown, rejoin."""
    h = _joining().joined().synced(error=error)
    assert h.flying() == [Api.FIND_COORDINATOR]
    assert h.member.generation == 1
    assert h.found().last(Api.JOIN_GROUP).member_id == "m-1"


@pytest.mark.parametrize("error", [Error.FENCED_INSTANCE_ID, Error.UNKNOWN_SERVER_ERROR])
def test_a_fatal_sync_is_raised(error: Error) -> None:
    """SyncGroupResponseHandler: always fatal."""
    assert _joining().joined().synced(error=error).heard == [f"raise {error.value}"]


def test_the_answer_to_a_join_that_a_reset_came_across_is_worth_nothing() -> None:
    """JoinGroupResponseHandler: state is no longer PREPARING_REBALANCE (UnjoinedGroupException)."""
    h = MemberHarness(commits="none", cooperative=True).stable()
    h.sleep(3_000)
    h.member.on_heartbeat_response(3_000 * MS, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().beaten(Error.UNKNOWN_MEMBER_ID)
    assert h.heard == ["lost [0, 1]"]
    assert h.flying() == [Api.JOIN_GROUP]
    h.joined(generation=2)
    assert h.member.generation == -1
    assert h.flying() == []
    assert h.sleep(100).flying() == [Api.JOIN_GROUP]
    assert h.last(Api.JOIN_GROUP).member_id == ""
    assert h.last(Api.JOIN_GROUP).reason == "rebalance failed due to UnjoinedGroupException"


def test_the_answer_to_a_sync_that_a_reset_came_across_is_worth_nothing() -> None:
    """SyncGroupResponseHandler: generation reset by the heartbeat thread, retried at once."""
    h = _joining().joined().sleep(3_000).beaten(Error.UNKNOWN_MEMBER_ID)
    assert h.flying() == [Api.SYNC_GROUP]
    h.synced(0)
    assert h.member.generation == -1
    assert h.flying() == [Api.JOIN_GROUP]


def test_a_reset_between_the_sync_response_and_the_application_forgets_the_id() -> None:
    """joinGroupIfNeeded: resetStateAndRejoin(clear id), whatever the reset kept."""
    h = _joining().joined()
    h.busy = True
    h.synced(0)
    h.sleep(3_000).beaten(Error.ILLEGAL_GENERATION)
    h.busy = False
    h.drive()
    assert h.heard == []
    assert h.last(Api.JOIN_GROUP).member_id == ""


def test_no_join_is_sent_while_the_coordinator_is_unknown() -> None:
    """joinGroupIfNeeded: ensureCoordinatorReady first; here it was lost during onPartitionsRevoked."""
    h = MemberHarness(commits="none").stable()
    h.slow_listener = True
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive()
    h.do(h.member.mark_coordinator_unknown(0))
    h.do(h.member.on_listener_done(0)).drive()
    assert h.flying() == [Api.FIND_COORDINATOR]
    assert h.found().flying() == [Api.JOIN_GROUP]


def test_an_eager_rejoin_commits_then_revokes_everything_then_joins() -> None:
    """onJoinPrepare: the commit is awaited."""
    h = MemberHarness().stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    assert h.drive().flying() == [Api.OFFSET_COMMIT]
    assert h.heard == []
    assert h.committed().heard == ["revoked [0, 1]"]
    assert h.flying() == [Api.JOIN_GROUP]
    assert h.last(Api.JOIN_GROUP).protocols[0][1].owned.size == 0


def test_a_cooperative_rejoin_commits_and_keeps_what_it_has() -> None:
    """onJoinPrepare: cooperative revokes only topics that have left the subscription."""
    h = MemberHarness(cooperative=True).stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().committed()
    assert h.heard == []
    assert h.last(Api.JOIN_GROUP).protocols[0][1].owned.tolist() == [0, 1]
    assert h.last(Api.JOIN_GROUP).protocols[0][1].generation == 1


def test_a_cooperative_member_revokes_topics_that_left_its_subscription() -> None:
    """ConsumerCoordinator.onJoinPrepare."""
    h = MemberHarness(cooperative=True, commits="none")
    h.member.subscribe(("t", "u"), None)
    h.stable(0, 12)
    h.member.subscribe(("t",), None)
    assert h.drive().heard == ["revoked [12]"]


def test_a_cooperative_member_revokes_what_it_was_not_given_again_and_rejoins() -> None:
    """onJoinComplete: revoked, assigned, then the next JoinGroup in the same call."""
    h = MemberHarness(cooperative=True, commits="none").stable(0, 1)
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().joined(generation=2).synced(1, 2)
    assert h.heard == ["revoked [0]", "assigned [2]"]
    assert h.flying() == [Api.JOIN_GROUP]
    assert h.last(Api.JOIN_GROUP).reason == "need to revoke partitions and re-join"


def test_an_assignment_outside_the_subscription_is_not_taken() -> None:
    """onJoinComplete: checkAssignmentMatchedSubscription; here a static member gets what its predecessor wanted."""
    h = MemberHarness(static=True).drive().found().joined().synced(0, 12)
    assert h.heard == []
    assert h.flying() == [Api.JOIN_GROUP]


def test_a_reset_while_revoking_after_the_sync_gives_up_the_new_assignment() -> None:
    """The heartbeat thread leaves during a long onPartitionsRevoked; the partitions are lost at once."""
    h = MemberHarness(cooperative=True, commits="none").stable(0, 1)
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().joined(generation=2)
    h.slow_listener = True
    h.synced(1, 2)
    h.do(h.member.on_poll_expired(0))
    h.slow_listener = False
    h.do(h.member.on_listener_done(0)).drive()
    assert h.heard == ["revoked [0]", "lost [1]"]
    assert h.last(Api.JOIN_GROUP).member_id == ""


@pytest.mark.parametrize("behaviour", [ClientBehaviour(), ClientBehaviour(generation_in_subscription=False)])
def test_the_generation_travels_in_the_subscription_since_3_4(behaviour: ClientBehaviour) -> None:
    """ConsumerProtocolSubscription v2."""
    h = MemberHarness(behaviour=behaviour, commits="none", cooperative=True).stable()
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    generation = h.drive().last(Api.JOIN_GROUP).protocols[0][1].generation
    assert generation == (1 if behaviour.generation_in_subscription else None)


class TestReason:
    """What JoinGroup says it is sent for (KIP-800): the last thing that asked for it."""

    def test_is_what_a_heartbeat_met(self) -> None:
        h = MemberHarness(commits="none").stable()
        h.member.on_heartbeat_response(0, Error.UNKNOWN_MEMBER_ID, 1)
        assert h.drive().last(Api.JOIN_GROUP).reason == "encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"

    def test_is_that_the_round_came_to_nothing_whatever_was_reset_for_it(self) -> None:
        h = MemberHarness(commits="none").drive().found().joined()
        h.synced(error=Error.UNKNOWN_MEMBER_ID)
        assert h.last(Api.JOIN_GROUP).reason == "rebalance failed due to UnknownMemberIdException"

    def test_is_that_the_connection_is_gone(self) -> None:
        """CoordinatorResponseHandler.onFailure: DisconnectException."""
        h = MemberHarness(commits="none").drive().found().joined(Error.DISCONNECTED).found()
        assert h.last(Api.JOIN_GROUP).reason == "rebalance failed due to DisconnectException"

    def test_is_an_old_generation_if_a_reset_came_across_the_sync(self) -> None:
        """SyncGroupResponseHandler: ILLEGAL_GENERATION, whatever was answered."""
        h = MemberHarness(commits="none").drive().found().joined().sleep(3_000).beaten(Error.UNKNOWN_MEMBER_ID)
        h.synced(0)
        assert h.last(Api.JOIN_GROUP).reason == "rebalance failed due to IllegalGenerationException"

    def test_is_the_rebalance_of_others_once_a_heartbeat_tells(self) -> None:
        h = MemberHarness(commits="none").stable(leader="m-1")
        h.member.on_metadata({"t": 11, "u": 10})
        h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
        assert h.drive().last(Api.JOIN_GROUP).reason == "group is already rebalancing"

    def test_is_told_by_no_client_before_3_2(self) -> None:
        """JoinGroup before v8 and LeaveGroup before v5 have no such field."""
        h = MemberHarness(behaviour=ClientBehaviour(reason_in_request=False), commits="none").stable()
        h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
        assert h.drive().last(Api.JOIN_GROUP).reason == ""
        h.do(h.member.on_poll_expired(0))
        assert h.last(Api.LEAVE_GROUP).members[0].reason == ""


class TestLeader:
    """The leader watches partition counts, followers do not (rejoinNeededOrPending)."""

    def test_rejoins_when_partitions_are_added(self) -> None:
        """metadataSnapshot != assignmentSnapshot."""
        h = MemberHarness(commits="none").stable(leader="m-1")
        h.member.on_metadata({"t": 11, "u": 10})
        assert h.drive().last(Api.JOIN_GROUP).reason == "cached metadata has changed"

    def test_that_leaves_between_the_news_and_its_next_poll_comes_back_with_that_for_a_reason(self) -> None:
        h = MemberHarness(commits="none").stable(leader="m-1")
        h.member.on_metadata({"t": 11, "u": 10})
        assert h.member.is_joining
        h.do(h.member.on_poll_expired(0)).drive()
        assert h.last(Api.JOIN_GROUP).reason == "consumer pro-actively leaving the group"

    def test_does_not_care_about_other_topics(self) -> None:
        """Only topics of the group are in the snapshot."""
        h = MemberHarness().stable(leader="m-1")
        h.member.on_metadata({"t": 10, "u": 11})
        assert h.drive().flying() == []

    def test_notices_what_changed_while_it_was_assigning(self) -> None:
        """assignmentSnapshot is what the assignor has seen, not what came meanwhile."""
        h = MemberHarness(commits="none").drive().found().joined(leader="m-1")
        h.member.on_metadata({"t": 11, "u": 10})
        h.assigned({"t": 10}).synced(0)
        assert h.flying() == [Api.JOIN_GROUP]

    def test_that_returns_and_skips_the_assignment_goes_on_watching(self) -> None:
        """onLeaderElected with skipAssignment, KIP-814."""
        h = MemberHarness(static=True, commits="none").drive().found().joined(leader="m-1", skip_assignment=True)
        assert h.last(Api.SYNC_GROUP).assignments is None
        h.synced(0).fetched()
        h.member.on_metadata({"t": 11, "u": 10})
        assert h.drive().flying() == [Api.JOIN_GROUP]

    def test_a_follower_does_not_watch(self) -> None:
        """Followers have no assignmentSnapshot."""
        h = MemberHarness().stable()
        h.member.on_metadata({"t": 11, "u": 10})
        assert h.drive().flying() == []


def test_a_changed_subscription_rejoins() -> None:
    """rejoinNeededOrPending: joinedSubscription differs."""
    h = MemberHarness(commits="none").stable()
    h.member.subscribe(("t", "u"), None)
    assert h.drive().last(Api.JOIN_GROUP).reason == "subscription has changed"


def test_a_pattern_that_matches_a_new_topic_rejoins() -> None:
    """maybeUpdateSubscriptionMetadata."""
    h = MemberHarness(commits="none")
    h.member.subscribe((), "t|x.*")
    h.stable()
    h.member.on_metadata({"t": 10, "u": 10, "x1": 3})
    assert h.drive().last(Api.JOIN_GROUP).protocols[0][1].topics == ("t", "x1")


def test_after_unsubscribe_a_new_subscription_joins_again() -> None:
    """maybeLeaveGroup resets; rejoinNeeded is true again."""
    h = MemberHarness().stable()
    h.do(h.member.unsubscribe(0)).drive()
    assert h.sent == [Api.LEAVE_GROUP]
    assert h.heard == ["revoked [0, 1]", "closed"]
    h.member.subscribe(("t",), None)
    assert h.drive().last(Api.JOIN_GROUP).member_id == ""


def test_positions_are_fetched_for_what_was_asked_only() -> None:
    """initWithCommittedOffsetsIfNeeded: partitions that came meanwhile are still missing."""
    h = MemberHarness(cooperative=True, commits="none").drive().found().joined().synced(0)
    assert h.last(Api.OFFSET_FETCH).positions.tolist() == [0]
    h.member.on_heartbeat_response(0, Error.REBALANCE_IN_PROGRESS, 1)
    h.drive().joined(generation=2).synced(0, 1)
    h.fetched()
    assert h.last(Api.OFFSET_FETCH).positions.tolist() == [1]


def test_a_refused_offset_fetch_is_repeated_with_exponential_backoff() -> None:
    """OffsetFetchResponseHandler: retriable."""
    h = MemberHarness().drive().found().joined().synced(0)
    h.fetched(Error.COORDINATOR_LOAD_IN_PROGRESS).sleep(99)
    assert h.flying() == []
    assert h.sleep(1).flying() == [Api.OFFSET_FETCH]
    h.fetched(Error.COORDINATOR_LOAD_IN_PROGRESS).sleep(199)
    assert h.flying() == []
    assert h.sleep(1).flying() == [Api.OFFSET_FETCH]


def test_a_reset_member_state_is_unjoined() -> None:
    """resetStateAndRejoin."""
    h = MemberHarness().stable()
    h.do(h.member.on_poll_expired(0))
    assert (h.member.state, h.member.generation, h.member.member_id) == (MemberState.UNJOINED, -1, "")
