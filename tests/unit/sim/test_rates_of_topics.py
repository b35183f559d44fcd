"""A rate of a whole topic: its partitions share it, however many there are."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.scenarios import parse
from groupsim.sim import simulate
from groupsim.sim.model import Rate

GROWTH = {"at": "2min", "add_partitions": {"topic": "t", "to": 20}}
DOUBLED = {"at": "3min", "set_rate": {"topic": "t", "rate": {"total": 200}}}


def _produced(rate: dict[str, Any], *timeline: dict[str, Any], **more: Any) -> list[int]:
    """How many records a group has processed after four minutes, in both fidelities."""
    members = {"count": 4}
    group = {
        "topics": ["t"], "config": {"auto.offset.reset": "earliest", "metadata.max.age.ms": 10_000}, "members": members,
        "processing": {"per_record": "1ms"},
    }  # fmt: skip
    document = {
        "version": 1, "question": "?", "horizon": "4min", "topics": {"t": {"partitions": 10, "rate": rate}},
        "groups": {"g": group}, "timeline": list(timeline), **more,
    }  # fmt: skip
    scenario = parse(document, file="s.yaml", name="s")
    runs = [simulate(scenario, fidelity=fidelity) for fidelity in ("elided", "message")]  # type: ignore[arg-type]
    assert runs[0].manifest["digests"] == runs[1].manifest["digests"]
    return [sum(row["records"] for row in run.tables.rows("members")) for run in runs]


@pytest.mark.parametrize("rate", [{"total": 100}, {"total": 100, "zipf": 1}])
@pytest.mark.parametrize("data", ["fluid", "exact"])
def test_a_topic_that_grows_is_produced_to_at_the_same_rate(rate: dict[str, Any], data: str) -> None:
    for records in _produced(rate, GROWTH, data=data):
        assert abs(records - 24_000) <= 20, "a record a partition is under way"


def test_a_rate_that_is_set_later_is_of_all_partitions_that_there_are() -> None:
    for records in _produced({"total": 100}, GROWTH, DOUBLED):
        assert abs(records - 30_000) <= 20


def test_a_rate_of_each_partition_holds_for_new_ones_too() -> None:
    for records in _produced({"per_partition": 10}, GROWTH):
        assert abs(records - 36_000) <= 20


def test_shares_follow_zipf_whatever_the_number_of_partitions() -> None:
    rate = Rate.of_topic(110.0, 1.0, 2)
    assert rate.per_partition_mrps == ((73_333, 36_667),)
    assert rate.among(3).per_partition_mrps == ((60_000, 30_000, 20_000),)
    assert rate.among(3).among(2) == rate
