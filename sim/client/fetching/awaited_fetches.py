"""First fetches of a client that are under way: of which partitions, and from where on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.protocol.messages import Positions, within


class AwaitedFetches:
    """Those of one client, by number."""

    def __init__(self) -> None:
        self._number = 0
        self._fetches: dict[int, tuple[Positions, Offsets]] = {}

    def __len__(self) -> int:
        return len(self._fetches)

    def __contains__(self, number: int) -> bool:
        return number in self._fetches

    def add(self, positions: Positions, offsets: Offsets) -> int:
        """Another one is sent; its number."""
        self._number += 1
        self._fetches[self._number] = (positions, offsets)
        return self._number

    def take(self, number: int) -> tuple[Positions, Offsets]:
        """One has been answered: what it asked for."""
        return self._fetches.pop(number)

    def drop(self, positions: Positions) -> None:
        """Their answers are worth nothing for these; a fetch of nothing else is not awaited any more."""
        for number, (asked, offsets) in list(self._fetches.items()):
            keep = ~within(asked, positions)
            if keep.any():
                self._fetches[number] = (asked[keep], offsets[keep])
            else:
                del self._fetches[number]

    @property
    def at(self) -> dict[int, int]:
        """Partition -> from where on it is asked for."""
        each = self._fetches.values()
        return {one: at for asked, offsets in each for one, at in zip(asked.tolist(), offsets.tolist(), strict=True)}

    def seek(self, to: Mapping[int, int]) -> None:
        """Those of these that are asked for are read from there on."""
        for number, (asked, offsets) in self._fetches.items():
            sought = [to.get(position, at) for position, at in zip(asked.tolist(), offsets.tolist(), strict=True)]
            self._fetches[number] = (asked, np.array(sought, np.int64))
