"""What is shown to agree and what is not, on intervals worked out by hand and on a recording with a planted bias."""

from __future__ import annotations

import pytest

from tests.oracle.equivalence import (
    DIFFERS,
    NOT_SHOWN,
    SHOWN,
    difference,
    interval,
    judged,
    of_count,
    of_durations,
)
from tests.oracle.study import Replayed, played, recordings, replays
from tests.oracle.trace import Fact

TIMES = ("at_us", "from_us", "first_fetch_us", "to_us")


@pytest.fixture(scope="module")
def replayed() -> list[Replayed]:
    """One member that starts alone: a join phase of 3 s and a sync phase of the network's."""
    return list(replays(played("start-1-delay-3"), recordings("start-1-delay-3")))


def delayed(told: list[Fact], state: str, by_us: int) -> list[Fact]:
    """A run in which everything from the first entry into a state on comes later."""
    since = next(fact["at_us"] for fact in told if fact["what"] == "transition" and fact["state"] == state)
    return [
        {key: value + by_us if key in TIMES and value is not None and value >= since else value
         for key, value in fact.items()}
        for fact in told
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "by_us", "figure"),
    [
        ("CompletingRebalance", 1_000_000, "round 1: join phase"),
        ("CompletingRebalance", -1_000_000, "round 1: join phase"),
        ("Stable", 50_000, "round 1: sync phase"),
    ],
)
def test_a_planted_bias_is_found(replayed: list[Replayed], state: str, by_us: int, figure: str) -> None:
    pairs = [(one.recording, one.told) for one in replayed]
    before = {one.figure: one for one in of_durations("start", pairs)}
    assert before[figure].verdict == SHOWN
    after = {one.figure: one for one in of_durations("start", [(a, delayed(list(b), state, by_us)) for a, b in pairs])}
    assert after[figure].verdict == DIFFERS
    assert after[figure].low == pytest.approx((before[figure].low or 0) + by_us / 1e6)


def test_timers_and_the_network_have_bounds_of_their_own(replayed: list[Replayed]) -> None:
    found = {one.figure: one for one in of_durations("start", [(one.recording, one.told) for one in replayed])}
    assert (found["round 1: join phase"].kind, found["round 1: join phase"].bound) == ("timer", 0.1)
    assert (found["round 1: sync phase"].kind, found["round 1: sync phase"].bound) == ("network", 0.02)


def test_runs_of_another_course_show_nothing(replayed: list[Replayed]) -> None:
    other = [fact for fact in replayed[0].told if fact.get("state") != "Stable"]
    (only,) = of_durations("start", [(replayed[0].recording, other)])
    assert (only.figure, only.n, only.verdict) == ("every duration", 0, NOT_SHOWN)


def test_the_interval_is_students() -> None:
    low, high = interval([1.0, 2.0, 3.0])
    assert (low, high) == pytest.approx((2 - 2.919986 / 3**0.5, 2 + 2.919986 / 3**0.5))
    assert interval([1.0]) == (None, None)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.02, 0.02, SHOWN), (-0.021, 0.0, NOT_SHOWN), (0.0, 0.021, NOT_SHOWN), (0.021, 0.03, DIFFERS),
        (-0.03, -0.021, DIFFERS), (-1.0, 1.0, NOT_SHOWN), (None, None, NOT_SHOWN),
    ],
)  # fmt: skip
def test_an_interval_is_within_the_bound_outside_or_neither(
    low: float | None, high: float | None, verdict: str
) -> None:
    assert judged(low, high, 0.02) == verdict


@pytest.mark.parametrize(
    ("real", "mine", "verdict"),
    [
        ([1.0] * 6, [1.0] * 40, NOT_SHOWN),  # however alike: six show nothing
        ([1.0] * 29, [1.0] * 400, NOT_SHOWN),
        ([1.0] * 30, [1.0] * 40, SHOWN),
        ([1.0] * 100 + [2.0] * 100, [1.0] * 100 + [2.0] * 100, SHOWN),
        ([1.0] * 20 + [2.0] * 10, [1.0] * 28 + [2.0] * 12, NOT_SHOWN),
        ([1.0] * 30, [1.0] * 10 + [2.0] * 30, DIFFERS),
    ],
)
def test_counts_need_thirty_repetitions_and_like_frequencies(
    real: list[float], mine: list[float], verdict: str
) -> None:
    assert of_count("s", "rounds", real, mine).verdict == verdict


def test_the_difference_of_frequencies_is_newcombes() -> None:
    """Newcombe's first example, at his 95 %: 56 of 70 against 48 of 80 is 0.2, from 0.0524 to 0.3339."""
    low, high = difference(48, 80, 56, 70)
    assert 0.0524 < low < 0.2 < high < 0.3339  # 90 % is narrower
    assert (low, high) == pytest.approx((0.0772, 0.3137), abs=0.002)
