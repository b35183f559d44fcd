"""Who is meant by a target of the timeline, and among whom that is looked for."""

from __future__ import annotations

import pytest

from groupsim.sim import simulate
from groupsim.sim.client.consumer import Consumer
from groupsim.sim.model import Entry, GcPause, Kill, Target
from groupsim.sim.units import S
from groupsim.sim.world import World
from tests.unit.sim.scenes import entry, everybody, group, lasting, member, scene

GROUPS = tuple(group(name, 3) for name in ("b", "a", "c"))


@pytest.mark.parametrize("pick", ["random", "leader", "index"])
def test_only_the_group_that_is_meant_is_looked_through(pick: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    matches = World.matches

    def told(world: World, target: Target, consumer: Consumer) -> bool:
        seen.add(consumer.group_name)
        return matches(world, target, consumer)

    monkeypatch.setattr(World, "matches", told)
    target = member(0, 2, group="a") if pick == "index" else Target("group", "a", pick=pick)  # type: ignore[arg-type]
    pauses = Entry(
        id="gc", every=lasting(5 * S), per_member=True, verb=GcPause(target=everybody("b"), duration=lasting(S))
    )
    kill = entry(10 * S, Kill(target=target))
    result = simulate(scene(*GROUPS, timeline=(pauses, kill), horizon_us=20 * S))
    assert seen <= {"a", "b"}
    events = result.tables["events"]
    assert set(events[events["verb"] == "kill"]["group"]) == {"a"}
    assert (result.tables["members"].groupby("group")["paused_us"].sum() > 0).to_dict() == {
        "a": False, "b": True, "c": False,
    }  # fmt: skip
