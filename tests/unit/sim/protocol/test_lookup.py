"""Looking for the coordinator, and how long a client waits before it tries again (ExponentialBackoff, 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.config import ClientBehaviour, ClientConfig
from groupsim.sim.protocol.lookup import Backoff, CoordinatorLookup
from groupsim.sim.units import MS

CONFIG = ClientConfig(retry_backoff_us=100 * MS, retry_backoff_max_us=1_000 * MS)


def _backoff(config: ClientConfig = CONFIG, permille: int = 1_000) -> Backoff:
    return Backoff.of(config, lambda number: permille)


def _fail(lookup: CoordinatorLookup, now: int) -> int:
    """A lookup at ``now`` fails: how long until the next one may begin."""
    assert lookup.look_up(now)
    assert not lookup.answered(now, None)
    assert lookup.look_up(lookup.retry_at - 1) == []
    return lookup.retry_at - now


def test_lookups_that_fail_back_off_further_and_a_good_one_starts_over() -> None:
    """AbstractCoordinator.lookupCoordinator; ExponentialBackoff counts the failures in a row."""
    lookup = CoordinatorLookup("g", _backoff())
    waits, now = [], 0
    for _ in range(3):
        waits.append(_fail(lookup, now))
        now = lookup.retry_at
    assert waits == [100 * MS, 200 * MS, 400 * MS]
    assert lookup.look_up(now)
    assert lookup.answered(now, 2)
    assert (lookup.node, lookup.retry_at) == (2, 0)
    lookup.lose(now)
    assert lookup.retry_at == now
    assert _fail(lookup, now) == 100 * MS


def test_each_poll_counts_its_lookups_anew_and_ends_on_time() -> None:
    """AbstractCoordinator.ensureCoordinatorReady: attempts are those of the call, and Timer.sleep ends with poll()."""
    lookup = CoordinatorLookup("g", _backoff(), poll_timeout_us=500 * MS)
    waits, now = [], 7 * MS
    for _ in range(5):
        waits.append(_fail(lookup, now))
        now = lookup.retry_at
    assert waits == [100 * MS, 200 * MS, 200 * MS, 100 * MS, 200 * MS]


def test_a_lookup_that_outlasts_its_poll_is_the_first_of_a_later_one() -> None:
    lookup = CoordinatorLookup("g", _backoff(), poll_timeout_us=500 * MS)
    _fail(lookup, 0)
    assert lookup.look_up(100 * MS)
    assert not lookup.answered(1_850 * MS, None)
    assert lookup.retry_at == 1_950 * MS


@pytest.mark.parametrize(
    ("attempts", "permille", "wait_ms"),
    [(0, 800, 80), (0, 1_200, 120), (3, 1_000, 800), (3, 1_200, 960), (4, 1_000, 1_000), (4, 800, 800),
     (4, 1_200, 1_000), (50, 1_200, 1_000)],
)  # fmt: skip
def test_the_backoff_doubles_up_to_its_maximum_and_jitter_never_exceeds_it(
    attempts: int, permille: int, wait_ms: int
) -> None:
    """ExponentialBackoff.backoff: initial * 2^attempts, at most the maximum, times 0.8 to 1.2, at most the maximum."""
    assert _backoff(permille=permille).after(attempts) == wait_ms * MS


@pytest.mark.parametrize("largest_ms", [99, 100])
def test_a_maximum_that_leaves_no_room_is_the_backoff(largest_ms: int) -> None:
    config = ClientConfig(retry_backoff_us=100 * MS, retry_backoff_max_us=largest_ms * MS)
    assert _backoff(config, permille=800).after(0) == largest_ms * MS


def test_before_3_7_the_backoff_is_constant() -> None:
    """KIP-580."""
    config = ClientConfig(retry_backoff_us=100 * MS, behaviour=ClientBehaviour(exponential_backoff=False))
    assert _backoff(config, permille=1_200).after(7) == 100 * MS


def test_the_jitter_is_drawn_by_number() -> None:
    asked: list[int] = []
    backoff = Backoff.of(CONFIG, lambda number: asked.append(number) or 1_000)
    assert [backoff.after(0), backoff.after(9)] == [100 * MS, 1_000 * MS]
    assert asked == [1, 2]
