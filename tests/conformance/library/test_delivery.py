"""What kills lose and repeat, record by record: delivery-modes, and the cure of broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from groupsim.sim import Result
from tests.conformance.library.runs import runs
from tests.unit.sim.scenes import delivered

SEEDS = range(1, 3)
COMMIT = "groups.billing.processing.commit"
RATE = 80
"""Records a second of a consumer's four partitions."""


def fates(commit: Any) -> tuple[int, int, int, Sequence[Result]]:
    """Records lost by a kill, records repeated, kills, and the runs."""
    results = runs("delivery-modes", {COMMIT: commit}, SEEDS)
    records = [one.tables["records"] for one in results]
    lost = sum(int((one["lost"] == "kill").sum()) for one in records)
    again = sum(int((one["delivery"] > 1).sum()) for one in records)
    kills = sum(int((one.tables["members"]["ended_by"] == "killed").sum()) for one in results)
    return lost, again, kills, results


def test_at_most_once_loses_and_never_repeats() -> None:
    lost, _, kills, results = fates("before_processing")
    assert 0 < lost < RATE * kills, "a batch is of half a second or so"
    assert not any(("duplicate", "kill") in delivered(one) for one in results)


@pytest.mark.parametrize("commit", [{"sync": "batch"}, {"async": "batch"}, "auto"], ids=str)
def test_at_least_once_repeats_and_never_loses(commit: Any) -> None:
    _, again, kills, results = fates(commit)
    assert all((one.tables["records"]["lost"] == "").all() for one in results)
    assert 0 < again < 6 * RATE * kills


def test_what_is_repeated_grows_with_the_interval() -> None:
    by_kill, by_rebalance = {}, {}
    for seconds in (1, 5, 20):
        _, _, kills, results = fates({"async": f"{seconds}s"})
        for cause, each in (("kill", by_kill), ("re-read", by_rebalance)):
            each[seconds] = sum(delivered(one)["duplicate", cause] for one in results) / kills
    assert by_kill[1] < by_kill[5] < by_kill[20]
    assert by_kill[20] == pytest.approx(10 * RATE, rel=0.5)
    again = {seconds: by_rebalance[seconds] / by_kill[seconds] for seconds in by_kill}
    assert 1 < again[1] < 2 < min(again[5], again[20]), "an interval of 1 s is hardly longer than a batch"


def test_a_group_each_cures_broadcast() -> None:
    cure = {
        "groups.cache.count": 5,
        "groups.cache.members.count": 1,
        "groups.cache.config[partition.assignment.strategy]": ["range"],
        "timeline[crash].kill.target": "cache-2/0",
    }
    kept = {"groups.cache.processing.commit": "outside"}
    assert all(one.summary["losses"].sum() == 0 for one in runs("broadcast", kept, SEEDS))
    for one in runs("broadcast", cure, SEEDS):
        assert one.summary["losses"].sum() == 0
        assert one.summary.set_index("group")["unavailable_gap_s_max"].drop("cache-2").max() < 5
    assert all(one.summary["losses"].sum() > 10_000 for one in runs("broadcast", {}, SEEDS))
