"""What the scenario leader-death says, simulated: acks and idempotence decide what a leader's death costs.

Closed form: a follower has what was written two latencies before (10 ms each), so a leader that dies takes up to 20 ms
of its partition with it: two records, of one or two partitions, twice in a run.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.conformance.library.runs import runs

SEEDS = range(1, 3)
CONFIG = "producers.shop.config"
ALL: dict[str, Any] = {f"{CONFIG}[acks]": "all"}
IDEMPOTENT = {**ALL, f"{CONFIG}[enable.idempotence]": True}
NOBODY = {f"{CONFIG}[acks]": "0"}
NO_READERS: dict[str, Any] = {"groups.billing.members.count": 0}
FROM_THE_START: dict[str, Any] = {"groups.billing.config[auto.offset.reset]": "earliest", "measure.from": "0s"}
LOST = ["truncated_leader", "truncated_unclean", "lost_unsent"]


def fates(changes: dict[str, Any] | None = None) -> pd.DataFrame:
    """Table ``producers``, summed up: a row for each seed. Who reads makes no difference to it, so nobody does."""
    results = runs("leader-death", {**(changes or {}), **NO_READERS}, seeds=SEEDS)
    return pd.DataFrame([one.tables["producers"].select_dtypes("number").sum() for one in results])


def test_with_acks_1_what_was_acknowledged_is_lost() -> None:
    found = fates()
    assert found["truncated_leader"].between(1, 2 * 2 * 2 + 2).all()
    assert (found[["truncated_unclean", "lost_unsent", "failed"]] == 0).all(axis=None)
    assert (found["took_us_max"] > 0).all()


@pytest.mark.parametrize("changes", [None, ALL], ids=["1", "all"])
def test_readers_get_what_the_log_has_and_as_often(changes: dict[str, Any] | None) -> None:
    """What is in no log nobody has been shown; followers lack 20 ms of each partition at the horizon."""
    for result in runs("leader-death", {**(changes or {}), **FROM_THE_START}, seeds=SEEDS[:1]):
        assert not len(result.tables["delivery"])
        there = result.tables["producers"][["in_log", "duplicated"]].sum().sum()
        read = result.tables["members"]["records"].sum()
        assert there - 3 * 5 <= read <= there


def test_with_acks_all_nothing_is_lost_and_retries_write_twice_and_out_of_order() -> None:
    found = fates(ALL)
    assert (found[[*LOST, "failed"]] == 0).all(axis=None)
    assert (found["duplicated"] > 0).all()
    assert (found["reordered"] > 0).all()


def test_with_idempotence_nothing_is_lost_nor_written_twice_nor_out_of_order() -> None:
    found = fates(IDEMPOTENT)
    assert (found[[*LOST, "failed", "duplicated", "reordered"]] == 0).all(axis=None)
    assert (found["retries"] > 0).all()
    assert (found["in_log"] >= found["acknowledged"]).all()


def test_with_acks_0_more_is_lost_and_nobody_hears_of_it() -> None:
    found = fates(NOBODY)
    assert (found["lost_unsent"] > 0).all()
    assert (found[LOST].sum(axis=1) > fates()[LOST].sum(axis=1)).all()
    assert (found["acknowledged"] + found["open"] == found["records"]).all()
    assert (found["retries"] == 0).all()
