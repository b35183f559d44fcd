"""What the sweep transaction-length says, simulated.

Closed form: a transaction of n records takes n x p + c, p the time of a record (1 ms), c what it costs to end it and
to poll again, whatever n is. At a rate r that leaves time, what has come meanwhile is n = r x c / (1 - r x p). What has
come until a run ends, R records, leaves its span - R x p for what N transactions cost: n = R / N is on average
R x c / (span - R x p), which counts what has come before the first poll() too.

A batch that is shorter than what its first record may wait for the markers of the transaction before takes longer.
"""

from __future__ import annotations

from functools import cache

import pytest

from groupsim.scenarios.sweep.loading import Variant, load_sweep
from groupsim.sim import Result, simulate
from groupsim.sim.cluster.transactions import transactions
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import rows
from tests.unit.sim.transactional_scenes import output, total

BOUND = "groups.billing.config[max.poll.records]"
RECORD_MS, RATE_PER_MS = 1, 0.6


def variant_of(load: str, bound: int) -> Variant:
    """The first replication of a variant."""
    variants = load_sweep("transaction-length").variants
    return next(each for each in variants if each.name.startswith(load) and each.changes[BOUND] == bound)


@cache
def run(load: str, bound: int) -> Result:
    one = variant_of(load, bound)
    return simulate(one.scenario, seed=one.seed)


def cost_ms(result: Result, bound: int) -> float:
    """c, from a backlog: what a transaction takes beside its records."""
    (summary,) = rows(result, "summary")
    span_ms = float(summary["horizon_s"] - summary["first_service_s"]) * S / MS
    return span_ms / total(result, "committed") - bound * RECORD_MS


def batch_records(result: Result, cost: float) -> float:
    """n of a whole run at the steady rate."""
    (summary,) = rows(result, "summary")
    records = RATE_PER_MS * summary["horizon_s"] * S / MS
    span_ms = (summary["horizon_s"] - summary["first_service_s"]) * S / MS
    return float(records * cost / (span_ms - records * RECORD_MS))


def readers_wait_ms(result: Result) -> float:
    return float(max(one["blocked_us_max"] for one in rows(result, "output"))) / MS


def test_what_a_transaction_costs_does_not_depend_on_its_length() -> None:
    cost = cost_ms(run("backlog", 30), 30)
    assert 15 < cost < 18
    for bound in (30, 100, 300):
        result = run("backlog", bound)
        (summary,) = rows(result, "summary")
        span_ms = (summary["horizon_s"] - summary["first_service_s"]) * S / MS
        expected = span_ms * bound / (bound * RECORD_MS + cost)
        assert total(result, "records_committed") == pytest.approx(expected, abs=2 * bound), "the last one is open"
        assert output(result)["read_committed"] == (0, 0)


def test_a_batch_shorter_than_the_leaders_backoff_waits_for_markers(monkeypatch: pytest.MonkeyPatch) -> None:
    """`add.partitions.to.txn.retry.backoff.ms` is all that short transactions cost more."""
    late, cost = cost_ms(run("backlog", 10), 10), cost_ms(run("backlog", 30), 30)
    assert 2 < late - cost < 4
    monkeypatch.setattr(transactions, "_RETRY_US", MS)
    variant = variant_of("backlog", 10)
    prompt = simulate(variant.scenario, seed=variant.seed)
    assert cost_ms(prompt, 10) == pytest.approx(cost, abs=0.3)


def test_readers_wait_for_the_whole_batch() -> None:
    cost = cost_ms(run("backlog", 30), 30)
    for bound in (30, 100, 300):
        wait = readers_wait_ms(run("backlog", bound))
        assert 0.75 * bound * RECORD_MS < wait < bound * RECORD_MS + 2 * cost


def test_a_bound_above_what_comes_meanwhile_decides_nothing_and_one_below_falls_behind() -> None:
    cost = cost_ms(run("backlog", 30), 30)
    natural = RATE_PER_MS * cost / (1 - RATE_PER_MS * RECORD_MS)
    assert 10 < natural < 30
    (behind,), *kept = (rows(run("steady", bound), "summary") for bound in (10, 30, 300))
    assert behind["lag_records_end"] > 1_000
    counts = [total(run("steady", bound), "committed") for bound in (30, 300)]
    assert counts[0] == pytest.approx(counts[1], rel=0.05)
    for (summary,), bound in zip(kept, (30, 300), strict=True):
        assert summary["lag_records_end"] < 2 * natural
        result = run("steady", bound)
        assert total(result, "records_committed") / total(result, "committed") == pytest.approx(
            batch_records(result, cost), rel=0.1
        )
