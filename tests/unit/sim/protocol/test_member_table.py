"""The order in which a coordinator yields the members of a classic group. It was measured on OpenJDK 17."""

from __future__ import annotations

from groupsim.assignors.java.ordering import text_codes, text_places
from groupsim.assignors.java.table_order import hash_order
from groupsim.sim.protocol.classic.roster import Member, Roster
from groupsim.sim.protocol.messages import NO_PARTITIONS, JoinResponse, Subscription
from tests.support.groups import GroupHarness


def member(number: int, *, static: bool = False) -> Member:
    protocols = (("range", Subscription(("t",))),)
    return Member(f"consumer-{number}", f"s{number}" if static else None, "m", 1, 1, protocols, NO_PARTITIONS)


def numbers(roster: Roster) -> list[int]:
    return [int(one.member_id.removeprefix("consumer-")) for one in roster.in_table_order()]


def roster_of(*members: Member) -> Roster:
    roster = Roster()
    for each in members:
        roster.restore(each)
    return roster


def test_twelve_members_are_in_sixteen_buckets() -> None:
    roster = roster_of(*(member(number) for number in range(1, 13)))
    assert numbers(roster) == [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 12]
    assert [one.member_id for one in roster] == [f"consumer-{number}" for number in range(1, 13)]


def test_a_thirteenth_doubles_the_buckets_and_they_stay_when_it_is_gone() -> None:
    roster = roster_of(*(member(number) for number in range(1, 14)))
    roster.remove("consumer-13")
    assert numbers(roster) == [11, 10, 6, 5, 4, 3, 2, 1, 12, 9, 8, 7]


def test_a_static_member_under_a_new_id_has_a_new_place() -> None:
    roster = roster_of(*(member(number, static=number == 5) for number in range(1, 14)))
    roster.remove("consumer-13")
    old = roster.get("consumer-5")
    assert old is not None
    roster.replace_static(old, "consumer-14")
    assert numbers(roster) == [11, 10, 6, 4, 3, 2, 1, 12, 14, 9, 8, 7]
    assert [one.member_id for one in roster][4] == "consumer-14"


def test_the_leader_is_told_of_members_in_that_order_and_so_is_the_log() -> None:
    h = GroupHarness()
    for number in range(5):
        h.join(f"m{number}")
    h.sleep(6_000)
    told = next(answer for answer in map(h.answer, h.ids) if isinstance(answer, JoinResponse) and answer.members)
    ids = list(h.ids.values())
    order = [ids[at] for at in hash_order(text_codes(ids), lambda: text_places(ids))]
    assert [member_id for member_id, _, _ in told.members] == order != ids
    leader = next(name for name, member_id in h.ids.items() if member_id == told.leader)
    h.sync(leader, {})
    assert [one.member_id for one in h.records[-1].members] == order
