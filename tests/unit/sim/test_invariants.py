"""Generations grow, but for groups that are forgotten, made anew or loaded elsewhere; partitions have one owner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from groupsim.sim import simulate
from groupsim.sim.books.invariants.invariants import GenerationsGrow, OneOwner, Watch
from groupsim.sim.units import S
from tests.unit.sim.scenes import group, scene


def seen(generation: int, size: int = 2, *, exists: bool = True, terms: int = 1) -> Any:
    """A group at an instant."""
    machine = SimpleNamespace(generation=generation, size=size, exists=exists)
    return SimpleNamespace(machine=machine, books=SimpleNamespace(name="g"), host=SimpleNamespace(terms=terms))


@pytest.mark.parametrize(
    ("after", "is_violated"),
    [
        pytest.param(seen(5), False, id="the same"),
        pytest.param(seen(4), True, id="a lower one"),
        pytest.param(seen(4, terms=2), False, id="a lower one, loaded elsewhere"),
        pytest.param(seen(0, size=0), False, id="forgotten: none any more"),
        pytest.param(seen(0), True, id="none any more, though there are members"),
        pytest.param(seen(1, size=0, exists=False), False, id="a group of which nothing is known begins at one"),
        pytest.param(seen(1, size=0), True, id="begun anew, though it is known"),
    ],
)
def test_a_generation_goes_back_in_a_group_of_which_nothing_is_left_only(after: Any, is_violated: bool) -> None:
    invariant = GenerationsGrow()
    assert invariant.violated(0, seen(5)) is None
    assert (invariant.violated(1, after) is not None) is is_violated


@pytest.fixture
def stable() -> Any:
    """The watched group of a short run at its end: two members with two partitions each."""
    found: list[Any] = []
    attach = Watch.attach
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watch, "attach", lambda self: (found.extend(self._groups), attach(self)))
        simulate(scene(group(count=2), horizon_us=20 * S), seed=1, check=True)
    return found[0]


def test_a_partition_of_a_stable_group_has_one_owner(stable: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was looked at is looked at again once it changes, and once who rejoins has come back."""
    one, (first, second) = OneOwner(), [consumer.machine for consumer in stable.members]
    assert [one.violated(0, stable), one.violated(0, stable)] == [None, None]
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(second.ownership, "owned", first.owned[:1])
            patch.setattr(second.membership, "join_in_flight", True)
            assert one.violated(0, stable) is None
            patch.setattr(second.membership, "join_in_flight", False)
            assert f"both own partition {first.owned[0]}" in str(one.violated(0, stable))
            patch.setattr(second.membership, "generation", 0)
            assert one.violated(0, stable) is None
        assert one.violated(0, stable) is None
