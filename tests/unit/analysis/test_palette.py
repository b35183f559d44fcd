from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from groupsim.analysis.figures import palette
from groupsim.sim.tables import CAUSES, STATE_NAMES

# Severity 1.0 of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
# Deficiency", IEEE TVCG 15 (2009), on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Ottosson's Oklab, times 100: about 2 is the least difference anybody sees.
TO_LMS = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def seen(colour: str, sight: str) -> NDArray[np.float64]:
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return 100 * np.array(TO_LAB) @ np.cbrt(np.array(TO_LMS) @ np.clip(np.array(SIGHTS[sight]) @ linear, 0, 1))


def nearest(pairs: itertools.product[tuple[str, str]] | itertools.combinations[tuple[str, str]], sight: str) -> float:
    return min(float(np.linalg.norm(seen(a, sight) - seen(b, sight))) for a, b in pairs)


@pytest.mark.parametrize("sight", SIGHTS)
def test_causes_differ_from_one_another(sight: str) -> None:
    assert nearest(itertools.combinations(palette.CAUSES.values(), 2), sight) > 12


@pytest.mark.parametrize("sight", SIGHTS)
def test_no_cause_looks_like_a_member(sight: str) -> None:
    assert nearest(itertools.product(palette.CAUSES.values(), palette.MEMBERS), sight) > 12


@pytest.mark.parametrize("sight", SIGHTS)
def test_no_cause_looks_like_one_of_many_members(sight: str) -> None:
    many = palette.member_colours([f"g/{i}" for i in range(300)]).values()
    assert nearest(itertools.product(palette.CAUSES.values(), many), sight) > 8


@pytest.mark.parametrize("sight", SIGHTS)
def test_twelve_members_differ_from_one_another(sight: str) -> None:
    assert nearest(itertools.combinations(palette.MEMBERS, 2), sight) > 4


def test_every_cause_and_state_has_a_colour() -> None:
    assert tuple(palette.CAUSES) == CAUSES
    assert set(STATE_NAMES) <= set(palette.STATES)


@pytest.mark.parametrize("sight", SIGHTS)
def test_a_state_in_which_nobody_stands_still_has_no_colour_of_a_cause(sight: str) -> None:
    others = [*palette.CAUSES.values(), palette.STATES["Stable"]]
    assert nearest(itertools.product([palette.STATES["Reconciling"]], others), sight) > 5


def test_a_member_keeps_its_colour_when_others_come_and_go() -> None:
    three, four = (palette.member_colours([f"g/{i}" for i in range(n)]) for n in (3, 4))
    assert three.items() <= four.items()


def test_many_members_are_blocks_of_neighbours() -> None:
    names = [f"g/{i}" for i in range(500)]
    colours = palette.member_colours(names)
    assert [colours[name] for name in names] == sorted(colours.values(), key=palette.BLOCKS.index)
    assert set(colours.values()) == set(palette.BLOCKS)
    assert {len(some) for some, _ in palette.blocks(names)} == {62, 63}
    assert [one for some, _ in palette.blocks(names) for one in some] == names


@pytest.mark.parametrize("sight", SIGHTS)
def test_blocks_differ_from_one_another_and_grow_darker(sight: str) -> None:
    assert nearest(itertools.combinations(palette.BLOCKS, 2), sight) > 4
    light = [float(seen(one, sight)[0]) for one in palette.BLOCKS]
    assert light == sorted(light, reverse=True)


@pytest.mark.parametrize("names", [["g/0", "g/12"], ["alpha", "beta"], ["a/1", "b/1"]])
def test_few_members_never_share_a_colour(names: list[str]) -> None:
    assert len(set(palette.member_colours(names).values())) == len(names)


@pytest.mark.parametrize("colour", [*palette.CAUSES.values(), *palette.MEMBERS, *palette.BLOCKS])
def test_ink_is_legible_on_every_colour(colour: str) -> None:
    assert abs(seen(palette.on(colour), "normal")[0] - seen(colour, "normal")[0]) > 30
