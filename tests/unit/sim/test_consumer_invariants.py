"""Invariants of consumer groups tell what is wrong, each of them; a group that is as it should be has none."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from groupsim.sim import InvariantViolation, simulate
from groupsim.sim.books.consumer_invariants import EpochsOrdered, MembersWithinHoldings, OneHolder, StableIsStable
from groupsim.sim.books.invariants import Watch
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.roster import Target
from groupsim.sim.units import S
from tests.support.consumer_scenarios import consumer_scenario


@pytest.fixture(scope="module")
def groups() -> list[Any]:
    """The watched groups of a short run at its end."""
    found: list[Any] = []
    attach = Watch.attach
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watch, "attach", lambda self: (found.extend(self._groups), attach(self)))
        simulate(replace(consumer_scenario(3, "grid"), horizon_us=20 * S, timeline=()), seed=1, check=True)
    return found


def violations(group: Any) -> list[str]:
    """Names of the invariants that do not hold."""
    kinds = (OneHolder(), EpochsOrdered(), StableIsStable(), MembersWithinHoldings())
    return [type(one).__name__ for one in kinds if one.violated(0, group) is not None]


def a_member(group: Any) -> Any:
    """A member that holds something."""
    assert isinstance(group.machine, ConsumerGroup)
    return next(one for one in group.machine.roster if one.current.assigned.size)


def test_a_group_at_rest_violates_none(groups: list[Any]) -> None:
    assert a_member(groups[0])
    assert groups[0].machine.is_stable
    assert not violations(groups[0])


def test_each_invariant_tells_its_violation(groups: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    group = groups[0]
    member, roster = a_member(group), group.machine.roster
    good = member.current
    monkeypatch.setattr(member, "current", replace(good, pending=good.assigned[:1]))
    assert violations(group) == ["OneHolder", "StableIsStable"]
    monkeypatch.setattr(member, "current", replace(good, member_epoch=roster.target.epoch + 1))
    assert "EpochsOrdered" in violations(group)
    monkeypatch.setattr(member, "current", replace(good, assigned=good.assigned[1:]))
    assert violations(group) == ["StableIsStable", "MembersWithinHoldings"]
    monkeypatch.setattr(member, "current", good)
    monkeypatch.setitem(roster.targets, "somebody", Target.of(np.array(good.assigned[:1])))
    assert violations(group) == ["OneHolder"]


def test_a_watched_run_ends_with_the_violation() -> None:
    watch = Watch(SimpleNamespace(now=7), [])  # type: ignore[arg-type]
    watch._groups = [SimpleNamespace(books=SimpleNamespace(name="g"))]  # type: ignore[list-item]
    watch._invariants = (SimpleNamespace(violated=lambda now, group: "wrong"),)  # type: ignore[assignment]
    with pytest.raises(InvariantViolation, match="7 us, group g: wrong"):
        watch.check()
