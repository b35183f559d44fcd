"""Why brokers keep a partition from being read, in column ``detail`` of what was unread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import Broker, Close, Entry, Kill, Scenario, StartMembers
from groupsim.sim.protocol.controller.partition import Holdup, PartitionState
from groupsim.sim.units import S
from tests.support.dying_logs import broker, replicas, world
from tests.support.fidelity import differences
from tests.support.scenarios import at


def five(*, min_insync_replicas: int = 1, horizon_us: int = 120 * S) -> Scenario:
    """Five brokers, three of which have the one partition."""
    made = world(horizon_us=horizon_us, replication_factor=3, min_insync_replicas=min_insync_replicas)
    return replace(made, cluster=replace(made.cluster, brokers=tuple(Broker(id=id_) for id_ in range(5))))


def after(made: Scenario, *timeline: Entry) -> list[tuple[str, int]]:
    """Details of what the brokers held up from 30 s on, each with its length in whole seconds."""
    played = replace(made, timeline=timeline)
    assert not differences(played, seed=1, check=False)
    rows = simulate(played).tables["unavailability"]
    rows = rows[(rows.cause == "detection") & (rows.from_us >= 30 * S)].sort_values("from_us")
    lengths = ((rows.to_us - rows.from_us) // S).tolist()
    return list(zip(rows.detail, lengths, strict=True))


def test_a_leader_that_died_leaves_none_until_its_session_ends_and_another_has_begun() -> None:
    made = five()
    (first, _), (second, _) = found = after(made, at(30 * S, Kill(target=broker(str(replicas(made)[0])))))
    assert (first, second) == ("no_leader", "new_leader")
    assert 6 <= found[0][1] <= 9


def test_a_follower_that_died_holds_up_the_high_watermark_until_its_session_ends() -> None:
    made = five()
    ((detail, length_s),) = after(made, at(30 * S, Kill(target=broker(str(replicas(made)[1])))))
    assert detail == "high_watermark"
    assert 9 <= length_s <= 12, "the active controller died with it"


def test_too_few_in_sync_hold_it_up_until_one_is_back() -> None:
    made = five(min_insync_replicas=3)
    one = broker(str(replicas(made)[1]))
    (first, second) = after(made, at(30 * S, Kill(target=one)), at(60 * S, StartMembers(target=one)))
    assert (first[0], second[0]) == ("high_watermark", "min_isr")
    assert second[1] > 20


def test_a_leader_that_is_closed_leaves_a_new_one_that_has_to_begin() -> None:
    made = five()
    found = after(made, at(30 * S, Close(target=broker(str(replicas(made)[0])))))
    assert [detail for detail, _ in found] == ["new_leader"]


@pytest.mark.parametrize(
    ("changes", "dead", "reason"),
    [
        ({}, (), Holdup.NONE),
        ({}, (3,), Holdup.NONE),
        ({"leader": -1}, (), Holdup.NO_LEADER),
        ({}, (0,), Holdup.NO_LEADER),
        ({}, (1,), Holdup.HIGH_WATERMARK),
        ({"min_insync": 3}, (1,), Holdup.MIN_ISR),
        ({"min_insync": 3}, (0,), Holdup.NO_LEADER),
        ({"min_insync": 3, "replicas": (0, 1)}, (), Holdup.NONE),
    ],
)
def test_the_first_reason_that_holds(changes: dict[str, object], dead: tuple[int, ...], reason: Holdup) -> None:
    given = {"replicas": (0, 1, 2), "min_insync": 1, "isr": (0, 1), "leader": 0} | changes
    assert PartitionState(**given).held_up(dead) is reason  # type: ignore[arg-type]
