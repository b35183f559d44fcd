"""Elided and message fidelity give equal tables, and the invariants hold after every event.

With message fidelity every heartbeat, poll, commit and metadata refresh is an event; with elision quiet members are
arithmetic. Whatever differs between the two is a bug of the elision: a tie broken by chance, a pause forgotten, an
alarm not re-armed.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import ZERO, Distribution, Entry, Override, Processing, Restart, SetConfig, Target
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.random_scenarios import Family, random_scenario
from tests.support.scenarios import client, cooperative, group, join, kill, pause, scenario

pytestmark = pytest.mark.property

FAMILIES: tuple[Family, ...] = ("jitter", "grid", "dense", "crowd", "aged", "delivery")
SCENARIOS = {"jitter": 6, "grid": 7, "dense": 7, "crowd": 4, "aged": 7, "delivery": 7}
"""In a block; those of crowds are ten times as long."""
LONG = (("jitter", 19), ("grid", 5))
"""A commit after each of some hundred thousand batches, all of them events in either fidelity."""


def _differences(seed: int, family: Family) -> list[str]:
    return differences(random_scenario(seed, family), seed)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_both_fidelities_give_equal_tables(family: Family, block: int) -> None:
    count = SCENARIOS[family]
    seeds = [seed for seed in range(block * count, block * count + count) if (family, seed) not in LONG]
    different = {seed: names for seed in seeds if (names := _differences(seed, family))}
    assert not different, f"{family}: {different}"


@pytest.mark.slow
@pytest.mark.parametrize(("family", "seed"), LONG)
def test_both_fidelities_give_equal_tables_of_long_runs(family: Family, seed: int) -> None:
    assert not _differences(seed, family)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", range(20))
def test_both_fidelities_give_equal_tables_at_length(family: Family, block: int) -> None:
    first = 1000 + block * 50
    different = {seed: names for seed in range(first, first + 50) if (names := _differences(seed, family))}
    assert not different, f"{family}: {different}"


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        pytest.param(
            "dense", 141, id="quiet broadcast members were written down in the order in which they were woken"
        ),
        pytest.param("dense", 1157, id="woken in a short pause that a story made long: pauses in it were never over"),
        pytest.param("dense", 1224, id="the same"),
        pytest.param("dense", 1394, id="an answer read at the end of a pause made it quiet, then that end once more"),
        pytest.param("dense", 3026, id="quiet in the middle of a pass that exceeds max.poll.interval.ms"),
        pytest.param("jitter", 1594, id="a zombie took the books over while the owner stood still"),
        pytest.param("crowd", 4001, id="a group became too full when its members were on their way to rejoin"),
        pytest.param("aged", 167, id="an answer at the very instant of a poll: its commit was left out"),
        pytest.param("jitter", 62007, id="metadata was asked for again when it had been due before"),
        pytest.param("aged", 880014, id="who asked whether it would rejoin noted what for, though it left instead"),
        pytest.param("aged", 40018, id="a new leader asked for metadata before refreshes that nobody saw were counted"),
    ],
)
def test_scenarios_that_once_told_the_difference(family: Family, seed: int) -> None:
    assert not _differences(seed, family)


@pytest.mark.parametrize(
    "consumer", [client(enable_auto_commit=True), cooperative(enable_auto_commit=True)], ids=["eager", "cooperative"]
)
def test_a_heartbeat_is_due_between_a_poll_and_the_answer_to_its_commit(consumer: ClientConfig) -> None:
    often, slow = replace(consumer, heartbeat_interval_us=S), Processing(per_record=ZERO, per_poll_us=435 * MS)
    far = Distribution.constant(200 * MS)
    joined = join(20 * S + 185 * MS, 5)
    one = scenario(group(4, client=often, processing=slow), joined, horizon_us=40 * S, rate_mrps=20_000, latency=far)
    assert not differences(one, seed=5)


def test_a_zombie_stands_still_while_who_has_its_partitions_rejoins() -> None:
    """The owners have ended in the books before what the zombie has read of their partitions is written there."""
    slow = (
        Override(members=frozenset({0}), processing=Processing(per_poll_us=9 * S)),
        Override(members=frozenset({1}), processing=Processing(per_poll_us=40 * S)),
    )
    consumer = client(session_timeout_us=6 * S, heartbeat_interval_us=2 * S, max_poll_interval_us=90 * S)
    one = group(4, client=consumer, processing=Processing(per_poll_us=2 * S), overrides=slow)
    faults = (pause(20 * S, 7 * S, 1), join(31 * S, 5), pause(34 * S, 1_500 * MS, 1))
    assert not differences(scenario(one, *faults, horizon_us=45 * S, rate_mrps=400), seed=5)


def test_static_members_are_late_that_have_not_read_their_id_yet() -> None:
    """Their SyncGroups are on the way when the leader's is there; the id came with the answer before."""
    far = Distribution("lognormal", (500, 5 * MS))
    assert not differences(scenario(group(6, client=client(), static=True), horizon_us=12 * S, latency=far), seed=0)


@pytest.mark.parametrize(
    "consumer", [client(enable_auto_commit=True), cooperative(enable_auto_commit=True)], ids=["eager", "cooperative"]
)
def test_who_stood_still_for_most_of_its_session_is_out_before_it_beats(consumer: ClientConfig) -> None:
    """JoinGroups are answered after 25 s, which g/3 reads at 33 s: its SyncGroup renews nothing, it beats at 36 s."""
    faults = (join(20 * S, 5), pause(20_500 * MS, 5 * S, 2), pause(24 * S, 9 * S, 3))
    one = scenario(group(4, client=consumer), *faults, horizon_us=40 * S, partitions=4)
    assert not differences(one, seed=5)
    reasons = simulate(one, seed=5).tables["rebalances"]["reason"]
    assert reasons.iloc[-1] == "removing member g/3 on heartbeat expiration"


@pytest.mark.parametrize(
    "consumer", [client(), cooperative(), client(group_protocol="consumer")], ids=["eager", "cooperative", "consumer"]
)
def test_commits_of_batches_whose_costs_are_drawn_are_no_events(consumer: ClientConfig) -> None:
    drawn = Processing(per_record=Distribution("lognormal", (5 * MS, 50 * MS)), commit="after_batch")
    faults = (pause(12 * S, 300 * MS, 1), kill(15 * S, 2, down_us=4 * S), pause(23 * S, 2 * S, 0))
    one = scenario(group(4, client=consumer, processing=drawn), *faults, horizon_us=30 * S, rate_mrps=20_000)
    assert not differences(one, seed=5)
    assert simulate(one, seed=5, check=False).manifest["events"] < 3_000


def test_members_whose_costs_are_drawn_come_back_with_one_cost_for_all_records() -> None:
    """They resume in closed form, where what they drew before must be forgotten."""
    everybody, consumer = Target("group", "g"), client(enable_auto_commit=True)
    drawn = Processing(per_record=Distribution("lognormal", (4 * MS, 16 * MS)))
    constant = SetConfig(
        target=everybody, client=consumer, processing=Processing(per_record=Distribution.constant(30 * MS))
    )
    timeline = (
        join(20 * S, 7),
        Entry(id="config", at_us=30 * S, verb=constant),
        Entry(id="restart", at_us=31 * S, verb=Restart(target=everybody, down=Distribution.constant(S), stop="close")),
        join(50 * S, 8),
        pause(57 * S, 3 * S, 1),
        kill(60 * S, 2),
    )
    one = group(6, client=consumer, processing=drawn)
    assert not differences(scenario(one, *timeline, horizon_us=90 * S, rate_mrps=3_000), seed=3)
