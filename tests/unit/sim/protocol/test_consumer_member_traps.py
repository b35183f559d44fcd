"""What naive simulators get wrong about clients of the consumer protocol (KIP-848, Kafka 4.4).

Numbers are those of `test_consumer_behaviours`, which has the coordinator's side.
"""

from __future__ import annotations

import pytest

from groupsim.sim.config import ClientBehaviour
from groupsim.sim.protocol.consumer.member.states import MemberState
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import MS
from tests.unit.sim.protocol.consumer_members import ConsumerHarness


def test_02_a_freed_partition_waits_for_the_heartbeat_of_its_new_owner() -> None:
    """Nothing is pushed: between heartbeats the application may pass as often as it likes."""
    h = ConsumerHarness(commits="none").stable().pass_by(40)
    assert h.sleep(4_999).pass_by().in_flight == []
    assert len(h.sleep(1).beats) == 1


def test_06_a_periodic_heartbeat_during_the_listener_acknowledges_nothing() -> None:
    """Owned partitions are left out: they have not changed yet."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(2, 1).pass_by()
    h.slow_listener = True
    h.pass_by()
    assert h.told[-1] == "revoked [0]"
    h.sleep(5_000)
    assert h.acknowledged is None
    h.beaten(2).listened().pass_by().listened()
    assert h.acknowledged == [1]


def test_07_a_member_whose_partitions_are_unchanged_takes_the_new_epoch() -> None:
    """Commits that were sent before carry the old one, and fail if the coordinator minds; the next one is right."""
    h = ConsumerHarness().stable().sleep(5_000).pass_by()
    assert h.told == ["commit [0, 1] 1"]
    h.beaten(2).committed(Error.STALE_MEMBER_EPOCH)
    assert h.member.state is MemberState.STABLE
    h.sleep(5_000).pass_by()
    assert h.told[1:] == ["commit [0, 1] 2"]


def test_09_a_failed_heartbeat_ends_the_interval() -> None:
    """It is repeated after the backoff, not after five seconds."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(error=Error.COORDINATOR_LOAD_IN_PROGRESS)
    assert len(h.sleep(100).beats) == 1


def test_09b_joining_ignores_backoff() -> None:
    """A member that joins while the coordinator loads asks once per round trip."""
    h = ConsumerHarness().joining()
    for _ in range(10):
        h.beaten(error=Error.COORDINATOR_LOAD_IN_PROGRESS)
        assert h.beat.member_epoch == 0


def test_09c_acknowledging_ignores_backoff() -> None:
    """So does one that has something to acknowledge."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(2, 0, 1, 2)
    h.sleep(5_000).beaten(error=Error.COORDINATOR_LOAD_IN_PROGRESS)
    assert h.beats == []
    h.pass_by()
    assert h.acknowledged == [0, 1, 2]


def test_11_the_refusal_of_a_crashed_static_member_is_fatal() -> None:
    """UNRELEASED_INSTANCE_ID: the restart manager has to try again, this consumer never does."""
    h = ConsumerHarness(static=True).joining().beaten(error=Error.UNRELEASED_INSTANCE_ID)
    assert h.member.state is MemberState.FATAL
    assert h.pass_by().sleep(3_600_000).beats == []
    assert h.told == ["raise UNRELEASED_INSTANCE_ID"]


def test_12_a_static_member_that_polls_too_late_goes_for_a_while_only() -> None:
    """max.poll.interval.ms sends -2, so that its partitions wait for it."""
    h = ConsumerHarness(static=True).stable()
    h.do(h.member.on_poll_expired(h.now))
    assert h.beat.member_epoch == -2


def test_13_max_poll_interval_is_the_revocation_timeout_too() -> None:
    """RebalanceTimeoutMs."""
    h = ConsumerHarness(max_poll_interval_us=7_000 * MS).joining()
    assert h.beat.rebalance_timeout_us == 7_000 * MS


def test_15_one_target_change_can_call_onpartitionsassigned_several_times_even_with_nothing() -> None:
    """Partitions come as they become free; the listener is called for each assignment, whatever is in it."""
    h = ConsumerHarness(commits="none").stable().sleep(5_000).beaten(2, 0).pass_by(3).beaten(3)
    h.sleep(5_000).beaten(3, 0, 2).pass_by().beaten(3).pass_by().fetched().sleep(5_000).beaten(3, 0, 2, 3).pass_by()
    assert [one for one in h.told if one.startswith("assigned")] == ["assigned []", "assigned [2]", "assigned [3]"]


def test_16_a_first_join_with_an_empty_assignment_costs_an_acknowledgement() -> None:
    """And that takes polls."""
    h = ConsumerHarness().joining().beaten(2, empty=True)
    assert h.sleep(4_000).beats == []
    h.pass_by(2)
    assert h.acknowledged == []


def test_17_joining_revoking_and_the_beginning_of_a_reconciliation_need_a_poll() -> None:
    """Between polls the member beats, and goes no further."""
    h = ConsumerHarness().sleep(60_000).found().sleep(60_000)
    assert h.beats == []
    h.pass_by().beaten(1, 0, 1)
    for _ in range(3):
        assert h.sleep(5_000).acknowledged is None
        h.beaten(1)
    assert h.told == []
    assert h.member.owned.size == 0
    for commits in ("auto", "none"):
        h = ConsumerHarness(commits=commits, auto_commit_interval_us=3_600_000 * MS).stable().sleep(5_000).beaten(2, 0)
        assert (h.told, h.member.reconciliation.running) == ([], None), commits
        assert h.pass_by().member.reconciliation.running is not None, commits


@pytest.mark.parametrize(
    ("commits", "owned", "since_4_3", "before"),
    [
        pytest.param("auto", (0, 1, 2), False, False, id="there is something to commit, though nothing to give up"),
        pytest.param("auto", (0,), False, False, id="something to commit and to give up"),
        pytest.param("none", (0, 1, 2), True, True, id="nothing to commit or give up"),
        pytest.param("none", (0,), False, True, id="something to give up: since 4.3 in a poll only"),
    ],
)
def test_17b_which_reconciliations_begin_without_a_poll(
    commits: str, owned: tuple[int, ...], since_4_3: bool, before: bool
) -> None:
    for revokes_in_poll, begins in ((True, since_4_3), (False, before)):
        behaviour = ClientBehaviour(revokes_in_poll=revokes_in_poll)
        h = ConsumerHarness(commits=commits, auto_commit_interval_us=3_600_000 * MS, behaviour=behaviour)
        h.stable().sleep(5_000).beaten(2, *owned)
        assert (h.member.reconciliation.running is not None) is begins


def test_18_a_commit_precedes_every_reconciliation_also_one_that_only_adds() -> None:
    """With auto-commit (KIP-848): all consumed offsets."""
    h = ConsumerHarness(auto_commit_interval_us=3_600_000 * MS).stable().sleep(5_000).beaten(2, 0, 1, 2).pass_by()
    assert h.told == ["commit [0, 1] 2"]
    assert h.pass_by(5).told == ["commit [0, 1] 2"]


@pytest.mark.parametrize("error", [Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID])
def test_24_a_fenced_member_asks_again_as_long_as_it_is_fenced(error: Error) -> None:
    """The same id with epoch 0, once per round trip; before 4.2 that was refused until the session ended."""
    h = ConsumerHarness().joining()
    for _ in range(5):
        h.beaten(error=error)
        assert (h.beat.member_id, h.beat.member_epoch) == ("id", 0)


def test_24b_a_fenced_member_is_none_from_then_on_not_only_when_its_listener_has_returned() -> None:
    """``transitionToFenced`` resets the epoch first: what onPartitionsLost commits carries no id."""
    h = ConsumerHarness(commits="none").stable()
    h.slow_listener = True
    h.sleep(5_000).beaten(error=Error.FENCED_MEMBER_EPOCH).pass_by()
    assert h.told == ["forget [0, 1]", "lost [0, 1]"]
    assert not h.member.membership.is_member


def test_25_the_member_id_is_the_clients_and_stays() -> None:
    """KIP-1082: made when the consumer is constructed; fencing, leaving and joining again do not change it."""
    h = ConsumerHarness(commits="none").joining()
    assert h.beat.member_id == "id"
    h.beaten(1, 0, 1).pass_by(2).beaten(error=Error.UNKNOWN_MEMBER_ID).pass_by()
    assert h.beat.member_id == "id"


def test_28_a_member_that_prepares_to_leave_beats_and_ignores_assignments() -> None:
    """Its partitions are released with the leave, not before."""
    h = ConsumerHarness(commits="none").stable()
    h.slow_listener = True
    h.do(h.member.unsubscribe(h.now)).sleep(5_000)
    assert h.beat.member_epoch == 1
    h.beaten(2, 0, 1, 2)
    assert h.told == ["drop [0, 1]", "revoked [0, 1]"]
    assert h.listened().beat.member_epoch == -1


def test_27_the_client_that_triggers_a_failing_assignor_dies() -> None:
    """UNKNOWN_SERVER_ERROR is no code that a client knows of."""
    h = ConsumerHarness().joining().beaten(error=Error.UNKNOWN_SERVER_ERROR)
    assert h.pass_by().told == ["raise UNKNOWN_SERVER_ERROR"]
