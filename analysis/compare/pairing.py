"""Which runs of two variants are pairs, which are independent samples, and which are neither.

Runs with the same seed and replication see the same faults: they are pairs. Variants that have no run in common
(``common_faults: false``, or other seeds) are independent samples. Everything else is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats, integers, names

if TYPE_CHECKING:
    import pandas as pd

RunKey: TypeAlias = tuple[int, int]
"""Seed and replication."""
Absent: TypeAlias = Mapping[str, Collection[RunKey]]
"""Runs that a variant lacks for a known reason, by variant."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The runs of one variant and group, sorted.

    Parameters
    ----------
    runs : ndarray of int, shape (n, 2)
        Seed and replication of each.
    values : ndarray of float, shape (n, metrics)
        NaN for null.
    horizons_s : set of float
    """

    runs: NDArray[np.int64]
    values: NDArray[np.float64]
    horizons_s: frozenset[float]

    def keys(self) -> set[RunKey]:
        """Seed and replication of each run."""
        return {(seed, replication) for seed, replication in self.runs.tolist()}

    def onto(self, keys: Sequence[RunKey]) -> NDArray[np.float64]:
        """The values of these runs, NaN for those that are not in the sample."""
        places = {key: at for at, key in enumerate(map(tuple, self.runs.tolist()))}
        padded = np.vstack([self.values, np.full(self.values.shape[1], np.nan)])
        return np.asarray(padded[[places.get(key, -1) for key in keys]])


Groups: TypeAlias = Mapping[str, Sample]
"""The runs of one variant, by group."""


def samples(summary: pd.DataFrame, metrics: Sequence[str]) -> dict[str, dict[str, Sample]]:
    """The runs of each variant and group, in order of appearance."""
    seeds, replications = integers(summary, "seed"), integers(summary, "replication")
    columns, horizons_s = [floats(summary, name) for name in metrics], floats(summary, "horizon_s")
    found: dict[str, dict[str, Sample]] = {variant: {} for variant in names(summary["variant"])}
    places: Mapping[Any, Any] = summary.groupby(["variant", "group"], sort=False).indices
    for (variant, group), at in places.items():
        ordered = at[np.lexsort((replications[at], seeds[at]))]
        runs = np.column_stack([seeds[ordered], replications[ordered]])
        values = np.column_stack([np.empty((len(at), 0)), *(column[ordered] for column in columns)])
        found[str(variant)][str(group)] = Sample(runs, values, frozenset(np.unique(horizons_s[at]).tolist()))
    return found


@dataclass(frozen=True, slots=True)
class Match:
    """The values of A and of B, shape (runs, metrics); in the same row stand the two of a pair, if they are pairs."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    paired: bool


def matched(a: Groups, b: Groups, names: tuple[str, str], absent: Absent) -> tuple[dict[str, Match], list[str]]:
    """How the runs of A and B stand to one another, by group, and why they cannot be compared (empty if they can).

    Parameters
    ----------
    names : (str, str)
        Of the two variants.
    absent : mapping
        A run that a variant lacks for a known reason is a pair without a value, not one that the other has too many.
    """
    if refusals := list(_misfits(a, b, names)):
        return {}, refusals
    found, why = {}, []
    for group in a:
        match = _match(a[group], b[group], [set(absent.get(name, ())) for name in names])
        if match is None:
            where = f" of group {group}" if len(a) > 1 else ""
            told = _only(a[group].keys(), b[group].keys(), names, "seed {} replication {}")
            why.append(f"different seed and replication{where}: {told}")
        else:
            found[group] = match
    return found, why


def _misfits(a: Groups, b: Groups, names: tuple[str, str]) -> Iterator[str]:
    """What rules out every comparison."""
    for groups, name in zip((a, b), names, strict=True):
        if not groups:
            yield f"{name} has no runs"
        for sample in groups.values():
            twice = np.flatnonzero((sample.runs[1:] == sample.runs[:-1]).all(axis=1))
            if len(twice):
                seed, replication = sample.runs[twice[0]]
                yield f"{name} holds seed {seed}, replication {replication} more than once"
                break
    if set(a) != set(b):
        yield f"different group: {_only(set(a), set(b), names, 'group {}')}"
    x, y = ({horizon for sample in groups.values() for horizon in sample.horizons_s} for groups in (a, b))
    if x != y:
        yield f"different horizon: {_only(x, y, names, 'horizon_s {}')}"


def _match(a: Sample, b: Sample, absent: Sequence[set[RunKey]]) -> Match | None:
    if np.array_equal(a.runs, b.runs):
        return Match(a.values, b.values, paired=True)
    if not np.isin(a.runs[:, 0], b.runs[:, 0]).any():
        return Match(a.values, b.values, paired=False)
    keys_a, keys_b = a.keys(), b.keys()
    if not keys_a & keys_b:
        return Match(a.values, b.values, paired=False)
    if keys_b - keys_a <= absent[0] and keys_a - keys_b <= absent[1]:
        keys = sorted(keys_a | keys_b)
        return Match(a.onto(keys), b.onto(keys), paired=True)
    return None


def _only(a: set[Any], b: set[Any], names: tuple[str, str], text: str) -> str:
    """What only one of the two has."""
    both = ((names[0], a - b), (names[1], b - a))
    return "; ".join(f"only {name} has {_some(more, text)}" for name, more in both if more)


def _some(items: set[Any], text: str) -> str:
    shown = [text.format(*one) if isinstance(one, tuple) else text.format(one) for one in sorted(items)[:3]]
    return ", ".join(shown) + (f" and {len(items) - 3} more" if len(items) > 3 else "")
