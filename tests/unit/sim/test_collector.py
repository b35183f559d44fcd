"""The cyclic collector during runs, and between them."""

from __future__ import annotations

import gc
import weakref

import pytest

from groupsim.sim.collector import Collector


class _World:
    """Refers to itself, as a world of processes does."""

    def __init__(self, parts: int) -> None:
        self.itself = self
        self.parts = [[] for _ in range(parts)]  # type: ignore[var-annotated]


def _runs(collector: Collector, sizes: list[int]) -> weakref.ref[_World]:
    """Several runs; the first world."""
    worlds = []
    for size in sizes:
        with collector.at_rest():
            worlds.append(weakref.ref(_World(size)))
    return worlds[0]


def test_worlds_of_former_runs_are_collected_once_there_are_enough_of_them() -> None:
    assert _runs(Collector(), [60_000, 60_000])() is not None
    assert _runs(Collector(), [60_000, 60_000, 1])() is None


def test_what_the_collector_has_looked_at_in_the_middle_of_a_run_counts_as_left() -> None:
    assert _runs(Collector(), [1_010_000, 1])() is None


def _fail() -> None:
    with Collector().at_rest():
        raise ZeroDivisionError(gc.get_threshold())


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_before_after_a_run_that_fails(enabled: bool) -> None:
    before, was_enabled = gc.get_threshold(), gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(ZeroDivisionError) as failed:
            _fail()
        assert failed.value.args[0] != before
        assert (gc.get_threshold(), gc.isenabled()) == (before, enabled)
    finally:
        (gc.enable if was_enabled else gc.disable)()
