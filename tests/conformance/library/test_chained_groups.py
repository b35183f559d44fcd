"""What the library says about chains of groups, simulated."""

from __future__ import annotations

import pytest

from groupsim import load, simulate
from groupsim.sim import Result
from tests.unit.sim.scenes import rows, summary


@pytest.fixture(scope="module")
def chain() -> Result:
    return simulate(load("chained-groups"), seed=1)


def oldest_s(result: Result, group: str, begin_s: int, end_s: int) -> float:
    """Age of the oldest unprocessed record at any sample of a time, seconds."""
    lag = rows(result, "lag", group=group)
    return max(one["lag_us"] for one in lag if begin_s * 1e6 <= one["time_us"] < end_s * 1e6) / 1e6


def read(result: Result, group: str) -> int:
    """Records that members of a group have processed."""
    return sum(one["records"] for one in rows(result, "members", group=group))


def test_a_record_waits_for_the_end_of_its_transaction(chain: Result) -> None:
    assert 0.15 < oldest_s(chain, "shipping", 12, 29) < 0.35
    assert oldest_s(chain, "audit", 12, 29) < 0.1


def test_a_transaction_that_hangs_stops_who_reads_committed_records_and_nobody_sees_lag(chain: Result) -> None:
    """Soon after 60 s the member dies; the coordinator's scan at 80 s finds its transaction older than 15 s."""
    blocked_s = max(one["blocked_us_max"] for one in rows(chain, "output", group="billing")) / 1e6
    assert 15 < blocked_s < 25.5
    assert oldest_s(chain, "shipping", 62, 80) < 0.5
    assert summary(chain, "shipping").lag_s_max == pytest.approx(blocked_s, abs=0.5)
    assert oldest_s(chain, "mailing", 80, 90) > 5 * oldest_s(chain, "mailing", 62, 80)
    assert summary(chain, "audit").lag_s_max < 3


def test_what_is_aborted_is_read_by_who_asks_for_it_alone(chain: Result) -> None:
    aborted = sum(one["records_aborted"] for one in rows(chain, "transactions", group="billing"))
    committed = sum(one["records_committed"] for one in rows(chain, "transactions", group="billing"))
    assert aborted > 20
    assert committed - 50 <= read(chain, "shipping") <= committed
    assert committed + aborted - 50 <= read(chain, "audit") <= committed + aborted + 50
    assert {one["kind"] for one in rows(chain, "delivery", group="shipping")} == set()


def test_what_an_abort_has_read_again_is_counted_where_it_was(chain: Result) -> None:
    again = {one["cause"]: one["records"] for one in rows(chain, "delivery", group="billing", kind="duplicate")}
    assert again["abort"] > 0
    assert sum(again.values()) == sum(one["duplicates"] for one in rows(chain, "partitions", group="billing"))


def test_nobody_is_behind_in_the_end(chain: Result) -> None:
    assert [summary(chain, name).lag_records_end < 20 for name in ("shipping", "mailing", "audit")] == [True] * 3
