"""Members whose own objects are behind: whoever looks at one, and whenever, sees what it has done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sim import simulate
from sim.actors import laps
from sim.actors.client import Client
from sim.actors.lap import Lap
from sim.actors.playing import play_resume
from sim.actors.world import World
from sim.invariants import Watch
from sim.model import Scenario
from sim.protocol.classic_member import ClassicMember
from sim.result import Result
from sim.units import S
from tests.support.random_scenarios import random_scenario
from tests.support.scenarios import client, group, join, scenario

SEEDS = (3, 151, 225, 228, 253, 1123, 2164, 2195, 2243)


def _clients(world: World, *, look: bool) -> Iterator[Client]:
    for consumer in world.consumers.values():
        one = consumer.client if look else consumer.incumbent
        if one is not None:
            yield one


def _run(monkeypatch: pytest.MonkeyPatch, run: Scenario, seed: int, *, look: bool) -> tuple[Result, list[Any], int]:
    """The run, the state of every machine at its end, and the most members that were behind at any time.

    ``look``: somebody looks at every member after every event.
    """
    worlds: list[World] = []
    most = 0

    def check(self: Watch) -> None:
        nonlocal most
        worlds[:] = [self._world]
        most = max(most, sum(one.is_behind for one in _clients(self._world, look=look)))

    monkeypatch.setattr(Watch, "check", check)
    result = simulate(run, seed=seed, check=True)
    return result, [_state(one.machine) for one in _clients(worlds[0], look=False)], most


def _state(machine: ClassicMember) -> dict[str, Any]:
    names = {name for cls in type(machine).__mro__ for name in getattr(cls, "__slots__", ())}
    values = {name: getattr(machine, name) for name in names if not callable(getattr(machine, name, None))}
    values.pop("assignors")
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_at_members_changes_nothing(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    run = random_scenario(seed, "crowd")
    alone, machines, _ = _run(monkeypatch, run, seed, look=False)
    seen, others, behind = _run(monkeypatch, run, seed, look=True)
    assert behind == 0
    assert seen.manifest["digests"] == alone.manifest["digests"]
    assert seen.manifest["events"] == alone.manifest["events"]
    assert others == machines


def _three_rebalances(strategy: str) -> Scenario:
    config = client(enable_auto_commit=True, partition_assignment_strategy=(strategy,))
    return scenario(group(6, client=config), join(20 * S, 7), join(40 * S, 8), join(60 * S, 9), horizon_us=80 * S)


def test_of_many_laps_only_the_last_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def counted(one: Client, lap: Lap, slot: int, slowdown: float) -> None:
        played.append(slot)
        play_resume(one, lap, slot, slowdown)

    monkeypatch.setattr(laps, "play_resume", counted)
    run = _three_rebalances("range")
    _, machines, behind = _run(monkeypatch, run, 1, look=False)
    assert behind == 7
    # Into the group with its own objects; then, when the run ends, one lap each. The leader goes by itself.
    assert sorted(map(played.count, range(9))) == [0, 1, 2, 2, 2, 2, 2, 2, 2]
    assert {machine["generation"] for machine in machines} == {4}


def test_an_assignor_with_a_memory_of_its_own_hears_of_every_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, behind = _run(monkeypatch, _three_rebalances("sticky"), 1, look=False)
    assert behind == 0
