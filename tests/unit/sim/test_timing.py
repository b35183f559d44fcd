"""Times of the implementation that are drawn: what each of them delays, and what follows of their tails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.config import CoordinatorConfig, Timing
from groupsim.sim.model import ZERO, Distribution, Subscription
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.messages import JoinGroup
from groupsim.sim.protocol.messages import Subscription as Embedded
from groupsim.sim.units import MS, S
from tests.conformance.protocol.consumer_oracle import FIND
from tests.conformance.protocol.oracle import WAY
from tests.support.scenarios import BOOT_US, LOOPBACK, TIMING, Round, client, cooperative, group, join, rounds, scenario

LONG = Distribution.constant(7 * MS)


def _first_rounds(timing: Timing, delay_us: int, members: int = 1) -> list[Round]:
    one = scenario(group(members, client=client()), horizon_us=20 * S, delay_us=delay_us, timing=timing)
    return rounds(simulate(one))


@pytest.mark.parametrize(("delay_us", "members", "windows"), [(0, 1, 1), (3 * S, 1, 1), (3 * S, 2, 2)])
def test_the_end_of_an_initial_delay_is_late_in_every_window(delay_us: int, members: int, windows: int) -> None:
    (punctual,) = _first_rounds(TIMING, delay_us, members)
    (late,) = _first_rounds(replace(TIMING, initial_delay_late=LONG), delay_us, members)
    assert (late.start_us, late.joined_us) == (punctual.start_us, punctual.joined_us + windows * 7 * MS)


@pytest.mark.parametrize("takes_us", [0, 7 * MS])
def test_a_pattern_that_the_broker_matches_is_resolved_so_much_later(takes_us: int) -> None:
    """The member joins with it, and the first group epoch with topics comes of the answer."""
    member = group(1, client=client(group_protocol="consumer"))
    timing = replace(TIMING, pattern_resolve=Distribution.constant(takes_us))
    world = scenario(replace(member, subscription=Subscription(re2="t")), horizon_us=20 * S, timing=timing)
    found = rounds(simulate(world))[0]
    assert found.start_us == BOOT_US + FIND + WAY + takes_us


def _static_join(instance: str) -> JoinGroup:
    subscription = Embedded(("t",))
    return JoinGroup("", instance, 10 * S, 10 * S, (("range", subscription),), fresh_id=f"{instance}-1")


def test_each_window_has_a_draw_of_its_own() -> None:
    config = CoordinatorConfig(initial_rebalance_delay_us=3 * S)
    machine = ClassicGroup("g", config, late=[2 * MS, 5 * MS].__getitem__)
    for instance in ("i", "j"):
        machine.on_request(0, _static_join(instance), instance)
    assert machine.deadline == 3 * S + 2 * MS
    machine.on_deadline(machine.deadline)
    assert (machine.state, machine.deadline) == (GroupState.PREPARING_REBALANCE, 6 * S + 7 * MS)


@pytest.mark.parametrize(
    ("law", "starts_later", "ends_later"),
    [("connect", 7, 7), ("join_prepare", 14, 14), ("sync_prepare", 0, 7)],
)
def test_what_a_client_takes_before_it_hands_a_request_over_delays_it(
    law: str, starts_later: int, ends_later: int
) -> None:
    """Two JoinGroups come before the group hears of a member: the first is refused for want of an id."""
    (quick,) = _first_rounds(replace(TIMING, **{law: ZERO}), 0)
    (slow,) = _first_rounds(replace(TIMING, **{law: LONG}), 0)
    assert slow.start_us - quick.start_us == starts_later * MS
    assert slow.end_us - quick.end_us == ends_later * MS


def test_a_cooperative_join_loses_a_round_now_and_then() -> None:
    """Who revokes rejoins before a slower member's SyncGroup has come: six of 58 recorded joins took a third round."""
    one = scenario(
        group(3, client=cooperative(enable_auto_commit=True)), join(15 * S, 4), horizon_us=35 * S, rate_mrps=10_000,
        latency=LOOPBACK, timing=Timing(),
    )  # fmt: skip
    counts = [sum(round_.start_us > 15 * S for round_ in rounds(simulate(one, seed=seed))) for seed in range(40)]
    assert set(counts) == {2, 3}
    assert 1 <= counts.count(3) <= 14
