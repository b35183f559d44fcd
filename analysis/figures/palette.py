"""Colours: causes are warm and run from black to yellow, members are cool, so that neither is taken for the other.

The distances hold for normal sight and for the three kinds of colour blindness; ``test_palette`` measures them. A cause
of unread time and the group state that brings it about share a colour; Reconciling has a pale one of its own, since
nobody stands still in it but for what moves.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from matplotlib.colors import to_rgb

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
        "Reconciling": "#f4dfa6",
        "Rebalancing": CAUSES["assignment"],
        "Stable": "#e4e7e4",
        "Dead": CAUSES["unowned"],
    }
)

BROKERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "up": STATES["Stable"],
        "closing": CAUSES["assignment"],
        "unnoticed": CAUSES["detection"],
        "down": CAUSES["unowned"],
        "starting": STATES["Reconciling"],
        "fenced": CAUSES["barrier"],
    }
)
COORDINATORS: Final[Mapping[str, str]] = MappingProxyType(
    {"nowhere": CAUSES["unowned"], "loading": CAUSES["assignment"]}
)
WAITS: Final[Mapping[str, str]] = MappingProxyType({"p99": "#56b4e9", "max": "#c3e2fe"})

MEMBERS: Final = (
    "#68d0f6", "#70449c", "#7c8c91", "#b5fadb", "#8392f1", "#a3b2ab",
    "#616ec9", "#a9d6c9", "#3893c2", "#49b3d8", "#796394", "#c3e2fe",
)  # fmt: skip
"""Ordered so that the first few are the farthest apart."""

BLOCKS: Final = ("#d9e9f6", "#bfd8ed", "#a3c6e3", "#86b0d7", "#6b99c8", "#5481b5", "#42699f", "#345286")
"""Of more members than that: blocks of neighbours, from the first to the last."""

INK: Final = "#222222"
FAINT: Final = "#8a8a8a"
SERIES: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1a1a1a", "#8c6d31")
"""Lines and dots. Source: Okabe and Ito's colour-blind-safe set."""


def member_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each member name: the same name has the same colour in every figure of an equally large group.

    Up to twelve members take the palette by their number (``billing/3``), or by their position where they have none
    or the numbers clash; with more, neighbours share a colour (`blocks`): nobody tells five hundred apart.
    """
    if len(names) > len(MEMBERS):
        return {name: colour for some, colour in blocks(names) for name in some}
    slots = [_number_of(name) % len(MEMBERS) for name in names]
    if len(set(slots)) < len(slots) or not all(name[-1:].isdigit() for name in names):
        slots = list(range(len(names)))
    return {name: MEMBERS[slot] for name, slot in zip(names, slots, strict=True)}


def blocks(names: Sequence[str]) -> list[tuple[Sequence[str], str]]:
    """Members in as many equal blocks as there are colours for them, each with its own; names in their order."""
    edges = [len(names) * at // len(BLOCKS) for at in range(len(BLOCKS) + 1)]
    return [(names[a:b], colour) for (a, b), colour in zip(itertools.pairwise(edges), BLOCKS, strict=True)]


def on(colour: str) -> str:
    """Ink that is legible on a colour."""
    red, green, blue = to_rgb(colour)
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


def _number_of(name: str) -> int:
    """The number a member name ends with, or its checksum."""
    digits = re.search(r"(\d+)$", name)
    return int(digits[1]) if digits else zlib.crc32(name.encode())
