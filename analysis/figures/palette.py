"""Colours: causes are warm and run from black to yellow, members are cool, so that neither is taken for the other.

The distances hold for normal sight and for the three kinds of colour blindness; ``test_palette`` measures them. A cause
of unread time and the group state that brings it about share a colour.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from matplotlib.colors import hsv_to_rgb, to_hex, to_rgb

CAUSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "unowned": "#1a1a1a",
        "detection": "#8c1048",
        "away": "#001683",
        "barrier": "#d7301f",
        "assignment": "#f58634",
        "resume": "#ffd23f",
    }
)

STATES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Empty": "#ffffff",
        "PreparingRebalance": CAUSES["barrier"],
        "CompletingRebalance": CAUSES["assignment"],
        "AwaitingSync": CAUSES["assignment"],
        "Assigning": CAUSES["assignment"],
        "Reconciling": CAUSES["barrier"],
        "Stable": "#e4e7e4",
        "Dead": CAUSES["unowned"],
    }
)

MEMBERS: Final = (
    "#68d0f6", "#70449c", "#7c8c91", "#b5fadb", "#8392f1", "#a3b2ab",
    "#616ec9", "#a9d6c9", "#3893c2", "#49b3d8", "#796394", "#c3e2fe",
)  # fmt: skip
"""Ordered so that the first few are the farthest apart."""

INK: Final = "#222222"
FAINT: Final = "#8a8a8a"
SERIES: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1a1a1a", "#8c6d31")
"""Lines and dots. Source: Okabe and Ito's colour-blind-safe set."""


def member_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each member name: the same name has the same colour in every figure of a group.

    Up to twelve members take the palette by their number (``billing/3``), or by their position where they have none
    or the numbers clash; with more, a colour comes from the name alone and may repeat.
    """
    if len(names) > len(MEMBERS):
        return {name: _scattered(_number_of(name)) for name in names}
    slots = [_number_of(name) % len(MEMBERS) for name in names]
    if len(set(slots)) < len(slots) or not all(name[-1:].isdigit() for name in names):
        slots = list(range(len(names)))
    return {name: MEMBERS[slot] for name, slot in zip(names, slots, strict=True)}


def on(colour: str) -> str:
    """Ink that is legible on a colour."""
    red, green, blue = to_rgb(colour)
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


def _number_of(name: str) -> int:
    """The number a member name ends with, or its checksum."""
    digits = re.search(r"(\d+)$", name)
    return int(digits[1]) if digits else zlib.crc32(name.encode())


def _scattered(number: int) -> str:
    """Cool colours that step by the golden ratio: neighbours in number are far apart in colour."""
    hue, saturation, value = (number * ratio % 1 for ratio in (0.6180339887, 0.7548776662, 0.5698402910))
    red, green, blue = hsv_to_rgb((0.47 + 0.28 * hue, 0.18 + 0.42 * saturation, 0.62 + 0.34 * value))
    return to_hex((red, green, blue))
