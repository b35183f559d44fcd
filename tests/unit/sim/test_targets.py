"""Members picked at random: how many there are to pick from."""

from __future__ import annotations

import pytest

from groupsim.sim.model import Kill, Target
from groupsim.sim.units import S
from tests.unit.sim.scenes import FIDELITIES, entry, group, scene, simulate


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize(("wanted", "told"), [(2, []), (9, ["storm at 20.000 s: only 2 of g/random:9 are alive"])])
def test_whoever_is_picked_for_more_than_there_are_hears_so(fidelity: str, wanted: int, told: list[str]) -> None:
    kill = Kill(target=Target("group", "g", "random", count=wanted))
    result = simulate(scene(group(count=2), timeline=(entry(20 * S, kill, "storm"),)), fidelity)
    assert result.warnings == told
    assert len(result.tables["events"]) == 2
