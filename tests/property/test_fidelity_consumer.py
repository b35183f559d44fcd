"""Elided and message fidelity give equal tables for groups of the consumer protocol, and for groups of both.

The invariants of the published TLA+ model hold after every event (`sim.books.invariants.consumer_invariants`).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import Distribution, Entry, GcPause, Start, Target
from groupsim.sim.units import MS, S
from tests.support.consumer_scenarios import FAMILIES, Protocols, consumer_scenario
from tests.support.fidelity import differences
from tests.support.scenarios import LOOPBACK, close, group, scenario

pytestmark = pytest.mark.property


@pytest.mark.parametrize("protocols", ["consumer", "mixed"])
@pytest.mark.parametrize("family", FAMILIES)
def test_both_fidelities_give_equal_tables(family: str, protocols: Protocols) -> None:
    seeds = range(2)
    different = {seed: names for seed in seeds if (names := _differences(seed, family, protocols))}
    assert not different, f"{family}: {different}"


@pytest.mark.slow
@pytest.mark.parametrize("protocols", ["consumer", "mixed"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", range(10))
def test_both_fidelities_give_equal_tables_at_length(block: int, family: str, protocols: Protocols) -> None:
    seeds = range(1000 + block * 50, 1050 + block * 50)
    different = {seed: names for seed in seeds if (names := _differences(seed, family, protocols))}
    assert not different, f"{family}: {different}"


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        pytest.param("jitter", 2, id="a member was quiet that had a new subscription to tell"),
        pytest.param("crowd", 1, id="members that were behind computed the next target when they reported"),
        pytest.param(
            "aged", 91038, id="passes after everything was taken away between two of them went on from an old one"
        ),
        pytest.param(
            "crowd",
            700002,
            id="who was frozen while its pace changed was inside a poll() that had not begun by its clock",
        ),
        pytest.param("delivery", 6, id="a connection with a parked fetch, though nothing is read from that broker now"),
    ],
)
def test_scenarios_that_once_told_the_difference(family: str, seed: int) -> None:
    assert not _differences(seed, family, "consumer")


def test_a_pause_before_everything_is_taken_away_between_two_passes() -> None:
    """An old client without auto-commit gives up all at once when it is told to, whatever its application is at."""
    found = consumer_scenario(91038, "aged")
    before = [one for one in found.timeline if (one.at_us or 0) < 38 * S]
    for at, length in ((35_650, 150), (35_672, 20)):
        pause = GcPause(target=Target("group", "g", "all"), duration=Distribution.constant(length * MS))
        timeline = (*before, Entry(id="pause", at_us=at * MS, verb=pause))
        assert not differences(replace(found, horizon_us=38 * S, timeline=timeline), 91038), at


def test_epochs_of_which_the_log_was_late_stay() -> None:
    """JoinGroups of classic members in a consumer group were undone after offsets.commit.timeout.ms, as if refused."""
    assert not _differences(730202, "placed", "mixed")


def _differences(seed: int, family: str, protocols: Protocols) -> list[str]:
    return differences(consumer_scenario(seed, family, protocols), seed)


@pytest.mark.parametrize("seed", [1, 6, 7])
def test_sudden_pauses_of_members_that_are_behind_by_an_epoch(seed: int) -> None:
    pauses = Entry(
        id="gc",
        every=Distribution("exponential", (300 * MS,)),
        verb=GcPause(target=Target("group", "g", "random"), duration=Distribution("uniform", (300 * MS, 950 * MS))),
    )
    members = group(60, client=ClientConfig(group_protocol="consumer"), start=Start(kind="within", value_us=8 * S))
    leaves = [close(time * S, index) for index, time in enumerate((30, 50, 70))]
    found = scenario(members, *leaves, pauses, horizon_us=90 * S, partitions=120, latency=LOOPBACK)
    elided, message = (simulate(found, seed=seed, fidelity=one) for one in ("elided", "message"))
    assert elided.manifest["digests"] == message.manifest["digests"]


def test_a_member_that_owned_nothing_waits_as_of_its_last_heartbeat() -> None:
    """One after the other finds no offset and fails; the next is told of the partition after quiet heartbeats."""
    strict = ClientConfig(group_protocol="consumer", auto_offset_reset="none")
    found = scenario(group(5, client=strict), horizon_us=120 * S, partitions=1, latency=LOOPBACK)
    different = {seed: names for seed in (0, 2, 3) if (names := differences(found, seed))}
    assert not different


def test_a_thread_that_wakes_to_beat_sees_first_that_the_application_is_late() -> None:
    """Each batch of 500 takes as long as may be between two polls: only a heartbeat's instant can fall behind that."""
    hasty = ClientConfig(group_protocol="consumer", max_poll_interval_us=1 * S)
    found = scenario(group(1, client=hasty), horizon_us=40 * S, partitions=1, rate_mrps=500_000)
    assert simulate(found).summary.leaves.sum() == 3
    assert not differences(found, 1)


def test_passes_of_a_member_that_owns_nothing_are_later_by_its_pauses() -> None:
    """Two members, one partition, which goes from one to the other: whoever has none has paused again and again."""
    pauses = Entry(
        id="gc",
        every=Distribution("exponential", (3 * S,)),
        verb=GcPause(target=Target("group", "g", "random"), duration=Distribution.constant(900 * MS)),
    )
    hasty = ClientConfig(group_protocol="consumer", max_poll_interval_us=950 * MS)
    found = scenario(
        group(2, client=hasty), pauses, horizon_us=40 * S, partitions=1, rate_mrps=500_000, latency=LOOPBACK
    )
    different = {seed: names for seed in range(3) if (names := differences(found, seed))}
    assert not different
