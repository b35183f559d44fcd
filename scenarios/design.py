"""Which variants a sweep has, and which seed each of their runs gets."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Changes = Mapping[str, Any]
"""Paths inside a scenario document, and the value that each is set to."""

BASE = "base"
"""The variant of a sweep that names none."""

SEED_MAX = (1 << 53) - 1
"""The largest integer that every reader of JSON keeps exact."""
REPLICATIONS_MAX = 1_000_000


def variants(bundles: Mapping[str, Changes], vary: Mapping[str, Sequence[Any]], design: str) -> dict[str, Changes]:
    """Named bundles of changes, crossed with the points of ``vary``.

    Parameters
    ----------
    bundles : mapping of str to changes
        Empty: one bundle without changes.
    vary : mapping of str to sequence
        A path, and the values that it takes.
    design : {"grid", "list"}
        grid: every combination of the values; list: the first values of all paths, then the second, and so on.

    Returns
    -------
    dict of str to changes
        In the order of the file, the last path of ``vary`` changing fastest. A name is the bundle's, then what is
        varied: ``static, session.timeout.ms=10000``.
    """
    shown = _short_names(list(vary))
    crossed: dict[str, Changes] = {}
    for name, bundle in bundles.items() or [("", {})]:
        for point in _points(vary, design):
            varied = (f"{shown[path]}={_text(value)}" for path, value in point.items())
            crossed[", ".join([name] * bool(name) + list(varied)) or BASE] = {**bundle, **point}
    return crossed


def _points(vary: Mapping[str, Sequence[Any]], design: str) -> Iterator[dict[str, Any]]:
    if not vary:
        return iter([{}])
    combinations = itertools.product(*vary.values()) if design == "grid" else zip(*vary.values(), strict=True)
    return (dict(zip(vary, values, strict=True)) for values in combinations)


def _short_names(paths: Sequence[str]) -> dict[str, str]:
    """The last part of each path, or the whole path where last parts are equal."""
    last = {path: re.split(r"\.(?![^\[]*\])", path)[-1] for path in paths}  # a dot that is not inside brackets
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
