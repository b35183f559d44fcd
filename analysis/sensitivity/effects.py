"""Which of several knobs matters: elementary effects (Morris) and variance shares (Sobol) of a sampled metric.

The numbers are SALib's. Places are where the knobs stood in their ranges, from 0 to 1. An elementary effect is what the
metric changes by when one knob jumps, divided by the share of the range that it jumps over: with four levels two
thirds, also where whole numbers and choices leave less of it, or more. A point without a value takes the whole
trajectory, or block of crossed points, with it, and is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from groupsim.analysis.errors import ResultError
from groupsim.analysis.stats.statistics import CONFIDENCE, has_spread

Floats: TypeAlias = NDArray[np.float64]
LEAST: Final = 2
"""Trajectories or blocks; with fewer there is nothing to take a mean of."""
RESAMPLES: Final = 1000
_SEED: Final = 1  # of the resampling that gives the intervals: the same result for the same runs


@dataclass(frozen=True, slots=True)
class Knob:
    """What one path does to a metric.

    Parameters
    ----------
    path : str
    weight, weight_half_width : float
        What knobs are ranked by, with its 95 % interval. Morris: mu*, the mean absolute elementary effect. Sobol: the
        total index, a share of the variance.
    detail : float
        Morris: sigma, the standard deviation of the elementary effects: how much the effect depends on where the other
        knobs stand, and on where this one does. Sobol: the first-order index, what the knob does by itself.
    detail_half_width : float or None
        Of the 95 % interval of a first-order index; SALib gives none for sigma.
    """

    path: str
    weight: float
    weight_half_width: float
    detail: float
    detail_half_width: float | None = None


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Knobs by weight, the heaviest first.

    Parameters
    ----------
    method : {"morris", "sobol_indices"}
    metric, group, variant : str
        ``variant`` is the bundle that the points were crossed with; empty if there is none.
    blocks, missing : int
        Trajectories (Morris) or blocks (Sobol) used, and left out: a value is missing.
    varies : bool
        False: every point gave the same value, and all weights are zero.
    jump : float
        Share of its range that a knob jumps over in a Morris trajectory; 1 for Sobol.
    """

    method: str
    metric: str
    group: str
    variant: str
    knobs: tuple[Knob, ...]
    blocks: int
    missing: int
    varies: bool
    jump: float = 1.0


def sensitivity(
    method: str, paths: Sequence[str], places: Floats, values: Floats, *, metric: str, group: str = "",
    variant: str = "", levels: int = 4,
) -> Sensitivity:  # fmt: skip
    """How much each path matters to the values of a metric.

    Parameters
    ----------
    method : {"morris", "sobol_indices"}
        How the points were chosen.
    paths : sequence of str
        The knobs.
    places : array of float, shape (points, paths)
        In the order of the design.
    values : array of float, shape (points,)
        NaN where there is none.
    metric, group, variant : str
        Whose values they are.
    levels : int
        Of a Morris design.

    Raises
    ------
    ResultError
        Fewer than two whole trajectories or blocks have values, or SALib is not installed.
    """
    size = len(paths) + (1 if method == "morris" else 2)
    blocks = values.reshape(-1, size)
    whole = ~np.isnan(blocks.sum(axis=1))
    noun = "trajectories" if method == "morris" else "blocks of points"
    count = int(whole.sum())
    if count < LEAST:
        raise ResultError(f"{metric}: {count} of {whole.size} {noun} have all values; {LEAST} at least are needed")
    used, at = blocks[whole].ravel(), places.reshape(-1, size, len(paths))[whole].reshape(-1, len(paths))
    knobs = [Knob(path, 0.0, 0.0, 0.0, None if method == "morris" else 0.0) for path in paths]
    if varies := has_spread(used):
        knobs = _morris(paths, at, used, levels) if method == "morris" else _sobol(paths, used)
    knobs.sort(key=lambda knob: -knob.weight)
    jump = levels / (2 * (levels - 1)) if method == "morris" else 1.0
    return Sensitivity(method, metric, group, variant, tuple(knobs), count, whole.size - count, varies, jump)


def _morris(paths: Sequence[str], places: Floats, values: Floats, levels: int) -> list[Knob]:
    morris = _salib("morris")
    found = morris.analyze(
        _problem(paths), places, values, num_levels=levels, num_resamples=RESAMPLES, conf_level=CONFIDENCE, seed=_SEED
    )
    columns = (found[name] for name in ("mu_star", "mu_star_conf", "sigma"))
    return [Knob(path, *map(float, row)) for path, *row in zip(paths, *columns, strict=True)]


def _sobol(paths: Sequence[str], values: Floats) -> list[Knob]:
    sobol = _salib("sobol")
    found = sobol.analyze(
        _problem(paths), values, calc_second_order=False, num_resamples=RESAMPLES, conf_level=CONFIDENCE, seed=_SEED
    )
    columns = (found[name] for name in ("ST", "ST_conf", "S1", "S1_conf"))
    return [Knob(path, *map(float, row)) for path, *row in zip(paths, *columns, strict=True)]


def _problem(paths: Sequence[str]) -> dict[str, Any]:
    return {"num_vars": len(paths), "names": list(paths), "bounds": [[0.0, 1.0]] * len(paths)}


def _salib(name: str) -> Any:
    try:
        from SALib.analyze import morris, sobol
    except ImportError:
        what = "this needs SALib, which the extra sensitivity of groupsim brings"
        raise ResultError(f"{what}: pip install 'groupsim[sensitivity]'") from None
    return {"morris": morris, "sobol": sobol}[name]
