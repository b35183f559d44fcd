"""What the model has brokers take to lead partitions lies within what real brokers have taken."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from groupsim.sim.cluster.local_leaders import time_us
from groupsim.sim.config import Timing
from groupsim.sim.units import MS

RECORDED = Path(__file__).parents[1] / "golden" / "leader_changes" / "taken-over.csv"
EACH_US = int(Timing().leader_change.values[0])
FIRST_US = int(Timing().first_leader_change.values[0])


def recorded(number: int, *, is_first: bool) -> list[int]:
    """After how long brokers led so many, microseconds."""
    with RECORDED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["number"]) == number]
    return sorted(int(row["ms"]) * MS for row in rows if row["is_first"] == f"{is_first:d}")


@pytest.mark.parametrize("number", [20, 50, 100, 200, 500])
@pytest.mark.parametrize("is_first", [False, True])
def test_partitions_are_led_as_soon_as_they_were(number: int, is_first: bool) -> None:
    taken = recorded(number, is_first=is_first)
    assert taken[0] <= time_us(number, EACH_US) + FIRST_US * is_first <= taken[-1]


def test_a_process_that_was_started_again_takes_longer() -> None:
    later, first = recorded(1, is_first=False), recorded(1, is_first=True)
    assert first[len(first) // 2] - later[len(later) // 2] > FIRST_US / 4
