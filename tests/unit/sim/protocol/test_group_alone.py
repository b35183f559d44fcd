"""What Kafka holds of a classic group by itself: its states, who may delete it, what of it expires, what it reads.

The rules are those of ``ClassicGroupTest`` and ``ConsumerGroupTest``, as far as no request of a client leads to them.
"""

from __future__ import annotations

import numpy as np
import pytest

from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.errors import ProtocolMisuse
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.consumer.partition_epochs import FREE, PartitionEpochs
from groupsim.sim.protocol.messages import CONSUMER, Error, JoinGroup, Subscription
from groupsim.sim.protocol.offsets.expiration import ExpirationCondition
from groupsim.sim.units import S
from tests.support.groups import GroupHarness
from tests.unit.sim.protocol.consumer_groups import at

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
LEGAL = {
    (EMPTY, PREPARING), (STABLE, PREPARING), (COMPLETING, PREPARING), (PREPARING, COMPLETING), (COMPLETING, STABLE),
    (PREPARING, EMPTY), *((state, DEAD) for state in GroupState),
}  # fmt: skip


def group_in(state: GroupState, protocol_type: str | None = CONSUMER) -> ClassicGroup:
    """A group that has come to a state, with or without a first member."""
    group = ClassicGroup("g", CoordinatorConfig())
    rebalance = group._rebalance
    rebalance.create(0)
    rebalance.state, rebalance.state_us, rebalance.roster.protocol_type = state, 7 * S, protocol_type
    return group


@pytest.mark.parametrize("after", GroupState)
@pytest.mark.parametrize("before", GroupState)
def test_a_group_goes_from_state_to_state_as_kafka_lets_it(before: GroupState, after: GroupState) -> None:
    group = group_in(before)
    if (before, after) in LEGAL:
        group._rebalance.enter(8 * S, after)
        assert (group.state, group._rebalance.state_us) == (after, 8 * S)
    else:
        with pytest.raises(ProtocolMisuse, match=f"{before.value} -> {after.value}"):
            group._rebalance.enter(8 * S, after)


@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_a_group_with_members_is_not_deleted_nor_are_offsets_of_others_than_consumers(state: GroupState) -> None:
    assert group_in(state).check_delete() is Error.NON_EMPTY_GROUP
    assert group_in(state, "connect").check_offset_delete() is Error.NON_EMPTY_GROUP
    assert group_in(state, None).check_offset_delete() is Error.NON_EMPTY_GROUP
    assert group_in(state).check_offset_delete() is Error.NONE, "of consumers topics decide"


@pytest.mark.parametrize("protocol_type", [CONSUMER, "connect", None])
def test_a_group_without_members_may_go_and_a_dead_one_is_not_found(protocol_type: str | None) -> None:
    empty, dead = group_in(EMPTY, protocol_type), group_in(DEAD, protocol_type)
    assert (empty.check_delete(), empty.check_offset_delete()) == (Error.NONE, Error.NONE)
    assert (dead.check_delete(), dead.check_offset_delete()) == (Error.GROUP_ID_NOT_FOUND, Error.GROUP_ID_NOT_FOUND)


def test_offsets_of_a_group_that_never_had_members_go_by_their_commits() -> None:
    assert group_in(EMPTY, None).offset_expiration == ExpirationCondition(since_us=None)


def test_offsets_of_an_empty_group_go_by_when_it_became_empty() -> None:
    for protocol_type in (CONSUMER, "connect"):
        assert group_in(EMPTY, protocol_type).offset_expiration == ExpirationCondition(since_us=7 * S)


@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE, DEAD])
@pytest.mark.parametrize("protocol_type", [CONSUMER, "connect"])
def test_offsets_of_a_group_with_members_stay_unless_it_is_known_what_consumers_read(
    protocol_type: str, state: GroupState
) -> None:
    group = group_in(state, protocol_type)
    assert group.offset_expiration is None, "nobody knows what it reads"
    group._rebalance.subscribed = frozenset({"t"})
    goes = protocol_type == CONSUMER and state is STABLE
    assert group.offset_expiration == (ExpirationCondition(since_us=None) if goes else None)


def test_what_a_group_reads_is_known_once_an_assignor_is_chosen() -> None:
    """Before, consumers may read anything; a group without members reads nothing."""
    h = GroupHarness(delay=0)
    assert not h.group.is_subscribed_to("t"), "there is no such group"
    h.join("a", topics=("t",))
    h.sleep(0)
    assert h.group.state is COMPLETING
    assert h.group.is_subscribed_to("t")
    assert not h.group.is_subscribed_to("u")
    h.leave("a")
    assert h.group.state is EMPTY
    assert not h.group.is_subscribed_to("t")
    assert group_in(PREPARING).is_subscribed_to("anything")
    assert not group_in(PREPARING, "connect").is_subscribed_to("anything")


def test_a_generation_of_nobody_has_a_number_and_no_assignor() -> None:
    h = GroupHarness(delay=0)
    h.join("a")
    h.sleep(0)
    assert (h.group.generation, h.group._rebalance.protocol) == (1, "range")
    h.leave("a")
    assert (h.group.generation, h.group._rebalance.protocol) == (2, None)


def test_no_assignor_is_chosen_of_nobody() -> None:
    with pytest.raises(ValueError, match="empty"):
        ClassicGroup("g", CoordinatorConfig())._rebalance.roster.select_protocol()


def test_who_rejoins_has_the_assignors_and_timeouts_that_it_says_now() -> None:
    roster = group_in(PREPARING)._rebalance.roster
    first = JoinGroup("", None, 10 * S, 60 * S, (("roundrobin", Subscription(("t",))),))
    member = roster.add(first, "a", None)
    again = JoinGroup("a", None, 20 * S, 120 * S, tuple((name, Subscription(("t",))) for name in ("range", "sticky")))
    roster.update(member, again)
    assert roster.rebalance_timeout_us == 120 * S
    assert member.session_timeout_us == 20 * S
    assert [name for name, _ in member.protocols] == ["range", "sticky"]
    joiner = JoinGroup("", None, 10 * S, 60 * S, first.protocols)
    assert not roster.supports(joiner, is_empty=False), "nobody knows it any more"


def test_whoever_has_been_given_an_id_waits_no_longer_once_it_is_in_or_gone() -> None:
    """``addPendingMember``: whoever joins is pending no more, nor is who is removed before."""
    h = GroupHarness(delay=0)
    h.ask("a")
    h.ask("b")
    pending = h.group._rebalance.roster.pending
    assert set(pending) == {h.ids["a"], h.ids["b"]}
    h.ask("a", h.ids["a"])
    assert set(pending) == {h.ids["b"]}
    h.leave("b")
    assert not pending


# --- a consumer group's partitions ------------------------------------------------------------------------------------


def test_a_partition_has_the_epoch_of_who_has_it_until_that_one_gives_it_up() -> None:
    """``updatePartitionEpoch``, ``maybeRemovePartitionEpoch`` (Kafka 4.4): who was at another epoch takes nothing."""
    held = PartitionEpochs()
    assert held.are_free(at(1, 2, 3)).all()
    held.add(at(1, 2), 10)
    assert held.epochs[at(1, 2, 3)].tolist() == [10, 10, FREE]
    held.remove(at(1), 11)
    held.remove(at(3), 10)
    assert held.are_free(at(1, 2, 3)).tolist() == [False, False, True]
    held.remove(at(1), 10)
    held.add(at(2), 11)
    held.remove(at(2), 10)
    assert held.epochs[at(1, 2, 3)].tolist() == [FREE, 11, FREE]
    assert held.are_free(np.empty(0, np.int32)).shape == (0,)


# --- where a group is -------------------------------------------------------------------------------------------------


def test_a_groups_partition_follows_from_javas_hash_of_its_name() -> None:
    """``GroupCoordinatorService.partitionFor``: ``Utils.abs`` of -2^31, the hash of the last one, is 0."""
    found = [partition_for(name, count) for name, count in (("foo", 10), ("bar", 50), ("polygenelubricants", 50))]
    assert found == [101_574 % 10, 97_299 % 50, 0]
