"""One list of checks for every assignor, Kafka's, groupsim's or your own.

    from groupsim.assignors.evaluation.conformance import check_assignor, example_groups

    for group in example_groups():
        check_assignor(MyAssignor, group)

A check takes a group in which nobody owns anything yet, and lets it live on from there if it needs a past. What an
assignor is held to beyond a valid answer it says itself, in `Assignor.promises`: by default EXCLUSIVE, COMPLETE and
ANY_ORDER; a class that names its own leaves out what it does not want to be held to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from groupsim.assignors.core.errors import AssignorError, InvalidAssignment, InvalidSnapshot
from groupsim.assignors.core.interface import Assignor, Promise, Protocol, Side
from groupsim.assignors.core.member_order import visiting_order
from groupsim.assignors.core.snapshot import Assignment, GroupSnapshot, MemberSubscription, Topics
from groupsim.assignors.evaluation.group_history import GroupHistory, Make
from groupsim.assignors.evaluation.quality import by_name, imbalance, minimal_moves, moved
from groupsim.assignors.validity import check_complete, check_exclusive, check_valid


def check_assignor(make: Make, group: GroupSnapshot) -> None:
    """Hold an assignor to all checks on one group.

    Parameters
    ----------
    make : callable
        Makes a new assignor, for one consumer.
    group : GroupSnapshot
        Members own nothing and remember nothing.

    Raises
    ------
    InvalidAssignment
        Naming the assignor, the check, what is wrong, and the group; whatever the assignor itself throws is its cause.
    InvalidSnapshot
        The group has no members: Kafka asks no assignor then.
    """
    if not group.members:
        raise InvalidSnapshot("a group without members: Kafka asks no assignor then, so there is nothing to check")
    for check in CHECKS:
        try:
            check(make, group)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it is somebody's own code: whatever it throws is its failure
            told, cause = _told(error)
            name = _name(make)
            wrong = told.removeprefix(f"{name}: ")
            raise InvalidAssignment(f"{name}: {check.__name__}: {wrong}; group {describe(group)}") from cause


def _told(error: BaseException) -> tuple[str, BaseException | None]:
    """What is wrong, and what had been thrown, if it was not one of groupsim's own errors."""
    if isinstance(error, AssignorError):
        return str(error), error.__cause__
    return f"{type(error).__name__}: {error}", error


def _name(make: Make) -> str:
    """The assignor's own name, or what makes it where it cannot be made."""
    try:
        return make().name
    except KeyboardInterrupt:
        raise
    except BaseException:
        return getattr(make, "__name__", repr(make))


def _answer(make: Make, group: GroupSnapshot) -> Assignment:
    """What a new assignor answers."""
    answer: object = make().assign(group)
    if not isinstance(answer, Assignment):
        raise InvalidAssignment(f"the answer is a {type(answer).__name__}, no Assignment")
    return answer


def describe(group: GroupSnapshot) -> str:
    """A group as the Python expression that rebuilds its topics and subscriptions."""
    members = ", ".join(
        f"MemberSubscription({m.member_id!r}, {m.topics!r}, instance_id={m.instance_id!r}, rack={m.rack!r}, "
        f"capacity={m.capacity!r})"
        for m in group.members
    )
    return f"GroupSnapshot({group.topics!r}, ({members},))"


def answers_are_valid(make: Make, group: GroupSnapshot) -> None:
    """Every member has a list, of partitions that exist, of topics that it subscribes to."""
    check_valid(group, _answer(make, group))


def partitions_have_one_owner(make: Make, group: GroupSnapshot) -> None:
    """EXCLUSIVE: no partition has two owners."""
    if Promise.EXCLUSIVE in make().promises:
        check_exclusive(_answer(make, group))


def nothing_is_left_out(make: Make, group: GroupSnapshot) -> None:
    """COMPLETE: every partition with subscribers has an owner."""
    if Promise.COMPLETE in make().promises:
        check_complete(group, _answer(make, group))


def shares_are_even(make: Make, group: GroupSnapshot) -> None:
    """BALANCED and BALANCED_PER_TOPIC: counts differ by one at most."""
    _even(make(), group, _answer(make, group))


def _even(assignor: Assignor, group: GroupSnapshot, assignment: Assignment) -> None:
    if Promise.BALANCED in assignor.promises and group.subscriptions.equal and imbalance(assignment.counts) > 1:
        raise InvalidAssignment(f"members have between {assignment.counts.min()} and {assignment.counts.max()}")
    if Promise.BALANCED_PER_TOPIC not in assignor.promises or group.topics.racks is not None:
        return
    members, positions = assignment.pairs()
    everybody = np.arange(group.n_members, dtype=np.int32)
    for topic in group.subscriptions.subscribed_topics:
        takers = members[group.topics.topic_of[positions] == topic]
        counts = np.bincount(takers, minlength=group.n_members)
        if imbalance(counts[group.subscriptions.subscribers(topic, everybody)]) > 1:
            raise InvalidAssignment(f"subscribers of {group.topics.names[topic]} have uneven shares of it")


def equal_input_equal_answer(make: Make, group: GroupSnapshot) -> None:
    """A second assignor of the same making gives the same lists."""
    first, second = _answer(make, group), _answer(make, group)
    if [each.tolist() for each in first.lists()] != [each.tolist() for each in second.lists()]:
        raise InvalidAssignment("the same group was assigned in two ways")


def order_of_joining_does_not_matter(make: Make, group: GroupSnapshot) -> None:
    """ANY_ORDER: members in another order get the same; the coordinator has one order if its hash table yields one."""
    if Promise.ANY_ORDER not in make().promises:
        return
    turned = GroupSnapshot(group.topics, group.members[::-1])
    if make().side is Side.SERVER and _walk(group) != _walk(turned):
        return
    one, other = _answer(make, group), _answer(make, turned)
    if [sorted(each.tolist()) for each in one.lists()] != [sorted(each.tolist()) for each in other.lists()[::-1]]:
        raise InvalidAssignment("who joined first decides")


def _walk(group: GroupSnapshot) -> list[str]:
    """Member ids as the group coordinator visits them: those in one bucket of its table by when they joined."""
    return [group.member_ids[at] for at in visiting_order(group, java_order=True).tolist()]


def survivors_take_over(make: Make, group: GroupSnapshot) -> None:
    """When a member leaves and others stay, they get what it had, and no more than that if the assignor is sticky."""
    living = GroupHistory(make, group)
    before = living.rebalance()
    for leaver in sorted({0, group.n_members // 2, group.n_members - 1}) if group.n_members > 1 else ():
        after = GroupHistory(make, living.snapshot)
        after.change(members=[m for at, m in enumerate(after.snapshot.members) if at != leaver])
        _promised(make(), group, before, after.snapshot, after.rebalance())


def newcomers_get_a_share(make: Make, group: GroupSnapshot) -> None:
    """When a member joins, it gets its share, and others lose no more than that if the assignor is sticky."""
    living = GroupHistory(make, group)
    before = living.rebalance()
    living.change(members=[*living.snapshot.members, _newcomer(group)])
    _promised(make(), group, before, living.snapshot, living.rebalance())


def new_partitions_are_assigned(make: Make, group: GroupSnapshot) -> None:
    """When topics grow, the new partitions are assigned, and old ones move only if the assignor is not sticky."""
    if group.topics.racks is not None:
        return
    living = GroupHistory(make, group)
    before = living.rebalance()
    grown = Topics(group.topics.names, tuple(count + 2 for count in group.topics.counts))
    living.change(topics=grown)
    larger = GroupSnapshot(grown, group.members)
    _promised(make(), larger, before.within(grown), living.snapshot, living.rebalance())


def a_rebalance_without_a_reason_moves_nothing(make: Make, group: GroupSnapshot) -> None:
    """STEADY and STICKY: members that join again as they are keep what they have."""
    living = GroupHistory(make, group)
    before = living.rebalance()
    after = living.rebalance()
    _promised(make(), group, before, living.snapshot, after)
    if Promise.STEADY in make().promises and _as_sets(before) != _as_sets(after):
        raise InvalidAssignment("partitions moved though nothing had changed")


def nothing_is_given_before_it_is_revoked(make: Make, group: GroupSnapshot) -> None:
    """COOPERATIVE: when a member joins, nobody gets what another still owns."""
    if Protocol.COOPERATIVE not in make().protocols:
        return
    living = GroupHistory(make, group)
    before = living.rebalance()
    check_exclusive(before)
    holder = before.owner
    living.change(members=[*living.snapshot.members, _newcomer(group)])
    members, positions = _answer(make, living.snapshot).pairs()
    assert holder is not None, "nothing is shared"
    early = np.flatnonzero((holder[positions] >= 0) & (holder[positions] != members))
    if len(early):
        taker, owner = (living.snapshot.member_ids[at] for at in (members[early[0]], holder[positions[early[0]]]))
        raise InvalidAssignment(f"{taker!r} got {group.topics.label(int(positions[early[0]]))} while {owner!r} owns it")


def _as_sets(assignment: Assignment) -> list[set[int]]:
    return [set(each.tolist()) for each in assignment.lists()]


def _newcomer(group: GroupSnapshot) -> MemberSubscription:
    """One more member like the last, in no rack."""
    return MemberSubscription("newcomer", group.members[-1].topics, capacity=group.members[-1].capacity)


def _promised(
    assignor: Assignor, old: GroupSnapshot, before: Assignment, new: GroupSnapshot, after: Assignment
) -> None:
    """Hold a rebalance of a living group to the assignor's promises."""
    if Promise.EXCLUSIVE in assignor.promises:
        check_exclusive(after)
    if Promise.COMPLETE in assignor.promises:
        check_complete(new, after)
    _even(assignor, new, after)
    if Promise.STICKY not in assignor.promises or not new.subscriptions.equal or new.topics.racks is not None:
        return
    numbers = {name: at for at, name in enumerate({*old.member_ids, *new.member_ids})}
    check_exclusive(before)
    check_exclusive(after)
    assert before.owner is not None, "nothing is shared"
    assert after.owner is not None, "nothing is shared"
    was, is_now = by_name(before.owner, old.member_ids, numbers), by_name(after.owner, new.member_ids, numbers)
    if moved(was, is_now) > minimal_moves(was, is_now):
        raise InvalidAssignment(f"{moved(was, is_now)} partitions moved, {minimal_moves(was, is_now)} had to")


CHECKS: tuple[Callable[[Make, GroupSnapshot], None], ...] = (
    answers_are_valid,
    partitions_have_one_owner,
    nothing_is_left_out,
    shares_are_even,
    equal_input_equal_answer,
    order_of_joining_does_not_matter,
    survivors_take_over,
    newcomers_get_a_share,
    new_partitions_are_assigned,
    a_rebalance_without_a_reason_moves_nothing,
    nothing_is_given_before_it_is_revoked,
)


def example_groups() -> Iterator[GroupSnapshot]:
    """A few small groups of different shapes, for a first try of an assignor."""
    for topics in (Topics.of({"orders": 7}), Topics.of({"orders": 7, "users": 3}), Topics.of({"orders": 2})):
        for n_members in (1, 3, 5):
            ids = [f"consumer-{number}" for number in range(n_members)]
            yield GroupSnapshot(topics, tuple(MemberSubscription(each, topics.names) for each in ids))
            unequal = (MemberSubscription("consumer-odd", topics.names[:1]),)
            yield GroupSnapshot(topics, unequal + tuple(MemberSubscription(each, topics.names) for each in ids))
