"""The design of a sweep: which bundle each variant belongs to, and where it stands in what is varied."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from groupsim.analysis.data.files import load_manifest
from groupsim.analysis.errors import ResultError

CROSSED: Final = ("grid", "list")
"""Designs that name the values of what they vary; all others are samples from ranges."""


_NUMBERED: Final = re.compile(r"p\d{4,}", re.ASCII)
"""What a point is called where its values make no name."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a variant stands: its bundle (empty without any), and its value of each path that is varied."""

    bundle: str
    values: tuple[Any, ...]

    @property
    def point(self) -> str:
        """The values as a text that is equal where they are."""
        return json.dumps(self.values, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Design:
    """How the variants of a sweep came to be.

    Parameters
    ----------
    kind : str
        As the sweep file has it: ``grid``, ``list``, or how a sample was drawn from ranges.
    paths : tuple of str
        What is varied.
    places : mapping of str to Place
        By variant.
    logarithmic : set of str
        Paths whose values were drawn evenly by their logarithms.
    names : mapping of str to str
        What paths are called; those that are not in it by themselves.
    """

    kind: str
    paths: tuple[str, ...]
    places: Mapping[str, Place]
    logarithmic: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_sample(self) -> bool:
        """Whether the points are a sample from ranges, so that none of them is there to be compared with."""
        return self.kind not in CROSSED

    def name_of(self, path: str) -> str:
        """What a path is called."""
        return self.names.get(path, path)

    def told(self, variant: str) -> str:
        """A variant's name; where it is a number, the values behind it."""
        if not self.number_of(variant):
            return variant
        values = zip(self.paths, self.places[variant].values, strict=True)
        told = ", ".join(f"{self.name_of(path)}={json.dumps(value, ensure_ascii=False)}" for path, value in values)
        return f"{variant} ({told})"

    def number_of(self, variant: str) -> str:
        """The number that stands for a variant's values in its name; empty where the values themselves do."""
        place = self.places.get(variant)
        point = variant.removeprefix(f"{place.bundle}, ") if place else ""
        return point if _NUMBERED.fullmatch(point) else ""

    def bundles(self, variants: Iterable[str]) -> list[str]:
        """The bundles of some variants, in their order."""
        return list(dict.fromkeys(self.places[one].bundle for one in variants if one in self.places))

    def members(self, bundle: str, variants: Iterable[str]) -> list[str]:
        """Those of some variants that belong to a bundle."""
        return [one for one in variants if one in self.places and self.places[one].bundle == bundle]


def load_design(folder: str | Path) -> Design | None:
    """The design of the sweep in a folder; None for any other result.

    Raises
    ------
    ResultError
        The manifest cannot be read, or does not say what the variants are.
    """
    manifest = load_manifest(folder)
    if "variants" not in manifest:
        return None
    try:
        return design_of(manifest["document"], manifest["variants"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ResultError(f"{Path(folder) / 'manifest.json'} does not say how its variants came to be") from error


def design_of(document: Mapping[str, Any], variants: Mapping[str, Mapping[str, Any]]) -> Design:
    """The design of a sweep.

    Parameters
    ----------
    document : mapping
        The sweep file.
    variants : mapping of str to mapping
        Of each variant, ``set``: the paths it sets and their values.
    """
    paths = tuple(document["vary"])
    longest_first = sorted(document["variants"], key=len, reverse=True)
    places = {
        name: Place(_bundle(name, longest_first), tuple(own["set"].get(path) for path in paths))
        for name, own in variants.items()
    }
    forms = {path: next(iter(held), "") for path, held in document["vary"].items() if isinstance(held, dict)}
    logarithmic = frozenset(path for path, form in forms.items() if form.startswith("log"))
    return Design(document["design"], paths, places, logarithmic)


def _bundle(variant: str, longest_first: Sequence[str]) -> str:
    """The bundle that a variant's name begins with."""
    return next((one for one in longest_first if variant == one or variant.startswith(f"{one}, ")), "")


def against(variants: Sequence[str], baseline: str | None, design: Design | None) -> list[tuple[str, str]]:
    """Pairs of a variant and what it is compared with (see ``compare_variants``).

    Raises
    ------
    ResultError
        The baseline is unknown, or a bundle with which nothing can be compared.
    """
    bundles = design.bundles(variants) if design else []
    if baseline is None:
        baseline = bundles[0] if len(bundles) > 1 else variants[0]
    if baseline in variants:
        return [(one, baseline) for one in variants if one != baseline]
    if design is None or baseline not in bundles:
        raise ResultError(f"unknown baseline {baseline!r}; {known(baseline, variants, bundles)}")
    partners = {design.places[one].point: one for one in design.members(baseline, variants)}
    others = [one for one in variants if one in design.places and design.places[one].bundle != baseline]
    pairs = [(one, partners[design.places[one].point]) for one in others if design.places[one].point in partners]
    if not pairs:
        raise ResultError(f"nothing to compare with {baseline!r}: no other variant has the same values of what varies")
    return pairs


def chosen(variants: Sequence[str], wanted: Sequence[str], design: Design | None) -> list[str]:
    """The variants of these names, in this order; the name of a bundle stands for all its variants.

    Raises
    ------
    ResultError
        A name is unknown.
    """
    bundles = design.bundles(variants) if design else []
    if unknown := [name for name in wanted if name not in variants and name not in bundles]:
        told = (f"unknown variant {name!r}; {known(name, variants, bundles)}" for name in unknown)
        raise ResultError("\n".join(told))
    found: dict[str, None] = {}
    for name in wanted:
        found |= dict.fromkeys([name] if name in variants or design is None else design.members(name, variants))
    return list(found)


def known(name: str, variants: Sequence[str], bundles: Sequence[str]) -> str:
    """What there is instead of a name that there is not: the nearest, or all if they are few."""
    names = [one for one in dict.fromkeys([*bundles, *variants]) if one]  # the only bundle of a grid has no name
    if near := difflib.get_close_matches(name, names, n=1):
        return f"did you mean {near[0]!r}?"
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"variants are: {', '.join(names[:8])}{more}"
