"""Which repetitions share a broker's time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.stage import Stage, together
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


class _Warm:
    """A JVM that has nothing to tell."""

    def lines(self) -> list[str]:
        return []


def test_a_jvm_that_has_rehearsed_with_as_many_plays_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, warm = Stage.__new__(Stage), _Warm()
    monkeypatch.setattr(Stage, "start_jvm", lambda *_: "a new one")
    for members, spoken, host in (
        (4, ["classic"], "a new one"),
        (3, ["consumer"], "a new one"),
        (3, ["classic"], warm),
    ):
        stage._idle, stage._warm = [warm], {warm: (3, ["classic"])}  # type: ignore[list-item,dict-item]
        assert stage._host("shared", members, spoken) == host
        assert (warm in stage._idle) is (host != warm)
