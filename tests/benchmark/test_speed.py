"""How fast one core is, with exact event counts.

A slow machine never turns these red: seconds are printed, event counts are asserted. ``make bench`` runs all of them;
the small ones also run with the other tests, for their counts.
"""

from __future__ import annotations

import resource
import time
from dataclasses import replace
from typing import Any

import pytest

from groupsim.scenarios import load
from groupsim.sim import Result, simulate
from groupsim.sim.protocol.consumer.targets import Targets
from groupsim.sim.units import MINUTE
from tests.benchmark.worlds import Variant, rolled, sharing, transactional, world

CONSUMER_EVENTS = {"100 groups": 458_857, "30 targets": 317_677}
EVENTS = {"100": 1_757, "1,000": 17_291, "100 groups": 182_407, "1 group": 267_820, "38 minutes": 188_210}
VARIANTS: dict[Variant, tuple[int, int]] = {
    "cooperative": (2_548, 25_487),
    "static": (1_655, 15_375),
    "after_batch": (1_804, 17_339),
    "consumer": (4_121, 37_237),
}
"""Events of an hour of 100 x 1,000, and of 1,000 x 10,000."""
ROLL_EVENTS = 3_453
SMALL_GROUPS_EVENTS = 64_395
BROKER_ROLL_EVENTS = 12_142
SHARED_ROLL_EVENTS = 57_193
TRANSACTION_EVENTS = {"100": 5_946, "1,000": 111_296}
"""Three minutes of 100 members and 39,646 transactions, four of 1,000 and 534,693; both with pauses."""
FIDELITY_EVENTS = {"elided": 1_074, "message": 125_757}
"""Exact; a change of the model or of the elision changes them on purpose."""
PEER_S = 12
"""What 100 x 1,000 x 1 h took franz-go's kfake under virtual time, CPU seconds: measured once, on another machine."""


def _run(name: str, bar_s: float, **shape: Any) -> Result:
    scenario = world(**shape)
    started, cpu = time.perf_counter(), time.process_time()
    result = simulate(scenario)
    wall, used = time.perf_counter() - started, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rebalances = int(result.summary.rebalances.sum())
    print(
        f"\n{name:<44} {wall:7.2f} s wall {used:7.2f} s cpu (bar {bar_s:g} s)  "
        f"{result.manifest['events']:>10,} events  {rebalances:>4} rebalances  peak {memory:,.0f} MiB"
    )
    return result


def test_hundred_members_a_thousand_partitions() -> None:
    result = _run("100 x 1,000 x 1 h", 0.2, groups=1, members=100, partitions=1_000, kills=1)
    assert result.manifest["events"] == EVENTS["100"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_hundred_members_that_are_not_plain(variant: Variant) -> None:
    shape: dict[str, Any] = {"groups": 1, "members": 100, "partitions": 1_000, "kills": 1}
    result = _run(f"100 x 1,000 x 1 h, {variant}", 0.2, **shape, variant=variant)
    if variant == "consumer":
        print(f"{'100 x 1,000 x 1 h, kfake of franz-go':<44} {'':>14} {PEER_S:7.2f} s cpu (recorded)")
    assert result.manifest["events"] == VARIANTS[variant][0]


def test_a_rolling_deploy_that_commits_at_every_poll() -> None:
    scenario = load("rolling-deploy")
    (group,) = scenario.groups
    scenario = replace(scenario, groups=(replace(group, processing=replace(group.processing, commit="after_batch")),))
    started = time.process_time()
    result = simulate(scenario)
    print(f"\nrolling-deploy, after_batch: {time.process_time() - started:.2f} s cpu (bar 3 s)")
    assert result.manifest["events"] == ROLL_EVENTS


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_thousand_members_that_are_not_plain(variant: Variant) -> None:
    shape: dict[str, Any] = {"groups": 1, "members": 1_000, "partitions": 10_000, "kills": 3}
    result = _run(f"1,000 x 10,000 x 1 h, {variant}", 3, **shape, variant=variant)
    assert result.manifest["events"] == VARIANTS[variant][1]


@pytest.mark.slow
def test_a_thousand_groups_of_three() -> None:
    result = _run("1,000 groups of 3, a tenth of 10,000 groups", 6, groups=1_000, members=3, partitions=30, kills=30)
    assert result.manifest["events"] == SMALL_GROUPS_EVENTS


@pytest.mark.slow
def test_groups_with_topics_of_their_own_whose_brokers_are_rolled() -> None:
    """What costs is the roll, which is as long in 14 minutes as in an hour."""
    quiet = world(groups=4, members=30, partitions=300, kills=0, horizon_us=14 * MINUTE)
    started = time.process_time()
    result = simulate(rolled(quiet, brokers=6))
    print(f"\n4 groups, 30 x 300, six brokers rolled: {time.process_time() - started:.2f} s cpu")
    assert result.manifest["events"] == BROKER_ROLL_EVENTS


@pytest.mark.slow
def test_groups_that_share_topics_whose_brokers_are_rolled() -> None:
    """A tenth of 300 groups of 30, for which the bar is 15 s."""
    shared = sharing(world(groups=30, members=30, partitions=60, kills=0), topics=10)
    started = time.process_time()
    result = simulate(rolled(shared, brokers=6))
    print(
        f"\n30 groups of 30 over ten topics, six brokers rolled: {time.process_time() - started:.2f} s cpu (bar 1.5 s)"
    )
    assert result.manifest["events"] == SHARED_ROLL_EVENTS


@pytest.mark.parametrize(
    ("members", "minutes"), [("100", 3), pytest.param("1,000", 4, marks=pytest.mark.slow)], ids=["100", "1000"]
)
def test_transactions_of_members_that_pause(members: str, minutes: int) -> None:
    """The bar is 10 s for an hour of 1,000 members."""
    count = int(members.replace(",", ""))
    quiet = world(groups=1, members=count, partitions=10 * count, kills=0, horizon_us=minutes * MINUTE)
    started = time.process_time()
    result = simulate(transactional(quiet, partitions=100))
    committed = int(result.tables["transactions"].committed.sum())
    print(f"\n{committed:,} transactions of {members} members: {time.process_time() - started:.2f} s cpu")
    assert result.manifest["events"] == TRANSACTION_EVENTS[members]


def test_elision_against_an_event_for_everything() -> None:
    scenario = world(groups=1, members=100, partitions=1_000, kills=1, horizon_us=6 * MINUTE)
    seconds, events = {}, {}
    for fidelity in ("elided", "message"):
        started = time.perf_counter()
        result = simulate(scenario, fidelity=fidelity)  # type: ignore[arg-type]
        seconds[fidelity], events[fidelity] = time.perf_counter() - started, result.manifest["events"]
    ratio = seconds["message"] / seconds["elided"]
    print(f"\n100 x 1,000 x 6 min: message / elided = {ratio:.1f} in time, events {events}")
    assert events == FIDELITY_EVENTS


@pytest.mark.slow
def test_thousand_members_ten_thousand_partitions() -> None:
    result = _run("1,000 x 10,000 x 1 h", 3, groups=1, members=1_000, partitions=10_000, kills=3)
    assert result.manifest["events"] == EVENTS["1,000"]


@pytest.mark.slow
@pytest.mark.scale
def test_hundred_groups_of_a_hundred() -> None:
    result = _run("100 groups, 10,000 x 100,000 x 1 h", 30, groups=100, members=100, partitions=1_000, kills=300)
    assert result.manifest["events"] == EVENTS["100 groups"]


@pytest.mark.slow
@pytest.mark.scale
def test_one_group_of_ten_thousand() -> None:
    result = _run("1 group, 10,000 x 100,000 x 1 h", 60, groups=1, members=10_000, partitions=100_000, kills=3)
    assert int(result.summary.rebalances.sum()) == 46
    assert result.manifest["events"] == EVENTS["1 group"]


@pytest.mark.slow
@pytest.mark.scale
def test_38_minutes_of_one_group_of_ten_thousand() -> None:
    shape: dict[str, Any] = {"groups": 1, "members": 10_000, "partitions": 100_000, "kills": 3}
    result = _run("38 minutes of the same", 60, **shape, horizon_us=38 * MINUTE)
    assert int(result.summary.rebalances.sum()) == 30
    assert result.manifest["events"] == EVENTS["38 minutes"]


@pytest.mark.slow
@pytest.mark.scale
def test_hundred_consumer_groups_of_a_hundred() -> None:
    shape: dict[str, Any] = {"groups": 100, "members": 100, "partitions": 1_000, "kills": 300}
    result = _run("100 groups, 10,000 x 100,000 x 1 h, consumer", 25, **shape, variant="consumer")
    assert result.manifest["events"] == CONSUMER_EVENTS["100 groups"]


@pytest.mark.slow
@pytest.mark.scale
def test_thirty_targets_of_a_consumer_group_of_ten_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first convergence, pauses alone bring 30: each costs a member its session, and lets it join again."""
    computed: list[int] = []
    compute = Targets.compute

    def counted(self: Targets, now: int) -> None:
        computed.append(now)
        compute(self, now)

    monkeypatch.setattr(Targets, "compute", counted)
    shape: dict[str, Any] = {"groups": 1, "members": 10_000, "partitions": 100_000, "kills": 0}
    result = _run("30 targets of 1 group, 10,000 x 100,000", 45, **shape, variant="consumer", horizon_us=23 * MINUTE)
    rebalances = result.tables["rebalances"]
    converged_us = rebalances["end_us"][rebalances["members_after"] == 10_000].min()
    assert sum(now > converged_us for now in computed) == 30
    assert result.manifest["events"] == CONSUMER_EVENTS["30 targets"]
