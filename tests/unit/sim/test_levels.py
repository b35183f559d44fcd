"""Capacities that consumers share over partitions: many services at once are each what it is alone."""

from __future__ import annotations

import numpy as np
import pytest

from groupsim.sim.books.offsets import levels
from groupsim.sim.books.offsets.levels import Levels

LENGTHS = np.array([4, 1, 3, 5])
SERVICES = np.arange(4)


def _levels(services: list[int]) -> Levels:
    """Of some of four services, each with several kinks but the second."""
    rng = np.random.default_rng(3)
    offered = rng.choice([0.0, 3.0, 40.0, 500.0], LENGTHS.sum())
    mrps = rng.choice([0, 2_000, 30_000], LENGTHS.sum())
    capacity = np.array([4e-5, 2e-4, 3e-4, 9e-5])
    kept = np.isin(np.repeat(SERVICES, LENGTHS), services)
    partitions = np.concatenate([np.arange(length, dtype=np.int32) for length in LENGTHS[services]])
    return Levels(capacity[services], LENGTHS[services], partitions, offered[kept], mrps[kept])


@pytest.mark.parametrize("at_once", [1, 5, 1 << 16])
@pytest.mark.parametrize("service", SERVICES.tolist())
def test_each_of_many_services_is_as_if_it_were_alone(
    monkeypatch: pytest.MonkeyPatch, service: int, at_once: int
) -> None:
    monkeypatch.setattr(levels, "_AT_ONCE", at_once)
    together, alone = _levels(SERVICES.tolist()), _levels([service])
    elapsed = np.geomspace(1e3, 1e9, 200)
    here, there = np.full(200, service), np.zeros(200, np.intp)
    level, rise = alone.at(there, elapsed)
    assert level[0] < level[-1]
    for found, expected in zip(together.at(here, elapsed), (level, rise), strict=True):
        assert found.tolist() == pytest.approx(expected.tolist())
    assert together.reached(here, level).tolist() == pytest.approx(alone.reached(there, level).tolist())
    assert together.outpaced(here, rise * 0.99).tolist() == alone.outpaced(there, rise * 0.99).tolist()
