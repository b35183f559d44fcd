"""Which variants a sweep has, what they are called, and which seed each of their runs gets."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from groupsim.scenarios.files.config_paths import bracketed

if TYPE_CHECKING:
    from groupsim.scenarios.sweep.points import Design

Changes = Mapping[str, Any]
"""Paths inside a scenario document, and the value that each is set to."""

BASE = "base"
"""The variant of a sweep that names none."""

SEED_MAX = (1 << 53) - 1
"""The largest integer that every reader of JSON keeps exact."""
REPLICATIONS_MAX = 1_000_000
NAME_BYTES_MAX: Final = 150
"""Of a variant's name, as the folder that it becomes: file systems take 255, and ``variant=`` stands before it."""


def variants(bundles: Mapping[str, Changes], design: Design) -> dict[str, Changes]:
    """Named bundles of changes, crossed with the points of a design.

    Parameters
    ----------
    bundles : mapping of str to changes
        Empty: one bundle without changes.
    design : Design

    Returns
    -------
    dict of str to changes
        In the order of the file. A name is the bundle's, then what is varied: ``static, session.timeout.ms=10000``.
        Points of a sample have numbers instead, ``static, p0013``, and so do those of a grid or list in which a name
        would be too long for a folder or two would be the same.
    """
    points = list(design.points())
    names = numbered(len(points)) if design.is_sampled else _told(list(design.vary), points)
    crossed = _crossed(bundles, names, points)
    if len(crossed) < len(points) * max(len(bundles), 1) or any(name_bytes(one) > NAME_BYTES_MAX for one in crossed):
        crossed = _crossed(bundles, numbered(len(points)), points)
    return crossed


def count_of(bundles: Mapping[str, Changes], design: Design) -> int:
    """How many variants there are; arithmetic, however many."""
    return max(len(bundles), 1) * design.count()


def variant_name(bundle: str, point: str) -> str:
    """What a bundle crossed with a point is called; either may be empty."""
    return ", ".join(part for part in (bundle, point) if part) or BASE


def name_bytes(name: str) -> int:
    """The length of a variant's name as the name of a folder."""
    return len(quote(name, safe=""))


def _crossed(bundles: Mapping[str, Changes], names: Sequence[str], points: Sequence[Changes]) -> dict[str, Changes]:
    return {
        variant_name(bundle, name): {**changes, **point}
        for bundle, changes in bundles.items() or [("", {})]
        for name, point in zip(names, points, strict=True)
    }


def numbered(count: int) -> list[str]:
    """The names of that many points: p0001 and so on, all of the same length."""
    digits = max(4, len(str(count)))
    return [f"p{number:0{digits}d}" for number in range(1, count + 1)]


def _told(paths: Sequence[str], points: Sequence[Changes]) -> list[str]:
    """What is varied, in words."""
    shown = short_names(paths)
    return [", ".join(f"{shown[path]}={_text(value)}" for path, value in point.items()) for point in points]


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """The last part of each path, or the whole path where last parts are equal."""
    outside = re.compile(r"\.(?![^\[]*\])")  # a dot that is not inside brackets
    last = {path: outside.split(bracketed(path))[-1] for path in paths}
    short = {path: part[part.index("[") + 1 : -1] if part.endswith("]") else part for path, part in last.items()}
    return {path: name if list(short.values()).count(name) == 1 else path for path, name in short.items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def seed_of(seed: int, variant: str, *, common_faults: bool) -> int:
    """The seed of a variant's runs.

    Parameters
    ----------
    common_faults : bool
        True: ``seed`` itself, so that run r of every variant sees the same faults (common random numbers). False: a
        number made of ``seed`` and the variant's name, so that variants are independent samples.
    """
    if common_faults:
        return seed
    mixed = hashlib.sha256(f"{seed}/{variant}".encode()).digest()
    return int.from_bytes(mixed[:8]) >> (64 - SEED_MAX.bit_length())
