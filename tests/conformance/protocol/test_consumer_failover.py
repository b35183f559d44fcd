"""13.2, coordinator failover of a consumer group (KIP-848, Kafka 4.4), in closed form.

With an outage F (until the group is loaded elsewhere) the group has no new epoch, and partitions at rest are read on.
Session clocks start anew with the load: who died before it is removed S after it, to the microsecond, and not S after
its last heartbeat. Of a move in flight the step that falls into the outage comes when its member has found the new
coordinator, and nothing that was acknowledged is done again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from groupsim.sim.model import Close, Kill, Start, Target
from groupsim.sim.units import MS, S
from tests.conformance.protocol.consumer_oracle import (
    BEAT,
    BROKER,
    FIND,
    POLL,
    PROCESSING,
    SESSION,
    TAU,
    consumer,
    join,
    joins,
    started,
)
from tests.support.coordinators import Moved, moved
from tests.support.scenarios import at, group, member, rounds, scenario
from tests.support.scenarios import join as scale

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


def test_13_2_a_failover_bumps_nothing_and_what_is_led_elsewhere_is_read_on() -> None:
    one = failover(None)
    assert one.result is not None
    assert loaded_us(one) > GONE
    assert max(each.start_us for each in rounds(one.result)) < LAST_JOIN + 5 * S
    table = one.result.tables["unavailability"]
    told = table[table["from_us"] > GONE]
    resumed = told[told["cause"] == "resume"]
    length = resumed["to_us"] - resumed["from_us"]
    found = resumed[length > length.min()]  # not by the fetch that was parked there
    assert len(set(found["partition"])) == 4, "those that the broker led, a third of twelve"
    assert len(set(told["partition"])) == 12, "what others lead waits until they know that it follows no more"
    assert (told["to_us"] < loaded_us(one) + 5 * S).all()


@pytest.mark.parametrize("died_us", [GONE - 30 * S, GONE - 7 * S, GONE - S])
def test_13_2_session_clocks_start_anew_with_the_load(died_us: int) -> None:
    one = failover(died_us)
    assert one.result is not None
    removed = [each for each in rounds(one.result) if each.start_us > LAST_JOIN + 5 * S]
    assert [(each.start_us, each.generations) for each in removed] == [(loaded_us(one) + SESSION, 1)]


# --- moves in flight ----------------------------------------------------------------------------------------------

NEWCOMER = 18 * S
MOVE = join(started(0), NEWCOMER)
"""Y joins X, which has everything. Without an outage X is told at 20.7 s, lets go 23 ms later, and Y gets it 3 s on."""
(DONOR,), (RECEIVER,) = MOVE.donors, MOVE.receivers
REDISCOVERY = 1200 * MS + FIND + TAU
"""retry.backoff.max.ms and a fifth, the lookup, a heartbeat and its answer."""


@dataclass(frozen=True)
class Stretched:
    """A move during which the coordinator's broker dies: when X stopped and had let go, when Y was given it."""

    loaded: int
    stopped: int
    freed: int
    given: int


def stretched(gone_us: int) -> Stretched:
    """By the pieces of what was unread that wait for the donor and for the new owner, not for a leader."""
    dies = at(gone_us, Kill(target=Target("broker", "coordinator/g")))
    members = group(1, client=consumer(), processing=PROCESSING)
    one = moved(scenario(members, scale(NEWCOMER, 2), dies, horizon_us=50 * S, config=BROKER, brokers=3), 1)
    assert one.result is not None
    last = rounds(one.result)[-1]
    assert (last.start_us, last.generations) == (joins(NEWCOMER), 1), "one epoch, that of the join"
    table = one.result.tables["unavailability"]
    revoked, handed = (table[table["detail"] == detail] for detail in ("revocation", "handover"))
    revoked = revoked[revoked["to_us"] == revoked["to_us"].max()]  # before the outage it waits in vain
    (given,) = {*handed[handed["to_us"] > loaded_us(one)]["to_us"]}
    assert given == last.end_us
    return Stretched(loaded_us(one), int(revoked["from_us"].max()), int(revoked["to_us"].max()), given)


def test_13_2_without_an_outage_the_move_is_over_before_one_would_be() -> None:
    assert joins(NEWCOMER) < DONOR.told < DONOR.freed < RECEIVER.given < joins(NEWCOMER) + BEAT + 100 * MS


def test_13_2_a_donor_that_has_not_been_told_yet_reads_on_and_gives_up_after_the_outage() -> None:
    """The move stretches, and not what is unread: X is told by the new coordinator, and takes as long as ever."""
    one = stretched(DONOR.told - S)
    assert one.loaded < one.stopped < one.loaded + REDISCOVERY + POLL
    assert one.freed - one.stopped == DONOR.freed - DONOR.stopped
    assert one.freed < one.given < one.freed + BEAT


def test_13_2_what_is_let_go_during_the_outage_is_free_when_the_donor_has_found_the_coordinator() -> None:
    """X has stopped; its acknowledgement is what waits, and Y's next heartbeat is as far away as ever."""
    one = stretched(DONOR.freed - 10 * MS)
    assert one.loaded < one.freed < one.loaded + REDISCOVERY
    assert one.freed < one.given < one.freed + BEAT + POLL


@pytest.mark.parametrize("gone_us", [DONOR.freed + S // 2, RECEIVER.given - S // 3])
def test_13_2_what_was_let_go_before_the_outage_is_given_as_soon_as_its_new_owner_is_heard(gone_us: int) -> None:
    """The release is in the log that is loaded: no heartbeat interval is waited for again."""
    one = stretched(gone_us)
    assert one.freed == DONOR.freed
    assert one.loaded < one.given < one.loaded + REDISCOVERY
    assert RECEIVER.given < one.given
