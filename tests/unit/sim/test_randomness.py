"""Numbers with names: single draws and ranges are bit-equal, distributions are what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.model import Distribution
from groupsim.sim.randomness import Draw, Streams, hash64, hash64_array, longest, mean_of, name_hash
from groupsim.sim.units import MS, S

KEYS = st.integers(0, (1 << 64) - 1)
DISTRIBUTIONS = (
    Distribution("constant", (1_234,)),
    Distribution("uniform", (100, 900)),
    Distribution("exponential", (5 * S,)),
    Distribution("lognormal", (300 * MS, 12 * S)),
    Distribution("lognormal", (500, 500)),
    Distribution("empirical", (3, 3, 10, 400)),
)
every_kind = pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda one: f"{one.kind}{one.values}")


def test_splitmix64_is_splitmix64() -> None:
    """The published first outputs for seeds 0 and 1234567."""
    assert hash64(0, 0) == 0xE220A8397B1DCDAF
    assert [hash64(1_234_567, number) for number in range(3)] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423,
    ]  # fmt: skip


@given(KEYS, st.integers(0, 1 << 40), st.integers(0, 50))
def test_a_range_of_hashes_is_the_hashes(key: int, first: int, count: int) -> None:
    numbers = np.arange(first, first + count, dtype=np.uint64)
    assert hash64_array(np.uint64(key), numbers).tolist() == [hash64(key, first + index) for index in range(count)]


@every_kind
@given(key=KEYS, first=st.integers(0, 1 << 32), count=st.integers(0, 40))
def test_a_range_of_draws_is_the_draws(distribution: Distribution, key: int, first: int, count: int) -> None:
    draw = Draw(key, distribution)
    found = draw.range(first, count)
    assert found.dtype == np.int64
    assert found.tolist() == [draw(first + index) for index in range(count)]


@every_kind
def test_what_is_drawn_has_the_mean_and_stays_below_the_longest(distribution: Distribution) -> None:
    drawn = Draw(name_hash("mean"), distribution).range(0, 20_000)
    assert drawn.mean() == pytest.approx(mean_of(distribution), rel=0.05)
    assert drawn.min() >= 0
    assert drawn.max() <= longest(distribution)


@pytest.mark.parametrize(("median", "p99"), [(300 * MS, 12 * S), (500, 5_000)])
def test_a_lognormal_has_its_median_and_its_99th_percentile(median: int, p99: int) -> None:
    drawn = Draw(5, Distribution("lognormal", (median, p99))).range(0, 40_000)
    assert np.median(drawn) == pytest.approx(median, rel=0.05)
    assert np.quantile(drawn, 0.99) == pytest.approx(p99, rel=0.1)


def test_an_exponential_has_its_median() -> None:
    drawn = Draw(5, Distribution("exponential", (1 * S,))).range(0, 40_000)
    assert np.median(drawn) == pytest.approx(np.log(2) * S, rel=0.03)


def test_a_uniform_reaches_both_ends_and_an_empirical_every_value() -> None:
    assert set(Draw(1, Distribution("uniform", (3, 6))).range(0, 200).tolist()) == {3, 4, 5, 6}
    counts = np.bincount(Draw(1, Distribution("empirical", (0, 1, 1, 2))).range(0, 4_000))
    assert counts.tolist() == pytest.approx([1_000, 2_000, 1_000], rel=0.1)


def test_streams_differ_by_seed_replication_purpose_and_name() -> None:
    names = [("latency", "g/0"), ("latency", "g/1"), ("boot", "g/0"), ("latency", "g", "0")]
    keys = {Streams(seed, run).key(*name) for seed in (1, 2) for run in (0, 1) for name in names}
    assert len(keys) == 16
    assert Streams(1).key("latency", "g/0") == Streams(1, 0).key("latency", "g/0")


def test_names_are_not_run_together() -> None:
    assert name_hash("a", "bc") != name_hash("ab", "c")
    assert name_hash("member", "g/0") == 0x92C17991662C004E  # the same in every process
