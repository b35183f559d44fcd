"""13.2, coordinator failover of a consumer group (KIP-848, Kafka 4.4), in closed form.

With an outage F (until the group is loaded elsewhere) the group has no new epoch, and partitions at rest are read on.
Session clocks start anew with the load: who died before it is removed S after it, to the microsecond, and not S after
its last heartbeat.
"""

from __future__ import annotations

from functools import cache

import pytest

from groupsim.sim.model import Close, Kill, Start, Target
from groupsim.sim.units import S
from tests.conformance.protocol.consumer_oracle import BROKER, PROCESSING, SESSION, consumer
from tests.support.coordinators import Moved, moved
from tests.support.scenarios import at, group, member, rounds, scenario

LAST_JOIN = 40 * S
GONE = 80 * S
"""The coordinator's broker is told to stop."""


@cache
def failover(died_us: int | None) -> Moved:
    """Three members that came one after the other; the third one dies, perhaps; then the coordinator goes."""
    members = group(3, client=consumer(), processing=PROCESSING, start=Start(kind="every", value_us=20 * S))
    gone = at(GONE, Close(target=Target("broker", "coordinator/g")))
    deaths = [] if died_us is None else [at(died_us, Kill(target=member(2)))]
    return moved(scenario(members, gone, *deaths, horizon_us=140 * S, config=BROKER, brokers=3), 1)


def loaded_us(one: Moved) -> int:
    """When the group is at its new coordinator."""
    (loaded_s,) = one.loaded_s
    return round(loaded_s * 1e6)


def test_13_2_a_failover_bumps_nothing_and_leaves_what_is_led_elsewhere_alone() -> None:
    one = failover(None)
    assert one.result is not None
    assert loaded_us(one) > GONE
    assert max(each.start_us for each in rounds(one.result)) < LAST_JOIN + 5 * S
    table = one.result.tables["unavailability"]
    told = table[table["from_us"] > GONE]
    assert len(set(told["partition"])) == 4, "those that the broker led, a third of twelve"
    assert (told["to_us"] < loaded_us(one) + 5 * S).all()


@pytest.mark.parametrize("died_us", [GONE - 30 * S, GONE - 7 * S, GONE - S])
def test_13_2_session_clocks_start_anew_with_the_load(died_us: int) -> None:
    one = failover(died_us)
    assert one.result is not None
    removed = [each for each in rounds(one.result) if each.start_us > LAST_JOIN + 5 * S]
    assert [(each.start_us, each.generations) for each in removed] == [(loaded_us(one) + SESSION, 1)]
