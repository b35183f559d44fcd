"""Generations grow, but for groups that are forgotten, made anew or loaded elsewhere."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from groupsim.sim.books.invariants import GenerationsGrow


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
