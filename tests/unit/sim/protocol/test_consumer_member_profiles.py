"""Clients that differ from Java's 4.4: older ones, and librdkafka."""

from __future__ import annotations

import pytest

from groupsim.sim.config import ClientBehaviour
from groupsim.sim.protocol.consumer.member.states import MemberState
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.messages import Error
from groupsim.sim.units import FOREVER, MS
from tests.unit.sim.protocol.consumer_members import ConsumerHarness


def test_before_2_15_librdkafka_dies_when_it_joins_after_a_late_poll() -> None:
    """librdkafka #5541, PR 5488: the join says only what has changed, and is refused."""
    h = ConsumerHarness(commits="none", behaviour=ClientBehaviour(says_all_after_expiry=False)).stable()
    h.do(h.member.on_poll_expired(h.now)).beaten(-1).pass_by()
    assert h.beat.member_epoch == 0
    assert (h.beat.rebalance_timeout_us, h.beat.topics) == (None, None)
    h.beaten(error=Error.INVALID_REQUEST).pass_by()
    assert h.told[-1] == "raise INVALID_REQUEST"


def test_the_first_join_of_such_a_client_says_everything() -> None:
    """Only the one after max.poll.interval.ms does not."""
    h = ConsumerHarness(behaviour=ClientBehaviour(says_all_after_expiry=False)).joining()
    assert h.beat.topics == ("t",)


def test_before_2_15_librdkafka_ignores_a_missing_group_for_ever() -> None:
    """librdkafka CHANGELOG 2.15.0."""
    h = ConsumerHarness(commits="none", behaviour=ClientBehaviour(ignores_missing_group=True)).stable().sleep(5_000)
    for _ in range(20):
        h.beaten(error=Error.GROUP_ID_NOT_FOUND).sleep(1_000)
    assert h.member.state is MemberState.STABLE
    assert h.pass_by().told == []


@pytest.mark.parametrize(
    ("ignores", "state"), [(True, MemberState.UNSUBSCRIBED), (False, MemberState.FATAL)]
)  # fmt: skip
def test_a_group_that_is_missing_after_a_leave_was_fatal_before_4_3(ignores: bool, state: MemberState) -> None:
    """GROUP_ID_NOT_FOUND as the answer to the heartbeat that leaves."""
    behaviour = ClientBehaviour(ignores_missing_group_after_leave=ignores)
    h = ConsumerHarness(commits="none", behaviour=behaviour).stable()
    h.do(h.member.unsubscribe(h.now)).beaten(error=Error.GROUP_ID_NOT_FOUND)
    assert h.told[-1] == "closed"
    assert h.member.state is state


def test_before_4_1_close_cannot_be_told_what_to_do() -> None:
    """KIP-1092."""
    h = ConsumerHarness(static=True, commits="none", behaviour=ClientBehaviour(close_operations=False)).stable()
    assert h.do(h.member.close(h.now, CloseOperation.LEAVE_GROUP)).beat.member_epoch == -2


def test_before_4_1_a_member_does_not_say_where_it_is() -> None:
    """The rack was added to the heartbeat later."""
    behaviour = ClientBehaviour(rack_in_heartbeat=False)
    assert ConsumerHarness(client_rack="a", behaviour=behaviour).joining().beat.rack is None


@pytest.mark.parametrize(("over_ms", "seen_ms"), [(0, 500), (499, 500), (500, 1_000), (999, 1_000), (5_000, 5_500)])
def test_librdkafka_looks_twice_a_second_since_its_assignment(over_ms: int, seen_ms: int) -> None:
    """rd_kafka_cgrp_start_max_poll_interval_timer; what is over by less than a millisecond is not over."""
    h = ConsumerHarness(commits="none", behaviour=ClientBehaviour(looks_at_polls=True))
    assert h.member.max_poll_noticed_at(0) == FOREVER
    h.sleep(130).stable()
    assigned = h.now
    assert h.member.max_poll_noticed_at((assigned + over_ms) * MS) == (assigned + seen_ms) * MS


def test_librdkafka_looks_no_more_when_it_has_seen_it() -> None:
    """The timer is stopped, and starts with the next assignment."""
    h = ConsumerHarness(commits="none", behaviour=ClientBehaviour(looks_at_polls=True)).stable()
    h.do(h.member.on_poll_expired(h.now * MS)).beaten(-1).pass_by()
    assert h.member.state is MemberState.JOINING
    assert h.member.max_poll_noticed_at((h.now + 9_000) * MS) == FOREVER
