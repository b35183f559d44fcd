"""What a run is estimated to cost, held against kernel events, which are exact and the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from groupsim.scenarios import list_names, load
from groupsim.scenarios.sweep.cost import Cost, cost_of
from groupsim.scenarios.sweep.expected_work import merged, work_of
from groupsim.scenarios.sweep.moments import beyond, mean_us, spread_us
from groupsim.sim import simulate
from groupsim.sim.model import Distribution
from groupsim.sim.units import S

STRATEGY = "groups.billing.config[partition.assignment.strategy]"
COMMIT = "groups.billing.processing.commit"
PARTITIONS = "topics.orders.partitions"
NEXT = "timeline[deploy].rolling_restart.next"
WITHIN = 1.6
UNFORESEEN = {"slow-assignor": 7.0, "slow-consumer": 3.5}
"""Groups that never become stable have more rebalances than an estimate knows of."""


@cache
def measured(name: str) -> int:
    return int(simulate(load(name), seed=1).manifest["events"])


def events(name: str, changes: Mapping[str, Any]) -> tuple[float, int]:
    """(estimated, counted)."""
    scenario = load(name, set_=changes)
    return cost_of(scenario).events, int(simulate(scenario, seed=1).manifest["events"])


@pytest.mark.parametrize("name", list_names())
def test_events_of_a_library_scenario_are_within_a_factor(name: str) -> None:
    error = math.log(cost_of(load(name)).events / measured(name))
    assert abs(error) < math.log(UNFORESEEN.get(name, WITHIN))


def test_what_costs_much_more_is_estimated_to_cost_more() -> None:
    known = [name for name in list_names() if name not in UNFORESEEN]
    pairs = [(a, b) for a in known for b in known if measured(a) > 2.5 * measured(b)]
    assert len(pairs) > 80
    assert [pair for pair in pairs if cost_of(load(pair[0])).events <= cost_of(load(pair[1])).events] == []


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("start-up-with-delay", {"groups.billing.members.count": 300}),
        ("kill-detection", {"groups.billing.count": 10}),
        ("kill-detection", {"horizon": "5h"}),
        ("kill-detection", {STRATEGY: ["cooperative-sticky"], "groups.billing.members.count": 40}),
        ("start-up-with-delay", {COMMIT: "before_processing", "groups.billing.members.count": 1, PARTITIONS: 3}),
        ("rolling-deploy", {"groups.billing.members.count": 10, PARTITIONS: 50}),
        ("rolling-deploy", {"groups.billing.members.count": 12, NEXT: {"gap": "1min"}}),
        ("rolling-deploy", {"groups.billing.members.static": True}),
        ("scale-out", {"groups.billing.members.count": 40, "timeline[double].scale.to": 80}),
        ("gc-storm", {"groups.billing.members.count": 10, "horizon": "6h"}),
        ("gc-storm", {"groups.billing.config[session.timeout.ms]": 45000}),
        ("outage", {"groups.billing.members.count": 100, PARTITIONS: 300}),
    ],
)  # fmt: skip
def test_events_of_a_variant_are_within_a_factor(name: str, changes: Mapping[str, Any]) -> None:
    estimated, counted = events(name, changes)
    assert abs(math.log(estimated / counted)) < math.log(WITHIN)


def test_a_run_that_exceeds_its_event_budget_is_known_before() -> None:
    scenario = load("outage", set_={COMMIT: "before_processing", "horizon": "24h"})
    assert cost_of(scenario).events > scenario.event_budget
    assert cost_of(load("outage")).events < scenario.event_budget / 1000


def test_seconds_grow_with_what_has_to_be_done() -> None:
    sizes = [10, 100, 1000]
    seconds = [cost_of(load("gc-storm", set_={"groups.billing.members.count": size})).seconds for size in sizes]
    assert seconds[0] * 5 < seconds[1]
    assert seconds[1] * 30 < seconds[2], "ten times the members have ten times the rebalances, each ten times as dear"
    narrow, wide = (cost_of(load("gc-storm", set_={PARTITIONS: n})) for n in (200, 20_000))
    assert wide.seconds > 2 * narrow.seconds
    assert wide.events == narrow.events
    drawn = {"groups.billing.processing.per_record": {"lognormal": {"median": "2ms", "p99": "5ms"}}}
    assert cost_of(load("gc-storm", set_=drawn)).seconds > 2 * cost_of(load("gc-storm")).seconds


def test_costs_add_up() -> None:
    assert Cost(2, 0.5) + Cost(1, 0.25).times(4) == Cost(6, 1.5)


@pytest.mark.parametrize("name", ["rolling-deploy", "scale-out", "kill-detection", "static-restart-inside-session"])
def test_rebalances_are_nearly_those_of_the_run(name: str) -> None:
    scenario = load(name, set_={"measure.from": "0s"})
    counted = int(simulate(scenario, seed=1).summary["rebalances"].sum())
    assert work_of(scenario, scenario.groups[0]).rebalances == pytest.approx(counted, abs=1.3, rel=0.1)


@pytest.mark.parametrize(
    ("distribution", "mean_s", "spread_s", "beyond_20_s"),
    [
        (Distribution("constant", (30 * S,)), 30, 0, 1),
        (Distribution("uniform", (10 * S, 30 * S)), 20, 20, 0.5),
        (Distribution("exponential", (20 * S,)), 20, 60, 0.3679),
        (Distribution("lognormal", (20 * S, 40 * S)), 20.908, 20, 0.5),
        (Distribution("empirical", (10 * S, 20 * S, 60 * S)), 30, 50, 1 / 3),
        (Distribution("lognormal", (20 * S, 20 * S)), 20, 0, 0),
        (Distribution("uniform", (0, 0)), 0, 0, 0),
    ],
)
def test_distributions_have_a_mean_a_spread_and_a_tail(
    distribution: Distribution, mean_s: float, spread_s: float, beyond_20_s: float
) -> None:
    assert mean_us(distribution) / S == pytest.approx(mean_s, rel=1e-4)
    assert spread_us(distribution) / S == spread_s
    assert beyond(distribution, 20 * S) == pytest.approx(beyond_20_s, abs=1e-4)


def test_arrivals_within_a_window_share_a_rebalance() -> None:
    assert merged(1, 0, 3) == 1
    assert merged(100, 0, 3) == pytest.approx(1)
    assert merged(10, 27_000, 3) == pytest.approx(10, rel=0.01)
    assert merged(1000, 297, 3) == pytest.approx(100, rel=0.01)
