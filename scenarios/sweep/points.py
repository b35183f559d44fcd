"""The points of a design: which values the varied paths take together, one mapping of path to value a point.

``grid`` and ``list`` take the values that the file lists. The others sample ranges: ``latin_hypercube`` and ``sobol``
fill the space evenly, ``morris`` and ``sobol_indices`` are made for `groupsim sensitivity`, which needs their order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from groupsim.scenarios.sweep.ranges import Range
from groupsim.sim.errors import ConfigError

Kind: TypeAlias = Literal["grid", "list", "latin_hypercube", "sobol", "morris", "sobol_indices"]
SAMPLED: Final = ("latin_hypercube", "sobol", "morris", "sobol_indices")
SENSITIVITY: Final = ("morris", "sobol_indices")
Places: TypeAlias = NDArray[np.float64]
"""Shape (points, paths), each place from 0 to 1; columns in the order of `Design.paths`."""


class MissingExtra(ConfigError):
    """A package that an extra of groupsim brings is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A way to choose points.

    Parameters
    ----------
    kind : str
    vary : mapping of str to sequence or Range
        A path, and the values that it takes: a sequence for grid and list, a range for the others.
    size : int
        latin_hypercube and sobol: points. sobol_indices: base points. morris: trajectories.
    levels : int
        morris: of each range.
    seed : int
        Of the sample; the same seed gives the same points.
    """

    kind: Kind
    vary: Mapping[str, Sequence[Any] | Range]
    size: int = 0
    levels: int = 4
    seed: int = 1

    @property
    def is_sampled(self) -> bool:
        """Whether points are drawn from ranges."""
        return self.kind in SAMPLED

    @property
    def paths(self) -> list[str]:
        """The paths in the order of a sample's columns: sorted, because a manifest does not keep the file's order."""
        return sorted(self.vary)

    def count(self) -> int:
        """How many points there are; arithmetic, however many."""
        lengths = [len(values) for values in self.vary.values() if not isinstance(values, Range)]
        match self.kind:
            case "grid":
                return math.prod(lengths)
            case "list":
                return lengths[0] if lengths else 1
            case "morris":
                return self.size * (len(self.vary) + 1)
            case "sobol_indices":
                return self.size * (len(self.vary) + 2)
            case _:
                return self.size

    def points(self) -> Iterator[dict[str, Any]]:
        """The points one by one, the last path of a grid changing fastest.

        Raises
        ------
        MissingExtra
            The design is one of SALib's, and SALib is not installed.
        """
        if self.is_sampled:
            for row in self._places():
                places = dict(zip(self.paths, row.tolist(), strict=True))
                yield {path: self._range(path).at(places[path]) for path in self.vary}
            return
        values = [values for values in self.vary.values() if not isinstance(values, Range)]
        together = itertools.product(*values) if self.kind == "grid" or not values else zip(*values, strict=True)
        for point in together:
            yield dict(zip(self.vary, point, strict=True))

    def places(self, points: Sequence[Mapping[str, Any]]) -> Places:
        """Where values stand in their ranges, from 0 to 1: what a sample was before it was rounded, nearly.

        Shape (points, paths), in the order of ``paths``.
        """
        columns = [self._range(path).places([point[path] for point in points]) for path in self.paths]
        return np.array(columns, dtype=np.float64).T.reshape(len(points), len(self.paths))

    def _range(self, path: str) -> Range:
        values = self.vary[path]
        assert isinstance(values, Range), "what is sampled is a range"
        return values

    def _places(self) -> Places:
        dimensions = len(self.vary)
        if self.kind in SENSITIVITY:
            return self._places_of_salib()
        from scipy.stats import qmc  # 0.6 s to import

        if self.kind == "sobol":
            return np.asarray(qmc.Sobol(dimensions, scramble=True, rng=self.seed).random(self.size))
        return np.asarray(qmc.LatinHypercube(dimensions, rng=self.seed).random(self.size))

    def _places_of_salib(self) -> Places:
        try:
            from SALib.sample import morris, sobol
        except ImportError:
            what = f"design {self.kind} needs SALib, which the extra sensitivity of groupsim brings"
            raise MissingExtra(f"{what}: pip install 'groupsim[sensitivity]'") from None
        names = self.paths
        problem = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
        if self.kind == "morris":
            return np.asarray(morris.sample(problem, self.size, num_levels=self.levels, seed=self.seed))
        return np.asarray(sobol.sample(problem, self.size, calc_second_order=False, seed=self.seed))
