"""Groups that read what producers write, whoever is killed: what the log has is read, and nothing else.

What there is to be read is taken from the leaders' logs, record by record, not from the books.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.model import Scenario
from tests.support.producer_scenarios import Logs, random_writing

pytestmark = pytest.mark.property


def written_and_read(scenario: Scenario, seed: int) -> tuple[Logs, Result]:
    """A run in either fidelity, of one with invariants checked after every event; tables are the same."""
    with pytest.MonkeyPatch.context() as patch:
        logs = Logs(patch)
        elided, message = (
            simulate(scenario, seed=seed, fidelity=fidelity, check=fidelity == "elided")  # type: ignore[arg-type]
            for fidelity in ("elided", "message")
        )
    assert elided.manifest["digests"] == message.manifest["digests"]
    return logs, elided


def assert_the_log_is_read(logs: Logs, result: Result, group: str) -> None:
    """Each record that the log has is processed; more often only if the group repeats it."""
    read = result.tables["members"].query("group == @group").records.sum()
    found = result.tables["delivery"].query("group == @group").set_index("kind").records.groupby("kind").sum()
    assert "loss" not in found.index
    once = read - found.get("duplicate", 0)
    assert sum(logs.seen.values()) <= once <= sum(len(one) for one in logs.sent_us.values())


def assert_records_are_those_of_the_log(logs: Logs, records: pd.DataFrame) -> None:
    """Table ``records`` of one group: partition by partition, with the times at which they were sent."""
    for number, sent_us in logs.sent_us.items():
        rows = records[records.partition == number]
        first = rows[rows.delivery <= 1].sort_values("offset")
        assert first.offset.to_list() == list(range(len(sent_us)))
        assert first.produced_us.to_list() == sent_us
        assert (first.delivery[: logs.seen[number]] == 1).all()


@pytest.mark.parametrize("seed", [1, 10, 14, 37, 42, 45, 46, 47])
def test_what_is_in_the_log_is_read_whoever_is_killed(seed: int) -> None:
    scenario = random_writing(seed)
    logs, result = written_and_read(scenario, seed)
    there = int(result.tables["producers"][["in_log", "duplicated"]].sum().sum())
    seen = sum(len(one) for one in logs.sent_us.values())
    assert 0 < seen <= there
    for one in scenario.groups:
        if scenario.data == "exact":
            records = result.tables["records"]
            assert_records_are_those_of_the_log(logs, records[records.group == one.name])
        else:
            assert_the_log_is_read(logs, result, one.name)
    assert np.isfinite(result.summary.lag_s_max).all()
