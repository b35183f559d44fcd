"""Which repetitions share a broker's time."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.stage import together
from tests.oracle.translation import plan, read

SCENARIOS = Path(__file__).with_name("scenarios")


def batches(at_once: int, *names: str) -> list[list[str]]:
    plans = [plan(read(SCENARIOS / f"{name}.yaml"), 1) for name in names]
    return [[one.scenario.name for one in batch] for batch in together(plans, at_once)]


def test_as_many_play_at_once_as_were_asked_for() -> None:
    assert batches(2, *["join-range"] * 5) == [["join-range"] * 2, ["join-range"] * 2, ["join-range"]]


def test_a_large_group_plays_alone() -> None:
    assert batches(6, "join-range", "fifty-members", "fifty-members", "join-range") == [
        ["join-range"], ["fifty-members"], ["fifty-members"], ["join-range"],
    ]  # fmt: skip
