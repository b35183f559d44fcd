"""How far a metric moved, and what can be said of noise."""

from __future__ import annotations

import pytest

from groupsim.analysis.data.metrics import METRICS
from groupsim.analysis.stats.drift import drift

GAP = METRICS["unavailable_gap_s_max"]
RECOVERY = METRICS["recovery_s"]


def test_equal_runs_have_not_moved() -> None:
    found = drift(GAP, [1.0, 2.0, None], [1.0, 2.0, None])
    assert (found.moved, found.nulls, found.runs) == ((), (), 3)
    assert found.difference.mean == 0


def test_the_last_digit_of_a_sum_is_no_difference() -> None:
    assert drift(GAP, [0.1 + 0.2, 1400.928586], [0.3, 1400.9285860000001]).moved == ()
    assert drift(GAP, [1400.928586], [1400.928587]).moved == (0,), "a microsecond is one"


def test_the_run_that_moved_farthest_comes_first_and_one_that_became_null_before_it() -> None:
    assert drift(GAP, [1, 1, 1, 1], [2, 1, 9, -3]).moved == (2, 3, 0)
    assert drift(RECOVERY, [1, 1, 1], [2, 9, None]).moved == (2, 1, 0)


def test_means_and_the_paired_difference_have_intervals() -> None:
    found = drift(GAP, [10.0, 20.0, 30.0], [11.0, 21.1, 30.9])
    assert (found.before.mean, found.after.mean) == (20.0, pytest.approx(21.0))
    assert found.difference.mean == pytest.approx(1.0)
    assert found.difference.half_width == pytest.approx(4.302653 * 0.1 / 3**0.5, rel=1e-5)
    assert found.before.half_width == pytest.approx(4.302653 * 10 / 3**0.5, rel=1e-5)
    assert found.share == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("before", "after", "is_noise", "says"),
    [
        ([10.0, 20.0, 30.0], [11.0, 21.1, 30.9], False, "beyond noise: the 95 % interval"),
        ([10.0, 20.0, 30.0], [15.0, 15.0, 30.0], True, "within noise"),
        ([10.0, 20.0, 30.0], [11.0, 21.0, 31.0], False, "beyond noise: every run moved by the same"),
        ([10.0], [11.0], None, "one run cannot say"),
        ([10.0, 20.0, 30.0], [10.0, 20.0, None], None, "one side is null"),
    ],
)
def test_noise_is_told_by_the_pairs(
    before: list[float], after: list[float | None], is_noise: bool | None, says: str
) -> None:
    found = drift(RECOVERY, before, after)
    assert found.is_noise is is_noise
    assert says in found.noise_text()


def test_pairs_find_what_two_intervals_would_hide() -> None:
    found = drift(GAP, [10.0, 20.0, 30.0], [11.0, 21.1, 30.9])
    assert found.before.high is not None
    assert found.after.low is not None
    assert found.before.high > found.after.low
    assert found.is_noise is False


def test_text_speaks_the_unit_that_reads_well() -> None:
    found = drift(GAP, [0.3, 0.5], [0.4, 0.7])
    assert found.text(found.before) == "400 ± 1,271 ms"
    assert found.moved_text() == "+150 ms"
    assert found.moved_text(interval=True) == "+150 ± 635 ms"
    assert drift(GAP, [600.0], [599.9]).moved_text() == "-100 ms", "a small difference of large numbers"


def test_null_everywhere_is_told_as_null() -> None:
    found = drift(RECOVERY, [None, None], [30.0, 31.0])
    assert found.text(found.before) == "null"
    assert found.moved_text() == ""
    assert found.share is None
    assert found.nulls == (0, 1)


def test_a_share_of_nothing_is_not_told() -> None:
    assert drift(GAP, [0.0], [1.0]).share is None


def test_samples_of_other_lengths_are_no_pairs() -> None:
    with pytest.raises(ValueError, match="not pairs"):
        drift(GAP, [1.0], [1.0, 2.0])
