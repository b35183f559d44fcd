"""The whole state of a classic group as the conversations have it: read off the machine, or put into it by hand."""

from __future__ import annotations

from typing import Any

from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.rebalance import Rebalance
from groupsim.sim.protocol.classic.roster import Member
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.classic.timers import Timers
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.units import FOREVER, MS
from tests.conformance.coordinator.fields import Difference, Unplayable, expect, known
from tests.conformance.coordinator.wire import Json, Payloads, assignment_form, has_user_data, subscription_bytes

_GROUP = frozenset(
    ["state", "generation", "protocol_type", "protocol", "leader", "state_timestamp", "new_member_added",
     "subscribed_topics", "static_members", "pending_join", "pending_sync", "members"]
)  # fmt: skip
_MEMBER = frozenset(
    ["instance_id", "client_id", "session_timeout_ms", "rebalance_timeout_ms", "protocol_type", "protocols",
     "assignment", "awaiting_join", "awaiting_sync", "is_new"]
)  # fmt: skip
_WAITING = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)


def inside(group: ClassicGroup | ConsumerGroup) -> Rebalance:
    """What a classic group keeps; its public face does not tell everything that Kafka's tests look at."""
    if not isinstance(group, ClassicGroup):
        raise Difference("the group is none of the classic protocol")
    return group._rebalance


def compare_group(group_id: str, expected: Json | None, group: ClassicGroup, payloads: Payloads) -> None:
    """Raise `Difference` unless the group is as Kafka's is, in all fields that the conversation names."""
    expect(f"{group_id} exists", expected is not None, inside(group).exists)
    if expected is None:
        return
    if expected["type"] != "classic":
        raise Unplayable(f"groups of type {expected['type']}")
    told = known(group_id, {name: value for name, value in expected.items() if name != "type"}, _GROUP)
    members = {name: known(name, fields, _MEMBER) for name, fields in told.pop("members").items()}
    for fields in members.values():
        fields["assignment"] = assignment_form(fields["assignment"])
    found = _group_fields(inside(group))
    expect(group_id, told, {name: found[name] for name in told})
    expect(f"{group_id}.members", sorted(members), sorted(member.member_id for member in group.roster))
    for member in group.roster:
        mine = _member_fields(member, group, payloads)
        fields = members[member.member_id]
        expect(f"{group_id}.members.{member.member_id}", fields, {name: mine[name] for name in fields})


def _group_fields(one: Rebalance) -> Json:
    roster = one.roster
    return {
        "state": one.state.value, "generation": one.generation, "protocol_type": roster.protocol_type,
        "protocol": one.protocol, "leader": roster.leader, "state_timestamp": one.state_us // MS,
        "new_member_added": one.new_member_added, "static_members": dict(sorted(roster.static.items())),
        "pending_join": sorted(roster.pending), "pending_sync": sorted(one.pending_sync),
        "subscribed_topics": _subscribed_topics(one),
    }  # fmt: skip


def _subscribed_topics(one: Rebalance) -> Json:
    """Bytes that are no subscription are opaque to the machine; Kafka takes them for a subscription to anything."""
    told = [subscription for member in one.roster for name, subscription in member.protocols if name == one.protocol]
    is_opaque = any("subscription" not in subscription_bytes(subscription) for subscription in told)
    return None if one.subscribed is None or is_opaque else sorted(one.subscribed)


def _member_fields(member: Member, group: ClassicGroup, payloads: Payloads) -> Json:
    return {
        "instance_id": member.instance_id, "client_id": member.name,
        "session_timeout_ms": member.session_timeout_us // MS,
        "rebalance_timeout_ms": member.rebalance_timeout_us // MS, "protocol_type": group.roster.protocol_type,
        "protocols": [{"name": name, "metadata": subscription_bytes(one)} for name, one in member.protocols],
        "assignment": payloads.assignment_form(member.assignment), "is_new": member.is_new,
        "awaiting_join": member.join_waiter is not None, "awaiting_sync": member.sync_waiter is not None,
    }  # fmt: skip


# --- by hand ----------------------------------------------------------------------------------------------------------


def load_group(group: ClassicGroup, state: Json, payloads: Payloads) -> None:
    """Make the group what a test made of Kafka's; requests that are parked stay so, its timers stay armed."""
    old, new = inside(group), Rebalance(inside(group).group_id, group.config)
    new.exists, new.timers, new.awaited, new.batches = True, old.timers, old.awaited, old.batches
    new.state, new.generation, new.protocol = GroupState(state["state"]), state["generation"], state["protocol"]
    new.previous_state = old.previous_state if new.state is old.state else old.state
    new.state_us, new.new_member_added = state["state_timestamp"] * MS, state["new_member_added"]
    new.roster.leader, new.roster.protocol_type = state["leader"], state["protocol_type"]
    new.roster.pending = dict.fromkeys(state["pending_join"], "client")
    new.pending_sync = dict.fromkeys(state["pending_sync"])
    new.subscribed = None if state["subscribed_topics"] is None else frozenset(state["subscribed_topics"])
    for member_id, fields in state["members"].items():
        _load_member(new, member_id, fields, old.roster.get(member_id), payloads)
    new.roster.leader, new.roster.static = state["leader"], dict(state["static_members"])
    group._take_over(new)
    _disarm(new)


def _load_member(new: Rebalance, member_id: str, fields: Json, before: Member | None, payloads: Payloads) -> None:
    member = Member(
        member_id, fields["instance_id"], fields["client_id"], fields["session_timeout_ms"] * MS,
        fields["rebalance_timeout_ms"] * MS, payloads.protocols(fields["protocols"]),
        payloads.assignment(fields["assignment"]), has_user_data(fields["assignment"]), is_new=fields["is_new"],
    )  # fmt: skip
    new.roster.restore(member)
    if fields["awaiting_join"]:
        new.roster.park_join(member, (before and before.join_waiter) or ("member", member_id))
    if fields["awaiting_sync"]:
        member.sync_waiter = (before and before.sync_waiter) or ("member", member_id)


def _disarm(one: Rebalance) -> None:
    """Timers that cannot change anything in the state that was set do not exist."""
    if one.state is GroupState.DEAD:
        one.timers = Timers()
    if one.state is not GroupState.PREPARING_REBALANCE:
        one.timers.close_join()
    if one.state not in _WAITING or not one.pending_sync:
        one.timers.sync_due = FOREVER


def load_timer(key: str, group_id: str, group: ClassicGroup, deadline_ms: int | None) -> None:
    """Set a timer of the group's by hand, or take it away."""
    timers, due = inside(group).timers, FOREVER if deadline_ms is None else deadline_ms * MS
    if key == f"join-{group_id}":
        timers.join_due = due
    elif key == f"sync-{group_id}":
        timers.sync_due = due
    elif key.startswith(f"heartbeat-{group_id}-"):
        timers.arm_session(key.removeprefix(f"heartbeat-{group_id}-"), due)


# --- timers -----------------------------------------------------------------------------------------------------------


def can_change_anything(key: str, group_id: str, state: Json | None) -> bool:
    """Whether Kafka's timer of this key would do anything when it runs, with the group in this state."""
    if state is None or state["state"] == "Dead":
        return False
    if key == f"join-{group_id}":
        return bool(state["state"] == "PreparingRebalance")
    if key == f"sync-{group_id}":
        return state["state"] in ("CompletingRebalance", "Stable") and bool(state["pending_sync"])
    if not key.startswith(f"heartbeat-{group_id}-"):
        return False
    member_id = key.removeprefix(f"heartbeat-{group_id}-")
    return member_id in state["members"] or member_id in state["pending_join"]


def armed(group_id: str, group: ClassicGroup, ids: set[str]) -> dict[str, int]:
    """Kafka's key -> deadline in milliseconds of every timer of the machine's; ``ids``: all that have been heard of."""
    timers = inside(group).timers
    due = {f"join-{group_id}": timers.join_due, f"sync-{group_id}": timers.sync_due}
    due |= {f"heartbeat-{group_id}-{one}": timers.session_due(one) for one in ids}
    return {key: _exact_ms(at) for key, at in due.items() if at < FOREVER}


def _exact_ms(at_us: int) -> Any:
    return at_us / MS if at_us % MS else at_us // MS
